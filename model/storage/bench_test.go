package storage

import (
	"testing"
)

// BenchmarkUpdate is a transaction that updates a row it has locked, without clones.
func BenchmarkUpdate(b *testing.B) {
	bn := newBench(b, 2, row(1, 10), row(2, 20), row(3, 30))
	st := bn.st
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		st.Begin(0, TxOptions{Implicit: true})
		x := st.NewExec(0)
		x.LockTable(bn.tb, RowExclusive, Wait)
		snap := x.Snapshot()
		var c Cursor
		x.StartScan(&c, snap, bn.tb)
		for {
			tid, r, ok := c.Next()
			if !ok {
				break
			}
			if r.Vals[0].N == 2 {
				x.Update(snap, bn.tb, tid, r)
			}
		}
		x.End()
		st.Commit(0)
	}
}

// BenchmarkSelect is a statement that reads three rows.
func BenchmarkSelect(b *testing.B) {
	bn := newBench(b, 2, row(1, 10), row(2, 20), row(3, 30))
	st := bn.st
	var c Cursor
	b.ReportAllocs()
	for b.Loop() {
		st.Begin(0, TxOptions{Implicit: true})
		x := st.NewExec(0)
		x.LockTable(bn.tb, AccessShare, Wait)
		x.StartScan(&c, x.Snapshot(), bn.tb)
		for {
			if _, _, ok := c.Next(); !ok {
				break
			}
		}
		x.End()
		st.Commit(0)
	}
}

// BenchmarkStep is a step of a search: clone, one small write in an open transaction, fingerprint.
func BenchmarkStep(b *testing.B) {
	bn := newBench(b, 4, row(1, 10), row(2, 20), row(3, 30))
	for s := SessionID(0); s < 4; s++ {
		bn.begin(s, ReadCommitted)
	}
	bn.run(1, bn.add(1, 1))
	bn.st.Fingerprint()
	b.ReportAllocs()
	r := row(2, 21)
	var c Cursor
	for b.Loop() {
		st := bn.st.Clone()
		x := st.NewExec(0)
		x.LockTable(bn.tb, RowExclusive, Wait)
		snap := x.Snapshot()
		x.StartScan(&c, snap, bn.tb)
		for {
			tid, old, ok := c.Next()
			if !ok {
				break
			}
			if old.Vals[0].N == 2 {
				x.Update(snap, bn.tb, tid, r)
			}
		}
		x.End()
		st.Fingerprint()
	}
}

// BenchmarkClone is the smallest step: clone and fingerprint.
func BenchmarkClone(b *testing.B) {
	bn := newBench(b, 8, row(1, 10), row(2, 20), row(3, 30))
	b.ReportAllocs()
	for b.Loop() {
		bn.st.Clone().Fingerprint()
	}
}

// BenchmarkLookup finds one of 100,000 rows by its key.
func BenchmarkLookup(b *testing.B) {
	const n = 100_000
	bn := newBench(b, 1)
	bn.begin(0, ReadCommitted)
	x := bn.st.NewExec(0)
	for i := range n {
		x.Insert(x.Snapshot(), bn.tb, row(i, i))
	}
	x.End()
	bn.commit(0)
	bn.begin(0, ReadCommitted)
	b.ReportAllocs()
	var c Cursor
	for i := 0; b.Loop(); i++ {
		x := bn.st.NewExec(0)
		x.StartLookup(&c, x.Snapshot(), bn.tb, 0, row(i%n).Vals)
		if _, _, ok := c.Next(); !ok {
			b.Fatal("not found")
		}
		x.End()
	}
}

// BenchmarkInsert inserts rows into a growing table with a unique index.
func BenchmarkInsert(b *testing.B) {
	bn := newBench(b, 1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		bn.st.Begin(0, TxOptions{Implicit: true})
		x := bn.st.NewExec(0)
		x.Insert(x.Snapshot(), bn.tb, row(i, i))
		x.End()
		bn.st.Commit(0)
	}
}
