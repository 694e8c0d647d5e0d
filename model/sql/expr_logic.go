package sql

import (
	"fmt"
	"strings"

	"simrun/model/types"
)

var boolType = types.Type{Kind: types.Bool}

// boolExpr is AND, OR or NOT in three-valued logic.
type boolExpr struct {
	at
	op   string
	args []expr
	list bool // it stands for IN or NOT IN of a list
}

func (e *boolExpr) typ() types.Type        { return boolType }
func (e *boolExpr) children() []expr       { return e.args }
func (e *boolExpr) sig(b *strings.Builder) { sigAll(b, e.op, e.args) }

func (e *boolExpr) compile(sh *shape) evalFn {
	args := compileAll(e.args, sh)
	if e.op == "NOT" {
		return func(f *frame) (types.Value, error) {
			v, err := args[0](f)
			if err == nil && v.Valid {
				v.N ^= 1
			}
			return v, err
		}
	}
	stop := int64(0) // AND stops at false, OR at true
	if e.op == "OR" {
		stop = 1
	}
	return func(f *frame) (types.Value, error) {
		null := false
		for _, a := range args {
			v, err := a(f)
			if err != nil {
				return v, err
			}
			if !v.Valid {
				null = true
			} else if v.N == stop {
				return v, nil
			}
		}
		if null {
			return types.Null(boolType), nil
		}
		return types.Value{T: boolType, Valid: true, N: 1 - stop}, nil
	}
}

// testExpr is a test that never gives NULL: IS [NOT] NULL, IS [NOT] TRUE and so on.
type testExpr struct {
	at
	name string
	e    expr
	test func(types.Value) bool
}

func (e *testExpr) typ() types.Type        { return boolType }
func (e *testExpr) children() []expr       { return []expr{e.e} }
func (e *testExpr) sig(b *strings.Builder) { sigAll(b, e.name, []expr{e.e}) }
func (e *testExpr) compile(sh *shape) evalFn {
	in, test := e.e.compile(sh), e.test
	return func(f *frame) (types.Value, error) {
		v, err := in(f)
		if err != nil {
			return v, err
		}
		return types.NewBool(test(v)), nil
	}
}

// rowNull says whether a value IS NULL: of a row, whether all its fields are.
func rowNull(v types.Value) bool {
	if v.Valid && v.T.Kind == types.Record {
		for _, e := range v.Elems() {
			if e.Valid {
				return false
			}
		}
		return true
	}
	return !v.Valid
}

// rowNotNull says whether a value IS NOT NULL: of a row, whether no field is null.
func rowNotNull(v types.Value) bool {
	if v.Valid && v.T.Kind == types.Record {
		for _, e := range v.Elems() {
			if !e.Valid {
				return false
			}
		}
	}
	return v.Valid
}

// distinctExpr is IS [NOT] DISTINCT FROM, and NULLIF when nullif is set.
type distinctExpr struct {
	at
	l, r   expr
	eq     *callable
	not    bool
	nullif bool
}

func (e *distinctExpr) typ() types.Type {
	if e.nullif {
		return e.l.typ()
	}
	return boolType
}
func (e *distinctExpr) children() []expr { return []expr{e.l, e.r} }
func (e *distinctExpr) sig(b *strings.Builder) {
	sigAll(b, fmt.Sprintf("distinct%v%v", e.not, e.nullif), e.children())
}
func (e *distinctExpr) compile(sh *shape) evalFn {
	l, r, eq, not, nullif := e.l.compile(sh), e.r.compile(sh), e.eq, e.not, e.nullif
	lt := e.l.typ()
	return func(f *frame) (types.Value, error) {
		a, err := l(f)
		if err != nil {
			return a, err
		}
		b, err := r(f)
		if err != nil {
			return b, err
		}
		same := !a.Valid && !b.Valid
		if a.Valid && b.Valid {
			v, err := eq.eval(f, []types.Value{a, b})
			if err != nil {
				return v, err
			}
			same = v.True()
		}
		if nullif {
			if same {
				return types.Null(lt), nil
			}
			return a, nil
		}
		return types.NewBool(same == not), nil
	}
}

// caseExpr is CASE; the simple form has been rewritten to comparisons.
type caseExpr struct {
	at
	whens []expr
	thens []expr
	els   expr
	t     types.Type
}

func (e *caseExpr) typ() types.Type { return e.t }
func (e *caseExpr) children() []expr {
	all := append(append([]expr{}, e.whens...), e.thens...)
	return append(all, e.els)
}
func (e *caseExpr) sig(b *strings.Builder) { sigAll(b, "case", e.children()) }
func (e *caseExpr) compile(sh *shape) evalFn {
	whens, thens, els := compileAll(e.whens, sh), compileAll(e.thens, sh), e.els.compile(sh)
	return func(f *frame) (types.Value, error) {
		for i, w := range whens {
			v, err := w(f)
			if err != nil {
				return v, err
			}
			if v.True() {
				return thens[i](f)
			}
		}
		return els(f)
	}
}

// coalesceExpr is COALESCE.
type coalesceExpr struct {
	at
	args []expr
	t    types.Type
}

func (e *coalesceExpr) typ() types.Type        { return e.t }
func (e *coalesceExpr) children() []expr       { return e.args }
func (e *coalesceExpr) sig(b *strings.Builder) { sigAll(b, "coalesce", e.args) }
func (e *coalesceExpr) compile(sh *shape) evalFn {
	args, null := compileAll(e.args, sh), types.Null(e.t)
	return func(f *frame) (types.Value, error) {
		for _, a := range args {
			v, err := a(f)
			if err != nil || v.Valid {
				return v, err
			}
		}
		return null, nil
	}
}

// minmaxExpr is GREATEST or LEAST: NULLs are ignored.
type minmaxExpr struct {
	at
	args     []expr
	t        types.Type
	greatest bool
}

func (e *minmaxExpr) typ() types.Type        { return e.t }
func (e *minmaxExpr) children() []expr       { return e.args }
func (e *minmaxExpr) sig(b *strings.Builder) { sigAll(b, fmt.Sprintf("minmax%v", e.greatest), e.args) }
func (e *minmaxExpr) compile(sh *shape) evalFn {
	args, greatest, null := compileAll(e.args, sh), e.greatest, types.Null(e.t)
	return func(f *frame) (types.Value, error) {
		best := null
		for _, a := range args {
			v, err := a(f)
			if err != nil {
				return v, err
			}
			if v.Valid && (!best.Valid || (types.Compare(v, best) > 0) == greatest && types.Compare(v, best) != 0) {
				best = v
			}
		}
		return best, nil
	}
}

// arrayExpr is ARRAY[...].
type arrayExpr struct {
	at
	elems []expr
	elem  types.Type
}

func (e *arrayExpr) typ() types.Type        { return types.ArrayOf(e.elem.Kind) }
func (e *arrayExpr) children() []expr       { return e.elems }
func (e *arrayExpr) sig(b *strings.Builder) { sigAll(b, "array", e.elems) }
func (e *arrayExpr) compile(sh *shape) evalFn {
	fns, kind := compileAll(e.elems, sh), e.elem.Kind
	return func(f *frame) (types.Value, error) {
		vals := make([]types.Value, len(fns))
		for i, fn := range fns {
			v, err := fn(f)
			if err != nil {
				return v, err
			}
			vals[i] = v
		}
		return types.NewArray(kind, vals), nil
	}
}

// rowExpr is ROW(...).
type rowExpr struct {
	at
	elems []expr
}

func (e *rowExpr) typ() types.Type        { return types.Type{Kind: types.Record} }
func (e *rowExpr) children() []expr       { return e.elems }
func (e *rowExpr) sig(b *strings.Builder) { sigAll(b, "row", e.elems) }
func (e *rowExpr) compile(sh *shape) evalFn {
	fns := compileAll(e.elems, sh)
	return func(f *frame) (types.Value, error) {
		vals := make([]types.Value, len(fns))
		for i, fn := range fns {
			v, err := fn(f)
			if err != nil {
				return v, err
			}
			vals[i] = v
		}
		return types.NewRecord(vals), nil
	}
}

// anyExpr is "l op ANY (array)" or ALL.
type anyExpr struct {
	at
	l, array expr
	op       *callable
	all      bool
}

func (e *anyExpr) typ() types.Type  { return boolType }
func (e *anyExpr) children() []expr { return []expr{e.l, e.array} }
func (e *anyExpr) sig(b *strings.Builder) {
	sigAll(b, fmt.Sprintf("any%v%s", e.all, e.op.name), e.children())
}
func (e *anyExpr) compile(sh *shape) evalFn {
	l, arr, op, all := e.l.compile(sh), e.array.compile(sh), e.op, e.all
	return func(f *frame) (types.Value, error) {
		a, err := arr(f)
		if err != nil {
			return a, err
		}
		if !a.Valid {
			return types.Null(boolType), nil
		}
		x, err := l(f)
		if err != nil {
			return x, err
		}
		elems := a.Elems()
		if !x.Valid && len(elems) > 0 && op.strict {
			return types.Null(boolType), nil
		}
		null := false
		var pair [2]types.Value
		for _, v := range elems {
			if !v.Valid && op.strict {
				null = true
				continue
			}
			pair[0], pair[1] = x, v
			r, err := op.eval(f, pair[:])
			if err != nil {
				return r, err
			}
			if !r.Valid {
				null = true
			} else if r.True() != all {
				return types.NewBool(!all), nil
			}
		}
		if null {
			return types.Null(boolType), nil
		}
		return types.NewBool(all), nil
	}
}

// subscriptExpr is array[i].
type subscriptExpr struct {
	at
	array, index expr
}

func (e *subscriptExpr) typ() types.Type        { return e.array.typ().ElemType() }
func (e *subscriptExpr) children() []expr       { return []expr{e.array, e.index} }
func (e *subscriptExpr) sig(b *strings.Builder) { sigAll(b, "subscript", e.children()) }
func (e *subscriptExpr) compile(sh *shape) evalFn {
	arr, idx, null := e.array.compile(sh), e.index.compile(sh), types.Null(e.typ())
	return func(f *frame) (types.Value, error) {
		a, err := arr(f)
		if err != nil {
			return a, err
		}
		i, err := idx(f)
		if err != nil {
			return i, err
		}
		if elems := a.Elems(); a.Valid && i.Valid && i.N >= 1 && i.N <= int64(len(elems)) {
			return elems[i.N-1], nil
		}
		return null, nil
	}
}

// fieldExpr is (row).field by place.
type fieldExpr struct {
	at
	row expr
	n   int
	t   types.Type
}

func (e *fieldExpr) typ() types.Type        { return e.t }
func (e *fieldExpr) children() []expr       { return []expr{e.row} }
func (e *fieldExpr) sig(b *strings.Builder) { sigAll(b, fmt.Sprintf("field%d", e.n), e.children()) }
func (e *fieldExpr) compile(sh *shape) evalFn {
	row, n, null := e.row.compile(sh), e.n, types.Null(e.t)
	return func(f *frame) (types.Value, error) {
		v, err := row(f)
		if err != nil {
			return v, err
		}
		if el := v.Elems(); v.Valid && n < len(el) {
			return el[n], nil
		}
		return null, nil
	}
}
