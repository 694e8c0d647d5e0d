package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_LockStmt) (*Compiled, error) { return a.lockTable(n.LockStmt) })
	registerStatement(func(a *analyzer, n *pg.Node_TruncateStmt) (*Compiled, error) { return a.truncate(n.TruncateStmt) })
}

// lockTable is LOCK TABLE: one table after the other, a partitioned one with its partitions.
func (a *analyzer) lockTable(n *pg.LockStmt) (*Compiled, error) {
	mode := storage.TableLock(n.Mode)
	var rels []*Relation
	for _, rn := range n.Relations {
		rv := rn.GetRangeVar()
		r, err := a.cat.relation(rv.Schemaname, rv.Relname)
		if err != nil {
			return nil, a.at(err, -1)
		}
		if r.Kind != KindTable && r.Kind != KindPartitioned && r.Kind != KindView {
			return nil, a.errorf(-1, "42809", "cannot lock relation %q", r.Name).WithDetail("This operation is not supported for %s.", kindName(r.Kind))
		}
		rels = append(rels, a.withParts(r, rv.Inh)...)
	}
	policy := storage.Wait
	if n.Nowait {
		policy = storage.NoWait
	}
	return &Compiled{tag: "LOCK TABLE", util: func(rn *run) (*Result, error) {
		if !rn.s.explicit {
			return nil, types.NewError("25P01", "LOCK TABLE can only be used in transaction blocks")
		}
		for _, r := range rels {
			if err := rn.d.lockPrivilege(rn.s, r, mode); err != nil {
				return nil, err
			}
			if _, err := rn.x.LockTable(r.ID, mode, policy); err != nil {
				if e, ok := err.(*types.Error); ok && e.Code == "55P03" && policy == storage.NoWait {
					return nil, types.Errorf("55P03", "could not obtain lock on relation %q", r.Name)
				}
				return nil, err
			}
		}
		return &Result{Tag: "LOCK TABLE"}, nil
	}}, nil
}

func kindName(k RelKind) string {
	return map[RelKind]string{KindIndex: "indexes", KindSequence: "sequences", KindView: "views"}[k]
}

// withParts is a table followed by its partitions.
func (a *analyzer) withParts(r *Relation, inh bool) []*Relation {
	out := []*Relation{r}
	if inh {
		for _, p := range r.Parts {
			if leaf, ok := a.cat.byQName(p.Table); ok {
				out = append(out, leaf)
			}
		}
	}
	return out
}

// truncate is TRUNCATE.
func (a *analyzer) truncate(n *pg.TruncateStmt) (*Compiled, error) {
	c := &Compiled{tag: "TRUNCATE TABLE", name: "TRUNCATE TABLE", writes: true, snapshot: true}
	rels, err := a.truncated(n)
	if err != nil { // of the execution, on a server
		c.util = func(*run) (*Result, error) { return nil, err }
		return c, nil
	}
	cascade := n.Behavior == pg.DropBehavior_DROP_CASCADE
	c.util = func(rn *run) (*Result, error) { return rn.truncate(rels, cascade, n.RestartSeqs) }
	return c, nil
}

// truncated are the tables that TRUNCATE names, with their partitions.
func (a *analyzer) truncated(n *pg.TruncateStmt) ([]*Relation, error) {
	var rels []*Relation
	for _, rn := range n.Relations {
		rv := rn.GetRangeVar()
		r, err := a.cat.relation(rv.Schemaname, rv.Relname)
		if err != nil {
			return nil, a.at(err, -1)
		}
		if r.Kind != KindTable && r.Kind != KindPartitioned {
			return nil, a.errorf(-1, "42809", "%q is not a table", r.Name)
		}
		rels = append(rels, a.withParts(r, rv.Inh)...)
	}
	return rels, nil
}

func (rn *run) truncate(rels []*Relation, cascade, restart bool) (*Result, error) {
	all := rels
	for i := 0; i < len(all); i++ {
		r := all[i]
		if !rn.d.hasPrivilege(rn.s.user(), r, 'D', nil) {
			return nil, types.Errorf("42501", "permission denied for table %s", r.Name)
		}
		if _, err := rn.x.LockTable(r.ID, storage.AccessExclusive, storage.Wait); err != nil {
			return nil, err
		}
		if cascade {
			all = rn.addReferencing(all, r)
		}
	}
	if err := checkTruncate(all); err != nil {
		return nil, err
	}
	ids := make([]storage.TableID, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	if err := rn.x.Truncate(ids...); err != nil {
		return nil, err
	}
	for _, r := range all { // the rebuilding of the indexes takes its lock even when there are none
		if r.Kind != KindTable {
			continue
		}
		if _, err := rn.x.LockTable(r.ID, storage.ShareLock, storage.Wait); err != nil {
			return nil, err
		}
	}
	if restart {
		if err := rn.restartSequences(all); err != nil {
			return nil, err
		}
	}
	return &Result{Tag: "TRUNCATE TABLE"}, nil
}

// addReferencing appends the tables that refer to r by a foreign key.
func (rn *run) addReferencing(all []*Relation, r *Relation) []*Relation {
	c := rn.d.catalog(rn.s)
next:
	for _, fk := range r.RefFKs {
		for _, x := range all {
			if x.QName() == fk.Table {
				continue next
			}
		}
		if t, ok := c.byQName(fk.Table); ok {
			rn.notice("00000", "truncate cascades to table \""+t.Name+"\"")
			all = append(all[:len(all):len(all)], t)
		}
	}
	return all
}

// checkTruncate refuses to empty a table that another table refers to.
func checkTruncate(all []*Relation) error {
	names := map[string]bool{}
	for _, r := range all {
		names[r.QName()] = true
	}
	for _, r := range all {
		for _, fk := range r.RefFKs {
			if !names[fk.Table] {
				_, child, _ := splitName(fk.Table)
				return types.NewError("0A000", "cannot truncate a table referenced in a foreign key constraint").
					WithDetail("Table %q references %q.", child, r.Name).
					WithHint("Truncate table %q at the same time, or use TRUNCATE ... CASCADE.", child)
			}
		}
	}
	return nil
}

func (rn *run) restartSequences(all []*Relation) error {
	c := rn.d.catalog(rn.s)
	for _, r := range all {
		for i := range r.Columns {
			if seq, ok := c.byQName(r.Columns[i].Sequence); ok && seq.Sequence != nil {
				if err := rn.x.Setval(seq.ID, seq.Sequence.Start, false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
