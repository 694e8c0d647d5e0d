package sql

import (
	"strings"
	"sync"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/builtin"
	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

// Param is a parameter of a function.
type Param struct {
	Name    string
	Type    types.Type
	Mode    byte     // 'i' in, 'o' out, 'b' inout, 'v' variadic, 't' a column of RETURNS TABLE
	Default *pg.Node // nil: none
}

// Function is the catalog's payload for a function or procedure. It is immutable.
type Function struct {
	Schema, Name string
	OID          uint32
	Owner        string
	Params       []Param
	Ret          types.Type
	RetTable     string // qualified name of the table whose row type is returned
	Set          bool   // SETOF or TABLE
	Cols         []Col  // columns of the result when it is a row
	Language     string // "sql" or "plpgsql"
	Volatility   byte
	Strict       bool
	Definer      bool // SECURITY DEFINER
	Procedure    bool
	Body         string
	Text         string   // of the CREATE statement, which the positions of defaults refer to
	Config       []string // SET clauses: name, value, name, value ...
	ACL          []Grant
	Public       bool // PUBLIC may execute it

	stmts []*pg.Node // of an SQL-standard body (BEGIN ATOMIC or RETURN)
	prog  *plProgram // of a PL/pgSQL function, made when it is created

	mu    sync.Mutex
	inner map[string]*keptInner // compiled statements of an SQL function, by catalog version
}

// Col is a named column of a function's result.
type Col struct {
	Name string
	Type types.Type
}

// inputs are the parameters that a call gives.
func (f *Function) inputs() []Param {
	var in []Param
	for _, p := range f.Params {
		if p.Mode != 'o' && p.Mode != 't' {
			in = append(in, p)
		}
	}
	return in
}

func (f *Function) argTypes() []types.Type {
	var ts []types.Type
	for _, p := range f.inputs() {
		ts = append(ts, p.Type)
	}
	return ts
}

// key is the function's name in the catalog: functions of one name differ in their argument types.
func (f *Function) key() string { return functionKey(f.Schema, f.Name, f.argTypes()) }

func functionKey(schema, name string, args []types.Type) string {
	return schema + "." + name + "(" + typeList(args) + ")"
}

// signature is name(types) as messages print it.
func (f *Function) signature() string { return f.Name + "(" + typeList(f.argTypes()) + ")" }

func typeList(ts []types.Type) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.String()
	}
	return strings.Join(names, ",")
}

// functionsNamed are the visible functions of a name, those of the first schema of the path that has one first.
func (c *catalog) functionsNamed(schema, name string) []*Function {
	bySchema := map[string][]*Function{}
	c.d.st.List(c.id, classFunction, func(_ string, p any) bool {
		if f := p.(*Function); f.Name == name {
			bySchema[f.Schema] = append(bySchema[f.Schema], f)
		}
		return true
	})
	if schema != "" {
		return bySchema[schema]
	}
	var out []*Function
	for _, s := range c.path {
		out = append(out, bySchema[s]...)
	}
	return out
}

// userCall is a call of a function that a user defined, resolved for its argument types.
type userCall struct {
	args   []types.Type
	set    bool // it returns a set, or a row of several columns
	expr   func(a *analyzer, args []expr, loc int32) expr
	source func(a *analyzer, args []expr) *tableSource
}

// userFunction finds a user-defined function; nil when there is none of the name.
func (a *analyzer) userFunction(schema, name string, args []types.Type, spread bool) (*userCall, *types.Error) {
	fns := a.cat.functionsNamed(schema, name)
	if len(fns) == 0 {
		return nil, nil
	}
	cands := make([]builtin.Candidate, len(fns))
	for i, f := range fns {
		in := f.inputs()
		c := builtin.Candidate{Args: f.argTypes()}
		for _, p := range in {
			if p.Default != nil {
				c.Defaults++
			}
			c.Variadic = c.Variadic || p.Mode == 'v'
		}
		cands[i] = c
	}
	at, params, many, ok := builtin.Resolve(cands, args, spread)
	full := name
	if schema != "" {
		full = schema + "." + name
	}
	switch {
	case many:
		return nil, builtin.AmbiguousFunction(full, args)
	case !ok:
		if builtin.Exists(name) && schema == "" { // a built-in function of the name may fit
			return nil, nil
		}
		return nil, builtin.NoFunction(full, args)
	}
	f := fns[at]
	if f.Procedure {
		return nil, types.Errorf("42809", "%s is a procedure", f.signatureWith(args)).WithHint("To call a procedure, use CALL.")
	}
	if f.Volatility == 'v' {
		a.volatile = true
	}
	u := &userCall{args: params, set: f.Set}
	u.expr = func(a *analyzer, args []expr, loc int32) expr { return a.callFunction(f, args, spread, loc) }
	u.source = func(a *analyzer, args []expr) *tableSource { return a.functionSource(f, args, spread) }
	return u, nil
}

func (f *Function) signatureWith(args []types.Type) string {
	names := make([]string, len(args))
	for i, t := range args {
		names[i] = t.String()
	}
	return f.Name + "(" + strings.Join(names, ", ") + ")"
}

// allArgs adds the defaults of arguments that a call leaves out, and packs those of a VARIADIC parameter into an array.
func (a *analyzer) allArgs(f *Function, args []expr, spread bool) ([]expr, error) {
	in := f.inputs()
	n := len(in)
	if n > 0 && in[n-1].Mode == 'v' && !spread {
		elem := in[n-1].Type.ElemType()
		rest := args[n-1:]
		args = append(append([]expr{}, args[:n-1]...), &arrayExpr{at: -1, elems: rest, elem: elem})
	}
	for i := len(args); i < n; i++ {
		saved := a.sql
		a.sql = f.Text
		e, err := a.newQuery(nil).expr(in[i].Default)
		a.sql = saved
		if err != nil {
			return nil, err
		}
		if e, err = a.coerce(e, in[i].Type, -1, implicit); err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	return args, nil
}

// rowKind says whether the function gives rows of several columns.
func (f *Function) rowKind() bool { return len(f.Cols) > 0 }

// callFunction is a call in an expression; a function with several result columns gives a record there.
func (a *analyzer) callFunction(f *Function, args []expr, spread bool, loc int32) expr {
	all, err := a.allArgs(f, args, spread)
	fn := &callable{name: f.key(), ret: f.Ret, strict: f.Strict, volatile: f.Volatility, cols: f.Cols,
		eval: func(fr *frame, vals []types.Value) (types.Value, error) {
			if err != nil {
				return types.Value{}, err
			}
			rows, err := f.call(fr.run, append([]types.Value{}, vals...))
			if err != nil {
				return types.Value{}, err
			}
			if len(rows) == 0 {
				return types.Null(f.Ret), nil
			}
			if f.rowKind() {
				return types.NewRecord(rows[0]), nil
			}
			return rows[0][0], nil
		}}
	return &callExpr{at: at(loc), fn: fn, args: all}
}

// functionSource is a call in FROM.
func (a *analyzer) functionSource(f *Function, args []expr, spread bool) *tableSource {
	src := &tableSource{name: f.Name, scalar: !f.rowKind()}
	for _, c := range f.Cols {
		src.cols = append(src.cols, outCol{name: c.Name, t: c.Type})
	}
	if src.scalar {
		src.cols = []outCol{{name: f.Name, t: f.Ret}}
	}
	all, aerr := a.allArgs(f, args, spread)
	fns := compileAll(all, &a.shape)
	src.rows = func(fr *frame) ([][]types.Value, error) {
		if aerr != nil {
			return nil, aerr
		}
		vals := make([]types.Value, len(fns))
		for i, fn := range fns {
			v, err := fn(fr)
			if err != nil {
				return nil, err
			}
			if !v.Valid && f.Strict {
				if f.Set {
					return nil, nil
				}
				return [][]types.Value{nullRow(src.cols)}, nil
			}
			vals[i] = v
		}
		rows, err := f.call(fr.run, vals)
		if err == nil && len(rows) == 0 && !f.Set {
			rows = [][]types.Value{nullRow(src.cols)}
		}
		return rows, err
	}
	return src
}

func nullRow(cols []outCol) []types.Value {
	row := make([]types.Value, len(cols))
	for i := range row {
		row[i] = types.Null(cols[i].t)
	}
	return row
}

// call runs the function and gives its rows: at most one unless it returns a set.
func (f *Function) call(rn *run, args []types.Value) ([][]types.Value, error) {
	if f.Ret.Kind == types.Trigger {
		return nil, types.NewError("0A000", "trigger functions can only be called as triggers")
	}
	if rn.depth >= maxDepth {
		return nil, types.NewError("54001", "stack depth limit exceeded").
			WithHint("Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.")
	}
	if !rn.d.mayExecute(rn.s, f) {
		kind := "function"
		if f.Procedure {
			kind = "procedure"
		}
		return nil, types.Errorf("42501", "permission denied for %s %s", kind, f.Name)
	}
	rn.depth++
	defer func() { rn.depth-- }()
	restore, err := f.enter(rn)
	if err != nil {
		return nil, err
	}
	var rows [][]types.Value
	if f.prog != nil {
		rows, err = f.prog.call(rn, f, args)
	} else {
		rows, err = f.callSQL(rn, args)
	}
	if err != storage.ErrWait { // a statement that waits is run again from its start, with the settings of its start
		restore()
	}
	return rows, err
}

// enter applies SECURITY DEFINER and SET clauses, and gives the function that undoes them.
func (f *Function) enter(rn *run) (restore func(), err error) {
	if !f.Definer && len(f.Config) == 0 {
		return func() {}, nil
	}
	s := rn.s
	type old struct {
		name, value string
		inherited   bool
	}
	var olds []old
	keep := func(name string) { olds = append(olds, old{name: name, value: s.get(name)}) }
	restore = func() {
		for i := len(olds) - 1; i >= 0; i-- {
			s.settings.set(olds[i].name, olds[i].value, true, olds[i].inherited)
		}
	}
	if f.Definer {
		keep("role")
		s.settings.set("role", f.Owner, true, false)
	}
	for i := 0; i+1 < len(f.Config); i += 2 {
		keep(f.Config[i])
		if err := rn.d.setSpecial(s, f.Config[i], f.Config[i+1], true); err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}

// keptInner is an SQL function's body, compiled for one version of the catalog.
type keptInner struct {
	stmts []*Compiled
}

// body compiles the statements of an SQL function for what the session sees of the catalog.
func (f *Function) body(c *catalog, stamp string) (*keptInner, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.inner[stamp]; k != nil && stamp != "" {
		return k, nil
	}
	nodes := f.stmts
	text := f.Text
	if nodes == nil {
		raws, err := parser.Parse(f.Body)
		if err != nil {
			return nil, err
		}
		text = f.Body
		for _, r := range raws {
			nodes = append(nodes, r.Stmt)
		}
	}
	args := innerArgs{names: map[string]int{}}
	for i, p := range f.inputs() {
		args.params = append(args.params, p.Type)
		if p.Name != "" {
			args.names[p.Name] = i
		}
	}
	k := &keptInner{}
	for _, n := range nodes {
		a := args
		a.params = append([]types.Type(nil), args.params...)
		st, err := compileInner(c, text, n, a)
		if err != nil {
			return nil, err
		}
		k.stmts = append(k.stmts, st)
	}
	if err := f.checkResult(k); err != nil {
		return nil, err
	}
	if len(f.inner) >= 8 || f.inner == nil {
		f.inner = map[string]*keptInner{}
	}
	f.inner[stamp] = k
	return k, nil
}

// checkResult compares the last statement with the declared result (check_sql_fn_retval).
func (f *Function) checkResult(k *keptInner) error {
	if f.Ret.Kind == types.Void {
		return nil
	}
	mismatch := func(detail string) error {
		e := types.Errorf("42P13", "return type mismatch in function declared to return %s", f.retName())
		e.Detail = detail
		return e
	}
	if len(k.stmts) == 0 {
		return mismatch("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	}
	fields := k.stmts[len(k.stmts)-1].fields
	if len(fields) == 0 {
		return mismatch("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	}
	want := f.Cols
	if !f.rowKind() {
		if len(fields) != 1 {
			return mismatch("Final statement must return exactly one column.")
		}
		want = []Col{{Type: f.Ret}}
	}
	if len(fields) != len(want) {
		if len(fields) < len(want) {
			return mismatch("Final statement returns too few columns.")
		}
		return mismatch("Final statement returns too many columns.")
	}
	for i, w := range want {
		if got := fields[i].Type; !types.CanCast(got, w.Type, types.Assignment) {
			if !f.rowKind() {
				return mismatch("Actual return type is " + got.String() + ".")
			}
			return mismatch("Final statement returns " + got.String() + " instead of " + w.Type.String() + " at column " + itoa(i+1) + ".")
		}
	}
	return nil
}

func (f *Function) retName() string {
	if f.RetTable != "" {
		return baseName(f.RetTable)
	}
	return f.Ret.String()
}

// callSQL runs an SQL function: its statements one after the other, the last one gives the result.
func (f *Function) callSQL(rn *run, args []types.Value) ([][]types.Value, error) {
	k, err := f.body(rn.d.catalog(rn.s), rn.stamp())
	if err != nil {
		return nil, err
	}
	var rows [][]types.Value
	want := f.Cols
	if !f.rowKind() {
		want = []Col{{Type: f.Ret}}
	}
	for i, st := range k.stmts {
		last := i == len(k.stmts)-1
		snap := storage.Snapshot{}
		if f.Volatility != 'v' {
			snap = rn.snap
		}
		_, err := rn.runInner(st, args, snap, func(row []types.Value) (bool, error) {
			if !last || f.Ret.Kind == types.Void {
				return true, nil
			}
			out := make([]types.Value, len(want))
			for j, w := range want {
				v, err := types.Cast(row[j], w.Type)
				if err != nil {
					return false, err
				}
				out[j] = v
			}
			rows = append(rows, out)
			return f.Set, nil
		})
		if err != nil {
			return nil, err
		}
	}
	if f.Ret.Kind == types.Void {
		return [][]types.Value{{{T: f.Ret, Valid: true}}}, nil
	}
	return rows, nil
}

// stamp is the version of the catalog together with the search path: what compiled statements depend on.
func (rn *run) stamp() string {
	return itoa(int(rn.d.st.CatalogStamp(rn.s.id))) + "/" + rn.s.get("search_path")
}
