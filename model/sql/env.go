package sql

import (
	"math"
	"strings"

	"simrun/model/builtin"
	"simrun/model/storage"
	"simrun/model/types"
)

var _ builtin.Env = (*run)(nil)

// Now is the start of the transaction.
func (rn *run) Now() int64 { return rn.s.txStart }

// StatementNow is when the request came.
func (rn *run) StatementNow() int64 { return rn.req.started }

// ClockNow is the simulated time of this moment. A statement that runs again after a wait gets the answers it had.
func (rn *run) ClockNow() int64 {
	r := rn.req
	if rn.clockAt == len(r.clock) {
		r.clock = append(r.clock[:len(r.clock):len(r.clock)], rn.d.now)
	}
	rn.clockAt++
	return r.clock[rn.clockAt-1]
}

// Setting is current_setting.
func (rn *run) Setting(name string, missingOK bool) (string, bool, error) {
	v, err := rn.d.show(rn.s, strings.ToLower(name))
	if err != nil {
		if missingOK {
			return "", false, nil
		}
		return "", false, err
	}
	return v, true, nil
}

// SetSetting is set_config.
func (rn *run) SetSetting(name, value string, local bool) (string, error) {
	name = strings.ToLower(name)
	if err := rn.d.setSpecial(rn.s, name, value, local); err != nil {
		return "", err
	}
	return rn.d.show(rn.s, name)
}

// User is the current role.
func (rn *run) User() string { return rn.s.user() }

// SessionUser is the role that opened the session.
func (rn *run) SessionUser() string { return rn.s.login }

// PID is the session's process number: its number plus one.
func (rn *run) PID() int32 { return int32(rn.s.id) + 1 }

// Database is the name of the only database.
func (rn *run) Database() string { return "postgres" }

// Schemas is current_schemas.
func (rn *run) Schemas(implicit bool) []string {
	c := rn.d.catalog(rn.s)
	var out []string
	if implicit {
		out = append(out, "pg_catalog")
	}
	for _, p := range c.path {
		if c.schemaExists(p) && (p != "pg_catalog" || !implicit) {
			out = append(out, p)
		}
	}
	return out
}

func advisoryKey(key int64, two bool) storage.AdvisoryKey {
	if two {
		return storage.AdvisoryKey{Key: int64(int32(key >> 32)), Key2: int32(key), Two: true}
	}
	return storage.AdvisoryKey{Key: key}
}

// Advisory takes an advisory lock.
func (rn *run) Advisory(key int64, two, shared, session, try bool) (bool, error) {
	policy := storage.Wait
	if try {
		policy = storage.SkipLocked
	}
	return rn.x.Advisory(advisoryKey(key, two), shared, session, policy)
}

// AdvisoryUnlock gives one hold up.
func (rn *run) AdvisoryUnlock(key int64, two, shared bool) (bool, error) {
	ok := rn.x.AdvisoryUnlock(advisoryKey(key, two), shared)
	if !ok {
		mode := "ExclusiveLock"
		if shared {
			mode = "ShareLock"
		}
		rn.warn("01000", "you don't own a lock of type "+mode)
	}
	return ok, nil
}

// AdvisoryUnlockAll gives up all session-level advisory locks.
func (rn *run) AdvisoryUnlockAll() error {
	rn.x.AdvisoryUnlockAll()
	return nil
}

// sequence finds a sequence by its OID and checks a privilege.
func (rn *run) sequence(oid int64) (*Relation, error) {
	r := rn.d.catalog(rn.s).byOID(oid)
	switch {
	case r == nil:
		return nil, types.Errorf("42P01", "could not open relation with OID %d", oid)
	case r.Kind != KindSequence:
		return nil, types.Errorf("42809", "%q is not a sequence", r.Name)
	}
	return r, nil
}

// Nextval is nextval.
func (rn *run) Nextval(oid int64) (int64, error) {
	r, err := rn.sequence(oid)
	if err != nil {
		return 0, err
	}
	if err := rn.x.LockSequence(r.ID); err != nil {
		return 0, err
	}
	if err := rn.seqPrivilege(r, "Uw"); err != nil {
		return 0, err
	}
	if rn.s.readOnly {
		return 0, types.NewError("25006", "cannot execute nextval() in a read-only transaction")
	}
	return rn.x.Nextval(r.ID)
}

func (rn *run) seqPrivilege(r *Relation, any string) error {
	for i := range any {
		if rn.d.hasPrivilege(rn.s.user(), r, any[i], nil) {
			return nil
		}
	}
	return types.Errorf("42501", "permission denied for sequence %s", r.Name)
}

// Currval is currval.
func (rn *run) Currval(oid int64) (int64, error) {
	r, err := rn.sequence(oid)
	if err != nil {
		return 0, err
	}
	if err := rn.seqPrivilege(r, "Ur"); err != nil {
		return 0, err
	}
	return rn.x.Currval(r.ID)
}

// Setval is setval.
func (rn *run) Setval(oid, value int64, called bool) error {
	r, err := rn.sequence(oid)
	if err != nil {
		return err
	}
	if err := rn.x.LockSequence(r.ID); err != nil {
		return err
	}
	if err := rn.seqPrivilege(r, "w"); err != nil {
		return err
	}
	if rn.s.readOnly {
		return types.NewError("25006", "cannot execute setval() in a read-only transaction")
	}
	return rn.x.Setval(r.ID, value, called)
}

// Lastval is lastval.
func (rn *run) Lastval() (int64, error) { return rn.x.Lastval() }

// SequenceLast is pg_sequence_last_value.
func (rn *run) SequenceLast(oid int64) (int64, bool, error) {
	r, err := rn.sequence(oid)
	if err != nil {
		return 0, false, err
	}
	if _, err := rn.x.LockTable(r.ID, storage.AccessShare, storage.Wait); err != nil {
		return 0, false, err
	}
	n, called := rn.x.SequenceValue(r.ID)
	return n, called, nil
}

// SerialSequence is pg_get_serial_sequence.
func (rn *run) SerialSequence(table, column string) (string, bool, error) {
	c := rn.d.catalog(rn.s)
	v, err := c.regclass(table)
	if err != nil {
		return "", false, err
	}
	r := c.byOID(v.N)
	i := r.Col(column)
	if i < 0 {
		return "", false, types.Errorf("42703", "column %q of relation %q does not exist", column, r.Name)
	}
	return r.Columns[i].Sequence, r.Columns[i].Sequence != "", nil
}

// CurrentXID is pg_current_xact_id and its kin.
func (rn *run) CurrentXID(assign bool) (int64, bool, error) {
	rn.d.st.TouchEverything()
	if assign {
		return int64(rn.x.AssignXID()), true, nil
	}
	xid := rn.d.st.TopXID(rn.s.id)
	return int64(xid), xid != 0, nil
}

// Random is the next of the database's random numbers: a counter's multiples of the golden ratio, modulo 1.
func (rn *run) Random() (float64, error) {
	n, err := rn.x.Nextval(rn.d.randoms)
	_, frac := math.Modf(float64(n) * 0.6180339887498949)
	return frac, err
}

// UUID is the next of the database's UUIDs: version 4 with a counter at its end. Like a sequence the counter never goes back.
func (rn *run) UUID() (string, error) {
	n, err := rn.x.Nextval(rn.d.uuids)
	b := [16]byte{6: 0x40, 8: 0x80}
	for i := range 6 {
		b[15-i] = byte(n >> (8 * i))
	}
	return string(b[:]), err
}

// Sleep does not wait: simulated time passes by events only.
func (rn *run) Sleep(float64) error { return nil }

// BlockingPIDs is pg_blocking_pids.
func (rn *run) BlockingPIDs(pid int32) []int32 {
	rn.d.st.TouchEverything()
	var out []int32
	if rn.d.IsOpen(int(pid - 1)) {
		for _, s := range rn.d.BlockedBy(int(pid - 1)) {
			out = append(out, int32(s)+1)
		}
	}
	return out
}

// LookupRegclass is to_regclass and the input of regclass.
func (rn *run) LookupRegclass(name string, missingOK bool) (int64, bool, error) {
	if _, number := allDigits(name); missingOK && (number || name == "-") && rn.d.st.Version() < version16 {
		return 0, false, nil // until 16 to_regclass takes names only
	}
	v, err := rn.d.catalog(rn.s).regclass(name)
	if err != nil {
		if missingOK {
			return 0, false, nil
		}
		return 0, false, err
	}
	return v.N, true, nil
}

// HasPrivilege answers has_table_privilege and its kin.
func (rn *run) HasPrivilege(class, role, object, column, privilege string) (bool, error) {
	return rn.d.hasNamedPrivilege(rn.s, class, role, object, column, privilege)
}
