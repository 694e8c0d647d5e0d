package storage

import "slices"

// Footprint is what a step touched, as hashed ids: two steps that touch nothing in common commute, as do two that only read
// what they have in common. The ids are of rows (locking and changing them), of predicates (a whole table or a key, read by a
// scan or lookup and written by the commit that changes what it finds), of keys in unique indexes, of the order of a heap, and
// of locks.
type Footprint struct {
	Reads, Writes []uint64
}

type footprint struct {
	on            bool
	shared        bool
	reads, writes []uint64
}

// The families of ids.
const (
	idRow    uint64 = iota + 0x51 // a row as something to lock
	idTable                       // what scans of a table find
	idKey                         // what lookups of a key find
	idUnique                      // what a unique index holds for a key, in progress included
	idOrder                       // the end of a heap
	idLock
	idSnapshot // written by who takes a snapshot that outlives the step, read by who commits changes: so commits commute
	idSequence
	idCatalog
	idSerial
)

func footID(family uint64, a, b uint64) uint64 {
	h := mix(mix(family, a), b)
	if h == 0 {
		h = 1
	}
	return h
}

func (f *footprint) add(id uint64, write bool) {
	if f.shared {
		f.reads, f.writes, f.shared = slices.Clone(f.reads), slices.Clone(f.writes), false
	}
	p := &f.reads
	if write {
		p = &f.writes
	}
	if !slices.Contains(*p, id) {
		*p = append(*p, id)
	}
}

// TouchEverything notes that the step depends on all others: it has looked at what every session does, or at ids of transactions.
func (st *State) TouchEverything() {
	if st.foot.on {
		st.foot.add(0, true)
	}
}

// Track turns the recording of footprints on or off.
func (st *State) Track(on bool) { st.foot.on = on }

// ResetFootprint starts a new step, for Footprint and Acquired.
func (st *State) ResetFootprint() {
	if st.foot.shared {
		st.foot.reads, st.foot.writes, st.foot.shared = nil, nil, false
	}
	st.foot.reads, st.foot.writes = st.foot.reads[:0], st.foot.writes[:0]
	if st.watch != nil {
		st.watch.locks = nil
	}
}

// Footprint returns what was touched since ResetFootprint. The slices are good until the next operation.
func (st *State) Footprint() Footprint { return Footprint{st.foot.reads, st.foot.writes} }

func (st *State) touchLock(t ltag, m TableLock) {
	if !st.foot.on || t.kind == LockXID {
		return // waits for transactions follow from rows and keys
	}
	// Modes that do not conflict with themselves or weaker ones only read.
	write := m >= ShareUpdateExclusive
	if t.kind == LockAdvisory {
		write = m == Exclusive
	}
	st.foot.add(footID(idLock, uint64(t.kind)<<32|uint64(t.rel), t.id), write)
}

// touchQueue notes that a wait queue has changed, or that what it waits for has ended.
func (st *State) touchQueue(t ltag) {
	if st.foot.on {
		st.foot.add(footID(idLock, uint64(t.kind)<<32|uint64(t.rel), t.id), true)
	}
}

func (st *State) touchSnapshot(kept bool) {
	if st.foot.on {
		st.foot.add(footID(idSnapshot, 0, 0), kept)
	}
}

func (st *State) touchScan(c *Cursor) {
	if c.index < 0 {
		st.foot.add(footID(idTable, uint64(c.rel), 0), false)
		return
	}
	hash, _ := hashKey(c.key)
	st.foot.add(footID(idKey, uint64(c.rel)<<8|uint64(c.index), hash), false)
}

func (st *State) touchKey(r *relation, index int, hash uint64, write bool) {
	if st.foot.on {
		st.foot.add(footID(idUnique, uint64(r.id)<<8|uint64(index), hash), write)
	}
}

// touchRow notes a row by the version tid and those it came from: who waits at an older one follows to the newer ones.
func (st *State) touchRow(r *relation, tid TID, write bool) {
	if !st.foot.on {
		return
	}
	for tid != 0 {
		st.foot.add(footID(idRow, uint64(r.id), uint64(tid)), write)
		v := r.get(tid)
		if v == nil {
			return
		}
		tid = v.prev
	}
}

// touchWrite notes that a version with row was made or ended.
func (st *State) touchWrite(r *relation, row *Row, tid TID) {
	if !st.foot.on {
		return
	}
	st.touchRow(r, tid, true)
	if !st.unordered {
		st.foot.add(footID(idOrder, uint64(r.id), 0), true)
	}
	for i := range r.specs {
		if h, in, _ := r.specs[i].entryOf(row); in && r.specs[i].Unique {
			st.touchKey(r, i, h, true)
		}
	}
}

func (st *State) touchTable(t TableID, write bool) {
	if st.foot.on {
		st.foot.add(footID(idTable, uint64(t), 0), write)
		st.foot.add(footID(idOrder, uint64(t), 0), write)
	}
}

func (st *State) touchSequence(t TableID) {
	if st.foot.on {
		st.foot.add(footID(idSequence, uint64(t), 0), true)
	}
}

func (st *State) touchCatalog(class, name string, write bool) {
	if st.foot.on {
		if write {
			st.foot.add(0, true) // not all that reads the catalog says so: to_regclass, for one
		}
		st.foot.add(footID(idCatalog, hashObject(objectKey{class, name}, nil), 0), write)
	}
}

// touchSerial notes that what SSI knows has changed. That is one object, as conflicts spread over all.
func (st *State) touchSerial() {
	if st.foot.on {
		st.foot.add(footID(idSerial, 0, 0), true)
	}
}

// touchXID notes that a transaction id has been given: with SSI, which counts by ids what is concurrent, that matters.
func (st *State) touchXID() {
	if st.foot.on && len(st.ser.txs) > 0 {
		st.foot.add(footID(idSerial, 0, 0), false)
	}
}

// touchCommit notes all that a transaction wrote, which others see from now on, and the locks it gives up.
func (st *State) touchCommit(s *session) {
	if st.foot.on {
		st.touchLog(s, 0, true)
		st.touchSnapshot(false)
	}
}

// touchAbort notes all that is taken back: locks and keys others may wait for.
func (st *State) touchAbort(s *session, from int) {
	if st.foot.on {
		st.touchLog(s, from, false)
	}
}

func (st *State) touchLog(s *session, from int, visible bool) {
	for _, w := range s.writes[from:] {
		if w.kind == wSchema {
			u := &s.ddl[w.tid]
			st.touchCatalog(u.key.class, u.key.name, true)
			if u.rel != 0 {
				st.touchTable(u.rel, true)
			}
			continue
		}
		r := st.rel(w.rel)
		if r == nil {
			continue
		}
		st.touchRow(r, w.tid, true)
		v := r.get(w.tid)
		if w.kind == wLock || v == nil {
			continue
		}
		if visible {
			st.foot.add(footID(idTable, uint64(r.id), 0), true)
		}
		for i := range r.specs {
			h, in, _ := r.specs[i].entryOf(v.row)
			if !in {
				continue
			}
			if r.specs[i].Unique {
				st.touchKey(r, i, h, true)
			}
			if visible {
				st.foot.add(footID(idKey, uint64(r.id)<<8|uint64(i), h), true)
			}
		}
	}
}

// touchRelease notes the locks that s gives up.
func (st *State) touchRelease(h *hold) {
	if st.foot.on {
		st.touchLock(h.tag, h.mode)
	}
}

// Acquired is a lock that a step took, for checks of lock order.
type Acquired struct {
	Kind     LockKind // LockRelation, LockTuple (a row) or LockAdvisory
	Rel      TableID
	Mode     TableLock // of a relation or advisory lock
	Advisory AdvisoryKey
	Row      *Row    // of a row
	RowMode  RowLock // of a row
	Index    int     // for an inserted row: the unique index whose key others now wait for, else -1
	Try      bool    // it would not have waited
}

// watch collects the locks that a step takes.
type watch struct{ locks []Acquired }

// Watch turns the collection of acquired locks on or off.
func (st *State) Watch(on bool) {
	st.watch = nil
	if on {
		st.watch = new(watch)
	}
}

// Acquired returns the locks taken since ResetFootprint, in order; a lock that the session had already in that or a stronger
// mode is not among them.
func (st *State) Acquired() []Acquired {
	if st.watch == nil {
		return nil
	}
	return st.watch.locks
}

func (st *State) saw(a Acquired) { st.watch.locks = append(st.watch.locks, a) }

// locked reports whether s holds a lock of that strength on the version.
func (st *State) locked(s *session, v *version, mode RowLock) bool {
	for _, l := range v.lockers {
		if l.mode >= mode && st.mine(s.id, l.xid) {
			return true
		}
	}
	return false
}

// sawRow notes that s has come to lock a version, unless it had made it itself.
func (st *State) sawRow(s *session, r *relation, v *version, mode RowLock, try bool) {
	if !st.mineStamp(s.id, v.xmin) {
		st.saw(Acquired{Kind: LockTuple, Rel: r.id, Row: v.row, RowMode: mode, Index: -1, Try: try})
	}
}

// sawInsert notes that others now wait for the keys of a new row.
func (st *State) sawInsert(r *relation, row *Row) {
	for i := range r.specs {
		if _, in, full := r.specs[i].entryOf(row); in && full && r.specs[i].Unique {
			st.saw(Acquired{Kind: LockTuple, Rel: r.id, Row: row, RowMode: Update, Index: i})
		}
	}
}

// sawLock notes a relation or advisory lock.
func (st *State) sawLock(t ltag, m TableLock, try bool) {
	p := t.public()
	if t.kind == LockRelation || t.kind == LockAdvisory {
		st.saw(Acquired{Kind: t.kind, Rel: p.Rel, Advisory: p.Advisory, Mode: m, Index: -1, Try: try})
	}
}

// heldAs reports whether s holds the lock in mode m or one that conflicts with all that m does.
func (st *State) heldAs(s *session, t ltag, m TableLock) bool {
	for i := range s.held {
		if h := &s.held[i]; h.tag == t && conflicts[h.mode]&conflicts[m] == conflicts[m] {
			return true
		}
	}
	return false
}
