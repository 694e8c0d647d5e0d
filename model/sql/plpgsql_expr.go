package sql

import (
	"strings"
	"sync"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"simrun/model/builtin"
	"simrun/model/sql/parser"
	"simrun/model/types"
)

// plScope is a block's names. Blocks within a function see those of the blocks around them.
type plScope struct {
	parent *plScope
	label  string
	vars   map[string]int
}

func (s *plScope) add(name string, datum int) {
	if s.vars == nil {
		s.vars = map[string]int{}
	}
	s.vars[name] = datum
}

// find resolves a variable's name, or a label with it.
func (s *plScope) find(label, name string) (int, bool) {
	for ; s != nil; s = s.parent {
		if label != "" && s.label != label {
			continue
		}
		if i, ok := s.vars[name]; ok {
			return i, true
		}
	}
	return 0, false
}

// plExpr is an expression or statement of a function's body. What its names mean depends on what the record variables hold,
// so it is compiled when it runs, and kept for the same catalog and the same records.
type plExpr struct {
	text  string // as written
	query bool   // a statement, not an expression
	scope *plScope
	prog  *plProgram

	mu   sync.Mutex
	kept []*plCompiled
}

// plCompiled is an expression compiled for one catalog and one set of record shapes.
type plCompiled struct {
	stamp  string
	shapes []plShape
	refs   []plRef
	c      *Compiled // a query
	fn     evalFn    // a simple expression
	frame  shape
	t      types.Type
}

// plShape is what a compiled expression takes for granted of a variable.
type plShape struct {
	datum int
	cols  []Col      // of a record
	t     types.Type // of a variable whose type is that of its value
}

// plRef is where the value of a parameter comes from.
type plRef struct {
	datum, field int    // field is -1 for the whole
	special      string // TG_OP and its kin
}

func (s *plShape) holds(ps *plState) bool {
	if ps.prog.datums[s.datum].kind != 'r' {
		return ps.vals[s.datum].T == s.t
	}
	cols := ps.recs[s.datum].cols
	if len(cols) != len(s.cols) {
		return false
	}
	for i := range cols {
		if cols[i] != s.cols[i] {
			return false
		}
	}
	return true
}

// compiledFor finds or makes the compiled form for the state that the function is in.
func (e *plExpr) compiledFor(ps *plState) (*plCompiled, error) {
	stamp := ps.rn.stamp()
	e.mu.Lock()
	defer e.mu.Unlock()
next:
	for _, k := range e.kept {
		if k.stamp != stamp {
			continue
		}
		for i := range k.shapes {
			if !k.shapes[i].holds(ps) {
				continue next
			}
		}
		return k, nil
	}
	k, err := e.compile(ps)
	if err != nil {
		return nil, err
	}
	k.stamp = stamp
	if len(e.kept) >= 16 {
		e.kept = nil
	}
	e.kept = append(e.kept, k)
	return k, nil
}

// plNames resolves names for one compilation.
type plNames struct {
	e   *plExpr
	ps  *plState
	k   *plCompiled
	err error // of a record that has no such field
}

// param gives the parameter for a value, making it on first use.
func (n *plNames) param(a *analyzer, ref plRef, t types.Type, loc int32) expr {
	for i, r := range n.k.refs {
		if r == ref {
			return &paramExpr{at: at(loc), a: a, n: i}
		}
	}
	n.k.refs = append(n.k.refs, ref)
	a.params = append(a.params, t)
	return &paramExpr{at: at(loc), a: a, n: len(a.params) - 1}
}

func (n *plNames) takeForGranted(s plShape) {
	for _, have := range n.k.shapes {
		if have.datum == s.datum {
			return
		}
	}
	n.k.shapes = append(n.k.shapes, s)
}

// lookup is externals.lookup.
func (n *plNames) lookup(a *analyzer, path []string, loc int32) (expr, bool) {
	scope := n.e.scope
	switch len(path) {
	case 1:
		if i, ok := scope.find("", path[0]); ok {
			return n.datum(a, i, loc), true
		}
		if v, ok := n.ps.special(path[0]); ok {
			return n.param(a, plRef{special: path[0]}, v.T, loc), true
		}
	case 2:
		if i, ok := scope.find("", path[0]); ok && n.e.prog.datums[i].kind == 'r' {
			return n.field(a, i, path[1], loc)
		}
		if i, ok := scope.find(path[0], path[1]); ok {
			return n.datum(a, i, loc), true
		}
	case 3:
		if i, ok := scope.find(path[0], path[1]); ok && n.e.prog.datums[i].kind == 'r' {
			return n.field(a, i, path[2], loc)
		}
	}
	return nil, false
}

func (n *plNames) datum(a *analyzer, i int, loc int32) expr {
	d := &n.e.prog.datums[i]
	t := d.typ
	switch d.kind {
	case 'r':
		t = types.Of(types.Record)
	case 'c':
		t = n.ps.vals[i].T
		n.takeForGranted(plShape{datum: i, t: t})
	}
	return n.param(a, plRef{datum: i, field: -1}, t, loc)
}

func (n *plNames) field(a *analyzer, rec int, name string, loc int32) (expr, bool) {
	r := n.ps.recs[rec]
	if len(r.cols) == 0 {
		n.err = n.ps.notAssigned(rec)
		return nil, false
	}
	at := r.index(name)
	if at < 0 {
		n.err = types.Errorf("42703", "record \"%s\" has no field \"%s\"", n.e.prog.datums[rec].name, name)
		return nil, false
	}
	n.takeForGranted(plShape{datum: rec, cols: r.cols})
	return n.param(a, plRef{datum: rec, field: at}, r.cols[at].Type, loc), true
}

func (e *plExpr) compile(ps *plState) (*plCompiled, error) {
	text := e.text
	if !e.query {
		text = "SELECT " + text
	}
	stmts, perr := parser.Parse(text)
	if perr != nil {
		return nil, inward(perr)
	}
	if len(stmts) != 1 {
		return nil, types.NewError("42601", "query is not a single statement")
	}
	k := &plCompiled{}
	names := &plNames{e: e, ps: ps, k: k}
	cat := ps.rn.d.catalog(ps.rn.s)
	args := innerArgs{ext: &externals{lookup: names.lookup}}
	for _, at := range e.prog.args { // $1 and so on
		k.refs = append(k.refs, plRef{datum: at, field: -1})
		args.params = append(args.params, e.prog.datums[at].typ)
	}
	var err error
	if target := simpleTarget(cat, stmts[0].Stmt); target != nil && !e.query {
		a := &analyzer{cat: cat, sql: text, params: args.params, ext: args.ext}
		var x expr
		if x, err = a.newQuery(nil).expr(target); err == nil {
			if x, err = a.settle(x); err == nil {
				k.fn, k.t = x.compile(&a.shape), x.typ()
				k.frame = a.shape
			}
		}
	} else {
		k.c, err = compileInner(cat, text, stmts[0].Stmt, args)
		if err == nil && len(k.c.fields) > 0 {
			k.t = k.c.fields[0].Type
		}
	}
	if names.err != nil {
		return nil, names.err
	}
	return k, inward(err)
}

// simpleTarget is the only expression of a SELECT that reads nothing and calls only built-in functions; nil for others.
func simpleTarget(cat *catalog, n *pg.Node) *pg.Node {
	s := n.GetSelectStmt()
	if s == nil || len(s.TargetList) != 1 || len(s.FromClause) > 0 || s.WhereClause != nil || len(s.GroupClause) > 0 || s.HavingClause != nil ||
		len(s.ValuesLists) > 0 || s.Op != pg.SetOperation_SETOP_NONE || s.WithClause != nil || s.LimitCount != nil || len(s.SortClause) > 0 ||
		len(s.DistinctClause) > 0 || s.LimitOffset != nil || len(s.LockingClause) > 0 {
		return nil
	}
	simple := true
	visitMessages(n.ProtoReflect(), func(m protoreflect.Message) {
		switch x := m.Interface().(type) {
		case *pg.SubLink:
			simple = false
		case *pg.FuncCall:
			names := strs(x.Funcname)
			name := names[len(names)-1]
			if builtin.IsAggregate(name) || len(cat.functionsNamed("", name)) > 0 || len(names) > 1 && names[0] != "pg_catalog" {
				simple = false
			}
		}
	})
	if !simple {
		return nil
	}
	return s.TargetList[0].GetResTarget().Val
}

// inward takes the position from an error inside a function: it would point into the function's own text.
func inward(err error) error {
	if e, ok := err.(*types.Error); ok && e != nil && e.Position != 0 {
		c := *e
		c.Position = 0
		return &c
	}
	if e, ok := err.(*types.Error); ok && e == nil {
		return nil
	}
	return err
}

// params are the values of a compiled expression's parameters.
func (k *plCompiled) params(ps *plState) []types.Value {
	out := make([]types.Value, len(k.refs))
	for i, r := range k.refs {
		switch {
		case r.special != "":
			out[i], _ = ps.special(r.special)
		case ps.prog.datums[r.datum].kind != 'r':
			out[i] = ps.vals[r.datum]
		case r.field >= 0:
			out[i] = ps.recs[r.datum].at(r.field)
		default:
			out[i] = ps.recs[r.datum].value()
		}
	}
	return out
}

// value is a record as a value: NULL while nothing is assigned.
func (r *plRecord) value() types.Value {
	if r.vals == nil {
		return types.Null(types.Of(types.Record))
	}
	vals := make([]types.Value, len(r.cols))
	for i := range vals {
		vals[i] = r.at(i)
	}
	return types.NewRecord(vals)
}

// eval computes an expression.
func (e *plExpr) eval(ps *plState) (types.Value, error) {
	k, err := e.compiledFor(ps)
	if err != nil {
		return types.Value{}, err
	}
	if k.fn != nil {
		f := k.frame.newFrame()
		f.run, f.params = ps.rn, k.params(ps)
		v, err := k.fn(f)
		return v, inward(err)
	}
	var out types.Value
	rows := 0
	out = types.Null(k.t)
	if len(k.c.fields) != 1 {
		return out, types.Errorf("42601", "query returned %d columns", len(k.c.fields))
	}
	_, err = ps.rn.runInner(k.c, k.params(ps), ps.snapshot(), func(row []types.Value) (bool, error) {
		rows++
		if rows > 1 {
			return false, types.NewError("21000", "query returned more than one row")
		}
		out = row[0]
		return true, nil
	})
	return out, inward(err)
}

// truth evaluates a condition; NULL is false.
func (e *plExpr) truth(ps *plState) (bool, error) {
	v, err := e.eval(ps)
	if err != nil {
		return false, err
	}
	if v, err = plCast(v, boolType, -1); err != nil {
		return false, err
	}
	return v.True(), nil
}

// run runs a statement and gives its rows and their columns.
func (e *plExpr) run(ps *plState, row func(cols []Col, vals []types.Value) (bool, error)) (n int64, c *Compiled, err error) {
	k, err := e.compiledFor(ps)
	if err != nil {
		return 0, nil, err
	}
	if k.c == nil {
		return 0, nil, types.NewError("XX000", "expression is not a statement")
	}
	var each func([]types.Value) (bool, error)
	if row != nil {
		cols := k.c.columns()
		each = func(vals []types.Value) (bool, error) { return row(cols, vals) }
	}
	n, err = ps.rn.runInner(k.c, k.params(ps), ps.snapshot(), each)
	return n, k.c, inward(err)
}

// columns are the result columns of a statement.
func (c *Compiled) columns() []Col {
	cols := make([]Col, len(c.fields))
	for i, f := range c.fields {
		cols[i] = Col(f)
	}
	return cols
}

// splitAssignment cuts "target := expression" at its operator, which stands outside of brackets.
func splitAssignment(text string) (target, value string, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ':':
			if depth == 0 && i+1 < len(text) && text[i+1] == '=' {
				return strings.TrimSpace(text[:i]), text[i+2:], true
			}
		case '=':
			if depth == 0 {
				return strings.TrimSpace(text[:i]), text[i+1:], true
			}
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
			}
		}
	}
	return "", "", false
}
