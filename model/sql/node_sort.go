package sql

import (
	"simrun/model/types"
)

// sortKey is one ORDER BY item.
type sortKey struct {
	fn         evalFn
	desc       bool
	nullsFirst bool
}

// cmp orders two values as the key says.
func (k *sortKey) cmp(a, b types.Value) int {
	switch {
	case !a.Valid && !b.Valid:
		return 0
	case !a.Valid:
		if k.nullsFirst {
			return -1
		}
		return 1
	case !b.Valid:
		if k.nullsFirst {
			return 1
		}
		return -1
	}
	c := types.Compare(a, b)
	if k.desc {
		return -c
	}
	return c
}

func cmpKeys(keys []sortKey, a, b []types.Value) int {
	for i := range keys {
		if c := keys[i].cmp(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// sortNode sorts. Rows with equal keys keep the order in which they came; Postgres's quicksort promises none.
type sortNode struct {
	child node
	keys  []sortKey
	slot  int
}

type sortRow struct {
	keys []types.Value
	t    tuple
}

type sortState struct {
	rows   []sortRow
	pos    int
	sorted bool
}

func (n *sortNode) open(f *frame) error {
	st := state[sortState](f, n.slot)
	st.rows, st.pos, st.sorted = st.rows[:0], 0, false
	return n.child.open(f)
}

func (n *sortNode) fill(f *frame, st *sortState) error {
	rels := n.child.rels()
	for {
		ok, err := n.child.next(f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		keys := make([]types.Value, len(n.keys))
		for i := range n.keys {
			if keys[i], err = n.keys[i].fn(f); err != nil {
				return err
			}
		}
		st.rows = append(st.rows, sortRow{keys, f.save(rels)})
	}
	quicksort(st.rows, func(a, b *sortRow) int { return cmpKeys(n.keys, a.keys, b.keys) })
	st.sorted = true
	return nil
}

func (n *sortNode) next(f *frame) (bool, error) {
	st := state[sortState](f, n.slot)
	if !st.sorted {
		if err := n.fill(f, st); err != nil {
			return false, err
		}
	}
	if st.pos >= len(st.rows) {
		return false, nil
	}
	f.restore(n.child.rels(), st.rows[st.pos].t)
	st.pos++
	return true, nil
}

func (n *sortNode) recheck(f *frame) (bool, error) { return n.child.recheck(f) }
func (n *sortNode) rels() []int                    { return n.child.rels() }

// uniqueNode keeps the first of each run of rows with equal keys: DISTINCT, over a sorted child.
type uniqueNode struct {
	child node
	keys  []sortKey
	slot  int
}

type uniqueState struct {
	last  []types.Value
	have  bool
	probe []types.Value
}

func (n *uniqueNode) open(f *frame) error {
	st := state[uniqueState](f, n.slot)
	st.have = false
	return n.child.open(f)
}

func (n *uniqueNode) next(f *frame) (bool, error) {
	st := state[uniqueState](f, n.slot)
	for {
		ok, err := n.child.next(f)
		if !ok || err != nil {
			return false, err
		}
		st.probe = st.probe[:0]
		for i := range n.keys {
			v, err := n.keys[i].fn(f)
			if err != nil {
				return false, err
			}
			st.probe = append(st.probe, v)
		}
		if st.have && cmpKeys(n.keys, st.last, st.probe) == 0 {
			continue
		}
		st.have = true
		st.last, st.probe = st.probe, st.last
		return true, nil
	}
}

func (n *uniqueNode) recheck(f *frame) (bool, error) { return n.child.recheck(f) }
func (n *uniqueNode) rels() []int                    { return n.child.rels() }
