package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"simrun/model"
)

// lockLister is a model that lists the locks of a session as pg_locks does.
type lockLister interface {
	Locks(session int) []model.Lock
}

// compareLocks compares the locks that the session has with those that the model says.
func (p *Pair) compareLocks(session int) error {
	lister, ok := p.model.(lockLister)
	if !ok {
		return fmt.Errorf("%T cannot list locks", p.model)
	}
	model := lockTexts(lister.Locks(session))
	server, err := p.server.locks(session)
	if err != nil {
		return err
	}
	if server = slices.DeleteFunc(server, func(l string) bool { return cached(l, model) }); slices.Equal(model, server) {
		return nil
	}
	return p.diverge(p.last[session], "locks", strings.Join(model, ", "), strings.Join(server, ", "))
}

// cached says whether a lock of the server's is one of a backend that has computed the partition constraint of a partition: it opens the
// partitioned table once, and then has the constraint in its cache, whatever runs later. It stands in nobody's way, as the backend has
// a stronger lock on the table by then.
func cached(lock string, model []string) bool {
	table, ok := strings.CutSuffix(lock, " AccessShareLock")
	return ok && !slices.Contains(model, lock) && slices.ContainsFunc(model, func(l string) bool {
		mode, ok := strings.CutPrefix(l, table+" ")
		return ok && mode != "AccessShareLock"
	})
}

// lockTexts are the locks in words, sorted, without numbers that differ between servers: of a transaction id it says only
// whether it is the session's own.
func lockTexts(locks []model.Lock) []string {
	var list []string
	for _, l := range locks {
		object := l.Relation
		if _, err := strconv.Atoi(object); err == nil {
			continue // the counter behind gen_random_uuid(), which has no name
		}
		switch {
		case l.LockType == "transactionid" && l.Mode == "ExclusiveLock":
			object = "self"
		case l.LockType == "transactionid":
			object = "other"
		case l.LockType == "advisory":
			object = l.Key
		}
		text := l.LockType + " " + object + " " + l.Mode
		if !l.Granted {
			text += " (waits)"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// locks lists the session's rows of pg_locks in the same words. Left out are locks on catalogs, on indexes and on schema
// simrun, which the model does not take, the lock on the session's own virtual transaction, and what SERIALIZABLE has read.
func (b *Backend) locks(session int) ([]string, error) {
	s := b.session(session)
	if s == nil {
		return nil, nil
	}
	rows, err := b.control.w.Rows(fmt.Sprintf(`
		SELECT l.locktype || ' ' || CASE l.locktype
			WHEN 'relation' THEN c.relname
			WHEN 'tuple' THEN c.relname
			WHEN 'transactionid' THEN CASE WHEN l.mode = 'ExclusiveLock' THEN 'self' ELSE 'other' END
			WHEN 'advisory' THEN CASE l.objsubid WHEN 1 THEN ((l.classid::int8 << 32) | l.objid::int8)::text ELSE l.classid::int8::int4 || ',' || l.objid::int8::int4 END
			ELSE '' END || ' ' || l.mode || CASE WHEN l.granted THEN '' ELSE ' (waits)' END
		FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
		WHERE l.pid = %d AND l.locktype <> 'virtualxid' AND l.mode <> 'SIReadLock'
			AND (l.relation IS NULL OR l.relation >= 16384 AND c.relkind IN ('r', 'p', 'v', 'S') AND c.relnamespace <> 'simrun'::regnamespace)`, s.w.PID))
	if err != nil {
		return nil, err
	}
	list := make([]string, len(rows))
	for i, row := range rows {
		list[i] = row[0]
	}
	slices.Sort(list)
	return list, nil
}
