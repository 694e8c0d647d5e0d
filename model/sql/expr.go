package sql

import (
	"fmt"
	"strings"

	"simrun/model/types"
)

// expr is an analysed expression: names resolved, types known.
type expr interface {
	typ() types.Type
	loc() int32            // byte offset in the statement's text, -1 unknown
	children() []expr      // operands, for walks
	sig(*strings.Builder)  // text that is equal for structurally equal expressions
	compile(*shape) evalFn // closure
}

// at is the embedded position of an expression.
type at int32

func (p at) loc() int32 { return int32(p) }

func signature(e expr) string {
	var b strings.Builder
	e.sig(&b)
	return b.String()
}

func sigAll(b *strings.Builder, name string, es []expr) {
	b.WriteString(name)
	b.WriteByte('(')
	for _, e := range es {
		e.sig(b)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}

// walk visits e and what is below it, as long as visit returns true.
func walk(e expr, visit func(expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, c := range e.children() {
		walk(c, visit)
	}
}

// constExpr is a constant; of type Unknown it is a string literal or NULL whose type is still open.
type constExpr struct {
	at
	v types.Value
}

func (e *constExpr) typ() types.Type  { return e.v.T }
func (e *constExpr) children() []expr { return nil }
func (e *constExpr) sig(b *strings.Builder) {
	fmt.Fprintf(b, "c%v:%v:%d:%q:%v", e.v.T, e.v.Valid, e.v.N, e.v.S, e.v.L)
}
func (e *constExpr) compile(*shape) evalFn {
	v := e.v
	return func(*frame) (types.Value, error) { return v, nil }
}

// paramExpr is $n. Its type is settled by the first context that needs one.
type paramExpr struct {
	at
	a *analyzer
	n int // from 0
}

func (e *paramExpr) typ() types.Type        { return e.a.params[e.n] }
func (e *paramExpr) children() []expr       { return nil }
func (e *paramExpr) sig(b *strings.Builder) { fmt.Fprintf(b, "$%d", e.n) }
func (e *paramExpr) compile(*shape) evalFn {
	n := e.n
	return func(f *frame) (types.Value, error) { return f.params[n], nil }
}

// varExpr is a column of the current row of a relation of the frame.
type varExpr struct {
	at
	rel, col int
	t        types.Type
	typmod   int32
	name     string
}

func (e *varExpr) typ() types.Type        { return e.t }
func (e *varExpr) children() []expr       { return nil }
func (e *varExpr) sig(b *strings.Builder) { fmt.Fprintf(b, "v%d.%d", e.rel, e.col) }
func (e *varExpr) compile(*shape) evalFn {
	rel, col, null := e.rel, e.col, types.Null(e.t)
	return func(f *frame) (types.Value, error) {
		if r := f.rows[rel]; col < len(r) {
			return r[col], nil
		}
		return null, nil // null-extended by an outer join
	}
}

// rowVar is a whole row of a relation.
type rowVar struct {
	at
	rel  int
	cols []nsCol
}

func (e *rowVar) typ() types.Type        { return types.Type{Kind: types.Record} }
func (e *rowVar) children() []expr       { return nil }
func (e *rowVar) sig(b *strings.Builder) { fmt.Fprintf(b, "v%d.*", e.rel) }
func (e *rowVar) compile(sh *shape) evalFn {
	rel := e.rel
	fns := make([]evalFn, len(e.cols))
	for i, c := range e.cols {
		fns[i] = c.e.compile(sh)
	}
	return func(f *frame) (types.Value, error) {
		if f.rows[rel] == nil {
			return types.Value{T: types.Type{Kind: types.Record}}, nil
		}
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

// sysVar is a system column.
type sysVar struct {
	at
	rel  int
	name string
	t    types.Type
}

func (e *sysVar) typ() types.Type        { return e.t }
func (e *sysVar) children() []expr       { return nil }
func (e *sysVar) sig(b *strings.Builder) { fmt.Fprintf(b, "s%d.%s", e.rel, e.name) }
func (e *sysVar) compile(*shape) evalFn {
	rel, t := e.rel, e.t
	return func(f *frame) (types.Value, error) { // tableoid, the only one admitted
		if tab := f.refs[rel].table; tab != nil {
			oid := int64(tab.OID)
			return types.Value{T: t, Valid: true, N: oid, S: f.run.regclassName(oid)}, nil
		}
		return types.Null(t), nil
	}
}

// callable is a function or operator with its overload resolved.
type callable struct {
	name     string
	ret      types.Type
	strict   bool
	volatile byte // 'i', 's', 'v'
	eval     func(f *frame, args []types.Value) (types.Value, error)
	cols     []Col // columns of a result that is a row
}

// callExpr is a function call or an operator.
type callExpr struct {
	at
	fn   *callable
	args []expr
}

func (e *callExpr) typ() types.Type        { return e.fn.ret }
func (e *callExpr) children() []expr       { return e.args }
func (e *callExpr) sig(b *strings.Builder) { sigAll(b, e.fn.name, e.args) }

func (e *callExpr) compile(sh *shape) evalFn {
	if fn := fastCall(e, sh); fn != nil {
		return fn
	}
	fn, null := e.fn, types.Null(e.fn.ret)
	args := compileAll(e.args, sh)
	slot := sh.newSlot()
	n := len(args)
	return func(f *frame) (types.Value, error) {
		st := state[argState](f, slot)
		if st.busy { // a recursive call needs arguments of its own
			st = &argState{}
		}
		if st.buf == nil {
			st.buf = make([]types.Value, n)
		}
		vals := st.buf[:n]
		st.busy = true
		defer st.free()
		for i, a := range args {
			v, err := a(f)
			if err != nil {
				return v, err
			}
			if !v.Valid && fn.strict {
				return null, nil
			}
			vals[i] = v
		}
		return fn.eval(f, vals)
	}
}

// argState is the argument buffer of one call site.
type argState struct {
	buf  []types.Value
	busy bool
}

func (s *argState) free() { s.busy = false }

func compileAll(es []expr, sh *shape) []evalFn {
	fns := make([]evalFn, len(es))
	for i, e := range es {
		fns[i] = e.compile(sh)
	}
	return fns
}

// castExpr converts a value with a function of the catalog (nil: the bits stay, the type changes).
type castExpr struct {
	at
	e      expr
	to     types.Type
	typmod int32
	fn     func(f *frame, v types.Value, typmod int32) (types.Value, error)
}

func (e *castExpr) typ() types.Type  { return e.to }
func (e *castExpr) children() []expr { return []expr{e.e} }
func (e *castExpr) sig(b *strings.Builder) {
	fmt.Fprintf(b, "cast%v/%d", e.to, e.typmod)
	sigAll(b, "", []expr{e.e})
}
func (e *castExpr) compile(sh *shape) evalFn {
	in, to, fn, typmod := e.e.compile(sh), e.to, e.fn, e.typmod
	return func(f *frame) (types.Value, error) {
		v, err := in(f)
		if err != nil {
			return v, err
		}
		if !v.Valid {
			return types.Null(to), nil
		}
		if fn == nil {
			v.T = to
			return v, nil
		}
		return fn(f, v, typmod)
	}
}
