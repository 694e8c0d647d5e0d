package storage

import (
	"errors"

	"simrun/model/types"
)

// ErrWait is returned by an operation that has to wait. The SQL front hands it up to its top; see the package comment.
var ErrWait = errors.New("storage: the session waits")

// Exec is a statement in execution; see the package comment. It is a handle on its State, good until the statement ends or
// blocks: what a blocked statement needs is in its session, so that clones of the State have it too, and Rerun gives the
// handle to go on with.
type Exec struct {
	st   *State
	id   SessionID
	pos  int // the next journal entry
	subs int // subtransactions that the statement has open at this point of its execution
	err  error
}

// jent is the answer of an operation.
type jent struct {
	kind opKind
	out  Outcome
	ok   bool
	a, b uint64
	row  *Row
	p    any // an error, a payload, or the rows of a scan
}

type opKind uint8

const (
	opNone opKind = iota
	opSnapshot
	opCommand
	opBeginSub
	opEndSub
	opScan
	opCheck
	opInsert
	opUpdate
	opDelete
	opLockRow
	opLock
	opUnlock
	opXID
	opSequence
	opFind
	opCatalog
	opSchema
)

// op is an operation that could not finish because it has to wait: what it has done so far.
type op struct {
	active  bool
	kind    opKind
	phase   uint8
	index   uint8 // the next unique index to check
	rel     TableID
	base    TID   // the version it was called for
	tid     TID   // the version it is at
	made    TID   // the version it made
	updated bool  // when it resolved to wait, another transaction had updated the version
	chain   TID   // and this version made of it
	waits   []XID // transactions it has resolved to wait for, in order
	joined  bool  // since then another one has locked the version
	strong  bool  // UPDATE: key columns change
	queued  bool  // it wants the heavyweight lock on the row before it waits
	// When tid has been dropped meanwhile: whether it was updated, and to which version.
	gone     bool
	goneEnd  endKind
	goneNext TID
}

// NewExec starts a statement. The session must be in a transaction. The Exec is good until the statement ends or blocks.
func (st *State) NewExec(id SessionID) *Exec {
	s := st.wsession(id)
	st.forget(s)
	s.statement = st.newStatement()
	s.running = true
	s.ddlBase = len(s.ddl)
	s.cidUsed = false
	st.x = Exec{st: st, id: id}
	return &st.x
}

// Rerun returns the Exec of the blocked statement of s, rewound, for running it again from its start after its wait is over.
func (st *State) Rerun(id SessionID) *Exec {
	s := st.wsession(id)
	st.unwake(s)
	if w := s.wait; w.state == granted {
		s.resumed = w.tag
		if w.level != sessionLevel {
			s.wait = wait{} // it is held now; sessions-level locks count how often, see acquire
		}
		if w.tag.kind == LockXID {
			// It only wanted to know that the transaction has ended.
			st.release(s, w.tag, w.mode)
		}
	}
	st.x = Exec{st: st, id: id}
	return &st.x
}

// Err returns the error 40001 that a scan of a SERIALIZABLE transaction has met, or nil. A statement that has run to its end
// fails with it; if it is not asked for, the transaction fails at its next write or COMMIT.
func (x *Exec) Err() error { return x.err }

// Session returns the session.
func (x *Exec) Session() SessionID { return x.id }

// State returns the state.
func (x *Exec) State() *State { return x.st }

func (x *Exec) session() *session { return x.st.wsession(x.id) }

// End ends the statement, whether it succeeded or not: its snapshots are given up.
func (x *Exec) End() { x.st.endStatement(x.session()) }

func (st *State) endStatement(s *session) {
	st.dropStatementSnapshots(s)
	st.forget(s)
	if s.cidUsed && s.state == Active {
		s.cid++
		s.cidUsed = false
	}
}

// replay returns the journaled answer of an operation that has been done already, or nil.
func (x *Exec) replay(s *session, k opKind) *jent {
	if x.pos == len(s.journal) {
		return nil
	}
	e := &s.journal[x.pos]
	if e.kind != k {
		panic("storage: a statement that was run again did other operations than before")
	}
	x.pos++
	return e
}

// record journals the answer of an operation.
func (x *Exec) record(s *session, e jent) {
	s.journal = append(s.journal, e)
	x.pos++
	if s.op.active {
		s.op = op{}
	}
}

// begin returns the state of an operation: of the one that waited, when the statement is run again and has come there.
func (s *session) begin(k opKind, t TableID, tid TID) *op {
	if !s.op.active {
		s.op = op{active: true, kind: k, rel: t, base: tid, tid: tid}
	} else if s.op.kind != k || s.op.rel != t || s.op.base != tid {
		panic("storage: a statement that was run again came to another operation than before")
	}
	return &s.op
}

func asError(p any) error {
	if p == nil {
		return nil
	}
	return p.(error)
}

// Snapshot returns the statement's snapshot, taken when it is first asked for (or the transaction's, in REPEATABLE READ).
func (x *Exec) Snapshot() Snapshot {
	s := x.st.session(x.id)
	if !s.stmtSnap.ok {
		s = x.session()
		s.stmtSnap = x.st.takeSnapshot(s)
	}
	return s.stmtSnap
}

// NewSnapshot returns a snapshot of now, for the statements inside VOLATILE functions; journaled.
func (x *Exec) NewSnapshot() Snapshot {
	s := x.session()
	if e := x.replay(s, opSnapshot); e != nil {
		return s.snaps[e.a]
	}
	s.snaps = append(s.snaps, x.st.takeSnapshot(s))
	x.record(s, jent{kind: opSnapshot, a: uint64(len(s.snaps) - 1)})
	return s.snaps[len(s.snaps)-1]
}

// LatestSnapshot is NewSnapshot, but of now in REPEATABLE READ and above too, as the statements have it that keep foreign keys
// (GetLatestSnapshot); a change of a row that the transaction's own snapshot does not see then fails with 40001. Journaled.
func (x *Exec) LatestSnapshot() Snapshot {
	s := x.session()
	if !s.txSnap.ok {
		return x.NewSnapshot()
	}
	if e := x.replay(s, opSnapshot); e != nil {
		return s.snaps[e.a]
	}
	snap := x.st.now(s)
	snap.now = true
	s.snaps = append(s.snaps, snap)
	x.record(s, jent{kind: opSnapshot, a: uint64(len(s.snaps) - 1)})
	return snap
}

// CommandCounterIncrement makes the changes so far visible to snapshots taken from now on; journaled.
func (x *Exec) CommandCounterIncrement() {
	s := x.session()
	if x.replay(s, opCommand) != nil {
		return
	}
	if s.cidUsed {
		s.cid++
		s.cidUsed = false
	}
	x.record(s, jent{kind: opCommand})
}

// BeginSub starts a subtransaction within the statement (a plpgsql block with EXCEPTION); journaled.
func (x *Exec) BeginSub() {
	s := x.session()
	x.subs++
	if x.replay(s, opBeginSub) != nil {
		return
	}
	x.st.pushSub(s, sub{inner: true})
	x.record(s, jent{kind: opBeginSub})
}

// CommitSub ends the subtransaction and keeps its changes; journaled.
func (x *Exec) CommitSub() {
	s := x.session()
	x.subs--
	if x.replay(s, opEndSub) != nil {
		return
	}
	x.st.endSub(s)
	x.record(s, jent{kind: opEndSub})
}

// AbortSub ends the subtransaction and undoes its changes; journaled.
func (x *Exec) AbortSub() {
	s := x.session()
	x.subs--
	if x.replay(s, opEndSub) != nil {
		return
	}
	s.op = op{}
	x.st.stopWaiting(s)
	x.st.abortSub(s)
	x.record(s, jent{kind: opEndSub})
}

// AssignXID gives the transaction an id if it has none (pg_current_xact_id) and returns the top one.
func (x *Exec) AssignXID() XID {
	s := x.session()
	if e := x.replay(s, opXID); e != nil {
		return XID(e.a)
	}
	x.st.assignXID(s)
	x.record(s, jent{kind: opXID, a: uint64(s.subs[0].xid)})
	return s.subs[0].xid
}

// scanRow is a row of a journaled scan.
type scanRow struct {
	tid TID
	row *Row
}

// Cursor is the place of a scan in a heap. It may be kept and used for another scan.
type Cursor struct {
	x    *Exec
	snap Snapshot
	rel  TableID
	last TID // the version last looked at

	chunk, at int    // where to go on in the heap, if it has not changed since
	edits     uint64 // relation.edits then
	heap      *relation

	index int // of a lookup, else -1
	key   []types.Value
	tids  []TID // of a lookup in a large heap
	list  bool  // rows come from tids

	rows     []scanRow // of a journaled scan
	journald bool
}

// StartScan prepares c to go over the versions of t that snap sees, in heap order.
func (x *Exec) StartScan(c *Cursor, snap Snapshot, t TableID) {
	x.start(c, snap, t, -1, nil)
}

// StartLookup is StartScan of the rows whose key in the index equals key; a NULL in key finds nothing. key must stay as it
// is while c is used.
func (x *Exec) StartLookup(c *Cursor, snap Snapshot, t TableID, index int, key []types.Value) {
	x.start(c, snap, t, index, key)
}

func (x *Exec) start(c *Cursor, snap Snapshot, t TableID, index int, key []types.Value) {
	*c = Cursor{x: x, snap: snap, rel: t, index: index, key: key, tids: c.tids[:0]}
	s := x.st.session(x.id)
	if x.subs > 0 {
		// Should the subtransaction be rolled back, its own changes are gone when the statement is run again: keep what it saw.
		s = x.session()
		c.journald = true
		if e := x.replay(s, opScan); e != nil {
			c.rows = e.p.([]scanRow)
			return
		}
		x.seek(c, s)
		var rows []scanRow
		for {
			tid, row, ok := c.next()
			if !ok {
				break
			}
			rows = append(rows, scanRow{tid, row})
		}
		c.rows = rows
		x.record(s, jent{kind: opScan, p: rows})
		return
	}
	x.seek(c, s)
}

// seek finds the heap and, for a lookup in a large one, the candidates.
func (x *Exec) seek(c *Cursor, s *session) {
	st := x.st
	c.heap = st.rel(c.rel)
	if x.pos < len(s.journal) {
		// Run again: a TRUNCATE that the statement did after this scan has not happened yet here.
		if old := s.heapBefore(c.rel, x.pos); old != nil {
			c.heap = old
		}
	}
	if st.foot.on {
		st.touchScan(c)
	}
	if s.ser != 0 && !s.op.active && x.pos == len(s.journal) { // otherwise the scan was made before the wait
		if err := st.serScan(x.session(), c); err != nil {
			x.err = err
			if me := st.wserials().find(s.ser); me != nil {
				me.doomed = true
			}
		}
	}
	c.edits = c.heap.edits
	if c.index >= 0 {
		hash, full := hashKey(c.key)
		if !full && !c.heap.specs[c.index].NullsNotDistinct {
			c.list = true
			return
		}
		if c.heap.index != nil {
			c.list = true
			for _, e := range c.heap.index[c.index].find(hash) {
				c.tids = append(c.tids, e.tid)
			}
		}
	}
}

// Next returns the next version, or ok false at the end.
func (c *Cursor) Next() (tid TID, row *Row, ok bool) {
	if c.journald {
		if c.at == len(c.rows) {
			return 0, nil, false
		}
		r := c.rows[c.at]
		c.at++
		return r.tid, r.row, true
	}
	return c.next()
}

func (c *Cursor) next() (tid TID, row *Row, ok bool) {
	st := c.x.st
	if c.list {
		for c.at < len(c.tids) {
			tid := c.tids[c.at]
			c.at++
			if v := c.current().get(tid); v != nil && c.heap.specs[c.index].matches(v.row, c.key) && st.seesFor(c, v) {
				return tid, v.row, true
			}
		}
		return 0, nil, false
	}
	r := c.current()
	if r.edits != c.edits {
		// Find the place again: the statement has changed the heap since.
		c.edits = r.edits
		c.chunk = r.chunkOf(c.last + 1)
		c.at = 0
		if c.chunk < len(r.chunks) {
			c.at = r.chunks[c.chunk].place(c.last + 1)
		}
	}
	for c.chunk < len(r.chunks) {
		vs := r.chunks[c.chunk].v
		for c.at < len(vs) {
			v := &vs[c.at]
			c.at++
			if c.index >= 0 && !r.specs[c.index].matches(v.row, c.key) {
				continue
			}
			if st.seesFor(c, v) {
				c.last = v.tid
				return v.tid, v.row, true
			}
		}
		c.chunk++
		c.at = 0
	}
	if n := len(r.chunks); n > 0 {
		vs := r.chunks[n-1].v
		c.last = vs[len(vs)-1].tid
	}
	return 0, nil, false
}

// current returns the heap as it is now.
func (c *Cursor) current() *relation {
	if r := c.x.st.rel(c.rel); r != nil && r != c.heap && r.lastTID >= c.heap.lastTID && r.epoch == c.heap.epoch {
		c.heap = r
	}
	return c.heap
}

// seesFor is sees with a short way for settled versions.
func (st *State) seesFor(c *Cursor, v *version) bool {
	if v.xmin == 0 && v.xmax == 0 {
		return true
	}
	return st.sees(&c.snap, v)
}

// Scan calls f for each version of t that snap sees, in heap order, until f returns false or an error.
func (x *Exec) Scan(snap Snapshot, t TableID, f func(tid TID, row *Row) (more bool, err error)) error {
	var c Cursor
	x.StartScan(&c, snap, t)
	return c.each(f)
}

// Lookup is Scan of the rows whose key in the index equals key; a NULL in key finds nothing.
func (x *Exec) Lookup(snap Snapshot, t TableID, index int, key []types.Value, f func(tid TID, row *Row) (more bool, err error)) error {
	var c Cursor
	x.StartLookup(&c, snap, t, index, key)
	return c.each(f)
}

func (c *Cursor) each(f func(tid TID, row *Row) (more bool, err error)) error {
	for {
		tid, row, ok := c.Next()
		if !ok {
			return nil
		}
		if more, err := f(tid, row); !more || err != nil {
			return err
		}
	}
}

// Fetch returns a version by its TID if snap sees it, else nil.
func (x *Exec) Fetch(snap Snapshot, t TableID, tid TID) *Row {
	if v := x.st.rel(t).get(tid); v != nil && x.st.sees(&snap, v) {
		return v.row
	}
	return nil
}

// MadeHere says whether the session's own transaction has made a version.
func (x *Exec) MadeHere(t TableID, tid TID) bool {
	v := x.st.rel(t).get(tid)
	return v != nil && x.st.mineStamp(x.id, v.xmin)
}
