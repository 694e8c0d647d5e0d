// Package storage is the state of the in-memory Postgres below SQL: heaps of row versions, transactions and snapshots,
// the lock manager, sequences, and the versioned catalog. A State is a value: Clone is O(1), Fingerprint is canonical.
//
// # How a statement runs, blocks and goes on
//
// The SQL front runs a statement as an ordinary Go function over an *Exec. Every operation that reads something other than
// the statement's snapshot, or changes something, is a method of Exec and is journaled there. An operation that has to wait
// returns ErrWait, which the SQL front returns up to its top; the State remembers what the session waits for. When the wait
// is over the very same function is run again from its start with the same Exec: operations that the journal has are answered
// from it without touching the State, reads of the snapshot give what they gave before, and so execution comes back to the
// operation that waited, which now looks again (as heap_update does at its label l2). A blocked statement is therefore a
// value too: its plan, its arguments, its snapshot and its journal.
//
//	st.Begin(s, TxOptions{..})      // explicit, or implicit for a single statement
//	x := st.NewExec(s)              // a statement begins
//	x.LockTable(t, AccessShare, Wait)
//	x.StartScan(&c, x.Snapshot(), t)
//	for tid, row, ok := c.Next(); ok; tid, row, ok = c.Next() { a, err := x.Update(..) }
//	x.End()                         // or, on an error, st.Fail(s); on ErrWait nothing: the session is blocked
//	st.Commit(s)
//
// Whoever drives the sessions looks at Woken after each step, and has one of them go on: Rerun gives its Exec, rewound.
// Deadlock says whether a cycle of waits has closed; Interrupt ends the wait of its victim, whose statement is then run again
// and gets the error where it waited.
//
// # Where to find what
//
//	state.go, session.go    the value and its copies on write
//	heap.go, index.go       row versions, large tables
//	snapshot.go, settle.go  what a command sees, and what is kept for whom
//	txn.go                  transactions and savepoints
//	exec.go                 statements, journal, scans
//	modify.go, rowlock.go   INSERT, UPDATE, DELETE, row locks
//	lock.go, deadlock.go    the lock manager;  tablelock.go its use by statements
//	serial.go               SERIALIZABLE
//	schema.go, catalog.go, sequence.go, stats.go
//	fingerprint.go, footprint.go
package storage

import "simrun/model/types"

type (
	// SessionID numbers the sessions of a State from 0.
	SessionID int32
	// TableID names a heap with its indexes. TRUNCATE and rewrites keep it and change the heap below.
	TableID uint32
	// TID is the place of a row version in its heap, from 1; 0 is none. Greater is later: a sequential scan goes by TID.
	TID uint64
	// XID is a transaction or subtransaction that has written. 0 is none.
	XID uint64
	// CommandID numbers the commands of a transaction.
	CommandID uint32
)

// Row is the immutable payload of a row version.
type Row struct {
	Vals []types.Value
	// unexported: cached hash
	hash uint64
}

// RowLock is the strength of a row lock (Postgres documentation 13.3.2).
type RowLock uint8

// Row locks from weakest to strongest.
const (
	KeyShare RowLock = iota + 1
	Share
	NoKeyUpdate
	Update
)

// TableLock is the mode of a table-level lock (Postgres documentation 13.3.1), numbered as Postgres does.
type TableLock uint8

// Table locks from weakest to strongest.
const (
	AccessShare TableLock = iota + 1
	RowShare
	RowExclusive
	ShareUpdateExclusive
	ShareLock
	ShareRowExclusive
	Exclusive
	AccessExclusive
)

// WaitPolicy says what an operation does when it would have to wait.
type WaitPolicy uint8

// The wait policies.
const (
	Wait       WaitPolicy = iota
	NoWait                // fail with 55P03
	SkipLocked            // leave the row out
)

// Outcome is what became of an attempt to change or lock a row version, as Postgres's TM_Result.
type Outcome uint8

// The outcomes.
const (
	OK           Outcome = iota
	SelfModified         // already changed by this very command
	Updated              // updated by a transaction that committed: the newest version comes along for a re-check (READ COMMITTED)
	Deleted              // deleted by a transaction that committed
	WouldBlock           // locked, and the policy is SkipLocked (with NoWait that is an error)
	Invisible            // not visible to the command: inserted or ended by it, or by a transaction in progress
)
