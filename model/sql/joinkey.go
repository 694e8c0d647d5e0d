package sql

import (
	"math"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// A planner that knows of a join that each row of the left side meets at most one row of the right one, since the conditions give
// all columns of a unique index, looks for no second one (innerrel_is_unique in analyzejoins.c). It shows where a transaction sees
// two rows of one key: its own new one, and an old one whose end it does not see.

// keyJoin is a join whose right side is a stored table.
type keyJoin struct {
	node  *joinNode
	left  *jtree
	inner *nsItem
	quals []expr // of the join and of the right side
}

// settleJoins decides about the joins of the relations that have been taken in.
func (fs *facts) settleJoins() {
	for _, j := range fs.a.keyJoins {
		if fs.leaves[j.inner.rel] {
			j.node.once = fs.meetsOne(j) && (j.node.left || fs.leads(j))
		}
	}
}

// meetsOne says whether a row of the left side meets at most one row of the right. Without a condition that is checked in the
// join a planner does not ask: in a.k = b.k AND b.k = 1 there is none left, as both are compared with 1.
func (fs *facts) meetsOne(j *keyJoin) bool {
	outer := map[int]bool{}
	for _, r := range j.left.rels {
		fs.expand(r, outer)
	}
	joined := false
	for _, e := range j.quals {
		l, _, equality := fs.equality(e)
		rels := relsOf(e)
		joined = joined || rels[j.inner.rel] && len(rels) > 1 && !(equality && fs.constOf(l) != nil)
	}
	if !joined {
		return false
	}
index:
	for _, ix := range j.inner.table.Indexes {
		if !ix.Unique || ix.Deferrable || ix.Pred != nil {
			continue
		}
		for _, col := range ix.Cols {
			if col < 0 || !fs.given(&varExpr{rel: j.inner.rel, col: col}, outer) {
				continue index
			}
		}
		return true
	}
	return false
}

// leads says whether the planner has the left side of an inner join outside. It takes the cheaper nested loop, and the left side when
// they cost the same. A table that conditions make smaller is outside; of more tables than two it is not known.
func (fs *facts) leads(j *keyJoin) bool {
	for _, e := range j.quals {
		if rels := relsOf(e); len(rels) == 1 && rels[j.inner.rel] {
			return false
		}
	}
	t := j.left
	for t.item != nil && t.item.table == nil && fs.inside[t.item.rel] != nil {
		lv := t.item.subplan().level
		if len(lv.where) > 0 {
			return true
		}
		t = lv.tree
	}
	if t.item == nil || t.item.table == nil || t.item.part != nil {
		return false
	}
	if len(t.quals) > 0 {
		return true
	}
	back := &keyJoin{left: &jtree{item: j.inner, rels: []int{j.inner.rel}}, inner: t.item, quals: j.quals}
	l, r, unique := t.item.table, j.inner.table, fs.meetsOne(back)
	return loopCost(l, r, unique, true) <= loopCost(r, l, true, unique)
}

// loopCost is what the planner takes a nested loop over two tables to cost that were never analysed, of which the columns compared are
// unique or not (final_cost_nestloop). It expects that few rows of outer find one in an inner table of which they are unique, and see
// little of it then.
func loopCost(outer, inner *Relation, outerUnique, innerUnique bool) float64 {
	const pages, perTuple, perPair, someDistinct = 10, 0.01, 0.0125, 200
	n, m := pages*float64(outer.rowsPerPage()), pages*float64(inner.rowsPerPage())
	scan, pair := pages+perTuple*m, perPair*m
	met, seen := 0.0, 0.0
	if innerUnique {
		distinct := min(n, someDistinct)
		if outerUnique {
			distinct = n
		}
		met, seen = math.RoundToEven(n/max(distinct, m)), 2/(m+1)
	}
	return pages + perTuple*n + (n-met+met*seen)*(scan+pair)
}

// rowsPerPage is how many rows a planner expects on a page of a table that was never analysed (table_block_relation_estimate_size).
func (r *Relation) rowsPerPage() int {
	const page, pageHeader, rowHeader, ofUnknown = 8192, 24, 24 + 4, 32
	width := rowHeader
	for _, c := range r.Columns {
		switch n := int(c.Type.Length()); {
		case c.Dropped:
		case n > 0:
			width += n
		default:
			width += ofUnknown
		}
	}
	return (page - pageHeader) / width
}

// ledByKey gives an inner join of two tables the other way round when a planner begins at the right one: in a.k = b.k AND a.k = 1 it
// compares both with 1, and where k is a key of b alone, it expects one row of b and more of a.
func (t *jtree) ledByKey(a *analyzer, quals []expr) *jtree {
	if t.kind != pg.JoinType_JOIN_INNER || t.l.item == nil || t.r.item == nil || len(quals) != 1 || len(t.l.quals)+len(t.r.quals) != 1 {
		return nil
	}
	l, r := t.l.item, t.r.item
	if l.table == nil || r.table == nil || r.part != nil {
		return nil
	}
	lv, rv := equalSides(quals[0], l.rel, r.rel)
	if lv == nil || rv == nil || !r.table.hasKey(rv.col) || l.table.hasKey(lv.col) {
		return nil
	}
	leads, follows := *t.r, *t.l
	if c := a.givenAs(lv, t.l.quals); c != nil {
		eq, err := a.operator("=", rv, c, -1)
		if err != nil {
			return nil
		}
		leads.quals = []expr{eq}
	} else if c := a.givenAs(rv, t.r.quals); c != nil {
		eq, err := a.operator("=", lv, c, -1)
		if err != nil {
			return nil
		}
		follows.quals = []expr{eq}
	} else {
		return nil
	}
	return &jtree{l: &leads, r: &follows, kind: t.kind, quals: quals, rels: slices.Concat(leads.rels, follows.rels)}
}

// equalSides gives the columns of the relations l and r that a condition makes equal, when that is all it does.
func equalSides(e expr, l, r int) (lv, rv *varExpr) {
	for _, arg := range equated(e) {
		switch v, ok := arg.(*varExpr); {
		case ok && v.rel == l:
			lv = v
		case ok && v.rel == r:
			rv = v
		}
	}
	return lv, rv
}

// givenAs gives the constant that the only one of the conditions makes a column equal to, or nil.
func (a *analyzer) givenAs(v *varExpr, quals []expr) expr {
	if len(quals) != 1 {
		return nil
	}
	fs, sides := &facts{a: a}, equated(quals[0])
	for i, arg := range sides {
		if signature(arg) == signature(v) && fs.planConst(sides[1-i]) {
			return sides[1-i]
		}
	}
	return nil
}

// hasKey says whether a column is unique by itself, and known as such to the planner.
func (r *Relation) hasKey(col int) bool {
	return slices.ContainsFunc(r.Indexes, func(ix Index) bool {
		return ix.Unique && !ix.Deferrable && ix.Pred == nil && len(ix.Cols) == 1 && ix.Cols[0] == col
	})
}

// given says whether a column is equal to a constant or to something of the relations outer.
func (fs *facts) given(v *varExpr, outer map[int]bool) bool {
	if c := fs.classOf(v); c != nil {
		for _, m := range c.members {
			if rels := relsOf(m); fs.planConst(m) || len(rels) > 0 && within(rels, outer) {
				return true
			}
		}
	}
	for _, o := range fs.outers {
		if o.outer != nil && signature(o.inner) == signature(v) && within(relsOf(o.outer), outer) {
			return true
		}
	}
	return false
}

// expand adds a relation to a set, with what is in it when it is a subquery that was pulled up.
func (fs *facts) expand(rel int, set map[int]bool) {
	set[rel] = true
	for r := range fs.inside[rel] {
		fs.expand(r, set)
	}
}
