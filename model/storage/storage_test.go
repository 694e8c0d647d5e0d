package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"simrun/model/types"
)

// fataler is what the bench needs of a test.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// bench is a database with one table of two int columns, the first of which is unique, and some sessions.
type bench struct {
	t  fataler
	st *State
	tb TableID
}

func row(vals ...int) *Row {
	vs := make([]types.Value, len(vals))
	for i, v := range vals {
		vs[i] = types.NewInt4(int32(v))
	}
	return NewRow(vs)
}

func newBench(t fataler, sessions int, rows ...*Row) *bench {
	b := &bench{t: t, st: New()}
	for range sessions {
		b.st.OpenSession()
	}
	b.st.Begin(0, TxOptions{Implicit: true})
	x := b.st.NewExec(0)
	b.tb = x.CreateHeap("t", []IndexSpec{{Name: "t_pkey", Unique: true, Cols: []int{0}}})
	for _, r := range rows {
		if _, err := x.Insert(x.Snapshot(), b.tb, r); err != nil {
			t.Fatal(err)
		}
	}
	x.End()
	b.commit(0)
	return b
}

func (b *bench) begin(s SessionID, iso Isolation) { b.st.Begin(s, TxOptions{Isolation: iso}) }

func (b *bench) commit(s SessionID) {
	b.t.Helper()
	if err := b.st.Commit(s); err != nil {
		b.t.Fatal(err)
	}
}

// stmt is a statement as the SQL front would run it: a function that can be run again.
type stmt func(x *Exec) (string, error)

// run runs a statement to its end, or until it blocks: then the result is "blocked".
func (b *bench) run(s SessionID, f stmt) string { return b.result(s, b.st.NewExec(s), f) }

// again runs a blocked statement again.
func (b *bench) again(s SessionID, f stmt) string { return b.result(s, b.st.Rerun(s), f) }

// wording is an error as the tests have it.
func wording(err error) string {
	var e *types.Error
	if errors.As(err, &e) {
		return e.Code + " " + e.Message
	}
	return err.Error()
}

func (b *bench) result(s SessionID, x *Exec, f stmt) string {
	out, err := f(x)
	if err == nil && b.st.InTx(s) != Idle {
		err = x.Err()
	}
	if errors.Is(err, ErrWait) {
		return "blocked"
	}
	if err != nil {
		b.st.Fail(s)
		return wording(err)
	}
	if b.st.InTx(s) != Idle {
		x.End()
	}
	return out
}

func (b *bench) want(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Fatalf("got %q, want %q", got, want)
	}
}

func (b *bench) selectAll(x *Exec) (string, error) {
	var out []string
	if err := b.open(x, AccessShare); err != nil {
		return "", err
	}
	err := x.Scan(x.Snapshot(), b.tb, func(_ TID, r *Row) (bool, error) {
		out = append(out, fmt.Sprintf("%d=%d", r.Vals[0].N, r.Vals[1].N))
		return true, nil
	})
	return strings.Join(out, " "), err
}

func (b *bench) insert(k, v int) stmt {
	return func(x *Exec) (string, error) {
		if err := b.open(x, RowExclusive); err != nil {
			return "", err
		}
		_, err := x.Insert(x.Snapshot(), b.tb, row(k, v))
		return "inserted", err
	}
}

// open locks the table. In REPEATABLE READ and above the snapshot comes first, as parse analysis needs one.
func (b *bench) open(x *Exec, m TableLock) error {
	if x.st.TxOptions(x.id).Isolation > ReadCommitted {
		x.Snapshot()
	}
	_, err := x.LockTable(b.tb, m, Wait)
	return err
}

// where selects the rows of key k by a scan.
func where(k int) func(*Row) bool { return func(r *Row) bool { return r.Vals[0].N == int64(k) } }

// update sets the rows that cond holds for to what f makes of them, re-checking as READ COMMITTED does.
func (b *bench) update(cond func(*Row) bool, f func(*Row) *Row) stmt {
	return func(x *Exec) (string, error) {
		if err := b.open(x, RowExclusive); err != nil {
			return "", err
		}
		n := 0
		snap := x.Snapshot()
		err := x.Scan(snap, b.tb, func(tid TID, r *Row) (bool, error) {
			for cond(r) {
				a, err := x.Update(snap, b.tb, tid, f(r))
				if err != nil {
					return false, err
				}
				if a.Outcome == OK {
					n++
				}
				if a.Outcome != Updated {
					break
				}
				tid, r = a.TID, a.Row
			}
			return true, nil
		})
		return fmt.Sprint("updated ", n), err
	}
}

func (b *bench) add(k, d int) stmt {
	return b.update(where(k), func(r *Row) *Row { return row(int(r.Vals[0].N), int(r.Vals[1].N)+d) })
}

func (b *bench) rekey(k, to int) stmt {
	return b.update(where(k), func(r *Row) *Row { return row(to, int(r.Vals[1].N)) })
}

func (b *bench) delete(cond func(*Row) bool) stmt {
	return func(x *Exec) (string, error) {
		if err := b.open(x, RowExclusive); err != nil {
			return "", err
		}
		n := 0
		snap := x.Snapshot()
		err := x.Scan(snap, b.tb, func(tid TID, r *Row) (bool, error) {
			for cond(r) {
				a, err := x.Delete(snap, b.tb, tid)
				if err != nil {
					return false, err
				}
				if a.Outcome == OK {
					n++
				}
				if a.Outcome != Updated {
					break
				}
				tid, r = a.TID, a.Row
			}
			return true, nil
		})
		return fmt.Sprint("deleted ", n), err
	}
}

// lock is SELECT .. FOR mode.
func (b *bench) lock(cond func(*Row) bool, mode RowLock, p WaitPolicy) stmt {
	return func(x *Exec) (string, error) {
		if err := b.open(x, RowShare); err != nil {
			return "", err
		}
		var out []string
		snap := x.Snapshot()
		err := x.Scan(snap, b.tb, func(tid TID, r *Row) (bool, error) {
			if !cond(r) {
				return true, nil
			}
			a, err := x.LockRow(snap, b.tb, tid, mode, p, ForSelect)
			if err != nil {
				return false, err
			}
			if a.Outcome == OK && cond(a.Row) {
				out = append(out, fmt.Sprintf("%d=%d", a.Row.Vals[0].N, a.Row.Vals[1].N))
			}
			return true, nil
		})
		return strings.Join(out, " "), err
	}
}

func (b *bench) all(s SessionID) string {
	b.t.Helper()
	return b.run(s, b.selectAll)
}

func TestPlain(t *testing.T) {
	b := newBench(t, 3, row(1, 10), row(2, 20))
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	b.want(b.all(0), "2=20 1=11")
	b.begin(1, ReadCommitted)
	b.want(b.all(1), "1=10 2=20")
	b.want(b.run(1, b.add(1, 5)), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(1, nil)), "[0]")
	b.begin(2, ReadCommitted)
	b.want(b.run(2, b.add(1, 7)), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[1]")
	b.want(fmt.Sprint(b.st.Woken(nil)), "[]")
	b.commit(0)
	b.want(fmt.Sprint(b.st.Woken(nil)), "[1]")
	b.want(b.again(1, b.add(1, 5)), "updated 1")
	b.want(b.all(1), "2=20 1=16")
	b.want(fmt.Sprint(b.st.Woken(nil)), "[2]")
	b.want(b.again(2, b.add(1, 7)), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[1]")
	b.commit(1)
	b.want(b.again(2, b.add(1, 7)), "updated 1")
	b.commit(2)
	b.begin(0, ReadCommitted)
	b.want(b.all(0), "2=20 1=23")
	b.commit(0)
	if n := len(b.st.unsettled); n != 0 {
		t.Fatal("unsettled", n)
	}
}

func TestUniqueWait(t *testing.T) {
	b := newBench(t, 3)
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.insert(1, 1)), "inserted")
	b.begin(1, ReadCommitted)
	b.begin(2, ReadCommitted)
	b.want(b.run(1, b.insert(1, 2)), "blocked")
	b.want(b.run(2, b.insert(1, 3)), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[0]")
	b.st.Abort(0)
	b.want(fmt.Sprint(b.st.Woken(nil)), "[1 2]")
	b.want(b.again(2, b.insert(1, 3)), "inserted")
	b.want(b.again(1, b.insert(1, 2)), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(1, nil)), "[2]")
	b.commit(2)
	b.want(b.again(1, b.insert(1, 2)), `23505 duplicate key value violates unique constraint "t_pkey"`)
	b.st.Abort(1)
	b.begin(0, ReadCommitted)
	b.want(b.all(0), "1=3")
}

func TestTableLockAndSerialization(t *testing.T) {
	b := newBench(t, 3, row(1, 10))
	exclusive := func(x *Exec) (string, error) {
		_, err := x.LockTable(b.tb, AccessExclusive, Wait)
		return "locked", err
	}
	b.begin(0, RepeatableRead)
	b.want(b.all(0), "1=10")
	b.begin(1, ReadCommitted)
	b.want(b.run(1, exclusive), "blocked")
	b.begin(2, ReadCommitted)
	b.want(b.run(2, b.selectAll), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[1]")
	b.commit(0)
	b.want(fmt.Sprint(b.st.Woken(nil)), "[1]")
	b.want(b.again(1, exclusive), "locked")
	b.want(b.run(1, b.add(1, 1)), "updated 1")
	b.commit(1)
	b.want(b.again(2, b.selectAll), "1=11")
	b.commit(2)

	b.begin(0, RepeatableRead)
	b.want(b.all(0), "1=11")
	b.begin(1, ReadCommitted)
	b.want(b.run(1, b.add(1, 1)), "updated 1")
	b.want(b.run(0, b.add(1, 1)), "blocked")
	b.commit(1)
	b.want(b.again(0, b.add(1, 1)), "40001 could not serialize access due to concurrent update")
	if b.st.InTx(0) != Failed {
		t.Fatal("not failed")
	}
	b.st.Abort(0)
}
