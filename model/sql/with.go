package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// withClause analyses WITH: each query sees those before it, and with RECURSIVE itself.
func (q *query) withClause(n *pg.WithClause) error {
	a := q.a
	for _, cn := range n.Ctes {
		c := cn.GetCommonTableExpr()
		for _, d := range q.ctes {
			if d.name == c.Ctename {
				return a.errorf(c.Location, "42712", "WITH query name %q specified more than once", c.Ctename)
			}
		}
		if c.SearchClause != nil || c.CycleClause != nil {
			return a.unsupported(c.Location, "SEARCH and CYCLE clauses")
		}
		def := &cteDef{name: c.Ctename, work: -1}
		node := &cteNode{name: c.Ctename, slot: a.newSlot()}
		def.cte = node
		var err error
		if sel := c.Ctequery.GetSelectStmt(); sel != nil {
			if n.Recursive && refersTo(c.Ctequery, c.Ctename) {
				err = q.recursiveCTE(def, sel, c)
			} else {
				err = q.plainCTE(def, sel, c)
			}
		} else {
			err = q.dmlCTE(def, c)
		}
		if err != nil {
			return err
		}
		q.ctes = append(q.ctes, def)
	}
	return nil
}

func (q *query) nameCTE(def *cteDef, cols []outCol, c *pg.CommonTableExpr) error {
	def.cols = append([]outCol{}, cols...)
	names := strs(c.Aliascolnames)
	if len(names) > len(cols) {
		return q.a.errorf(c.Location, "42P10", "WITH query %q has %d columns available but %d columns specified", c.Ctename, len(cols), len(names))
	}
	for i, name := range names {
		def.cols[i].name = name
	}
	return nil
}

func (q *query) plainCTE(def *cteDef, sel *pg.SelectStmt, c *pg.CommonTableExpr) error {
	sub := q.a.newQuery(q)
	locks := q.a.lockName
	q.a.lockName = ""
	p, err := sub.selectPlan(sel)
	if err != nil {
		return err
	}
	if err := sub.settlePlan(p); err != nil {
		return err
	}
	def.never = c.Ctematerialized == pg.CTEMaterialize_CTEMaterializeNever
	def.inline = c.Ctematerialized != pg.CTEMaterialize_CTEMaterializeAlways && !p.volatile && q.a.lockName == ""
	if locks != "" {
		q.a.lockName = locks
	}
	def.cte.p = p
	return q.nameCTE(def, p.cols, c)
}

// settlePlan makes text of untyped output columns.
func (q *query) settlePlan(p *plan) error {
	changed := false
	for i := range p.cols {
		if p.cols[i].t.Kind == types.Unknown {
			changed = true
		}
	}
	if !changed {
		return nil
	}
	if err := q.settleCols(p.cols); err != nil {
		return err
	}
	compileOuts(p, &q.a.shape)
	return nil
}

func (q *query) dmlCTE(def *cteDef, c *pg.CommonTableExpr) error {
	a := q.a
	if q.parent != nil {
		return a.errorf(c.Location, "0A000", "WITH clause containing a data-modifying statement must be at the top level")
	}
	mk, ok := dmlKinds[nodeName(c.Ctequery.Node)]
	if !ok {
		return a.unsupported(c.Location, nodeName(c.Ctequery.Node)+" in WITH")
	}
	sub := a.newQuery(q)
	p, err := mk(sub, c.Ctequery)
	if err != nil {
		return err
	}
	def.dml = true
	def.cte.p = p
	a.dml = append(a.dml, def.cte)
	if len(p.cols) > 0 {
		return q.nameCTE(def, p.cols, c)
	}
	return nil
}

// dmlKinds makes the plans of INSERT, UPDATE and DELETE, by the name of their parse node.
var dmlKinds = map[string]func(q *query, n *pg.Node) (*plan, error){}

func (q *query) recursiveCTE(def *cteDef, sel *pg.SelectStmt, c *pg.CommonTableExpr) error {
	a := q.a
	if sel.Op != pg.SetOperation_SETOP_UNION {
		return a.errorf(c.Location, "42P19", "recursive query %q does not have the form non-recursive-term UNION [ALL] recursive-term", c.Ctename)
	}
	if len(sel.SortClause) > 0 || sel.LimitCount != nil || sel.LimitOffset != nil || len(sel.LockingClause) > 0 {
		return a.unsupported(c.Location, "ORDER BY, LIMIT or FOR UPDATE in a recursive query")
	}
	inner := a.newQuery(q)
	if sel.WithClause != nil {
		if err := inner.withClause(sel.WithClause); err != nil {
			return err
		}
	}
	left := a.newQuery(inner)
	p, err := left.selectPlan(sel.Larg)
	if err != nil {
		return err
	}
	if err := left.settlePlan(p); err != nil {
		return err
	}
	if err := q.nameCTE(def, p.cols, c); err != nil {
		return err
	}
	def.self = true
	inner.ctes = append(inner.ctes, def)
	right := a.newQuery(inner)
	rec, err := right.selectPlan(sel.Rarg)
	def.self = false
	if err != nil {
		return err
	}
	if len(rec.cols) != len(p.cols) {
		return a.errorf(rec.cols[0].e.loc(), "42601", "each UNION query must have the same number of columns")
	}
	for i := range rec.cols {
		t := rec.cols[i].t
		e, err := a.coerce(rec.cols[i].e, p.cols[i].t, -1, implicit)
		if err != nil {
			return a.errorf(rec.cols[i].e.loc(), "42804",
				"recursive query %q column %d has type %s in non-recursive term but type %s overall", c.Ctename, i+1, p.cols[i].t, t)
		}
		rec.cols[i].e = e
	}
	compileOuts(rec, &a.shape)
	def.cte.p, def.cte.recursive, def.cte.distinct = p, rec, !sel.All
	def.cte.keys = make([]sortKey, len(p.cols))
	return nil
}

// refersTo says whether a FROM clause somewhere below n names a relation.
func refersTo(n *pg.Node, name string) bool {
	found := false
	visitRangeVars(n, func(r *pg.RangeVar) { found = found || r.Schemaname == "" && r.Relname == name })
	return found
}
