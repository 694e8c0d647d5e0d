package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// partitionBy reads PARTITION BY LIST (column).
func (b *tableBuilder) partitionBy(s *pg.PartitionSpec) error {
	if s.Strategy != pg.PartitionStrategy_PARTITION_STRATEGY_LIST {
		return b.a.unsupported(s.Location, "partitioning other than by LIST")
	}
	if len(s.PartParams) != 1 {
		return b.a.errorf(s.Location, "42P17", "cannot use \"list\" partition strategy with more than one column")
	}
	e := s.PartParams[0].GetPartitionElem()
	if e.Expr != nil {
		return b.a.unsupported(e.Location, "partitioning by an expression")
	}
	i := b.r.Col(e.Name)
	if i < 0 {
		return b.a.errorf(e.Location, "42703", "column %q named in partition key does not exist", e.Name)
	}
	b.r.Kind, b.r.PartKey = KindPartitioned, []int{i}
	return nil
}

// inheritFrom starts a partition: the columns, constraints and indexes of its parent.
func (b *tableBuilder) inheritFrom(rv *pg.RangeVar) (*Relation, error) {
	parent, err := b.a.cat.relation(rv.Schemaname, rv.Relname)
	if err != nil {
		return nil, err
	}
	if parent.Kind != KindPartitioned {
		return nil, types.Errorf("42P17", "%q is not partitioned", parent.Name)
	}
	if err := b.rn.owns(parent.Owner, "table", parent.Name); err != nil {
		return nil, err
	}
	if err := b.rn.lock(parent, storage.AccessExclusive); err != nil {
		return nil, err
	}
	if parent, err = b.rn.change(b.a, parent.QName()); err != nil {
		return nil, err
	}
	for _, c := range parent.Columns {
		if !c.Dropped {
			c.Identity = 0
			b.r.Columns = append(b.r.Columns, c)
		}
	}
	b.r.Checks = append(b.r.Checks, parent.Checks...)
	b.copyIndexes(parent, layoutPlaces(parent, b.r))
	return parent, nil
}

// attach makes child a partition of parent.
func (rn *run) attach(a *analyzer, parent, child *Relation, spec *pg.PartitionBoundSpec) error {
	p := Partition{Table: child.QName(), Default: spec.IsDefault}
	key := parent.Columns[parent.PartKey[0]]
	if !spec.IsDefault && spec.Strategy != "l" {
		return a.errorf(spec.Location, "42P16", "invalid bound specification for a list partition")
	}
	for _, n := range spec.Listdatums {
		e, err := a.newQuery(nil).expr(n)
		if err != nil {
			return err
		}
		if e, err = a.coerce(e, key.Type, key.Typmod, assignment); err != nil {
			if err == error(errNoCast) {
				return a.errorf(nodeLocation(n), "42804", "specified value cannot be cast to type %s for column %q", key.Type, key.Name)
			}
			return err
		}
		v, err := e.compile(&a.shape)(a.newFrame())
		if err != nil {
			return a.at(err, nodeLocation(n))
		}
		p.Values = append(p.Values, v)
	}
	for _, other := range parent.Parts {
		if p.Default && other.Default {
			return a.errorf(spec.Location, "42P17", "partition %q conflicts with existing default partition %q", child.Name, baseName(other.Table))
		}
		for i, v := range p.Values {
			if holdsValue(&other, v) {
				return a.errorf(nodeLocation(spec.Listdatums[i]), "42P17", "partition %q would overlap partition %q", child.Name, baseName(other.Table))
			}
		}
	}
	if err := rn.checkDefaultPartition(a, parent, &p); err != nil {
		return err
	}
	parent.Parts = append(parent.Parts, p)
	child.Parent = parent.QName()
	for _, t := range parent.Triggers {
		if t.Row {
			child.Triggers = addTrigger(child.Triggers, t)
		}
	}
	for _, fk := range parent.FKs {
		places := layoutPlaces(parent, child)
		fk.Table = child.QName()
		cols := make([]int, len(fk.Cols))
		for i, c := range fk.Cols {
			cols[i] = places[c]
		}
		fk.Cols = cols
		child.FKs = append(child.FKs, fk)
	}
	if err := rn.replace(child); err != nil {
		return err
	}
	return rn.replace(parent)
}

// boundOf tests whether a row belongs into a partition; nil for a table that is none.
func (a *analyzer) boundOf(r *Relation) func(vals []types.Value) bool {
	parent, ok := a.cat.byQName(r.Parent)
	if !ok {
		return nil
	}
	at := r.Col(parent.Columns[parent.PartKey[0]].Name)
	for i := range parent.Parts {
		own := &parent.Parts[i]
		if own.Table != r.QName() {
			continue
		}
		if !own.Default {
			return func(vals []types.Value) bool { return holdsValue(own, vals[at]) }
		}
		return func(vals []types.Value) bool {
			for j := range parent.Parts {
				if !parent.Parts[j].Default && holdsValue(&parent.Parts[j], vals[at]) {
					return false
				}
			}
			return true
		}
	}
	return nil
}

// baseName is a qualified name without its schema.
func baseName(qname string) string {
	_, name, _ := splitQName(qname)
	return name
}

// splitQName splits a key of the catalog at its first dot.
func splitQName(q string) (schema, name string, ok bool) {
	for i := range q {
		if q[i] == '.' {
			return q[:i], q[i+1:], true
		}
	}
	return "", q, false
}

// checkDefaultPartition refuses a new partition whose rows sit in the default partition already.
func (rn *run) checkDefaultPartition(a *analyzer, parent *Relation, p *Partition) error {
	for i := range parent.Parts {
		d := &parent.Parts[i]
		if !d.Default {
			continue
		}
		leaf, ok := a.cat.byQName(d.Table)
		if !ok {
			continue
		}
		if err := rn.lock(leaf, storage.AccessExclusive); err != nil {
			return err
		}
		at := layoutPlaces(parent, leaf)[parent.PartKey[0]]
		err := rn.x.Scan(rn.x.NewSnapshot(), leaf.ID, func(_ storage.TID, row *storage.Row) (bool, error) {
			if at < len(row.Vals) && holdsValue(p, row.Vals[at]) {
				return false, types.Errorf("23514", "updated partition constraint for default partition %q would be violated by some row", leaf.Name)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attachExisting is ALTER TABLE .. ATTACH PARTITION.
func (rn *run) attachExisting(a *analyzer, parent *Relation, cmd *pg.PartitionCmd) error {
	if parent.Kind != KindPartitioned {
		return types.Errorf("42809", "table %q is not partitioned", parent.Name)
	}
	child, err := rn.open(a, cmd.Name, storage.AccessExclusive, "r")
	if err != nil {
		return err
	}
	if child.Parent != "" {
		return types.Errorf("42809", "%q is already a partition", child.Name)
	}
	for i := range parent.Columns {
		c := &parent.Columns[i]
		if c.Dropped {
			continue
		}
		at := child.Col(c.Name)
		switch {
		case at < 0:
			return types.Errorf("42804", "child table is missing column %q", c.Name)
		case child.Columns[at].Type != c.Type:
			return types.Errorf("42804", "child table %q has different type for column %q", child.Name, c.Name)
		case c.NotNull && !child.Columns[at].NotNull:
			return types.Errorf("42804", "column %q in child table must be marked NOT NULL", c.Name)
		}
	}
	places := layoutPlaces(parent, child)
	for _, ix := range parent.Indexes {
		if !hasLikeIndex(child, &ix, places) {
			b := &tableBuilder{rn: rn, a: a, r: child}
			b.copyIndexes(&Relation{Indexes: []Index{ix}}, places)
			added := child.Indexes[len(child.Indexes)-1]
			child.Indexes = child.Indexes[:len(child.Indexes)-1]
			if err := rn.addIndex(a, child, &added); err != nil {
				return err
			}
		}
	}
	if err := rn.attach(a, parent, child, cmd.Bound); err != nil {
		return err
	}
	return rn.checkPartitionRows(a, parent, child)
}

// hasLikeIndex says whether child has an index over the same columns as one of its parent.
func hasLikeIndex(child *Relation, ix *Index, places map[int]int) bool {
	for i := range child.Indexes {
		c := &child.Indexes[i]
		same := len(c.Cols) == len(ix.Cols) && c.Unique == ix.Unique && c.Pred == nil && ix.Pred == nil
		for k := 0; same && k < len(c.Cols); k++ {
			same = ix.Cols[k] >= 0 && c.Cols[k] == places[ix.Cols[k]]
		}
		if same {
			return true
		}
	}
	return false
}

// checkPartitionRows refuses a partition with a row that belongs elsewhere.
func (rn *run) checkPartitionRows(a *analyzer, parent, child *Relation) error {
	at := layoutPlaces(parent, child)[parent.PartKey[0]]
	own := parent.Parts[len(parent.Parts)-1]
	return rn.x.Scan(rn.x.NewSnapshot(), child.ID, func(_ storage.TID, row *storage.Row) (bool, error) {
		v := types.Null(child.Columns[at].Type)
		if at < len(row.Vals) {
			v = row.Vals[at]
		}
		fits := holdsValue(&own, v)
		if own.Default {
			fits = true
			for i := range parent.Parts[:len(parent.Parts)-1] {
				fits = fits && !holdsValue(&parent.Parts[i], v)
			}
		}
		if !fits {
			return false, types.Errorf("23514", "partition constraint of relation %q is violated by some row", child.Name)
		}
		return true, nil
	})
}

// detach is ALTER TABLE .. DETACH PARTITION.
func (rn *run) detach(a *analyzer, parent *Relation, cmd *pg.PartitionCmd) error {
	if cmd.Concurrent {
		return a.unsupported(cmd.Name.Location, "DETACH PARTITION CONCURRENTLY")
	}
	child, err := rn.open(a, cmd.Name, storage.AccessExclusive, "r")
	if err != nil {
		return err
	}
	if child.Parent != parent.QName() {
		return types.Errorf("42P01", "relation %q is not a partition of relation %q", child.Name, parent.Name)
	}
	child.Parent = ""
	kept := parent.Parts[:0]
	for _, p := range parent.Parts {
		if p.Table != child.QName() {
			kept = append(kept, p)
		}
	}
	parent.Parts = kept
	if err := rn.replace(child); err != nil {
		return err
	}
	return rn.replace(parent)
}
