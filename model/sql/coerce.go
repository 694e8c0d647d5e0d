package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/builtin"
	"simrun/model/types"
)

const (
	implicit   = types.Implicit
	assignment = types.Assignment
	explicit   = types.Explicit
)

// at gives an error of a lower package the position of a node.
func (a *analyzer) at(err error, loc int32) error {
	if e, ok := err.(*types.Error); ok && e != nil {
		c := *e
		return a.errAt(&c, loc)
	}
	return err
}

// coerce converts e to type t, as coerce_type does: literals are read as t, untyped parameters become t.
func (a *analyzer) coerce(e expr, t types.Type, typmod int32, ctx types.CastContext) (expr, error) {
	from := e.typ()
	if from.Kind == types.Unknown && t.Kind != types.Unknown {
		switch x := e.(type) {
		case *constExpr:
			v, err := a.literal(x, t)
			if err != nil {
				return nil, err
			}
			return a.modify(&constExpr{at: x.at, v: v}, typmod, ctx), nil
		case *paramExpr:
			a.params[x.n] = t
			return a.modify(x, typmod, ctx), nil
		}
		from.Kind = types.Text
	}
	if from == t || t.Kind == types.Unknown || t.Kind == types.Any {
		return a.modify(e, typmod, ctx), nil
	}
	if !types.CanCast(from, t, ctx) {
		if t.Kind == types.Record && from.Kind == types.Record {
			return e, nil
		}
		if ctx == explicit {
			return nil, a.errorf(e.loc(), "42846", "cannot cast type %s to %s", from, t)
		}
		return nil, errNoCast
	}
	out := &castExpr{at: at(e.loc()), e: e, to: t, typmod: -1}
	switch {
	case t.Kind == types.Regclass && from.Kind != types.OID && !isInt(from.Kind):
		out.fn = func(f *frame, v types.Value, _ int32) (types.Value, error) { return f.run.regclass(v.S) }
	case from.Kind == types.Regclass && t.Kind == types.Text || from.Kind == types.Regclass && t.Kind == types.Varchar:
		out.fn = func(f *frame, v types.Value, _ int32) (types.Value, error) {
			return types.NewString(t.Kind, f.run.regclassName(v.N)), nil
		}
	case !types.SameForm(from, t):
		out.fn = func(_ *frame, v types.Value, _ int32) (types.Value, error) { return types.Cast(v, t) }
	}
	if c, ok := e.(*constExpr); ok && t.Kind != types.Regclass && from.Kind != types.Regclass && t.Kind != types.Timestamptz {
		if v, err := out.compile(&shape{})(&frame{}); err == nil {
			return a.modify(&constExpr{at: c.at, v: v}, typmod, ctx), nil
		}
	}
	return a.modify(out, typmod, ctx), nil
}

func isInt(k types.Kind) bool { return k == types.Int2 || k == types.Int4 || k == types.Int8 }

// errNoCast is replaced by the caller's own wording.
var errNoCast = types.NewError("42846", "no such cast")

// literal reads an untyped literal as type t.
func (a *analyzer) literal(x *constExpr, t types.Type) (types.Value, error) {
	if !x.v.Valid {
		return types.Null(t), nil
	}
	if t.Kind == types.Regclass {
		v, err := a.cat.regclass(x.v.S)
		if err != nil {
			return v, a.at(err, x.loc())
		}
		return v, nil
	}
	v, err := types.Parse(x.v.S, t)
	if err != nil {
		return v, a.at(err, x.loc())
	}
	return v, nil
}

// modify applies a type modifier (varchar(n), numeric(p,s)).
func (a *analyzer) modify(e expr, typmod int32, ctx types.CastContext) expr {
	if typmod < 0 {
		return e
	}
	if v, ok := e.(*varExpr); ok && v.typmod == typmod {
		return e
	}
	return &castExpr{at: at(e.loc()), e: e, to: e.typ(), typmod: typmod,
		fn: func(_ *frame, v types.Value, m int32) (types.Value, error) {
			return types.ApplyMod(v, types.Mod(m), ctx == explicit)
		}}
}

// settle gives an expression that is still untyped the type text.
func (a *analyzer) settle(e expr) (expr, error) {
	if e.typ().Kind == types.Unknown {
		return a.coerce(e, types.Type{Kind: types.Text}, -1, implicit)
	}
	return e, nil
}

// operator resolves and applies an operator; l is nil for a prefix operator.
func (a *analyzer) operator(name string, l, r expr, loc int32) (expr, error) {
	var lt types.Type
	if l != nil {
		lt = l.typ()
	}
	if l != nil {
		if lr, ok := l.(*rowExpr); ok {
			if rr, ok := r.(*rowExpr); ok && len(lr.elems) == len(rr.elems) {
				q := a.newQuery(nil)
				return q.rowCompareExprs(lr.elems, rr.elems, name, loc)
			}
		}
	}
	f, ferr := builtin.FindOperator(name, lt, r.typ(), l == nil)
	if ferr != nil {
		return nil, a.at(ferr, loc)
	}
	args := []expr{l, r}
	if l == nil {
		args = args[1:]
	}
	return a.apply(f, args, loc)
}

// apply makes the call of a resolved function.
func (a *analyzer) apply(f *builtin.Func, args []expr, loc int32) (expr, error) {
	out := &callExpr{at: at(loc), fn: builtinCallable(f)}
	for i, arg := range args {
		c, err := a.coerce(arg, f.Args[i], -1, implicit)
		if err != nil {
			if err == error(errNoCast) {
				return nil, a.errorf(loc, "42883", "function %s does not exist", f.Name)
			}
			return nil, err
		}
		out.args = append(out.args, c)
	}
	if f.Volatility == 'v' {
		a.volatile = true
	}
	return out, nil
}

func builtinCallable(f *builtin.Func) *callable {
	eval := f.Eval
	return &callable{name: f.Name, ret: f.Ret, strict: f.Strict, volatile: f.Volatility,
		eval: func(fr *frame, args []types.Value) (types.Value, error) { return eval(fr.run, args) }}
}

// call resolves and applies a plain built-in function.
func (a *analyzer) call(name string, args []expr, loc int32) (expr, error) {
	ts := make([]types.Type, len(args))
	for i, e := range args {
		ts[i] = e.typ()
	}
	f, ferr := builtin.FindFunction(name, ts, false)
	if ferr != nil {
		return nil, a.at(ferr, loc)
	}
	return a.apply(f, args, loc)
}

// unify brings expressions to their common type (UNION, CASE, COALESCE, ARRAY, VALUES).
func (a *analyzer) unify(es []expr, context string) ([]expr, types.Type, error) {
	ts := make([]types.Type, len(es))
	for i, e := range es {
		ts[i] = e.typ()
	}
	t, cerr := builtin.CommonType(ts, context)
	if cerr != nil {
		loc := int32(-1)
		for i, e := range es { // Postgres points at the first that does not match those before it
			if _, err := builtin.CommonType(ts[:i+1], context); err != nil {
				loc = e.loc()
				break
			}
		}
		return nil, t, a.at(cerr, loc)
	}
	out := make([]expr, len(es))
	for i, e := range es {
		c, err := a.coerce(e, t, -1, implicit)
		if err != nil {
			if err == error(errNoCast) {
				return nil, t, a.errorf(e.loc(), "42846", "%s could not convert type %s to %s", context, e.typ(), t)
			}
			return nil, t, err
		}
		out[i] = c
	}
	return out, t, nil
}

// otherTypes are those of Postgres that the model does not have.
var otherTypes = strings.Fields(`aclitem anycompatiblemultirange anycompatiblenonarray anycompatiblerange anyenum anymultirange anyrange
	bit box cid cidr circle cstring datemultirange daterange event_trigger fdw_handler index_am_handler inet int2vector int4multirange
	int4range int8range internal jsonpath language_handler line lseg macaddr macaddr8 money nummultirange numrange oidvector path
	pg_snapshot point polygon refcursor regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure
	regrole table_am_handler tid timetz tsmultirange tsm_handler tsquery tsrange tstzmultirange tstzrange tsvector txid_snapshot
	varbit xid xml`)

// typeName reads a type of the grammar.
func (a *analyzer) typeName(n *pg.TypeName) (types.Type, int32, error) {
	names := strs(n.Names)
	name := names[len(names)-1]
	if name == "char" && len(names) == 1 { // "char" in quotes; char(n) arrives as pg_catalog.bpchar
		name = "char"
	}
	t, ok := types.ByName(name)
	if !ok && slices.Contains(otherTypes, name) {
		return t, -1, a.unsupported(n.Location, "type "+name)
	}
	if !ok || name == "unknown" {
		return t, -1, a.errorf(n.Location, "42704", "type %q does not exist", strings.Join(names, "."))
	}
	typmod := int32(-1)
	var mods []int32
	for _, m := range n.Typmods {
		c := m.GetAConst()
		if c == nil {
			return t, -1, a.unsupported(n.Location, "this type modifier")
		}
		mods = append(mods, c.GetIval().GetIval())
	}
	switch {
	case len(mods) == 0:
	case t.Kind == types.Varchar || t.Kind == types.Bpchar:
		if mods[0] < 1 {
			return t, -1, a.errorf(n.Location, "22023", "length for type %s must be at least 1", name)
		}
		typmod = mods[0] + 4
	case t.Kind == types.Numeric:
		scale := int32(0)
		if len(mods) > 1 {
			scale = mods[1]
		}
		if mods[0] < 1 || mods[0] > 1000 {
			return t, -1, a.errorf(n.Location, "22023", "NUMERIC precision %d must be between 1 and 1000", mods[0])
		}
		typmod = int32(types.NumericMod(mods[0], scale))
	case t.Kind == types.Timestamp || t.Kind == types.Timestamptz || t.Kind == types.Time:
		typmod = mods[0]
	case t.Kind == types.Interval:
	default:
		return t, -1, a.errorf(n.Location, "42601", "type modifier is not allowed for type %q", name)
	}
	if len(n.ArrayBounds) > 0 {
		if len(n.ArrayBounds) > 1 {
			return t, -1, a.unsupported(n.Location, "a multidimensional array")
		}
		return types.ArrayOf(t.Kind), -1, nil
	}
	if n.Setof {
		return t, typmod, nil
	}
	return t, typmod, nil
}
