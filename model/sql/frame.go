package sql

import (
	"sync/atomic"

	"simrun/model/storage"
	"simrun/model/types"
)

// evalFn is a compiled expression.
type evalFn func(*frame) (types.Value, error)

// rowRef says which version of which heap the current row of a relation is. The zero rowRef is a row of no heap.
type rowRef struct {
	table *Relation // the leaf table
	tid   storage.TID
	row   *storage.Row
}

// frame is one activation of a compiled statement or function body.
type frame struct {
	run    *run
	rows   [][]types.Value // current row of each relation, nil: null-extended
	refs   []rowRef
	st     []any // state of plan nodes, by slot
	params []types.Value
	gen    uint64 // counts activations, so that a pooled frame's states know what is stale
}

// state gives the state of a plan node in this frame, made on first use.
func state[T any](f *frame, slot int) *T {
	if p, ok := f.st[slot].(*T); ok {
		return p
	}
	p := new(T)
	f.st[slot] = p
	return p
}

// shape is the size of a frame. It grows during analysis.
type shape struct {
	rels, slots int
}

func (s *shape) newRel() int  { s.rels++; return s.rels - 1 }
func (s *shape) newSlot() int { s.slots++; return s.slots - 1 }

func (s *shape) newFrame() *frame {
	return &frame{rows: make([][]types.Value, s.rels), refs: make([]rowRef, s.rels), st: make([]any, s.slots)}
}

// spares keeps frames of one statement for its next activations. It is no sync.Pool because the runtime keeps those, with all that
// they can reach, through two collections: a database that lives for one run would outlive it by so much that memory piles up.
type spares struct{ slots [4]atomic.Pointer[frame] }

// get returns a spare frame, nil when there is none.
func (s *spares) get() *frame {
	for i := range s.slots {
		if p := &s.slots[i]; p.Load() != nil {
			if f := p.Swap(nil); f != nil {
				return f
			}
		}
	}
	return nil
}

func (s *spares) put(f *frame) {
	for i := range s.slots {
		if p := &s.slots[i]; p.Load() == nil && p.CompareAndSwap(nil, f) {
			return
		}
	}
}

// tuple is a saved position of some relations of a frame: what Sort, Materialize and grouping keep of a row.
type tuple struct {
	rows [][]types.Value
	refs []rowRef
}

func (f *frame) save(rels []int) tuple {
	t := tuple{rows: make([][]types.Value, len(rels)), refs: make([]rowRef, len(rels))}
	for i, r := range rels {
		t.rows[i], t.refs[i] = f.rows[r], f.refs[r]
	}
	return t
}

func (f *frame) restore(rels []int, t tuple) {
	for i, r := range rels {
		f.rows[r], f.refs[r] = t.rows[i], t.refs[i]
	}
}

func (f *frame) setNull(rels []int) {
	for _, r := range rels {
		f.rows[r], f.refs[r] = nil, rowRef{}
	}
}
