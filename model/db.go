package model

import (
	"time"

	"simrun/model/sql"
	"simrun/model/types"
)

// DB is an in-memory Postgres with its sessions, as a value: Clone copies it in O(1).
//
// A session does one thing at a time. Submit answers at once or says that the session is blocked; when Woken lists it, Resume
// lets it go on. Nothing happens in between: a DB has no goroutines, clocks or randomness of its own. A DB is not safe for
// concurrent use; clones are independent of each other and may be used by different goroutines.
type DB struct {
	db *sql.Database
}

// New returns an empty database, owned by the superuser postgres.
func New() *DB { return &DB{db: sql.NewDatabase()} }

// SequentialScans makes SERIALIZABLE transactions conflict by table, as on a server with enable_indexscan and its like off;
// otherwise those that look rows up by key conflict by key, as on one with indexes of many pages.
func (d *DB) SequentialScans(on bool) { d.db.SequentialScans(on) }

// ServerVersion says which server to be like where they differ, as server_version_num gives it. Without it the database is like
// PostgreSQL 15. What differs: from 17 on NOWAIT, SKIP LOCKED and the pg_try_ functions get a lock when the only ones in their way
// wait for locks that the session itself holds; from 18 on RESTRICT fails with 23001.
func (d *DB) ServerVersion(version int) { d.db.ServerVersion(version) }

// Clone returns a copy of the database and its sessions, blocked statements included.
func (d *DB) Clone() *DB { return &DB{db: d.db.Clone()} }

// Fingerprint is the canonical hash of everything that later answers can depend on: two databases that can be told apart by
// some sequence of requests have different fingerprints, but for collisions.
func (d *DB) Fingerprint() uint64 { return d.db.Fingerprint() }

// FingerprintAs is the fingerprint of the database with other numbers for its sessions: as has the new one of each, a permutation of
// 0..len(as)-1.
func (d *DB) FingerprintAs(as []int) uint64 { return d.db.FingerprintAs(as) }

// Open starts a session of the superuser postgres and returns its number, the lowest that is free. A role is set in it as by SET
// ROLE.
func (d *DB) Open(role string) int { return d.db.Open(role) }

// IsOpen says whether there is a session of that number.
func (d *DB) IsOpen(session int) bool { return d.db.IsOpen(session) }

// Close ends a session as a lost connection does: its transaction is rolled back, its locks are freed. Closing a closed session
// does nothing.
func (d *DB) Close(session int) { d.db.Close(session) }

// Submit starts a request in a session that is not blocked. With nil args it is a simple query, possibly of several statements
// in one transaction. Otherwise it is one statement of the extended protocol with the parameters $1, $2, ..., whose types are
// inferred from their use; args may be what pgx takes: Go's basic types, pointers, time.Time, [16]byte, []byte, slices,
// driver.Valuer, nil, and types.Value.
func (d *DB) Submit(session int, sql string, args []any) Reply {
	return d.db.Submit(session, sql, args)
}

// Statement is a parsed text, for submitting it many times.
type Statement struct{ p *sql.Prepared }

// Prepare parses a text. It needs no database: names are looked up when it is submitted, and the result is kept as long as the
// catalog does not change.
func Prepare(text string) *Statement { return &Statement{sql.Prepare(text)} }

// SubmitPrepared is Submit of a parsed text.
func (d *DB) SubmitPrepared(session int, st *Statement, args []any) Reply {
	return d.db.SubmitPrepared(session, st.p, args)
}

// Resume lets a session go on that Woken has listed. It completes or blocks again.
func (d *DB) Resume(session int) Reply { return d.db.Resume(session) }

// Woken appends the sessions whose wait is over, in the order in which they were woken.
func (d *DB) Woken(buf []int) []int { return d.db.Woken(buf) }

// BlockedBy lists the sessions that a session waits for, as pg_blocking_pids does, sorted.
func (d *DB) BlockedBy(session int) []int { return d.db.BlockedBy(session) }

// Deadlock lists the sessions of a closed wait cycle, or none.
func (d *DB) Deadlock() []int { return d.db.Deadlock() }

// Interrupt ends the blocked statement of a session with an error: 40P01 (deadlock victim), 55P03 (lock_timeout), 57014
// (cancelled), 57P01 (terminated), or "statement_timeout", which is 57014 in other words. The connection of a session that is not
// blocked ends with 57P01 or 25P03 (idle_in_transaction_session_timeout): the reply is empty, and the next request is told.
func (d *DB) Interrupt(session int, cause string) Reply { return d.db.Interrupt(session, cause) }

// postgresEpoch is the zero of Postgres's timestamps.
var postgresEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// SetNow sets the simulated time, which now(), clock_timestamp() and pg_stat_activity answer from. Initially it is 2000-01-01.
func (d *DB) SetNow(t time.Time) { d.db.SetNow(t.Sub(postgresEpoch).Microseconds()) }

// Query runs statements as the superuser, outside of all sessions, on what has been committed. It leaves the database as it was.
func (d *DB) Query(text string) (*Result, *types.Error) { return d.db.Query(text) }

// Lock is a row of pg_locks.
type Lock = sql.LockRow

// Locks are the rows of pg_locks of a session, without the one of its virtual transaction id.
func (d *DB) Locks(session int) []Lock { return d.db.Locks(session) }

// RowVersion is a version of a row that lies in a table, committed or not.
type RowVersion = sql.RowVersion

// Versions lists the row versions of a table in the order in which they lie there, those of a partitioned one by partition, with
// the names of its columns: none when no such table has been committed.
func (d *DB) Versions(table string) (columns []string, versions []RowVersion) {
	return d.db.Versions(table)
}

// TxState is what ReadyForQuery says of a session: 'I' idle, 'T' in a transaction block, 'E' in a failed one.
func (d *DB) TxState(session int) byte { return d.db.TxState(session) }
