package sql

import (
	"strings"

	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

// plLoopVar tells the variables that integer FOR loops declare from those of DECLARE sections: the tree has them in one list.
type plLoopVar struct {
	name string
	line int
}

// plCompiler turns the tree of a function into closures.
type plCompiler struct {
	a     *analyzer
	p     *plProgram
	scope *plScope
	next  int // first datum that no block has claimed; the list is in the order of the source
	loops map[plLoopVar]bool
}

// findLoopVars notes the variables of integer FOR loops below a node.
func findLoopVars(n plNode, set map[plLoopVar]bool) {
	kind, f := n.kind()
	if f == nil {
		return
	}
	if kind == "stmt_fori" {
		_, v := f.Var.kind()
		set[plLoopVar{v.Refname, v.Lineno}] = true
	}
	for _, list := range [][]plNode{f.Body, f.Then, f.Elsifs, f.Else, f.Stmts, f.ExcList, f.CaseWhens, f.ElseStmts, f.Action.list} {
		for _, m := range list {
			findLoopVars(m, set)
		}
	}
	findLoopVars(f.Exceptions, set)
}

// declare reads the list of variables, records and fields.
func (c *plCompiler) declare(list []plNode) error {
	for i, n := range list {
		kind, f := n.kind()
		d := plDatum{name: f.Refname, line: f.Lineno, typmod: -1, constant: f.Isconst, notNull: f.Notnull}
		switch kind {
		case "var":
			d.kind = 'v'
			if f.Cursor != nil {
				return c.a.unsupported(-1, "a cursor variable")
			}
			_, t := f.Datatype.kind()
			if err := c.varType(&d, strings.TrimSpace(t.Typname)); err != nil {
				return err
			}
			if strings.HasPrefix(d.name, "__Case__Variable_") {
				d.kind = 'c'
			}
			if text, ok := f.DefaultVal.query(); ok {
				d.def = &plExpr{text: text, prog: c.p}
			}
			if d.name == "found" && d.line == 0 {
				c.p.found = i
			}
		case "rec":
			d.kind, d.typ = 'r', types.Of(types.Record)
		case "recfield":
			d.kind, d.parent, d.field = 'f', f.Recparentno, f.Fieldname
		case "row":
			d.kind = 'w'
		default:
			return c.a.unsupported(-1, "PL/pgSQL "+kind)
		}
		c.p.datums = append(c.p.datums, d)
	}
	return nil
}

// varType finds a variable's type: a type's name, table.column%TYPE, table%ROWTYPE, or a table's name.
func (c *plCompiler) varType(d *plDatum, name string) error {
	low := strings.ToLower(strings.ReplaceAll(name, " ", ""))
	switch {
	case strings.HasSuffix(low, "%rowtype"):
		return c.rowType(d, name[:strings.IndexByte(name, '%')])
	case strings.HasSuffix(low, "%type"):
		path := strings.Split(name[:strings.IndexByte(name, '%')], ".")
		if len(path) == 1 {
			if i := c.lastNamed(strings.TrimSpace(path[0])); i >= 0 {
				o := c.p.datums[i]
				d.kind, d.typ, d.typmod, d.like = o.kind, o.typ, o.typmod, o.like
				return nil
			}
			return types.Errorf("42704", "variable \"%s\" does not exist", path[0])
		}
		schema := ""
		if len(path) > 2 {
			schema = path[len(path)-3]
		}
		r, err := c.a.cat.relation(schema, path[len(path)-2])
		if err != nil {
			return err
		}
		i := r.Col(strings.TrimSpace(path[len(path)-1]))
		if i < 0 {
			return types.Errorf("42703", "column %q of relation %q does not exist", path[len(path)-1], r.Name)
		}
		d.typ, d.typmod = r.Columns[i].Type, r.Columns[i].Typmod
		return nil
	}
	stmts, perr := parser.Parse("SELECT NULL::" + name)
	if perr != nil {
		return perr
	}
	tc := stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val.GetTypeCast()
	t, mod, err := c.a.typeName(tc.TypeName)
	if err != nil {
		if c.rowType(d, name) == nil {
			return nil
		}
		return inward(err)
	}
	d.typ, d.typmod = t, mod
	return nil
}

func (c *plCompiler) lastNamed(name string) int {
	for i := len(c.p.datums) - 1; i >= 0; i-- {
		if c.p.datums[i].name == name && c.p.datums[i].kind != 'f' {
			return i
		}
	}
	return -1
}

// rowType makes a record variable with the columns of a table.
func (c *plCompiler) rowType(d *plDatum, table string) error {
	schema, name, err := splitName(strings.TrimSpace(table))
	if err != nil {
		return err
	}
	r, err := c.a.cat.relation(schema, name)
	if err != nil {
		return err
	}
	d.kind, d.typ, d.like = 'r', types.Of(types.Record), r.QName()
	return nil
}

// rowCols are the columns of a table as those of a record.
func rowCols(r *Relation) []Col {
	var cols []Col
	for i := range r.Columns {
		if !r.Columns[i].Dropped {
			cols = append(cols, Col{Name: r.Columns[i].Name, Type: r.Columns[i].Type})
		}
	}
	return cols
}

// expr makes an expression of the current scope.
func (c *plCompiler) expr(n plNode) *plExpr {
	text, ok := n.query()
	if !ok {
		return nil
	}
	return &plExpr{text: text, scope: c.scope, prog: c.p}
}

func (c *plCompiler) sql(n plNode) *plExpr {
	e := c.expr(n)
	if e != nil {
		e.query = true
	}
	return e
}

func (c *plCompiler) exprs(ns []plNode) []*plExpr {
	var out []*plExpr
	for _, n := range ns {
		out = append(out, c.expr(n))
	}
	return out
}

// block makes a sequence of statements.
func (c *plCompiler) list(ns []plNode) (plStmt, error) {
	var all []plStmt
	for _, n := range ns {
		s, err := c.stmt(n)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return func(ps *plState) (plFlow, error) {
		for _, s := range all {
			if flow, err := s(ps); err != nil || flow.how != 0 {
				return flow, err
			}
		}
		return plFlow{}, nil
	}, nil
}

// plStatements are the makers of the kinds of statement.
var plStatements map[string]func(c *plCompiler, f *plFields) (plStmt, error)

func init() {
	plStatements = map[string]func(c *plCompiler, f *plFields) (plStmt, error){
		"stmt_block": (*plCompiler).block, "stmt_assign": (*plCompiler).assign, "stmt_if": (*plCompiler).ifThen,
		"stmt_case": (*plCompiler).caseOf, "stmt_loop": (*plCompiler).loop, "stmt_while": (*plCompiler).while,
		"stmt_fori": (*plCompiler).forInt, "stmt_fors": (*plCompiler).forQuery, "stmt_dynfors": (*plCompiler).forDynamic,
		"stmt_foreach_a": (*plCompiler).forEach, "stmt_exit": (*plCompiler).exit, "stmt_return": (*plCompiler).returns,
		"stmt_return_next": (*plCompiler).returnNext, "stmt_return_query": (*plCompiler).returnQuery,
		"stmt_execsql": (*plCompiler).execute, "stmt_dynexecute": (*plCompiler).executeDynamic, "stmt_perform": (*plCompiler).perform,
		"stmt_getdiag": (*plCompiler).diagnostics, "stmt_raise": (*plCompiler).raise, "stmt_assert": (*plCompiler).assert,
		"stmt_call": (*plCompiler).callStmt,
	}
}

func (c *plCompiler) stmt(n plNode) (plStmt, error) {
	kind, f := n.kind()
	mk, ok := plStatements[kind]
	if !ok {
		return nil, c.a.unsupported(-1, "PL/pgSQL "+strings.ToUpper(strings.TrimPrefix(kind, "stmt_")))
	}
	return mk(c, f)
}

// claim gives a block its variables: those next in the list that were declared on lines before its BEGIN.
func (c *plCompiler) claim(line int) []int {
	var vars []int
	for ; c.next < len(c.p.datums); c.next++ {
		d := &c.p.datums[c.next]
		if d.kind == 'f' || d.kind == 'w' {
			continue
		}
		if d.line > line || d.line == 0 || c.loops[plLoopVar{d.name, d.line}] || d.kind == 'c' || d.constant && (d.name == "sqlstate" || d.name == "sqlerrm") {
			break
		}
		vars = append(vars, c.next)
	}
	return vars
}

func (c *plCompiler) block(f *plFields) (plStmt, error) {
	outer := c.scope
	c.scope = &plScope{parent: outer, label: f.Label}
	defer func() { c.scope = outer }()
	vars := c.claim(f.Lineno)
	for _, i := range vars {
		d := &c.p.datums[i]
		if _, twice := c.scope.vars[d.name]; twice {
			return nil, c.a.unsupported(-1, "two variables named "+d.name+" on lines that do not tell their blocks apart")
		}
		if d.def != nil {
			d.def.scope = c.scope
		}
		c.scope.add(d.name, i)
	}
	init, err := c.initVars(vars)
	if err != nil {
		return nil, err
	}
	body, err := c.list(f.Body)
	if err != nil {
		return nil, err
	}
	if f.Exceptions != nil {
		if body, err = c.handlers(body, f.Exceptions); err != nil {
			return nil, err
		}
	}
	label := f.Label
	return func(ps *plState) (plFlow, error) {
		if err := init(ps); err != nil {
			return plFlow{}, err
		}
		flow, err := body(ps)
		if flow.how == 'x' && label != "" && flow.label == label {
			flow = plFlow{}
		}
		return flow, err
	}, nil
}

// initVars gives a block's variables their initial values, each time the block is entered.
func (c *plCompiler) initVars(vars []int) (func(ps *plState) error, error) {
	rows := map[int][]Col{}
	for _, i := range vars {
		if d := &c.p.datums[i]; d.kind == 'r' && d.like != "" {
			r, ok := c.a.cat.byQName(d.like)
			if !ok {
				return nil, types.Errorf("42P01", "relation %q does not exist", baseName(d.like))
			}
			rows[i] = rowCols(r)
		}
	}
	return func(ps *plState) error {
		for _, i := range vars {
			d := &ps.prog.datums[i]
			switch {
			case d.kind == 'r':
				ps.recs[i] = &plRecord{cols: rows[i]}
			case d.def != nil:
				v, err := d.def.eval(ps)
				if err != nil {
					return err
				}
				if err := ps.assign(i, v); err != nil {
					return err
				}
			case d.notNull:
				return types.Errorf("22004", "variable \"%s\" must have a default value, since it's declared NOT NULL", d.name)
			default:
				ps.vals[i] = types.Null(d.typ)
			}
		}
		return nil
	}, nil
}

// handlers wraps a block's body in a subtransaction, which an error that a handler wants undoes.
func (c *plCompiler) handlers(body plStmt, n plNode) (plStmt, error) {
	type handler struct {
		codes []string // SQLSTATEs; "" is OTHERS
		act   plStmt
	}
	var list []handler
	_, block := n.kind()
	outer := c.scope
	state, message := -1, -1
	c.scope = &plScope{parent: outer}
	defer func() { c.scope = outer }()
	for ; c.next < len(c.p.datums) && message < 0; c.next++ {
		switch d := &c.p.datums[c.next]; {
		case d.constant && d.name == "sqlstate":
			state = c.next
			c.scope.add(d.name, state)
		case d.constant && d.name == "sqlerrm":
			message = c.next
			c.scope.add(d.name, message)
		case d.kind == 'v' || d.kind == 'r' || d.kind == 'c':
			return nil, types.NewError("XX000", "variables of an exception block are out of order")
		}
	}
	for _, en := range block.ExcList {
		_, e := en.kind()
		var h handler
		for _, cn := range e.Conditions {
			_, cond := cn.kind()
			if cond.Condname == "others" {
				h.codes = append(h.codes, "")
				continue
			}
			codes, err := conditionCodes(cond.Condname)
			if err != nil {
				return nil, err
			}
			h.codes = append(h.codes, codes...)
		}
		var err error
		if h.act, err = c.list(e.Action.list); err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return func(ps *plState) (plFlow, error) {
		x := ps.rn.x
		x.BeginSub()
		settings := ps.rn.s.settings
		queued := len(ps.rn.after)
		flow, err := body(ps)
		if err == nil {
			x.CommitSub()
			return flow, nil
		}
		e, ok := err.(*types.Error)
		if err == storage.ErrWait || !ok || e.Severity == "FATAL" {
			return flow, err
		}
		for _, h := range list {
			for _, code := range h.codes {
				if !catches(code, e.Code) {
					continue
				}
				x.AbortSub()
				ps.rn.s.settings = settings
				ps.rn.after = ps.rn.after[:queued]
				if state >= 0 {
					ps.vals[state], ps.vals[message] = types.NewText(e.Code), types.NewText(e.Message)
				}
				ps.errs = append(ps.errs, e)
				flow, err := h.act(ps)
				ps.errs = ps.errs[:len(ps.errs)-1]
				return flow, err
			}
		}
		return flow, err
	}, nil
}

// catches says whether a handler for the code catches an error: a code ending in 000 stands for its class, OTHERS for all but
// cancellation and failed assertions.
func catches(want, got string) bool {
	switch {
	case want == "":
		return got != "57014" && got != "P0004"
	case strings.HasSuffix(want, "000"):
		return want[:2] == got[:2]
	}
	return want == got
}

// assignable refuses the assignment to a constant.
func (c *plCompiler) assignTo(at int, value *plExpr) plStmt {
	return func(ps *plState) (plFlow, error) {
		v, err := value.eval(ps)
		if err != nil {
			return plFlow{}, err
		}
		return plFlow{}, ps.assign(at, v)
	}
}

func (c *plCompiler) assign(f *plFields) (plStmt, error) {
	e := c.expr(f.Expr)
	target, value, ok := splitAssignment(e.text)
	if !ok {
		return nil, types.Errorf("42601", "syntax error in assignment %q", e.text)
	}
	e.text = value
	at := f.Varno
	if i := strings.IndexByte(target, '['); i >= 0 {
		return c.assignElement(at, strings.TrimSuffix(target[i+1:], "]"), e)
	}
	if c.p.datums[at].kind == 'r' { // a whole row: from another record, or a row expression
		if src, ok := c.recordNamed(e.text); ok {
			return func(ps *plState) (plFlow, error) {
				r := ps.recs[src]
				return plFlow{}, ps.store(at, r.cols, r.vals)
			}, nil
		}
	}
	return c.assignTo(at, e), nil
}

// recordNamed says whether an expression is just the name of a record variable.
func (c *plCompiler) recordNamed(text string) (int, bool) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	i, ok := c.scope.find("", strings.ToLower(text))
	return i, ok && c.p.datums[i].kind == 'r'
}

// assignElement is array[i] := value; an array grows with NULLs up to the place.
func (c *plCompiler) assignElement(at int, index string, value *plExpr) (plStmt, error) {
	if strings.ContainsAny(index, "[:") {
		return nil, c.a.unsupported(-1, "an assignment to an array slice")
	}
	place := &plExpr{text: index, scope: c.scope, prog: c.p}
	return func(ps *plState) (plFlow, error) {
		i, err := place.eval(ps)
		if err != nil {
			return plFlow{}, err
		}
		v, err := value.eval(ps)
		if err != nil {
			return plFlow{}, err
		}
		d := &ps.prog.datums[at]
		if i, err = plCast(i, types.Of(types.Int4), -1); err != nil {
			return plFlow{}, err
		}
		if v, err = plCast(v, d.typ.ElemType(), -1); err != nil {
			return plFlow{}, err
		}
		if !i.Valid {
			return plFlow{}, types.NewError("22004", "array subscript in assignment must not be null")
		}
		if n := int64(len(ps.vals[at].Elems())); i.N < 1 || i.N > 1<<20 || n == 0 && i.N > 1 {
			return plFlow{}, types.NewError("0A000", "array bounds other than the default are not supported")
		}
		elems := append([]types.Value(nil), ps.vals[at].Elems()...)
		for int64(len(elems)) < i.N {
			elems = append(elems, types.Null(d.typ.ElemType()))
		}
		elems[i.N-1] = v
		ps.vals[at] = types.NewArray(d.typ.Elem, elems)
		return plFlow{}, nil
	}, nil
}
