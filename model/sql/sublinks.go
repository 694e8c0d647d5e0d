package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// semiJoin is a subquery of a condition that the planner turns into a join: EXISTS, NOT EXISTS and IN.
type semiJoin struct {
	sub  *subExpr
	anti bool
}

// split parts conditions from the subqueries that become joins with avail, the relations that they may refer to
// (pull_up_sublinks_qual_recurse).
func (fs *facts) split(conds []expr, avail map[int]bool) (quals []expr, joins []semiJoin) {
	for _, e := range conds {
		j := semiJoin{}
		if not, ok := e.(*boolExpr); ok && not.op == "NOT" {
			j.sub, _ = not.args[0].(*subExpr)
			j.anti = true
		} else {
			j.sub, _ = e.(*subExpr)
		}
		if j.sub != nil && j.becomesJoin(avail) {
			joins = append(joins, j)
		} else {
			quals = append(quals, e)
		}
	}
	return quals, joins
}

func (j semiJoin) becomesJoin(avail map[int]bool) bool {
	switch j.sub.kind {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return j.sub.p.level.existsJoins(avail)
	case pg.SubLinkType_ANY_SUBLINK:
		left := map[int]bool{}
		for _, e := range j.sub.left {
			if isVolatile(e) || hasSubquery(e) {
				return false
			}
			left = union(left, relsOf(e))
		}
		return !j.anti && !j.sub.p.correlated && len(left) > 0 && within(left, avail)
	}
	return false
}

// existsJoins says whether EXISTS of the level becomes a join (convert_EXISTS_sublink_to_join): only its WHERE refers to the
// level around it, and what would make rows of groups, limits or locks is not there.
func (lv *level) existsJoins(avail map[int]bool) bool {
	if lv == nil || lv.sel == nil || lv.tree == nil || lv.absorbed {
		return false
	}
	s, q := lv.sel, lv.sel.q
	if s.n.WithClause != nil || len(q.aggs) > 0 || s.having != nil || len(q.srfs) > 0 || len(q.lockClauses) > 0 || s.offset != nil {
		return false
	}
	if s.limit != nil {
		c, ok := s.limit.(*constExpr)
		if !ok || c.v.Valid && c.v.N <= 0 {
			return false
		}
	}
	own := relSet(lv.tree)
	if !lv.tree.refersWithin(own) {
		return false
	}
	outside := false
	for _, e := range lv.where {
		if isVolatile(e) {
			return false
		}
		for r := range relsOf(e) {
			if !own[r] && !avail[r] {
				return false
			}
			outside = outside || !own[r]
		}
	}
	return outside
}

// refersWithin says whether the conditions and subqueries of a FROM clause refer to its own relations only.
func (t *jtree) refersWithin(own map[int]bool) bool {
	if t == nil {
		return true
	}
	for _, e := range t.quals {
		if !within(relsOf(e), own) {
			return false
		}
	}
	return (t.item == nil || t.item.plan == nil || !t.item.plan.correlated) && t.l.refersWithin(own) && t.r.refersWithin(own)
}

// join takes in a subquery that becomes a join. nullable are relations that outer joins on its left may null-extend.
func (fs *facts) join(j semiJoin, nullable map[int]bool) {
	sub := j.sub
	if sub.kind == pg.SubLinkType_ANY_SUBLINK {
		nullable = union(nullable, fs.leaf(&nsItem{rel: sub.rel, plan: sub.p}))
		for _, e := range sub.test {
			fs.qual(e, nullable)
		}
		return
	}
	lv := sub.p.level
	lv.absorbed = true
	own := relSet(lv.tree)
	quals, joins := fs.split(lv.where, own)
	if j.anti {
		fs.below++
		defer func() { fs.below-- }()
	}
	below := fs.tree(lv.tree, fs.nonNull(quals))
	for _, inner := range joins {
		fs.join(inner, below)
	}
	if j.anti {
		fs.onQuals(quals, own, below)
		return
	}
	below = union(nullable, below)
	for _, e := range quals {
		fs.qual(e, below)
	}
}

// nonNull is the relations that conditions refuse when they are null-extended (find_nonnullable_rels).
func (fs *facts) nonNull(quals []expr) map[int]bool {
	out := map[int]bool{}
	for _, e := range quals {
		out = union(out, fs.strictRels(e, true))
	}
	return out
}

// strictRels is the relations whose being null-extended makes an expression NULL, or at the top of a condition NULL or false.
func (fs *facts) strictRels(e expr, top bool) map[int]bool {
	out := map[int]bool{}
	switch x := e.(type) {
	case *varExpr:
		out[x.rel] = true
	case *callExpr:
		if x.fn.strict {
			for _, arg := range x.args {
				out = union(out, fs.strictRels(arg, false))
			}
		}
	case *castExpr:
		return fs.strictRels(x.e, false)
	case *anyExpr:
		return fs.strictRels(x.l, false)
	case *testExpr:
		if top && (x.name == "notnull" || x.name == "IS TRUE" || x.name == "IS FALSE" || x.name == "IS NOT UNKNOWN") {
			return fs.strictRels(x.e, false)
		}
	case *boolExpr:
		if x.op == "NOT" {
			return fs.strictRels(x.args[0], false)
		}
		for i, arg := range x.args {
			set := fs.strictRels(arg, top)
			switch {
			case i == 0 || top && x.op == "AND":
				out = union(out, set)
			default:
				for r := range out {
					if !set[r] {
						delete(out, r)
					}
				}
			}
		}
	}
	return out
}

// subplan is the query that an item of FROM stands for when the planner knows it as a subquery, nil otherwise.
func (it *nsItem) subplan() *plan {
	if it.cte != nil && it.cte.inlined() {
		return it.cte.cte.p
	}
	return it.plan
}

// inlined says whether a WITH query is planned as a subquery in FROM (SS_process_ctes).
func (c *cteDef) inlined() bool { return c.inline && (c.refs == 1 || c.never) }

// simple says whether the planner pulls the level's query up out of FROM (is_simple_subquery).
func (lv *level) simple() bool {
	s := lv.sel
	if s == nil {
		return false
	}
	q := s.q
	if s.n.WithClause != nil || s.grouped || len(q.aggs) > 0 || s.having != nil || len(s.order) > 0 || len(s.dist) > 0 || s.limit != nil ||
		s.offset != nil || len(q.srfs) > 0 || len(q.lockClauses) > 0 {
		return false
	}
	for _, c := range s.cols {
		if isVolatile(c.e) {
			return false
		}
	}
	return true
}

// takesInto says whether a condition on an output column may be moved into the level's query (qual_is_pushdown_safe).
func (lv *level) takesInto(col expr) bool {
	s := lv.sel
	if s == nil || s.limit != nil || s.offset != nil || len(s.q.srfs) > 0 || isVolatile(col) || hasSubquery(col) {
		return false
	}
	if s.grouped && !containsExpr(s.group, col) {
		return false
	}
	return len(s.dist) == 0 || containsExpr(s.dist, col)
}

// intoClosed moves what is known of a subquery in FROM that stays into it, and gives its scans.
func (fs *facts) intoClosed(it *nsItem) []*partScan {
	p := it.subplan()
	return fs.a.rootScans(p.level, func(in *facts) {
		for i, c := range p.cols {
			if !p.level.takesInto(c.e) {
				continue
			}
			col := &varExpr{rel: it.rel, col: i}
			in.alias[signature(col)] = c.e
			if known := fs.constOf(col); known != nil {
				in.equal(in.resolve(c.e), known)
			}
		}
		for _, e := range fs.quals {
			if in.known(e, it.rel) {
				in.quals = append(in.quals, e)
			}
		}
	})
}

// known says whether a condition looks at columns of rel only, all of them resolved.
func (fs *facts) known(e expr, rel int) bool {
	ok := !hasSubquery(e)
	walk(e, func(x expr) bool {
		if v, isVar := x.(*varExpr); isVar {
			_, aliased := fs.alias[signature(v)]
			ok = ok && v.rel == rel && aliased
		}
		return ok
	})
	return ok
}
