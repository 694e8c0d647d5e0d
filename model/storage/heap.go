package storage

import (
	"slices"
	"sync/atomic"

	"simrun/model/types"
)

// stamp says who made or ended a row version: 0 nobody, or so long ago that every snapshot sees it; a transaction in
// progress; or a commit that some live snapshot does not see yet. Aborted transactions leave no stamps: they are undone.
type stamp uint64

const committedBit stamp = 1 << 63

func (s stamp) committed() bool { return s&committedBit != 0 }
func (s stamp) csn() uint64     { return uint64(s &^ committedBit) }
func (s stamp) xid() XID        { return XID(s) }

// version is a row version. Most are settled: everybody sees them, and nobody is about to change them.
type version struct {
	tid TID
	row *Row
	*flux
}

// flux is what a version is going through.
type flux struct {
	by         uint64 // the owner, as of a chunk
	xmin, xmax stamp
	cmin, cmax CommandID
	next, prev TID      // the versions an UPDATE made of this one, and this one of; 0 when none, or no longer kept
	lockers    []locker // transactions in progress that hold row locks, ascending by xid; never changed in place
	end        endKind
	indexed    uint8 // how many of the indexes have it; allIndexes when insertion is over
	free       *flux // of one that is not in use: the next, of which there are left
	left       int
}

// settled is the flux of versions that go through nothing. It is never written to.
var settled = &flux{indexed: allIndexes}

// endKind says how xmax ended a version.
type endKind uint8

const (
	live endKind = iota
	deleted
	updated    // key columns unchanged: conflicts with all but KEY SHARE
	keyUpdated // key columns changed
)

const allIndexes = 255

// locker is a transaction in progress that holds a row lock.
type locker struct {
	xid  XID
	mode RowLock
}

// hot reports whether a fingerprint must look at the version each time: it refers to transactions or other versions.
func (v *version) hot() bool {
	return v.flux != settled && (v.xmin != 0 || v.xmax != 0 || v.next != 0 || v.prev != 0 || v.lockers != nil || v.indexed != allIndexes)
}

// committed reports whether a transaction that began now would see the version.
func (v *version) committed() bool {
	return (v.xmin == 0 || v.xmin.committed()) && !v.xmax.committed()
}

const chunkMax = 32

// chunk is a run of versions of a heap, in order.
type chunk struct {
	owner uint64
	hash  uint64 // of its versions when none is hot, 0 when unknown; written atomically since clones share it
	v     []version
}

// newChunk makes an empty chunk with room for n versions; a small one in one piece.
func newChunk(owner uint64, n int) *chunk {
	switch {
	case n <= 4:
		c := &struct {
			chunk
			room [4]version
		}{}
		c.owner, c.v = owner, c.room[:0]
		return &c.chunk
	case n <= 8:
		c := &struct {
			chunk
			room [8]version
		}{}
		c.owner, c.v = owner, c.room[:0]
		return &c.chunk
	}
	return &chunk{owner: owner, v: make([]version, 0, min(n, chunkMax))}
}

// relation is a table with its rows and indexes, or a sequence, or a name to lock.
type relation struct {
	owner uint64
	id    TableID
	name  string
	clean bool   // its hash is part of State.relSum
	hash  uint64 // valid when clean

	heap  bool
	specs []IndexSpec // not changed in place
	keys  []int       // columns of the indexes that a foreign key could use: changing them needs the stronger row lock
	hotBy []int       // columns of all indexes

	chunks       []*chunk
	free         *flux // for the next use
	hint         int   // the chunk of the last version that was got for writing
	chunksShared bool
	rows         int // versions in the heap
	lastTID      TID
	index        []*trie // one an index once the heap has several chunks, else nil
	indexShared  bool

	seq   *sequence
	stats counters
	epoch uint32 // number of times the rows have been replaced as a whole
	edits uint64 // number of changes to chunks, so that a scan notices
}

func (r *relation) copy(owner uint64) *relation {
	c := new(relation)
	*c = *r
	c.owner = owner
	c.chunksShared, c.indexShared, c.stats.shared = true, true, true
	c.free = nil
	return c
}

// NewRow makes a row of values, which must not be changed afterwards.
func NewRow(vals []types.Value) *Row { return &Row{Vals: vals} }

// MakeRow makes a row of n NULLs of no type, whose Vals are to be set before it is used. They are in the same piece of memory when
// they are few.
func MakeRow(n int) *Row {
	switch n {
	case 1:
		b := new(rowOf[[1]types.Value])
		b.Vals = b.vals[:]
		return &b.Row
	case 2:
		b := new(rowOf[[2]types.Value])
		b.Vals = b.vals[:]
		return &b.Row
	case 3:
		b := new(rowOf[[3]types.Value])
		b.Vals = b.vals[:]
		return &b.Row
	case 4:
		b := new(rowOf[[4]types.Value])
		b.Vals = b.vals[:]
		return &b.Row
	}
	return &Row{Vals: make([]types.Value, n)}
}

type rowOf[V any] struct {
	Row
	vals V
}

// With returns a row of these values: r itself when they are its own.
func (r *Row) With(vals []types.Value) *Row {
	if len(vals) > 0 && len(vals) == len(r.Vals) && &vals[0] == &r.Vals[0] {
		return r
	}
	return &Row{Vals: vals}
}

// Hash returns a hash of the row's representation: 1.0 and 1.00 differ.
func (r *Row) Hash() uint64 {
	if h := atomic.LoadUint64(&r.hash); h != 0 {
		return h
	}
	h := uint64(len(r.Vals))
	for i := range r.Vals {
		h = types.Fingerprint(h, r.Vals[i])
	}
	if h == 0 {
		h = 1
	}
	atomic.StoreUint64(&r.hash, h)
	return h
}

// chunkOf returns the index of the chunk that has or would have tid.
func (r *relation) chunkOf(tid TID) int {
	lo, hi := 0, len(r.chunks)
	if hi == 0 || tid > r.lastTID {
		return hi
	}
	// Most operations are at the end of the heap, or where the last one was.
	if r.chunks[hi-1].v[0].tid <= tid {
		lo = hi - 1
	} else if h := r.hint; h < hi && r.chunks[h].holds(tid) {
		return h
	}
	for lo < hi {
		m := (lo + hi) / 2
		if c := r.chunks[m]; c.v[len(c.v)-1].tid < tid {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// holds reports whether tid is between the first and the last of the chunk.
func (c *chunk) holds(tid TID) bool { return c.v[0].tid <= tid && tid <= c.v[len(c.v)-1].tid }

// place returns the index of tid in the chunk, or where it would be.
func (c *chunk) place(tid TID) int {
	lo, hi := 0, len(c.v)
	if hi > 0 && tid >= c.v[0].tid {
		if d := int(tid - c.v[0].tid); d < hi {
			if c.v[d].tid == tid {
				return d // none is missing before it
			}
			hi = d
		}
	}
	for lo < hi {
		m := (lo + hi) / 2
		if c.v[m].tid < tid {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// get returns a version for reading, or nil.
func (r *relation) get(tid TID) *version {
	i := r.chunkOf(tid)
	if i == len(r.chunks) {
		return nil
	}
	c := r.chunks[i]
	if j := c.place(tid); j < len(c.v) && c.v[j].tid == tid {
		return &c.v[j]
	}
	return nil
}

// wchunk returns chunk i for writing.
func (r *relation) wchunk(i int) *chunk {
	c := r.chunks[i]
	if c.owner != r.owner {
		r.ownChunks()
		d := newChunk(r.owner, len(c.v)+1)
		d.v = append(d.v, c.v...)
		r.chunks[i] = d
		r.edits++
		return d
	}
	c.hash = 0
	return c
}

func (r *relation) ownChunks() {
	if r.chunksShared {
		r.chunksShared = false
		r.chunks = append(make([]*chunk, 0, len(r.chunks)+1), r.chunks...)
	}
}

// wget returns a version for writing, or nil. The pointer is good until the next change of the heap.
func (r *relation) wget(tid TID) *version {
	v := r.slot(tid)
	if v != nil {
		r.own(v)
	}
	return v
}

// own makes the flux of a version from slot one that may be written to.
func (r *relation) own(v *version) {
	if v.by != r.owner {
		f := r.newFlux()
		*f = *v.flux
		f.by = r.owner
		v.flux = f
	}
}

func (r *relation) newFlux() *flux {
	f := r.free
	if f == nil {
		return new(flux)
	}
	r.free = f.free
	return f
}

// keepFlux is how many are kept for the next use.
const keepFlux = 16

// freeFlux takes its flux from a version, which has been settled or dropped.
func (r *relation) freeFlux(v *version) {
	f := v.flux
	v.flux = settled
	if f.by != r.owner {
		return
	}
	left := 0
	if r.free != nil {
		left = r.free.left + 1
	}
	if left < keepFlux {
		*f = flux{free: r.free, left: left}
		r.free = f
	}
}

// rest takes its flux from a version from slot that goes through nothing any more.
func (r *relation) rest(v *version) {
	if !v.hot() {
		r.freeFlux(v)
	}
}

// slot returns a version of which row and flux may be replaced, or nil.
func (r *relation) slot(tid TID) *version {
	i := r.chunkOf(tid)
	if i == len(r.chunks) {
		return nil
	}
	j := r.chunks[i].place(tid)
	if j == len(r.chunks[i].v) || r.chunks[i].v[j].tid != tid {
		return nil
	}
	r.hint = i
	return &r.wchunk(i).v[j]
}

// add appends a version and returns it for writing.
func (r *relation) add(row *Row, f flux) *version {
	r.edits++
	r.lastTID++
	v := version{r.lastTID, row, r.newFlux()}
	*v.flux = f
	v.by = r.owner
	r.rows++
	n := len(r.chunks)
	if n == 0 || len(r.chunks[n-1].v) >= chunkMax {
		r.ownChunks()
		size := 4
		if n > 0 {
			size = chunkMax
		}
		r.chunks = append(r.chunks, newChunk(r.owner, size))
		n++
		if n == 2 && r.index == nil {
			r.buildIndexes()
		}
	}
	c := r.wchunk(n - 1)
	if len(c.v) == cap(c.v) {
		c.v = slices.Grow(c.v, min(len(c.v), chunkMax-len(c.v)))
	}
	c.v = append(c.v, v)
	p := &c.v[len(c.v)-1]
	if r.index != nil {
		r.indexAdd(p)
	}
	return p
}

// remove takes a version out of the heap. It does not mend the chain of versions.
func (r *relation) remove(tid TID) {
	i := r.chunkOf(tid)
	c := r.wchunk(i)
	j := c.place(tid)
	if r.index != nil {
		r.indexRemove(&c.v[j])
	}
	r.freeFlux(&c.v[j])
	r.edits++
	r.rows--
	copy(c.v[j:], c.v[j+1:])
	c.v[len(c.v)-1] = version{}
	c.v = c.v[:len(c.v)-1]
	if len(c.v) == 0 {
		r.ownChunks()
		r.chunks = slices.Delete(r.chunks, i, i+1)
	} else if i > 0 && len(c.v)+len(r.chunks[i-1].v) <= chunkMax/2 {
		r.merge(i - 1)
	} else if i+1 < len(r.chunks) && len(c.v)+len(r.chunks[i+1].v) <= chunkMax/2 {
		r.merge(i)
	}
	if len(r.chunks) <= 1 && r.index != nil {
		r.index = nil
	}
}

// merge joins chunk i and the one after it, so that a heap whose rows are updated again and again does not end as chunks
// of one version each.
func (r *relation) merge(i int) {
	a := r.wchunk(i)
	a.v = append(a.v, r.chunks[i+1].v...)
	r.ownChunks()
	r.chunks = slices.Delete(r.chunks, i+1, i+2)
}

// setSpecs replaces the indexes.
func (r *relation) setSpecs(specs []IndexSpec) {
	r.specs = specs
	r.keys, r.hotBy, r.index = nil, nil, nil
	for i := range specs {
		sp := &specs[i]
		if sp.Unique && !sp.Partial && sp.Key == nil {
			r.keys = union(r.keys, sp.Cols)
		}
		r.hotBy = union(union(r.hotBy, sp.Cols), sp.UsedCols)
	}
	if len(r.chunks) > 1 {
		r.buildIndexes()
	}
}

func union(a, b []int) []int {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// changed reports whether the representation of one of the columns differs.
func changed(a, b *Row, cols []int) bool {
	for _, c := range cols {
		if c >= 0 && !identical(a.Vals[c], b.Vals[c]) {
			return true
		}
	}
	return false
}

func identical(a, b types.Value) bool {
	if a.Valid != b.Valid {
		return false
	}
	if !a.Valid {
		return true
	}
	if a.L != nil || b.L != nil {
		return a.L == b.L || types.Fingerprint(1, a) == types.Fingerprint(1, b)
	}
	return a.N == b.N && a.S == b.S
}
