package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// aExpr analyses the operator forms of the grammar.
func (q *query) aExpr(n *pg.A_Expr) (expr, error) {
	names := strs(n.Name)
	op := ""
	if len(names) > 0 {
		op = names[len(names)-1]
	}
	switch n.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		return q.plainOp(n, op)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		return q.anyOp(n, op, n.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL)
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT, pg.A_Expr_Kind_AEXPR_NULLIF:
		return q.distinct(n)
	case pg.A_Expr_Kind_AEXPR_IN:
		return q.in(n, op)
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return q.plainOp(n, op) // the grammar has put ~~, !~~, ~~* there
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return q.between(n)
	}
	return nil, q.a.unsupported(n.Location, n.Kind.String())
}

func (q *query) pair(n *pg.A_Expr) (l, r expr, err error) {
	if n.Lexpr != nil {
		if l, err = q.expr(n.Lexpr); err != nil {
			return nil, nil, err
		}
	}
	r, err = q.expr(n.Rexpr)
	return l, r, err
}

func (q *query) plainOp(n *pg.A_Expr, op string) (expr, error) {
	if n.Lexpr != nil {
		_, lrow := n.Lexpr.Node.(*pg.Node_RowExpr)
		sub := n.Rexpr.GetSubLink()
		if lrow && sub != nil && sub.SubLinkType == pg.SubLinkType_EXPR_SUBLINK {
			return q.rowSubLink(n, op, sub)
		}
		if _, rrow := n.Rexpr.Node.(*pg.Node_RowExpr); lrow && rrow {
			return q.rowCompare(n.Lexpr.GetRowExpr().Args, n.Rexpr.GetRowExpr().Args, op, n.Location)
		}
	}
	l, r, err := q.pair(n)
	if err != nil {
		return nil, err
	}
	return q.a.operator(op, l, r, n.Location)
}

// rowCompare expands a comparison of two rows into comparisons of their fields (SQL standard 8.2, as Postgres
// documentation 9.25.5 describes it).
func (q *query) rowCompare(ls, rs []*pg.Node, op string, loc int32) (expr, error) {
	if len(ls) != len(rs) {
		return nil, q.a.errorf(loc, "42601", "unequal number of entries in row expressions")
	}
	l, err := q.exprs(ls)
	if err != nil {
		return nil, err
	}
	r, err := q.exprs(rs)
	if err != nil {
		return nil, err
	}
	return q.rowCompareExprs(l, r, op, loc)
}

func (q *query) rowCompareExprs(l, r []expr, op string, loc int32) (expr, error) {
	cmp := func(op string, i int) (expr, error) { return q.a.operator(op, l[i], r[i], loc) }
	if len(l) == 1 {
		return cmp(op, 0)
	}
	switch op {
	case "=", "<>":
		logic := "AND"
		if op == "<>" {
			logic = "OR"
		}
		out := &boolExpr{at: at(loc), op: logic}
		for i := range l {
			e, err := cmp(op, i)
			if err != nil {
				return nil, err
			}
			out.args = append(out.args, e)
		}
		return out, nil
	case "<", "<=", ">", ">=":
		// (a,b) < (c,d) is a < c OR (a = c AND b < d): built from the last field outwards.
		strict := op[:1]
		var out expr
		for i := len(l) - 1; i >= 0; i-- {
			o := strict
			if i == len(l)-1 {
				o = op
			}
			lt, err := cmp(o, i)
			if err != nil {
				return nil, err
			}
			if out == nil {
				out = lt
				continue
			}
			eq, err := cmp("=", i)
			if err != nil {
				return nil, err
			}
			out = &boolExpr{at: at(loc), op: "OR", args: []expr{lt, &boolExpr{at: at(loc), op: "AND", args: []expr{eq, out}}}}
		}
		return out, nil
	}
	return nil, q.a.errorf(loc, "0A000", "could not determine interpretation of row comparison operator %s", op)
}

func (q *query) anyOp(n *pg.A_Expr, op string, all bool) (expr, error) {
	l, r, err := q.pair(n)
	if err != nil {
		return nil, err
	}
	return q.a.anyArray(l, r, op, all, n.Location)
}

// anyArray is l op ANY/ALL (array).
func (a *analyzer) anyArray(l, r expr, op string, all bool, loc int32) (expr, error) {
	if r.typ().Kind == types.Unknown { // the array's type follows from the left side
		lt := l.typ()
		if lt.Kind == types.Unknown {
			lt.Kind = types.Text
		}
		var err error
		if r, err = a.coerce(r, types.ArrayOf(lt.Kind), -1, implicit); err != nil {
			return nil, err
		}
	}
	if !r.typ().IsArray() {
		return nil, a.errorf(loc, "42809", "op ANY/ALL (array) requires array on right side")
	}
	elem := &constExpr{at: at(r.loc()), v: types.Null(r.typ().ElemType())}
	cmp, err := a.operator(op, l, elem, loc)
	if err != nil {
		return nil, err
	}
	call, ok := cmp.(*callExpr)
	if !ok || len(call.args) != 2 || call.fn.ret != boolType {
		return nil, a.errorf(loc, "42809", "op ANY/ALL (array) requires operator to yield boolean")
	}
	if want := call.args[1].typ(); want != r.typ().ElemType() {
		if r, err = a.coerce(r, types.ArrayOf(want.Kind), -1, implicit); err != nil {
			return nil, err
		}
	}
	return &anyExpr{at: at(loc), l: call.args[0], array: r, op: call.fn, all: all}, nil
}

func (q *query) distinct(n *pg.A_Expr) (expr, error) {
	l, r, err := q.pair(n)
	if err != nil {
		return nil, err
	}
	cmp, err := q.a.operator("=", l, r, n.Location)
	if err != nil {
		return nil, err
	}
	call, ok := cmp.(*callExpr)
	if !ok {
		return nil, q.a.unsupported(n.Location, "IS DISTINCT FROM of rows")
	}
	return &distinctExpr{at: at(n.Location), l: call.args[0], r: call.args[1], eq: call.fn,
		not: n.Kind == pg.A_Expr_Kind_AEXPR_NOT_DISTINCT, nullif: n.Kind == pg.A_Expr_Kind_AEXPR_NULLIF}, nil
}

// in analyses "x IN (a, b, ...)": an array comparison when all items have one type, else a chain of OR.
func (q *query) in(n *pg.A_Expr, op string) (expr, error) {
	logic := "OR"
	if op == "<>" {
		logic = "AND"
	}
	out := &boolExpr{at: at(n.Location), op: logic, list: true}
	lrow := n.Lexpr.GetRowExpr()
	for _, item := range n.Rexpr.GetList().Items {
		var e expr
		var err error
		if rrow := item.GetRowExpr(); lrow != nil && rrow != nil {
			e, err = q.rowCompare(lrow.Args, rrow.Args, op, n.Location)
		} else {
			var l, r expr
			if l, err = q.expr(n.Lexpr); err != nil {
				return nil, err
			}
			if r, err = q.expr(item); err != nil {
				return nil, err
			}
			e, err = q.a.operator(op, l, r, n.Location)
		}
		if err != nil {
			return nil, err
		}
		out.args = append(out.args, e)
	}
	if len(out.args) == 1 {
		return out.args[0], nil
	}
	return out, nil
}

func (q *query) between(n *pg.A_Expr) (expr, error) {
	bounds := n.Rexpr.GetList().Items
	make2 := func(lo, hi *pg.Node, lop, hop, logic string) (expr, error) {
		x, err := q.expr(n.Lexpr)
		if err != nil {
			return nil, err
		}
		l, err := q.expr(lo)
		if err != nil {
			return nil, err
		}
		h, err := q.expr(hi)
		if err != nil {
			return nil, err
		}
		a, err := q.a.operator(lop, x, l, n.Location)
		if err != nil {
			return nil, err
		}
		b, err := q.a.operator(hop, x, h, n.Location)
		if err != nil {
			return nil, err
		}
		return &boolExpr{at: at(n.Location), op: logic, args: []expr{a, b}}, nil
	}
	sym := n.Kind == pg.A_Expr_Kind_AEXPR_BETWEEN_SYM || n.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM
	not := n.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN || n.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM
	lop, hop, logic, outer := ">=", "<=", "AND", "OR"
	if not {
		lop, hop, logic, outer = "<", ">", "OR", "AND"
	}
	e, err := make2(bounds[0], bounds[1], lop, hop, logic)
	if err != nil || !sym {
		return e, err
	}
	e2, err := make2(bounds[1], bounds[0], lop, hop, logic)
	if err != nil {
		return nil, err
	}
	return &boolExpr{at: at(n.Location), op: outer, args: []expr{e, e2}}, nil
}
