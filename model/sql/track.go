package sql

import "simrun/model/storage"

// AcquiredLock is a lock that a session acquired in a step.
type AcquiredLock struct {
	Class  string // "relation", "row", "advisory"
	Object string // "ring_state", "ring_state(queue)" (table and primary key), "advisory 42"
	Mode   string // "AccessExclusiveLock", "FOR NO KEY UPDATE", "ExclusiveLock"
	Try    bool   // the session would not have waited for it: NOWAIT, SKIP LOCKED, a pg_try function
}

// Track turns recording on or off.
func (d *Database) Track(prints, locks bool) {
	d.prints, d.tracked = prints, locks
	d.st.Track(prints)
}

// startStep begins the recording of a step.
func (d *Database) startStep() {
	if d.prints {
		d.st.ResetFootprint()
	}
	if d.tracked {
		d.acquired = nil
	}
}

// Footprint is what the last step read and wrote.
func (d *Database) Footprint() (reads, writes []uint64) {
	f := d.st.Footprint()
	return f.Reads, f.Writes
}

// Acquired are the locks of the last step.
func (d *Database) Acquired() []AcquiredLock { return d.acquired }

// CommittedFingerprint is the fingerprint of the database without its sessions, whose open transactions are rolled back.
func (d *Database) CommittedFingerprint() uint64 {
	st := d.st.Clone()
	for _, s := range d.sess {
		if s != nil {
			st.CloseSession(s.id)
		}
	}
	return mixHash(st.Fingerprint(), uint64(d.now))
}

var rowLockNames = [...]string{storage.KeyShare: "FOR KEY SHARE", storage.Share: "FOR SHARE",
	storage.NoKeyUpdate: "FOR NO KEY UPDATE", storage.Update: "FOR UPDATE"}
