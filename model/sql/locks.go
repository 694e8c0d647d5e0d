package sql

import (
	"fmt"

	"simrun/model/storage"
)

var modeNames = [...]string{storage.AccessShare: "AccessShareLock", storage.RowShare: "RowShareLock", storage.RowExclusive: "RowExclusiveLock",
	storage.ShareUpdateExclusive: "ShareUpdateExclusiveLock", storage.ShareLock: "ShareLock",
	storage.ShareRowExclusive: "ShareRowExclusiveLock", storage.Exclusive: "ExclusiveLock", storage.AccessExclusive: "AccessExclusiveLock"}

// LockRow is one row of pg_locks.
type LockRow struct {
	LockType string // relation, tuple, transactionid, advisory
	Relation string // name of the relation of relation and tuple locks
	Key      string // of a tuple its place, of an advisory lock its key, of a transaction its number
	Mode     string
	Granted  bool
}

// Locks are the rows of pg_locks of a session, sorted as storage sorts them, without its virtual transaction id.
func (d *Database) Locks(i int) []LockRow {
	var out []LockRow
	for _, l := range d.st.Locks(storage.SessionID(i), nil) {
		out = append(out, d.lockRow(l))
	}
	return out
}

func (d *Database) lockRow(l storage.LockInfo) LockRow {
	r := LockRow{Mode: modeNames[l.Mode], Granted: l.Granted}
	switch l.Tag.Kind {
	case storage.LockRelation:
		r.LockType, r.Relation = "relation", d.relName(l.Tag.Rel)
	case storage.LockTuple:
		r.LockType, r.Relation, r.Key = "tuple", d.relName(l.Tag.Rel), fmt.Sprint(l.Tag.TID)
	case storage.LockXID:
		r.LockType, r.Key = "transactionid", fmt.Sprint(l.Tag.XID)
	case storage.LockAdvisory:
		r.LockType, r.Key = "advisory", fmt.Sprint(l.Tag.Advisory.Key)
		if l.Tag.Advisory.Two {
			r.Key = fmt.Sprintf("%d,%d", l.Tag.Advisory.Key, l.Tag.Advisory.Key2)
		}
	default:
		r.LockType, r.Key = "object", fmt.Sprint(l.Tag.Object)
	}
	return r
}

func (d *Database) relName(id storage.TableID) string {
	if r := d.relByID(id); r != nil {
		return r.Name
	}
	return fmt.Sprint(id)
}

// waitText says in words what a session waits for.
func (d *Database) waitText(id storage.SessionID) string {
	tag, mode, ok := d.st.WaitingFor(id)
	if !ok {
		return ""
	}
	r := d.lockRow(storage.LockInfo{Tag: tag, Mode: mode})
	switch r.LockType {
	case "relation":
		return r.Mode + " on relation " + r.Relation
	case "tuple":
		return r.Mode + " on a row of " + r.Relation
	case "transactionid":
		return r.Mode + " on transaction " + r.Key
	}
	return r.Mode + " on " + r.LockType + " " + r.Key
}
