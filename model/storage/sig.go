package storage

import (
	"errors"

	"simrun/model/types"
)

// ErrWait is returned by an operation that has to wait. The SQL front hands it up to its top; see the package comment.
var ErrWait = errors.New("storage: the session waits")

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

// Snapshot says which row versions a command sees. The zero Snapshot is none.
type Snapshot struct {
	csn uint64    // commits up to and with this one are seen
	cid CommandID // own changes of earlier commands are seen
	own SessionID
	ok  bool
}

// CommandID is the command that changes made under this snapshot get.
func (s Snapshot) CommandID() CommandID { return s.cid }

// Valid reports whether the snapshot is one.
func (s Snapshot) Valid() bool { return s.ok }

// IndexSpec describes an index of a heap.
type IndexSpec struct {
	Name   string // for messages: the constraint's or index's name
	Unique bool
	Cols   []int // key columns, from 0; nil when Key is set
	// Key computes the key of an expression or partial index; false leaves the row out. Nil means the columns Cols.
	Key              func(*Row) (key []types.Value, ok bool)
	Partial          bool                           // has a predicate or expressions: cannot be the target of a foreign key
	NullsNotDistinct bool                           // NULLS NOT DISTINCT
	Detail           func(key []types.Value) string // the DETAIL of 23505, e.g. "Key (id)=(1) already exists."; may be nil
	UsedCols         []int                          // further columns the expressions and predicate read (they break HOT)
}

// Attempt is what became of an attempt to change or lock a row version.
type Attempt struct {
	Outcome Outcome
	// TID and Row are the version that the attempt ended at: for OK the new version (Update) or the locked one (LockRow);
	// for Updated the newest version, which is now locked, for the re-check of READ COMMITTED.
	TID TID
	Row *Row
}

// LockFor says on whose behalf a row is locked; it decides how update chains are followed and how 40001 is worded.
type LockFor uint8

// The purposes.
const (
	ForSelect   LockFor = iota // SELECT FOR ..: follows to the newest version
	ForTrigger                 // a BEFORE ROW trigger of UPDATE or DELETE: follows to the newest version
	ForConflict                // ON CONFLICT DO UPDATE: exactly this version
)

// AdvisoryKey names an advisory lock: one bigint key, or two int keys.
type AdvisoryKey struct {
	Key  int64 // the bigint key, or the first int key
	Key2 int32 // the second int key
	Two  bool  // whether there are two
}

// SequenceSpec describes a sequence.
type SequenceSpec struct {
	Name                 string
	Start, Inc, Min, Max int64
	Cache                int64
	Cycle                bool
}

// LockInfo is one row of pg_locks.
type LockInfo struct {
	Tag     LockTag
	Mode    TableLock
	Granted bool
}

// HeapStats are the counters of a table as pg_stat_user_tables has them, once every transaction's counts have been sent.
type HeapStats struct {
	Inserted, Updated, Deleted, HotUpdated int64
	Live, Dead                             int64
	HeldDead                               int64 // the part of Dead that the horizon keeps VACUUM from removing
}

// Footprint is what a step touched, as hashed ids of rows, keys, predicates and locks.
type Footprint struct {
	Reads, Writes []uint64
}

func todo[T any]() T { panic("storage: not there yet") }

// ---- State ----

// State is the whole database state below SQL, as a value.
type State struct{ owner uint64 }

// Exec is a statement in execution; see the package comment.
type Exec struct{ st *State }

// New returns an empty database.
func New() *State { return todo[*State]() }

// Clone returns a copy in O(1); both copies may be used on.
func (st *State) Clone() *State { return todo[*State]() }

// Fingerprint returns the canonical hash of the state.
func (st *State) Fingerprint() uint64 { return todo[uint64]() }

// CountStats makes the counters of HeapStats part of the fingerprint.
func (st *State) CountStats(on bool) { todo[int]() }

// OpenSession opens a session with the lowest free number.
func (st *State) OpenSession() SessionID { return todo[SessionID]() }

// CloseSession rolls back and frees all locks, session-level advisory locks included.
func (st *State) CloseSession(s SessionID) { todo[int]() }

// Begin starts a transaction in an idle session.
func (st *State) Begin(s SessionID, o TxOptions) { todo[int]() }

// SetTx changes isolation level and access mode of the running transaction (SET TRANSACTION); the SQL front sees to 25001.
func (st *State) SetTx(s SessionID, o TxOptions) { todo[int]() }

// Explicit turns the implicit transaction of a simple query into an explicit one, or back.
func (st *State) Explicit(s SessionID, explicit bool) { todo[int]() }

// TxOptions returns the options of the running transaction.
func (st *State) TxOptions(s SessionID) TxOptions { return todo[TxOptions]() }

// Commit ends the transaction. On an error (40001) it has been rolled back.
func (st *State) Commit(s SessionID) error { return todo[error]() }

// Abort rolls the transaction back and leaves the session Idle.
func (st *State) Abort(s SessionID) { todo[int]() }

// Fail does what an error does to the transaction: rolls back its current (sub)transaction at once, freeing its locks, and
// leaves it Failed, or Idle when it was implicit. It also ends the session's statement.
func (st *State) Fail(s SessionID) { todo[int]() }

// InTx returns the state of the session's transaction.
func (st *State) InTx(s SessionID) TxState { return todo[TxState]() }

// Savepoint defines a savepoint.
func (st *State) Savepoint(s SessionID, name string) { todo[int]() }

// ReleaseSavepoint ends the subtransactions down to the savepoint, keeping their changes; 3B001 when there is none.
func (st *State) ReleaseSavepoint(s SessionID, name string) error { return todo[error]() }

// RollbackTo undoes what was done since the savepoint and leaves it defined; it revives a Failed transaction.
func (st *State) RollbackTo(s SessionID, name string) error { return todo[error]() }

// TopXID returns the transaction's id, or 0 when it has none yet.
func (st *State) TopXID(s SessionID) XID { return todo[XID]() }

// NewExec starts a statement. The session must be in a transaction. The Exec is good until the statement ends or blocks.
func (st *State) NewExec(s SessionID) *Exec { return todo[*Exec]() }

// Rerun returns the Exec of the blocked statement of s, rewound, for running it again from its start after its wait is over.
func (st *State) Rerun(s SessionID) *Exec { return todo[*Exec]() }

// Waiting reports whether the session's statement waits, or has been woken and not yet run again.
func (st *State) Waiting(s SessionID) bool { return todo[bool]() }

// Woken appends the sessions whose wait is over and whose statement has not been run again yet, in the order they were woken.
func (st *State) Woken(buf []SessionID) []SessionID { return todo[[]SessionID]() }

// BlockedBy appends the sessions that s waits for, as pg_blocking_pids gives them, sorted.
func (st *State) BlockedBy(s SessionID, buf []SessionID) []SessionID { return todo[[]SessionID]() }

// WaitingFor returns the lock that s waits for.
func (st *State) WaitingFor(s SessionID) (LockTag, TableLock, bool) { panic("") }

// Deadlock returns the sessions of a closed wait cycle, starting with the one whose wait closed it when that is known, or none.
func (st *State) Deadlock() []SessionID { return todo[[]SessionID]() }

// Interrupt takes s out of the queue it waits in. The SQL front then fails the statement with what it wants, and calls Fail.
func (st *State) Interrupt(s SessionID) { todo[int]() }

// Locks appends the rows of pg_locks for s, sorted; virtual transaction ids are left to the caller.
func (st *State) Locks(s SessionID, buf []LockInfo) []LockInfo { return todo[[]LockInfo]() }

// MayFailSerializable reports whether a server's coarser SSI granularity could fail the session's transaction with 40001.
func (st *State) MayFailSerializable(s SessionID) bool { return todo[bool]() }

// Stats returns the counters of a table.
func (st *State) Stats(t TableID) HeapStats { return todo[HeapStats]() }

// Vacuum removes the dead rows that the horizon allows from the counters of a table and returns how many.
func (st *State) Vacuum(t TableID) (removed int64) { return todo[int64]() }

// Track turns the recording of footprints on or off.
func (st *State) Track(on bool) { todo[int]() }

// ResetFootprint starts a new step.
func (st *State) ResetFootprint() { todo[int]() }

// Footprint returns what was touched since ResetFootprint. The slices are good until the next operation.
func (st *State) Footprint() Footprint { return todo[Footprint]() }

// CatalogStamp returns a number that is equal for two states only when session s finds the same catalog in both.
func (st *State) CatalogStamp(s SessionID) uint64 { return todo[uint64]() }

// Find returns the newest committed, or s's own, version of a catalog object.
func (st *State) Find(s SessionID, class, name string) (payload any, ok bool) { panic("") }

// List calls f for each catalog object of a class that s can see, in order of creation, until f returns false.
func (st *State) List(s SessionID, class string, f func(name string, payload any) bool) { todo[int]() }

// ---- Exec ----

// Session returns the session.
func (x *Exec) Session() SessionID { return todo[SessionID]() }

// State returns the state.
func (x *Exec) State() *State { return todo[*State]() }

// End ends the statement, whether it succeeded or not: its snapshots are given up.
func (x *Exec) End() { todo[int]() }

// Snapshot returns the statement's snapshot, taken when it is first asked for (or the transaction's, in REPEATABLE READ).
func (x *Exec) Snapshot() Snapshot { return todo[Snapshot]() }

// NewSnapshot returns a snapshot of now, for the statements inside VOLATILE functions; journaled.
func (x *Exec) NewSnapshot() Snapshot { return todo[Snapshot]() }

// CommandCounterIncrement makes the changes so far visible to snapshots taken from now on; journaled.
func (x *Exec) CommandCounterIncrement() { todo[int]() }

// BeginSub starts a subtransaction within the statement (a plpgsql block with EXCEPTION); journaled.
func (x *Exec) BeginSub() { todo[int]() }

// CommitSub ends the subtransaction and keeps its changes; journaled.
func (x *Exec) CommitSub() { todo[int]() }

// AbortSub ends the subtransaction and undoes its changes; journaled.
func (x *Exec) AbortSub() { todo[int]() }

// Scan calls f for each version of t that snap sees, in heap order, until f returns false or an error.
func (x *Exec) Scan(snap Snapshot, t TableID, f func(tid TID, row *Row) (more bool, err error)) error {
	return todo[error]()
}

// Lookup is Scan of the rows whose key in the index equals key; a NULL in key finds nothing.
func (x *Exec) Lookup(snap Snapshot, t TableID, index int, key []types.Value, f func(tid TID, row *Row) (more bool, err error)) error {
	return todo[error]()
}

// Fetch returns a version by its TID if snap sees it.
func (x *Exec) Fetch(snap Snapshot, t TableID, tid TID) *Row { return todo[*Row]() }

// Insert adds a row; it waits for in-progress conflicting keys, and fails with 23505.
func (x *Exec) Insert(snap Snapshot, t TableID, row *Row) (TID, error) { panic("") }

// InsertOnConflict adds a row unless one with an equal key in an arbiter index is there (arbiters nil: any unique index).
// It then returns the conflicting version, which need not be visible to snap: for DO NOTHING call CheckVisible on it, for
// DO UPDATE LockRow it ForConflict, and start again from InsertOnConflict when the outcome is Updated or Deleted.
func (x *Exec) InsertOnConflict(snap Snapshot, t TableID, row *Row, arbiters []int) (tid, conflict TID, err error) {
	panic("")
}

// CheckVisible fails with 40001 when, in REPEATABLE READ or above, the version is visible neither to snap nor own.
func (x *Exec) CheckVisible(snap Snapshot, t TableID, tid TID) error { return todo[error]() }

// Update replaces a row version by row. In READ COMMITTED, when a concurrent transaction has updated it, the outcome is
// Updated: the newest version has been locked and comes along; re-check the condition and call Update on that one.
func (x *Exec) Update(snap Snapshot, t TableID, tid TID, row *Row) (Attempt, error) { panic("") }

// Delete deletes a row version; outcomes as for Update.
func (x *Exec) Delete(snap Snapshot, t TableID, tid TID) (Attempt, error) { panic("") }

// LockRow locks a row version. Outcome OK comes with the version locked: when it is another than tid, re-check the condition.
func (x *Exec) LockRow(snap Snapshot, t TableID, tid TID, mode RowLock, policy WaitPolicy, why LockFor) (Attempt, error) {
	panic("")
}

// UpdateLockMode returns the lock that an UPDATE which sets these columns takes (ExecUpdateLockMode): for BEFORE ROW triggers
// and ON CONFLICT DO UPDATE.
func (x *Exec) UpdateLockMode(t TableID, cols []int) RowLock { return todo[RowLock]() }

// LockTable locks a table (or view, index, sequence: any relation id). Not getting it is an error 55P03 (NoWait), or false (SkipLocked).
func (x *Exec) LockTable(t TableID, mode TableLock, policy WaitPolicy) (bool, error) { panic("") }

// Truncate empties tables, which must be locked AccessExclusive; all snapshots see them empty once it has committed.
func (x *Exec) Truncate(ts ...TableID) { todo[int]() }

// Advisory takes an advisory lock, shared or exclusive, until the end of the session or of the transaction.
// policy Wait waits; SkipLocked (pg_try_..) returns false.
func (x *Exec) Advisory(k AdvisoryKey, shared, session bool, policy WaitPolicy) (bool, error) {
	panic("")
}

// AdvisoryUnlock gives up one session-level hold; false when there is none (Postgres then warns).
func (x *Exec) AdvisoryUnlock(k AdvisoryKey, shared bool) bool { return todo[bool]() }

// AdvisoryUnlockAll gives up all session-level holds.
func (x *Exec) AdvisoryUnlockAll() { todo[int]() }

// AssignXID gives the transaction an id if it has none (pg_current_xact_id) and returns the top one.
func (x *Exec) AssignXID() XID { return todo[XID]() }

// Nextval advances a sequence; 2200H when it is exhausted.
func (x *Exec) Nextval(seq TableID) (int64, error) { panic("") }

// Currval returns what Nextval last returned in this session; 55000 when it has not been called.
func (x *Exec) Currval(seq TableID) (int64, error) { panic("") }

// Lastval returns what the session's last Nextval returned; 55000 when there was none.
func (x *Exec) Lastval() (int64, error) { panic("") }

// Setval sets a sequence; 22003 when out of bounds.
func (x *Exec) Setval(seq TableID, v int64, called bool) error { return todo[error]() }

// SequenceValue returns last_value and is_called, as a SELECT from the sequence does.
func (x *Exec) SequenceValue(seq TableID) (last int64, called bool) { panic("") }

// Define creates a catalog object. If another open transaction creates one of the same name, it waits, and fails with 23505
// on the catalog's index if that commits. The SQL front looks with Find first for its own "already exists" errors.
func (x *Exec) Define(class, name string, payload any) error { return todo[error]() }

// Replace gives a catalog object a new payload.
func (x *Exec) Replace(class, name string, payload any) error { return todo[error]() }

// Drop removes a catalog object.
func (x *Exec) Drop(class, name string) error { return todo[error]() }

// Find is State.Find, journaled.
func (x *Exec) Find(class, name string) (payload any, ok bool) { panic("") }

// CreateHeap makes an empty heap; it goes again if the transaction rolls back.
func (x *Exec) CreateHeap(name string, indexes []IndexSpec) TableID { return todo[TableID]() }

// AlterHeap replaces name and indexes of a heap, e.g. to add an index (existing rows are checked: 23505) or to rename. The
// rows stay; see Rewrite.
func (x *Exec) AlterHeap(t TableID, name string, indexes []IndexSpec) error { return todo[error]() }

// Rewrite replaces each live row of a heap by what f returns (ALTER TABLE that rewrites). Not MVCC-safe, as in Postgres.
func (x *Exec) Rewrite(t TableID, f func(*Row) (*Row, error)) error { return todo[error]() }

// DropHeap drops a heap or sequence or other relation when the transaction commits.
func (x *Exec) DropHeap(t TableID) { todo[int]() }

// NewRelation gives an id for a relation without rows (a view, an index), so that it can be locked.
func (x *Exec) NewRelation(name string) TableID { return todo[TableID]() }

// CreateSequence makes a sequence; it goes again if the transaction rolls back.
func (x *Exec) CreateSequence(spec SequenceSpec) TableID { return todo[TableID]() }

// AlterSequence replaces the spec of a sequence (ALTER SEQUENCE); restart sets its value.
func (x *Exec) AlterSequence(seq TableID, spec SequenceSpec) { todo[int]() }

// LockTag names what is locked.
type LockTag struct {
	Kind     LockKind
	Rel      TableID     // LockRelation, LockTuple
	TID      TID         // LockTuple
	XID      XID         // LockXID
	Advisory AdvisoryKey // LockAdvisory
	Name     string      // LockObject: class and name
}

// LockKind is the kind of a LockTag, pg_locks.locktype.
type LockKind uint8

// The kinds.
const (
	LockRelation LockKind = iota + 1
	LockTuple
	LockXID
	LockAdvisory
	LockObject
)
