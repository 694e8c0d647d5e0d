package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

func init() {
	registerExpr(func(q *query, n *pg.Node_SubLink) (expr, error) { return q.subLink(n.SubLink) })
}

// subExpr is a subquery in an expression. An uncorrelated one runs at most once per activation (Postgres's InitPlan and
// hashed SubPlan).
type subExpr struct {
	at
	kind  pg.SubLinkType
	p     *plan
	t     types.Type
	test  []expr // ANY, ALL: comparisons of the left side with the subquery's row, which sits in rel
	rel   int    // relation that holds the subquery's row for test
	outer []expr // references to outer relations, for placing conditions
	slot  int
	left  []expr
}

func (e *subExpr) typ() types.Type  { return e.t }
func (e *subExpr) children() []expr { return append(append([]expr{}, e.left...), e.outer...) }
func (e *subExpr) sig(b *strings.Builder) {
	b.WriteString("sub")
	b.WriteString(e.kind.String())
	writeInt(b, e.slot)
}

func writeInt(b *strings.Builder, n int) {
	if n >= 10 {
		writeInt(b, n/10)
	}
	b.WriteByte(byte('0' + n%10))
}

func (q *query) subLink(n *pg.SubLink) (expr, error) {
	a := q.a
	sel := n.Subselect.GetSelectStmt()
	if sel == nil {
		return nil, a.unsupported(n.Location, nodeName(n.Subselect.Node)+" in an expression")
	}
	sub := a.newQuery(q)
	p, err := sub.selectPlan(sel)
	if err != nil {
		return nil, err
	}
	out := &subExpr{at: at(n.Location), kind: n.SubLinkType, p: p, slot: a.newSlot(), rel: -1}
	if p.correlated {
		out.outer = q.outerRefs()
	}
	switch n.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		out.t = boolType
	case pg.SubLinkType_EXPR_SUBLINK:
		if len(p.cols) != 1 {
			return nil, a.errorf(n.Location, "42601", "subquery must return only one column")
		}
		out.t = p.cols[0].t
	case pg.SubLinkType_ARRAY_SUBLINK:
		if len(p.cols) != 1 {
			return nil, a.errorf(n.Location, "42601", "subquery must return only one column")
		}
		if p.cols[0].t.IsArray() {
			return nil, a.unsupported(n.Location, "a multidimensional array")
		}
		out.t = types.ArrayOf(p.cols[0].t.Kind)
	case pg.SubLinkType_ANY_SUBLINK, pg.SubLinkType_ALL_SUBLINK:
		op := "="
		if len(n.OperName) > 0 {
			names := strs(n.OperName)
			op = names[len(names)-1]
		}
		if err := q.quantified(out, n, op); err != nil {
			return nil, err
		}
	default:
		return nil, a.unsupported(n.Location, n.SubLinkType.String())
	}
	return out, nil
}

// outerRefs are references to all relations of the level and those around it: what a correlated subquery may look at.
func (q *query) outerRefs() []expr {
	var out []expr
	for s := q; s != nil; s = s.parent {
		for _, it := range s.items {
			if it.rel >= 0 {
				out = append(out, &varExpr{rel: it.rel})
			}
		}
	}
	return out
}

// quantified analyses the left side of IN, op ANY and op ALL.
func (q *query) quantified(out *subExpr, n *pg.SubLink, op string) error {
	a := q.a
	out.t = boolType
	var left []*pg.Node
	if r := n.Testexpr.GetRowExpr(); r != nil {
		left = r.Args
	} else {
		left = []*pg.Node{n.Testexpr}
	}
	if len(left) < len(out.p.cols) {
		return a.errorf(n.Location, "42601", "subquery has too many columns")
	}
	if len(left) > len(out.p.cols) {
		return a.errorf(n.Location, "42601", "subquery has too few columns")
	}
	out.rel = a.newRel()
	for i, ln := range left {
		l, err := q.expr(ln)
		if err != nil {
			return err
		}
		out.left = append(out.left, l)
		r := &varExpr{at: at(n.Location), rel: out.rel, col: i, t: out.p.cols[i].t, typmod: -1}
		cmp, err := a.operator(op, l, r, n.Location)
		if err != nil {
			return err
		}
		out.test = append(out.test, cmp)
	}
	if len(left) > 1 && op != "=" && op != "<>" {
		return a.unsupported(n.Location, "row comparison with a subquery by "+op)
	}
	return nil
}

// rowSubLink is ROW(...) op (SELECT ...).
func (q *query) rowSubLink(n *pg.A_Expr, op string, sub *pg.SubLink) (expr, error) {
	inner := q.a.newQuery(q)
	p, err := inner.selectPlan(sub.Subselect.GetSelectStmt())
	if err != nil {
		return nil, err
	}
	out := &subExpr{at: at(n.Location), kind: pg.SubLinkType_ROWCOMPARE_SUBLINK, p: p, slot: q.a.newSlot()}
	if p.correlated {
		out.outer = q.outerRefs()
	}
	err = q.quantified(out, &pg.SubLink{Testexpr: n.Lexpr, Location: n.Location}, op)
	return out, err
}

// subState keeps the result of an uncorrelated subquery.
type subState struct {
	gen  uint64
	have bool
	v    types.Value
	rows [][]types.Value
}

func (e *subExpr) compile(sh *shape) evalFn {
	var test qual3
	if e.test != nil {
		test = compileTest(e, sh)
	}
	p, slot, t, rel := e.p, e.slot, e.t, e.rel
	var run func(f *frame) (types.Value, error)
	switch e.kind {
	case pg.SubLinkType_EXISTS_SUBLINK:
		run = func(f *frame) (types.Value, error) {
			if err := p.root.open(f); err != nil {
				return types.Value{}, err
			}
			ok, err := p.root.next(f)
			return types.NewBool(ok), err
		}
	case pg.SubLinkType_EXPR_SUBLINK:
		run = func(f *frame) (types.Value, error) { return p.scalar(f, t) }
	case pg.SubLinkType_ARRAY_SUBLINK:
		run = func(f *frame) (types.Value, error) {
			rows, err := p.drain(f)
			if err != nil {
				return types.Value{}, err
			}
			vals := make([]types.Value, len(rows))
			for i, r := range rows {
				vals[i] = r[0]
			}
			return types.NewArray(t.Elem, vals), nil
		}
	case pg.SubLinkType_ROWCOMPARE_SUBLINK:
		return func(f *frame) (types.Value, error) {
			rows, err := e.rows(f)
			if err != nil || len(rows) == 0 {
				return types.Null(boolType), err
			}
			if len(rows) > 1 {
				return types.Value{}, errManyRows()
			}
			f.rows[rel] = rows[0]
			return test(f)
		}
	default:
		all := e.kind == pg.SubLinkType_ALL_SUBLINK
		return func(f *frame) (types.Value, error) {
			rows, err := e.rows(f)
			if err != nil {
				return types.Value{}, err
			}
			null := false
			for _, r := range rows {
				f.rows[rel] = r
				v, err := test(f)
				if err != nil {
					return v, err
				}
				if !v.Valid {
					null = true
				} else if v.True() != all {
					return v, nil
				}
			}
			if null {
				return types.Null(boolType), nil
			}
			return types.NewBool(all), nil
		}
	}
	if p.correlated {
		return run
	}
	return func(f *frame) (types.Value, error) {
		st := state[subState](f, slot)
		if st.gen == f.gen && st.have {
			return st.v, nil
		}
		v, err := run(f)
		if err == nil {
			*st = subState{gen: f.gen, have: true, v: v}
		}
		return v, err
	}
}

// rows are the subquery's rows, computed once when it is uncorrelated.
func (e *subExpr) rows(f *frame) ([][]types.Value, error) {
	if e.p.correlated {
		return e.p.drain(f)
	}
	st := state[subState](f, e.slot)
	if st.gen == f.gen && st.have {
		return st.rows, nil
	}
	rows, err := e.p.drain(f)
	if err == nil {
		*st = subState{gen: f.gen, have: true, rows: rows}
	}
	return rows, err
}

// qual3 is a condition in three-valued logic.
type qual3 = evalFn

func compileTest(e *subExpr, sh *shape) qual3 {
	if len(e.test) == 1 {
		return e.test[0].compile(sh)
	}
	logic := "AND"
	if c, ok := e.test[0].(*callExpr); ok && c.fn.name == "<>" {
		logic = "OR"
	}
	return (&boolExpr{op: logic, args: e.test}).compile(sh)
}

func errManyRows() error {
	return types.NewError("21000", "more than one row returned by a subquery used as an expression")
}

// scalar is the value of a subquery used as an expression.
func (p *plan) scalar(f *frame, t types.Type) (types.Value, error) {
	if err := p.root.open(f); err != nil {
		return types.Value{}, err
	}
	ok, err := p.root.next(f)
	if err != nil {
		return types.Value{}, err
	}
	if !ok {
		return types.Null(t), nil
	}
	v, err := p.outs[0](f)
	if err != nil {
		return v, err
	}
	if ok, err = p.root.next(f); err != nil {
		return v, err
	}
	if ok {
		return v, errManyRows()
	}
	return v, nil
}
