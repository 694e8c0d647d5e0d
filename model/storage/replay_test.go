package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"simrun/model/types"
)

// script is a statement of many operations, as a plpgsql function makes: what each gave is part of its result, so that a
// replay that answers otherwise shows.
func (b *bench) script(ops []action, stop int) (stmt, *int) {
	left := &stop
	return func(x *Exec) (string, error) {
		var out []string
		note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
		depth := 0
		done := 0
		pause := func() error {
			done++
			if done == *left {
				*left = 0
				return ErrWait // as if the operation had to wait
			}
			return nil
		}
		if err := b.open(x, RowExclusive); err != nil {
			return "", err
		}
		for _, op := range ops {
			if err := pause(); err != nil {
				return "", err
			}
			snap := x.NewSnapshot()
			var err error
			switch op.kind % 10 {
			case 0, 1:
				_, err = x.Insert(snap, b.tb, row(op.a+4*op.b, op.b))
			case 2, 3:
				var c Cursor
				x.StartLookup(&c, snap, b.tb, 0, row(op.a).Vals)
				if tid, r, ok := c.Next(); ok {
					var a Attempt
					a, err = x.Update(snap, b.tb, tid, row(int(r.Vals[0].N), int(r.Vals[1].N)+1))
					note("update %d", a.Outcome)
				}
			case 4:
				err = x.Scan(snap, b.tb, func(tid TID, r *Row) (bool, error) {
					if r.Vals[0].N%2 == int64(op.a%2) {
						a, err := x.Delete(snap, b.tb, tid)
						note("delete %d", a.Outcome)
						return true, err
					}
					return true, nil
				})
			case 5:
				x.BeginSub()
				depth++
			case 6, 7:
				if depth > 0 {
					depth--
					if op.kind == 6 {
						x.CommitSub()
					} else {
						x.AbortSub()
					}
				}
			case 8:
				ok, _ := x.Advisory(AdvisoryKey{Key: int64(op.a)}, op.b&1 == 1, op.b&2 == 2, SkipLocked)
				note("advisory %v, unlock %v", ok, op.a == 3 && x.AdvisoryUnlock(AdvisoryKey{Key: int64(op.a)}, op.b&1 == 1))
			case 9:
				if op.a == 0 {
					err = x.Truncate(b.tb)
				}
			}
			if err != nil {
				note("%v", err)
				if depth == 0 {
					return strings.Join(out, "; "), err
				}
				depth--
				x.AbortSub()
			}
			x.CommandCounterIncrement()
			snap = x.NewSnapshot()
			x.Scan(snap, b.tb, func(_ TID, r *Row) (bool, error) {
				note("%d=%d", r.Vals[0].N, r.Vals[1].N)
				return true, nil
			})
		}
		for ; depth > 0; depth-- {
			x.CommitSub()
		}
		return strings.Join(out, "; "), nil
	}, left
}

// TestReplay runs a statement of many operations once straight and once with a break somewhere, after which it is run again
// from its start. Both must give the same results and state.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newWorld(t, 2, row(0, 0), row(1, 10), row(2, 20))
		if rapid.Bool().Draw(t, "old snapshot") {
			a.begin(1, RepeatableRead)
			a.all(1)
		}
		a.begin(0, ReadCommitted)
		c := a.clone()
		var ops []action
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			ops = append(ops, drawAction(t, 1))
		}
		straight, _ := a.script(ops, 0)
		broken, left := c.script(ops, rapid.IntRange(1, len(ops)).Draw(t, "stop"))
		x := a.run(0, straight)
		y := c.run(0, broken)
		for *left == 0 && y == "blocked" {
			d := c.clone() // the break is a state like any other
			y = d.again(0, broken)
			c = d
		}
		if x != y {
			t.Fatalf("straight:\n%s\nwith a break:\n%s", x, y)
		}
		if a.st.Fingerprint() != c.st.Fingerprint() {
			t.Fatalf("fingerprints differ after %s", x)
		}
		for _, w := range []*world{a, c} {
			if e := w.st.check(); e != "" {
				t.Fatal(e)
			}
			w.st.Abort(0)
			if e := w.st.check(); e != "" {
				t.Fatal(e)
			}
		}
		if a.contents(1) != c.contents(1) {
			t.Fatal("contents differ after rollback")
		}
	})
}

// contents reads the table in whatever transaction s is in.
func (w *world) contents(s SessionID) string {
	if w.st.InTx(s) == Idle {
		w.begin(s, ReadCommitted)
	}
	return w.all(s)
}

// naive is what a table must hold: committed rows, and what each session has written over them, by savepoint.
type naive struct {
	committed map[int64]int64
	snapshot  []map[int64]int64 // of sessions in REPEATABLE READ
	over      [][]map[int64]*int64
}

func (n *naive) sees(s SessionID) string {
	base := n.committed
	if n.snapshot[s] != nil {
		base = n.snapshot[s]
	}
	rows := map[int64]int64{}
	for k, v := range base {
		rows[k] = v
	}
	for _, o := range n.over[s] {
		for k, v := range o {
			if v == nil {
				delete(rows, k)
			} else {
				rows[k] = *v
			}
		}
	}
	var out []string
	for k, v := range rows {
		out = append(out, fmt.Sprintf("%d=%d", k, v))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// newest is the row a writer of s meets: its own, else the committed one.
func (n *naive) newest(s SessionID, k int64) (int64, bool) {
	for i := len(n.over[s]) - 1; i >= 0; i-- {
		if v, ok := n.over[s][i][k]; ok {
			if v == nil {
				return 0, false
			}
			return *v, true
		}
	}
	v, ok := n.committed[k]
	return v, ok
}

// TestNaive compares what sessions read with a model that has no versions: maps of committed rows, and of what each
// session has written over them. Writes of one key are taken from the results of the statements.
func TestNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const sessions = 4
		w := newWorld(t, sessions, row(0, 0), row(1, 10), row(2, 20))
		n := &naive{committed: map[int64]int64{0: 0, 1: 10, 2: 20}, snapshot: make([]map[int64]int64, sessions), over: make([][]map[int64]*int64, sessions)}
		var log []string
		pending := make([]func(string), sessions)
		finish := func(s SessionID, out string) {
			pending[s](out)
			pending[s] = nil
		}
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			s := SessionID(rapid.IntRange(0, sessions-1).Draw(t, "s"))
			kind := rapid.IntRange(0, 9).Draw(t, "kind")
			k := int64(rapid.IntRange(0, 3).Draw(t, "k"))
			st := w.st
			if w.blocked[s] != nil {
				continue
			}
			if st.InTx(s) == Idle {
				iso := Isolation(kind & 1)
				w.begin(s, iso)
				n.over[s] = []map[int64]*int64{{}}
				if iso == RepeatableRead {
					w.all(s)
					n.snapshot[s] = map[int64]int64{}
					for k, v := range n.committed {
						n.snapshot[s][k] = v
					}
				}
				continue
			}
			over := n.over[s]
			if st.InTx(s) == Failed || kind == 0 {
				st.Abort(s)
				n.over[s], n.snapshot[s] = nil, nil
				log = append(log, fmt.Sprint(s, ": rollback"))
			} else if kind == 1 {
				w.commit(s)
				for _, o := range over {
					for k, v := range o {
						if v == nil {
							delete(n.committed, k)
						} else {
							n.committed[k] = *v
						}
					}
				}
				n.over[s], n.snapshot[s] = nil, nil
				log = append(log, fmt.Sprint(s, ": commit"))
			} else if kind == 2 && len(over) < 3 {
				st.Savepoint(s, fmt.Sprint(len(over)))
				n.over[s] = append(over, map[int64]*int64{})
			} else if kind == 3 && len(over) > 1 {
				st.RollbackTo(s, fmt.Sprint(len(over)-1))
				n.over[s][len(over)-1] = map[int64]*int64{}
			} else if kind > 3 {
				var f stmt
				top := over[len(over)-1]
				switch {
				case kind < 7:
					f = w.add(int(k), 1)
					pending[s] = func(out string) {
						if out == "updated 1" {
							v, _ := n.newest(s, k)
							v++
							top[k] = &v
						}
					}
				case kind == 7:
					f = w.delete(where(int(k)))
					pending[s] = func(out string) {
						if out == "deleted 1" {
							top[k] = nil
						}
					}
				default:
					if n.snapshot[s] != nil {
						continue // it could come to see two rows of one key, an old and an own one: Postgres allows it, maps do not
					}
					f = w.insert(int(k), 5)
					pending[s] = func(out string) {
						if out == "inserted" {
							v := int64(5)
							top[k] = &v
						}
					}
				}
				out := w.run(s, f)
				log = append(log, fmt.Sprintf("%d: kind %d key %d: %s", s, kind, k, out))
				if out == "blocked" {
					w.blocked[s] = f
				} else {
					finish(s, out)
				}
			}
			for {
				woken := st.Woken(nil)
				var out string
				var r SessionID
				if len(woken) > 0 {
					r = woken[0]
				} else if d := st.Deadlock(); d != nil {
					r = d[0]
					st.Interrupt(r, errDeadlock())
				} else {
					break
				}
				out = w.again(r, w.blocked[r])
				log = append(log, fmt.Sprintf("%d goes on: %s", r, out))
				if out != "blocked" {
					w.blocked[r] = nil
					finish(r, out)
				}
			}
			for r := range SessionID(sessions) {
				if w.blocked[r] != nil || st.InTx(r) != Active {
					continue
				}
				got := strings.Fields(w.all(r))
				slices.Sort(got)
				if g, want := strings.Join(got, " "), n.sees(r); g != want {
					t.Fatalf("session %d sees %s, want %s, after\n%s", r, g, want, strings.Join(log, "\n"))
				}
			}
			if e := st.check(); e != "" {
				t.Fatalf("%s after\n%s", e, strings.Join(log, "\n"))
			}
		}
	})
}

// TestLargeTable checks lookups in a table that is large enough for indexes against scans.
func TestLargeTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, 2)
		b.begin(0, ReadCommitted)
		b.begin(1, RepeatableRead)
		b.all(1)
		rows := map[int]bool{}
		for i := range 300 {
			k := (i * 7919) % 1009
			b.want(b.run(0, b.insert(k, i)), "inserted")
			rows[k] = true
		}
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			k := rapid.IntRange(0, 1008).Draw(t, "k")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				if out := b.run(0, b.delete(where(k))); (out == "deleted 1") != rows[k] {
					t.Fatal(out, rows[k])
				}
				delete(rows, k)
			case 1:
				if !rows[k] {
					b.want(b.run(0, b.insert(k, 1)), "inserted")
					rows[k] = true
				}
			case 2:
				b.run(0, b.add(k, 1))
			case 3:
				b.commit(0)
				b.begin(0, ReadCommitted)
			}
			if e := b.st.check(); e != "" {
				t.Fatal(e)
			}
		}
		x := b.st.NewExec(0)
		for k := range 1009 {
			n := 0
			x.Lookup(x.Snapshot(), b.tb, 0, []types.Value{types.NewInt4(int32(k))}, func(TID, *Row) (bool, error) {
				n++
				return true, nil
			})
			if want := map[bool]int{true: 1}[rows[k]]; n != want {
				t.Fatalf("key %d found %d times, want %d", k, n, want)
			}
		}
		x.End()
		b.want(b.all(1), "")
	})
}
