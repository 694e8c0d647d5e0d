package storage

import "simrun/model/types"

// AdvisoryKey names an advisory lock: one bigint key, or two int keys.
type AdvisoryKey struct {
	Key  int64 // the bigint key, or the first int key
	Key2 int32 // the second int key
	Two  bool  // whether there are two
}

// lock takes a lock at a level and journals the answer.
func (x *Exec) lock(s *session, t ltag, m TableLock, level int16, policy WaitPolicy, what string) (bool, error) {
	st := x.st
	had := st.watch == nil || st.heldAs(s, t, m) && s.resumed != t
	if s.resumed == t {
		s.resumed = ltag{}
	}
	if t.kind == LockRelation && m == AccessExclusive {
		st.assignXID(s) // such locks go to the WAL for standbys, under the transaction's id
	}
	ok, err := st.acquire(s, t, m, level, policy != Wait)
	if err == ErrWait {
		return false, err
	}
	if !ok && err == nil && policy == NoWait {
		err = types.NewError("55P03", "could not obtain lock on "+what)
	}
	if ok && !had {
		st.sawLock(t, m, policy != Wait)
	}
	if ok && t.kind == LockRelation && x.subs == 0 && !s.op.active {
		return true, nil // see lockRelation
	}
	e := jent{kind: opLock, ok: ok, a: uint64(t.rel), b: uint64(m)}
	if err != nil {
		e.p = err
	}
	x.record(s, e)
	return ok, err
}

// LockTable locks a table (or view, index, sequence: any relation id) until the end of the transaction, or of the
// subtransaction if that is rolled back. Not getting it is an error 55P03 (NoWait), or false (SkipLocked).
func (x *Exec) LockTable(t TableID, mode TableLock, policy WaitPolicy) (bool, error) {
	return x.lockRelation(t, mode, x.st.sess[x.id].level(), policy)
}

func (x *Exec) lockRelation(t TableID, mode TableLock, level int16, policy WaitPolicy) (bool, error) {
	s := x.st.session(x.id)
	tag := relTag(t)
	if x.pos < len(s.journal) {
		if e := &s.journal[x.pos]; e.kind == opLock && e.a == uint64(t) && e.b == uint64(mode) {
			x.pos++
			return e.ok, asError(e.p)
		}
	}
	if x.subs == 0 {
		// A lock that the transaction has needs no journal entry, and getting it none either: when the statement is run again,
		// the transaction has it then too.
		for i := range s.held {
			if h := &s.held[i]; h.tag == tag && h.mode == mode && h.level >= 0 && h.level <= level {
				if s.resumed == tag {
					x.session().resumed = ltag{}
					if x.st.watch != nil {
						x.st.sawLock(tag, mode, false)
					}
				}
				return true, nil
			}
		}
	}
	if x.pos < len(s.journal) {
		panic("storage: a statement that was run again took other locks than before")
	}
	what := ""
	if policy == NoWait {
		what = "relation \"" + x.st.rel(t).name + "\""
	}
	return x.lock(x.session(), tag, mode, level, policy, what)
}

// PassTable waits until the table could be locked, and keeps no lock: what a server does that locks a table and lets go of it at once.
func (x *Exec) PassTable(t TableID, mode TableLock) error {
	s := x.session()
	if e := x.replay(s, opUnlock); e != nil {
		return asError(e.p)
	}
	tag, level := relTag(t), s.level()
	had := x.st.heldModes(s, tag)&bit(mode) != 0 && s.wait.tag != tag && s.resumed != tag
	_, err := x.st.acquire(s, tag, mode, level, false)
	if err == ErrWait {
		return err
	}
	if s.resumed == tag {
		s.resumed = ltag{}
	}
	e := jent{kind: opUnlock}
	switch {
	case err != nil:
		e.p = err
	case !had:
		if x.st.watch != nil {
			x.st.sawLock(tag, mode, false)
		}
		for i := range s.held {
			if h := &s.held[i]; h.tag == tag && h.mode == mode {
				x.st.dropHold(s, i)
				x.st.wake(tag)
				break
			}
		}
	}
	x.record(s, e)
	return err
}

// LockObject locks a catalog object that is no relation, e.g. a schema, until the end of the transaction.
func (x *Exec) LockObject(class, object uint32, mode TableLock, policy WaitPolicy) (bool, error) {
	s := x.session()
	if e := x.replay(s, opLock); e != nil {
		return e.ok, asError(e.p)
	}
	return x.lock(s, objectTag(class, object), mode, s.level(), policy, "object")
}

// Advisory takes an advisory lock, shared or exclusive, until the end of the session or of the transaction.
// policy Wait waits; SkipLocked (pg_try_..) returns false.
func (x *Exec) Advisory(k AdvisoryKey, shared, session bool, policy WaitPolicy) (bool, error) {
	s := x.session()
	if e := x.replay(s, opLock); e != nil {
		return e.ok, asError(e.p)
	}
	level := s.level()
	if session {
		level = sessionLevel
	}
	return x.lock(s, advisoryTag(k), advisoryMode(shared), level, policy, "advisory lock")
}

func advisoryMode(shared bool) TableLock {
	if shared {
		return ShareLock
	}
	return Exclusive
}

// AdvisoryUnlock gives up one session-level hold; false when there is none (Postgres then warns).
func (x *Exec) AdvisoryUnlock(k AdvisoryKey, shared bool) bool {
	s := x.session()
	if e := x.replay(s, opUnlock); e != nil {
		return e.ok
	}
	ok := false
	t, m := advisoryTag(k), advisoryMode(shared)
	for i := range s.held {
		h := &s.held[i]
		if h.tag != t || h.mode != m || h.level != sessionLevel {
			continue
		}
		ok = true
		x.st.touchLock(t, m)
		if h.n > 1 {
			own(&s.shared, ownHeld, &s.held)
			s.held[i].n--
		} else {
			x.st.dropHold(s, i)
			x.st.wake(t)
		}
		break
	}
	x.record(s, jent{kind: opUnlock, ok: ok})
	return ok
}

// AdvisoryUnlockAll gives up all session-level holds.
func (x *Exec) AdvisoryUnlockAll() {
	s := x.session()
	if x.replay(s, opUnlock) != nil {
		return
	}
	x.st.releaseIf(s, func(h *hold) bool { return h.level == sessionLevel && h.tag.kind == LockAdvisory })
	x.record(s, jent{kind: opUnlock})
}
