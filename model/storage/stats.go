package storage

import "slices"

// HeapStats are the counters of a table as pg_stat_user_tables has them, once every transaction's counts have been sent.
// A transaction's changes are counted when it ends; a row counts as dead from then until VACUUM.
type HeapStats struct {
	Inserted, Updated, Deleted, HotUpdated int64 // n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd; rolled back ones count too
	Live, Dead                             int64 // n_live_tup, n_dead_tup
	HeldDead                               int64 // the part of Dead that the horizon keeps VACUUM from removing
}

// counters are HeapStats with what is needed to tell which dead rows the horizon holds.
type counters struct {
	HeapStats
	runs   []run // dead rows by the transaction that ended them, ascending; those below the horizon may be missing
	shared bool
}

// run is a number of rows that died by transactions up to xid, none of which a horizon separates.
type run struct {
	xid XID
	n   int64
}

// killed counts a row ended by xid. Those below horizon nobody can need; 0 stands for a row that never was visible to others.
func (c *counters) killed(st *State, xid, horizon XID) {
	c.Dead++
	if xid < horizon || xid == 0 {
		return
	}
	if n := len(c.runs); n > 0 && c.runs[n-1].xid == xid && !c.shared {
		c.runs[n-1].n++
		return
	}
	holders := st.holders()
	keep := make([]run, 0, len(c.runs)+1)
	at, _ := slices.BinarySearchFunc(c.runs, xid, func(r run, x XID) int { return int(r.xid) - int(x) })
	runs := slices.Insert(slices.Clone(c.runs), at, run{xid, 1})
	for _, r := range runs {
		if r.xid < holders[0] {
			continue
		}
		if n := len(keep); n > 0 && !slices.ContainsFunc(holders, func(h XID) bool { return keep[n-1].xid < h && h <= r.xid }) {
			keep[n-1] = run{r.xid, keep[n-1].n + r.n}
			continue
		}
		keep = append(keep, r)
	}
	c.runs, c.shared = keep, false
}

// holders returns the transaction ids at which the horizon stands or may come to stand while the present transactions last.
// The lowest, which is the horizon, comes first.
func (st *State) holders() []XID {
	hs := []XID{st.nextXID}
	for i := range st.active {
		hs = append(hs, st.active[i].xid)
	}
	for _, s := range st.sess {
		s.snapshots(func(sn *Snapshot) { hs = append(hs, sn.xmin) })
	}
	slices.Sort(hs)
	return hs
}

// horizonWithout is the horizon once the transaction of s has ended.
func (st *State) horizonWithout(id SessionID) XID {
	h := st.nextXID
	for i := range st.active {
		if a := &st.active[i]; a.sess != id {
			h = a.xid
			break
		}
	}
	for _, s := range st.sess {
		if s.id != id && (s.txSnap.ok || s.stmtSnap.ok || len(s.snaps) > 0) {
			s.snapshots(func(sn *Snapshot) { h = min(h, sn.xmin) })
		}
	}
	return h
}

// Horizon returns the oldest transaction id that some transaction or snapshot still needs: rows that died by an older one
// can be vacuumed.
func (st *State) Horizon() XID { return st.holders()[0] }

func (st *State) held(c *counters) (n int64) {
	if len(c.runs) == 0 {
		return 0
	}
	h := st.Horizon()
	for _, r := range c.runs {
		if r.xid >= h {
			n += r.n
		}
	}
	return n
}

// Stats returns the counters of a table.
func (st *State) Stats(t TableID) HeapStats {
	c := &st.rel(t).stats
	h := c.HeapStats
	h.HeldDead = st.held(c)
	return h
}

// Vacuum removes the dead rows that the horizon allows from the counters of a table and returns how many.
func (st *State) Vacuum(t TableID) (removed int64) {
	r := st.wrelation(t)
	held := st.held(&r.stats)
	st.TouchEverything() // the horizon is every session's
	removed = r.stats.Dead - held
	r.stats.Dead = held
	return removed
}

// CountStats makes the counters of HeapStats part of the fingerprint, or takes them out. Off at first, as they grow for ever.
func (st *State) CountStats(on bool) { st.countStats = on }
