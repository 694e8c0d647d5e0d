package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// valuesPlan plans a VALUES list.
func (q *query) valuesPlan(n *pg.SelectStmt) (*plan, error) {
	a := q.a
	var rows [][]expr
	for _, ln := range n.ValuesLists {
		var row []expr
		for _, en := range ln.GetList().Items {
			if _, ok := en.Node.(*pg.Node_SetToDefault); ok {
				return nil, a.errorf(nodeLocation(en), "42601", "DEFAULT is not allowed in this context")
			}
			e, err := q.expr(en)
			if err != nil {
				return nil, err
			}
			row = append(row, e)
		}
		if len(rows) > 0 && len(row) != len(rows[0]) {
			return nil, a.errorf(nodeLocation(ln.GetList().Items[0]), "42601", "VALUES lists must all be the same length")
		}
		rows = append(rows, row)
	}
	rel := a.newRel()
	var cols []outCol
	for c := range rows[0] {
		column := make([]expr, len(rows))
		for r := range rows {
			column[r] = rows[r][c]
		}
		column, t, err := a.unify(column, "VALUES")
		if err != nil {
			return nil, err
		}
		for r := range rows {
			rows[r][c] = column[r]
		}
		name := "column" + itoa(c+1)
		cols = append(cols, outCol{name: name, t: t, e: &varExpr{at: at(column[0].loc()), rel: rel, col: c, t: t, typmod: -1, name: name}})
	}
	node := &valuesNode{rel: rel, slot: a.newSlot()}
	for _, row := range rows {
		node.rows = append(node.rows, compileAll(row, &a.shape))
	}
	return q.finishSetop(n, node, cols, rel)
}

// finishSetop adds ORDER BY (of output columns only) and LIMIT to a VALUES list or set operation.
func (q *query) finishSetop(n *pg.SelectStmt, root node, cols []outCol, rel int) (*plan, error) {
	if len(n.LockingClause) > 0 {
		lc := n.LockingClause[0].GetLockingClause()
		what := "UNION/INTERSECT/EXCEPT"
		if len(n.ValuesLists) > 0 {
			what = "VALUES"
		}
		if what == "VALUES" {
			return nil, q.a.errorf(-1, "0A000", "%s cannot be applied to VALUES", lockName(lc.Strength))
		}
		return nil, q.a.errorf(-1, "0A000", "%s is not allowed with UNION/INTERSECT/EXCEPT", lockName(lc.Strength))
	}
	level := q.a.newQuery(q.parent)
	level.ctes = q.ctes
	it := q.a.outItemAt("*SELECT*", cols, rel)
	level.items = []*nsItem{it}
	s := &selection{q: level, n: n, cols: cols}
	order, err := s.orderBy(n.SortClause)
	if err != nil {
		return nil, err
	}
	if len(order) > 0 {
		root = &sortNode{child: root, keys: compileKeys(order, &q.a.shape), slot: q.a.newSlot()}
	}
	limit, err := q.limitExpr(n.LimitCount, "LIMIT")
	if err != nil {
		return nil, err
	}
	offset, err := q.limitExpr(n.LimitOffset, "OFFSET")
	if err != nil {
		return nil, err
	}
	return &plan{root: q.limitPlan(root, limit, offset), cols: cols}, nil
}

// outItemAt is outItem for a relation that exists.
func (a *analyzer) outItemAt(name string, cols []outCol, rel int) *nsItem {
	it := &nsItem{name: name, rel: rel, noQual: true}
	for i, c := range cols {
		it.cols = append(it.cols, nsCol{name: c.name, e: &varExpr{at: -1, rel: rel, col: i, t: c.t, typmod: -1, name: c.name}})
	}
	return it
}

// setopPlan plans UNION, INTERSECT and EXCEPT.
func (q *query) setopPlan(n *pg.SelectStmt) (*plan, error) {
	root, cols, rel, err := q.setopTree(n)
	if err != nil {
		return nil, err
	}
	return q.finishSetop(n, root, cols, rel)
}

func (q *query) setopSide(n *pg.SelectStmt) (*plan, error) {
	sub := q.a.newQuery(q.blind())
	p, err := sub.selectKind(n)
	if err != nil {
		return nil, err
	}
	q.correlated = q.correlated || sub.correlated
	return p, nil
}

func (q *query) setopTree(n *pg.SelectStmt) (node, []outCol, int, error) {
	a, sh := q.a, &q.a.shape
	name := map[pg.SetOperation]string{pg.SetOperation_SETOP_UNION: "UNION", pg.SetOperation_SETOP_INTERSECT: "INTERSECT",
		pg.SetOperation_SETOP_EXCEPT: "EXCEPT"}[n.Op]
	l, err := q.setopSide(n.Larg)
	if err != nil {
		return nil, nil, 0, err
	}
	r, err := q.setopSide(n.Rarg)
	if err != nil {
		return nil, nil, 0, err
	}
	if len(l.cols) != len(r.cols) {
		loc := int32(-1)
		if len(r.cols) > 0 {
			loc = r.cols[0].e.loc()
		}
		return nil, nil, 0, a.errorf(loc, "42601", "each %s query must have the same number of columns", name)
	}
	rel := a.newRel()
	cols := make([]outCol, len(l.cols))
	for i := range l.cols {
		both, t, err := a.unify([]expr{l.cols[i].e, r.cols[i].e}, name)
		if err != nil {
			return nil, nil, 0, err
		}
		l.cols[i].e, r.cols[i].e = both[0], both[1]
		l.cols[i].t, r.cols[i].t = t, t
		cols[i] = outCol{name: l.cols[i].name, t: t,
			e: &varExpr{at: at(l.cols[i].e.loc()), rel: rel, col: i, t: t, typmod: -1, name: l.cols[i].name}}
	}
	compileOuts(l, sh)
	compileOuts(r, sh)
	keys := make([]sortKey, len(cols))
	for i := range keys {
		keys[i].fn = cols[i].e.compile(sh)
	}
	if n.Op == pg.SetOperation_SETOP_UNION {
		var root node = &appendNode{parts: []*plan{l, r}, rel: rel, slot: sh.newSlot()}
		if !n.All {
			root = &sortNode{child: root, keys: keys, slot: sh.newSlot()}
			root = &uniqueNode{child: root, keys: keys, slot: sh.newSlot()}
		}
		return root, cols, rel, nil
	}
	return &setopNode{l: l, r: r, except: n.Op == pg.SetOperation_SETOP_EXCEPT, all: n.All, keys: keys, rel: rel, slot: sh.newSlot()}, cols, rel, nil
}

func compileOuts(p *plan, sh *shape) {
	p.outs = nil
	for _, c := range p.cols {
		p.outs = append(p.outs, c.e.compile(sh))
	}
}

func itoa(n int) string { return types.NewInt8(int64(n)).Text() }
