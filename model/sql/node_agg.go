package sql

import (
	"slices"
	"strings"

	"simrun/model/builtin"
	"simrun/model/types"
)

// aggExpr is a call of an aggregate; its value is a column of the query's aggregate row.
type aggExpr struct {
	at
	agg      *builtin.Agg
	name     string
	args     []expr
	distinct bool
	order    []orderItem
	filter   expr
	rel, col int
}

// orderItem is an analysed ORDER BY item.
type orderItem struct {
	e          expr
	desc       bool
	nullsFirst bool
}

func (e *aggExpr) typ() types.Type { return e.agg.Ret }
func (e *aggExpr) children() []expr {
	out := append([]expr{}, e.args...)
	for _, o := range e.order {
		out = append(out, o.e)
	}
	if e.filter != nil {
		out = append(out, e.filter)
	}
	return out
}
func (e *aggExpr) sig(b *strings.Builder) {
	sigAll(b, "agg "+e.name, e.children())
}
func (e *aggExpr) compile(*shape) evalFn {
	rel, col := e.rel, e.col
	return func(f *frame) (types.Value, error) { return f.rows[rel][col], nil }
}

// aggCall is a compiled aggregate call.
type aggCall struct {
	agg      *builtin.Agg
	args     []evalFn
	distinct bool
	keys     []sortKey // of ORDER BY inside the call, or of DISTINCT
	filter   qual
}

func compileAgg(e *aggExpr, sh *shape) aggCall {
	c := aggCall{agg: e.agg, args: compileAll(e.args, sh), distinct: e.distinct}
	for _, o := range e.order {
		c.keys = append(c.keys, sortKey{fn: o.e.compile(sh), desc: o.desc, nullsFirst: o.nullsFirst})
	}
	if e.filter != nil {
		c.filter = compileQual(e.filter, sh)
	}
	return c
}

// accum is the running state of one aggregate call in one group.
type accum struct {
	call  *aggCall
	state builtin.Accum
	kept  []keptArgs // rows of a call with DISTINCT or ORDER BY, fed at the end
}

type keptArgs struct {
	keys, args []types.Value
}

func (a *accum) step(f *frame) error {
	if ok, err := a.call.filter.holds(f); !ok || err != nil {
		return err
	}
	args := make([]types.Value, len(a.call.args))
	for i, fn := range a.call.args {
		v, err := fn(f)
		if err != nil {
			return err
		}
		args[i] = v
	}
	if !a.call.distinct && len(a.call.keys) == 0 {
		return a.state.Step(args)
	}
	row := keptArgs{args: args}
	for i := range a.call.keys {
		v, err := a.call.keys[i].fn(f)
		if err != nil {
			return err
		}
		row.keys = append(row.keys, v)
	}
	a.kept = append(a.kept, row)
	return nil
}

func (a *accum) result() (types.Value, error) {
	if a.call.distinct {
		plain := make([]sortKey, len(a.call.args))
		order := func(x, y keptArgs) int {
			if c := cmpKeys(a.call.keys, x.keys, y.keys); c != 0 {
				return c
			}
			return cmpKeys(plain, x.args, y.args)
		}
		slices.SortStableFunc(a.kept, order)
		a.kept = slices.CompactFunc(a.kept, func(x, y keptArgs) bool { return cmpKeys(plain, x.args, y.args) == 0 })
	} else {
		slices.SortStableFunc(a.kept, func(x, y keptArgs) int { return cmpKeys(a.call.keys, x.keys, y.keys) })
	}
	for _, r := range a.kept {
		if err := a.state.Step(r.args); err != nil {
			return types.Value{}, err
		}
	}
	return a.state.Result()
}

// aggNode groups its child's rows by keys and computes aggregates into a row of their own; the group's first row stays in
// the frame, so that grouping expressions and columns that depend on them are read as ever. Groups come in the order of
// their keys, as Postgres's GroupAggregate over Sort gives them.
type aggNode struct {
	child node
	keys  []sortKey
	calls []aggCall
	plain bool // no GROUP BY: one row even for no input
	rel   int
	slot  int
	out   []int
}

type aggGroup struct {
	keys   []types.Value
	first  tuple
	accums []accum
}

type aggState struct {
	groups []*aggGroup
	pos    int
	filled bool
}

func (n *aggNode) open(f *frame) error {
	*state[aggState](f, n.slot) = aggState{}
	return n.child.open(f)
}

func (n *aggNode) newGroup() *aggGroup {
	g := &aggGroup{accums: make([]accum, len(n.calls))}
	for i := range n.calls {
		g.accums[i] = accum{call: &n.calls[i], state: n.calls[i].agg.New()}
	}
	return g
}

func (n *aggNode) fill(f *frame, st *aggState) error {
	byHash := map[uint64][]*aggGroup{}
	for {
		ok, err := n.child.next(f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		keys := make([]types.Value, len(n.keys))
		h := uint64(0)
		for i := range n.keys {
			if keys[i], err = n.keys[i].fn(f); err != nil {
				return err
			}
			if keys[i].Valid {
				h = types.Hash(h, keys[i])
			} else {
				h = h*31 + 1
			}
		}
		var g *aggGroup
		for _, c := range byHash[h] {
			if cmpKeys(n.keys, c.keys, keys) == 0 {
				g = c
				break
			}
		}
		if g == nil {
			g = n.newGroup()
			g.keys, g.first = keys, f.save(n.child.rels())
			byHash[h] = append(byHash[h], g)
			st.groups = append(st.groups, g)
		}
		for i := range g.accums {
			if err := g.accums[i].step(f); err != nil {
				return err
			}
		}
	}
	if n.plain && len(st.groups) == 0 {
		st.groups = append(st.groups, n.newGroup())
	}
	slices.SortStableFunc(st.groups, func(a, b *aggGroup) int { return cmpKeys(n.keys, a.keys, b.keys) })
	st.filled = true
	return nil
}

func (n *aggNode) next(f *frame) (bool, error) {
	st := state[aggState](f, n.slot)
	if !st.filled {
		if err := n.fill(f, st); err != nil {
			return false, err
		}
	}
	if st.pos >= len(st.groups) {
		return false, nil
	}
	g := st.groups[st.pos]
	st.pos++
	if g.first.rows != nil {
		f.restore(n.child.rels(), g.first)
	} else {
		f.setNull(n.child.rels())
	}
	vals := make([]types.Value, len(g.accums))
	for i := range g.accums {
		v, err := g.accums[i].result()
		if err != nil {
			return false, err
		}
		vals[i] = v
	}
	f.rows[n.rel] = vals
	return true, nil
}

func (n *aggNode) recheck(*frame) (bool, error) { return true, nil }
func (n *aggNode) rels() []int                  { return n.out }
