package sql

import (
	"slices"

	"simrun/model/types"
)

// plan is a query that has been planned: where its rows come from, and what of them it gives.
type plan struct {
	root       node
	cols       []outCol
	outs       []evalFn
	correlated bool
	volatile   bool
	level      *level // of a plain SELECT
}

// row computes the output row for what the root left in the frame.
func (p *plan) row(f *frame, buf []types.Value) ([]types.Value, error) {
	for _, o := range p.outs {
		v, err := o(f)
		if err != nil {
			return nil, err
		}
		buf = append(buf, v)
	}
	return buf, nil
}

// subqueryNode is a query in FROM: it gives the query's rows as rows of a relation of their own.
type subqueryNode struct {
	p     *plan
	rel   int
	quals qual
	out   []int
}

func (n *subqueryNode) open(f *frame) error { return n.p.root.open(f) }

func (n *subqueryNode) next(f *frame) (bool, error) {
	for {
		ok, err := n.p.root.next(f)
		if !ok || err != nil {
			return false, err
		}
		row, err := n.p.row(f, make([]types.Value, 0, len(n.p.outs)))
		if err != nil {
			return false, err
		}
		f.rows[n.rel], f.refs[n.rel] = row, rowRef{}
		if ok, err = n.quals.holds(f); ok || err != nil {
			return ok, err
		}
	}
}

func (n *subqueryNode) recheck(f *frame) (bool, error) { return n.quals.holds(f) }
func (n *subqueryNode) rels() []int                    { return n.out }

// appendNode is UNION ALL: the rows of its parts one after the other, as rows of one relation.
type appendNode struct {
	parts []*plan
	rel   int
	slot  int
}

type posState struct {
	pos    int
	opened bool
}

func (n *appendNode) open(f *frame) error {
	*state[posState](f, n.slot) = posState{}
	return nil
}

func (n *appendNode) next(f *frame) (bool, error) {
	st := state[posState](f, n.slot)
	for ; st.pos < len(n.parts); st.pos++ {
		p := n.parts[st.pos]
		if !st.opened {
			if err := p.root.open(f); err != nil {
				return false, err
			}
			st.opened = true
		}
		ok, err := p.root.next(f)
		if err != nil {
			return false, err
		}
		if ok {
			row, err := p.row(f, make([]types.Value, 0, len(p.outs)))
			f.rows[n.rel] = row
			return err == nil, err
		}
		st.opened = false
	}
	return false, nil
}

func (n *appendNode) recheck(*frame) (bool, error) { return true, nil }
func (n *appendNode) rels() []int                  { return []int{n.rel} }

// setopNode is INTERSECT and EXCEPT, with or without ALL. Rows come in sorted order, as Postgres's SetOp over Sort gives them.
type setopNode struct {
	l, r   *plan
	except bool
	all    bool
	keys   []sortKey // plain ascending, one per column
	rel    int
	slot   int
}

type rowsState struct {
	rows   [][]types.Value
	pos    int
	filled bool
}

func (n *setopNode) open(f *frame) error {
	*state[rowsState](f, n.slot) = rowsState{}
	return nil
}

// drain runs a plan to its end and keeps its rows.
func (p *plan) drain(f *frame) ([][]types.Value, error) {
	if err := p.root.open(f); err != nil {
		return nil, err
	}
	var rows [][]types.Value
	for {
		ok, err := p.root.next(f)
		if err != nil {
			return nil, err
		}
		if !ok {
			return rows, nil
		}
		row, err := p.row(f, make([]types.Value, 0, len(p.outs)))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

func (n *setopNode) next(f *frame) (bool, error) {
	st := state[rowsState](f, n.slot)
	if !st.filled {
		l, err := n.l.drain(f)
		if err != nil {
			return false, err
		}
		r, err := n.r.drain(f)
		if err != nil {
			return false, err
		}
		order := func(a, b []types.Value) int { return cmpKeys(n.keys, a, b) }
		slices.SortStableFunc(l, order)
		slices.SortStableFunc(r, order)
		for i, j := 0, 0; i < len(l); {
			end, rend := i, j
			for end < len(l) && order(l[end], l[i]) == 0 {
				end++
			}
			for j < len(r) && order(r[j], l[i]) < 0 {
				j++
			}
			for rend = j; rend < len(r) && order(r[rend], l[i]) == 0; {
				rend++
			}
			nl, nr := end-i, rend-j
			count := 0
			switch {
			case n.except && n.all:
				count = max(0, nl-nr)
			case n.except && nr == 0:
				count = 1
			case !n.except && n.all:
				count = min(nl, nr)
			case !n.except && nr > 0:
				count = 1
			}
			for range count {
				st.rows = append(st.rows, l[i])
			}
			i, j = end, rend
		}
		st.filled = true
	}
	if st.pos >= len(st.rows) {
		return false, nil
	}
	f.rows[n.rel] = st.rows[st.pos]
	st.pos++
	return true, nil
}

func (n *setopNode) recheck(*frame) (bool, error) { return true, nil }
func (n *setopNode) rels() []int                  { return []int{n.rel} }

// valuesNode gives computed rows: VALUES lists.
type valuesNode struct {
	rows  [][]evalFn
	rel   int
	slot  int
	quals qual
}

func (n *valuesNode) open(f *frame) error {
	*state[posState](f, n.slot) = posState{}
	return nil
}

func (n *valuesNode) next(f *frame) (bool, error) {
	st := state[posState](f, n.slot)
	for st.pos < len(n.rows) {
		fns := n.rows[st.pos]
		st.pos++
		row := make([]types.Value, len(fns))
		for i, fn := range fns {
			v, err := fn(f)
			if err != nil {
				return false, err
			}
			row[i] = v
		}
		f.rows[n.rel], f.refs[n.rel] = row, rowRef{}
		if ok, err := n.quals.holds(f); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (n *valuesNode) recheck(f *frame) (bool, error) { return n.quals.holds(f) }
func (n *valuesNode) rels() []int                    { return []int{n.rel} }

// functionNode is a function in FROM.
type functionNode struct {
	rows  func(f *frame) ([][]types.Value, error)
	rel   int
	slot  int
	quals qual
}

func (n *functionNode) open(f *frame) error {
	*state[rowsState](f, n.slot) = rowsState{}
	return nil
}

func (n *functionNode) next(f *frame) (bool, error) {
	st := state[rowsState](f, n.slot)
	if !st.filled {
		rows, err := n.rows(f)
		if err != nil {
			return false, err
		}
		st.rows, st.filled = rows, true
	}
	for st.pos < len(st.rows) {
		f.rows[n.rel], f.refs[n.rel] = st.rows[st.pos], rowRef{}
		st.pos++
		if ok, err := n.quals.holds(f); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (n *functionNode) recheck(f *frame) (bool, error) { return n.quals.holds(f) }
func (n *functionNode) rels() []int                    { return []int{n.rel} }

// cteNode is a WITH query. It runs once per activation, as far as its readers ask for rows.
type cteNode struct {
	name string
	p    *plan // nil for a data-modifying query without RETURNING
	slot int
	// recursive part, nil otherwise
	recursive *plan
	distinct  bool
	keys      []sortKey
}

type cteState struct {
	gen    uint64
	rows   [][]types.Value
	opened bool
	done   bool
	// of a recursive query
	from, to int // working table is rows[from:to]
	inRec    bool
}

func (n *cteNode) state(f *frame) *cteState {
	st := state[cteState](f, n.slot)
	if st.gen != f.gen {
		rows := st.rows
		clear(rows)
		if cap(rows) > keepRows {
			rows = nil
		}
		*st = cteState{gen: f.gen, rows: rows[:0]}
	}
	return st
}

// keepRows is how long a list of rows may be whose memory is kept for the next run.
const keepRows = 64

// fetch makes row i available, running the query as far as needed; false when it has no such row.
func (n *cteNode) fetch(f *frame, i int) (bool, error) {
	st := n.state(f)
	for i >= len(st.rows) {
		if st.done {
			return false, nil
		}
		if err := n.pull(f, st); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (n *cteNode) pull(f *frame, st *cteState) error {
	src := n.p
	if st.inRec {
		src = n.recursive
	}
	if !st.opened {
		st.opened = true
		if err := src.root.open(f); err != nil {
			return err
		}
	}
	ok, err := src.root.next(f)
	if err != nil {
		return err
	}
	if ok {
		row, err := src.row(f, make([]types.Value, 0, len(src.outs)))
		if err != nil {
			return err
		}
		if n.distinct {
			for _, r := range st.rows {
				if cmpKeys(n.keys, r, row) == 0 {
					return nil
				}
			}
		}
		st.rows = append(st.rows, row)
		return nil
	}
	if n.recursive == nil {
		st.done = true
		return nil
	}
	st.inRec, st.opened = true, false
	st.from, st.to = st.to, len(st.rows)
	st.done = st.from == st.to
	return nil
}

// finish runs a data-modifying query to its end.
func (n *cteNode) finish(f *frame) error {
	st := n.state(f)
	for !st.done {
		if err := n.pull(f, st); err != nil {
			return err
		}
	}
	return nil
}

// cteScan reads a WITH query as a relation; work reads the working table of a recursive one.
type cteScan struct {
	cte   *cteNode
	rel   int
	slot  int
	quals qual
	work  bool
}

func (n *cteScan) open(f *frame) error {
	*state[posState](f, n.slot) = posState{}
	return nil
}

func (n *cteScan) next(f *frame) (bool, error) {
	st := state[posState](f, n.slot)
	for {
		var row []types.Value
		if n.work {
			cs := n.cte.state(f)
			if cs.from+st.pos >= cs.to {
				return false, nil
			}
			row = cs.rows[cs.from+st.pos]
		} else {
			ok, err := n.cte.fetch(f, st.pos)
			if !ok || err != nil {
				return false, err
			}
			row = n.cte.state(f).rows[st.pos]
		}
		st.pos++
		f.rows[n.rel], f.refs[n.rel] = row, rowRef{}
		if ok, err := n.quals.holds(f); ok || err != nil {
			return ok, err
		}
	}
}

func (n *cteScan) recheck(f *frame) (bool, error) { return n.quals.holds(f) }
func (n *cteScan) rels() []int                    { return []int{n.rel} }
