package storage

import (
	"errors"
	"fmt"
	"testing"

	"simrun/model/types"
)

func (b *bench) table(m TableLock) stmt {
	return func(x *Exec) (string, error) {
		_, err := x.LockTable(b.tb, m, Wait)
		return "locked", err
	}
}

func advisory(k int64, shared bool) stmt {
	return func(x *Exec) (string, error) {
		_, err := x.Advisory(AdvisoryKey{Key: k}, shared, false, Wait)
		return "locked", err
	}
}

func TestDeadlock(t *testing.T) {
	b := newBench(t, 3, row(1, 0), row(2, 0), row(3, 0))
	for s := SessionID(0); s < 3; s++ {
		b.begin(s, ReadCommitted)
		b.want(b.run(s, b.add(int(s)+1, 1)), "updated 1")
	}
	b.want(b.run(0, b.add(2, 1)), "blocked")
	b.want(b.run(1, b.add(3, 1)), "blocked")
	if d := b.st.Deadlock(); d != nil {
		t.Fatal("no cycle has closed, yet", d)
	}
	b.want(b.run(2, b.add(1, 1)), "blocked")
	b.want(fmt.Sprint(b.st.Deadlock()), "[0 1 2]")
	b.st.Interrupt(1, errDeadlock())
	b.want(b.again(1, b.add(3, 1)), "40P01 deadlock detected")
	if d := b.st.Deadlock(); d != nil {
		t.Fatal("the cycle is broken, yet", d)
	}
	b.want(fmt.Sprint(b.st.Woken(nil)), "[0]")
	b.want(b.again(0, b.add(2, 1)), "updated 1")
}

// TestQueueJump has a session that holds a lock which a waiter waits for: it goes before that waiter in the queue, or gets
// the lock at once.
func TestQueueJump(t *testing.T) {
	b := newBench(t, 3)
	for s := SessionID(0); s < 3; s++ {
		b.begin(s, ReadCommitted)
	}
	b.want(b.run(0, b.table(AccessShare)), "locked")
	b.want(b.run(1, b.table(AccessExclusive)), "blocked")
	b.want(b.run(2, b.table(AccessShare)), "blocked") // behind the waiter
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[1]")
	b.want(b.run(0, b.table(RowExclusive)), "locked") // past the waiter
	b.commit(0)
	b.want(fmt.Sprint(b.st.Woken(nil)), "[1]")
	b.want(b.again(1, b.table(AccessExclusive)), "locked")
	b.commit(1)
	b.want(b.again(2, b.table(AccessShare)), "locked")
}

// TestUpgradeDeadlock is the deadlock that Postgres reports without waiting for deadlock_timeout.
func TestUpgradeDeadlock(t *testing.T) {
	b := newBench(t, 2)
	for s := SessionID(0); s < 2; s++ {
		b.begin(s, ReadCommitted)
		b.want(b.run(s, b.table(ShareLock)), "locked")
	}
	b.want(b.run(0, b.table(RowExclusive)), "blocked")
	b.want(b.run(1, b.table(RowExclusive)), "40P01 deadlock detected")
	b.want(b.again(0, b.table(RowExclusive)), "locked")
}

// TestSoftDeadlock has a cycle with a soft edge: moving a waiter ahead of another in the queue dissolves it.
func TestSoftDeadlock(t *testing.T) {
	b := newBench(t, 3)
	for s := SessionID(0); s < 3; s++ {
		b.begin(s, ReadCommitted)
	}
	b.want(b.run(0, b.table(AccessShare)), "locked")
	b.want(b.run(2, advisory(1, false)), "locked")
	b.want(b.run(1, b.table(AccessExclusive)), "blocked") // waits for 0
	b.want(b.run(2, b.table(AccessShare)), "blocked")     // softly for 1
	b.want(fmt.Sprint(b.st.BlockedBy(2, nil)), "[1]")
	b.want(b.run(0, advisory(1, false)), "blocked") // waits for 2: 0 -> 2 -> 1 -> 0
	if d := b.st.Deadlock(); d != nil {
		t.Fatal("a reordering of the queue dissolves the cycle, yet", d)
	}
	b.want(fmt.Sprint(b.st.Woken(nil)), "[2]")
	b.want(b.again(2, b.table(AccessShare)), "locked")
	b.commit(2)
	b.want(b.again(0, advisory(1, false)), "locked")
	b.commit(0)
	b.want(b.again(1, b.table(AccessExclusive)), "locked")
}

// TestSavepointLocks has locks that go with the savepoint they were taken under.
func TestSavepointLocks(t *testing.T) {
	b := newBench(t, 2, row(1, 0))
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.table(AccessShare)), "locked")
	b.st.Savepoint(0, "a")
	b.want(b.run(0, b.table(AccessExclusive)), "locked")
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	b.begin(1, ReadCommitted)
	b.want(b.run(1, b.selectAll), "blocked")
	if err := b.st.RollbackTo(0, "a"); err != nil {
		t.Fatal(err)
	}
	b.want(b.again(1, b.selectAll), "1=0")
	var modes []TableLock
	for _, l := range b.st.Locks(0, nil) {
		if l.Tag.Kind == LockRelation {
			modes = append(modes, l.Mode)
		}
	}
	b.want(fmt.Sprint(modes), fmt.Sprint([]TableLock{AccessShare}))
	// A waiter on a subtransaction goes on waiting for its parent when the savepoint is released.
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	sub := b.st.sess[0].subs[1].xid
	b.want(b.run(1, b.add(1, 1)), "blocked")
	if tag, _, _ := b.st.WaitingFor(1); tag.XID != sub {
		t.Fatal("waits for", tag)
	}
	if err := b.st.ReleaseSavepoint(0, "a"); err != nil {
		t.Fatal(err)
	}
	b.want(b.again(1, b.add(1, 1)), "blocked")
	if tag, _, _ := b.st.WaitingFor(1); tag.XID != b.st.TopXID(0) {
		t.Fatal("waits for", tag)
	}
	if err := b.st.RollbackTo(0, "a"); err == nil || wording(err) != `3B001 savepoint "a" does not exist` {
		t.Fatal(err)
	}
}

// TestAdvisory counts session-level holds and keeps them over the end of the transaction.
func TestAdvisory(t *testing.T) {
	b := newBench(t, 2)
	k := AdvisoryKey{Key: 7}
	b.begin(0, ReadCommitted)
	x := b.st.NewExec(0)
	for range 2 {
		if ok, err := x.Advisory(k, false, true, Wait); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	x.End()
	b.st.Abort(0)
	try := func() string {
		b.begin(1, ReadCommitted)
		defer b.st.Abort(1)
		return b.run(1, func(x *Exec) (string, error) {
			ok, err := x.Advisory(k, true, false, SkipLocked)
			return fmt.Sprint(ok), err
		})
	}
	unlock := func() string {
		b.begin(0, ReadCommitted)
		defer b.commit(0)
		return b.run(0, func(x *Exec) (string, error) { return fmt.Sprint(x.AdvisoryUnlock(k, false)), nil })
	}
	b.want(try(), "false")
	b.want(unlock(), "true")
	b.want(try(), "false")
	b.want(unlock(), "true")
	b.want(try(), "true")
	b.want(unlock(), "false")
}

// TestInterruptIsCaught has a wait that ends with an error inside a subtransaction of the statement, which goes on.
func TestInterruptIsCaught(t *testing.T) {
	b := newBench(t, 2, row(1, 0), row(2, 0))
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	f := func(x *Exec) (string, error) {
		x.BeginSub()
		_, err := b.add(1, 5)(x)
		if errors.Is(err, ErrWait) {
			return "", err
		}
		var e *types.Error
		if !errors.As(err, &e) || e.Code != "55P03" {
			return "", fmt.Errorf("got %v", err)
		}
		x.AbortSub()
		x.CommandCounterIncrement()
		return b.add(2, 7)(x)
	}
	b.begin(1, ReadCommitted)
	b.want(b.run(1, f), "blocked")
	b.st.Interrupt(1, types.NewError("55P03", "canceling statement due to lock timeout"))
	b.want(b.again(1, f), "updated 1")
	b.want(b.all(1), "1=0 2=7")
	if e := b.st.check(); e != "" {
		t.Fatal(e)
	}
}

// TestAcquired lists the locks that steps take, each once.
func TestAcquired(t *testing.T) {
	b := newBench(t, 2, row(1, 0))
	b.st.Watch(true)
	took := func() string {
		out := ""
		for _, a := range b.st.Acquired() {
			switch a.Kind {
			case LockRelation:
				out += fmt.Sprintf("table %d; ", a.Mode)
			case LockAdvisory:
				out += fmt.Sprintf("advisory %d %v; ", a.Advisory.Key, a.Try)
			case LockTuple:
				out += fmt.Sprintf("row %d mode %d index %d; ", a.Row.Vals[0].N, a.RowMode, a.Index)
			}
		}
		b.st.ResetFootprint()
		return out
	}
	b.begin(0, ReadCommitted)
	b.run(0, b.lock(where(1), NoKeyUpdate, Wait))
	b.want(took(), "table 2; row 1 mode 3 index -1; ")
	b.run(0, b.lock(where(1), Share, Wait))
	b.want(took(), "")
	b.run(0, b.add(1, 1))
	b.want(took(), "table 3; ")
	b.run(0, b.insert(5, 5))
	b.want(took(), "row 5 mode 4 index 0; ")
	b.begin(1, ReadCommitted)
	b.want(b.run(1, b.table(AccessExclusive)), "blocked")
	b.want(took(), "")
	b.commit(0)
	b.st.ResetFootprint()
	b.want(b.again(1, b.table(AccessExclusive)), "locked")
	b.want(took(), "table 8; ")
}
