package storage

import (
	"slices"
	"sync/atomic"
)

// State is the whole database state below SQL, as a value.
//
// Copy on write: a State has an owner number, and so has every node below it. A node may be changed in place by the State
// whose number it carries; any other State copies it first. Clone gives both copies new numbers, so that everything they
// share is copied by whoever writes first, and a run without clones changes everything in place.
type State struct {
	owner  uint64
	shared uint8 // which of the slices below are shared with a clone (share*)

	countStats bool
	sequential bool   // see SequentialScans
	version    int    // see ServerVersion
	unordered  bool   // the order of a heap is no part of the fingerprint
	csn        uint64 // number of the last commit that changed something
	nextXID    XID
	nextRel    TableID
	strong     int // relation locks held or waited for in modes that conflict with the weak ones

	sess      []*session  // by SessionID
	rels      []*relPage  // by TableID
	dirty     []TableID   // relations whose hash is not in relSum
	relSum    uint64      // sum of the hashes of the others
	queue     []SessionID // sessions that wait for a lock; those for one lock are in the order of its wait queue
	woken     []SessionID // sessions that have been granted what they waited for and have not been run again
	active    []activeXID // transactions in progress that have an id, ascending
	unsettled []commitRecord
	cat       *catalog
	ser       *serials

	foot  footprint
	watch *watch // of the locks that a step acquires, else nil
	x     Exec   // the statement being run; at most one at a time runs, others are blocked values in their sessions
}

// Bits of State.shared.
const (
	shareSess uint8 = 1 << iota
	shareRels
	shareDirty
	shareQueue
	shareWoken
	shareActive
	shareUnsettled
)

// activeXID is a transaction or subtransaction in progress that has an id.
type activeXID struct {
	xid    XID
	sess   SessionID
	level  int16 // depth in the session's stack of subtransactions; a committed subtransaction has that of its parent
	locked bool  // false for a subtransaction that has committed: its lock has gone
}

// lastOwner makes owner numbers unique over all States. Only equality of the numbers matters, so that it has no influence
// on a run.
var lastOwner atomic.Uint64

// New returns an empty database.
func New() *State {
	return &State{owner: lastOwner.Add(1), nextXID: 3, nextRel: 1, cat: &catalog{}, ser: &serials{}}
}

// ServerVersion says which server to be like where they differ, as server_version_num; 0 is 150000.
func (st *State) ServerVersion(version int) { st.version = version }

// Version is what ServerVersion was told.
func (st *State) Version() int { return st.version }

// Clone returns a copy in O(1); both copies may be used on, also by different goroutines.
func (st *State) Clone() *State {
	b := new(stateBox)
	c := &b.State
	*c = *st
	c.shared = ^uint8(0)
	// Short lists are copied at once, into the same piece of memory; long ones when one of the two writes.
	take(&c.shared, shareSess, &c.sess, b.sess[:0])
	take(&c.shared, shareActive, &c.active, b.active[:0])
	take(&c.shared, shareDirty, &c.dirty, b.dirty[:0])
	take(&c.shared, shareQueue, &c.queue, b.queue[:0])
	st.shared |= c.shared
	st.owner = lastOwner.Add(2)
	c.owner = st.owner - 1
	c.x = Exec{}
	st.foot.shared, c.foot.shared = true, true
	if c.watch != nil {
		c.watch = new(watch)
	}
	return c
}

// stateBox is a State with room for its lists.
type stateBox struct {
	State
	sess   [6]*session
	active [4]activeXID
	dirty  [4]TableID
	queue  [4]SessionID
}

// take moves a list to room if it fits there with one more entry, so that it is not shared.
func take[T any](shared *uint8, bit uint8, p *[]T, room []T) {
	if len(*p) < cap(room) {
		*p = append(room, *p...)
		*shared &^= bit
	}
}

// own makes *p, one of the slices of st, its own before it is changed in place.
func own[T any](shared *uint8, bit uint8, p *[]T) {
	if *shared&bit != 0 {
		*shared &^= bit
		q := make([]T, len(*p), len(*p)+2)
		copy(q, *p)
		*p = q
	}
}

// session returns s for reading.
func (st *State) session(s SessionID) *session { return st.sess[s] }

// wsession returns s for writing.
func (st *State) wsession(id SessionID) *session {
	s := st.sess[id]
	if s.owner != st.owner {
		own(&st.shared, shareSess, &st.sess)
		s = s.copy(st.owner)
		st.sess[id] = s
		if s.statement != &noStatement {
			s.statement = s.statement.copy(st.owner)
		}
	}
	return s
}

// relPage is a run of relations, so that a step copies one page and not the whole list.
type relPage struct {
	owner uint64
	rel   [relPageLen]*relation
}

const relPageLen = 16

// rel returns a relation for reading, or nil.
func (st *State) rel(t TableID) *relation {
	if int(t/relPageLen) >= len(st.rels) {
		return nil
	}
	return st.rels[t/relPageLen].rel[t%relPageLen]
}

// setRelation enters a relation, or takes one out with nil.
func (st *State) setRelation(t TableID, r *relation) {
	n := int(t / relPageLen)
	if n == len(st.rels) {
		own(&st.shared, shareRels, &st.rels)
		st.rels = append(st.rels, &relPage{owner: st.owner})
	}
	p := st.rels[n]
	if p.owner != st.owner {
		own(&st.shared, shareRels, &st.rels)
		q := *p
		q.owner = st.owner
		p = &q
		st.rels[n] = p
	}
	p.rel[t%relPageLen] = r
}

// wrelation returns t for writing. It panics when there is none, which is a mistake of the caller.
func (st *State) wrelation(t TableID) *relation {
	r := st.rel(t)
	if r.owner != st.owner {
		r = r.copy(st.owner)
		st.setRelation(t, r)
	}
	if r.clean {
		// Its hash leaves the sum until it is next computed.
		st.relSum -= r.hash
		r.clean = false
		own(&st.shared, shareDirty, &st.dirty)
		st.dirty = append(st.dirty, t)
	}
	return r
}

// addRelation enters a new relation.
func (st *State) addRelation(r *relation) {
	r.owner = st.owner
	r.id = st.nextRel
	st.nextRel++
	st.setRelation(r.id, r)
	own(&st.shared, shareDirty, &st.dirty)
	st.dirty = append(st.dirty, r.id)
}

// removeRelation takes a relation out.
func (st *State) removeRelation(t TableID) {
	st.wrelation(t)
	st.setRelation(t, nil)
	own(&st.shared, shareDirty, &st.dirty)
	i := slices.Index(st.dirty, t)
	st.dirty = slices.Delete(st.dirty, i, i+1)
}

// xid returns the entry of a transaction in progress, or nil.
func (st *State) xid(x XID) *activeXID {
	for i := range st.active {
		if st.active[i].xid == x {
			return &st.active[i]
		}
	}
	return nil
}

// mine reports whether x is the transaction of s or one of its subtransactions.
func (st *State) mine(s SessionID, x XID) bool {
	a := st.xid(x)
	return a != nil && a.sess == s
}

// OpenSession opens a session with the lowest free number.
func (st *State) OpenSession() SessionID {
	own(&st.shared, shareSess, &st.sess)
	for i, s := range st.sess {
		if !s.open {
			st.sess[i] = newSession(st.owner, SessionID(i), true)
			return SessionID(i)
		}
	}
	id := SessionID(len(st.sess))
	st.sess = append(st.sess, newSession(st.owner, id, true))
	return id
}

// closedSessions belong to no State: they are not written to.
var closedSessions = func() (list [16]*session) {
	for i := range list {
		list[i] = newSession(0, SessionID(i), false)
	}
	return list
}()

// CloseSession rolls back and frees all locks, session-level advisory locks included.
func (st *State) CloseSession(id SessionID) {
	if st.session(id).state != Idle {
		st.Abort(id)
	}
	st.ReleaseAll(id)
	own(&st.shared, shareSess, &st.sess)
	if int(id) < len(closedSessions) {
		st.sess[id] = closedSessions[id]
	} else {
		st.sess[id] = newSession(st.owner, id, false)
	}
}

// ReleaseAll frees all locks of a session that is in no transaction.
func (st *State) ReleaseAll(id SessionID) {
	if len(st.session(id).held) > 0 {
		st.releaseAll(st.wsession(id))
	}
}
