package model

import "simrun/model/sql"

// AcquiredLock is a lock that a step acquired.
type AcquiredLock = sql.AcquiredLock

// Track turns the recording of what each Submit and Resume touches on or off, for this state and its later clones: prints for
// Footprint, locks for Acquired.
func (d *DB) Track(prints, locks bool) { d.db.Track(prints, locks) }

// Acquired lists the locks that the last Submit or Resume acquired, in order. It is good until the next request.
func (d *DB) Acquired() []AcquiredLock { return d.db.Acquired() }

// Footprint is what the last Submit, Resume or Interrupt read and wrote, as hashed ids of rows, keys, predicates and locks. It
// is good until the next request.
func (d *DB) Footprint() (reads, writes []uint64) { return d.db.Footprint() }

// CommittedFingerprint is a canonical hash of what Query can see: databases with equal hashes give equal answers.
func (d *DB) CommittedFingerprint() uint64 { return d.db.CommittedFingerprint() }
