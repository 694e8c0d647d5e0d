package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const skew = "40001 could not serialize access due to read/write dependencies among transactions"

// commitOr commits and returns "" or the error.
func (b *bench) commitOr(s SessionID) string {
	if err := b.st.Commit(s); err != nil {
		return err.Error()
	}
	return ""
}

// checked is a statement whose scans may find that it is not serializable.
func checked(f stmt) stmt {
	return func(x *Exec) (string, error) {
		out, err := f(x)
		if err == nil {
			err = x.Err()
		}
		return out, err
	}
}

func TestWriteSkew(t *testing.T) {
	b := newBench(t, 2, row(1, 10), row(2, 20))
	for s := SessionID(0); s < 2; s++ {
		b.begin(s, Serializable)
		b.want(b.run(s, b.selectAll), "1=10 2=20")
	}
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	b.want(b.run(1, checked(b.add(2, 1))), "updated 1")
	b.commit(0)
	if !strings.Contains(b.commitOr(1), "40001") {
		t.Fatal("write skew was let through")
	}
	b.begin(1, Serializable)
	b.want(b.run(1, checked(b.add(2, 1))), "updated 1")
	b.commit(1)
	if len(b.st.ser.txs) != 0 {
		t.Fatal("serializable transactions are left over")
	}
}

// TestReadOnlyAnomaly is the one of Fekete, O'Neil and O'Neil: a reader makes two writers not serializable.
func TestReadOnlyAnomaly(t *testing.T) {
	b := newBench(t, 3, row(1, 0), row(2, 0))
	b.begin(0, Serializable)
	b.run(0, b.selectAll)
	b.begin(1, Serializable)
	b.want(b.run(1, b.add(2, 20)), "updated 1")
	b.commit(1)
	b.st.Begin(2, TxOptions{Isolation: Serializable, ReadOnly: true})
	b.want(b.run(2, checked(b.selectAll)), "1=0 2=20")
	b.commit(2)
	out := b.run(0, checked(b.add(1, -11)))
	if out != skew && !strings.Contains(b.commitOr(0), "40001") {
		t.Fatal("the anomaly was let through: ", out)
	}
}

// plan is what a transaction does: it reads the sum of v, adds it to a row or inserts it.
type plan struct {
	key    int
	insert bool
	read   string
	done   bool
}

// outcome runs the plans one after the other in an order, and returns what they read and what is left.
func outcome(t fataler, order []int, plans []plan) string {
	b := newBench(t, 1, row(0, 1), row(1, 2))
	reads := make([]string, len(plans))
	for _, i := range order {
		b.begin(0, ReadCommitted)
		reads[i] = b.sorted(0)
		b.write(0, plans[i], reads[i])
		b.commit(0)
	}
	b.begin(0, ReadCommitted)
	return fmt.Sprint(reads, b.sorted(0))
}

func (b *bench) sorted(s SessionID) string {
	f := strings.Fields(b.run(s, checked(b.selectAll)))
	slices.Sort(f)
	return strings.Join(f, " ")
}

func (b *bench) write(s SessionID, p plan, read string) string {
	if p.insert {
		return b.run(s, checked(b.insert(10+p.key, len(read))))
	}
	return b.run(s, checked(b.add(p.key, len(read))))
}

// serializable reports whether the committed plans gave what some serial order gives.
func serializable(t fataler, plans []plan, result string) bool {
	var done []int
	for i := range plans {
		if plans[i].done {
			done = append(done, i)
		}
	}
	var try func(order, rest []int) bool
	try = func(order, rest []int) bool {
		if len(rest) == 0 {
			return outcome(t, order, plans) == result
		}
		for i := range rest {
			if try(append(slices.Clone(order), rest[i]), append(slices.Clone(rest[:i]), rest[i+1:]...)) {
				return true
			}
		}
		return false
	}
	return try(nil, done)
}

// TestSerializable checks random interleavings: SERIALIZABLE must give what some serial order gives. REPEATABLE READ must be
// seen not to, or the test could not fail.
func TestSerializable(t *testing.T) {
	broken := 0
	for _, iso := range []Isolation{Serializable, RepeatableRead} {
		rapid.Check(t, func(t *rapid.T) {
			const n = 4
			b := newBench(t, n, row(0, 1), row(1, 2))
			plans := make([]plan, n)
			phase := make([]int, n)
			for i := range plans {
				plans[i] = plan{key: rapid.IntRange(0, 1).Draw(t, "key"), insert: rapid.Bool().Draw(t, "insert")}
				if plans[i].insert {
					plans[i].key = i
				}
			}
			for range 40 {
				s := SessionID(rapid.IntRange(0, n-1).Draw(t, "s"))
				if b.st.Waiting(s) {
					continue
				}
				p := &plans[s]
				switch phase[s] {
				case 0:
					b.begin(s, iso)
					p.read = b.sorted(s)
				case 1:
					if out := b.write(s, *p, p.read); strings.HasPrefix(out, "4") {
						b.st.Abort(s)
						phase[s] = 9
					} else if out == "blocked" {
						continue
					}
				case 2:
					p.done = b.st.Commit(s) == nil
					for _, o := range b.st.Woken(nil) {
						f := b.add(plans[o].key, len(plans[o].read))
						if out := b.again(o, checked(f)); out != "updated 1" {
							b.st.Abort(o)
							phase[o] = 9
						} else {
							phase[o] = 2
						}
					}
				default:
					continue
				}
				phase[s]++
			}
			for s := range SessionID(n) {
				b.st.CloseSession(s)
			}
			reads := make([]string, n)
			for i := range plans {
				if plans[i].done {
					reads[i] = plans[i].read
				}
			}
			b.st.OpenSession()
			b.begin(0, ReadCommitted)
			result := fmt.Sprint(reads, b.sorted(0))
			if serializable(t, plans, result) {
				return
			}
			if iso == Serializable {
				t.Fatalf("no serial order gives %s", result)
			}
			broken++
		})
	}
	if broken == 0 {
		t.Fatal("REPEATABLE READ was always serializable")
	}
}
