package sql

import (
	"simrun/model/types"
)

// node is a plan node: an iterator over rows that it leaves in the frame. A node is immutable; open starts it anew.
type node interface {
	open(f *frame) error
	next(f *frame) (bool, error)
	// recheck says whether the rows now in the frame still satisfy the node's conditions (EvalPlanQual). It may
	// null-extend relations.
	recheck(f *frame) (bool, error)
	// rels are the relations of the frame that the node sets.
	rels() []int
}

// qual is a compiled condition: NULL is false.
type qual func(*frame) (bool, error)

func compileQual(e expr, sh *shape) qual {
	fn := e.compile(sh)
	return func(f *frame) (bool, error) {
		v, err := fn(f)
		return v.Valid && v.N != 0, err
	}
}

// compileQuals makes one condition of several; nil when there is none.
func compileQuals(es []expr, sh *shape) qual {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return compileQual(es[0], sh)
	}
	qs := make([]qual, len(es))
	for i, e := range es {
		qs[i] = compileQual(e, sh)
	}
	return func(f *frame) (bool, error) {
		for _, q := range qs {
			if ok, err := q(f); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

func (q qual) holds(f *frame) (bool, error) {
	if q == nil {
		return true, nil
	}
	return q(f)
}

// resultNode gives one row of no relation, or none when its condition fails: SELECT without FROM.
type resultNode struct {
	cond qual
	slot int
}

type onceState struct{ done bool }

func (n *resultNode) open(f *frame) error {
	state[onceState](f, n.slot).done = false
	return nil
}

func (n *resultNode) next(f *frame) (bool, error) {
	st := state[onceState](f, n.slot)
	if st.done {
		return false, nil
	}
	st.done = true
	return n.cond.holds(f)
}

func (n *resultNode) recheck(f *frame) (bool, error) { return n.cond.holds(f) }
func (n *resultNode) rels() []int                    { return nil }

// filterNode drops rows.
type filterNode struct {
	child node
	cond  qual
}

func (n *filterNode) open(f *frame) error { return n.child.open(f) }

func (n *filterNode) next(f *frame) (bool, error) {
	for {
		ok, err := n.child.next(f)
		if !ok || err != nil {
			return false, err
		}
		if ok, err = n.cond(f); ok || err != nil {
			return ok, err
		}
	}
}

func (n *filterNode) recheck(f *frame) (bool, error) {
	if ok, err := n.child.recheck(f); !ok || err != nil {
		return false, err
	}
	return n.cond(f)
}

func (n *filterNode) rels() []int { return n.child.rels() }

// gateNode has the conditions that depend on no row of the query: they are asked once, and when they do not hold nothing below is
// read (Postgres's Result with a One-Time Filter).
type gateNode struct {
	child node
	cond  qual
	slot  int
}

type gateState struct{ asked, shut bool }

func (n *gateNode) open(f *frame) error {
	*state[gateState](f, n.slot) = gateState{}
	return nil
}

func (n *gateNode) next(f *frame) (bool, error) {
	if st := state[gateState](f, n.slot); !st.asked {
		ok, err := n.cond(f)
		if err != nil {
			return false, err
		}
		*st = gateState{asked: true, shut: !ok}
		if ok {
			if err := n.child.open(f); err != nil {
				return false, err
			}
		}
	}
	if state[gateState](f, n.slot).shut {
		return false, nil
	}
	return n.child.next(f)
}

func (n *gateNode) recheck(f *frame) (bool, error) {
	if ok, err := n.cond(f); !ok || err != nil {
		return false, err
	}
	return n.child.recheck(f)
}

func (n *gateNode) rels() []int { return n.child.rels() }

// joinNode is a nested loop: for each row of l all rows of r that satisfy cond. Conditions may also have been pushed into r.
type joinNode struct {
	l, r  node
	left  bool // LEFT JOIN
	once  bool // a row of l meets at most one of r, see keyJoin
	cond  qual
	slot  int
	rrels []int
	all   []int

	barren func(f *frame) (bool, error) // see barrenOf; nil: never
}

type joinState struct {
	have, matched bool
	barren        bool
}

func newJoin(l, r node, left bool, cond qual, sh *shape) *joinNode {
	n := &joinNode{l: l, r: r, left: left, cond: cond, slot: sh.newSlot(), rrels: r.rels(),
		all: append(append([]int{}, l.rels()...), r.rels()...)}
	n.barren = barrenOf(l)
	if right := barrenOf(r); right != nil && !left {
		n.barren = either(n.barren, right)
	}
	return n
}

// barrenOf tells whether the planner knows that a node has no rows, since it has ruled out all partitions below: then it has nothing
// of a join read that would need one. It is nil when that cannot be.
func barrenOf(n node) func(f *frame) (bool, error) {
	switch n := n.(type) {
	case *partScan:
		return n.barren
	case *joinNode:
		return n.barren
	case *filterNode:
		return barrenOf(n.child)
	case *gateNode:
		return barrenOf(n.child)
	}
	return nil
}

func either(a, b func(f *frame) (bool, error)) func(f *frame) (bool, error) {
	if a == nil {
		return b
	}
	return func(f *frame) (bool, error) {
		if yes, err := a(f); yes || err != nil {
			return yes, err
		}
		return b(f)
	}
}

func (n *joinNode) open(f *frame) error {
	st := state[joinState](f, n.slot)
	*st = joinState{}
	if n.barren != nil {
		var err error
		if st.barren, err = n.barren(f); st.barren || err != nil {
			return err
		}
	}
	return n.l.open(f)
}

func (n *joinNode) next(f *frame) (bool, error) {
	st := state[joinState](f, n.slot)
	for !st.barren {
		if !st.have {
			ok, err := n.l.next(f)
			if !ok || err != nil {
				return false, err
			}
			st.have, st.matched = true, false
			if err := n.r.open(f); err != nil {
				return false, err
			}
		}
		for {
			ok, err := n.r.next(f)
			if err != nil {
				return false, err
			}
			if !ok {
				break
			}
			if ok, err = n.cond.holds(f); err != nil {
				return false, err
			}
			if ok {
				st.matched, st.have = true, !n.once
				return true, nil
			}
		}
		st.have = false
		if n.left && !st.matched {
			f.setNull(n.rrels)
			return true, nil
		}
	}
	return false, nil
}

func (n *joinNode) recheck(f *frame) (bool, error) {
	if ok, err := n.l.recheck(f); !ok || err != nil {
		return false, err
	}
	if n.left && isNull(f, n.rrels) {
		return true, nil
	}
	ok, err := n.r.recheck(f)
	if ok && err == nil {
		ok, err = n.cond.holds(f)
	}
	if !ok && err == nil && n.left {
		f.setNull(n.rrels)
		return true, nil
	}
	return ok, err
}

func (n *joinNode) rels() []int { return n.all }

func isNull(f *frame, rels []int) bool {
	for _, r := range rels {
		if f.rows[r] != nil {
			return false
		}
	}
	return true
}

// fullJoinNode is FULL JOIN: the left join's rows, then the right rows that found no partner.
type fullJoinNode struct {
	l, r         node
	cond         qual
	slot         int
	lrels, rrels []int
}

type fullJoinState struct {
	right   []tuple
	used    []bool
	have    bool
	matched bool
	pos     int
	tail    bool
}

func (n *fullJoinNode) open(f *frame) error {
	st := state[fullJoinState](f, n.slot)
	*st = fullJoinState{}
	if err := n.r.open(f); err != nil {
		return err
	}
	for {
		ok, err := n.r.next(f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		st.right = append(st.right, f.save(n.rrels))
	}
	st.used = make([]bool, len(st.right))
	return n.l.open(f)
}

func (n *fullJoinNode) next(f *frame) (bool, error) {
	st := state[fullJoinState](f, n.slot)
	for !st.tail {
		if !st.have {
			ok, err := n.l.next(f)
			if err != nil {
				return false, err
			}
			if !ok {
				st.tail, st.pos = true, 0
				break
			}
			st.have, st.matched, st.pos = true, false, 0
		}
		for st.pos < len(st.right) {
			f.restore(n.rrels, st.right[st.pos])
			st.pos++
			ok, err := n.cond.holds(f)
			if err != nil {
				return false, err
			}
			if ok {
				st.matched, st.used[st.pos-1] = true, true
				return true, nil
			}
		}
		st.have = false
		if !st.matched {
			f.setNull(n.rrels)
			return true, nil
		}
	}
	for st.pos < len(st.right) {
		st.pos++
		if !st.used[st.pos-1] {
			f.setNull(n.lrels)
			f.restore(n.rrels, st.right[st.pos-1])
			return true, nil
		}
	}
	return false, nil
}

func (n *fullJoinNode) recheck(*frame) (bool, error) { return true, nil }
func (n *fullJoinNode) rels() []int                  { return append(append([]int{}, n.lrels...), n.rrels...) }

// materialNode keeps the rows of an uncorrelated child so that later openings read them again without running it again.
type materialNode struct {
	child node
	slot  int
}

type materialState struct {
	gen    uint64
	rows   []tuple
	pos    int
	opened bool
	done   bool
}

func (n *materialNode) open(f *frame) error {
	st := state[materialState](f, n.slot)
	if st.gen != f.gen {
		*st = materialState{gen: f.gen, rows: st.rows[:0]}
	}
	st.pos = 0
	return nil
}

func (n *materialNode) next(f *frame) (bool, error) {
	st := state[materialState](f, n.slot)
	if st.pos < len(st.rows) {
		f.restore(n.child.rels(), st.rows[st.pos])
		st.pos++
		return true, nil
	}
	if st.done {
		return false, nil
	}
	if !st.opened {
		st.opened = true
		if err := n.child.open(f); err != nil {
			return false, err
		}
	}
	ok, err := n.child.next(f)
	if err != nil {
		return false, err
	}
	if !ok {
		st.done = true
		return false, nil
	}
	st.rows = append(st.rows, f.save(n.child.rels()))
	st.pos++
	return true, nil
}

func (n *materialNode) recheck(f *frame) (bool, error) { return n.child.recheck(f) }
func (n *materialNode) rels() []int                    { return n.child.rels() }

// limitNode is LIMIT and OFFSET. It never asks its child for a row more than it gives.
type limitNode struct {
	child         node
	limit, offset evalFn
	slot          int
}

type limitState struct {
	left int64 // -1: no limit
	skip int64
}

func (n *limitNode) open(f *frame) error {
	st := state[limitState](f, n.slot)
	*st = limitState{left: -1}
	if n.limit != nil {
		v, err := n.limit(f)
		if err != nil {
			return err
		}
		if v.Valid {
			if v.N < 0 {
				return types.NewError("2201W", "LIMIT must not be negative")
			}
			st.left = v.N
		}
	}
	if n.offset != nil {
		v, err := n.offset(f)
		if err != nil {
			return err
		}
		if v.Valid {
			if v.N < 0 {
				return types.NewError("2201X", "OFFSET must not be negative")
			}
			st.skip = v.N
		}
	}
	return n.child.open(f)
}

func (n *limitNode) next(f *frame) (bool, error) {
	st := state[limitState](f, n.slot)
	if st.left == 0 {
		return false, nil
	}
	for ; st.skip > 0; st.skip-- {
		if ok, err := n.child.next(f); !ok || err != nil {
			return false, err
		}
	}
	ok, err := n.child.next(f)
	if ok && st.left > 0 {
		st.left--
	}
	return ok, err
}

func (n *limitNode) recheck(f *frame) (bool, error) { return n.child.recheck(f) }
func (n *limitNode) rels() []int                    { return n.child.rels() }
