package sql

import (
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

func init() {
	registerExpr(func(q *query, n *pg.Node_ColumnRef) (expr, error) { return q.columnRef(n.ColumnRef) })
	registerExpr(func(q *query, n *pg.Node_AConst) (expr, error) { return q.constant(n.AConst) })
	registerExpr(func(q *query, n *pg.Node_ParamRef) (expr, error) { return q.a.param(n.ParamRef) })
	registerExpr(func(q *query, n *pg.Node_TypeCast) (expr, error) { return q.typeCast(n.TypeCast) })
	registerExpr(func(q *query, n *pg.Node_AExpr) (expr, error) { return q.aExpr(n.AExpr) })
	registerExpr(func(q *query, n *pg.Node_BoolExpr) (expr, error) { return q.boolExpr(n.BoolExpr) })
	registerExpr(func(q *query, n *pg.Node_NullTest) (expr, error) { return q.nullTest(n.NullTest) })
	registerExpr(func(q *query, n *pg.Node_BooleanTest) (expr, error) { return q.booleanTest(n.BooleanTest) })
	registerExpr(func(q *query, n *pg.Node_CaseExpr) (expr, error) { return q.caseExpr(n.CaseExpr) })
	registerExpr(func(q *query, n *pg.Node_CoalesceExpr) (expr, error) { return q.coalesce(n.CoalesceExpr) })
	registerExpr(func(q *query, n *pg.Node_MinMaxExpr) (expr, error) { return q.minmax(n.MinMaxExpr) })
	registerExpr(func(q *query, n *pg.Node_AArrayExpr) (expr, error) { return q.array(n.AArrayExpr) })
	registerExpr(func(q *query, n *pg.Node_RowExpr) (expr, error) { return q.row(n.RowExpr) })
	registerExpr(func(q *query, n *pg.Node_AIndirection) (expr, error) { return q.indirection(n.AIndirection) })
	registerExpr(func(q *query, n *pg.Node_SqlvalueFunction) (expr, error) { return q.sqlValue(n.SqlvalueFunction) })
	registerExpr(func(q *query, n *pg.Node_CollateClause) (expr, error) { return q.collate(n.CollateClause) })
}

func (q *query) constant(n *pg.A_Const) (expr, error) {
	p := at(n.Location)
	if n.Isnull {
		return &constExpr{at: p}, nil
	}
	switch v := n.Val.(type) {
	case *pg.A_Const_Ival:
		return &constExpr{at: p, v: types.NewInt4(v.Ival.GetIval())}, nil
	case *pg.A_Const_Boolval:
		return &constExpr{at: p, v: types.NewBool(v.Boolval.GetBoolval())}, nil
	case *pg.A_Const_Sval:
		return &constExpr{at: p, v: types.NewUnknown(v.Sval.GetSval())}, nil
	case *pg.A_Const_Fval: // an integer beyond int4, or a decimal fraction
		if i, err := strconv.ParseInt(v.Fval.GetFval(), 10, 64); err == nil {
			return &constExpr{at: p, v: types.NewInt8(i)}, nil
		}
		num, err := types.Parse(v.Fval.GetFval(), types.Type{Kind: types.Numeric})
		if err != nil {
			return nil, q.a.at(err, n.Location)
		}
		return &constExpr{at: p, v: num}, nil
	}
	return nil, q.a.unsupported(n.Location, "a bit string literal")
}

// param analyses $n, adding parameters as far as the protocol allows.
func (a *analyzer) param(n *pg.ParamRef) (expr, error) {
	i := int(n.Number) - 1
	if i < 0 || i >= 65535 || !a.variadic && i >= len(a.params) {
		return nil, a.errorf(n.Location, "42P02", "there is no parameter $%d", n.Number)
	}
	for len(a.params) <= i {
		a.params = append(a.params, types.Type{})
	}
	return &paramExpr{at: at(n.Location), a: a, n: i}, nil
}

func (q *query) typeCast(n *pg.TypeCast) (expr, error) {
	t, typmod, err := q.a.typeName(n.TypeName)
	if err != nil {
		return nil, err
	}
	if arr, ok := n.Arg.Node.(*pg.Node_AArrayExpr); ok && t.IsArray() { // the target type guides the elements
		return q.arrayOf(arr.AArrayExpr, t.ElemType())
	}
	e, err := q.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	return q.a.coerce(e, t, typmod, explicit)
}

func (q *query) boolExpr(n *pg.BoolExpr) (expr, error) {
	op := map[pg.BoolExprType]string{pg.BoolExprType_AND_EXPR: "AND", pg.BoolExprType_OR_EXPR: "OR", pg.BoolExprType_NOT_EXPR: "NOT"}[n.Boolop]
	out := &boolExpr{at: at(n.Location), op: op}
	for _, arg := range n.Args {
		e, err := q.expr(arg)
		if err != nil {
			return nil, err
		}
		if e, err = q.a.boolean(e, op); err != nil {
			return nil, err
		}
		out.args = append(out.args, e)
	}
	return out, nil
}

func (q *query) nullTest(n *pg.NullTest) (expr, error) {
	e, err := q.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	if e, err = q.a.settle(e); err != nil {
		return nil, err
	}
	if n.Nulltesttype == pg.NullTestType_IS_NULL {
		return &testExpr{at: at(n.Location), name: "isnull", e: e, test: rowNull}, nil
	}
	return &testExpr{at: at(n.Location), name: "notnull", e: e, test: rowNotNull}, nil
}

func (q *query) booleanTest(n *pg.BooleanTest) (expr, error) {
	e, err := q.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	tests := map[pg.BoolTestType]struct {
		name string
		test func(types.Value) bool
	}{
		pg.BoolTestType_IS_TRUE:        {"IS TRUE", func(v types.Value) bool { return v.True() }},
		pg.BoolTestType_IS_NOT_TRUE:    {"IS NOT TRUE", func(v types.Value) bool { return !v.True() }},
		pg.BoolTestType_IS_FALSE:       {"IS FALSE", func(v types.Value) bool { return v.Valid && v.N == 0 }},
		pg.BoolTestType_IS_NOT_FALSE:   {"IS NOT FALSE", func(v types.Value) bool { return !v.Valid || v.N != 0 }},
		pg.BoolTestType_IS_UNKNOWN:     {"IS UNKNOWN", func(v types.Value) bool { return !v.Valid }},
		pg.BoolTestType_IS_NOT_UNKNOWN: {"IS NOT UNKNOWN", func(v types.Value) bool { return v.Valid }},
	}
	t := tests[n.Booltesttype]
	if e, err = q.a.boolean(e, t.name); err != nil {
		return nil, err
	}
	return &testExpr{at: at(n.Location), name: t.name, e: e, test: t.test}, nil
}

func (q *query) caseExpr(n *pg.CaseExpr) (expr, error) {
	out := &caseExpr{at: at(n.Location)}
	var arg expr
	var err error
	if n.Arg != nil {
		if arg, err = q.expr(n.Arg); err != nil {
			return nil, err
		}
		if arg, err = q.a.settle(arg); err != nil {
			return nil, err
		}
	}
	var thens []expr
	for _, wn := range n.Args {
		w := wn.GetCaseWhen()
		cond, err := q.expr(w.Expr)
		if err != nil {
			return nil, err
		}
		if arg != nil {
			if cond, err = q.a.operator("=", arg, cond, w.Location); err != nil {
				return nil, err
			}
		} else if cond, err = q.a.boolean(cond, "CASE/WHEN"); err != nil {
			return nil, err
		}
		then, err := q.expr(w.Result)
		if err != nil {
			return nil, err
		}
		out.whens = append(out.whens, cond)
		thens = append(thens, then)
	}
	var els expr = &constExpr{at: -1}
	if n.Defresult != nil {
		if els, err = q.expr(n.Defresult); err != nil {
			return nil, err
		}
	}
	// Postgres looks at ELSE first when it settles the common type.
	all, t, err := q.a.unify(append([]expr{els}, thens...), "CASE")
	if err != nil {
		return nil, err
	}
	out.els, out.thens, out.t = all[0], all[1:], t
	return out, nil
}

func (q *query) coalesce(n *pg.CoalesceExpr) (expr, error) {
	args, err := q.exprs(n.Args)
	if err != nil {
		return nil, err
	}
	args, t, err := q.a.unify(args, "COALESCE")
	if err != nil {
		return nil, err
	}
	return &coalesceExpr{at: at(n.Location), args: args, t: t}, nil
}

func (q *query) minmax(n *pg.MinMaxExpr) (expr, error) {
	args, err := q.exprs(n.Args)
	if err != nil {
		return nil, err
	}
	greatest := n.Op == pg.MinMaxOp_IS_GREATEST
	name := "LEAST"
	if greatest {
		name = "GREATEST"
	}
	args, t, err := q.a.unify(args, name)
	if err != nil {
		return nil, err
	}
	return &minmaxExpr{at: at(n.Location), args: args, t: t, greatest: greatest}, nil
}

func (q *query) array(n *pg.A_ArrayExpr) (expr, error) {
	if len(n.Elements) == 0 {
		return nil, q.a.errorf(n.Location, "42P18", "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
	}
	elems, err := q.exprs(n.Elements)
	if err != nil {
		return nil, err
	}
	elems, t, err := q.a.unify(elems, "ARRAY")
	if err != nil {
		return nil, err
	}
	if t.IsArray() {
		return nil, q.a.unsupported(n.Location, "a multidimensional array")
	}
	return &arrayExpr{at: at(n.Location), elems: elems, elem: t}, nil
}

func (q *query) arrayOf(n *pg.A_ArrayExpr, elem types.Type) (expr, error) {
	out := &arrayExpr{at: at(n.Location), elem: elem}
	for _, en := range n.Elements {
		e, err := q.expr(en)
		if err != nil {
			return nil, err
		}
		if e, err = q.a.coerce(e, elem, -1, explicit); err != nil {
			return nil, err
		}
		out.elems = append(out.elems, e)
	}
	return out, nil
}

func (q *query) row(n *pg.RowExpr) (expr, error) {
	out := &rowExpr{at: at(n.Location)}
	for _, en := range n.Args {
		e, err := q.expr(en)
		if err != nil {
			return nil, err
		}
		if e, err = q.a.settle(e); err != nil {
			return nil, err
		}
		out.elems = append(out.elems, e)
	}
	return out, nil
}

func (q *query) indirection(n *pg.A_Indirection) (expr, error) {
	e, err := q.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	for _, ind := range n.Indirection {
		switch x := ind.Node.(type) {
		case *pg.Node_AIndices:
			if x.AIndices.IsSlice {
				return nil, q.a.unsupported(e.loc(), "an array slice")
			}
			if !e.typ().IsArray() {
				return nil, q.a.errorf(e.loc(), "42804", "cannot subscript type %s because it does not support subscripting", e.typ())
			}
			i, err := q.expr(x.AIndices.Uidx)
			if err != nil {
				return nil, err
			}
			if i, err = q.a.coerce(i, types.Type{Kind: types.Int4}, -1, assignment); err != nil {
				return nil, err
			}
			e = &subscriptExpr{at: at(e.loc()), array: e, index: i}
		case *pg.Node_String_:
			f, err := q.field(e, x.String_.Sval)
			if err != nil {
				return nil, err
			}
			e = f
		default:
			return nil, q.a.unsupported(e.loc(), nodeName(ind.Node))
		}
	}
	return e, nil
}

// field selects a column of a whole-row reference.
func (q *query) field(e expr, name string) (expr, error) {
	if r, ok := e.(*rowVar); ok {
		for _, c := range r.cols {
			if c.name == name {
				return c.e, nil
			}
		}
		return nil, q.a.errorf(e.loc(), "42703", "column %q not found in data type record", name)
	}
	if r, ok := e.(*rowExpr); ok && len(name) > 1 && name[0] == 'f' {
		if i, err := strconv.Atoi(name[1:]); err == nil && i >= 1 && i <= len(r.elems) {
			return r.elems[i-1], nil
		}
	}
	if c, ok := e.(*callExpr); ok {
		for i, col := range c.fn.cols {
			if col.Name == name {
				return &fieldExpr{at: at(e.loc()), row: e, n: i, t: col.Type}, nil
			}
		}
	}
	return nil, q.a.errorf(e.loc(), "42809", "column notation .%s applied to type %s, which is not a composite type", name, e.typ())
}

func (q *query) sqlValue(n *pg.SQLValueFunction) (expr, error) {
	call := func(name string) (expr, error) { return q.a.call(name, nil, n.Location) }
	switch n.Op {
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP:
		return call("now")
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_ROLE, pg.SQLValueFunctionOp_SVFOP_CURRENT_USER, pg.SQLValueFunctionOp_SVFOP_USER:
		return call("current_user")
	case pg.SQLValueFunctionOp_SVFOP_SESSION_USER:
		return call("session_user")
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
		return call("current_database")
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
		return call("current_schema")
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE, pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:
		e, err := call("now")
		if err != nil {
			return nil, err
		}
		to := types.Type{Kind: types.Date}
		if n.Op == pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP {
			to.Kind = types.Timestamp
		}
		return q.a.coerce(e, to, -1, explicit)
	}
	return nil, q.a.unsupported(n.Location, n.Op.String())
}

// collate admits the collations whose order is that of bytes, which is the model's only one.
func (q *query) collate(n *pg.CollateClause) (expr, error) {
	names := strs(n.Collname)
	switch names[len(names)-1] {
	case "C", "POSIX", "default", "ucs_basic":
		return q.expr(n.Arg)
	}
	return nil, q.a.unsupported(n.Location, "collation \""+names[len(names)-1]+"\"")
}
