package postgres

import (
	"fmt"
	"slices"
	"strings"
)

// LockLister is a model that can list the locks of a session as pg_locks does; each is "<locktype> <object> <mode>", with
// " (waits)" at the end when it is not granted, sorted. Numbers that differ between servers (transaction ids, OIDs) are not in
// it: a relation is named, a transaction id is "self" or "other".
type LockLister interface {
	Locks(session int) []string
}

// compareLocks compares the locks that the session has with those that the model says.
func (p *Pair) compareLocks(session int) error {
	lister, ok := p.model.(LockLister)
	if !ok {
		return fmt.Errorf("the model cannot list locks")
	}
	model := lister.Locks(session)
	server, err := p.server.locks(session)
	if err != nil {
		return err
	}
	if slices.Equal(model, server) {
		return nil
	}
	return p.diverge(p.last[session], "locks", strings.Join(model, ", "), strings.Join(server, ", "))
}

// locks lists the session's rows of pg_locks in the words of LockLister. Left out are locks on catalogs, on indexes and
// sequences and on schema simrun, which the model does not take, and the lock on the session's own virtual transaction.
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
			WHEN 'virtualxid' THEN 'other'
			WHEN 'advisory' THEN l.classid || ' ' || l.objid || ' ' || l.objsubid
			ELSE '' END || ' ' || l.mode || CASE WHEN l.granted THEN '' ELSE ' (waits)' END
		FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
		WHERE l.pid = %d AND NOT (l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock')
			AND (l.relation IS NULL OR l.relation >= 16384 AND c.relkind IN ('r', 'p', 'v') AND c.relnamespace <> 'simrun'::regnamespace)`, s.w.PID))
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
