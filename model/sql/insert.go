package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	dmlKinds["InsertStmt"] = func(q *query, n *pg.Node) (*plan, error) { return q.insertPlan(n.GetInsertStmt()) }
}

// insertNode is INSERT.
type insertNode struct {
	w        *writer
	child    node
	vals     []evalFn // one per column of the table
	target   int      // relation of the stored row, for RETURNING and ON CONFLICT
	slot     int
	conflict *conflictAction
	ret      bool
	out      []int
}

// conflictAction is ON CONFLICT.
type conflictAction struct {
	arbiters map[storage.TableID][]int // per leaf; nil map: any unique index
	any      bool
	update   bool
	excluded int // relation of the proposed row
	sets     []setCol
	where    qual
}

// dmlState counts the rows of a data-modifying node.
type dmlState struct {
	gen   uint64
	count int64
	// the source row of the last RETURNING row, put back before the child goes on
	old    []types.Value
	oldRef rowRef
	held   bool
}

// targetTable opens the table that a statement changes.
func (q *query) targetTable(n *pg.RangeVar, priv byte, verb string) (*Relation, error) {
	a := q.a
	if n.Schemaname == "" && q.findCTE(n.Relname) != nil {
		return nil, a.errorf(n.Location, "42P01", "relation %q cannot be the target of a modifying statement", n.Relname).
			WithDetail("")
	}
	r, err := a.cat.relation(n.Schemaname, n.Relname)
	if err != nil {
		return nil, a.at(err, n.Location)
	}
	switch r.Kind {
	case KindTable, KindPartitioned:
	case KindView:
		return nil, a.unsupported(n.Location, verb+" on a view")
	case KindSequence:
		return nil, a.errorf(-1, "42809", "cannot change sequence %q", r.Name)
	default:
		return nil, a.errorf(n.Location, "42809", "cannot open relation %q", r.Name).WithDetail("This operation is not supported for indexes.")
	}
	a.lock(r, storage.RowExclusive)
	a.privs = append(a.privs, privCheck{rel: r, priv: priv, pos: parser.CharPosition(a.sql, n.Location)})
	a.inDML = true
	return r, nil
}

func (q *query) insertPlan(n *pg.InsertStmt) (*plan, error) {
	a := q.a
	if n.WithClause != nil {
		if err := q.withClause(n.WithClause); err != nil {
			return nil, err
		}
	}
	r, err := q.targetTable(n.Relation, 'a', "INSERT")
	if err != nil {
		return nil, err
	}
	cols, err := q.insertColumns(r, n.Cols)
	if err != nil {
		return nil, err
	}
	a.privs[len(a.privs)-1].cols = cols
	w, err := a.newWriter(r)
	if err != nil {
		return nil, err
	}
	out := &insertNode{w: w, slot: a.newSlot()}
	exprs, err := q.insertSource(out, r, n, cols)
	if err != nil {
		return nil, err
	}
	for i := range r.Columns {
		e := exprs[i]
		if e == nil {
			if e, err = a.defaultExpr(&r.Columns[i]); err != nil {
				return nil, err
			}
		}
		out.vals = append(out.vals, e.compile(&a.shape))
	}
	it := a.tableItem(r, n.Relation.Alias)
	out.target = it.rel
	if n.OnConflictClause != nil {
		if out.conflict, err = q.onConflict(n.OnConflictClause, r, it, w); err != nil {
			return nil, err
		}
	}
	out.out = []int{it.rel}
	return q.returning(n.ReturningList, it, out, &out.ret)
}

// returning makes the plan of a data-modifying node, with its RETURNING list.
func (q *query) returning(list []*pg.Node, it *nsItem, root node, flag *bool, others ...*nsItem) (*plan, error) {
	p := &plan{root: root, volatile: true, outs: []evalFn{}}
	if len(list) == 0 {
		return p, nil
	}
	level := &query{a: q.a, parent: q.parent, ctes: q.ctes, items: append([]*nsItem{it}, others...), noAgg: "RETURNING"}
	cols, err := level.targetList(list)
	if err != nil {
		return nil, err
	}
	if err := level.settleCols(cols); err != nil {
		return nil, err
	}
	*flag = true
	p.cols = cols
	q.a.privs = append(q.a.privs, privCheck{rel: it.table, priv: 'r', reads: it.rel + 1, ifRead: true})
	compileOuts(p, &q.a.shape)
	return p, nil
}

func (q *query) insertColumns(r *Relation, list []*pg.Node) ([]int, error) {
	var cols []int
	if len(list) == 0 {
		for i := range r.Columns {
			if !r.Columns[i].Dropped {
				cols = append(cols, i)
			}
		}
		return cols, nil
	}
	for _, cn := range list {
		rt := cn.GetResTarget()
		if len(rt.Indirection) > 0 {
			return nil, q.a.unsupported(rt.Location, "assignment to an array element or field")
		}
		i := r.Col(rt.Name)
		if i < 0 {
			return nil, q.a.errorf(rt.Location, "42703", "column %q of relation %q does not exist", rt.Name, r.Name)
		}
		for _, c := range cols {
			if c == i {
				return nil, q.a.errorf(rt.Location, "42701", "column %q specified more than once", rt.Name)
			}
		}
		cols = append(cols, i)
	}
	return cols, nil
}

// insertSource analyses where the rows come from and gives an expression for each column that it fills.
func (q *query) insertSource(out *insertNode, r *Relation, n *pg.InsertStmt, cols []int) ([]expr, error) {
	a := q.a
	exprs := make([]expr, len(r.Columns))
	sel := n.SelectStmt.GetSelectStmt()
	overriding := n.Override
	switch {
	case sel == nil: // DEFAULT VALUES
		out.child = &resultNode{slot: a.newSlot()}
		return exprs, nil
	case len(sel.ValuesLists) > 0 && sel.WithClause == nil && len(sel.SortClause) == 0 && sel.LimitCount == nil && sel.LimitOffset == nil:
		return exprs, q.insertValues(out, r, sel, cols, n.Cols, exprs, overriding)
	}
	sub := a.newQuery(q)
	p, err := sub.selectPlan(sel)
	if err != nil {
		return nil, err
	}
	if len(p.cols) > len(cols) {
		return nil, a.errorf(p.cols[len(cols)].e.loc(), "42601", "INSERT has more expressions than target columns")
	}
	if len(n.Cols) > 0 && len(p.cols) < len(cols) {
		return nil, a.errorf(n.Cols[len(p.cols)].GetResTarget().Location, "42601", "INSERT has more target columns than expressions")
	}
	for i, c := range p.cols {
		col := &r.Columns[cols[i]]
		e, err := a.assign(c.e, col)
		if err != nil {
			return nil, err
		}
		if e, err = a.identity(e, col, overriding, c.e.loc()); err != nil {
			return nil, err
		}
		exprs[cols[i]] = e
	}
	out.child = p.root
	return exprs, nil
}

// identity applies the rules of GENERATED columns to a value that the statement gives.
func (a *analyzer) identity(e expr, c *Column, o pg.OverridingKind, loc int32) (expr, error) {
	switch {
	case c.Generated:
		return nil, a.errorf(-1, "428C9", "cannot insert a non-DEFAULT value into column %q", c.Name).
			WithDetail("Column %q is a generated column.", c.Name)
	case c.Identity != 0 && o == pg.OverridingKind_OVERRIDING_USER_VALUE:
		return nil, nil
	case c.Identity == 'a' && o != pg.OverridingKind_OVERRIDING_SYSTEM_VALUE:
		return nil, a.errorf(-1, "428C9", "cannot insert a non-DEFAULT value into column %q", c.Name).
			WithDetail("Column %q is an identity column defined as GENERATED ALWAYS.", c.Name).
			WithHint("Use OVERRIDING SYSTEM VALUE to override.")
	}
	return e, nil
}

func (q *query) insertValues(out *insertNode, r *Relation, sel *pg.SelectStmt, cols []int, named []*pg.Node, exprs []expr, o pg.OverridingKind) error {
	a := q.a
	var rows [][]expr
	width := -1
	for _, ln := range sel.ValuesLists {
		items := ln.GetList().Items
		if width >= 0 && len(items) != width {
			return a.errorf(nodeLocation(items[0]), "42601", "VALUES lists must all be the same length")
		}
		width = len(items)
		if len(items) > len(cols) {
			return a.errorf(nodeLocation(items[len(cols)]), "42601", "INSERT has more expressions than target columns")
		}
		if len(named) > len(items) {
			return a.errorf(named[len(items)].GetResTarget().Location, "42601", "INSERT has more target columns than expressions")
		}
		row := make([]expr, len(r.Columns))
		for i, en := range items {
			c := &r.Columns[cols[i]]
			if _, def := en.Node.(*pg.Node_SetToDefault); def {
				e, err := a.defaultExpr(c)
				if err != nil {
					return err
				}
				row[cols[i]] = e
				continue
			}
			saved := q.noAgg
			q.noAgg = "VALUES"
			e, err := q.expr(en)
			q.noAgg = saved
			if err != nil {
				return err
			}
			if e, err = a.assign(e, c); err != nil {
				return err
			}
			if e, err = a.identity(e, c, o, nodeLocation(en)); err != nil {
				return err
			}
			row[cols[i]] = e
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		out.child = &resultNode{slot: a.newSlot()}
		copy(exprs, rows[0])
		return nil
	}
	v := &valuesNode{rel: a.newRel(), slot: a.newSlot()}
	for _, row := range rows {
		fns := make([]evalFn, len(r.Columns))
		for i := range row {
			e := row[i]
			if e == nil {
				var err error
				if e, err = a.defaultExpr(&r.Columns[i]); err != nil {
					return err
				}
			}
			fns[i] = e.compile(&a.shape)
		}
		v.rows = append(v.rows, fns)
	}
	for i := range r.Columns {
		exprs[i] = &varExpr{at: -1, rel: v.rel, col: i, t: r.Columns[i].Type, typmod: -1}
	}
	out.child = v
	return nil
}

func (n *insertNode) open(f *frame) error {
	*state[dmlState](f, n.slot) = dmlState{gen: f.gen}
	return n.child.open(f)
}

func (n *insertNode) next(f *frame) (bool, error) {
	st := state[dmlState](f, n.slot)
	for {
		ok, err := n.child.next(f)
		if !ok || err != nil {
			return false, err
		}
		row := storage.MakeRow(len(n.vals))
		for i, fn := range n.vals {
			if row.Vals[i], err = fn(f); err != nil {
				return false, err
			}
		}
		stored, err := n.store(f, row)
		if err != nil {
			return false, err
		}
		if stored {
			st.count++
			if n.ret {
				return true, nil
			}
		}
	}
}

// store inserts one row, or does what ON CONFLICT says, and leaves the stored row in the frame.
func (n *insertNode) store(f *frame, row *storage.Row) (bool, error) {
	w, leafVals, err := n.w.route(row.Vals)
	if err != nil {
		return false, err
	}
	if w != n.w { // a partition is locked when a row is routed to it
		if _, err := f.run.x.LockTable(w.table.ID, storage.RowExclusive, storage.Wait); err != nil {
			return false, err
		}
	}
	if w.hooks != nil {
		if leafVals, err = w.hooks.beforeInsert(f, leafVals); leafVals == nil || err != nil {
			return false, err
		}
	}
	if err := w.check(f, leafVals); err != nil {
		return false, err
	}
	row = row.With(leafVals)
	if n.conflict != nil {
		return n.storeOnConflict(f, w, row)
	}
	tid, err := f.run.x.Insert(f.run.snap, w.table.ID, row)
	if err != nil {
		return false, w.uniqueError(err)
	}
	n.leave(f, w, row, tid)
	if w.hooks != nil {
		err = w.hooks.afterInsert(f, row, tid)
	}
	return true, err
}

// leave puts a stored row where RETURNING finds it.
func (n *insertNode) leave(f *frame, w *writer, row *storage.Row, tid storage.TID) {
	f.refs[n.target] = rowRef{table: w.table, tid: tid, row: row}
	f.rows[n.target] = row.Vals
	if w.layout != nil {
		f.rows[n.target] = remap(row.Vals, layoutMap(n.w.table, w.table))
	}
}

func (n *insertNode) recheck(*frame) (bool, error) { return true, nil }
func (n *insertNode) rels() []int                  { return n.out }
func (n *insertNode) affected(f *frame) int64      { return state[dmlState](f, n.slot).count }
