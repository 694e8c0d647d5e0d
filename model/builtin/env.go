package builtin

// Env is what functions ask of the session they run in. Times are microseconds since 2000-01-01 UTC.
type Env interface {
	Now() int64          // start of the transaction
	StatementNow() int64 // arrival of the statement
	ClockNow() int64     // this moment

	// Setting is the value of a run-time parameter. ok is false when there is none and missingOK is set.
	Setting(name string, missingOK bool) (value string, ok bool, err error)
	// SetSetting changes a parameter, for the transaction when local, and returns its new value.
	SetSetting(name, value string, local bool) (string, error)

	User() string
	SessionUser() string
	PID() int32
	Database() string
	// Schemas are the schemas of the search path that exist, with the implicit ones if wanted.
	Schemas(implicit bool) []string

	// Advisory takes an advisory lock. With twoKeys the key holds two 32-bit keys, the first in its upper half. try gives up
	// instead of waiting, session keeps the lock beyond the transaction. The result is false when try gave up.
	Advisory(key int64, twoKeys, shared, session, try bool) (bool, error)
	// AdvisoryUnlock releases a session-level advisory lock; false, with a warning, when it was not held.
	AdvisoryUnlock(key int64, twoKeys, shared bool) (bool, error)
	AdvisoryUnlockAll() error

	// Sequences by the OID of their relation.
	Nextval(seq int64) (int64, error)
	Currval(seq int64) (int64, error)
	Setval(seq, value int64, called bool) error
	Lastval() (int64, error)
	// SequenceLast is the last value given out; ok is false while none was.
	SequenceLast(seq int64) (n int64, ok bool, err error)
	// SerialSequence is the qualified name of the sequence that a column owns.
	SerialSequence(table, column string) (name string, ok bool, err error)

	// CurrentXID is the transaction's number; without assign ok is false when it has none yet.
	CurrentXID(assign bool) (xid int64, ok bool, err error)

	// Random is the next random number, from 0 up to and without 1.
	Random() (float64, error)
	// UUID is the next of the database's random UUIDs: 16 bytes.
	UUID() (string, error)
	// Sleep waits as pg_sleep does.
	Sleep(seconds float64) error

	// Sessions by process number.
	BlockingPIDs(pid int32) []int32
	Signal(pid int32, terminate bool) (bool, error)

	// LookupRegclass finds a relation by its possibly qualified name; ok is false when there is none and missingOK is set.
	LookupRegclass(name string, missingOK bool) (oid int64, ok bool, err error)
	// HasPrivilege answers has_table_privilege and its kin: class is "table", "sequence", "schema", "function" or "column".
	HasPrivilege(class, role, object, column, privilege string) (bool, error)
}
