package sql

import (
	"regexp"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_CreateFunctionStmt) (*Compiled, error) {
		s := n.CreateFunctionStmt
		tag := "CREATE FUNCTION"
		if s.IsProcedure {
			tag = "CREATE PROCEDURE"
		}
		return a.utility(tag, func(rn *run, a *analyzer) error { return rn.createFunction(a, s) }), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_DoStmt) (*Compiled, error) {
		s := n.DoStmt
		return a.utility("DO", func(rn *run, a *analyzer) error { return rn.do(a, s) }), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_CallStmt) (*Compiled, error) {
		s := n.CallStmt
		return &Compiled{tag: "CALL", util: func(rn *run) (*Result, error) {
			return &Result{Tag: "CALL"}, rn.callProcedure(a, s.Funccall)
		}}, nil
	})
}

func (rn *run) createFunction(a *analyzer, s *pg.CreateFunctionStmt) error {
	f := &Function{Owner: rn.s.user(), Volatility: 'v', Public: true, Text: a.sql, Procedure: s.IsProcedure}
	names := strs(s.Funcname)
	f.Name = names[len(names)-1]
	schema := ""
	if len(names) > 1 {
		schema = names[0]
	}
	var err error
	if f.Schema, err = a.cat.creationSchema(schema); err != nil {
		return err
	}
	if err := rn.mayCreateIn(f.Schema); err != nil {
		return err
	}
	if err := a.functionParams(f, s); err != nil {
		return err
	}
	if err := a.functionOptions(f, s); err != nil {
		return err
	}
	switch f.Language {
	case "sql":
		if s.SqlBody != nil {
			f.stmts = sqlBody(s.SqlBody)
		}
		if _, err := f.body(a.cat, ""); err != nil {
			return f.transpose(a.sql, err)
		}
	case "plpgsql":
		if f.prog, err = compilePL(a, plSource(f), f); err != nil {
			return f.transpose(a.sql, inward(err))
		}
	default:
		return a.unsupported(-1, "LANGUAGE "+f.Language)
	}
	old, exists := a.cat.find(classFunction, f.key())
	if !exists {
		f.OID = oidOf(rn.x.NewRelation(f.key()))
		return rn.x.Define(classFunction, f.key(), f)
	}
	was := old.(*Function)
	if !s.Replace {
		return types.Errorf("42723", "function %q already exists with same argument types", f.Name)
	}
	if err := rn.owns(was.Owner, "function", f.Name); err != nil {
		return err
	}
	if was.Ret != f.Ret || was.Set != f.Set {
		return types.NewError("42P13", "cannot change return type of existing function").
			WithHint("Use DROP FUNCTION %s first.", f.signature())
	}
	f.OID, f.Owner, f.ACL, f.Public = was.OID, was.Owner, was.ACL, was.Public
	return rn.x.Replace(classFunction, f.key(), f)
}

// transpose turns the position of an error in the body into one in the CREATE statement, when the body stands there just as it is.
func (f *Function) transpose(sql string, err error) error {
	e, ok := err.(*types.Error)
	if !ok || f.Body == "" || strings.Count(sql, f.Body) != 1 {
		return err
	}
	c := *e
	at := strings.Index(sql, f.Body)
	start := utf8.RuneCountInString(sql[:at])
	if c.Position > 0 {
		c.Position += start
	} else if _, rest, found := strings.Cut(e.Message, `at or near "`); found && strings.Count(f.Body, strings.TrimSuffix(rest, `"`)) == 1 {
		c.Position = start + utf8.RuneCountInString(f.Body[:strings.Index(f.Body, strings.TrimSuffix(rest, `"`))]) + 1
	}
	return &c
}

// sqlBody are the statements of BEGIN ATOMIC .. END, or of RETURN expression, which is a SELECT.
func sqlBody(n *pg.Node) []*pg.Node {
	if r := n.GetReturnStmt(); r != nil {
		target := &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: r.Returnval}}}
		return []*pg.Node{{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{TargetList: []*pg.Node{target}, Op: pg.SetOperation_SETOP_NONE,
			LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT}}}}
	}
	var out []*pg.Node
	if l := n.GetList(); l != nil {
		for _, it := range l.Items {
			out = append(out, sqlBody(it)...)
		}
		return out
	}
	return []*pg.Node{n}
}

var paramModes = map[pg.FunctionParameterMode]byte{pg.FunctionParameterMode_FUNC_PARAM_IN: 'i', pg.FunctionParameterMode_FUNC_PARAM_OUT: 'o',
	pg.FunctionParameterMode_FUNC_PARAM_INOUT: 'b', pg.FunctionParameterMode_FUNC_PARAM_VARIADIC: 'v',
	pg.FunctionParameterMode_FUNC_PARAM_TABLE: 't', pg.FunctionParameterMode_FUNC_PARAM_DEFAULT: 'i'}

// functionParams reads parameters and result.
func (a *analyzer) functionParams(f *Function, s *pg.CreateFunctionStmt) error {
	var outs []Col
	for _, pn := range s.Parameters {
		p := pn.GetFunctionParameter()
		t, _, err := a.resultType(p.ArgType)
		if err != nil {
			return err
		}
		f.Params = append(f.Params, Param{Name: p.Name, Type: t, Mode: paramModes[p.Mode], Default: p.Defexpr})
		switch paramModes[p.Mode] {
		case 'o', 'b', 't':
			name := p.Name
			if name == "" {
				name = "column" + itoa(len(outs)+1)
			}
			outs = append(outs, Col{Name: name, Type: t})
			f.Set = f.Set || paramModes[p.Mode] == 't'
		}
	}
	switch {
	case s.ReturnType == nil && len(outs) == 0:
		if !f.Procedure {
			return types.NewError("42P13", "function result type must be specified")
		}
		f.Ret = types.Of(types.Void)
	case len(outs) == 1 && !(f.Set && s.ReturnType == nil):
		f.Ret = outs[0].Type
		if f.Params[len(f.Params)-1].Mode == 't' {
			f.Cols = outs
		}
	case len(outs) > 0:
		f.Ret, f.Cols = types.Of(types.Record), outs
	}
	if s.ReturnType == nil {
		return nil
	}
	t, table, err := a.resultType(s.ReturnType)
	if err != nil {
		return err
	}
	f.Set = f.Set || s.ReturnType.Setof
	if len(outs) > 0 {
		if !f.Set && t != f.Ret {
			return types.Errorf("42P13", "function result type must be %s because of OUT parameters", f.Ret)
		}
		if len(outs) == 1 && f.Params[len(f.Params)-1].Mode == 't' { // RETURNS TABLE of one column
			f.Ret = outs[0].Type
		}
		return nil
	}
	f.Ret = t
	if table != nil {
		f.RetTable, f.Cols = table.QName(), rowCols(table)
	}
	return nil
}

// resultType is a type of a signature: also void, trigger, record, and the row type of a table.
func (a *analyzer) resultType(n *pg.TypeName) (types.Type, *Relation, error) {
	names := strs(n.Names)
	if n.PctType {
		r, err := a.cat.relation("", names[len(names)-2])
		if err != nil {
			return types.Type{}, nil, err
		}
		i := r.Col(names[len(names)-1])
		if i < 0 {
			return types.Type{}, nil, types.Errorf("42703", "column %q of relation %q does not exist", names[len(names)-1], r.Name)
		}
		return r.Columns[i].Type, nil, nil
	}
	t, _, err := a.typeName(n)
	if err == nil {
		if t.Kind.IsPseudo() {
			return t, nil, a.unsupported(n.Location, "type "+t.String())
		}
		return t, nil, nil
	}
	schema := ""
	if len(names) > 1 {
		schema = names[0]
	}
	if r := a.cat.lookup(schema, names[len(names)-1]); r != nil && len(n.ArrayBounds) == 0 {
		return types.Of(types.Record), r, nil
	}
	return t, nil, err
}

// functionOptions reads LANGUAGE, AS and the other clauses.
func (a *analyzer) functionOptions(f *Function, s *pg.CreateFunctionStmt) error {
	f.Language = "sql"
	for _, on := range s.Options {
		o := on.GetDefElem()
		switch o.Defname {
		case "language":
			f.Language = strings.ToLower(o.Arg.GetString_().GetSval())
		case "as":
			if l := o.Arg.GetList(); l != nil && len(l.Items) > 0 {
				f.Body = l.Items[0].GetString_().GetSval()
			} else {
				f.Body = o.Arg.GetString_().GetSval()
			}
		case "volatility":
			f.Volatility = o.Arg.GetString_().GetSval()[0]
		case "strict":
			f.Strict = o.Arg.GetBoolean().GetBoolval()
		case "security":
			f.Definer = o.Arg.GetBoolean().GetBoolval()
		case "set":
			v := o.Arg.GetVariableSetStmt()
			if v == nil || v.Kind != pg.VariableSetKind_VAR_SET_VALUE {
				return a.unsupported(o.Location, "this SET clause of a function")
			}
			value, err := a.setValue(v)
			if err != nil {
				return err
			}
			f.Config = append(f.Config, v.Name, value)
		case "leakproof", "cost", "rows", "parallel", "support", "window":
		default:
			return a.unsupported(o.Location, "function option "+o.Defname)
		}
	}
	return nil
}

// returnNextVar finds RETURN NEXT of a plain variable, which libpg_query's tree leaves out. In parentheses it is an expression.
var returnNextVar = regexp.MustCompile(`(?i)(\breturn\s+next\s+)([a-z_][a-z_0-9$]*)(?:\b)`)

// plSource is a CREATE FUNCTION statement for libpg_query's PL/pgSQL parser: it wants to see parameters, result and body, and
// must not meet the row types of tables, which it does not know.
func plSource(f *Function) string {
	var b strings.Builder
	b.WriteString("CREATE FUNCTION f(")
	for i, p := range f.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		mode := map[byte]string{'i': "", 'o': "OUT ", 'b': "INOUT ", 'v': "VARIADIC ", 't': "OUT "}[p.Mode]
		b.WriteString(mode)
		if p.Name != "" {
			b.WriteString(quoteIdent(p.Name) + " ")
		}
		t := p.Type.String()
		if p.Type.Kind == types.Record {
			t = "record"
		}
		b.WriteString(t)
	}
	b.WriteString(") RETURNS ")
	if f.Set {
		b.WriteString("SETOF ")
	}
	switch {
	case f.Ret.Kind == types.Record || f.rowKind():
		b.WriteString("record")
	default:
		b.WriteString(f.Ret.String())
	}
	const tag = "$simrun$"
	b.WriteString(" LANGUAGE plpgsql AS " + tag + returnNextVar.ReplaceAllString(f.Body, "$1($2)") + tag)
	return b.String()
}

// do runs an anonymous block.
func (rn *run) do(a *analyzer, s *pg.DoStmt) error {
	f := &Function{Name: "inline_code_block", Ret: types.Of(types.Void), Volatility: 'v', Language: "plpgsql", Owner: rn.s.user(), Public: true}
	for _, on := range s.Args {
		switch o := on.GetDefElem(); o.Defname {
		case "as":
			f.Body = o.Arg.GetString_().GetSval()
		case "language":
			if lang := strings.ToLower(o.Arg.GetString_().GetSval()); lang != "plpgsql" {
				return types.Errorf("0A000", "language \"%s\" does not support inline code execution", lang)
			}
		}
	}
	var err error
	if f.prog, err = compilePL(a, plSource(f), f); err != nil {
		return inward(err)
	}
	_, err = f.call(rn, nil)
	return err
}

// callProcedure is CALL.
func (rn *run) callProcedure(old *analyzer, n *pg.FuncCall) error {
	a := rn.analyzer(old.sql)
	names := strs(n.Funcname)
	schema := ""
	if len(names) > 1 {
		schema = names[0]
	}
	q := a.newQuery(nil)
	args, err := q.exprs(n.Args)
	if err != nil {
		return err
	}
	for _, f := range a.cat.functionsNamed(schema, names[len(names)-1]) {
		in := f.argTypes()
		if !f.Procedure || len(in) != len(args) {
			continue
		}
		if f.rowKind() || f.Ret.Kind != types.Void {
			return a.unsupported(n.Location, "CALL of a procedure with OUT parameters")
		}
		vals := make([]types.Value, len(args))
		for i := range args {
			e, err := a.coerce(args[i], in[i], -1, implicit)
			if err != nil {
				return err
			}
			fr := &frame{run: rn}
			fn := e.compile(&a.shape)
			fr.rows, fr.refs, fr.st = make([][]types.Value, a.rels), make([]rowRef, a.rels), make([]any, a.slots)
			if vals[i], err = fn(fr); err != nil {
				return err
			}
		}
		_, err := f.call(rn, vals)
		return err
	}
	ts := make([]types.Type, len(args))
	for i, e := range args {
		ts[i] = e.typ()
	}
	return a.errorf(n.Location, "42883", "procedure %s(%s) does not exist", strings.Join(names, "."), strings.ReplaceAll(typeList(ts), ",", ", ")).
		WithHint("No procedure matches the given name and argument types. You might need to add explicit type casts.")
}

// functionOf finds the function that DROP or GRANT names, with or without its argument types.
func (a *analyzer) functionOf(o *pg.ObjectWithArgs) (*Function, error) {
	names := strs(o.Objname)
	schema := ""
	if len(names) > 1 {
		schema = names[0]
	}
	fns := a.cat.functionsNamed(schema, names[len(names)-1])
	full := strings.Join(names, ".")
	if o.ArgsUnspecified {
		switch len(fns) {
		case 0:
			return nil, types.Errorf("42883", "could not find a function named %q", full)
		case 1:
			return fns[0], nil
		}
		return nil, types.Errorf("42725", "function name %q is not unique", full).
			WithHint("Specify the argument list to select the function unambiguously.")
	}
	var want []types.Type
	for _, an := range o.Objargs {
		t, _, err := a.resultType(an.GetTypeName())
		if err != nil {
			return nil, err
		}
		want = append(want, t)
	}
	for _, f := range fns {
		if typeList(f.argTypes()) == typeList(want) {
			return f, nil
		}
	}
	return nil, types.Errorf("42883", "function %s(%s) does not exist", full, typeList(want))
}
