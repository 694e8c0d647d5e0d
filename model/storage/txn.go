package storage

import (
	"slices"

	"simrun/model/types"
)

// Isolation is the isolation level of a transaction. READ UNCOMMITTED is READ COMMITTED, as in Postgres.
type Isolation uint8

// The isolation levels.
const (
	ReadCommitted Isolation = iota
	RepeatableRead
	Serializable
)

// TxState is what a session's transaction is.
type TxState uint8

// The transaction states.
const (
	Idle   TxState = iota // no transaction
	Active                // in a transaction, which may be the implicit one of a single statement
	Failed                // in an explicit transaction that has failed: 25P02 for all but ROLLBACK and ROLLBACK TO
)

// TxOptions says what transaction to begin.
type TxOptions struct {
	Isolation Isolation
	ReadOnly  bool
	Implicit  bool // the transaction of a single statement: Fail ends it instead of leaving it Failed
}

// Begin starts a transaction in an idle session.
func (st *State) Begin(id SessionID, o TxOptions) {
	s := st.wsession(id)
	s.state, s.opts, s.cid, s.cidUsed = Active, o, 0, false
	reset(s, ownSubs, &s.subs)
	s.subs = append(s.subs, sub{})
}

// SetTx changes isolation level and access mode of the running transaction (SET TRANSACTION); the SQL front sees to 25001.
func (st *State) SetTx(id SessionID, o TxOptions) { st.wsession(id).opts = o }

// TxOptions returns the options of the running transaction.
func (st *State) TxOptions(id SessionID) TxOptions { return st.sess[id].opts }

// Explicit says that the transaction is an explicit one, as BEGIN in a simple query of several statements makes it, or an
// implicit one.
func (st *State) Explicit(id SessionID, explicit bool) { st.wsession(id).opts.Implicit = !explicit }

// InTx returns the state of the session's transaction.
func (st *State) InTx(id SessionID) TxState { return st.sess[id].state }

// TopXID returns the transaction's id, or 0 when it has none yet.
func (st *State) TopXID(id SessionID) XID { return st.sess[id].topXID() }

// HasSnapshot reports whether the transaction has taken the snapshot it keeps (SET TRANSACTION ISOLATION LEVEL then fails).
func (st *State) HasSnapshot(id SessionID) bool { return st.sess[id].txSnap.ok }

// Commit ends the transaction. On an error (40001) it has been rolled back. A Failed one is rolled back without error.
func (st *State) Commit(id SessionID) error {
	s := st.wsession(id)
	if s.state == Failed {
		st.Abort(id)
		return nil
	}
	if s.ser != 0 {
		if err := st.serPrepare(s); err != nil {
			st.Abort(id)
			return err
		}
	}
	for len(s.subs) > 1 {
		st.endSub(s)
	}
	st.dropSnapshots(s)
	if s.topXID() != 0 {
		st.settleCommit(s)
		st.dropXIDs(s, 0)
	}
	st.endTransaction(s, true)
	return nil
}

// Abort rolls the transaction back and leaves the session Idle.
func (st *State) Abort(id SessionID) {
	s := st.wsession(id)
	if s.state == Idle {
		return
	}
	st.stopWaiting(s)
	st.abortTo(s, 0)
	st.endTransaction(s, false)
}

// endTransaction forgets the transaction of s, whose rows are settled or undone.
func (st *State) endTransaction(s *session, committed bool) {
	st.forget(s)
	if committed && len(st.ser.txs) > 0 {
		st.serReplaced(s)
	}
	reset(s, ownWrites, &s.writes)
	reset(s, ownDDL, &s.ddl)
	reset(s, ownSubs, &s.subs)
	st.releaseIf(s, func(h *hold) bool { return h.level != sessionLevel })
	s.state, s.opts, s.cid, s.cidUsed = Idle, TxOptions{}, 0, false
	if s.ser != 0 {
		st.serEnd(s, committed)
	}
}

// Fail does what an error does to the transaction: rolls back its current (sub)transaction at once, freeing its locks, and
// leaves it Failed, or Idle when it was implicit. It also ends the session's statement.
func (st *State) Fail(id SessionID) {
	s := st.wsession(id)
	if s.state == Idle {
		return
	}
	st.stopWaiting(s)
	if s.opts.Implicit {
		st.Abort(id)
		return
	}
	st.endStatement(s)
	for len(s.subs) > 1 && s.subs[len(s.subs)-1].inner {
		st.abortSub(s)
	}
	if s.state == Failed {
		return
	}
	s.state = Failed
	l := s.level()
	st.abortTo(s, l)
	own(&s.shared, ownSubs, &s.subs)
	s.subs[l].failed = true
	st.releaseLevel(s, l)
}

// abortTo undoes the changes made at level or deeper and gives up their ids; locks stay to be released. Level 0 gives up the
// snapshots too.
func (st *State) abortTo(s *session, level int16) {
	if level == 0 {
		st.dropSnapshots(s)
		if s.ser != 0 {
			st.serEnd(s, false)
		}
	}
	if s.state == Failed && s.subs[level].failed {
		return
	}
	if s.ser != 0 {
		st.serUndo(s, &s.subs[level])
	}
	st.undo(s, s.subs[level].writes, level)
	st.dropXIDs(s, level)
	own(&s.shared, ownSubs, &s.subs)
	for i := int(level); i < len(s.subs); i++ {
		s.subs[i].xid = 0
	}
}

// pushSub begins a subtransaction.
func (st *State) pushSub(s *session, b sub) {
	own(&s.shared, ownSubs, &s.subs)
	b.writes = len(s.writes)
	if s.ser != 0 {
		me := st.ser.find(s.ser)
		b.serWrites, b.serEmptied = len(me.writes), len(me.emptied)
	}
	s.subs = append(s.subs, b)
}

// endSub ends the current subtransaction and keeps its changes. Its locks become its parent's, but for that on its own id,
// which is given up.
func (st *State) endSub(s *session) {
	l := s.level()
	if st.foot.on {
		st.touchLog(s, s.subs[l].writes, false)
	}
	own(&s.shared, ownSubs, &s.subs)
	s.subs = s.subs[:l]
	if slices.ContainsFunc(s.held, func(h hold) bool { return h.level >= l }) {
		own(&s.shared, ownHeld, &s.held)
		for i := 0; i < len(s.held); i++ {
			h := &s.held[i]
			if h.level < l {
				continue
			}
			h.level = l - 1
			if slices.ContainsFunc(s.held[:i], func(g hold) bool { return g.tag == h.tag && g.mode == h.mode && g.level >= 0 }) {
				st.dropHold(s, i)
				i--
			}
		}
	}
	for i := range st.active {
		if st.active[i].sess != s.id || st.active[i].level != l {
			continue
		}
		own(&st.shared, shareActive, &st.active)
		a := &st.active[i]
		a.level = l - 1
		if a.locked {
			a.locked = false
			st.wake(xidTag(a.xid))
		}
	}
}

// abortSub ends the current subtransaction and undoes its changes.
func (st *State) abortSub(s *session) {
	l := s.level()
	st.abortTo(s, l)
	own(&s.shared, ownSubs, &s.subs)
	s.subs = s.subs[:l]
	st.releaseLevel(s, l)
}

// Savepoint defines a savepoint.
func (st *State) Savepoint(id SessionID, name string) {
	st.pushSub(st.wsession(id), sub{name: name})
}

func noSavepoint(name string) error {
	return types.NewError("3B001", "savepoint \""+name+"\" does not exist")
}

func (s *session) savepoint(name string) int16 {
	for i := len(s.subs) - 1; i > 0; i-- {
		if !s.subs[i].inner && s.subs[i].name == name {
			return int16(i)
		}
	}
	return 0
}

// ReleaseSavepoint ends the subtransactions down to the savepoint, keeping their changes; 3B001 when there is none.
func (st *State) ReleaseSavepoint(id SessionID, name string) error {
	s := st.wsession(id)
	l := s.savepoint(name)
	if l == 0 {
		return noSavepoint(name)
	}
	for s.level() >= l {
		st.endSub(s)
	}
	return nil
}

// RollbackTo undoes what was done since the savepoint and leaves it defined; it revives a Failed transaction.
func (st *State) RollbackTo(id SessionID, name string) error {
	s := st.wsession(id)
	l := s.savepoint(name)
	if l == 0 {
		return noSavepoint(name)
	}
	for s.level() >= l {
		st.abortSub(s)
	}
	s.state = Active
	st.pushSub(s, sub{name: name})
	return nil
}

// assignXID gives the current subtransaction an id if it has none, its parents first, and returns it.
func (st *State) assignXID(s *session) XID {
	l := len(s.subs) - 1
	if x := s.subs[l].xid; x != 0 {
		return x
	}
	st.touchXID()
	own(&s.shared, ownSubs, &s.subs)
	own(&st.shared, shareActive, &st.active)
	for i := range s.subs {
		if s.subs[i].xid == 0 {
			s.subs[i].xid = st.nextXID
			st.active = append(st.active, activeXID{st.nextXID, s.id, int16(i), true})
			st.nextXID++
		}
	}
	return s.subs[l].xid
}

// dropXIDs gives up the ids of s at level or deeper, and wakes who waits for them.
func (st *State) dropXIDs(s *session, level int16) {
	for i := 0; i < len(st.active); {
		a := st.active[i]
		if a.sess != s.id || a.level < level {
			i++
			continue
		}
		own(&st.shared, shareActive, &st.active)
		st.active = slices.Delete(st.active, i, i+1)
		if len(st.queue) > 0 {
			st.touchQueue(xidTag(a.xid))
			st.wake(xidTag(a.xid))
		}
	}
}
