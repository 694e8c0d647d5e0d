package sql

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
)

// rowMark asks for a lock on the rows of one relation: FOR UPDATE and its kin.
type rowMark struct {
	rel      int
	item     *nsItem
	strength storage.RowLock
	policy   storage.WaitPolicy
}

var lockStrengths = map[pg.LockClauseStrength]storage.RowLock{
	pg.LockClauseStrength_LCS_FORKEYSHARE: storage.KeyShare, pg.LockClauseStrength_LCS_FORSHARE: storage.Share,
	pg.LockClauseStrength_LCS_FORNOKEYUPDATE: storage.NoKeyUpdate, pg.LockClauseStrength_LCS_FORUPDATE: storage.Update,
}

var lockPolicies = map[pg.LockWaitPolicy]storage.WaitPolicy{
	pg.LockWaitPolicy_LockWaitBlock: storage.Wait, pg.LockWaitPolicy_LockWaitError: storage.NoWait,
	pg.LockWaitPolicy_LockWaitSkip: storage.SkipLocked,
}

func lockName(s pg.LockClauseStrength) string {
	return map[pg.LockClauseStrength]string{pg.LockClauseStrength_LCS_FORKEYSHARE: "FOR KEY SHARE", pg.LockClauseStrength_LCS_FORSHARE: "FOR SHARE",
		pg.LockClauseStrength_LCS_FORNOKEYUPDATE: "FOR NO KEY UPDATE", pg.LockClauseStrength_LCS_FORUPDATE: "FOR UPDATE"}[s]
}

// lockMode is the relation lock of a FROM item: RowShare when a locking clause covers it.
func (q *query) lockMode(n *pg.RangeVar) storage.TableLock {
	name := n.Relname
	if n.Alias != nil {
		name = n.Alias.Aliasname
	}
	for _, lc := range q.lockClauses {
		if len(lc.LockedRels) == 0 {
			return storage.RowShare
		}
		for _, r := range lc.LockedRels {
			if r.GetRangeVar().Relname == name {
				return storage.RowShare
			}
		}
	}
	return storage.AccessShare
}

// locking analyses FOR UPDATE and its kin.
func (s *selection) locking() error {
	q := s.q
	for _, lc := range q.lockClauses {
		refuse := ""
		switch {
		case len(s.dist) > 0:
			refuse = "DISTINCT clause"
		case len(s.group) > 0:
			refuse = "GROUP BY clause"
		case s.having != nil:
			refuse = "HAVING clause"
		case len(q.aggs) > 0:
			refuse = "aggregate functions"
		case len(q.srfs) > 0:
			refuse = "set-returning functions in the target list"
		}
		if refuse != "" {
			return q.a.errorf(-1, "0A000", "%s is not allowed with %s", lockName(lc.Strength), refuse)
		}
		if len(lc.LockedRels) == 0 {
			for _, it := range q.items {
				if it.sub != nil {
					return q.a.unsupported(-1, lockName(lc.Strength)+" of a subquery in FROM")
				}
				if it.table != nil {
					q.mark(it, lc)
				}
			}
			continue
		}
		for _, r := range lc.LockedRels {
			rv := r.GetRangeVar()
			var found *nsItem
			for _, it := range q.items {
				if it.name == rv.Relname && !it.noQual {
					found = it
				}
			}
			switch {
			case found == nil:
				return q.a.errorf(rv.Location, "42P01", "relation %q in %s clause not found in FROM clause", rv.Relname, lockName(lc.Strength))
			case found.sub != nil:
				return q.a.unsupported(rv.Location, lockName(lc.Strength)+" of a subquery in FROM")
			case found.table == nil:
				return q.a.errorf(rv.Location, "0A000", "%s cannot be applied to a WITH query", lockName(lc.Strength))
			}
			q.mark(found, lc)
		}
	}
	return nil
}

func (q *query) mark(it *nsItem, lc *pg.LockingClause) {
	q.a.privs = append(q.a.privs, privCheck{rel: it.table, priv: 'w'})
	strength, policy := lockStrengths[lc.Strength], lockPolicies[lc.WaitPolicy]
	for i := range q.marks {
		m := &q.marks[i]
		if m.rel == it.rel { // the strongest lock wins, and NOWAIT over SKIP LOCKED over waiting
			m.strength = max(m.strength, strength)
			if policy == storage.NoWait || m.policy == storage.Wait {
				m.policy = policy
			}
			return
		}
	}
	q.marks = append(q.marks, rowMark{rel: it.rel, item: it, strength: strength, policy: policy})
	if q.a.lockName == "" {
		q.a.lockName = lockName(lc.Strength)
	}
}

// inLockOrder is the order in which the rows of a join are locked: as the clauses name the tables, but partitioned ones last, in
// the order of FROM, since it is their partitions that are locked, which the planner adds at the end (expand_inherited_rtentry).
func inLockOrder(marks []rowMark) []rowMark {
	key := func(m rowMark) int {
		if m.item.table.Kind == KindPartitioned {
			return m.rel
		}
		return -1
	}
	slices.SortStableFunc(marks, func(a, b rowMark) int { return key(a) - key(b) })
	return marks
}

// lockNode is Postgres's LockRows: it locks each row its child gives. A row that changed meanwhile is replaced by its newest
// version, if that still satisfies the child's conditions.
type lockNode struct {
	child node
	marks []rowMark
}

func (n *lockNode) open(f *frame) error { return n.child.open(f) }

func (n *lockNode) next(f *frame) (bool, error) {
rows:
	for {
		ok, err := n.child.next(f)
		if !ok || err != nil {
			return false, err
		}
		changed := false
		for i := range n.marks {
			m := &n.marks[i]
			ref := &f.refs[m.rel]
			if f.rows[m.rel] == nil || ref.table == nil {
				continue // null-extended
			}
			att, err := f.run.x.LockRow(f.run.snap, ref.table.ID, ref.tid, m.strength, m.policy, storage.ForSelect)
			if err != nil {
				return false, err
			}
			switch att.Outcome {
			case storage.OK, storage.Updated:
				if att.TID != ref.tid {
					changed = true
					f.setRow(m.rel, m.item.table, att)
				}
			default: // skipped, deleted, changed by this command
				continue rows
			}
		}
		if changed {
			if ok, err := n.child.recheck(f); err != nil {
				return false, err
			} else if !ok {
				continue
			}
		}
		return true, nil
	}
}

// setRow puts the newest version of a row into the frame.
func (f *frame) setRow(rel int, root *Relation, att storage.Attempt) {
	ref := &f.refs[rel]
	ref.tid, ref.row = att.TID, att.Row
	f.rows[rel] = att.Row.Vals
	if m := layoutMapIf(root, ref.table); m != nil {
		f.rows[rel] = remap(att.Row.Vals, m)
	}
}

func layoutMapIf(root, leaf *Relation) []int {
	if root == leaf {
		return nil
	}
	return layoutMap(root, leaf)
}

func (n *lockNode) recheck(f *frame) (bool, error) { return n.child.recheck(f) }
func (n *lockNode) rels() []int                    { return n.child.rels() }
