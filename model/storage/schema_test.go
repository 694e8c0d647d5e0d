package storage

import (
	"fmt"
	"testing"

	"simrun/model/types"
)

// name is a payload with a hash.
type name string

func (n name) Hash() uint64 { return types.HashString(7, string(n)) }

func define(n string, payload any) stmt {
	return func(x *Exec) (string, error) { return "defined", x.Define("relation", n, payload) }
}

func find(n string) stmt {
	return func(x *Exec) (string, error) {
		p, ok := x.Find("relation", n)
		return fmt.Sprintln(p, ok), nil
	}
}

func replace(n string, payload any) stmt {
	return func(x *Exec) (string, error) { return "replaced", x.Replace("relation", n, payload) }
}

func drop(n string) stmt {
	return func(x *Exec) (string, error) { return "dropped", x.Drop("relation", n) }
}

func TestCatalog(t *testing.T) {
	b := newBench(t, 3)
	empty := b.st.Fingerprint()
	b.begin(0, ReadCommitted)
	b.want(b.run(0, define("a", name("1"))), "defined")
	b.want(b.run(0, find("a")), "1 true\n")
	b.begin(1, ReadCommitted)
	b.want(b.run(1, find("a")), "<nil> false\n")
	if b.st.CatalogStamp(0) == b.st.CatalogStamp(1) {
		t.Fatal("sessions that find different catalogs have one stamp")
	}
	// A second creator waits, and fails when the first commits.
	c := &bench{t, b.st.Clone(), b.tb}
	b.want(b.run(1, define("a", name("2"))), "blocked")
	b.want(fmt.Sprint(b.st.BlockedBy(1, nil)), "[0]")
	b.commit(0)
	b.want(b.again(1, define("a", name("2"))), `23505 duplicate key value violates unique constraint "pg_type_typname_nsp_index"`)
	b.st.Abort(1)
	// In the clone the first rolls back, and the second goes on.
	c.want(c.run(1, define("a", name("2"))), "blocked")
	c.st.Abort(0)
	c.want(c.again(1, define("a", name("2"))), "defined")
	c.commit(1)
	c.begin(0, ReadCommitted)
	c.want(c.run(0, find("a")), "2 true\n")

	// Replacing and dropping take effect for others at commit; rolling back brings the old one back.
	b.begin(0, ReadCommitted)
	before := b.st.Fingerprint()
	b.want(b.run(0, replace("a", name("3"))), "replaced")
	b.want(b.run(0, replace("a", name("4"))), "replaced")
	b.st.Savepoint(0, "s")
	b.want(b.run(0, drop("a")), "dropped")
	b.want(b.run(0, find("a")), "<nil> false\n")
	b.begin(1, ReadCommitted)
	b.want(b.run(1, find("a")), "1 true\n")
	if err := b.st.RollbackTo(0, "s"); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(0, find("a")), "4 true\n")
	b.want(b.run(1, replace("a", name("5"))), "blocked")
	b.commit(0)
	b.want(b.again(1, replace("a", name("5"))), "XX000 tuple concurrently updated")
	b.st.Abort(1)
	b.begin(0, ReadCommitted)
	b.want(b.run(0, find("a")), "4 true\n")
	if b.st.Fingerprint() == before {
		t.Fatal("the payload is not part of the fingerprint")
	}
	b.want(b.run(0, drop("a")), "dropped")
	b.commit(0)
	if b.st.Fingerprint() != empty {
		t.Fatal("dropping what was created does not give the fingerprint of before")
	}
}

func TestTruncate(t *testing.T) {
	b := newBench(t, 2, row(1, 10), row(2, 20))
	truncate := func(x *Exec) (string, error) {
		if _, err := x.LockTable(b.tb, AccessExclusive, Wait); err != nil {
			return "", err
		}
		return "truncated", x.Truncate(b.tb)
	}
	before := b.st.Fingerprint()
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	b.want(b.run(0, truncate), "truncated")
	b.want(b.all(0), "")
	b.want(b.run(0, b.insert(1, 11)), "inserted")
	b.want(b.all(0), "1=11")
	b.st.Abort(0)
	if b.st.Fingerprint() != before {
		t.Fatal("rolling back TRUNCATE does not bring the state back")
	}
	// Not MVCC-safe: a snapshot from before sees the table empty once it has committed.
	b.begin(1, RepeatableRead)
	x := b.st.NewExec(1)
	x.Snapshot()
	x.End()
	b.begin(0, ReadCommitted)
	b.want(b.run(0, truncate), "truncated")
	b.commit(0)
	b.want(b.all(1), "")
	if s := b.st.Stats(b.tb); s.Live != 0 || s.Dead != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestSequence(t *testing.T) {
	b := newBench(t, 2)
	b.begin(0, ReadCommitted)
	x := b.st.NewExec(0)
	seq := x.CreateSequence(SequenceSpec{Name: "s", Start: 1, Inc: 1, Min: 1, Max: 3})
	x.End()
	b.commit(0)
	next := func(x *Exec) (string, error) {
		n, err := x.Nextval(seq)
		return fmt.Sprint(n), err
	}
	current := func(x *Exec) (string, error) {
		n, err := x.Currval(seq)
		m, _ := x.Lastval()
		return fmt.Sprint(n, m), err
	}
	b.begin(0, ReadCommitted)
	b.begin(1, ReadCommitted)
	b.want(b.run(0, next), "1")
	b.want(b.run(1, next), "2")
	b.want(b.run(0, current), "1 1")
	b.st.Abort(0)
	b.begin(0, ReadCommitted)
	b.want(b.run(0, next), "3")
	b.want(b.run(0, current), "3 3")
	b.want(b.run(1, next), `2200H nextval: reached maximum value of sequence "s" (3)`)
	b.st.Abort(1)
	b.begin(1, ReadCommitted)
	// ALTER and setval are taken back by a rollback; setval alone is not.
	restart := func(x *Exec) (string, error) {
		x.AlterSequence(seq, SequenceSpec{Name: "s", Start: 1, Inc: 1, Min: 1, Max: 9})
		return "", x.Setval(seq, 1, false)
	}
	b.want(b.run(1, restart), "")
	b.want(b.run(1, next), "1")
	b.st.Abort(1)
	b.begin(1, ReadCommitted)
	b.want(b.run(1, next), `2200H nextval: reached maximum value of sequence "s" (3)`)
	b.st.Abort(1)
	b.begin(1, ReadCommitted)
	b.want(b.run(1, func(x *Exec) (string, error) { return "", x.Setval(seq, 7, true) }), `22003 setval: value 7 is out of bounds for sequence "s" (1..3)`)
}

func TestDeadTuples(t *testing.T) {
	b := newBench(t, 3, row(1, 10), row(2, 20))
	b.begin(1, RepeatableRead)
	b.all(1)
	for range 3 {
		b.begin(0, ReadCommitted)
		b.want(b.run(0, b.add(1, 1)), "updated 1")
		b.commit(0)
	}
	if s := b.st.Stats(b.tb); s.Updated != 3 || s.HotUpdated != 3 || s.Dead != 3 || s.HeldDead != 3 || s.Live != 2 {
		t.Fatalf("%+v", s)
	}
	if n := b.st.Vacuum(b.tb); n != 0 {
		t.Fatalf("%d removed under a pinned horizon", n)
	}
	b.begin(2, RepeatableRead)
	b.all(2)
	b.commit(1)
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.delete(where(2))), "deleted 1")
	b.commit(0)
	if s := b.st.Stats(b.tb); s.Dead != 4 || s.HeldDead != 1 || s.Live != 1 || s.Deleted != 1 {
		t.Fatalf("%+v", s)
	}
	if n := b.st.Vacuum(b.tb); n != 3 {
		t.Fatalf("%d removed, want 3", n)
	}
	b.commit(2)
	if n := b.st.Vacuum(b.tb); n != 1 {
		t.Fatalf("%d removed, want 1", n)
	}
	// Rolled back rows are dead at once, whatever the horizon.
	b.begin(1, RepeatableRead)
	b.all(1)
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.insert(5, 5)), "inserted")
	b.st.Abort(0)
	if s := b.st.Stats(b.tb); s.Dead != 1 || s.HeldDead != 0 || s.Live != 1 {
		t.Fatalf("%+v", s)
	}
	// A running transaction holds the horizon by its id alone.
	b.commit(1)
	b.begin(1, ReadCommitted)
	b.want(b.run(1, b.insert(6, 6)), "inserted")
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.add(1, 1)), "updated 1")
	b.commit(0)
	if s := b.st.Stats(b.tb); s.Dead != 2 || s.HeldDead != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestRewriteAndIndexes(t *testing.T) {
	b := newBench(t, 2, row(1, 10), row(2, 10))
	before := b.st.Fingerprint()
	pkey := IndexSpec{Name: "t_pkey", Unique: true, Cols: []int{0}}
	b.begin(0, ReadCommitted)
	b.want(b.run(0, func(x *Exec) (string, error) {
		return "", x.AlterHeap(b.tb, "t", []IndexSpec{pkey, {Name: "v", Unique: true, Cols: []int{1}}})
	}), `23505 could not create unique index "v"`)
	b.st.Abort(0)
	b.begin(0, ReadCommitted)
	b.want(b.run(0, func(x *Exec) (string, error) {
		return "", x.Rewrite(b.tb, func(r *Row) (*Row, error) {
			return row(int(r.Vals[0].N), int(r.Vals[1].N)+int(r.Vals[0].N)), nil
		})
	}), "")
	b.want(b.run(0, func(x *Exec) (string, error) {
		return "", x.AlterHeap(b.tb, "t", []IndexSpec{pkey, {Name: "v", Unique: true, Cols: []int{1}}})
	}), "")
	b.want(b.all(0), "1=11 2=12")
	c := &bench{t, b.st.Clone(), b.tb}
	c.st.Abort(0)
	if c.st.Fingerprint() != before {
		t.Fatal("rolling back does not bring the state back")
	}
	b.commit(0)
	b.begin(0, ReadCommitted)
	b.want(b.run(0, b.insert(3, 12)), `23505 duplicate key value violates unique constraint "v"`)
}

// TestPartialIndex has a unique index on a predicate.
func TestPartialIndex(t *testing.T) {
	b := newBench(t, 1)
	b.begin(0, ReadCommitted)
	x := b.st.NewExec(0)
	b.tb = x.CreateHeap("p", []IndexSpec{{Name: "p_idx", Unique: true, Partial: true, UsedCols: []int{1},
		Key: func(r *Row) ([]types.Value, bool) { return r.Vals[:1], r.Vals[1].N > 0 }}})
	x.End()
	b.want(b.run(0, b.insert(1, 0)), "inserted")
	b.want(b.run(0, b.insert(1, 0)), "inserted")
	b.want(b.run(0, b.insert(1, 5)), "inserted")
	b.st.Savepoint(0, "s")
	b.want(b.run(0, b.insert(1, 6)), `23505 duplicate key value violates unique constraint "p_idx"`)
	if err := b.st.RollbackTo(0, "s"); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(0, b.add(1, 1)), `23505 duplicate key value violates unique constraint "p_idx"`)
}
