package sql

import (
	"strings"

	"simrun/model/storage"
	"simrun/model/types"
)

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
	d.st.Watch(locks)
}

// startStep begins the recording of a step.
func (d *Database) startStep() {
	if d.prints || d.tracked {
		d.st.ResetFootprint()
	}
}

// Footprint is what the last step read and wrote.
func (d *Database) Footprint() (reads, writes []uint64) {
	f := d.st.Footprint()
	return f.Reads, f.Writes
}

// Acquired are the locks that the last step acquired and its session did not hold already, in order. An inserted row counts
// as locked FOR UPDATE under each of its unique keys, as others wait for its inserter.
func (d *Database) Acquired() []AcquiredLock {
	got := d.st.Acquired()
	if len(got) == 0 {
		return nil
	}
	out := make([]AcquiredLock, 0, len(got))
	for i := range got {
		a := &got[i]
		l := AcquiredLock{Class: "relation", Try: a.Try}
		switch a.Kind {
		case storage.LockAdvisory:
			l.Class, l.Object, l.Mode = "advisory", "advisory "+advisoryText(a.Advisory), modeNames[a.Mode]
		case storage.LockTuple:
			l.Class, l.Mode = "row", rowLockNames[a.RowMode]
			l.Object = d.rowName(a.Rel, a.Index, a.Row)
		default:
			l.Mode, l.Object = modeNames[a.Mode], d.relName(a.Rel)
		}
		out = append(out, l)
	}
	return out
}

func advisoryText(k storage.AdvisoryKey) string {
	s := types.NewInt8(k.Key).Text()
	if k.Two {
		s += "," + types.NewInt8(int64(k.Key2)).Text()
	}
	return s
}

// rowName is table(key): the key of the given unique index, or of the primary key, or of the first unique index.
func (d *Database) rowName(id storage.TableID, index int, row *storage.Row) string {
	r := d.relByID(id)
	if r == nil {
		return itoa(int(id))
	}
	name := r.Name
	if index < 0 {
		for i := range r.Indexes {
			if ix := &r.Indexes[i]; ix.Primary || index < 0 && ix.Unique && ix.Pred == nil && ix.Exprs == nil {
				index = i
			}
		}
	} else if !r.Indexes[index].Primary {
		name += "." + r.Indexes[index].Name
	}
	if index < 0 {
		return name
	}
	var b strings.Builder
	b.WriteString(name)
	for i, c := range r.Indexes[index].Cols {
		sep := byte(',')
		if i == 0 {
			sep = '('
		}
		b.WriteByte(sep)
		if c >= 0 && c < len(row.Vals) {
			b.WriteString(row.Vals[c].Text())
		}
	}
	b.WriteByte(')')
	return b.String()
}

// CommittedFingerprint is the fingerprint of what a new session finds: what has been committed, and the time.
func (d *Database) CommittedFingerprint() uint64 {
	return mixHash(d.st.CommittedFingerprint(), uint64(d.now))
}

var rowLockNames = [...]string{storage.KeyShare: "FOR KEY SHARE", storage.Share: "FOR SHARE",
	storage.NoKeyUpdate: "FOR NO KEY UPDATE", storage.Update: "FOR UPDATE"}
