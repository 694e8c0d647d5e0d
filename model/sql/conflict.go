package sql

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// onConflict analyses ON CONFLICT.
func (q *query) onConflict(n *pg.OnConflictClause, r *Relation, it *nsItem, w *writer) (*conflictAction, error) {
	a := q.a
	c := &conflictAction{update: n.Action == pg.OnConflictAction_ONCONFLICT_UPDATE, excluded: -1}
	if n.Infer == nil {
		if c.update {
			return nil, a.errorf(n.Location, "42601", "ON CONFLICT DO UPDATE requires inference specification or constraint name").
				WithHint("For example, ON CONFLICT (column_name).")
		}
		c.any = true
	} else if err := q.arbiters(c, n.Infer, r, w, n.Location); err != nil {
		return nil, err
	}
	if !c.update {
		return c, nil
	}
	a.privs = append(a.privs, privCheck{rel: r, priv: 'r', reads: it.rel + 1, ifRead: true})
	ex := a.tableItem(r, &pg.Alias{Aliasname: "excluded"})
	c.excluded = ex.rel
	level := &query{a: a, parent: q.parent, ctes: q.ctes, items: []*nsItem{it, ex}}
	var err error
	if c.sets, err = level.setClause(n.TargetList, r, it); err != nil {
		return nil, err
	}
	w.setCols(c.sets)
	a.privs = append(a.privs, privCheck{rel: r, priv: 'w', cols: w.lockCols})
	where, err := level.where(n.WhereClause, "WHERE")
	if err != nil {
		return nil, err
	}
	if where != nil {
		c.where = compileQual(where, &a.shape)
	}
	return c, nil
}

// arbiters finds the unique indexes that an inference clause means, in the table or in each of its partitions.
func (q *query) arbiters(c *conflictAction, n *pg.InferClause, r *Relation, w *writer, loc int32) error {
	c.arbiters = map[storage.TableID][]int{}
	tables := []*Relation{r}
	if r.Kind == KindPartitioned {
		tables = nil
		for _, lw := range w.leaves {
			tables = append(tables, lw.table)
		}
	}
	if err := q.inferColumns(n, r); err != nil {
		return err
	}
	for _, t := range tables {
		found := t.arbiters(n)
		if len(found) == 0 {
			if n.Conname != "" {
				return q.a.errorf(-1, "42704", "constraint %q for table %q does not exist", n.Conname, r.Name)
			}
			return q.a.errorf(-1, "42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification")
		}
		c.arbiters[t.ID] = found
	}
	return nil
}

// inferColumns checks that the inference columns exist.
func (q *query) inferColumns(n *pg.InferClause, r *Relation) error {
	need := privCheck{rel: r, priv: 'r'} // finding the conflicting row is reading it
	for _, en := range n.IndexElems {
		ie := en.GetIndexElem()
		if ie.Expr != nil {
			return q.a.unsupported(n.Location, "ON CONFLICT with an expression")
		}
		at := r.Col(ie.Name)
		if at < 0 {
			return q.a.errorf(n.Location, "42703", "column %q does not exist", ie.Name)
		}
		need.cols = append(need.cols, at)
	}
	for i := range r.Indexes {
		if ix := &r.Indexes[i]; n.Conname != "" && ix.Constraint && ix.Name == n.Conname {
			need.cols = append(need.cols, ix.Cols...)
		}
	}
	q.a.privs = append(q.a.privs, need)
	return nil
}

func (r *Relation) arbiters(n *pg.InferClause) []int {
	var found []int
	for i := range r.Indexes {
		ix := &r.Indexes[i]
		if !ix.Unique {
			continue
		}
		if n.Conname != "" {
			if ix.Constraint && ix.Name == n.Conname {
				found = append(found, i)
			}
			continue
		}
		if ix.Pred != nil && n.WhereClause == nil || ix.Exprs != nil {
			continue
		}
		if ix.Pred != nil && treeText(ix.Pred) != treeText(n.WhereClause) {
			continue // the planner would try to prove it; only the same predicate is taken
		}
		want := map[int]bool{}
		for _, en := range n.IndexElems {
			want[r.Col(en.GetIndexElem().Name)] = true
		}
		same := len(want) == len(ix.Cols)
		for _, col := range ix.Cols {
			same = same && want[col]
		}
		if same {
			found = append(found, i)
		}
	}
	return found
}

// storeOnConflict is ExecInsert's loop with ExecOnConflictUpdate: insert speculatively, else lock the row in the way.
func (n *insertNode) storeOnConflict(f *frame, w *writer, row *storage.Row) (bool, error) {
	c, x, snap := n.conflict, f.run.x, f.run.snap
	var arbiters []int
	if !c.any {
		arbiters = c.arbiters[w.table.ID]
	}
	for {
		tid, other, err := x.InsertOnConflict(snap, w.table.ID, row, arbiters)
		if err != nil {
			return false, w.uniqueError(err)
		}
		if other == 0 {
			n.leave(f, w, row, tid)
			if w.hooks != nil {
				return true, w.hooks.afterInsert(f, row, tid)
			}
			return true, nil
		}
		if !c.update {
			return false, x.CheckVisible(snap, w.table.ID, other)
		}
		done, stored, err := n.conflictUpdate(f, w, row.Vals, other)
		if done || err != nil {
			return stored, err
		}
	}
}

// conflictUpdate is DO UPDATE for one conflicting version; done is false when the insertion has to be tried again.
func (n *insertNode) conflictUpdate(f *frame, w *writer, proposed []types.Value, other storage.TID) (done, stored bool, err error) {
	c, x, snap := n.conflict, f.run.x, f.run.snap
	mode := x.UpdateLockMode(w.table.ID, leafCols(c.sets, w))
	att, err := x.LockRow(snap, w.table.ID, other, mode, storage.Wait, storage.ForConflict)
	if err != nil {
		return false, false, err
	}
	switch att.Outcome {
	case storage.OK:
	case storage.Updated, storage.Deleted:
		return false, false, nil
	default:
		return false, false, types.NewError("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time").
			WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
	}
	if err := x.CheckVisible(snap, w.table.ID, att.TID); err != nil {
		return false, false, err
	}
	n.leave(f, w, att.Row, att.TID)
	f.rows[c.excluded] = proposed
	if w.layout != nil {
		f.rows[c.excluded] = remap(proposed, layoutMap(n.w.table, w.table))
	}
	if ok, err := c.where.holds(f); !ok || err != nil {
		return true, false, err
	}
	row, err := applySets(f, c.sets, f.rows[n.target])
	if err != nil {
		return false, false, err
	}
	vals := row.Vals
	if w.layout != nil {
		vals = remap(vals, w.layout)
	}
	newRow, tid, out, err := w.update(f, att.TID, att.Row, row, vals)
	if err != nil || out != storage.OK {
		return true, false, err
	}
	n.leave(f, w, newRow, tid)
	return true, true, nil
}

// leafCols are the columns of w's table that are set.
func leafCols(sets []setCol, w *writer) []int {
	if w.layout == nil {
		return w.lockCols
	}
	cols := make([]int, 0, len(sets))
	for _, s := range sets {
		cols = append(cols, slices.Index(w.layout, s.col))
	}
	return cols
}
