package storage

import (
	"slices"

	"simrun/model/types"
)

// rowConflicts says which row locks exclude each other (Postgres documentation, table 13.3).
var rowConflicts = [Update + 1]uint8{
	KeyShare:    1 << Update,
	Share:       1<<NoKeyUpdate | 1<<Update,
	NoKeyUpdate: 1<<Share | 1<<NoKeyUpdate | 1<<Update,
	Update:      1<<KeyShare | 1<<Share | 1<<NoKeyUpdate | 1<<Update,
}

func rowConflict(a, b RowLock) bool { return rowConflicts[a]>>b&1 != 0 }

// tupleMode is the mode of the heavyweight lock on a row that orders those who wait to lock it.
var tupleMode = [Update + 1]TableLock{KeyShare: AccessShare, Share: RowShare, NoKeyUpdate: Exclusive, Update: AccessExclusive}

// lockOf is the row lock that ending a version as e implies.
func (e endKind) lockOf() RowLock {
	if e == updated {
		return NoKeyUpdate
	}
	return Update
}

// status is what a version is to a command that wants to change or lock it, as HeapTupleSatisfiesUpdate finds.
type status uint8

const (
	stOK status = iota
	stInvisible
	stSelf    // ended by this command or a later one of the same transaction
	stBusy    // a transaction in progress has locked or ended it
	stUpdated // updated by a transaction that committed
	stDeleted
)

func (st *State) status(s *session, v *version, cid CommandID) status {
	if x := v.xmin; x != 0 && !x.committed() && (!st.mine(s.id, x.xid()) || v.cmin >= cid) {
		return stInvisible
	}
	switch x := v.xmax; {
	case x == 0:
		if len(v.lockers) > 0 {
			return stBusy
		}
		return stOK
	case x.committed():
		if len(v.lockers) > 0 {
			return stBusy
		}
		return v.end.status()
	case st.mine(s.id, x.xid()):
		if v.cmax >= cid {
			return stSelf
		}
		return stInvisible
	}
	return stBusy
}

func (e endKind) status() status {
	if e == deleted {
		return stDeleted
	}
	return stUpdated
}

// look returns the version an operation is at and its status, also when it has been dropped since the operation came there.
func (st *State) look(s *session, r *relation, o *op, cid CommandID) (*version, status) {
	v := r.get(o.tid)
	if v != nil {
		return v, st.status(s, v, cid)
	}
	if o.gone {
		return nil, o.goneEnd.status()
	}
	return nil, stDeleted
}

// successor is the version that an UPDATE made of the one the operation is at, or 0.
func (o *op) successor(v *version) TID {
	if v != nil {
		return v.next
	}
	return o.goneNext
}

// move takes the operation to another version.
func (o *op) move(tid TID) {
	o.tid, o.gone, o.goneEnd, o.goneNext = tid, false, live, 0
	o.waits, o.joined, o.queued, o.updated, o.chain = nil, false, false, false, 0
}

// rival collects what of the transactions that have locked or ended v conflicts with mode: ended is true when a committed
// or running end of v does, waits are those in progress, ascending, and member says whether s itself is among all of them.
func (st *State) rivals(s *session, v *version, mode RowLock) (waits []XID, ended, member bool) {
	x := v.xmax
	xmaxDone := true
	if x != 0 && rowConflict(mode, v.end.lockOf()) {
		ended = true
		xmaxDone = x.committed()
	}
	for i := range v.lockers {
		l := &v.lockers[i]
		if st.mine(s.id, l.xid) {
			member = true
			continue
		}
		if !xmaxDone && x.xid() < l.xid {
			waits = append(waits, x.xid())
			xmaxDone = true
		}
		if rowConflict(mode, l.mode) {
			waits = append(waits, l.xid)
		}
	}
	if !xmaxDone {
		waits = append(waits, x.xid())
	}
	return waits, ended, member
}

// lockedBefore says whether s has locked v under a smaller id than x.
func (st *State) lockedBefore(s *session, v *version, x XID) bool {
	return slices.ContainsFunc(v.lockers, func(l locker) bool { return l.xid < x && st.mine(s.id, l.xid) })
}

// none is a list of transactions to wait for that is empty but there.
var none = []XID{}

// settleRivals waits until nothing is in the way of locking the version the operation is at in mode, or of ending it. It
// returns stOK when that is so; otherwise what has become of the version. First it takes the heavyweight lock on the row, so
// that those who wait are served in turn; dropTupleLock gives it up.
//
// With follow, as heap_lock_tuple has it for SELECT FOR .., the versions that came of an UPDATE it has waited for are locked
// too.
func (x *Exec) settleRivals(s *session, r *relation, o *op, mode RowLock, policy WaitPolicy, cid CommandID, follow bool) (status, error) {
	st := x.st
	for {
		if o.waits == nil {
			v, stat := st.look(s, r, o, cid)
			if stat != stBusy {
				return stat, nil
			}
			waits, ended, member := st.rivals(s, v, mode)
			if len(waits) == 0 && !ended {
				return stOK, nil
			}
			if waits == nil {
				waits = none
			}
			o.waits, o.joined = waits, false
			o.queued = !member
			o.updated, o.chain = v.xmax != 0 && v.end != deleted, v.next
		}
		if o.queued {
			ok, err := st.acquire(s, tupleTag(r.id, o.tid), tupleMode[mode], s.level(), policy != Wait)
			if err != nil {
				return 0, err
			}
			if !ok {
				return stBusy, x.denied(policy, r)
			}
		}
		for len(o.waits) > 0 {
			ok, err := x.waitXID(s, o.waits[0], policy != Wait)
			if err != nil {
				return 0, err
			}
			if !ok {
				return stBusy, x.denied(policy, r)
			}
			o.waits = o.waits[1:]
		}
		if follow && o.updated {
			st.assignXID(s)
			o.waits = none // should it wait, it is to come back here
			if stat, err := x.lockChain(s, r, o.chain, mode); err != nil || stat != stOK {
				return stat, err
			}
		}
		o.waits = nil
		v, stat := st.look(s, r, o, cid)
		if v != nil && v.xmax.committed() && !o.joined {
			if _, ended, _ := st.rivals(s, v, mode); ended {
				return v.end.status(), nil
			}
		}
		if stat != stBusy {
			return stat, nil
		}
	}
}

// denied is the error of NOWAIT; SKIP LOCKED has none.
func (x *Exec) denied(policy WaitPolicy, r *relation) error {
	if policy == NoWait {
		return types.NewError("55P03", "could not obtain lock on row in relation \""+r.name+"\"")
	}
	return nil
}

// dropTupleLock gives up the heavyweight lock on the row, if it was taken.
func (x *Exec) dropTupleLock(s *session, r *relation, tid TID, mode RowLock) {
	x.st.release(s, tupleTag(r.id, tid), tupleMode[mode])
}

// waitXID waits for a transaction to end. A committed subtransaction has no lock of its own any more; then its parent's is
// waited for. With try it returns false instead of waiting.
func (x *Exec) waitXID(s *session, xid XID, try bool) (bool, error) {
	a := x.st.xid(xid)
	if a == nil {
		return true, nil
	}
	if !a.locked {
		xid = x.st.sess[a.sess].topXID()
	}
	return x.st.acquire(s, xidTag(xid), ShareLock, s.level(), try)
}

// lockVersion enters a row lock of the current subtransaction.
func (x *Exec) lockVersion(s *session, r *relation, tid TID, mode RowLock) {
	xid := x.st.assignXID(s)
	v := r.wget(tid)
	i, have := slices.BinarySearchFunc(v.lockers, xid, func(l locker, x XID) int { return int(l.xid) - int(x) })
	if have && v.lockers[i].mode >= mode {
		return
	}
	ls := make([]locker, 0, len(v.lockers)+1)
	ls = append(ls, v.lockers...)
	if have {
		ls[i].mode = mode
	} else {
		ls = slices.Insert(ls, i, locker{xid, mode})
	}
	v.lockers = ls
	x.st.join(r, tid)
	if !have {
		s.log(wLock, r.id, tid)
		x.st.touchRow(r, tid, true)
	}
}

// join tells those who wait to lock or end a version that another one has locked it: they look at it anew when their wait is over.
func (st *State) join(r *relation, tid TID) {
	if len(st.queue)+len(st.woken) == 0 {
		return
	}
	for _, s := range st.sess {
		if o := &s.op; s.wait.state != notWaiting && o.active && o.rel == r.id && o.tid == tid && !o.joined {
			st.wsession(s.id).op.joined = true
		}
	}
}

// lockHere locks the version the operation is at, as heap_lock_tuple does. The outcomes are OK, Updated, Deleted,
// SelfModified, Invisible and WouldBlock. follow also locks the versions that an UPDATE has made of it.
func (x *Exec) lockHere(s *session, r *relation, o *op, mode RowLock, policy WaitPolicy, cid CommandID, follow bool) (Outcome, error) {
	st := x.st
	if o.waits == nil {
		v, stat := st.look(s, r, o, cid)
		switch {
		case stat == stInvisible:
			return Invisible, nil
		case stat == stSelf:
			return SelfModified, nil
		case v == nil:
			return outcomeOf(stat), nil
		}
		if st.locked(s, v, mode) {
			x.dropTupleLock(s, r, o.tid, mode)
			return OK, nil
		}
		if stat == stUpdated || stat == stDeleted {
			if rowConflict(mode, v.end.lockOf()) {
				x.dropTupleLock(s, r, o.tid, mode)
				return outcomeOf(stat), nil
			}
		}
	}
	stat, err := x.settleRivals(s, r, o, mode, policy, cid, follow)
	if err != nil {
		return 0, err
	}
	v := r.get(o.tid)
	switch {
	case stat == stBusy:
		x.dropTupleLock(s, r, o.tid, mode)
		return WouldBlock, nil
	case stat != stOK && v != nil && !rowConflict(mode, v.end.lockOf()):
		// KEY SHARE of a version that was updated without a change of its key.
	case stat != stOK:
		x.dropTupleLock(s, r, o.tid, mode)
		return outcomeOf(stat), nil
	}
	if follow && v.xmax != 0 && v.end != deleted {
		st.assignXID(s)
		if stat, err := x.lockChain(s, r, v.next, mode); err != nil {
			return 0, err
		} else if stat != stOK {
			x.dropTupleLock(s, r, o.tid, mode)
			return outcomeOf(stat), nil
		}
	}
	x.lockVersion(s, r, o.tid, mode)
	if st.watch != nil {
		st.sawRow(s, r, r.get(o.tid), mode, policy != Wait)
	}
	x.dropTupleLock(s, r, o.tid, mode)
	return OK, nil
}

// lockChain locks the version tid and those that came of it, as heap_lock_updated_tuple does. It waits whatever the policy,
// as Postgres does. It returns stOK, or what has become of a version that cannot be locked.
func (x *Exec) lockChain(s *session, r *relation, tid TID, mode RowLock) (status, error) {
	for tid != 0 {
		v := r.get(tid)
		if v == nil {
			return stOK, nil
		}
		waits, ended, member := x.st.rivals(s, v, mode)
		if member && len(waits) > 0 && x.st.lockedBefore(s, v, waits[0]) {
			tid = v.next // members of a multixact are looked at in the order of their ids, and one's own ends it
			continue
		}
		if len(waits) > 0 {
			if ok, err := x.waitXID(s, waits[0], false); !ok {
				return 0, err
			}
		}
		if ended && v.xmax.committed() {
			return v.end.status(), nil
		}
		if !member && !x.st.mineStamp(s.id, v.xmax) {
			x.lockVersion(s, r, tid, mode)
			if x.st.watch != nil {
				x.st.sawRow(s, r, r.get(tid), mode, false)
			}
		}
		tid = r.get(tid).next
	}
	return stOK, nil
}

func outcomeOf(s status) Outcome {
	switch s {
	case stUpdated:
		return Updated
	case stDeleted:
		return Deleted
	case stSelf:
		return SelfModified
	case stInvisible:
		return Invisible
	case stBusy:
		return WouldBlock
	}
	return OK
}

// The phases of an operation that locks a row.
const (
	atBase  = iota // changing the version it was called for
	locking        // locking the version it is at
	chasing        // looking for the newest version, from the one it is at
	adding         // entering the version it made in the unique indexes
)

// lockNewest locks the newest version of a row, starting with the one the operation is at (heapam_tuple_lock with
// TUPLE_LOCK_FLAG_FIND_LAST_VERSION); o.phase is locking or chasing. On OK, o.tid is the version it locked.
func (x *Exec) lockNewest(s *session, r *relation, o *op, mode RowLock, policy WaitPolicy, cid CommandID, follow bool) (Outcome, error) {
	st := x.st
	for {
		if o.phase == locking {
			out, err := x.lockHere(s, r, o, mode, policy, cid, follow)
			if err != nil || out != Updated {
				return out, err
			}
			next := o.successor(r.get(o.tid))
			if next == 0 {
				return Deleted, nil
			}
			o.move(next)
			o.phase = chasing
		}
		v := r.get(o.tid)
		switch {
		case v == nil:
			if o.goneNext == 0 {
				return Deleted, nil
			}
			o.move(o.goneNext)
		case v.xmax == 0:
			if v.xmin != 0 && st.mine(s.id, v.xmin.xid()) && v.cmin >= cid {
				return SelfModified, nil
			}
			o.phase = locking
		case !v.xmax.committed() && !st.mine(s.id, v.xmax.xid()):
			ok, err := x.waitXID(s, v.xmax.xid(), policy != Wait)
			if err != nil {
				return 0, err
			}
			if !ok {
				return WouldBlock, x.denied(policy, r)
			}
		case v.next == 0 || v.end == deleted:
			return Deleted, nil
		default:
			o.move(v.next)
		}
	}
}

// LockFor says on whose behalf a row is locked; it decides how update chains are followed and how 40001 is worded.
type LockFor uint8

// The purposes.
const (
	ForSelect   LockFor = iota // SELECT FOR ..: follows to the newest version
	ForTrigger                 // a BEFORE ROW trigger of UPDATE or DELETE: follows to the newest version
	ForConflict                // ON CONFLICT DO UPDATE: exactly this version
)

// LockRow locks a row version. Outcome OK comes with the version locked: when it is another than tid, re-check the
// condition. In REPEATABLE READ and above a version that has been updated or deleted since is an error 40001.
func (x *Exec) LockRow(snap Snapshot, t TableID, tid TID, mode RowLock, policy WaitPolicy, why LockFor) (Attempt, error) {
	s := x.session()
	if e := x.replay(s, opLockRow); e != nil {
		return Attempt{e.out, TID(e.a), e.row}, asError(e.p)
	}
	if x.err != nil {
		return Attempt{}, x.err
	}
	r := x.st.wrelation(t)
	o := s.begin(opLockRow, t, tid)
	if o.phase == atBase {
		o.phase = locking
		x.st.touchRow(r, tid, true)
	}
	fixed := s.opts.Isolation >= RepeatableRead
	var out Outcome
	var err error
	if why == ForConflict || fixed {
		out, err = x.lockHere(s, r, o, mode, policy, snap.cid, why == ForSelect)
		if err == nil && fixed && (out == Updated || out == Deleted) {
			what := "update"
			if out == Deleted && why != ForSelect {
				what = "delete"
			}
			err = types.NewError("40001", "could not serialize access due to concurrent "+what)
		}
	} else {
		out, err = x.lockNewest(s, r, o, mode, policy, snap.cid, why == ForSelect)
	}
	if err == ErrWait {
		return Attempt{}, err
	}
	e := jent{kind: opLockRow, out: out}
	if err != nil {
		e.p = err
	} else if out == OK {
		e.a, e.row = uint64(o.tid), r.get(o.tid).row
	}
	x.record(s, e)
	return Attempt{e.out, TID(e.a), e.row}, err
}

// UpdateLockMode returns the lock that an UPDATE which sets these columns takes (ExecUpdateLockMode): for BEFORE ROW triggers
// and ON CONFLICT DO UPDATE.
func (x *Exec) UpdateLockMode(t TableID, cols []int) RowLock {
	for _, c := range cols {
		if slices.Contains(x.st.rel(t).keys, c) {
			return Update
		}
	}
	return NoKeyUpdate
}
