package sql

import (
	"slices"
	"sync/atomic"

	"simrun/model/storage"
)

// Database is the state of storage together with the SQL side of its sessions. Clone is O(1) in the data.
type Database struct {
	st    *storage.State
	owner uint64 // sessions with this owner may be changed in place
	sess  []*session
	now   int64 // simulated time, microseconds since 2000-01-01 UTC

	signals []signal // sent by the statement in progress

	prints  bool // footprints are recorded
	tracked bool // acquired locks are recorded
	rels    *relIndex

	uuids, randoms storage.TableID // sequences behind gen_random_uuid() and random()
}

var owners atomic.Uint64

// NewDatabase returns an empty database with the schemas public and pg_catalog.
func NewDatabase() *Database {
	d := &Database{st: storage.New(), owner: owners.Add(1)}
	s := d.st.OpenSession()
	d.st.Begin(s, storage.TxOptions{Implicit: true})
	x := d.st.NewExec(s)
	d.uuids = x.CreateSequence(storage.SequenceSpec{Name: "uuids", Start: 1, Inc: 1, Min: 1, Max: 1<<47 - 1})
	d.randoms = x.CreateSequence(storage.SequenceSpec{Name: "randoms", Start: 1, Inc: 1, Min: 1, Max: 1<<47 - 1})
	x.End()
	if err := d.st.Commit(s); err != nil {
		panic("sql: the empty database cannot be made: " + err.Error())
	}
	d.st.CloseSession(s)
	return d
}

// Clone returns a copy; both may be used on.
func (d *Database) Clone() *Database {
	c := *d
	c.st = d.st.Clone()
	c.sess = append(make([]*session, 0, len(d.sess)), d.sess...)
	d.owner, c.owner = owners.Add(1), owners.Add(1)
	return &c
}

// SequentialScans makes SERIALIZABLE remember what was read by table, as a server does that is told to use no indexes.
func (d *Database) SequentialScans(on bool) { d.st.SequentialScans(on) }

// ServerVersion says which server to be like where they differ, as server_version_num.
func (d *Database) ServerVersion(version int) { d.st.ServerVersion(version) }

// State is the storage below.
func (d *Database) State() *storage.State { return d.st }

// session gives session i for changing.
func (d *Database) session(i int) *session {
	s := d.sess[i]
	if s.owner != d.owner {
		c := *s
		c.owner = d.owner
		c.saved = append([]savepoint(nil), s.saved...)
		s = &c
		d.sess[i] = s
	}
	return s
}

// Open starts a session of the superuser in which a role has been set, and returns its number.
func (d *Database) Open(role string) int {
	d.startStep()
	id := d.st.OpenSession()
	i := int(id)
	for len(d.sess) <= i {
		d.sess = append(d.sess, nil)
	}
	s := newSession(d, id)
	if role != "" && role != superuser {
		s.settings.set("role", role, false, false)
	}
	d.sess[i] = s
	return i
}

// IsOpen says whether session i is open.
func (d *Database) IsOpen(i int) bool { return i >= 0 && i < len(d.sess) && d.sess[i] != nil }

// Close ends a session as a lost connection does.
func (d *Database) Close(i int) {
	d.startStep()
	if d.IsOpen(i) {
		d.st.CloseSession(d.sess[i].id)
		d.sess[i] = nil
	}
}

// SetNow sets the simulated time, in microseconds since 2000-01-01 UTC.
func (d *Database) SetNow(us int64) { d.now = us }

// Fingerprint is the canonical hash of the database, of its sessions and of the time: of all that what it will do depends on.
func (d *Database) Fingerprint() uint64 { return d.FingerprintAs(nil) }

// FingerprintAs is the fingerprint of the database with other numbers for its sessions: as has the new one of each, a permutation.
func (d *Database) FingerprintAs(as []int) uint64 {
	h := mixHash(d.st.FingerprintAs(as), uint64(d.now))
	for place := range d.sess {
		i := place
		if place < len(as) {
			i = slices.Index(as, place)
		}
		if s := d.sess[i]; s != nil {
			h = mixHash(h, uint64(place)+1)
			h = s.fingerprint(h)
		}
	}
	return h
}

func mixHash(h, x uint64) uint64 {
	h = (h ^ x) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// Woken appends the sessions whose wait is over and that wait for Resume.
func (d *Database) Woken(buf []int) []int {
	var ids [8]storage.SessionID
	for _, id := range d.st.Woken(ids[:0]) {
		buf = append(buf, int(id))
	}
	return d.signalled(buf)
}

// BlockedBy is pg_blocking_pids of a session.
func (d *Database) BlockedBy(i int) []int {
	var out []int
	for _, id := range d.st.BlockedBy(storage.SessionID(i), nil) {
		out = append(out, int(id))
	}
	return out
}

// Deadlock returns the sessions of a closed wait cycle, or none.
func (d *Database) Deadlock() []int {
	var out []int
	for _, id := range d.st.Deadlock() {
		out = append(out, int(id))
	}
	return out
}
