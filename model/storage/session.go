package storage

import (
	"slices"
	"sync"
)

// session is a connection: its transaction, its locks, and its statement if one is blocked.
type session struct {
	owner  uint64
	shared uint8 // which slices are shared with a copy (own*)

	id      SessionID
	open    bool
	state   TxState
	opts    TxOptions
	cid     CommandID // the next command's number
	cidUsed bool      // something was written under cid

	subs   []sub    // the transaction and its open subtransactions; empty when Idle
	writes []write  // what the transaction changed, in order: the undo log
	ddl    []undo   // what write.tid points to for schema changes
	held   []hold   // locks
	txSnap Snapshot // the transaction's snapshot (REPEATABLE READ and above)

	*statement // the one that runs or is blocked, else noStatement; never nil

	currvals []currval
	lastSeq  TableID

	ser uint64 // SERIALIZABLE: the id of the transaction in State.ser, 0 when it need not be watched
}

// Bits of session.shared.
const (
	ownSubs uint8 = 1 << iota
	ownWrites
	ownDDL
	ownHeld
	ownCurrvals
)

// statement is what a session is in the middle of. Most sessions of most states are in the middle of none.
type statement struct {
	by       uint64 // the owner, as of a session
	running  bool
	ddlBase  int        // length of session.ddl when it began
	stmtSnap Snapshot   // its snapshot, once taken
	snaps    []Snapshot // its inner snapshots
	journal  []jent
	op       op // the operation that waits
	wait     wait
	resumed  ltag  // the lock it was granted while it was blocked
	broken   error // what Interrupt has ended the wait with
}

// noStatement is that of sessions without one. It is never written to.
var noStatement statement

// statements has empty ones for the next use.
var statements = sync.Pool{New: func() any { return new(statement) }}

// newStatement returns an empty statement.
func (st *State) newStatement() *statement {
	q := statements.Get().(*statement)
	q.by = st.owner
	return q
}

// forget takes its statement from a session of st.
func (st *State) forget(s *session) {
	q := s.statement
	if q == &noStatement {
		return
	}
	s.statement = &noStatement
	if q.by != st.owner {
		return
	}
	if q.op.active {
		q.op = op{}
	}
	if q.wait.state != notWaiting || q.resumed.kind != 0 || q.broken != nil {
		q.wait, q.resumed, q.broken = wait{}, ltag{}, nil
	}
	if cap(q.journal) > keepMax {
		q.journal = nil
	}
	clear(q.journal)
	clear(q.snaps[:cap(q.snaps)])
	q.journal, q.snaps = q.journal[:0], q.snaps[:0]
	q.running, q.stmtSnap = false, Snapshot{}
	statements.Put(q)
}

func (q *statement) copy(owner uint64) *statement {
	c := new(statement)
	*c = *q
	c.by = owner
	c.snaps, c.journal = slices.Clone(q.snaps), slices.Clone(q.journal)
	return c
}

// sub is a level of the stack of subtransactions; level 0 is the transaction itself.
type sub struct {
	name   string // of a savepoint
	inner  bool   // begun by BeginSub
	failed bool   // an error has rolled it back already
	xid    XID    // 0 until it writes
	writes int    // length of session.writes when it began
	// lengths of serial.writes and serial.emptied when it began
	serWrites, serEmptied int
}

// write is an entry of the undo log.
type write struct {
	kind writeKind
	rel  TableID
	tid  TID // of the version; for schema changes an index in session.ddl
}

type writeKind uint8

const (
	wInsert     writeKind = iota // a new row
	wNewVersion                  // the new version of an UPDATE
	wUpdate                      // the old version of an UPDATE
	wHotUpdate                   // likewise, and no index column changed
	wDelete
	wLock
	wSchema
)

type currval struct {
	seq TableID
	val int64
}

func newSession(owner uint64, id SessionID, open bool) *session {
	return &session{owner: owner, id: id, open: open, statement: &noStatement}
}

// copy returns a copy for the State with the owner number, which need not own its statement yet.
func (s *session) copy(owner uint64) *session {
	b := new(sessionBox)
	c := &b.session
	*c = *s
	c.owner = owner
	c.shared = ^uint8(0)
	take(&c.shared, ownSubs, &c.subs, b.subs[:0])
	take(&c.shared, ownWrites, &c.writes, b.writes[:0])
	take(&c.shared, ownHeld, &c.held, b.held[:0])
	return c
}

// sessionBox is a session with room for its lists.
type sessionBox struct {
	session
	subs   [2]sub
	writes [4]write
	held   [4]hold
}

// level is the depth of the current subtransaction; 0 is the transaction.
func (s *session) level() int16 { return int16(len(s.subs) - 1) }

// topXID is the transaction's id, or 0.
func (s *session) topXID() XID {
	if len(s.subs) == 0 {
		return 0
	}
	return s.subs[0].xid
}

func (s *session) log(k writeKind, t TableID, tid TID) {
	own(&s.shared, ownWrites, &s.writes)
	s.writes = append(s.writes, write{k, t, tid})
}

// keepMax is how long a list may be whose memory is kept.
const keepMax = 1024

// reset empties one of the slices of s, keeping its memory when it is the session's own.
func reset[T any](s *session, bit uint8, p *[]T) {
	if s.shared&bit != 0 || cap(*p) > keepMax {
		*p = nil
		s.shared &^= bit
		return
	}
	clear(*p)
	*p = (*p)[:0]
}
