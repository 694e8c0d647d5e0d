package sim

import (
	"fmt"
	"time"

	"simrun/model"
	"simrun/model/types"
)

// StatementTimeout is a cause for Backend.Interrupt: statement_timeout has passed, which is 57014 as a cancel is.
const StatementTimeout = "statement_timeout"

// IdleTimeout is the cause for Backend.Interrupt of a session that is idle in a transaction: idle_in_transaction_session_timeout has
// passed, and its connection ends. The reply is empty; the session's next request is told, with a FATAL error.
const IdleTimeout = "25P03"

// Backend executes the requests of sessions. The in-memory Postgres, a real server, and the pair of both in lock-step are
// backends; a World drives any of them the same way:
//
//  1. Submit gives a session's request. The reply is complete, or says that the session is blocked and on whom.
//  2. After each Submit, Resume and event, Woken lists the sessions whose wait is over, in the backend's order. The world
//     chooses one (eagerly, before the next choice of an actor) and calls Resume, which completes or blocks again.
//
// Session numbers are the index of the actor in Setup.Actors.
type Backend interface {
	// Open starts a session for an actor. A session that is open already is closed first: its transaction is rolled back.
	Open(session int, spec ActorSpec) error
	// Close ends the session as a lost connection does: rollback, locks and session-level advisory locks freed.
	Close(session int) error
	// Submit starts a request in an idle session.
	Submit(session int, req Request) (Reply, error)
	// Woken appends the blocked sessions whose wait is over.
	Woken(buf []int) []int
	// Resume lets a woken session go on.
	Resume(session int) (Reply, error)
	// Deadlock returns the sessions of a closed wait cycle, or none.
	Deadlock() []int
	// Interrupt ends the blocked statement of a session with the SQLSTATE: 40P01 (deadlock victim), 55P03 (lock_timeout),
	// 57014 (cancel), or for the cause StatementTimeout. It returns the error reply; other sessions may be woken by it. A
	// session's own timeouts never end a wait: the schedule says when they do.
	Interrupt(session int, cause string) (Reply, error)
	// SetNow sets the simulated time that now(), clock_timestamp() and pg_stat_activity answer from.
	SetNow(t time.Time) error
	// Query runs a read-only query as the superuser on committed data, outside of every session.
	Query(sql string) (*Result, error)
	// Reset takes the database back to the state after Setup.Schema and Setup.Seed, with no session open.
	Reset() error
	// Shutdown frees everything.
	Shutdown() error
}

// Cloner is a Backend whose state is a value: the in-memory Postgres. Searching needs one.
type Cloner interface {
	Backend
	// Clone returns a copy that shares nothing that the backend's methods change.
	Clone() Backend
	// Fingerprint is a canonical hash of the whole state, sessions included.
	Fingerprint() uint64
	// CommittedFingerprint is a canonical hash of what Query can see. Equal hashes mean equal answers, so that verdicts of
	// invariants are kept by it.
	CommittedFingerprint() uint64
}

// LockTracker is a Backend that can tell which locks a step acquired.
type LockTracker interface {
	// Track switches the telling on or off, for this state and its clones.
	Track(on bool)
	// Acquired returns the locks that the session acquired in its last Submit or Resume, in order. It is valid until the
	// next call of the backend.
	Acquired(session int) []Lock
}

// RowVersions is a Backend that can list the row versions of a table, uncommitted and dead ones too. Sessions have the numbers of
// their actors.
type RowVersions interface {
	Versions(table string) (columns []string, versions []model.RowVersion)
}

// Footprinter is a Backend that can tell what its last Submit, Resume, Interrupt, Open or Close touched, as hashed object ids; see
// scheduler.Footprint.
type Footprinter interface {
	// TrackFootprints switches the telling on or off, for this state and its clones.
	TrackFootprints(on bool)
	Footprint() (reads, writes []uint64)
}

// Divergence is the error of a backend that compares the model with a server: they disagree about a step. It is a finding
// about one of the two, never about the protocol.
type Divergence struct {
	Step   string // what was done
	What   string // what differs: "rows", "SQLSTATE", "blocked", "locks", ...
	Model  string
	Server string
}

// Error shows the two answers side by side.
func (d *Divergence) Error() string {
	return fmt.Sprintf("model and server disagree about the %s of %s\n  model:  %s\n  server: %s", d.What, d.Step, d.Model, d.Server)
}

// Request is what one step asks of the database.
type Request struct {
	SQL string
	// Args are the parameters $1.. as the actor gave them; the backend encodes them for the types that the statement's
	// analysis gives them, as pgx does. nil means the simple protocol, as in pgx, and may hold several statements.
	Args []any

	hash uint64 // of both; 0 when not yet made
}

func (r *Request) hashed() uint64 {
	h := hashString(mix(91, b2u(r.Args != nil)), r.SQL)
	for _, a := range r.Args {
		h = hashAny(h, a)
	}
	return max(h, 1)
}

// Reply, Result, Field, Lock and Error are the database's answers, the same for every backend.
type (
	Reply  = model.Reply
	Result = model.Result
	Field  = model.Field
	Lock   = model.AcquiredLock
	Error  = types.Error
)
