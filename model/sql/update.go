package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	dmlKinds["UpdateStmt"] = func(q *query, n *pg.Node) (*plan, error) { return q.updatePlan(n.GetUpdateStmt()) }
	dmlKinds["DeleteStmt"] = func(q *query, n *pg.Node) (*plan, error) { return q.deletePlan(n.GetDeleteStmt()) }
}

// setCol is one assignment of SET.
type setCol struct {
	col int
	fn  evalFn
}

// setClause analyses SET of UPDATE and of ON CONFLICT.
func (q *query) setClause(list []*pg.Node, r *Relation, it *nsItem) ([]setCol, error) {
	a := q.a
	saved := q.noAgg
	q.noAgg = "UPDATE"
	defer func() { q.noAgg = saved }()
	// All the values are analysed before the first name of a column is looked up, as on the server.
	values := make([]expr, len(list))
	multi := map[*pg.Node][]expr{}
	for i, tn := range list {
		rt := tn.GetResTarget()
		var err error
		switch v := rt.Val.Node.(type) {
		case *pg.Node_SetToDefault:
		case *pg.Node_MultiAssignRef:
			values[i], err = q.multiAssign(v.MultiAssignRef, multi)
		default:
			values[i], err = q.expr(rt.Val)
		}
		if err != nil {
			return nil, err
		}
	}
	var sets []setCol
	for i, tn := range list {
		rt := tn.GetResTarget()
		if len(rt.Indirection) > 0 {
			return nil, a.unsupported(rt.Location, "assignment to an array element or field")
		}
		col := r.Col(rt.Name)
		if col < 0 {
			return nil, a.errorf(rt.Location, "42703", "column %q of relation %q does not exist", rt.Name, r.Name)
		}
		for _, s := range sets {
			if s.col == col {
				return nil, a.errorf(-1, "42601", "multiple assignments to same column %q", rt.Name)
			}
		}
		c := &r.Columns[col]
		e := values[i]
		var err error
		if e == nil {
			e, err = a.defaultExpr(c)
		} else {
			e, err = a.assign(e, c)
		}
		if err != nil {
			return nil, err
		}
		if _, def := rt.Val.Node.(*pg.Node_SetToDefault); !def && (c.Generated || c.Identity == 'a') {
			kind := "Column %q is an identity column defined as GENERATED ALWAYS."
			if c.Generated {
				kind = "Column %q is a generated column."
			}
			return nil, a.errorf(-1, "428C9", "column %q can only be updated to DEFAULT", c.Name).WithDetail(kind, c.Name)
		}
		if c.Generated {
			continue
		}
		sets = append(sets, setCol{col, e.compile(&a.shape)})
	}
	return sets, nil
}

// multiAssign is one column of SET (a, b) = ...; nil stands for DEFAULT.
func (q *query) multiAssign(n *pg.MultiAssignRef, done map[*pg.Node][]expr) (expr, error) {
	a := q.a
	if row := n.Source.GetRowExpr(); row != nil {
		if len(row.Args) != int(n.Ncolumns) {
			return nil, a.errorf(row.Location, "42601", "number of columns does not match number of values")
		}
		arg := row.Args[n.Colno-1]
		if _, def := arg.Node.(*pg.Node_SetToDefault); def {
			return nil, nil
		}
		return q.expr(arg)
	}
	sub := n.Source.GetSubLink()
	if sub == nil || sub.SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
		return nil, a.errorf(nodeLocation(n.Source), "0A000", "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
	}
	cols := done[n.Source]
	if cols == nil {
		inner := a.newQuery(q)
		p, err := inner.selectPlan(sub.Subselect.GetSelectStmt())
		if err != nil {
			return nil, err
		}
		if len(p.cols) != int(n.Ncolumns) {
			return nil, a.errorf(sub.Location, "42601", "number of columns does not match number of values")
		}
		row := &rowSub{at: at(sub.Location), p: p, slot: a.newSlot()}
		for i, c := range p.cols {
			cols = append(cols, &fieldExpr{at: at(sub.Location), row: row, n: i, t: c.t})
		}
		done[n.Source] = cols
	}
	return cols[n.Colno-1], nil
}

// rowSub is a subquery that gives one row, as SET (a, b) = (SELECT ..) needs it.
type rowSub struct {
	at
	p    *plan
	slot int
}

func (e *rowSub) typ() types.Type        { return types.Type{Kind: types.Record} }
func (e *rowSub) children() []expr       { return nil }
func (e *rowSub) sig(b *strings.Builder) { b.WriteString("rowsub"); writeInt(b, e.slot) }
func (e *rowSub) compile(*shape) evalFn {
	p := e.p
	return func(f *frame) (types.Value, error) {
		rows, err := p.drain(f)
		switch {
		case err != nil:
			return types.Value{}, err
		case len(rows) > 1:
			return types.Value{}, errManyRows()
		case len(rows) == 0:
			return types.Value{T: types.Type{Kind: types.Record}}, nil
		}
		return types.NewRecord(rows[0]), nil
	}
}

// applySets computes the new row of an UPDATE from the old one in the frame.
func applySets(f *frame, sets []setCol, old []types.Value) (*storage.Row, error) {
	row := storage.MakeRow(len(old))
	vals := row.Vals
	copy(vals, old)
	for _, s := range sets {
		v, err := s.fn(f)
		if err != nil {
			return nil, err
		}
		if s.col < len(vals) {
			vals[s.col] = v
			continue
		}
		for len(vals) < s.col {
			vals = append(vals, types.Value{})
		}
		vals = append(vals, v)
	}
	row.Vals = vals
	return row, nil
}

// changeNode is UPDATE and DELETE.
type changeNode struct {
	w      *writer
	child  node
	target int
	slot   int
	sets   []setCol
	delete bool
	ret    bool
	out    []int
}

// changeSource analyses the target and what it is joined with.
func (q *query) changeSource(rv *pg.RangeVar, priv byte, verb string, from []*pg.Node) (*Relation, *nsItem, *jtree, []*nsItem, error) {
	a := q.a
	r, err := q.targetTable(rv, priv, verb)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	it := a.tableItem(r, rv.Alias)
	it.mode = storage.RowExclusive
	it.dml = true
	if rv.Alias == nil {
		it.schema = r.Schema
	}
	if err := q.addItems([]*nsItem{it}); err != nil {
		return nil, nil, nil, nil, err
	}
	tree := &jtree{item: it, rels: []int{it.rel}}
	rest, err := q.fromClause(from)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if rest != nil {
		tree = joinTrees(tree, rest, pg.JoinType_JOIN_INNER)
	}
	return r, it, tree, q.items[1:], nil
}

func (q *query) updatePlan(n *pg.UpdateStmt) (*plan, error) {
	a := q.a
	if n.WithClause != nil {
		if err := q.withClause(n.WithClause); err != nil {
			return nil, err
		}
	}
	r, it, tree, others, err := q.changeSource(n.Relation, 'w', "UPDATE", n.FromClause)
	if err != nil {
		return nil, err
	}
	where, err := q.where(n.WhereClause, "WHERE")
	if err != nil {
		return nil, err
	}
	// RETURNING comes before SET, as on the server: the first fault is the one reported, and the first use of a parameter
	// gives it its type.
	out := &changeNode{}
	p, err := q.returning(n.ReturningList, it, out, &out.ret, others...)
	if err != nil {
		return nil, err
	}
	if out.sets, err = q.setClause(n.TargetList, r, it); err != nil {
		return nil, err
	}
	for i := range a.privs {
		if p := &a.privs[i]; p.rel == r && p.priv == 'w' && p.cols == nil {
			for _, s := range out.sets {
				p.cols = append(p.cols, s.col)
			}
		}
	}
	return p, q.change(out, r, it, tree, where)
}

func (q *query) deletePlan(n *pg.DeleteStmt) (*plan, error) {
	if n.WithClause != nil {
		if err := q.withClause(n.WithClause); err != nil {
			return nil, err
		}
	}
	r, it, tree, others, err := q.changeSource(n.Relation, 'd', "DELETE", n.UsingClause)
	if err != nil {
		return nil, err
	}
	where, err := q.where(n.WhereClause, "WHERE")
	if err != nil {
		return nil, err
	}
	out := &changeNode{delete: true}
	p, err := q.returning(n.ReturningList, it, out, &out.ret, others...)
	if err != nil {
		return nil, err
	}
	return p, q.change(out, r, it, tree, where)
}

// change plans what an analysed UPDATE or DELETE runs.
func (q *query) change(out *changeNode, r *Relation, it *nsItem, tree *jtree, where expr) error {
	a := q.a
	var err error
	a.privs = append(a.privs, privCheck{rel: r, priv: 'r', reads: it.rel + 1, ifRead: true})
	if out.w, err = a.newWriter(r); err != nil {
		return err
	}
	out.w.setCols(out.sets)
	if out.child, err = q.joinPlan(tree, where); err != nil {
		return err
	}
	out.target, out.slot, out.out = it.rel, a.newSlot(), out.child.rels()
	return nil
}

func (n *changeNode) open(f *frame) error {
	*state[dmlState](f, n.slot) = dmlState{gen: f.gen}
	return n.child.open(f)
}

func (n *changeNode) next(f *frame) (bool, error) {
	st := state[dmlState](f, n.slot)
	for {
		if st.held {
			f.rows[n.target], f.refs[n.target], st.held = st.old, st.oldRef, false
		}
		ok, err := n.child.next(f)
		if !ok || err != nil {
			return false, err
		}
		st.old, st.oldRef, st.held = f.rows[n.target], f.refs[n.target], true
		if st.old == nil || st.oldRef.table == nil {
			continue
		}
		done, err := n.change(f)
		if err != nil {
			return false, err
		}
		if done {
			st.count++
			if n.ret {
				return true, nil
			}
		}
	}
}

// change updates or deletes the target row in the frame, following it to its newest version when a concurrent transaction
// was faster (READ COMMITTED).
func (n *changeNode) change(f *frame) (bool, error) {
	ref := &f.refs[n.target]
	w := n.leafWriter(ref.table)
	for {
		var out storage.Outcome
		var att storage.Attempt
		var err error
		if n.delete {
			att, err = w.delete(f, ref.tid, ref.row)
			out = att.Outcome
		} else {
			att, err = n.update(f, w, ref)
			out = att.Outcome
		}
		if err != nil {
			return false, err
		}
		switch out {
		case storage.OK:
			return true, nil
		case storage.Updated:
			f.setRow(n.target, n.w.table, att)
			if ok, err := n.child.recheck(f); !ok || err != nil {
				return false, err
			}
		default: // deleted meanwhile, or changed by this command already
			return false, nil
		}
	}
}

func (n *changeNode) leafWriter(t *Relation) *writer {
	if n.w.table == t {
		return n.w
	}
	for _, lw := range n.w.leaves {
		if lw.table == t {
			return lw
		}
	}
	return n.w
}

func (n *changeNode) update(f *frame, w *writer, ref *rowRef) (storage.Attempt, error) {
	row, err := applySets(f, n.sets, f.rows[n.target])
	if err != nil {
		return storage.Attempt{}, err
	}
	vals := row.Vals
	if w != n.w {
		to, _, err := n.w.route(vals)
		if err != nil {
			return storage.Attempt{}, err
		}
		if to != w {
			return storage.Attempt{}, types.NewError("0A000", "moving a row to another partition by UPDATE is not supported by the model")
		}
		if w.layout != nil {
			vals = remap(vals, w.layout)
		}
	}
	if w.hooks != nil {
		att, newVals, err := w.hooks.beforeUpdate(f, ref, vals, n.sets)
		if err != nil || newVals == nil {
			return att, err
		}
		vals = newVals
	}
	if err := w.check(f, vals); err != nil {
		return storage.Attempt{}, err
	}
	old, madeHere := ref.row, w.checksOwn(f, ref.tid)
	row = row.With(vals)
	att, err := f.run.x.Update(f.run.snap, w.table.ID, ref.tid, row)
	if err != nil {
		return att, w.uniqueError(err)
	}
	if att.Outcome == storage.OK {
		f.setRow(n.target, n.w.table, storage.Attempt{TID: att.TID, Row: row})
		if w.hooks != nil {
			err = w.hooks.afterUpdate(f, old, row, madeHere, n.sets)
		}
	}
	return att, err
}

// checksOwn says whether foreign keys are checked for a row because the transaction has made it.
func (w *writer) checksOwn(f *frame, tid storage.TID) bool {
	return w.hooks != nil && len(w.hooks.checks) > 0 && f.run.x.MadeHere(w.table.ID, tid)
}

// update replaces a version that is locked already (ON CONFLICT DO UPDATE) by one of vals, which may be those of row.
func (w *writer) update(f *frame, tid storage.TID, old, row *storage.Row, vals []types.Value) (*storage.Row, storage.TID, storage.Outcome, error) {
	if w.hooks != nil {
		ref := &rowRef{table: w.table, tid: tid, row: old}
		att, newVals, err := w.hooks.beforeUpdate(f, ref, vals, nil)
		if err != nil || newVals == nil {
			return nil, 0, att.Outcome, err
		}
		vals = newVals
	}
	if err := w.check(f, vals); err != nil {
		return nil, 0, storage.OK, err
	}
	madeHere := w.checksOwn(f, tid)
	row = row.With(vals)
	att, err := f.run.x.Update(f.run.snap, w.table.ID, tid, row)
	if err != nil {
		return nil, 0, att.Outcome, w.uniqueError(err)
	}
	if att.Outcome == storage.OK && w.hooks != nil {
		err = w.hooks.afterUpdate(f, old, row, madeHere, nil)
	}
	return row, att.TID, att.Outcome, err
}

func (w *writer) delete(f *frame, tid storage.TID, old *storage.Row) (storage.Attempt, error) {
	if w.hooks != nil {
		ref := &rowRef{table: w.table, tid: tid, row: old}
		if att, goOn, err := w.hooks.beforeDelete(f, ref); !goOn || err != nil {
			return att, err
		}
	}
	att, err := f.run.x.Delete(f.run.snap, w.table.ID, tid)
	if err == nil && att.Outcome == storage.OK && w.hooks != nil {
		err = w.hooks.afterDelete(f, old)
	}
	return att, err
}

func (n *changeNode) recheck(*frame) (bool, error) { return true, nil }
func (n *changeNode) rels() []int                  { return n.out }
func (n *changeNode) affected(f *frame) int64      { return state[dmlState](f, n.slot).count }
