package storage

import "slices"

// Settling. When a transaction ends, what it did to rows is settled as far as live snapshots allow: a version that no
// snapshot can see goes, and one that every snapshot sees loses its xmin. The rest is kept with the number of the commit,
// and settled when the snapshots that need it are given up. So a state without old snapshots holds one version a row.

// commitRecord is a commit that some live snapshot does not see, with the versions that are therefore kept.
type commitRecord struct {
	csn    uint64
	writes []write // not changed in place
}

// settleCommit makes the changes of s those of a new commit.
func (st *State) settleCommit(s *session) {
	if len(s.writes) == 0 {
		return
	}
	st.csn++
	var buf [8]uint64
	snaps := st.liveSnapshots(buf[:0])
	var keep []write
	horizon := st.horizonWithout(s.id)
	st.touchCommit(s)
	for _, w := range s.writes {
		if w.kind == wSchema {
			st.settleSchema(s, &s.ddl[w.tid])
			continue
		}
		if st.rel(w.rel) == nil {
			continue
		}
		r := st.wrelation(w.rel)
		switch w.kind {
		case wLock:
			st.unlock(r, w.tid, s.id, 0)
			continue
		case wInsert:
			r.stats.Inserted++
			r.stats.Live++
		case wUpdate:
			r.stats.Updated++
		case wHotUpdate:
			r.stats.Updated++
			r.stats.HotUpdated++
		case wDelete:
			r.stats.Deleted++
			r.stats.Live--
		}
		v := r.slot(w.tid)
		if v == nil {
			continue
		}
		switch w.kind {
		case wInsert, wNewVersion:
			if len(snaps) == 0 && len(v.lockers) == 0 && v.xmax == 0 && v.indexed == allIndexes {
				r.freeFlux(v)
				continue
			}
			r.own(v)
			if len(v.lockers) > 0 {
				v.lockers = st.without(v.lockers, s.id, 0)
			}
			if st.mineStamp(s.id, v.xmax) {
				continue // the entry of its end follows
			}
			if len(snaps) == 0 {
				v.xmin, v.cmin, v.prev = 0, 0, 0
				r.rest(v)
				continue
			}
			v.xmin, v.cmin = committedBit|stamp(st.csn), 0
			keep = append(keep, w)
		default:
			r.stats.killed(st, v.xmax.xid(), horizon)
			if st.mineStamp(s.id, v.xmin) || !needed(snaps, birth(v), st.csn) {
				st.drop(r, v)
				continue
			}
			r.own(v)
			if len(v.lockers) > 0 {
				v.lockers = st.without(v.lockers, s.id, 0)
			}
			v.xmax, v.cmax = committedBit|stamp(st.csn), 0
			keep = append(keep, w)
		}
	}
	if len(keep) > 0 {
		own(&st.shared, shareUnsettled, &st.unsettled)
		st.unsettled = append(st.unsettled, commitRecord{st.csn, keep})
	}
}

func (st *State) mineStamp(s SessionID, x stamp) bool {
	return x != 0 && !x.committed() && st.mine(s, x.xid())
}

// birth is the commit that made the version, 0 when settled.
func birth(v *version) uint64 {
	if v.xmin.committed() {
		return v.xmin.csn()
	}
	return 0
}

// needed reports whether a snapshot sees what was made by commit born and ended by commit died.
func needed(snaps []uint64, born, died uint64) bool {
	for _, c := range snaps {
		if born <= c && c < died {
			return true
		}
	}
	return false
}

// drop takes a version that nobody can see out of the heap, and mends the chain of versions around it: the version before
// counts from then on as ended with a change of key if this one was, since a KEY SHARE of it would meet that further on. An
// operation that waits at the version is told what became of it.
func (st *State) drop(r *relation, v *version) {
	tid, next, prev, end := v.tid, v.next, v.prev, v.end
	if prev != 0 {
		if p := r.wget(prev); p != nil && p.next == tid {
			p.next = next
			p.end = p.end.then(end)
		}
	}
	if next != 0 {
		if n := r.wget(next); n != nil && n.prev == tid {
			n.prev = prev
		}
	}
	r.remove(tid)
	if len(st.queue)+len(st.woken) > 0 {
		for _, list := range [2][]SessionID{st.queue, st.woken} {
			for _, id := range list {
				o := &st.sess[id].op
				if !o.active || o.rel != r.id {
					continue
				}
				if o.tid == tid && !o.gone {
					o = &st.wsession(id).op
					o.gone, o.goneEnd, o.goneNext = true, end, next
				} else if o.gone && o.goneNext == tid {
					o = &st.wsession(id).op
					o.goneEnd, o.goneNext = o.goneEnd.then(end), next
				}
			}
		}
	}
}

// then is how a version counts as ended whose successor, ended as next, is no longer kept.
func (e endKind) then(next endKind) endKind {
	if e == updated && (next == deleted || next == keyUpdated) {
		return keyUpdated
	}
	return e
}

// settleReleased settles what was kept for a snapshot at csn that has been given up.
func (st *State) settleReleased(csn uint64) {
	if len(st.unsettled) == 0 {
		return
	}
	var buf [8]uint64
	snaps := st.liveSnapshots(buf[:0])
	lo, hi := csn, st.csn // what to look at: commits after lo up to hi
	for _, c := range snaps {
		if c == csn {
			return
		}
		if c > csn {
			hi = c
			break
		}
	}
	oldest := st.csn
	if len(snaps) > 0 {
		oldest = snaps[0]
	}
	if csn <= oldest {
		lo = 0
	}
	for i := 0; i < len(st.unsettled); {
		c := &st.unsettled[i]
		if c.csn <= lo {
			i++
			continue
		}
		if c.csn > hi {
			break
		}
		keep := st.settleRecord(c, snaps, c.csn <= oldest)
		if len(keep) == len(c.writes) {
			i++
			continue
		}
		own(&st.shared, shareUnsettled, &st.unsettled)
		if len(keep) == 0 {
			st.unsettled = slices.Delete(st.unsettled, i, i+1)
			continue
		}
		st.unsettled[i].writes = keep
		i++
	}
}

// settleRecord settles what it can of a commit and returns the rest. all is true when every live snapshot sees the commit.
func (st *State) settleRecord(c *commitRecord, snaps []uint64, all bool) (keep []write) {
	at := committedBit | stamp(c.csn)
	for _, w := range c.writes {
		r := st.rel(w.rel)
		if r == nil {
			continue
		}
		v := r.get(w.tid)
		if v == nil {
			continue
		}
		if w.kind == wInsert || w.kind == wNewVersion {
			if v.xmin != at {
				continue
			}
			if !all {
				keep = append(keep, w)
				continue
			}
			v = st.wrelation(w.rel).wget(w.tid)
			v.xmin = 0
			if v.prev != 0 && st.rel(w.rel).get(v.prev) == nil {
				v.prev = 0
			}
			st.rel(w.rel).rest(v)
			continue
		}
		if v.xmax != at {
			continue
		}
		if needed(snaps, birth(v), c.csn) {
			keep = append(keep, w)
			continue
		}
		r = st.wrelation(w.rel)
		st.drop(r, r.get(w.tid))
	}
	return keep
}

// undo takes back what s has written since entry from of its log, by subtransactions at level or deeper.
func (st *State) undo(s *session, from int, level int16) {
	if len(s.writes) == from {
		return
	}
	st.touchAbort(s, from)
	for i := len(s.writes) - 1; i >= from; i-- {
		w := s.writes[i]
		if w.kind == wSchema {
			st.undoSchema(s, &s.ddl[w.tid])
			own(&s.shared, ownDDL, &s.ddl)
			s.ddl = s.ddl[:w.tid]
			continue
		}
		if st.rel(w.rel) == nil {
			continue
		}
		r := st.wrelation(w.rel)
		switch w.kind {
		case wLock:
			st.unlock(r, w.tid, s.id, level)
			continue
		case wInsert:
			r.stats.Inserted++
			r.stats.killed(st, 0, 0)
		case wNewVersion:
			r.stats.killed(st, 0, 0)
		case wUpdate:
			r.stats.Updated++
		case wHotUpdate:
			r.stats.Updated++
			r.stats.HotUpdated++
		case wDelete:
			r.stats.Deleted++
		}
		v := r.slot(w.tid)
		if v == nil {
			continue
		}
		if w.kind == wInsert || w.kind == wNewVersion {
			st.drop(r, v)
			continue
		}
		r.own(v)
		v.xmax, v.cmax, v.next, v.end = 0, 0, 0, live
		r.rest(v)
	}
	own(&s.shared, ownWrites, &s.writes)
	s.writes = s.writes[:from]
}

// without returns lockers less those of s at level or deeper.
func (st *State) without(lockers []locker, s SessionID, level int16) []locker {
	var keep []locker
	for _, l := range lockers {
		if a := st.xid(l.xid); a == nil || a.sess == s && a.level >= level {
			continue
		}
		keep = append(keep, l)
	}
	return keep
}

// unlock takes the row locks of s, at level or deeper, from a version and those that came of it.
func (st *State) unlock(r *relation, tid TID, s SessionID, level int16) {
	for tid != 0 {
		v := r.get(tid)
		if v == nil {
			return
		}
		tid = v.next
		if len(v.lockers) > 0 {
			v = r.wget(v.tid)
			v.lockers = st.without(v.lockers, s, level)
			r.rest(v)
		}
	}
}
