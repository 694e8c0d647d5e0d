package storage

import (
	"cmp"
	"slices"

	"simrun/model/types"
)

// LockKind is the kind of a LockTag, pg_locks.locktype.
type LockKind uint8

// The kinds, each named as pg_locks names it: relation, tuple, transactionid, advisory, object.
const (
	LockRelation LockKind = iota + 1
	LockTuple
	LockXID
	LockAdvisory
	LockObject
)

// LockTag names what is locked.
type LockTag struct {
	Kind     LockKind
	Rel      TableID     // LockRelation, LockTuple
	TID      TID         // LockTuple
	XID      XID         // LockXID
	Advisory AdvisoryKey // LockAdvisory
	Class    uint32      // LockObject: the catalog
	Object   uint32      // LockObject
}

// ltag is a LockTag as the lock manager keeps it.
type ltag struct {
	kind LockKind
	two  bool   // an advisory lock with two keys
	rel  uint32 // relation; second advisory key; object
	id   uint64 // tid, xid, advisory key, class
}

func relTag(t TableID) ltag            { return ltag{kind: LockRelation, rel: uint32(t)} }
func tupleTag(t TableID, tid TID) ltag { return ltag{kind: LockTuple, rel: uint32(t), id: uint64(tid)} }
func xidTag(x XID) ltag                { return ltag{kind: LockXID, id: uint64(x)} }
func objectTag(class, obj uint32) ltag { return ltag{kind: LockObject, rel: obj, id: uint64(class)} }
func advisoryTag(k AdvisoryKey) ltag {
	t := ltag{kind: LockAdvisory, two: k.Two, id: uint64(k.Key)}
	if k.Two {
		t.rel = uint32(k.Key2)
	}
	return t
}

func (t ltag) public() LockTag {
	p := LockTag{Kind: t.kind}
	switch t.kind {
	case LockRelation:
		p.Rel = TableID(t.rel)
	case LockTuple:
		p.Rel, p.TID = TableID(t.rel), TID(t.id)
	case LockXID:
		p.XID = XID(t.id)
	case LockAdvisory:
		p.Advisory = AdvisoryKey{Key: int64(t.id), Key2: int32(t.rel), Two: t.two}
	case LockObject:
		p.Class, p.Object = uint32(t.id), t.rel
	}
	return p
}

// hold is a lock that a session has been granted.
type hold struct {
	tag   ltag
	mode  TableLock
	level int16 // depth of the subtransaction that took it, or sessionLevel
	n     int32 // how often it was taken; counted for session-level locks only, as others are never given up singly
}

const sessionLevel = -1

// wait is what a session waits for, or has been granted and not yet noticed.
type wait struct {
	state waitState
	tag   ltag
	mode  TableLock
	level int16
}

type waitState uint8

const (
	notWaiting waitState = iota
	waiting
	granted // the lock is held; the statement has to be run again
)

// modes is a set of lock modes, bit 1<<mode.
type modes uint16

func bit(m TableLock) modes { return 1 << m }

// conflicts is the conflict matrix (Postgres documentation, table 13.2).
var conflicts = [9]modes{
	AccessShare:          bit(AccessExclusive),
	RowShare:             bit(Exclusive) | bit(AccessExclusive),
	RowExclusive:         bit(ShareLock) | bit(ShareRowExclusive) | bit(Exclusive) | bit(AccessExclusive),
	ShareUpdateExclusive: bit(ShareUpdateExclusive) | bit(ShareLock) | bit(ShareRowExclusive) | bit(Exclusive) | bit(AccessExclusive),
	ShareLock:            bit(RowExclusive) | bit(ShareUpdateExclusive) | bit(ShareRowExclusive) | bit(Exclusive) | bit(AccessExclusive),
	ShareRowExclusive:    bit(RowExclusive) | bit(ShareUpdateExclusive) | bit(ShareLock) | bit(ShareRowExclusive) | bit(Exclusive) | bit(AccessExclusive),
	Exclusive:            bit(RowShare) | bit(RowExclusive) | bit(ShareUpdateExclusive) | bit(ShareLock) | bit(ShareRowExclusive) | bit(Exclusive) | bit(AccessExclusive),
	AccessExclusive:      0x1fe,
}

// strongMode reports whether a request counts in State.strong.
func strongMode(t ltag, m TableLock) bool { return t.kind == LockRelation && m > ShareUpdateExclusive }

// heldModes returns the modes in which s holds the lock.
func (st *State) heldModes(s *session, t ltag) modes {
	var m modes
	for i := range s.held {
		if s.held[i].tag == t {
			m |= bit(s.held[i].mode)
		}
	}
	if t.kind == LockXID {
		if a := st.xid(XID(t.id)); a != nil && a.sess == s.id && a.locked {
			m |= bit(Exclusive)
		}
	}
	return m
}

// conflictsWithHeld reports whether another session holds the lock in a mode that conflicts with m.
func (st *State) conflictsWithHeld(self SessionID, t ltag, m TableLock) bool {
	if t.kind == LockXID {
		// Only its owner holds it in a mode that conflicts with the waiters' ShareLock.
		a := st.xid(XID(t.id))
		return a != nil && a.locked && a.sess != self
	}
	for _, s := range st.sess {
		if s.id != self && len(s.held) > 0 && st.heldModes(s, t)&conflicts[m] != 0 {
			return true
		}
	}
	return false
}

// waitedModes returns the modes that sessions wait for the lock in.
func (st *State) waitedModes(t ltag) modes {
	var m modes
	for _, id := range st.queue {
		if w := &st.sess[id].wait; w.tag == t {
			m |= bit(w.mode)
		}
	}
	return m
}

// addHold enters a granted lock.
func (st *State) addHold(s *session, t ltag, m TableLock, level int16) {
	for i := range s.held {
		h := &s.held[i]
		if h.tag != t || h.mode != m {
			continue
		}
		if level == sessionLevel && h.level == sessionLevel {
			own(&s.shared, ownHeld, &s.held)
			s.held[i].n++
			return
		}
		if level >= 0 && h.level >= 0 && h.level <= level {
			return // held until later than level ends
		}
	}
	own(&s.shared, ownHeld, &s.held)
	s.held = append(s.held, hold{tag: t, mode: m, level: level, n: 1})
	if strongMode(t, m) {
		st.strong++
	}
}

// dropHold takes entry i out of s.held without waking anybody.
func (st *State) dropHold(s *session, i int) {
	own(&s.shared, ownHeld, &s.held)
	if strongMode(s.held[i].tag, s.held[i].mode) {
		st.strong--
	}
	s.held = slices.Delete(s.held, i, i+1)
}

// release gives up the lock that s holds at some level in mode m, and wakes whom that frees.
func (st *State) release(s *session, t ltag, m TableLock) {
	for i := len(s.held) - 1; i >= 0; i-- {
		if h := &s.held[i]; h.tag == t && h.mode == m && h.level != sessionLevel {
			st.dropHold(s, i)
			st.wake(t)
			return
		}
	}
}

// releaseLevel gives up the locks taken at level or deeper.
func (st *State) releaseLevel(s *session, level int16) {
	st.releaseIf(s, func(h *hold) bool { return h.level >= level })
}

// releaseAll gives up every lock of s, session-level ones too.
func (st *State) releaseAll(s *session) {
	st.releaseIf(s, func(*hold) bool { return true })
}

func (st *State) releaseIf(s *session, f func(*hold) bool) {
	n := 0
	for i := range s.held {
		if f(&s.held[i]) {
			n++
			st.touchRelease(&s.held[i])
		}
	}
	if n == 0 {
		return
	}
	if len(st.queue) == 0 && st.strong == 0 && n == len(s.held) {
		reset(s, ownHeld, &s.held)
		return
	}
	var freed []ltag
	own(&s.shared, ownHeld, &s.held)
	keep := s.held[:0]
	for i := range s.held {
		h := s.held[i]
		if !f(&h) {
			keep = append(keep, h)
			continue
		}
		if strongMode(h.tag, h.mode) {
			st.strong--
		}
		if len(st.queue) > 0 && !slices.Contains(freed, h.tag) {
			freed = append(freed, h.tag)
		}
	}
	clear(s.held[len(keep):])
	s.held = keep
	for _, t := range freed {
		st.wake(t)
	}
}

// errDeadlock is what Postgres reports to a deadlock's victim, but for the detail.
func errDeadlock() *types.Error { return types.NewError("40P01", "deadlock detected") }

// acquire takes a lock for s, or begins to wait: then it returns ErrWait, and the lock is held when the statement is run
// again. With try it returns false instead of waiting. It fails with 40P01 when the wait would close a cycle of two on this
// very lock, which Postgres notices without waiting for deadlock_timeout.
func (st *State) acquire(s *session, t ltag, m TableLock, level int16, try bool) (bool, error) {
	if err := s.broken; err != nil {
		s.broken = nil
		return false, err
	}
	if s.wait.state == granted && s.wait.tag == t && s.wait.mode == m {
		s.wait = wait{}
		return true, nil
	}
	st.touchLock(t, m)
	if t.kind == LockRelation && st.strong == 0 && m < ShareUpdateExclusive {
		st.addHold(s, t, m, level)
		return true, nil
	}
	mine := st.heldModes(s, t)
	if mine&bit(m) != 0 {
		st.addHold(s, t, m, level)
		return true, nil
	}
	if st.waitedModes(t)&conflicts[m] == 0 && !st.conflictsWithHeld(s.id, t, m) {
		st.addHold(s, t, m, level)
		return true, nil
	}
	if try {
		if st.passes(s, t, m, mine) {
			st.addHold(s, t, m, level)
			return true, nil
		}
		return false, nil
	}
	return st.enqueue(s, t, m, level, mine)
}

// version17 is the first whose NOWAIT and its like get a lock for which they need not wait because they pass by those in the queue
// that wait for them.
const version17 = 170000

// passes reports whether s, which does not want to wait, passes by the queue as one that waits does in enqueue.
func (st *State) passes(s *session, t ltag, m TableLock, mine modes) bool {
	if st.version < version17 || mine == 0 {
		return false
	}
	var ahead modes
	for _, id := range st.queue {
		w := st.sess[id]
		if w.wait.tag != t {
			continue
		}
		if conflicts[w.wait.mode]&mine != 0 {
			return conflicts[m]&st.heldModes(w, t) == 0 && conflicts[m]&ahead == 0 && !st.conflictsWithHeld(s.id, t, m)
		}
		ahead |= bit(w.wait.mode)
	}
	return false
}

// enqueue puts s into the wait queue as ProcSleep does: at the end, or, when a waiter waits for something that s holds,
// before the first such waiter; if nothing then is in its way, the lock is granted at once.
func (st *State) enqueue(s *session, t ltag, m TableLock, level int16, mine modes) (bool, error) {
	at := len(st.queue)
	if mine != 0 {
		var ahead modes
		for i, id := range st.queue {
			w := st.sess[id]
			if w.wait.tag != t {
				continue
			}
			if conflicts[w.wait.mode]&mine != 0 {
				if conflicts[m]&st.heldModes(w, t) != 0 {
					return false, errDeadlock()
				}
				if conflicts[m]&ahead == 0 && !st.conflictsWithHeld(s.id, t, m) {
					st.addHold(s, t, m, level)
					return true, nil
				}
				at = i
				break
			}
			ahead |= bit(w.wait.mode)
		}
	}
	st.touchQueue(t)
	if s.stmtSnap.ok {
		st.touchSnapshot(true)
	}
	own(&st.shared, shareQueue, &st.queue)
	st.queue = slices.Insert(st.queue, at, s.id)
	s.wait = wait{state: waiting, tag: t, mode: m, level: level}
	if strongMode(t, m) {
		st.strong++
	}
	if !st.checkDeadlock(s.id) && s.wait.state == granted {
		// Rearranging the queue has granted it.
		own(&st.shared, shareWoken, &st.woken)
		st.woken = slices.DeleteFunc(st.woken, func(id SessionID) bool { return id == s.id })
		s.wait = wait{}
		return true, nil
	}
	return false, ErrWait
}

// wake grants the lock to the waiters that nothing is in the way of any more, as ProcLockWakeup does.
func (st *State) wake(t ltag) {
	var ahead modes
	for i := 0; i < len(st.queue); i++ {
		id := st.queue[i]
		w := st.sess[id].wait
		if w.tag != t {
			continue
		}
		if conflicts[w.mode]&ahead != 0 || st.conflictsWithHeld(id, t, w.mode) {
			ahead |= bit(w.mode)
			continue
		}
		s := st.wsession(id)
		st.dequeue(s)
		i--
		s.wait.state = granted
		st.addHold(s, t, w.mode, w.level)
		own(&st.shared, shareWoken, &st.woken)
		st.woken = append(st.woken, id)
		st.touchLock(t, w.mode)
	}
}

// dequeue takes s out of the queue.
func (st *State) dequeue(s *session) {
	own(&st.shared, shareQueue, &st.queue)
	i := slices.Index(st.queue, s.id)
	st.queue = slices.Delete(st.queue, i, i+1)
	if strongMode(s.wait.tag, s.wait.mode) {
		st.strong--
	}
}

// stopWaiting ends the wait of s, whether it still waits or has been granted the lock.
func (st *State) stopWaiting(s *session) {
	w := s.wait
	switch w.state {
	case waiting:
		st.dequeue(s)
		s.wait = wait{}
		st.wake(w.tag)
	case granted:
		st.unwake(s)
		s.wait = wait{}
		if w.tag.kind == LockXID {
			st.release(s, w.tag, w.mode)
		}
	}
}

// Interrupt ends the wait of s. Its statement is then to be run again (Rerun) at once: the operation that waited fails with
// err, e.g. 40P01 for the victim of a deadlock, 55P03 when lock_timeout has passed, 57014 when cancelled.
func (st *State) Interrupt(id SessionID, err error) {
	s := st.wsession(id)
	if s.wait.state == notWaiting {
		panic("storage: Interrupt of a session that does not wait")
	}
	st.stopWaiting(s)
	s.broken = err
}

// unwake takes s out of the list of the woken.
func (st *State) unwake(s *session) {
	if i := slices.Index(st.woken, s.id); i >= 0 {
		own(&st.shared, shareWoken, &st.woken)
		st.woken = slices.Delete(st.woken, i, i+1)
	}
}

// Waiting reports whether the session's statement waits, or has been woken and not yet run again.
func (st *State) Waiting(s SessionID) bool { return st.sess[s].wait.state != notWaiting }

// Woken appends the sessions whose wait is over and whose statement has not been run again yet, in the order they were woken.
func (st *State) Woken(buf []SessionID) []SessionID { return append(buf, st.woken...) }

// WaitingFor returns the lock that s waits for; false when it does not wait.
func (st *State) WaitingFor(s SessionID) (LockTag, TableLock, bool) {
	w := &st.sess[s].wait
	if w.state != waiting {
		return LockTag{}, 0, false
	}
	return w.tag.public(), w.mode, true
}

// WaitedFor returns the lock that s waits for, or was woken with and has not gone on yet; false for others.
func (st *State) WaitedFor(s SessionID) (LockTag, bool) {
	w := &st.sess[s].wait
	if w.state == notWaiting {
		return LockTag{}, false
	}
	return w.tag.public(), true
}

// BlockedBy appends the sessions that s waits for, as pg_blocking_pids gives them, sorted: those that hold the lock in a
// conflicting mode, and those that wait for it ahead of s in one.
func (st *State) BlockedBy(s SessionID, buf []SessionID) []SessionID {
	w := &st.sess[s].wait
	if w.state != waiting {
		return buf
	}
	n := len(buf)
	for _, o := range st.sess {
		if o.id != s && st.heldModes(o, w.tag)&conflicts[w.mode] != 0 {
			buf = append(buf, o.id)
		}
	}
	for _, id := range st.queue {
		if id == s {
			break
		}
		if o := &st.sess[id].wait; o.tag == w.tag && conflicts[w.mode]&bit(o.mode) != 0 && !slices.Contains(buf[n:], id) {
			buf = append(buf, id)
		}
	}
	slices.Sort(buf[n:])
	return buf
}

// LockInfo is one row of pg_locks.
type LockInfo struct {
	Tag     LockTag
	Mode    TableLock
	Granted bool
}

// Locks appends the rows of pg_locks for s, sorted; virtual transaction ids are left to the caller.
func (st *State) Locks(id SessionID, buf []LockInfo) []LockInfo {
	s := st.sess[id]
	n := len(buf)
	for i := range st.active {
		if a := &st.active[i]; a.sess == id && a.locked {
			buf = append(buf, LockInfo{xidTag(a.xid).public(), Exclusive, true})
		}
	}
	for i := range s.held {
		l := LockInfo{s.held[i].tag.public(), s.held[i].mode, true}
		if !slices.Contains(buf[n:], l) {
			buf = append(buf, l)
		}
	}
	if s.wait.state == waiting {
		buf = append(buf, LockInfo{s.wait.tag.public(), s.wait.mode, false})
	}
	slices.SortFunc(buf[n:], compareLocks)
	return buf
}

func compareLocks(a, b LockInfo) int {
	x, y := a.Tag, b.Tag
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Rel, y.Rel), cmp.Compare(x.TID, y.TID), cmp.Compare(x.XID, y.XID),
		cmp.Compare(x.Advisory.Key, y.Advisory.Key), cmp.Compare(x.Advisory.Key2, y.Advisory.Key2),
		cmp.Compare(x.Class, y.Class), cmp.Compare(x.Object, y.Object), cmp.Compare(a.Mode, b.Mode))
}
