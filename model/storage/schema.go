package storage

import (
	"slices"

	"simrun/model/types"
)

// IndexSpec describes an index of a heap.
type IndexSpec struct {
	Name   string // for messages: the constraint's or index's name
	Unique bool
	Cols   []int // key columns, from 0; nil when Key is set
	// Key computes the key of an expression or partial index; false leaves the row out. Nil means the columns Cols. It must
	// be a function of the row alone.
	Key              func(*Row) (key []types.Value, ok bool)
	Partial          bool                           // has a predicate or expressions: cannot be the target of a foreign key
	NullsNotDistinct bool                           // NULLS NOT DISTINCT
	Detail           func(key []types.Value) string // the DETAIL of 23505, e.g. "Key (id)=(1) already exists."; may be nil
	UsedCols         []int                          // further columns the expressions and predicate read (they break HOT)
}

// undo is how a schema change is taken back, or what is left to do when it commits.
type undo struct {
	kind undoKind
	key  objectKey // of a catalog object
	rel  TableID
	old  *relation // the relation before
	seq  *sequence
	at   int // journal position of the operation
}

type undoKind uint8

const (
	undoObject   undoKind = iota // a catalog object was made
	undoEnd                      // one was ended
	undoCreate                   // a relation was made
	undoDrop                     // one is to go at commit
	undoAlter                    // name or indexes were changed
	undoRows                     // its rows were replaced as a whole
	undoSequence                 // the sequence was changed
)

func (st *State) logSchema(s *session, u undo) {
	own(&s.shared, ownDDL, &s.ddl)
	u.at = len(s.journal)
	s.ddl = append(s.ddl, u)
	s.log(wSchema, 0, TID(len(s.ddl)-1))
}

// heapBefore returns the heap that was t's before the statement's operation at journal position pos or later replaced its
// rows, or nil.
func (s *session) heapBefore(t TableID, pos int) *relation {
	for i := s.ddlBase; i < len(s.ddl); i++ {
		if u := &s.ddl[i]; u.kind == undoRows && u.rel == t && u.at >= pos {
			return u.old
		}
	}
	return nil
}

// settleSchema finishes a schema change of a transaction that commits.
func (st *State) settleSchema(s *session, u *undo) {
	switch u.kind {
	case undoObject, undoEnd:
		st.settleCatalog(s)
	case undoDrop:
		if st.rel(u.rel) != nil {
			st.removeRelation(u.rel)
		}
	case undoRows:
		if st.rel(u.rel) != nil {
			r := st.wrelation(u.rel)
			r.stats.Live, r.stats.Dead, r.stats.runs = int64(r.rows), 0, nil
		}
	}
}

// settleCatalog makes what s has done to the catalog everybody's.
func (st *State) settleCatalog(s *session) {
	mine := func(o *object) bool {
		return o.xmin != 0 && st.mine(s.id, o.xmin) || o.xmax != 0 && st.mine(s.id, o.xmax)
	}
	if !slices.ContainsFunc(st.cat.objects, func(o object) bool { return mine(&o) }) {
		return
	}
	c := st.wcatalog()
	keep := c.objects[:0]
	for _, o := range c.objects {
		if o.xmax != 0 && st.mine(s.id, o.xmax) {
			c.sum -= o.hash
			continue
		}
		if o.xmin != 0 && st.mine(s.id, o.xmin) {
			o.xmin = 0
		}
		keep = append(keep, o)
	}
	clear(c.objects[len(keep):])
	c.objects = keep
	c.reindex()
}

func (c *catalog) reindex() {
	clear(c.byName)
	for i := range c.objects {
		o := &c.objects[i]
		o.older = -1
		if j, ok := c.byName[o.objectKey]; ok {
			o.older = j
		}
		c.byName[o.objectKey] = i
	}
}

// undoSchema takes a schema change back. Changes are taken back in reverse order, so that it is the newest of its kind.
func (st *State) undoSchema(s *session, u *undo) {
	switch u.kind {
	case undoObject, undoEnd:
		c := st.wcatalog()
		i := c.byName[u.key]
		for u.kind == undoObject && !st.mine(s.id, c.objects[i].xmin) || u.kind == undoEnd && !st.mine(s.id, c.objects[i].xmax) {
			i = c.objects[i].older
		}
		if u.kind == undoEnd {
			c.objects[i].xmax = 0
			return
		}
		c.sum -= c.objects[i].hash
		c.objects = slices.Delete(c.objects, i, i+1)
		c.reindex()
	case undoCreate:
		st.removeRelation(u.rel)
	case undoAlter:
		r := st.wrelation(u.rel)
		r.name = u.old.name
		r.setSpecs(u.old.specs)
	case undoRows:
		r := st.wrelation(u.rel)
		r.chunks, r.index, r.rows = u.old.chunks, u.old.index, u.old.rows
		r.chunksShared, r.indexShared = true, true
		r.setSpecs(r.specs)
		r.epoch++
		r.edits++
		st.resettle(r)
	case undoSequence:
		st.wrelation(u.rel).seq = u.seq
	}
}

// resettle settles the versions of a heap that was out of the way while commits were settled.
func (st *State) resettle(r *relation) {
	var buf [8]uint64
	snaps := st.liveSnapshots(buf[:0])
	var gone []TID
	for i := range r.chunks {
		for j := range r.chunks[i].v {
			v := &r.chunks[i].v[j]
			if v.xmin.committed() && (len(snaps) == 0 || v.xmin.csn() <= snaps[0]) {
				v = r.wget(v.tid)
				v.xmin = 0
				r.rest(v)
			}
			if v.xmin.committed() {
				st.recordUnsettled(v.xmin.csn(), write{wInsert, r.id, v.tid})
			}
			if !v.xmax.committed() {
				continue
			}
			if needed(snaps, birth(v), v.xmax.csn()) {
				st.recordUnsettled(v.xmax.csn(), write{wUpdate, r.id, v.tid})
			} else {
				gone = append(gone, v.tid)
			}
		}
	}
	for _, tid := range gone {
		st.drop(r, r.get(tid))
	}
}

// recordUnsettled notes a write of an earlier commit that is to be settled later.
func (st *State) recordUnsettled(csn uint64, w write) {
	own(&st.shared, shareUnsettled, &st.unsettled)
	i, ok := slices.BinarySearchFunc(st.unsettled, csn, func(c commitRecord, n uint64) int {
		if c.csn < n {
			return -1
		} else if c.csn > n {
			return 1
		}
		return 0
	})
	if !ok {
		st.unsettled = slices.Insert(st.unsettled, i, commitRecord{csn: csn})
	}
	c := &st.unsettled[i]
	if !slices.Contains(c.writes, w) {
		c.writes = append(slices.Clone(c.writes), w)
	}
}

// schema runs f once and journals its answer.
func (x *Exec) schema(f func(s *session) (TableID, error)) (TableID, error) {
	s := x.session()
	if e := x.replay(s, opSchema); e != nil {
		return TableID(e.a), asError(e.p)
	}
	x.st.assignXID(s)
	t, err := f(s)
	e := jent{kind: opSchema, a: uint64(t)}
	if err != nil {
		e.p = err
	}
	x.record(s, e)
	return t, err
}

// create makes a relation that goes again if the transaction rolls back.
func (x *Exec) create(r *relation) TableID {
	t, _ := x.schema(func(s *session) (TableID, error) {
		x.st.addRelation(r)
		x.st.logSchema(s, undo{kind: undoCreate, rel: r.id})
		return r.id, nil
	})
	return t
}

// CreateHeap makes an empty heap; it goes again if the transaction rolls back.
func (x *Exec) CreateHeap(name string, indexes []IndexSpec) TableID {
	r := &relation{name: name, heap: true}
	r.setSpecs(indexes)
	return x.create(r)
}

// NewRelation gives an id for a relation without rows (a view, an index), so that it can be locked.
func (x *Exec) NewRelation(name string) TableID { return x.create(&relation{name: name}) }

// CreateSequence makes a sequence; it goes again if the transaction rolls back.
func (x *Exec) CreateSequence(spec SequenceSpec) TableID {
	return x.create(&relation{name: spec.Name, seq: &sequence{spec: spec, last: spec.Start}})
}

// AlterSequence replaces the spec of a sequence (ALTER SEQUENCE). A rollback takes back not only that but every Setval and
// Nextval after it, so that a restart is AlterSequence and Setval (ALTER SEQUENCE RESTART, TRUNCATE RESTART IDENTITY).
func (x *Exec) AlterSequence(seq TableID, spec SequenceSpec) {
	x.schema(func(s *session) (TableID, error) {
		st := x.st
		st.touchSequence(seq)
		st.logSchema(s, undo{kind: undoSequence, rel: seq, seq: st.rel(seq).seq})
		q := st.wsequence(seq)
		q.spec, q.logged = spec, 0
		return 0, nil
	})
}

// DropHeap drops a heap or sequence or other relation when the transaction commits. The error is a serialization failure.
func (x *Exec) DropHeap(t TableID) error {
	_, err := x.schema(func(s *session) (TableID, error) {
		if err := x.st.serEmpty(s, t); err != nil {
			return 0, err
		}
		x.st.logSchema(s, undo{kind: undoDrop, rel: t})
		return 0, nil
	})
	return err
}

// AlterHeap replaces name and indexes of a heap, e.g. to add an index (existing rows are checked: 23505) or to rename. The
// rows stay; see Rewrite.
func (x *Exec) AlterHeap(t TableID, name string, indexes []IndexSpec) error {
	_, err := x.schema(func(s *session) (TableID, error) {
		st := x.st
		for i := range indexes {
			if err := st.checkUnique(s, st.rel(t), &indexes[i]); err != nil {
				return 0, err
			}
		}
		r := st.wrelation(t)
		st.logSchema(s, undo{kind: undoAlter, rel: t, old: &relation{name: r.name, specs: r.specs}})
		r.name = name
		r.setSpecs(indexes)
		return 0, nil
	})
	return err
}

// checkUnique looks for two live rows of one key.
func (st *State) checkUnique(s *session, r *relation, sp *IndexSpec) error {
	if !sp.Unique {
		return nil
	}
	seen := map[uint64][]*Row{}
	for _, c := range r.chunks {
		for j := range c.v {
			v := &c.v[j]
			h, in, full := sp.entryOf(v.row)
			if !st.alive(s, v) || !in || !full && !sp.NullsNotDistinct {
				continue
			}
			key, _ := sp.keyOf(v.row, nil)
			for _, o := range seen[h] {
				if sp.matches(o, key) {
					e := types.NewError("23505", "could not create unique index \""+sp.Name+"\"")
					e.Constraint = sp.Name
					return e
				}
			}
			seen[h] = append(seen[h], v.row)
		}
	}
	return nil
}

// alive reports whether the version is the newest committed one, or s's own, of its row.
func (st *State) alive(s *session, v *version) bool {
	if m := v.xmin; m != 0 && !m.committed() && !st.mine(s.id, m.xid()) {
		return false
	}
	m := v.xmax
	return m == 0 || !m.committed() && !st.mine(s.id, m.xid())
}

// replaceRows gives the heap a new, empty set of rows.
func (x *Exec) replaceRows(s *session, t TableID) *relation {
	st := x.st
	r := st.wrelation(t)
	old := *r
	old.free = nil
	st.logSchema(s, undo{kind: undoRows, rel: t, old: &old})
	r.chunks, r.index, r.rows = nil, nil, 0
	r.chunksShared = false
	r.epoch++
	r.edits++
	st.touchTable(t, true)
	return r
}

// Truncate empties tables, which must be locked AccessExclusive; all snapshots see them empty once it has committed. The
// error is a serialization failure.
func (x *Exec) Truncate(ts ...TableID) error {
	_, err := x.schema(func(s *session) (TableID, error) {
		for _, t := range ts {
			if err := x.st.serEmpty(s, t); err != nil {
				return 0, err
			}
			x.replaceRows(s, t)
		}
		return 0, nil
	})
	return err
}

// Rewrite replaces each live row of a heap by what f returns (ALTER TABLE that rewrites). Not MVCC-safe, as in Postgres.
func (x *Exec) Rewrite(t TableID, f func(*Row) (*Row, error)) error {
	_, err := x.schema(func(s *session) (TableID, error) {
		st := x.st
		old := st.rel(t)
		var rows []*Row
		for _, c := range old.chunks {
			for j := range c.v {
				if v := &c.v[j]; st.alive(s, v) {
					row, err := f(v.row)
					if err != nil {
						return 0, err
					}
					rows = append(rows, row)
				}
			}
		}
		r := x.replaceRows(s, t)
		xid := s.subs[s.level()].xid
		s.cidUsed = true
		for _, row := range rows {
			v := r.add(row, flux{xmin: stamp(xid), cmin: s.cid, indexed: allIndexes})
			s.log(wNewVersion, t, v.tid)
		}
		return 0, nil
	})
	return err
}
