package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// selectPlan analyses and plans a SELECT, VALUES or set operation.
func (q *query) selectPlan(n *pg.SelectStmt) (*plan, error) {
	outer := q.a.volatile
	q.a.volatile = false
	p, err := q.selectKind(n)
	if err != nil {
		return nil, err
	}
	p.volatile = q.a.volatile
	q.a.volatile = outer || p.volatile
	p.correlated = q.correlated
	if q.correlated && q.parent != nil {
		// The levels in between were marked when the name was resolved.
		p.correlated = true
	}
	if p.outs == nil {
		for _, c := range p.cols {
			if !c.junk {
				p.outs = append(p.outs, c.e.compile(&q.a.shape))
			}
		}
	}
	return p, nil
}

func (q *query) selectKind(n *pg.SelectStmt) (*plan, error) {
	if n.WithClause != nil {
		if err := q.withClause(n.WithClause); err != nil {
			return nil, err
		}
	}
	switch {
	case n.IntoClause != nil:
		return nil, q.a.unsupported(-1, "SELECT INTO")
	case len(n.ValuesLists) > 0:
		return q.valuesPlan(n)
	case n.Op != pg.SetOperation_SETOP_NONE:
		return q.setopPlan(n)
	}
	return q.plainSelect(n)
}

// selection is a SELECT under analysis.
type selection struct {
	q       *query
	n       *pg.SelectStmt
	cols    []outCol
	from    *jtree
	where   expr
	having  expr
	order   []orderItem
	group   []expr
	grouped bool
	dist    []expr
	limit   expr
	offset  expr
}

func (q *query) plainSelect(n *pg.SelectStmt) (*plan, error) {
	s := &selection{q: q, n: n}
	for _, ln := range n.LockingClause {
		q.lockClauses = append(q.lockClauses, ln.GetLockingClause())
	}
	if len(n.WindowClause) > 0 {
		return nil, q.a.unsupported(-1, "a window clause")
	}
	if err := s.analyse(); err != nil {
		return nil, err
	}
	return s.plan()
}

// analyse goes through the clauses in the order in which transformSelectStmt does, which is the order of relation locks
// and of errors.
func (s *selection) analyse() (err error) {
	q, n := s.q, s.n
	if s.from, err = q.fromClause(n.FromClause); err != nil {
		return err
	}
	if s.cols, err = q.targetList(n.TargetList); err != nil {
		return err
	}
	if s.where, err = q.where(n.WhereClause, "WHERE"); err != nil {
		return err
	}
	if n.HavingClause != nil {
		e, err := q.expr(n.HavingClause)
		if err != nil {
			return err
		}
		if s.having, err = q.a.boolean(e, "HAVING"); err != nil {
			return err
		}
	}
	if s.order, err = s.orderBy(n.SortClause); err != nil {
		return err
	}
	if err = s.groupBy(); err != nil {
		return err
	}
	if err = s.distinctClause(); err != nil {
		return err
	}
	if s.limit, err = q.limitExpr(n.LimitCount, "LIMIT"); err != nil {
		return err
	}
	if s.offset, err = q.limitExpr(n.LimitOffset, "OFFSET"); err != nil {
		return err
	}
	if n.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES {
		return q.a.unsupported(-1, "WITH TIES")
	}
	return s.locking()
}

func (q *query) limitExpr(n *pg.Node, clause string) (expr, error) {
	if n == nil {
		return nil, nil
	}
	if c := n.GetAConst(); c != nil && c.Isnull {
		return nil, nil
	}
	level := q.blind()
	e, err := level.expr(n)
	if err != nil {
		return nil, err
	}
	q.correlated = q.correlated || level.correlated
	t := e.typ()
	out, err := q.a.coerce(e, types.Type{Kind: types.Int8}, -1, assignment)
	if err != nil {
		return nil, q.a.errorf(e.loc(), "42804", "argument of %s must be type bigint, not type %s", clause, t)
	}
	return out, nil
}

// targetList analyses output columns, expanding stars.
func (q *query) targetList(list []*pg.Node) ([]outCol, error) {
	var cols []outCol
	for _, tn := range list {
		rt := tn.GetResTarget()
		if ref := rt.Val.GetColumnRef(); ref != nil && isStar(ref) {
			more, err := q.star(ref)
			if err != nil {
				return nil, err
			}
			cols = append(cols, more...)
			continue
		}
		if ind := rt.Val.GetAIndirection(); ind != nil && len(ind.Indirection) > 0 && ind.Indirection[len(ind.Indirection)-1].GetAStar() != nil {
			return nil, q.a.unsupported(rt.Location, "expansion of a composite value")
		}
		e, err := q.expr(rt.Val)
		if err != nil {
			return nil, err
		}
		if _, ok := e.(*paramExpr); !ok || e.typ().Kind != types.Unknown {
			if _, lit := e.(*constExpr); !lit {
				if e, err = q.a.settle(e); err != nil {
					return nil, err
				}
			}
		}
		name := rt.Name
		if name == "" {
			name = columnName(rt.Val)
		}
		cols = append(cols, outCol{name: name, e: e, t: e.typ()})
	}
	return cols, nil
}

// settleCols gives columns that are still untyped the type text, as is done for every query whose columns nobody coerces.
func (q *query) settleCols(cols []outCol) error {
	for i := range cols {
		e, err := q.a.settle(cols[i].e)
		if err != nil {
			return err
		}
		cols[i].e, cols[i].t = e, e.typ()
	}
	return nil
}

func isStar(ref *pg.ColumnRef) bool {
	return ref.Fields[len(ref.Fields)-1].GetAStar() != nil
}

func (q *query) star(ref *pg.ColumnRef) ([]outCol, error) {
	path := strs(ref.Fields)
	var items []*nsItem
	if len(path) == 0 {
		for _, it := range q.items {
			if !it.qualOnly {
				items = append(items, it)
			}
		}
		if len(items) == 0 {
			return nil, q.a.errorf(ref.Location, "42601", "SELECT * with no tables specified is not valid")
		}
	} else {
		schema := ""
		if len(path) > 1 {
			schema = path[len(path)-2]
		}
		it, owner, err := q.item(schema, path[len(path)-1], ref.Location)
		if err != nil {
			return nil, err
		}
		if it == nil {
			if a := q.a; a.ext != nil {
				if e, ok := a.ext.lookup(a, path, ref.Location); ok {
					if rv, ok := e.(*rowVar); ok {
						var cols []outCol
						for _, c := range rv.cols {
							cols = append(cols, outCol{name: c.name, e: c.e, t: c.e.typ()})
						}
						return cols, nil
					}
				}
			}
			return nil, q.missingFrom(path[len(path)-1], ref.Location)
		}
		q.cross(owner)
		items = []*nsItem{it}
	}
	var cols []outCol
	// A merged USING column comes first, at the place of the join.
	if len(path) == 0 {
		for _, it := range items {
			if it.noQual && it.rel < 0 {
				for _, c := range it.cols {
					cols = append(cols, outCol{name: c.name, e: q.a.read(c.e, ref.Location), t: c.e.typ()})
				}
			}
		}
	}
	for _, it := range items {
		if it.noQual && it.rel < 0 {
			continue
		}
		for _, c := range it.cols {
			if c.hidden && len(path) == 0 {
				continue
			}
			cols = append(cols, outCol{name: c.name, e: q.a.read(c.e, ref.Location), t: c.e.typ()})
		}
	}
	return cols, nil
}

// columnName is the name that Postgres gives an output column without AS (FigureColname).
func columnName(n *pg.Node) string {
	name, _ := figureName(n)
	if name == "" {
		return "?column?"
	}
	return name
}

// figureName also says how good a name is: 2 a real one, 1 one from a type or keyword.
func figureName(n *pg.Node) (string, int) {
	if n == nil {
		return "", 0
	}
	switch x := n.Node.(type) {
	case *pg.Node_ColumnRef:
		if names := strs(x.ColumnRef.Fields); len(names) > 0 {
			return names[len(names)-1], 2
		}
	case *pg.Node_AIndirection:
		ind := x.AIndirection.Indirection
		for i := len(ind) - 1; i >= 0; i-- {
			if s := ind[i].GetString_(); s != nil {
				return s.Sval, 2
			}
		}
		return figureName(x.AIndirection.Arg)
	case *pg.Node_FuncCall:
		names := strs(x.FuncCall.Funcname)
		return names[len(names)-1], 2
	case *pg.Node_AExpr:
		if x.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg.Node_TypeCast:
		if name, good := figureName(x.TypeCast.Arg); good > 1 {
			return name, good
		}
		names := strs(x.TypeCast.TypeName.Names)
		return names[len(names)-1], 1
	case *pg.Node_CollateClause:
		return figureName(x.CollateClause.Arg)
	case *pg.Node_CaseExpr:
		if name, good := figureName(x.CaseExpr.Defresult); good > 0 {
			return name, good
		}
		return "case", 1
	case *pg.Node_AArrayExpr:
		return "array", 2
	case *pg.Node_RowExpr:
		return "row", 2
	case *pg.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg.Node_MinMaxExpr:
		if x.MinMaxExpr.Op == pg.MinMaxOp_IS_GREATEST {
			return "greatest", 2
		}
		return "least", 2
	case *pg.Node_SqlvalueFunction:
		return sqlValueNames[x.SqlvalueFunction.Op], 2
	case *pg.Node_SubLink:
		switch x.SubLink.SubLinkType {
		case pg.SubLinkType_EXISTS_SUBLINK:
			return "exists", 2
		case pg.SubLinkType_ARRAY_SUBLINK:
			return "array", 2
		case pg.SubLinkType_EXPR_SUBLINK:
			sel := x.SubLink.Subselect.GetSelectStmt()
			for sel != nil && sel.Larg != nil {
				sel = sel.Larg
			}
			if sel != nil && len(sel.TargetList) > 0 {
				rt := sel.TargetList[0].GetResTarget()
				if rt.Name != "" {
					return rt.Name, 2
				}
				return figureName(rt.Val)
			}
		}
	}
	return "", 0
}

var sqlValueNames = map[pg.SQLValueFunctionOp]string{
	pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE: "current_date", pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP: "current_timestamp",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP: "localtimestamp", pg.SQLValueFunctionOp_SVFOP_CURRENT_ROLE: "current_role",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_USER: "current_user", pg.SQLValueFunctionOp_SVFOP_USER: "user",
	pg.SQLValueFunctionOp_SVFOP_SESSION_USER: "session_user", pg.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG: "current_catalog",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA: "current_schema",
}

// orderBy analyses ORDER BY: output columns by number or name first, then expressions.
func (s *selection) orderBy(list []*pg.Node) ([]orderItem, error) {
	var items []orderItem
	for _, sn := range list {
		sb := sn.GetSortBy()
		e, err := s.sortExpr(sb.Node, "ORDER BY", true)
		if err != nil {
			return nil, err
		}
		it, err := s.q.sortItem(sb, e)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

// sortItem adds direction and place of NULLs.
func (q *query) sortItem(sb *pg.SortBy, e expr) (orderItem, error) {
	it := orderItem{e: e, desc: sb.SortbyDir == pg.SortByDir_SORTBY_DESC}
	if sb.SortbyDir == pg.SortByDir_SORTBY_USING {
		return it, q.a.unsupported(sb.Location, "ORDER BY USING")
	}
	switch sb.SortbyNulls {
	case pg.SortByNulls_SORTBY_NULLS_FIRST:
		it.nullsFirst = true
	case pg.SortByNulls_SORTBY_NULLS_LAST:
	default:
		it.nullsFirst = it.desc
	}
	if k := e.typ().Kind; k == types.JSON || k == types.Record {
		return it, q.a.errorf(e.loc(), "42883", "could not identify an ordering operator for type %s", e.typ()).
			WithHint("Use an explicit ordering operator or modify the query.")
	}
	return it, nil
}

// sortExpr finds what an ORDER BY, GROUP BY or DISTINCT ON item means. outFirst: an output name wins over a FROM column.
func (s *selection) sortExpr(n *pg.Node, clause string, outFirst bool) (expr, error) {
	q := s.q
	if c := n.GetAConst(); c != nil {
		if iv, ok := c.Val.(*pg.A_Const_Ival); ok {
			i := int(iv.Ival.GetIval())
			if i < 1 || i > len(s.cols) {
				return nil, q.a.errorf(c.Location, "42P10", "%s position %d is not in select list", clause, i)
			}
			return s.column(i - 1)
		}
		if !c.Isnull {
			if _, ok := c.Val.(*pg.A_Const_Sval); ok {
				return nil, q.a.errorf(c.Location, "42601", "non-integer constant in %s", clause)
			}
		}
	}
	if ref := n.GetColumnRef(); ref != nil && len(ref.Fields) == 1 && !isStar(ref) {
		name := strs(ref.Fields)[0]
		if !outFirst {
			if e, err := q.columnHere(name, ref.Location); e != nil || err != nil {
				return e, err
			}
		}
		found := -1
		for i := range s.cols {
			if s.cols[i].name != name {
				continue
			}
			if found >= 0 && signature(s.cols[found].e) != signature(s.cols[i].e) {
				return nil, q.a.errorf(ref.Location, "42702", "%s %q is ambiguous", clause, name)
			}
			found = i
		}
		if found >= 0 {
			return s.column(found)
		}
	}
	e, err := q.expr(n)
	if err != nil {
		return nil, err
	}
	return q.a.settle(e)
}

// columnHere resolves a name among this level's FROM items only.
func (q *query) columnHere(name string, loc int32) (expr, error) {
	level := &query{a: q.a, items: q.items}
	return level.column(name, loc)
}

func (s *selection) column(i int) (expr, error) {
	e, err := s.q.a.settle(s.cols[i].e)
	if err != nil {
		return nil, err
	}
	s.cols[i].e, s.cols[i].t = e, e.typ()
	return e, nil
}

func (s *selection) groupBy() error {
	q := s.q
	for _, gn := range s.n.GroupClause {
		if gs := gn.GetGroupingSet(); gs != nil {
			if gs.Kind == pg.GroupingSetKind_GROUPING_SET_EMPTY {
				s.grouped = true
				continue
			}
			return q.a.unsupported(gs.Location, "GROUPING SETS")
		}
		saved := q.noAgg
		q.noAgg = "GROUP BY"
		e, err := s.sortExpr(gn, "GROUP BY", false)
		q.noAgg = saved
		if err != nil {
			return err
		}
		s.group = append(s.group, e)
	}
	if len(s.group) == 0 && len(q.aggs) == 0 && s.having == nil && !s.grouped {
		return nil
	}
	s.grouped = true
	for _, e := range s.group {
		bad := false
		walk(e, func(x expr) bool {
			if _, ok := x.(*aggExpr); ok {
				bad = true
			}
			return !bad
		})
		if bad {
			return q.a.errorf(e.loc(), "42803", "aggregate functions are not allowed in GROUP BY")
		}
	}
	var check []expr
	for _, c := range s.cols {
		check = append(check, c.e)
	}
	if s.having != nil {
		check = append(check, s.having)
	}
	for _, o := range s.order {
		check = append(check, o.e)
	}
	return s.checkGrouped(check)
}

// checkGrouped refuses columns that are neither grouped nor inside an aggregate nor determined by a grouped primary key.
func (s *selection) checkGrouped(es []expr) error {
	q := s.q
	keys := map[string]bool{}
	for _, g := range s.group {
		keys[signature(g)] = true
	}
	own := map[int]*nsItem{}
	for _, it := range q.items {
		if it.rel >= 0 {
			own[it.rel] = it
		}
	}
	var bad *varExpr
	for _, e := range es {
		walk(e, func(x expr) bool {
			if bad != nil || keys[signature(x)] {
				return false
			}
			switch v := x.(type) {
			case *aggExpr:
				return false
			case *varExpr:
				if it := own[v.rel]; it != nil && v.name != "" && !determined(it, keys) {
					bad = v
				}
			}
			return true
		})
	}
	if bad == nil {
		return nil
	}
	return q.a.errorf(bad.loc(), "42803", "column %q must appear in the GROUP BY clause or be used in an aggregate function",
		own[bad.rel].name+"."+bad.name)
}

// determined says whether the grouped columns include the item's primary key.
func determined(it *nsItem, keys map[string]bool) bool {
	if it.table == nil {
		return false
	}
	for i := range it.table.Indexes {
		ix := &it.table.Indexes[i]
		if !ix.Primary {
			continue
		}
		for _, c := range ix.Cols {
			if !keys[signature(&varExpr{rel: it.rel, col: c})] {
				return false
			}
		}
		return true
	}
	return false
}

func (s *selection) distinctClause() error {
	if len(s.n.DistinctClause) == 0 {
		return nil
	}
	q := s.q
	if s.n.DistinctClause[0].Node == nil { // plain DISTINCT
		for i := range s.cols {
			e, err := s.column(i)
			if err != nil {
				return err
			}
			s.dist = append(s.dist, e)
		}
		for _, o := range s.order {
			if !containsExpr(s.dist, o.e) {
				return q.a.errorf(o.e.loc(), "42P10", "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
			}
		}
		return nil
	}
	for _, dn := range s.n.DistinctClause {
		e, err := s.sortExpr(dn, "DISTINCT ON", true)
		if err != nil {
			return err
		}
		s.dist = append(s.dist, e)
	}
	for i, o := range s.order {
		if i < len(s.dist) && !containsExpr(s.dist, o.e) {
			return q.a.errorf(s.dist[0].loc(), "42P10", "SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
		}
	}
	return nil
}

func containsExpr(es []expr, e expr) bool {
	sig := signature(e)
	for _, x := range es {
		if signature(x) == sig {
			return true
		}
	}
	return false
}

// plan puts the nodes on top of each other as grouping_planner does: joins, grouping, sort, row locks, limit.
func (s *selection) plan() (*plan, error) {
	q, sh := s.q, &s.q.a.shape
	root, err := q.joinPlan(s.from, s.where)
	if err != nil {
		return nil, err
	}
	if s.grouped {
		root = s.groupNode(root)
		if s.having != nil {
			root = &filterNode{child: root, cond: compileQual(s.having, sh)}
		}
	}
	if len(q.srfs) > 0 {
		root = newProjectSet(root, q.srfs, sh)
	}
	order := s.order
	if len(s.dist) > 0 {
		for _, e := range s.dist {
			found := false
			for _, o := range order {
				found = found || signature(o.e) == signature(e)
			}
			if !found {
				order = append(order[:len(order):len(order)], orderItem{e: e})
			}
		}
	}
	if len(order) > 0 {
		root = &sortNode{child: root, keys: compileKeys(order, sh), slot: sh.newSlot()}
	}
	if len(s.dist) > 0 {
		var keys []sortKey
		for _, e := range s.dist {
			keys = append(keys, sortKey{fn: e.compile(sh)})
		}
		root = &uniqueNode{child: root, keys: keys, slot: sh.newSlot()}
	}
	if len(q.marks) > 0 {
		root = &lockNode{child: root, marks: inLockOrder(q.marks)}
	}
	q.level.sel = s
	return &plan{root: q.limitPlan(root, s.limit, s.offset), cols: s.cols, level: q.level}, nil
}

func compileKeys(order []orderItem, sh *shape) []sortKey {
	keys := make([]sortKey, len(order))
	for i, o := range order {
		keys[i] = sortKey{fn: o.e.compile(sh), desc: o.desc, nullsFirst: o.nullsFirst}
	}
	return keys
}

func (q *query) limitPlan(root node, limit, offset expr) node {
	if limit == nil && offset == nil {
		return root
	}
	n := &limitNode{child: root, slot: q.a.newSlot()}
	if limit != nil {
		n.limit = limit.compile(&q.a.shape)
	}
	if offset != nil {
		n.offset = offset.compile(&q.a.shape)
	}
	return n
}

// joinPlan plans FROM and WHERE.
func (q *query) joinPlan(tree *jtree, where expr) (node, error) {
	q.level = q.a.newLevel(tree, where)
	if tree == nil {
		n := &resultNode{slot: q.a.newSlot()}
		if where != nil {
			n.cond = compileQual(where, &q.a.shape)
		}
		return n, nil
	}
	own := relSet(tree)
	var once []expr
	for _, e := range conjuncts(where) {
		if overlap(relsOf(e), own) || isVolatile(e) {
			tree.place(e, own)
		} else {
			once = append(once, e)
		}
	}
	child, err := tree.plan(q, nil)
	if err != nil || once == nil {
		return child, err
	}
	return &gateNode{child: child, slot: q.a.newSlot(), cond: compileQuals(cheapFirst(once), &q.a.shape)}, nil
}

func (s *selection) groupNode(child node) node {
	q, sh := s.q, &s.q.a.shape
	n := &aggNode{child: child, slot: sh.newSlot(), plain: len(s.group) == 0, rel: -1}
	for _, e := range s.group {
		n.keys = append(n.keys, sortKey{fn: e.compile(sh)})
	}
	for _, agg := range q.aggs {
		n.rel = agg.rel
		n.calls = append(n.calls, compileAgg(agg, sh))
	}
	if n.rel < 0 {
		n.rel = sh.newRel()
	}
	n.out = append(append([]int{}, child.rels()...), n.rel)
	return n
}
