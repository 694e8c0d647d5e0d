package sql

import (
	"slices"

	"simrun/model/storage"
	"simrun/model/types"
)

// scan makes the node that reads a stored table under the given conditions.
func (a *analyzer) scan(it *nsItem, quals []expr) (node, error) {
	if it.table.Kind == KindPartitioned {
		return a.partScan(it, quals)
	}
	n := &scanNodeTable{table: it.table, rel: it.rel, slot: a.newSlot(), quals: compileQuals(quals, &a.shape), index: -1}
	n.index, n.keys = a.uniqueKey(it, quals)
	return n, nil
}

// uniqueKey finds a unique index all of whose columns the conditions fix; the conditions themselves are still checked.
func (a *analyzer) uniqueKey(it *nsItem, quals []expr) (int, []evalFn) {
	fixed := map[int]expr{}
	for _, e := range quals {
		sides := equated(e)
		for i := range sides {
			v, ok := sides[i].(*varExpr)
			other := sides[1-i]
			if !ok || v.rel != it.rel || relsOf(other)[it.rel] || isVolatile(other) || !lookupType(v.t, other.typ()) || hasSubquery(other) {
				continue
			}
			if _, dup := fixed[v.col]; !dup {
				fixed[v.col] = other
			}
		}
	}
	for i := range it.table.Indexes {
		ix := &it.table.Indexes[i]
		if !ix.Unique || ix.Pred != nil || ix.Exprs != nil || ix.NullsSame {
			continue
		}
		keys := make([]evalFn, 0, len(ix.Cols))
		for _, col := range ix.Cols {
			e, ok := fixed[col]
			if !ok {
				break
			}
			keys = append(keys, keyFn(e, it.table.Columns[col].Type, &a.shape))
		}
		if len(keys) == len(ix.Cols) {
			return i, keys
		}
	}
	return -1, nil
}

// hasSubquery says whether an expression runs a subquery, which might lock or change rows.
func hasSubquery(e expr) bool {
	found := false
	walk(e, func(x expr) bool {
		if _, ok := x.(*subExpr); ok {
			found = true
		}
		return !found
	})
	return found
}

// lookupType says whether a value of type from can be looked up in an index over type to.
func lookupType(to, from types.Type) bool {
	return to == from || isInt(to.Kind) && isInt(from.Kind)
}

func keyFn(e expr, t types.Type, sh *shape) evalFn {
	fn := e.compile(sh)
	if e.typ() == t {
		return fn
	}
	return func(f *frame) (types.Value, error) {
		v, err := fn(f)
		v.T = t
		return v, err
	}
}

// scanNodeTable reads the rows of a table that the snapshot sees, in heap order, or those with one key.
type scanNodeTable struct {
	table *Relation
	rel   int
	slot  int
	quals qual
	index int // of a lookup by key, -1: all rows
	keys  []evalFn
}

// scanState is the place of a scan.
type scanState struct {
	cur storage.Cursor
	key []types.Value
}

func (n *scanNodeTable) open(f *frame) error {
	st := state[scanState](f, n.slot)
	f.rows[n.rel] = nil
	if n.index < 0 {
		f.run.x.StartScan(&st.cur, f.run.snap, n.table.ID)
		return nil
	}
	st.key = st.key[:0]
	for _, k := range n.keys {
		v, err := k(f)
		if err != nil {
			return err
		}
		st.key = append(st.key, v)
	}
	f.run.x.StartLookup(&st.cur, f.run.snap, n.table.ID, n.index, st.key)
	return nil
}

func (n *scanNodeTable) next(f *frame) (bool, error) {
	st := state[scanState](f, n.slot)
	for {
		tid, row, ok := st.cur.Next()
		if !ok {
			return false, nil
		}
		f.rows[n.rel] = row.Vals
		f.refs[n.rel] = rowRef{table: n.table, tid: tid, row: row}
		if ok, err := n.quals.holds(f); ok || err != nil {
			return ok, err
		}
	}
}

func (n *scanNodeTable) recheck(f *frame) (bool, error) { return n.quals.holds(f) }
func (n *scanNodeTable) rels() []int                    { return []int{n.rel} }

// partScan reads a partitioned table: its partitions in the order of their bounds, those that the conditions rule out
// left aside. The surviving partitions are locked when the statement starts, as the planner does.
type partScan struct {
	rel    int
	slot   int
	root   *Relation
	parts  []partLeaf
	values []types.Value // all that the partitions list
	steps  partStep      // what the planner knows of the key, nil: nothing
	prune  evalFn        // value that the key has in this run of the scan, nil: not fixed
	mode   storage.TableLock
	quals  qual
}

type partLeaf struct {
	scan *scanNodeTable
	part Partition
	from int   // of its values in partScan.values
	cols []int // leaf column of each column of the root, nil: the same
}

func (a *analyzer) partScan(it *nsItem, quals []expr) (node, error) {
	n := &partScan{rel: it.rel, slot: a.newSlot(), root: it.table, quals: compileQuals(quals, &a.shape), mode: it.mode}
	for _, e := range quals {
		sides := equated(e)
		for i := range sides {
			v, ok := sides[i].(*varExpr)
			other := sides[1-i]
			if ok && v.rel == it.rel && len(it.table.PartKey) == 1 && v.col == it.table.PartKey[0] && len(relsOf(other)) == 0 &&
				!isVolatile(other) && !hasSubquery(other) {
				n.prune = other.compile(&a.shape)
			}
		}
	}
	for _, p := range it.table.Parts {
		leaf, ok := a.cat.byQName(p.Table)
		if !ok {
			return nil, types.Errorf("XX000", "partition %q is not in the catalog", p.Table)
		}
		if leaf.Kind == KindPartitioned {
			return nil, types.NewError("0A000", "sub-partitioned tables are not supported by the model")
		}
		sub := &nsItem{name: it.name, rel: it.rel, table: leaf}
		s := &scanNodeTable{table: leaf, rel: it.rel, slot: a.newSlot(), quals: n.quals, index: -1}
		if sameLayout(leaf, it.table) {
			s.index, s.keys = a.uniqueKey(sub, quals)
		}
		n.parts = append(n.parts, partLeaf{scan: s, part: p, from: len(n.values), cols: layoutMap(it.table, leaf)})
		n.values = append(n.values, p.Values...)
	}
	it.part = n
	return n, nil
}

// sameLayout says whether two tables have the same columns at the same places.
func sameLayout(a, b *Relation) bool { return layoutMap(a, b) == nil }

// layoutMap gives for each column of root its place in leaf, nil when they agree.
func layoutMap(root, leaf *Relation) []int {
	same := len(root.Columns) == len(leaf.Columns)
	m := make([]int, len(root.Columns))
	for i := range root.Columns {
		m[i] = -1
		if !root.Columns[i].Dropped {
			m[i] = leaf.Col(root.Columns[i].Name)
		}
		same = same && (m[i] == i || root.Columns[i].Dropped)
	}
	if same {
		return nil
	}
	return m
}

// partState is the place of a scan, and what the planner has left of the values in this activation.
type partState struct {
	gen    uint64
	keep   partSet
	pos    int
	opened bool
	only   partSet // of the values in this run of the scan, nil: all
}

// state gives the state with what the planner has left, which is found once an activation.
func (n *partScan) state(f *frame) (*partState, error) {
	st := state[partState](f, n.slot)
	if st.gen == f.gen || n.steps == nil {
		return st, nil
	}
	if st.keep == nil {
		st.keep = newPartSet(len(n.values))
	}
	if err := n.steps(f, n, st.keep); err != nil {
		return nil, err
	}
	st.gen = f.gen
	return st, nil
}

// holds says whether one of the set's values belongs in a partition.
func (s partSet) holds(p *partLeaf) bool {
	if s == nil || p.part.Default && (s[s.tail()] || s[s.tail()+1]) {
		return true
	}
	for i := range p.part.Values {
		if s[p.from+i] {
			return true
		}
	}
	return false
}

func (n *partScan) lockParts(f *frame) error {
	st, err := n.state(f)
	if err != nil {
		return err
	}
	for i := range n.parts {
		if st.keep.holds(&n.parts[i]) {
			if _, err := f.run.x.LockTable(n.parts[i].scan.table.ID, n.mode, storage.Wait); err != nil {
				return err
			}
		}
	}
	return nil
}

// barren says whether all partitions were ruled out.
func (n *partScan) barren(f *frame) (bool, error) {
	st, err := n.state(f)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(n.parts, func(p partLeaf) bool { return st.keep.holds(&p) }), nil
}

func (n *partScan) open(f *frame) error {
	st, err := n.state(f)
	if err != nil {
		return err
	}
	st.pos, st.opened = 0, false
	if n.prune == nil {
		return nil
	}
	v, err := n.prune(f)
	if err != nil {
		return err
	}
	if st.only == nil {
		st.only = newPartSet(len(n.values))
	}
	n.compareValues("=", v, st.only)
	return nil
}

func (n *partScan) next(f *frame) (bool, error) {
	st := state[partState](f, n.slot)
	for ; st.pos < len(n.parts); st.pos++ {
		p := &n.parts[st.pos]
		if !st.opened {
			if !st.keep.holds(p) || !st.only.holds(p) {
				continue
			}
			if err := p.scan.open(f); err != nil {
				return false, err
			}
			st.opened = true
		}
		ok, err := p.next(f)
		if ok || err != nil {
			return ok, err
		}
		st.opened = false
	}
	return false, nil
}

// next is the leaf's next row, in the root's layout.
func (p *partLeaf) next(f *frame) (bool, error) {
	if p.cols == nil {
		return p.scan.next(f)
	}
	st := state[scanState](f, p.scan.slot)
	for {
		tid, row, ok := st.cur.Next()
		if !ok {
			return false, nil
		}
		f.rows[p.scan.rel] = remap(row.Vals, p.cols)
		f.refs[p.scan.rel] = rowRef{table: p.scan.table, tid: tid, row: row}
		if ok, err := p.scan.quals.holds(f); ok || err != nil {
			return ok, err
		}
	}
}

func remap(vals []types.Value, cols []int) []types.Value {
	out := make([]types.Value, len(cols))
	for i, c := range cols {
		if c >= 0 && c < len(vals) {
			out[i] = vals[c]
		}
	}
	return out
}

func (n *partScan) recheck(f *frame) (bool, error) { return n.quals.holds(f) }
func (n *partScan) rels() []int                    { return []int{n.rel} }

func holdsValue(p *Partition, key types.Value) bool {
	for _, v := range p.Values {
		if v.Valid == key.Valid && (!key.Valid || types.Compare(v, key) == 0) {
			return true
		}
	}
	return false
}
