package sql

import (
	"strings"

	"simrun/model/sql/parser"
	"simrun/model/types"
)

// target makes the function that stores a row in the target of INTO or FOR.
func (c *plCompiler) target(n plNode) (func(ps *plState, cols []Col, vals []types.Value) error, error) {
	kind, f := n.kind()
	switch kind {
	case "row":
		var targets []int
		for _, fd := range f.Fields {
			targets = append(targets, fd.Varno)
		}
		return func(ps *plState, _ []Col, vals []types.Value) error { return ps.storeList(targets, vals) }, nil
	case "rec":
		at := f.Dno
		return func(ps *plState, cols []Col, vals []types.Value) error { return ps.store(at, cols, vals) }, nil
	case "var": // a variable whose type turned out to be that of a row
		if i, ok := c.scope.find("", f.Refname); ok {
			return func(ps *plState, cols []Col, vals []types.Value) error { return ps.store(i, cols, vals) }, nil
		}
	}
	return nil, c.a.unsupported(-1, "PL/pgSQL target "+kind)
}

// intoTarget is the target of INTO. A list of one variable that holds a row takes the whole row.
func (c *plCompiler) intoTarget(n plNode) (func(ps *plState, cols []Col, vals []types.Value) error, error) {
	if kind, f := n.kind(); kind == "row" && len(f.Fields) == 1 {
		if at := f.Fields[0].Varno; c.p.datums[at].kind == 'r' {
			return func(ps *plState, cols []Col, vals []types.Value) error { return ps.store(at, cols, vals) }, nil
		}
	}
	return c.target(n)
}

// into runs a statement for the row that it gives. strict wants exactly one; changing says that the statement changes rows,
// which then must not be several.
func (ps *plState) into(store func(ps *plState, cols []Col, vals []types.Value) error, strict bool,
	run func(row func(cols []Col, vals []types.Value) (bool, error)) (int64, *Compiled, error)) error {
	var first []types.Value
	var cols []Col
	rows := 0
	n, c, err := run(func(cs []Col, vals []types.Value) (bool, error) {
		if rows == 0 {
			first, cols = vals, cs
		}
		rows++
		return rows < 2 && strict || ps.changing, nil
	})
	if err != nil {
		return err
	}
	if len(c.fields) == 0 {
		return types.NewError("42601", "INTO used with a command that cannot return data")
	}
	switch {
	case rows == 0 && strict:
		return types.NewError("P0002", "query returned no rows")
	case rows > 1 && (strict || c.writes):
		return types.NewError("P0003", "query returned more than one row").
			WithHint("Make sure the query returns a single row, or use LIMIT 1.")
	}
	if rows == 0 {
		cols = c.columns()
	}
	ps.count = min(n, int64(rows))
	ps.setFound(rows > 0)
	return store(ps, cols, first)
}

func (c *plCompiler) execute(f *plFields) (plStmt, error) {
	query := c.sql(f.Sqlstmt)
	raws, perr := parser.Parse(query.text)
	if perr != nil {
		return nil, inward(perr)
	}
	isSelect := len(raws) == 1 && raws[0].Stmt.GetSelectStmt() != nil
	if f.Into {
		store, err := c.intoTarget(f.Target.node)
		if err != nil {
			return nil, err
		}
		return func(ps *plState) (plFlow, error) {
			ps.changing = !isSelect
			return plFlow{}, ps.into(store, f.Strict, func(row func([]Col, []types.Value) (bool, error)) (int64, *Compiled, error) {
				return query.run(ps, row)
			})
		}, nil
	}
	return func(ps *plState) (plFlow, error) {
		if isSelect {
			return plFlow{}, types.NewError("42601", "query has no destination for result data").
				WithHint("If you want to discard the results of a SELECT, use PERFORM instead.")
		}
		n, done, err := query.run(ps, nil)
		if err != nil {
			return plFlow{}, err
		}
		if len(done.fields) > 0 {
			return plFlow{}, types.NewError("42601", "query has no destination for result data")
		}
		ps.count = n
		if done.plan != nil {
			ps.setFound(n > 0)
		}
		return plFlow{}, nil
	}, nil
}

func (c *plCompiler) perform(f *plFields) (plStmt, error) {
	query := c.sql(f.Expr)
	return func(ps *plState) (plFlow, error) {
		n, _, err := query.run(ps, func([]Col, []types.Value) (bool, error) { return true, nil })
		if err != nil {
			return plFlow{}, err
		}
		ps.count = n
		ps.setFound(n > 0)
		return plFlow{}, nil
	}, nil
}

// dynamic runs the text that an expression gives, with the values of USING for $1 and so on.
func (ps *plState) dynamic(query *plExpr, params []*plExpr, row func(cols []Col, vals []types.Value) (bool, error)) (int64, *Compiled, error) {
	v, err := query.eval(ps)
	if err != nil {
		return 0, nil, err
	}
	if !v.Valid {
		return 0, nil, types.NewError("22004", "query string argument of EXECUTE is null")
	}
	var args innerArgs
	var vals []types.Value
	for _, p := range params {
		v, err := p.eval(ps)
		if err != nil {
			return 0, nil, err
		}
		args.params, vals = append(args.params, v.T), append(vals, v)
	}
	text := v.Text()
	stmts, perr := parser.Parse(text)
	if perr != nil {
		return 0, nil, inward(perr)
	}
	var n int64
	var c *Compiled
	for i, st := range stmts {
		a := args
		a.params = append([]types.Type(nil), args.params...)
		if c, err = compileInner(ps.rn.d.catalog(ps.rn.s), text, st.Stmt, a); err != nil {
			return 0, nil, inward(err)
		}
		var each func([]types.Value) (bool, error)
		if row != nil && i == len(stmts)-1 {
			cols := c.columns()
			each = func(vals []types.Value) (bool, error) { return row(cols, vals) }
		}
		ps.changing = st.Stmt.GetSelectStmt() == nil
		if n, err = ps.rn.runInner(c, vals, ps.snapshot(), each); err != nil {
			return 0, nil, inward(err)
		}
	}
	if c == nil {
		c = &Compiled{}
	}
	return n, c, nil
}

func (c *plCompiler) executeDynamic(f *plFields) (plStmt, error) {
	query, params := c.expr(f.inner()), c.exprs(f.Params)
	if f.Into {
		store, err := c.intoTarget(f.Target.node)
		if err != nil {
			return nil, err
		}
		return func(ps *plState) (plFlow, error) {
			found := ps.vals[ps.prog.found]
			err := ps.into(store, f.Strict, func(row func([]Col, []types.Value) (bool, error)) (int64, *Compiled, error) {
				return ps.dynamic(query, params, row)
			})
			ps.vals[ps.prog.found] = found // EXECUTE leaves FOUND alone
			return plFlow{}, err
		}, nil
	}
	return func(ps *plState) (plFlow, error) {
		n, _, err := ps.dynamic(query, params, nil)
		ps.count = n
		return plFlow{}, err
	}, nil
}

func (c *plCompiler) callStmt(*plFields) (plStmt, error) {
	return nil, c.a.unsupported(-1, "CALL in PL/pgSQL")
}

func (c *plCompiler) diagnostics(f *plFields) (plStmt, error) {
	return func(ps *plState) (plFlow, error) {
		var e *types.Error
		if f.IsStacked {
			if len(ps.errs) == 0 {
				return plFlow{}, types.NewError("0Z002", "GET STACKED DIAGNOSTICS cannot be used outside an exception handler")
			}
			e = ps.errs[len(ps.errs)-1]
		}
		for _, n := range f.DiagItems {
			_, item := n.kind()
			v := types.NewText("")
			switch item.Kind {
			case "ROW_COUNT":
				v = types.NewInt8(ps.count)
			case "RETURNED_SQLSTATE":
				v.S = e.Code
			case "MESSAGE_TEXT":
				v.S = e.Message
			case "PG_EXCEPTION_DETAIL":
				v.S = e.Detail
			case "PG_EXCEPTION_HINT":
				v.S = e.Hint
			case "CONSTRAINT_NAME":
				v.S = e.Constraint
			case "TABLE_NAME":
				v.S = e.Table
			case "SCHEMA_NAME":
				v.S = e.Schema
			case "COLUMN_NAME":
				v.S = e.Column
			default:
				return plFlow{}, types.Errorf("0A000", "GET DIAGNOSTICS %s is not supported by the model", item.Kind)
			}
			if err := ps.assign(item.Target.varno, v); err != nil {
				return plFlow{}, err
			}
		}
		return plFlow{}, nil
	}, nil
}

func (c *plCompiler) returns(f *plFields) (plStmt, error) {
	done := plFlow{how: 'r'}
	e := c.expr(f.Expr)
	if e == nil {
		if f.Lineno == 0 { // the grammar puts one at the end of every body
			done = plFlow{}
		}
		return func(*plState) (plFlow, error) { return done, nil }, nil
	}
	if at, ok := c.recordNamed(e.text); ok {
		return func(ps *plState) (plFlow, error) {
			row, err := ps.resultRow(ps.recs[at].cols, ps.recs[at].vals)
			ps.ret = row
			return done, err
		}, nil
	}
	return func(ps *plState) (plFlow, error) {
		v, err := e.eval(ps)
		if err != nil {
			return done, err
		}
		if ps.prog.trigger {
			if v.Valid && v.T.Kind != types.Record {
				return done, types.NewError("42804", "cannot return non-composite value from function returning composite type")
			}
			if ps.ret = nil; v.Valid {
				ps.ret = v.Elems()
			}
			return done, nil
		}
		ps.ret, err = ps.resultValue(v)
		return done, err
	}, nil
}

// resultValue is a returned value as a row of the result.
func (ps *plState) resultValue(v types.Value) ([]types.Value, error) {
	if len(ps.prog.cols) > 0 {
		if !v.Valid {
			return nil, nil
		}
		if v.T.Kind != types.Record {
			return nil, types.NewError("42804", "cannot return non-composite value from function returning composite type")
		}
		return ps.resultRow(nil, v.Elems())
	}
	v, err := plCast(v, ps.prog.ret, -1)
	return []types.Value{v}, err
}

// resultRow is a returned row with the types of the result.
func (ps *plState) resultRow(_ []Col, vals []types.Value) ([]types.Value, error) {
	if ps.prog.trigger || vals == nil {
		return vals, nil
	}
	if len(ps.prog.cols) == 0 { // a record that is returned as one value
		return []types.Value{types.NewRecord(vals)}, nil
	}
	if len(vals) != len(ps.prog.cols) {
		return nil, types.NewError("42804", "returned record type does not match expected record type").
			WithDetail("Number of returned columns (%d) does not match expected column count (%d).", len(vals), len(ps.prog.cols))
	}
	out := make([]types.Value, len(vals))
	for i, v := range vals {
		var err error
		if out[i], err = plCast(v, ps.prog.cols[i].Type, -1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *plCompiler) returnNext(f *plFields) (plStmt, error) {
	e := c.expr(f.Expr)
	if e == nil {
		return func(ps *plState) (plFlow, error) {
			ps.rows = append(ps.rows, ps.outRow())
			return plFlow{}, nil
		}, nil
	}
	if at, ok := c.recordNamed(e.text); ok {
		return func(ps *plState) (plFlow, error) {
			row, err := ps.resultRow(ps.recs[at].cols, ps.recs[at].vals)
			ps.rows = append(ps.rows, row)
			return plFlow{}, err
		}, nil
	}
	return func(ps *plState) (plFlow, error) {
		v, err := e.eval(ps)
		if err != nil {
			return plFlow{}, err
		}
		row, err := ps.resultValue(v)
		ps.rows = append(ps.rows, row)
		return plFlow{}, err
	}, nil
}

func (c *plCompiler) returnQuery(f *plFields) (plStmt, error) {
	var query, text *plExpr
	var params []*plExpr
	if f.Dynquery != nil {
		text, params = c.expr(f.Dynquery), c.exprs(f.Params)
	} else {
		query = c.sql(f.inner())
	}
	return func(ps *plState) (plFlow, error) {
		want := ps.prog.cols
		if len(want) == 0 {
			want = []Col{{Type: ps.prog.ret}}
		}
		before := len(ps.rows)
		row := func(cols []Col, vals []types.Value) (bool, error) {
			for i := range want {
				if i < len(cols) && cols[i].Type != want[i].Type {
					return false, types.NewError("42804", "structure of query does not match function result type").
						WithDetail("Returned type %s does not match expected type %s in column %d.", cols[i].Type, want[i].Type, i+1)
				}
			}
			if len(cols) != len(want) {
				return false, types.NewError("42804", "structure of query does not match function result type").
					WithDetail("Number of returned columns (%d) does not match expected column count (%d).", len(cols), len(want))
			}
			ps.rows = append(ps.rows, append([]types.Value(nil), vals...))
			return true, nil
		}
		var err error
		if query != nil {
			_, _, err = query.run(ps, row)
		} else {
			_, _, err = ps.dynamic(text, params, row)
		}
		ps.count = int64(len(ps.rows) - before)
		ps.setFound(ps.count > 0)
		return plFlow{}, err
	}, nil
}

// raiseLevels are the severities of RAISE, by elog level.
var raiseLevels = map[int]string{14: "DEBUG", 15: "LOG", 17: "INFO", 18: "NOTICE", 19: "WARNING", 21: "ERROR"}

func (c *plCompiler) raise(f *plFields) (plStmt, error) {
	params := c.exprs(f.Params)
	type option struct {
		kind int
		e    *plExpr
	}
	var options []option
	for _, n := range f.Options {
		_, o := n.kind()
		options = append(options, option{o.OptType, c.expr(o.Expr)})
	}
	code := "P0001"
	if f.Condname != "" {
		codes, err := conditionCodes(f.Condname)
		if err != nil {
			return nil, err
		}
		code = codes[0]
	}
	level, ok := raiseLevels[f.Elevel]
	if !ok {
		return nil, types.Errorf("XX000", "unknown RAISE level %d", f.Elevel)
	}
	return func(ps *plState) (plFlow, error) {
		if f.Condname == "" && !f.Message.set && len(options) == 0 {
			if len(ps.errs) == 0 {
				return plFlow{}, types.NewError("0Z002", "RAISE without parameters cannot be used outside an exception handler")
			}
			return plFlow{}, ps.errs[len(ps.errs)-1]
		}
		e := &types.Error{Code: code, Severity: level}
		var text strings.Builder
		next := 0
		msg := f.Message.text
		for i := 0; i < len(msg); i++ {
			switch {
			case msg[i] != '%':
				text.WriteByte(msg[i])
			case i+1 < len(msg) && msg[i+1] == '%':
				text.WriteByte('%')
				i++
			default:
				v, err := params[next].eval(ps)
				if err != nil {
					return plFlow{}, err
				}
				next++
				if v.Valid {
					text.WriteString(v.Text())
				} else {
					text.WriteString("<NULL>")
				}
			}
		}
		e.Message = text.String()
		for _, o := range options {
			v, err := o.e.eval(ps)
			if err != nil {
				return plFlow{}, err
			}
			if !v.Valid {
				return plFlow{}, types.NewError("22004", "RAISE statement option cannot be null")
			}
			s := v.Text()
			switch o.kind {
			case 0:
				codes, err := conditionCodes(s)
				if err != nil {
					return plFlow{}, err
				}
				e.Code = codes[0]
			case 1:
				e.Message = s
			case 2:
				e.Detail = s
			case 3:
				e.Hint = s
			case 4:
				e.Column = s
			case 5:
				e.Constraint = s
			case 7:
				e.Table = s
			case 8:
				e.Schema = s
			}
		}
		if e.Message == "" && !f.Message.set {
			e.Message = e.Code
			if f.Condname != "" {
				e.Message = f.Condname
			}
		}
		if level == "ERROR" {
			return plFlow{}, e
		}
		if e.Code == "P0001" {
			e.Code = "00000"
			if level == "WARNING" {
				e.Code = "01000"
			}
		}
		if ps.rn.wants(level) {
			ps.rn.notices = append(ps.rn.notices, e)
		}
		return plFlow{}, nil
	}, nil
}

// noticeRanks orders the values of client_min_messages.
var noticeRanks = map[string]int{"debug5": 1, "debug4": 1, "debug3": 1, "debug2": 1, "debug1": 1, "debug": 1, "log": 2, "info": 3,
	"notice": 4, "warning": 5, "error": 6}

// wants says whether client_min_messages lets a message of a severity through; INFO always passes.
func (rn *run) wants(level string) bool {
	least, ok := noticeRanks[strings.ToLower(rn.s.get("client_min_messages"))]
	if !ok {
		least = noticeRanks["notice"]
	}
	return level == "INFO" || noticeRanks[strings.ToLower(level)] >= least
}

func (c *plCompiler) assert(f *plFields) (plStmt, error) {
	cond, msg := c.expr(f.Cond), c.expr(f.Message.node)
	return func(ps *plState) (plFlow, error) {
		ok, err := cond.truth(ps)
		if ok || err != nil {
			return plFlow{}, err
		}
		e := types.NewError("P0004", "assertion failed")
		if msg != nil {
			v, err := msg.eval(ps)
			if err != nil {
				return plFlow{}, err
			}
			if v.Valid {
				e.Message = v.Text()
			}
		}
		return plFlow{}, e
	}, nil
}

// conditionCodes are the SQLSTATEs of a condition's name, or the SQLSTATE itself (Postgres documentation, appendix A).
func conditionCodes(name string) ([]string, error) {
	if code, ok := conditions[name]; ok {
		return []string{code}, nil
	}
	if len(name) == 5 && strings.Trim(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return []string{name}, nil
	}
	return nil, types.Errorf("42704", "unrecognized exception condition \"%s\"", name)
}
