package storage

import (
	"slices"

	"simrun/model/types"
)

// Attempt is what became of an attempt to change or lock a row version.
type Attempt struct {
	Outcome Outcome
	// TID and Row are the version that the attempt ended at: for OK the new version (Update) or the locked one (LockRow);
	// for Updated the newest version, which is now locked, for the re-check of READ COMMITTED.
	TID TID
	Row *Row
}

// Insert adds a row. It waits for transactions in progress that have inserted or deleted an equal key, and fails with 23505.
func (x *Exec) Insert(snap Snapshot, t TableID, row *Row) (TID, error) {
	tid, _, err := x.insert(snap, t, row, nil, false)
	return tid, err
}

// InsertOnConflict adds a row unless one with an equal key in an arbiter index is there (arbiters nil: any unique index).
// It then returns the conflicting version, which need not be visible to snap: for DO NOTHING call CheckVisible on it, for
// DO UPDATE LockRow it ForConflict, and start again from InsertOnConflict when the outcome is Updated or Deleted.
func (x *Exec) InsertOnConflict(snap Snapshot, t TableID, row *Row, arbiters []int) (tid, conflict TID, err error) {
	return x.insert(snap, t, row, arbiters, true)
}

func (x *Exec) insert(snap Snapshot, t TableID, row *Row, arbiters []int, speculative bool) (tid, conflict TID, err error) {
	s := x.session()
	if e := x.replay(s, opInsert); e != nil {
		return TID(e.a), TID(e.b), asError(e.p)
	}
	if x.err != nil {
		return 0, 0, x.err
	}
	st := x.st
	o := s.begin(opInsert, t, 0)
	arbiter := func(i int) bool { return speculative && (arbiters == nil || slices.Contains(arbiters, i)) }
	for {
		if o.phase == atBase {
			r := st.rel(t)
			for i := range r.specs {
				if !speculative {
					break
				}
				if !r.specs[i].Unique || !arbiter(i) {
					continue
				}
				found, err := x.probe(s, r, i, row, 0)
				if err == ErrWait {
					return 0, 0, err
				}
				if err != nil || found != 0 {
					x.record(s, jent{kind: opInsert, b: uint64(found), p: err})
					return 0, found, err
				}
			}
			xid := st.assignXID(s)
			r = st.wrelation(t)
			if s.ser != 0 {
				if err := st.serWrite(s, r, row); err != nil {
					x.record(s, jent{kind: opInsert, p: err})
					return 0, 0, err
				}
			}
			o.made = r.add(row, flux{xmin: stamp(xid), cmin: snap.cid}).tid
			s.log(wInsert, t, o.made)
			s.cidUsed = true
			o.phase, o.index = adding, 0
			st.touchWrite(r, row, o.made)
			if st.watch != nil {
				st.sawInsert(r, row)
			}
		}
		lost, err := x.enterIndexes(s, st.wrelation(t), o, row, arbiter)
		if err == ErrWait {
			return 0, 0, err
		}
		if lost {
			// Somebody was faster with an arbiter's key while another index made us wait: take the row back and look again.
			r := st.wrelation(t)
			st.drop(r, r.get(o.made))
			own(&s.shared, ownWrites, &s.writes)
			i := slices.Index(s.writes, write{wInsert, t, o.made})
			s.writes = slices.Delete(s.writes, i, i+1)
			r.stats.Inserted++
			r.stats.killed(st, 0, 0)
			*o = op{active: true, kind: opInsert, rel: t}
			continue
		}
		made := o.made
		if err != nil {
			x.record(s, jent{kind: opInsert, p: err})
			return 0, 0, err
		}
		x.record(s, jent{kind: opInsert, a: uint64(made)})
		return made, 0, nil
	}
}

// enterIndexes checks the version that o has made against the unique indexes, one after the other. lost is true when an
// arbiter index has an equal key by now.
func (x *Exec) enterIndexes(s *session, r *relation, o *op, row *Row, arbiter func(int) bool) (lost bool, err error) {
	for ; int(o.index) < len(r.specs); o.index++ {
		i := int(o.index)
		if !r.specs[i].Unique {
			continue
		}
		found, err := x.probe(s, r, i, row, o.made)
		if err != nil && err != ErrWait {
			return false, err
		}
		if (found != 0 || err == ErrWait) && arbiter != nil && arbiter(i) {
			if err == ErrWait {
				x.st.stopWaiting(s)
			}
			return true, nil
		}
		if err == ErrWait {
			r.wget(o.made).indexed = o.index
			return false, err
		}
		// A key is entered, or found to be a duplicate, only after a look at what SSI says by now.
		if err := x.st.serDoomed(s); err != nil {
			return false, err
		}
		if found != 0 {
			return false, duplicate(&r.specs[i], row)
		}
	}
	r.wget(o.made).indexed = allIndexes
	return false, nil
}

// duplicate is the error of a unique index.
func duplicate(sp *IndexSpec, row *Row) error {
	e := types.NewError("23505", "duplicate key value violates unique constraint \""+sp.Name+"\"")
	e.Constraint = sp.Name
	if key, in := sp.keyOf(row, nil); in && sp.Detail != nil {
		e.Detail = sp.Detail(key)
	}
	return e
}

// probe looks in unique index i for a version other than self with the key of row. It waits for transactions in progress
// that have made or ended such a version; otherwise it returns the version that is in the way, or 0.
func (x *Exec) probe(s *session, r *relation, i int, row *Row, self TID) (TID, error) {
	st := x.st
	sp := &r.specs[i]
	hash, in, full := sp.entryOf(row)
	if !in || !full && !sp.NullsNotDistinct {
		return 0, nil
	}
	st.touchKey(r, i, hash, false)
	var buf [4]types.Value
	key, _ := sp.keyOf(row, buf[:0])
	if r.index != nil {
		for _, e := range r.index[i].find(hash) {
			if v := r.get(e.tid); v.tid != self && sp.matches(v.row, key) {
				if stop, err := x.collide(s, v, i); stop {
					return v.tid, err
				}
			}
		}
		return 0, nil
	}
	for _, c := range r.chunks {
		for j := range c.v {
			v := &c.v[j]
			if v.tid != self && sp.matches(v.row, key) {
				if stop, err := x.collide(s, v, i); stop {
					return v.tid, err
				}
			}
		}
	}
	return 0, nil
}

// collide judges a version with an equal key, as SnapshotDirty sees it: stop is true when it is alive, or its fate is open;
// then the transaction that decides it is waited for.
func (x *Exec) collide(s *session, v *version, index int) (stop bool, err error) {
	st := x.st
	if m := v.xmin; m != 0 && !m.committed() && !st.mine(s.id, m.xid()) {
		if int(v.indexed) <= index {
			return false, nil // it is not in this index yet
		}
		_, err := x.waitXID(s, m.xid(), false)
		return true, err
	}
	switch m := v.xmax; {
	case m == 0:
		return true, nil
	case m.committed() || st.mine(s.id, m.xid()):
		return false, nil
	default:
		_, err := x.waitXID(s, m.xid(), false)
		return true, err
	}
}

// CheckVisible fails with 40001 when, in REPEATABLE READ or above, the version is visible neither to snap nor own; journaled.
func (x *Exec) CheckVisible(snap Snapshot, t TableID, tid TID) error {
	s := x.session()
	if e := x.replay(s, opCheck); e != nil {
		return asError(e.p)
	}
	e := jent{kind: opCheck}
	if s.opts.Isolation >= RepeatableRead {
		v := x.st.rel(t).get(tid)
		if v == nil || !x.st.sees(&snap, v) && !x.st.mineStamp(s.id, v.xmin) {
			e.p = types.NewError("40001", "could not serialize access due to concurrent update")
		}
	}
	x.record(s, e)
	return asError(e.p)
}

// Update replaces a row version by row. In READ COMMITTED, when a concurrent transaction has updated it, the outcome is
// Updated: the newest version has been locked and comes along; re-check the condition and call Update on that one. In
// REPEATABLE READ and above that is an error 40001, as is a concurrent deletion.
func (x *Exec) Update(snap Snapshot, t TableID, tid TID, row *Row) (Attempt, error) {
	s := x.session()
	if e := x.replay(s, opUpdate); e != nil {
		return Attempt{e.out, TID(e.a), e.row}, asError(e.p)
	}
	if x.err != nil {
		return Attempt{}, x.err
	}
	st := x.st
	o := s.begin(opUpdate, t, tid)
	r := st.wrelation(t)
	if o.phase == atBase {
		if o.waits == nil {
			st.assignXID(s)
			st.touchRow(r, tid, true)
			if v := r.get(tid); v != nil {
				o.strong = changed(v.row, row, r.keys)
			}
		}
		out, err := x.end(s, r, o, snap, o.mode(), row)
		if err == ErrWait {
			return Attempt{}, err
		}
		if err != nil || out != OK && out != Updated {
			return x.ended(s, opUpdate, out, 0, nil, err)
		}
		if out == Updated {
			o.phase = locking
		}
	}
	if o.phase == locking || o.phase == chasing {
		return x.lockForRecheck(s, r, o, snap)
	}
	_, err := x.enterIndexes(s, r, o, row, nil)
	if err == ErrWait {
		return Attempt{}, err
	}
	return x.ended(s, opUpdate, OK, o.made, row, err)
}

// mode is the row lock that the operation takes.
func (o *op) mode() RowLock {
	if o.kind == opUpdate && !o.strong {
		return NoKeyUpdate
	}
	return Update
}

// Delete deletes a row version; outcomes as for Update.
func (x *Exec) Delete(snap Snapshot, t TableID, tid TID) (Attempt, error) {
	s := x.session()
	if e := x.replay(s, opDelete); e != nil {
		return Attempt{e.out, TID(e.a), e.row}, asError(e.p)
	}
	if x.err != nil {
		return Attempt{}, x.err
	}
	st := x.st
	o := s.begin(opDelete, t, tid)
	r := st.wrelation(t)
	if o.phase == atBase {
		if o.waits == nil {
			st.assignXID(s)
			st.touchRow(r, tid, true)
		}
		out, err := x.end(s, r, o, snap, Update, nil)
		if err == ErrWait {
			return Attempt{}, err
		}
		if err != nil || out != Updated {
			return x.ended(s, opDelete, out, 0, nil, err)
		}
		o.phase = locking
	}
	return x.lockForRecheck(s, r, o, snap)
}

// ended journals the end of an UPDATE or DELETE.
func (x *Exec) ended(s *session, k opKind, out Outcome, tid TID, row *Row, err error) (Attempt, error) {
	e := jent{kind: k, out: out, a: uint64(tid), row: row}
	if err != nil {
		e = jent{kind: k, p: err}
	}
	x.record(s, e)
	return Attempt{e.out, TID(e.a), e.row}, err
}

// lockForRecheck locks the newest version of a row that a concurrent transaction has updated, for EvalPlanQual.
func (x *Exec) lockForRecheck(s *session, r *relation, o *op, snap Snapshot) (Attempt, error) {
	out, err := x.lockNewest(s, r, o, o.mode(), Wait, snap.cid, false)
	switch {
	case err == ErrWait:
		return Attempt{}, err
	case err != nil:
		return x.ended(s, o.kind, 0, 0, nil, err)
	case out == OK:
		v := r.get(o.tid)
		return x.ended(s, o.kind, Updated, v.tid, v.row, nil)
	case out == SelfModified:
		v := r.get(o.tid)
		if c := v.changedBy(); c != snap.cid {
			return x.ended(s, o.kind, 0, 0, nil, selfModified(o.kind))
		}
	}
	return x.ended(s, o.kind, out, 0, nil, nil)
}

// changedBy is the command that ended the version, or made it when it is alive.
func (v *version) changedBy() CommandID {
	if v.xmax != 0 {
		return v.cmax
	}
	return v.cmin
}

func selfModified(k opKind) error {
	what := "updated"
	if k == opDelete {
		what = "deleted"
	}
	return types.NewError("27000", "tuple to be "+what+" was already modified by an operation triggered by the current command").
		WithHint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}

// end ends the version the operation is at: by a deletion when row is nil, else by a new version, which goes to the end of
// the heap. The outcome Updated is returned in READ COMMITTED only.
func (x *Exec) end(s *session, r *relation, o *op, snap Snapshot, mode RowLock, row *Row) (Outcome, error) {
	st := x.st
	tid := o.tid
	stat, err := x.settleRivals(s, r, o, mode, Wait, snap.cid, false)
	if err != nil {
		return 0, err
	}
	if stat == stOK && snap.now {
		if own := s.ownSnapshot(&snap); !st.sees(&own, r.get(tid)) {
			stat = stUpdated
		}
	}
	if stat != stOK {
		x.dropTupleLock(s, r, tid, mode)
		return x.refused(s, r, o, snap, stat)
	}
	xid := st.assignXID(s)
	v := r.wget(tid)
	if s.ser != 0 {
		if err := st.serWrite(s, r, v.row, row); err != nil {
			return 0, err
		}
	}
	if st.watch != nil && !st.locked(s, v, mode) {
		st.sawRow(s, r, v, mode, false)
	}
	v.xmax, v.cmax = stamp(xid), snap.cid
	s.cidUsed = true
	if row == nil {
		v.end = deleted
		s.log(wDelete, r.id, tid)
		st.touchWrite(r, v.row, tid)
		x.dropTupleLock(s, r, tid, mode)
		return OK, nil
	}
	v.end = updated
	if o.strong || slices.ContainsFunc(v.lockers, func(l locker) bool { return l.mode == Update }) {
		v.end = keyUpdated // an own FOR UPDATE too: Postgres writes down the stronger of lock and change (compute_new_xmax_infomask)
	}
	kind, old := wUpdate, v.row
	hot := !changed(old, row, r.hotBy)
	if hot {
		kind = wHotUpdate
	}
	// The new version carries the locks of transactions that the UPDATE need not wait for, and of this one; a single one as
	// KEY SHARE, which is all that Postgres writes down then.
	lockers := v.lockers
	if len(lockers) == 1 && lockers[0].mode != KeyShare {
		lockers = []locker{{lockers[0].xid, KeyShare}}
	}
	n := r.add(row, flux{xmin: stamp(xid), cmin: snap.cid, prev: tid, lockers: lockers})
	made := n.tid
	if hot {
		n.indexed = allIndexes
	}
	r.wget(tid).next = made
	s.log(kind, r.id, tid)
	s.log(wNewVersion, r.id, made)
	for _, l := range lockers {
		st.logLock(s, l.xid, r.id, made)
	}
	o.made = made
	o.phase = adding
	if hot {
		o.index = allIndexes
	}
	st.touchWrite(r, old, tid)
	st.touchWrite(r, row, made)
	x.dropTupleLock(s, r, tid, mode)
	return OK, nil
}

// logLock notes in the undo log of a transaction in progress that a row lock of its subtransaction xid has spread to
// another version.
func (st *State) logLock(by *session, xid XID, t TableID, tid TID) {
	a := st.xid(xid)
	if a.sess == by.id {
		return // its own lock goes with the version, or is found along the chain
	}
	s := st.wsession(a.sess)
	at := len(s.writes)
	if next := int(a.level) + 1; next < len(s.subs) {
		at = s.subs[next].writes
		own(&s.shared, ownSubs, &s.subs)
		for i := next; i < len(s.subs); i++ {
			s.subs[i].writes++
		}
	}
	own(&s.shared, ownWrites, &s.writes)
	s.writes = slices.Insert(s.writes, at, write{wLock, t, tid})
}

// refused turns the status of a version that cannot be changed into an outcome or error.
func (x *Exec) refused(s *session, r *relation, o *op, snap Snapshot, stat status) (Outcome, error) {
	verb := "update"
	if o.kind == opDelete {
		verb = "delete"
	}
	fixed := s.opts.Isolation >= RepeatableRead
	switch stat {
	case stInvisible:
		return 0, types.NewError("55000", "attempted to "+verb+" invisible tuple")
	case stSelf:
		if r.get(o.tid).cmax != snap.cid {
			return 0, selfModified(o.kind)
		}
		return SelfModified, nil
	case stUpdated:
		if fixed {
			return 0, types.NewError("40001", "could not serialize access due to concurrent update")
		}
	case stDeleted:
		if fixed {
			return 0, types.NewError("40001", "could not serialize access due to concurrent delete")
		}
	}
	return outcomeOf(stat), nil
}
