package sql

import (
	"math"

	"simrun/model/types"
)

func (c *plCompiler) ifThen(f *plFields) (plStmt, error) {
	type branch struct {
		cond *plExpr
		body plStmt
	}
	var branches []branch
	add := func(cond plNode, body []plNode) error {
		s, err := c.list(body)
		if err != nil {
			return err
		}
		var e *plExpr
		if cond != nil {
			e = c.expr(cond)
		}
		branches = append(branches, branch{e, s})
		return nil
	}
	if err := add(f.Cond, f.Then); err != nil {
		return nil, err
	}
	for _, n := range f.Elsifs {
		_, e := n.kind()
		if err := add(e.Cond, e.Stmts); err != nil {
			return nil, err
		}
	}
	if err := add(nil, f.Else); err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		for _, b := range branches {
			if b.cond != nil {
				ok, err := b.cond.truth(ps)
				if err != nil {
					return plFlow{}, err
				}
				if !ok {
					continue
				}
			}
			return b.body(ps)
		}
		return plFlow{}, nil
	}, nil
}

func (c *plCompiler) caseOf(f *plFields) (plStmt, error) {
	subject := c.expr(f.CaseExpr)
	if subject != nil { // the value is kept in a variable of its own, which the conditions name
		for c.next < len(c.p.datums) && c.next <= f.CaseVarno {
			c.next++
		}
		outer := c.scope
		c.scope = &plScope{parent: outer}
		c.scope.add(c.p.datums[f.CaseVarno].name, f.CaseVarno)
		defer func() { c.scope = outer }()
	}
	conds, bodies := []*plExpr{}, []plStmt{}
	for _, n := range f.CaseWhens {
		_, w := n.kind()
		body, err := c.list(w.Stmts)
		if err != nil {
			return nil, err
		}
		conds, bodies = append(conds, c.expr(w.Expr)), append(bodies, body)
	}
	els, err := c.list(f.ElseStmts)
	if err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		if subject != nil {
			v, err := subject.eval(ps)
			if err != nil {
				return plFlow{}, err
			}
			ps.vals[f.CaseVarno] = v
		}
		for i, cond := range conds {
			ok, err := cond.truth(ps)
			if err != nil {
				return plFlow{}, err
			}
			if ok {
				return bodies[i](ps)
			}
		}
		if !f.HaveElse {
			return plFlow{}, types.NewError("20000", "case not found").WithHint("CASE statement is missing ELSE part.")
		}
		return els(ps)
	}, nil
}

// iterate runs a loop's body once; stop says that the loop is over, with the flow to go on with.
func iterate(ps *plState, body plStmt, label string) (flow plFlow, stop bool, err error) {
	flow, err = body(ps)
	if err != nil {
		return flow, true, err
	}
	mine := flow.label == "" || flow.label == label
	switch {
	case flow.how == 0, flow.how == 'c' && mine:
		return plFlow{}, false, nil
	case flow.how == 'x' && mine:
		return plFlow{}, true, nil
	}
	return flow, true, nil
}

// maxIterations bounds loops, which nothing could interrupt.
const maxIterations = 10_000_000

func tooManyIterations() error {
	return types.Errorf("54000", "loop in PL/pgSQL function runs more than %d times", maxIterations)
}

func (c *plCompiler) loop(f *plFields) (plStmt, error) {
	body, err := c.list(f.Body)
	if err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		for range maxIterations {
			if flow, stop, err := iterate(ps, body, f.Label); stop {
				return flow, err
			}
		}
		return plFlow{}, tooManyIterations()
	}, nil
}

func (c *plCompiler) while(f *plFields) (plStmt, error) {
	cond := c.expr(f.Cond)
	body, err := c.list(f.Body)
	if err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		for range maxIterations {
			ok, err := cond.truth(ps)
			if err != nil || !ok {
				return plFlow{}, err
			}
			if flow, stop, err := iterate(ps, body, f.Label); stop {
				return flow, err
			}
		}
		return plFlow{}, tooManyIterations()
	}, nil
}

func (c *plCompiler) forInt(f *plFields) (plStmt, error) {
	lower, upper, step := c.expr(f.Lower), c.expr(f.Upper), c.expr(f.Step)
	_, v := f.Var.kind()
	at := -1
	for i := c.next; i < len(c.p.datums) && at < 0; i++ {
		if d := &c.p.datums[i]; d.kind == 'v' && d.name == v.Refname && d.line == v.Lineno {
			at = i
		}
	}
	if at < 0 {
		return nil, types.Errorf("XX000", "no variable for loop over %q", v.Refname)
	}
	c.next = at + 1
	outer := c.scope
	c.scope = &plScope{parent: outer, label: f.Label}
	c.scope.add(v.Refname, at)
	body, err := c.list(f.Body)
	c.scope = outer
	if err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		bound := func(e *plExpr, what string) (int64, error) {
			v, err := e.eval(ps)
			if err != nil {
				return 0, err
			}
			if v, err = plCast(v, types.Of(types.Int4), -1); err != nil {
				return 0, err
			}
			if !v.Valid {
				return 0, types.Errorf("22004", "%s of FOR loop cannot be null", what)
			}
			return v.N, nil
		}
		from, err := bound(lower, "lower bound")
		if err != nil {
			return plFlow{}, err
		}
		to, err := bound(upper, "upper bound")
		if err != nil {
			return plFlow{}, err
		}
		by := int64(1)
		if step != nil {
			if by, err = bound(step, "BY value"); err != nil {
				return plFlow{}, err
			}
			if by <= 0 {
				return plFlow{}, types.NewError("22023", "BY value of FOR loop must be greater than zero")
			}
		}
		found := false
		for n := from; !f.Reverse && n <= to || f.Reverse && n >= to; {
			found = true
			ps.vals[at] = types.NewInt4(int32(n))
			flow, stop, err := iterate(ps, body, f.Label)
			if stop {
				ps.setFound(found)
				return flow, err
			}
			if f.Reverse {
				n -= by
			} else {
				n += by
			}
			if n > math.MaxInt32 || n < math.MinInt32 {
				break
			}
		}
		ps.setFound(found)
		return plFlow{}, nil
	}, nil
}

func (ps *plState) setFound(b bool) { ps.vals[ps.prog.found] = types.NewBool(b) }

// Rows of a FOR loop are fetched ahead of its body: 10 at first, then 50 at a time, as a portal is read.
const (
	firstFetch = 10
	nextFetch  = 50
)

// forRows runs a loop's body for the rows of a query.
func (ps *plState) forRows(run func(row func(cols []Col, vals []types.Value) (bool, error)) error,
	store func(ps *plState, cols []Col, vals []types.Value) error, body plStmt, label string) (plFlow, error) {
	var cols []Col
	var batch [][]types.Value
	var flow plFlow
	limit, found, over := firstFetch, false, false
	flush := func() error {
		for _, vals := range batch {
			if err := store(ps, cols, vals); err != nil {
				return err
			}
			found = true
			f, stop, err := iterate(ps, body, label)
			if err != nil {
				return err
			}
			if stop {
				flow, over = f, true
				break
			}
		}
		batch, limit = batch[:0], nextFetch
		return nil
	}
	err := run(func(c []Col, vals []types.Value) (bool, error) {
		cols = c
		batch = append(batch, vals)
		if len(batch) < limit {
			return true, nil
		}
		err := flush()
		return !over, err
	})
	if err == nil && !over {
		err = flush()
	}
	if err != nil {
		return plFlow{}, err
	}
	ps.setFound(found)
	return flow, nil
}

func (c *plCompiler) forQuery(f *plFields) (plStmt, error) {
	query := c.sql(f.inner())
	store, err := c.target(f.Var)
	if err != nil {
		return nil, err
	}
	body, err := c.list(f.Body)
	if err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		return ps.forRows(func(row func([]Col, []types.Value) (bool, error)) error {
			_, _, err := query.run(ps, row)
			return err
		}, store, body, f.Label)
	}, nil
}

func (c *plCompiler) forDynamic(f *plFields) (plStmt, error) {
	query, params := c.expr(f.inner()), c.exprs(f.Params)
	store, err := c.target(f.Var)
	if err != nil {
		return nil, err
	}
	body, err := c.list(f.Body)
	if err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		return ps.forRows(func(row func([]Col, []types.Value) (bool, error)) error {
			_, _, err := ps.dynamic(query, params, row)
			return err
		}, store, body, f.Label)
	}, nil
}

func (c *plCompiler) forEach(f *plFields) (plStmt, error) {
	if f.Slice != 0 {
		return nil, c.a.unsupported(-1, "FOREACH SLICE")
	}
	array := c.expr(f.Expr)
	body, err := c.list(f.Body)
	if err != nil {
		return nil, err
	}
	return func(ps *plState) (plFlow, error) {
		v, err := array.eval(ps)
		if err != nil {
			return plFlow{}, err
		}
		if !v.Valid {
			return plFlow{}, types.NewError("22004", "FOREACH expression must not be null")
		}
		if !v.T.IsArray() {
			return plFlow{}, types.Errorf("42804", "FOREACH expression must yield an array, not type %s", v.T)
		}
		found := false
		for _, e := range v.Elems() {
			found = true
			if err := ps.assign(f.Varno, e); err != nil {
				return plFlow{}, err
			}
			flow, stop, err := iterate(ps, body, f.Label)
			if stop {
				ps.setFound(found)
				return flow, err
			}
		}
		ps.setFound(found)
		return plFlow{}, nil
	}, nil
}

func (c *plCompiler) exit(f *plFields) (plStmt, error) {
	cond := c.expr(f.Cond)
	how := byte('c')
	if f.IsExit {
		how = 'x'
	}
	flow := plFlow{how: how, label: f.Label}
	return func(ps *plState) (plFlow, error) {
		if cond != nil {
			if ok, err := cond.truth(ps); !ok || err != nil {
				return plFlow{}, err
			}
		}
		return flow, nil
	}, nil
}
