package sql

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

// jtree is the FROM clause under analysis: leaves and joins with the conditions that were placed at them.
type jtree struct {
	item  *nsItem // of a leaf
	l, r  *jtree
	kind  pg.JoinType
	quals []expr
	rels  []int
}

// scanNode makes a leaf's node once its conditions are known.
type scanNode func(quals []expr) (node, error)

// fromClause analyses a FROM list: items are joined in the written order.
func (q *query) fromClause(list []*pg.Node) (*jtree, error) {
	var tree *jtree
	for _, n := range list {
		t, items, err := q.fromItem(n)
		if err != nil {
			return nil, err
		}
		if err := q.addItems(items); err != nil {
			return nil, err
		}
		if tree == nil {
			tree = t
		} else {
			tree = joinTrees(tree, t, pg.JoinType_JOIN_INNER)
		}
	}
	return tree, nil
}

func joinTrees(l, r *jtree, kind pg.JoinType) *jtree {
	return &jtree{l: l, r: r, kind: kind, rels: append(append([]int{}, l.rels...), r.rels...)}
}

// addItems makes FROM items visible.
func (q *query) addItems(items []*nsItem) error {
	for _, it := range items {
		for _, old := range q.items {
			if it.name != "" && old.name == it.name && !it.noQual && !old.noQual && (it.schema == old.schema || it.schema == "" || old.schema == "") {
				return q.a.errorf(-1, "42712", "table name %q specified more than once", it.name)
			}
		}
		q.items = append(q.items, it)
	}
	return nil
}

func (q *query) fromItem(n *pg.Node) (*jtree, []*nsItem, error) {
	var it *nsItem
	var err error
	switch x := n.Node.(type) {
	case *pg.Node_RangeVar:
		it, err = q.rangeVar(x.RangeVar, q.lockMode(x.RangeVar))
	case *pg.Node_RangeSubselect:
		it, err = q.rangeSubselect(x.RangeSubselect)
	case *pg.Node_RangeFunction:
		it, err = q.rangeFunction(x.RangeFunction)
	case *pg.Node_JoinExpr:
		return q.joinExpr(x.JoinExpr)
	default:
		err = q.a.unsupported(nodeLocation(n), nodeName(n.Node))
	}
	if err != nil {
		return nil, nil, err
	}
	return &jtree{item: it, rels: []int{it.rel}}, []*nsItem{it}, nil
}

// rangeVar is a table, view or WITH query in FROM.
func (q *query) rangeVar(n *pg.RangeVar, mode storage.TableLock) (*nsItem, error) {
	if n.Schemaname == "" {
		if c := q.findCTE(n.Relname); c != nil {
			return q.cteItem(c, n)
		}
	}
	if q.a.cat.lookup(n.Schemaname, n.Relname) == nil {
		if it := q.sysViewItem(n); it != nil {
			return it, nil
		}
	}
	r, err := q.a.cat.relation(n.Schemaname, n.Relname)
	if err != nil {
		return nil, q.a.at(err, n.Location)
	}
	return q.relationItem(r, n, mode)
}

func (q *query) relationItem(r *Relation, n *pg.RangeVar, mode storage.TableLock) (*nsItem, error) {
	a := q.a
	switch r.Kind {
	case KindTable, KindPartitioned:
	case KindView:
		return q.viewItem(r, n)
	case KindSequence:
		return nil, a.unsupported(n.Location, "selecting from a sequence")
	default:
		return nil, a.errorf(n.Location, "42809", "cannot open relation %q", r.Name).WithDetail("This operation is not supported for indexes.")
	}
	a.lock(r, mode)
	it := a.tableItem(r, n.Alias)
	it.mode = mode
	a.privs = append(a.privs, privCheck{rel: r, priv: 'r', reads: it.rel + 1, pos: parser.CharPosition(a.sql, n.Location)})
	if n.Alias == nil {
		it.schema = r.Schema
	}
	return it, nil
}

// tableItem makes the FROM item of a stored table.
func (a *analyzer) tableItem(r *Relation, alias *pg.Alias) *nsItem {
	it := &nsItem{name: r.Name, rel: a.newRel(), table: r}
	for i := range r.Columns {
		c := &r.Columns[i]
		if c.Dropped {
			continue
		}
		it.cols = append(it.cols, nsCol{name: c.Name,
			e: &varExpr{at: -1, rel: it.rel, col: i, t: c.Type, typmod: c.Typmod, name: c.Name}})
	}
	a.rename(it, alias)
	it.node = func(quals []expr) (node, error) { return a.scan(it, quals) }
	return it
}

// rename applies an alias with its column names.
func (a *analyzer) rename(it *nsItem, alias *pg.Alias) {
	if alias == nil {
		return
	}
	it.name, it.schema = alias.Aliasname, ""
	for i, name := range strs(alias.Colnames) {
		if i < len(it.cols) {
			it.cols[i].name = name
		}
	}
}

// outItem makes the FROM item of a query's result columns.
func (a *analyzer) outItem(name string, cols []outCol, alias *pg.Alias) *nsItem {
	it := &nsItem{name: name, rel: a.newRel()}
	for i, c := range cols {
		it.cols = append(it.cols, nsCol{name: c.name, e: &varExpr{at: -1, rel: it.rel, col: i, t: c.t, typmod: -1, name: c.name}})
	}
	a.rename(it, alias)
	return it
}

func (q *query) cteItem(c *cteDef, n *pg.RangeVar) (*nsItem, error) {
	a := q.a
	if c.cols == nil {
		if c.dml {
			return nil, a.errorf(n.Location, "0A000", "WITH query %q does not have a RETURNING clause", c.name)
		}
		return nil, a.errorf(n.Location, "42P19", "recursive reference to query %q must not appear within its non-recursive term", c.name)
	}
	c.refs++
	it := a.outItem(c.name, c.cols, n.Alias)
	it.cte = c
	slot := a.newSlot()
	work := c.self
	it.node = func(quals []expr) (node, error) {
		return &cteScan{cte: c.cte, rel: it.rel, slot: slot, quals: compileQuals(quals, &a.shape), work: work}, nil
	}
	return it, nil
}

func (q *query) viewItem(r *Relation, n *pg.RangeVar) (*nsItem, error) {
	a := q.a
	if a.viewDepth > 50 {
		return nil, a.errorf(n.Location, "42P17", "infinite recursion detected in rules for relation %q", r.Name)
	}
	a.lock(r, storage.AccessShare)
	a.privs = append(a.privs, privCheck{rel: r, priv: 'r'})
	a.viewDepth++
	text, nprivs := a.sql, len(a.privs)
	a.sql = r.View.Text
	sub := a.newQuery(nil)
	p, err := sub.selectPlan(r.View.Query.GetSelectStmt())
	a.sql = text
	a.viewDepth--
	a.privs = a.privs[:nprivs] // what the view reads is checked against its owner, who could define it
	if err != nil {
		return nil, err
	}
	cols := append([]outCol{}, p.cols...)
	for i := range cols {
		if i < len(r.Columns) {
			cols[i].name = r.Columns[i].Name
		}
	}
	it := a.outItem(r.Name, cols, n.Alias)
	if n.Alias == nil {
		it.schema = r.Schema
	}
	q.subqueryScan(it, p)
	return it, nil
}

func (q *query) subqueryScan(it *nsItem, p *plan) {
	a := q.a
	it.plan = p
	material := a.newSlot()
	it.node = func(quals []expr) (node, error) {
		out := append(append([]int{}, p.root.rels()...), it.rel)
		n := &subqueryNode{p: p, rel: it.rel, quals: compileQuals(quals, &a.shape), out: out}
		if p.correlated || len(quals) > 0 && dependsOnOthers(quals, it.rel) {
			return n, nil
		}
		return &materialNode{child: n, slot: material}, nil
	}
}

func dependsOnOthers(quals []expr, rel int) bool {
	for _, e := range quals {
		for r := range relsOf(e) {
			if r != rel {
				return true
			}
		}
	}
	return false
}

func (q *query) rangeSubselect(n *pg.RangeSubselect) (*nsItem, error) {
	a := q.a
	sel := n.Subquery.GetSelectStmt()
	if sel == nil {
		return nil, a.unsupported(-1, nodeName(n.Subquery.Node)+" in FROM")
	}
	sub := a.newQuery(q)
	if !n.Lateral { // names to the left are out of sight
		sub = a.newQuery(q.blind())
	}
	p, err := sub.selectPlan(sel)
	if err != nil {
		return nil, err
	}
	name := ""
	if n.Alias != nil {
		name = n.Alias.Aliasname
	}
	it := a.outItem(name, p.cols, n.Alias)
	if n.Alias == nil {
		it.noQual = true
	}
	q.subqueryScan(it, p)
	it.lateral = n.Lateral
	it.sub = sub
	return it, nil
}

// blind is a level that sees what q sees except q's own FROM items.
func (q *query) blind() *query {
	return &query{a: q.a, parent: q.parent, ctes: q.ctes, noAgg: q.noAgg}
}

func (q *query) joinExpr(n *pg.JoinExpr) (*jtree, []*nsItem, error) {
	a := q.a
	lt, litems, err := q.fromItem(n.Larg)
	if err != nil {
		return nil, nil, err
	}
	// The right side may refer to the left one when it is LATERAL: make the left visible meanwhile.
	mark := len(q.items)
	if err := q.addItems(litems); err != nil {
		return nil, nil, err
	}
	rt, ritems, err := q.fromItem(n.Rarg)
	q.items = q.items[:mark]
	if err != nil {
		return nil, nil, err
	}
	kind := n.Jointype
	tree := joinTrees(lt, rt, kind)
	items := append(append([]*nsItem{}, litems...), ritems...)

	using := strs(n.UsingClause)
	if n.IsNatural {
		using = commonNames(litems, ritems)
	}
	switch {
	case len(using) > 0 || n.IsNatural:
		merged, quals, err := q.usingColumns(using, litems, ritems, kind)
		if err != nil {
			return nil, nil, err
		}
		tree.quals = quals
		items = append(items, merged)
	case n.Quals != nil:
		level := &query{a: a, parent: q.parent, ctes: q.ctes}
		level.items = append(append([]*nsItem{}, q.items...), items...)
		on, err := level.where(n.Quals, "JOIN/ON")
		if err != nil {
			return nil, nil, err
		}
		q.correlated = q.correlated || level.correlated
		tree.quals = conjuncts(on)
	}
	if n.Alias != nil {
		var cols []nsCol
		for _, it := range items {
			if !it.qualOnly {
				for _, c := range it.cols {
					if !c.hidden {
						cols = append(cols, c)
					}
				}
			}
		}
		joined := &nsItem{rel: -1, cols: cols}
		a.rename(joined, n.Alias)
		items = []*nsItem{joined}
	}
	return tree, items, nil
}

func commonNames(l, r []*nsItem) []string {
	var out []string
	for _, li := range l {
		for _, c := range li.cols {
			if c.hidden || li.qualOnly {
				continue
			}
			for _, ri := range r {
				for _, d := range ri.cols {
					if d.name == c.name && !d.hidden && !ri.qualOnly {
						out = append(out, c.name)
					}
				}
			}
		}
	}
	return out
}

// usingColumns makes the equality conditions and merged columns of USING; the originals stay reachable by qualified name.
func (q *query) usingColumns(names []string, l, r []*nsItem, kind pg.JoinType) (*nsItem, []expr, error) {
	a := q.a
	merged := &nsItem{rel: -1, noQual: true}
	var quals []expr
	find := func(items []*nsItem, name, side string) (expr, error) {
		var found expr
		for _, it := range items {
			if it.qualOnly {
				continue
			}
			for _, c := range it.cols {
				if c.name == name && !c.hidden {
					if found != nil {
						return nil, a.errorf(-1, "42702", "common column name %q appears more than once in %s table", name, side)
					}
					found = c.e
				}
			}
		}
		if found == nil {
			return nil, a.errorf(-1, "42703", "column %q specified in USING clause does not exist in %s table", name, side)
		}
		return a.read(found, -1), nil
	}
	for _, name := range names {
		le, err := find(l, name, "left")
		if err != nil {
			return nil, nil, err
		}
		re, err := find(r, name, "right")
		if err != nil {
			return nil, nil, err
		}
		eq, err := a.operator("=", le, re, -1)
		if err != nil {
			return nil, nil, err
		}
		quals = append(quals, eq)
		e := le
		switch kind {
		case pg.JoinType_JOIN_RIGHT:
			e = re
		case pg.JoinType_JOIN_FULL:
			both, t, err := a.unify([]expr{le, re}, "JOIN/USING")
			if err != nil {
				return nil, nil, err
			}
			e = &coalesceExpr{at: -1, args: both, t: t}
		}
		merged.cols = append(merged.cols, nsCol{name: name, e: e})
	}
	for _, it := range append(append([]*nsItem{}, l...), r...) {
		for i, c := range it.cols {
			for _, name := range names {
				if c.name == name {
					it.cols[i].hidden = true
				}
			}
		}
	}
	return merged, quals, nil
}

// conjuncts splits a condition at its ANDs.
func conjuncts(e expr) []expr {
	if e == nil {
		return nil
	}
	if b, ok := e.(*boolExpr); ok && b.op == "AND" {
		var out []expr
		for _, arg := range b.args {
			out = append(out, conjuncts(arg)...)
		}
		return out
	}
	if c, ok := e.(*constExpr); ok && c.v.Valid && c.v.T == boolType && c.v.N == 1 {
		return nil
	}
	return []expr{e}
}

// relsOf is the set of relations that an expression looks at.
func relsOf(e expr) map[int]bool {
	set := map[int]bool{}
	walk(e, func(x expr) bool {
		switch v := x.(type) {
		case *varExpr:
			set[v.rel] = true
		case *sysVar:
			set[v.rel] = true
		case *rowVar:
			set[v.rel] = true
			for _, c := range v.cols {
				for r := range relsOf(c.e) {
					set[r] = true
				}
			}
		case *aggExpr:
			set[v.rel] = true
			return false
		case *srfExpr:
			set[v.rel] = true
		}
		return true
	})
	return set
}

// isVolatile says whether an expression calls a volatile function.
func isVolatile(e expr) bool {
	found := false
	walk(e, func(x expr) bool {
		switch v := x.(type) {
		case *callExpr:
			found = found || v.fn.volatile == 'v'
		case *subExpr:
			found = found || v.p.volatile
		}
		return !found
	})
	return found
}

// place puts a condition as deep into the tree as its relations and the outer joins allow.
func (t *jtree) place(e expr, own map[int]bool) {
	set := relsOf(e)
	vol := isVolatile(e)
	for {
		if t.item != nil || vol || t.r == nil {
			break
		}
		inL, inR := false, false
		for r := range set {
			if !own[r] {
				continue
			}
			for _, x := range t.l.rels {
				inL = inL || x == r
			}
			for _, x := range t.r.rels {
				inR = inR || x == r
			}
		}
		switch {
		case inL && !inR && (t.kind == pg.JoinType_JOIN_INNER || t.kind == pg.JoinType_JOIN_LEFT):
			t = t.l
		case inR && !inL && (t.kind == pg.JoinType_JOIN_INNER || t.kind == pg.JoinType_JOIN_RIGHT):
			t = t.r
		default:
			t.where(e)
			return
		}
	}
	t.where(e)
}

// where adds a WHERE condition at this level: for an outer join it must filter the join's result.
func (t *jtree) where(e expr) {
	if t.item != nil || t.r == nil || t.kind == pg.JoinType_JOIN_INNER {
		t.quals = append(t.quals, e)
		return
	}
	// Wrap: an inner join of the outer join with nothing.
	inner := *t
	*t = jtree{l: &inner, kind: pg.JoinType_JOIN_INNER, rels: inner.rels, quals: []expr{e}}
}

// plan makes the nodes of a tree.
func (t *jtree) plan(q *query, extra []expr) (node, error) {
	sh := &q.a.shape
	if t.item != nil {
		return t.item.node(cheapFirst(append(append([]expr{}, t.quals...), extra...)))
	}
	if t.r == nil { // a filter over an outer join
		child, err := t.l.plan(q, nil)
		if err != nil {
			return nil, err
		}
		return &filterNode{child: child, cond: compileQuals(cheapFirst(append(t.quals, extra...)), sh)}, nil
	}
	quals := cheapFirst(append(append([]expr{}, t.quals...), extra...))
	switch t.kind {
	case pg.JoinType_JOIN_RIGHT: // a nested loop can only be a left join: the right side leads
		flipped := &jtree{l: t.r, r: t.l, kind: pg.JoinType_JOIN_LEFT, quals: t.quals, rels: t.rels}
		return flipped.plan(q, extra)
	case pg.JoinType_JOIN_FULL:
		l, err := t.l.plan(q, nil)
		if err != nil {
			return nil, err
		}
		r, err := t.r.plan(q, nil)
		if err != nil {
			return nil, err
		}
		return &fullJoinNode{l: l, r: r, cond: compileQuals(quals, sh), slot: sh.newSlot(), lrels: l.rels(), rrels: r.rels()}, nil
	}
	if flipped := t.ledByKey(q.a, quals); flipped != nil {
		return flipped.plan(q, nil)
	}
	// ON conditions of an inner join that one side decides go there.
	left := t.kind == pg.JoinType_JOIN_LEFT
	l := t.l
	var rest, right []expr
	lset := map[int]bool{}
	for _, r := range t.rels {
		lset[r] = true
	}
	for _, e := range quals {
		set := relsOf(e)
		usesR, usesL := false, false
		for _, r := range t.r.rels {
			usesR = usesR || set[r]
		}
		for _, r := range t.l.rels {
			usesL = usesL || set[r]
		}
		switch {
		case isVolatile(e):
			rest = append(rest, e)
		case !left && usesL && !usesR:
			l.place(e, lset)
		case usesR && (t.r.item != nil || !usesL && !left):
			right = append(right, e)
		default:
			rest = append(rest, e)
		}
	}
	ln, err := l.plan(q, nil)
	if err != nil {
		return nil, err
	}
	if t.r.item == nil {
		for _, e := range right {
			t.r.place(e, lset)
		}
		right = nil
	}
	rn, err := t.r.plan(q, right)
	if err != nil {
		return nil, err
	}
	join := newJoin(ln, rn, left, compileQuals(rest, sh), sh)
	if it := t.r.item; it != nil && it.table != nil && it.part == nil {
		q.a.keyJoins = append(q.a.keyJoins, &keyJoin{node: join, left: t.l, inner: it, quals: slices.Concat(quals, t.r.quals)})
	}
	return join, nil
}

// cheapFirst moves conditions with subqueries behind the others, as the planner orders them by cost.
func cheapFirst(es []expr) []expr {
	var cheap, dear []expr
	for _, e := range es {
		sub := false
		walk(e, func(x expr) bool {
			if _, ok := x.(*subExpr); ok {
				sub = true
			}
			return !sub
		})
		if sub {
			dear = append(dear, e)
		} else {
			cheap = append(cheap, e)
		}
	}
	return append(cheap, dear...)
}

// rangeFunction is a function in FROM.
func (q *query) rangeFunction(n *pg.RangeFunction) (*nsItem, error) {
	a := q.a
	if n.IsRowsfrom || len(n.Functions) != 1 {
		return nil, a.unsupported(-1, "ROWS FROM")
	}
	items := n.Functions[0].GetList().Items
	fc := items[0].GetFuncCall()
	if fc == nil {
		return nil, a.unsupported(nodeLocation(items[0]), nodeName(items[0].Node)+" in FROM")
	}
	if len(n.Coldeflist) > 0 {
		return nil, a.unsupported(fc.Location, "a column definition list")
	}
	src, err := q.tableFunction(fc)
	if err != nil {
		return nil, err
	}
	cols := append([]outCol{}, src.cols...)
	name := src.name
	if n.Alias != nil {
		name = n.Alias.Aliasname
		if len(cols) == 1 && src.scalar { // the alias names the column too
			cols[0].name = name
		}
	}
	if n.Ordinality {
		inner := src.rows
		cols = append(cols, outCol{name: "ordinality", t: types.Type{Kind: types.Int8}})
		src.rows = func(f *frame) ([][]types.Value, error) {
			rows, err := inner(f)
			for i := range rows {
				rows[i] = append(append([]types.Value{}, rows[i]...), types.NewInt8(int64(i+1)))
			}
			return rows, err
		}
	}
	it := a.outItem(name, cols, n.Alias)
	slot := a.newSlot()
	it.node = func(quals []expr) (node, error) {
		return &functionNode{rows: src.rows, rel: it.rel, slot: slot, quals: compileQuals(quals, &a.shape)}, nil
	}
	return it, nil
}
