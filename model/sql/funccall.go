package sql

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/builtin"
	"simrun/model/types"
)

func init() {
	registerExpr(func(q *query, n *pg.Node_FuncCall) (expr, error) { return q.funcCall(n.FuncCall) })
}

// resolvedCall is a function call after overload resolution: one of the three is set.
type resolvedCall struct {
	name string
	fn   *builtin.Func
	agg  *builtin.Agg
	user *userCall
	args []expr
}

// resolveCall finds what a call means. Functions that users defined come first, as theirs may be called like built-in ones
// only with other argument types.
func (q *query) resolveCall(n *pg.FuncCall) (*resolvedCall, error) {
	a := q.a
	names := strs(n.Funcname)
	name := names[len(names)-1]
	if n.Over != nil {
		return nil, a.unsupported(n.Location, "a window function")
	}
	if n.AggWithinGroup {
		return nil, a.unsupported(n.Location, "WITHIN GROUP")
	}
	c := &resolvedCall{name: name}
	isAgg := builtin.IsAggregate(name)
	if isAgg {
		if q.noAgg != "" {
			return nil, a.errorf(n.Location, "42803", "aggregate functions are not allowed in %s", q.noAgg)
		}
		if q.inAgg {
			return nil, a.errorf(n.Location, "42803", "aggregate function calls cannot be nested")
		}
		q.inAgg = true
		defer func() { q.inAgg = false }()
	}
	var ts []types.Type
	for _, an := range n.Args {
		if na := an.GetNamedArgExpr(); na != nil {
			return nil, a.unsupported(na.Location, "a named argument")
		}
		e, err := q.expr(an)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, e)
		ts = append(ts, e.typ())
	}
	schema := ""
	if len(names) > 1 {
		schema = names[len(names)-2]
	}
	if schema != "pg_catalog" {
		u, err := a.userFunction(schema, name, ts, n.FuncVariadic)
		if err != nil {
			return nil, a.at(err, n.Location)
		}
		if u != nil {
			c.user = u
			return c, a.coerceArgs(c.args, u.args, n.Location)
		}
		if schema != "" {
			return nil, a.at(builtin.NoFunction(schema+"."+name, ts), n.Location)
		}
	}
	if isAgg {
		if n.AggStar {
			ts = nil
		}
		agg, err := builtin.FindAggregate(name, ts)
		if err != nil {
			return nil, a.at(err, n.Location)
		}
		c.agg = agg
		return c, a.coerceArgs(c.args, agg.Args, n.Location)
	}
	if n.AggStar || n.AggDistinct || len(n.AggOrder) > 0 || n.AggFilter != nil {
		if _, err := builtin.FindFunction(name, ts, n.FuncVariadic); err != nil {
			return nil, a.at(err, n.Location)
		}
		return nil, a.errorf(n.Location, "42809", "%s specified, but %s is not an aggregate function", aggFeature(n), name)
	}
	fn, err := builtin.FindFunction(name, ts, n.FuncVariadic)
	if err != nil {
		if castCall, ok := a.castCall(name, c.args); ok { // type(x) is a cast when nothing else fits
			c.args = []expr{castCall}
			return c, nil
		}
		return nil, a.at(err, n.Location)
	}
	c.fn = fn
	if fn.Volatility == 'v' {
		a.volatile = true
	}
	return c, a.coerceArgs(c.args, fn.Args, n.Location)
}

func aggFeature(n *pg.FuncCall) string {
	switch {
	case n.AggStar:
		return "*"
	case n.AggDistinct:
		return "DISTINCT"
	case n.AggFilter != nil:
		return "FILTER"
	}
	return "ORDER BY"
}

func (a *analyzer) castCall(name string, args []expr) (expr, bool) {
	t, ok := types.ByName(name)
	if !ok || len(args) != 1 {
		return nil, false
	}
	e, err := a.coerce(args[0], t, -1, explicit)
	return e, err == nil
}

func (a *analyzer) coerceArgs(args []expr, want []types.Type, loc int32) error {
	for i := range args {
		if i >= len(want) {
			break
		}
		e, err := a.coerce(args[i], want[i], -1, implicit)
		if err != nil {
			if err == error(errNoCast) {
				return a.errorf(loc, "42883", "cannot pass type %s for type %s", args[i].typ(), want[i])
			}
			return err
		}
		args[i] = e
	}
	return nil
}

func (q *query) funcCall(n *pg.FuncCall) (expr, error) {
	c, err := q.resolveCall(n)
	if err != nil {
		return nil, err
	}
	switch {
	case c.agg != nil:
		return q.aggregate(n, c)
	case c.user != nil:
		if c.user.set {
			return q.srf(n, c)
		}
		return c.user.expr(q.a, c.args, n.Location), nil
	case c.fn == nil:
		return c.args[0], nil
	case c.fn.Rows != nil:
		return q.srf(n, c)
	}
	return &callExpr{at: at(n.Location), fn: builtinCallable(c.fn), args: c.args}, nil
}

func (q *query) aggregate(n *pg.FuncCall, c *resolvedCall) (expr, error) {
	a := q.a
	e := &aggExpr{at: at(n.Location), agg: c.agg, name: c.name, args: c.args, distinct: n.AggDistinct}
	q.inAgg = true
	defer func() { q.inAgg = false }()
	if n.AggFilter != nil {
		f, err := q.where(n.AggFilter, "FILTER")
		if err != nil {
			return nil, err
		}
		e.filter = f
	}
	for _, sn := range n.AggOrder {
		sb := sn.GetSortBy()
		x, err := q.expr(sb.Node)
		if err != nil {
			return nil, err
		}
		if x, err = a.settle(x); err != nil {
			return nil, err
		}
		it, err := q.sortItem(sb, x)
		if err != nil {
			return nil, err
		}
		if e.distinct && !containsExpr(e.args, x) {
			return nil, a.errorf(sb.Location, "42P10", "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list")
		}
		e.order = append(e.order, it)
	}
	sig := signature(e) + fmt.Sprint(e.distinct, len(e.order), e.filter != nil)
	for _, old := range q.aggs { // equal calls are computed once
		if signature(old)+fmt.Sprint(old.distinct, len(old.order), old.filter != nil) == sig {
			return old, nil
		}
	}
	if len(q.aggs) == 0 {
		q.aggRel = a.newRel()
	}
	e.rel, e.col = q.aggRel, len(q.aggs)
	q.aggs = append(q.aggs, e)
	return e, nil
}

// srfExpr is a set-returning function in a target list: its value is a column of the row that projectSet makes.
type srfExpr struct {
	at
	src      *tableSource
	name     string
	t        types.Type
	rel, col int
}

func (e *srfExpr) typ() types.Type        { return e.t }
func (e *srfExpr) children() []expr       { return nil }
func (e *srfExpr) sig(b *strings.Builder) { fmt.Fprintf(b, "srf%d.%d", e.rel, e.col) }
func (e *srfExpr) compile(*shape) evalFn {
	rel, col := e.rel, e.col
	return func(f *frame) (types.Value, error) { return f.rows[rel][col], nil }
}

func (q *query) srf(n *pg.FuncCall, c *resolvedCall) (expr, error) {
	if q.noAgg != "" {
		return nil, q.a.errorf(n.Location, "0A000", "set-returning functions are not allowed in %s", q.noAgg)
	}
	src, err := q.source(c)
	if err != nil {
		return nil, err
	}
	e := &srfExpr{at: at(n.Location), src: src, name: c.name, t: types.Type{Kind: types.Record}}
	if src.scalar {
		e.t = src.cols[0].t
	}
	if len(q.srfs) == 0 {
		e.rel = q.a.newRel()
	} else {
		e.rel = q.srfs[0].rel
	}
	e.col = len(q.srfs)
	q.srfs = append(q.srfs, e)
	return e, nil
}

// projectSet runs the set-returning functions of a target list for each row of its child, side by side; the shorter ones
// give NULLs at the end.
type projectSet struct {
	child node
	srfs  []*srfExpr
	slot  int
	out   []int
}

type projectState struct {
	sets [][][]types.Value
	pos  int
	n    int
}

func newProjectSet(child node, srfs []*srfExpr, sh *shape) *projectSet {
	return &projectSet{child: child, srfs: srfs, slot: sh.newSlot(), out: append(append([]int{}, child.rels()...), srfs[0].rel)}
}

func (n *projectSet) open(f *frame) error {
	*state[projectState](f, n.slot) = projectState{}
	return n.child.open(f)
}

func (n *projectSet) next(f *frame) (bool, error) {
	st := state[projectState](f, n.slot)
	for st.pos >= st.n {
		ok, err := n.child.next(f)
		if !ok || err != nil {
			return false, err
		}
		st.sets, st.pos, st.n = make([][][]types.Value, len(n.srfs)), 0, 0
		for i, e := range n.srfs {
			if st.sets[i], err = e.src.rows(f); err != nil {
				return false, err
			}
			st.n = max(st.n, len(st.sets[i]))
		}
	}
	row := make([]types.Value, len(n.srfs))
	for i, e := range n.srfs {
		row[i] = types.Null(e.t)
		if st.pos < len(st.sets[i]) {
			if r := st.sets[i][st.pos]; e.src.scalar {
				row[i] = r[0]
			} else {
				row[i] = types.NewRecord(r)
			}
		}
	}
	st.pos++
	f.rows[n.srfs[0].rel] = row
	return true, nil
}

func (n *projectSet) recheck(*frame) (bool, error) { return true, nil }
func (n *projectSet) rels() []int                  { return n.out }

// tableSource is a function as a source of rows.
type tableSource struct {
	name   string
	cols   []outCol
	scalar bool // one column that is not a record
	rows   func(f *frame) ([][]types.Value, error)
}

// tableFunction analyses a function call in FROM.
func (q *query) tableFunction(n *pg.FuncCall) (*tableSource, error) {
	saved := q.noAgg
	q.noAgg = "functions in FROM"
	c, err := q.resolveCall(n)
	q.noAgg = saved
	if err != nil {
		return nil, err
	}
	return q.source(c)
}

// source turns a resolved call into rows.
func (q *query) source(c *resolvedCall) (*tableSource, error) {
	sh := &q.a.shape
	if c.user != nil {
		return c.user.source(q.a, c.args), nil
	}
	src := &tableSource{name: c.name}
	if c.fn == nil || c.fn.Rows == nil { // a scalar function gives one row
		var e expr
		if c.fn == nil {
			e = c.args[0]
		} else {
			e = &callExpr{at: -1, fn: builtinCallable(c.fn), args: c.args}
		}
		fn := e.compile(sh)
		src.cols, src.scalar = []outCol{{name: c.name, t: e.typ()}}, true
		src.rows = func(f *frame) ([][]types.Value, error) {
			v, err := fn(f)
			return [][]types.Value{{v}}, err
		}
		return src, nil
	}
	args, fn := compileAll(c.args, sh), c.fn
	for _, col := range fn.Cols {
		src.cols = append(src.cols, outCol{name: col.Name, t: col.Type})
	}
	if len(src.cols) == 0 {
		src.cols, src.scalar = []outCol{{name: c.name, t: fn.Ret}}, true
	}
	scalar := src.scalar
	src.rows = func(f *frame) ([][]types.Value, error) {
		vals := make([]types.Value, len(args))
		for i, a := range args {
			v, err := a(f)
			if err != nil {
				return nil, err
			}
			if !v.Valid && fn.Strict {
				return nil, nil
			}
			vals[i] = v
		}
		out, err := fn.Rows(f.run, vals)
		if err != nil {
			return nil, err
		}
		rows := make([][]types.Value, len(out))
		for i, v := range out {
			if scalar {
				rows[i] = []types.Value{v}
			} else {
				rows[i] = v.Elems()
			}
		}
		return rows, nil
	}
	return src, nil
}
