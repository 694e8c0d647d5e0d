package sql

import (
	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

// plProgram is a PL/pgSQL function ready to run: its variables and its statements as closures. It is immutable apart from
// the expressions' memory of how they compiled.
type plProgram struct {
	datums   []plDatum
	body     plStmt
	newVar   int // the record NEW of a trigger function, -1 otherwise
	oldVar   int
	found    int
	args     []int // datum of each IN parameter, in order
	outs     []int // datum of each result column
	name     string
	trigger  bool
	ret      types.Type
	retTable string
	set      bool
	cols     []Col
	readOnly bool // STABLE or IMMUTABLE: reads the snapshot of its caller
}

// plDatum is a variable, a record, or a field of a record.
type plDatum struct {
	kind     byte // 'v' variable, 'r' record, 'f' field of a record, 'w' a list of variables
	name     string
	line     int
	typ      types.Type
	typmod   int32
	like     string // table or table.column of %ROWTYPE and %TYPE
	constant bool
	notNull  bool
	def      *plExpr
	parent   int    // of a field
	field    string // of a field
}

// plRecord is the value of a record variable: its columns are those of what was last assigned.
type plRecord struct {
	cols []Col
	vals []types.Value // nil: assigned no row yet, or a row of NULLs
}

// plStmt is a statement; done says how control goes on.
type plStmt func(ps *plState) (plFlow, error)

// plFlow is how control leaves a statement.
type plFlow struct {
	how   byte // 0: on to the next, 'x' EXIT, 'c' CONTINUE, 'r' RETURN
	label string
}

// plState is one activation of a function.
type plState struct {
	rn       *run
	prog     *plProgram
	vals     []types.Value // by datum
	recs     []*plRecord   // by datum
	rows     [][]types.Value
	ret      []types.Value
	trig     *triggerData
	errs     []*types.Error // the errors being handled, the innermost last
	count    int64          // ROW_COUNT
	changing bool           // the statement in progress changes rows, so it runs to its end
}

// compilePL compiles the body of a PL/pgSQL function. text is a whole CREATE FUNCTION statement.
func compilePL(a *analyzer, text string, f *Function) (*plProgram, error) {
	tree, perr := parser.ParsePLpgSQL(text)
	if perr != nil {
		return nil, perr
	}
	root, err := readProgram(tree)
	if err != nil {
		return nil, err
	}
	p := &plProgram{name: f.Name, newVar: -1, oldVar: -1, trigger: f.Ret.Kind == types.Trigger, ret: f.Ret, retTable: f.RetTable,
		set: f.Set, cols: f.Cols, readOnly: f.Volatility != 'v'}
	if p.trigger {
		p.newVar, p.oldVar = root.NewVarno, root.OldVarno
	}
	c := &plCompiler{a: a, p: p, scope: &plScope{label: f.Name}, loops: map[plLoopVar]bool{}}
	if err := c.declare(root.Datums); err != nil {
		return nil, err
	}
	if err := c.parameters(f); err != nil {
		return nil, err
	}
	for i := range p.datums { // parameters, FOUND, NEW and OLD: what no DECLARE has a line for
		if d := &p.datums[i]; d.line == 0 && d.kind != 'f' && d.kind != 'w' {
			c.scope.add(d.name, i)
			c.next = i + 1
		}
	}
	findLoopVars(root.Action.node, c.loops)
	body, err := c.stmt(root.Action.node)
	if err != nil {
		return nil, err
	}
	p.body = body
	return p, nil
}

// parameters ties the first variables, which libpg_query makes of the parameters in their order, to arguments and results.
func (c *plCompiler) parameters(f *Function) error {
	for i, param := range f.Params {
		if i >= len(c.p.datums) {
			return types.Errorf("XX000", "no variable for parameter %d", i+1)
		}
		d := &c.p.datums[i]
		d.typ, d.typmod, d.like = param.Type, -1, ""
		if param.Mode != 'o' && param.Mode != 't' {
			c.p.args = append(c.p.args, i)
		}
		if param.Mode == 'o' || param.Mode == 'b' || param.Mode == 't' {
			c.p.outs = append(c.p.outs, i)
		}
	}
	return nil
}

// call runs the function.
func (p *plProgram) call(rn *run, f *Function, args []types.Value) ([][]types.Value, error) {
	ps := p.activate(rn)
	for i, at := range p.args {
		ps.vals[at] = args[i]
	}
	flow, err := p.body(ps)
	if err != nil {
		return nil, err
	}
	switch {
	case p.set:
		return ps.rows, nil
	case flow.how != 'r' && p.ret.Kind != types.Void && len(p.outs) == 0:
		return nil, types.NewError("2F005", "control reached end of function without RETURN")
	case p.ret.Kind == types.Void:
		return [][]types.Value{{{T: p.ret, Valid: true}}}, nil
	case len(p.outs) > 0:
		return [][]types.Value{ps.outRow()}, nil
	case ps.ret == nil:
		return nil, nil
	}
	return [][]types.Value{ps.ret}, nil
}

// activate makes the variables of a new activation.
func (p *plProgram) activate(rn *run) *plState {
	ps := &plState{rn: rn, prog: p, vals: make([]types.Value, len(p.datums)), recs: make([]*plRecord, len(p.datums))}
	for i := range p.datums {
		d := &p.datums[i]
		ps.vals[i] = types.Null(d.typ)
		if d.kind == 'r' {
			ps.recs[i] = &plRecord{}
		}
	}
	ps.vals[p.found] = types.NewBool(false)
	return ps
}

// outRow is the row of the OUT parameters.
func (ps *plState) outRow() []types.Value {
	row := make([]types.Value, len(ps.prog.outs))
	for i, at := range ps.prog.outs {
		row[i] = ps.vals[at]
	}
	return row
}

// snapshot is what the function's statements read: nothing for a new one each time.
func (ps *plState) snapshot() storage.Snapshot {
	if ps.prog.readOnly {
		return ps.rn.snap
	}
	return storage.Snapshot{}
}

// assign stores a value in a variable or a field, converting it as an assignment does.
func (ps *plState) assign(at int, v types.Value) error {
	d := &ps.prog.datums[at]
	switch d.kind {
	case 'f':
		rec := ps.recs[d.parent]
		i := rec.index(d.field)
		if i < 0 {
			if len(rec.cols) == 0 {
				return ps.notAssigned(d.parent)
			}
			return types.Errorf("42703", "record \"%s\" has no field \"%s\"", ps.prog.datums[d.parent].name, d.field)
		}
		v, err := plCast(v, rec.cols[i].Type, -1)
		if err != nil {
			return err
		}
		vals := make([]types.Value, len(rec.cols))
		for k := range vals {
			vals[k] = rec.at(k)
		}
		vals[i] = v
		ps.recs[d.parent] = &plRecord{cols: rec.cols, vals: vals}
		return nil
	case 'r':
		if !v.Valid {
			ps.recs[at] = &plRecord{cols: ps.recs[at].cols}
			return nil
		}
		if v.T.Kind != types.Record {
			return types.NewError("42804", "cannot assign non-composite value to a record variable")
		}
		cols := ps.recs[at].cols
		if len(cols) != len(v.Elems()) {
			cols = make([]Col, len(v.Elems()))
			for i, e := range v.Elems() {
				cols[i] = Col{Name: "f" + itoa(i+1), Type: e.T}
			}
		}
		ps.recs[at] = &plRecord{cols: cols, vals: v.Elems()}
		return nil
	}
	v, err := plCast(v, d.typ, d.typmod)
	if err != nil {
		return err
	}
	if d.notNull && !v.Valid {
		return types.Errorf("22004", "null value cannot be assigned to variable \"%s\" declared NOT NULL", d.name)
	}
	ps.vals[at] = v
	return nil
}

// plCast converts as PL/pgSQL does: with an assignment cast, or else through the text form.
func plCast(v types.Value, t types.Type, typmod int32) (types.Value, error) {
	if v.T != t {
		var err error
		switch {
		case !v.Valid:
			return types.Null(t), nil
		case v.T.Kind == types.Unknown || types.CanCast(v.T, t, types.Assignment):
			v, err = types.Cast(v, t)
		default:
			v, err = types.Parse(v.Text(), t)
		}
		if err != nil {
			return v, err
		}
	}
	return types.ApplyMod(v, types.Mod(typmod), false)
}

func (r *plRecord) index(field string) int {
	for i := range r.cols {
		if r.cols[i].Name == field {
			return i
		}
	}
	return -1
}

func (r *plRecord) at(i int) types.Value {
	if i < len(r.vals) {
		return r.vals[i]
	}
	return types.Null(r.cols[i].Type)
}

func (ps *plState) notAssigned(rec int) error {
	return types.Errorf("55000", "record \"%s\" is not assigned yet", ps.prog.datums[rec].name).
		WithDetail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

// store puts a row into the target of INTO or of a FOR loop; a nil row is a row of NULLs.
func (ps *plState) store(target int, cols []Col, row []types.Value) error {
	d := &ps.prog.datums[target]
	switch d.kind {
	case 'r':
		if d.like != "" && len(ps.recs[target].cols) == len(cols) { // of a declared row type: its own names and types
			own := ps.recs[target].cols
			vals := make([]types.Value, len(own))
			for i := range own {
				v := types.Null(own[i].Type)
				if i < len(row) {
					v = row[i]
				}
				var err error
				if vals[i], err = plCast(v, own[i].Type, -1); err != nil {
					return err
				}
			}
			ps.recs[target] = &plRecord{cols: own, vals: vals}
			return nil
		}
		ps.recs[target] = &plRecord{cols: cols, vals: row}
		return nil
	}
	if len(row) == 0 {
		return ps.assign(target, types.Null(d.typ))
	}
	return ps.assign(target, row[0])
}

// storeList puts a row into several variables.
func (ps *plState) storeList(targets []int, row []types.Value) error {
	for i, at := range targets {
		v := types.Value{}
		if i < len(row) {
			v = row[i]
		}
		if err := ps.assign(at, v); err != nil {
			return err
		}
	}
	return nil
}
