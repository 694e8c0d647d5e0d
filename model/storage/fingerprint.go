package storage

import (
	"math/bits"
	"sync/atomic"

	"simrun/model/types"
)

// The fingerprint is canonical: it does not depend on the numbers that a history happened to use. A row version is known by
// its rank in its heap, a transaction in progress by its session and the depth of the subtransaction, a commit by which live
// snapshots see it, a command by how many of its session's live snapshots see it, a place in a wait queue by its rank there.
// The order in which running transactions got their ids is left out, but for that of a row's lockers and its updater: otherwise it
// only decides whom of several holders of one row's lock a waiter waits for first.

// mix folds b into a: the 128-bit product of both, folded.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return hi ^ lo ^ 0xa0761d6478bd642f
}

// IgnoreHeapOrder takes the order of the rows of a heap out of fingerprints and footprints, or puts it back. Two updates of
// different rows then commute. It is an approximation, good for statements that lock or return several rows in an order they
// state themselves: a scan without ORDER BY goes by the order of whichever state a search met first.
func (st *State) IgnoreHeapOrder(on bool) {
	if st.unordered == on {
		return
	}
	st.unordered = on
	for t := range st.nextRel {
		if st.rel(t) == nil {
			continue
		}
		r := st.wrelation(t) // its hash is to be computed again
		for i := range r.chunks {
			r.wchunk(i)
		}
	}
}

// polyBase is the base of the polynomial that hashes a sequence of versions, so that the hash does not depend on how the
// sequence is cut into chunks; polyPower has its powers.
const polyBase = 0x9ddfea08eb382d69

var polyPower = func() (p [chunkMax + 1]uint64) {
	p[0] = 1
	for i := 1; i <= chunkMax; i++ {
		p[i] = p[i-1] * polyBase
	}
	return p
}()

// hasher computes one fingerprint.
type hasher struct {
	st      *State
	as      []int    // the numbers to take for sessions; nil: their own
	settled bool     // of what has been committed only, as a transaction that began now would find it
	snaps   []uint64 // the live snapshots, ascending
	class   []uint8  // for each, the number of its class: snapshots that no kept commit tells apart are of one
}

// label is the number to take for a session.
func (f *hasher) label(id SessionID) uint64 {
	if int(id) < len(f.as) {
		return uint64(f.as[id])
	}
	return uint64(id)
}

// Fingerprint returns the canonical hash of the state: equal for states that behave alike. Footprints are not part of it.
func (st *State) Fingerprint() uint64 { return st.FingerprintAs(nil) }

// FingerprintAs is the fingerprint of the state with other numbers for its sessions: as has the new one of each, a permutation.
func (st *State) FingerprintAs(as []int) uint64 {
	f := hasher{st: st, as: as}
	var snaps [8]uint64
	var class [8]uint8
	f.classify(snaps[:0], class[:0])
	rels := st.relSum
	for i := 0; i < len(st.dirty); {
		t := st.dirty[i]
		r := st.rel(t)
		x, settled := f.relation(r)
		rels += x
		if settled && r.owner == st.owner {
			// From now on it is part of relSum, until it changes.
			own(&st.shared, shareDirty, &st.dirty)
			r.hash, r.clean = x, true
			st.relSum += x
			last := len(st.dirty) - 1
			st.dirty[i] = st.dirty[last]
			st.dirty = st.dirty[:last]
			continue
		}
		i++
	}
	h := mix(rels, st.cat.sum)
	var sum uint64
	for _, s := range st.sess {
		if s.open {
			sum += f.session(s)
		}
	}
	h = mix(h, sum)
	if len(st.queue) > 0 {
		h = mix(h, f.queue())
	}
	for _, id := range st.woken {
		h = mix(h, f.label(id)+1)
	}
	if len(st.ser.txs) > 0 {
		h = mix(h, f.serials())
	}
	for i := range st.cat.objects {
		if o := &st.cat.objects[i]; o.xmin|o.xmax != 0 {
			h += mix(mix(o.hash, f.stamp(stamp(o.xmin))), f.stamp(stamp(o.xmax)))
		}
	}
	return h
}

// CommittedFingerprint returns the canonical hash of what a new transaction finds: committed rows, sequences, the committed
// catalog, and, where they are counted, the statistics.
func (st *State) CommittedFingerprint() uint64 {
	for _, s := range st.sess {
		if len(s.ddl) > 0 {
			st = st.closed() // what has been committed is hidden in logs
			break
		}
	}
	f := hasher{st: st, settled: true}
	rels := st.relSum // of relations that nobody has changed since they were settled
	for _, t := range st.dirty {
		h, _ := f.relation(st.rel(t))
		rels += h
	}
	return mix(rels, st.cat.sum)
}

// closed returns the state that is left when all sessions are closed.
func (st *State) closed() *State {
	c := st.Clone()
	for _, s := range c.sess {
		if s.open {
			c.CloseSession(s.id)
		}
	}
	return c
}

// classify finds the live snapshots and puts them in classes.
func (f *hasher) classify(snaps []uint64, class []uint8) {
	st := f.st
	f.snaps, f.class = st.liveSnapshots(snaps), class
	n, at := uint8(0), 0
	for _, c := range f.snaps {
		first := at
		for at < len(st.unsettled) && st.unsettled[at].csn <= c {
			at++
		}
		if at > first {
			n++
		}
		f.class = append(f.class, n)
	}
}

// snapshot names a snapshot.
func (f *hasher) snapshot(sn *Snapshot) uint64 {
	if !sn.ok {
		return 0
	}
	for i, c := range f.snaps {
		if c == sn.csn {
			return uint64(f.class[i]) + 1
		}
	}
	return 1 << 32
}

// stamp names a transaction in progress or a commit.
func (f *hasher) stamp(x stamp) uint64 {
	if x == 0 {
		return 0
	}
	if x.committed() {
		for i, c := range f.snaps {
			if c >= x.csn() {
				return uint64(f.class[i]) + 1<<16
			}
		}
		return 1 << 24
	}
	a := f.st.xid(x.xid())
	if a == nil {
		return 1 << 25 // an operation waits for it and has not been run again since it ended
	}
	return 1<<40 | f.label(a.sess)<<16 | uint64(a.level)
}

// command names a command of a transaction in progress.
func (f *hasher) command(x stamp, c CommandID) uint64 {
	if x == 0 || x.committed() {
		return 0
	}
	a := f.st.xid(x.xid())
	if a == nil {
		return 0
	}
	s := f.st.sess[a.sess]
	n := uint64(1)
	if c < s.cid {
		n = 2
	}
	for i := range s.snaps {
		if s.snaps[i].cid > c {
			n += 2
		}
	}
	if s.stmtSnap.ok && s.stmtSnap.cid > c {
		n += 2
	}
	return n
}

// version hashes a version.
func (f *hasher) version(r *relation, v *version) uint64 {
	h := v.row.Hash()
	if f.settled || !v.hot() {
		return h
	}
	h = mix(h, f.stamp(v.xmin))
	h = mix(h, f.command(v.xmin, v.cmin))
	h = mix(h, f.stamp(v.xmax)<<8|uint64(v.end))
	h = mix(h, f.command(v.xmax, v.cmax)<<8|uint64(v.indexed))
	h = mix(h, f.rank(r, v.next))
	var sum uint64
	for _, l := range v.lockers {
		if n := f.stamp(stamp(l.xid)); n != 1<<25 {
			sum += mix(n, uint64(l.mode)|flag(v.xmax != 0 && !v.xmax.committed() && l.xid < v.xmax.xid(), 1<<8))
		}
	}
	return mix(h, sum)
}

// rank names a version by how many there are before it; 0 is none.
func (f *hasher) rank(r *relation, tid TID) uint64 {
	if tid == 0 || r == nil {
		return 0
	}
	i := r.chunkOf(tid)
	if i == len(r.chunks) {
		return 1 << 40
	}
	j := r.chunks[i].place(tid)
	if c := r.chunks[i]; j == len(c.v) || c.v[j].tid != tid {
		return 1 << 40 // it has been dropped
	}
	if f.st.unordered {
		return r.chunks[i].v[j].row.Hash() | 1<<41
	}
	n := uint64(j) + 1
	for _, c := range r.chunks[:i] {
		n += uint64(len(c.v))
	}
	return n
}

// relation hashes a relation; settled is true when the hash depends on nothing else.
func (f *hasher) relation(r *relation) (h uint64, settled bool) {
	h, settled = f.rows(r)
	if r.seq != nil {
		h = mix(h, r.seq.hash())
	}
	if f.st.countStats {
		c := &r.stats
		for _, n := range [...]int64{c.Inserted, c.Updated, c.Deleted, c.HotUpdated, c.Live, c.Dead, f.st.held(c)} {
			h = mix(h, uint64(n))
		}
		settled = settled && len(c.runs) == 0
	}
	return mix(h, uint64(r.id)), settled
}

func (q *sequence) hash() uint64 {
	h := mix(uint64(q.last), uint64(q.logged))
	if q.called {
		h++
	}
	sp := &q.spec
	return mix(mix(h, uint64(sp.Inc)), mix(uint64(sp.Min), uint64(sp.Max)))
}

func (f *hasher) rows(r *relation) (h uint64, settled bool) {
	settled = true
	for _, c := range r.chunks {
		ch, n := atomic.LoadUint64(&c.hash), len(c.v)
		if ch == 0 {
			hot := false
			for j := range c.v {
				v := &c.v[j]
				hot = hot || v.hot()
				if f.settled && !v.committed() {
					n--
					continue
				}
				if vh := f.version(r, v); f.st.unordered {
					ch += mix(vh, 1)
				} else {
					ch = ch*polyBase + vh
				}
			}
			if hot {
				settled = false
			} else if ch != 0 {
				atomic.StoreUint64(&c.hash, ch)
			}
		}
		if f.st.unordered {
			h += ch
		} else {
			h = h*polyPower[n] + ch
		}
	}
	return h, settled
}

// tag names what is locked.
func (f *hasher) tag(t ltag) uint64 {
	h := uint64(t.kind)
	if t.two {
		h |= 1 << 8
	}
	h = mix(h, uint64(t.rel))
	switch t.kind {
	case LockTuple:
		return mix(h, f.rank(f.st.rel(TableID(t.rel)), TID(t.id)))
	case LockXID:
		return mix(h, f.stamp(stamp(t.id)))
	}
	return mix(h, t.id)
}

// queue hashes who waits for what, in which order.
func (f *hasher) queue() (sum uint64) {
	st := f.st
	for i, id := range st.queue {
		w := &st.sess[id].wait
		rank := uint64(0)
		for _, o := range st.queue[:i] {
			if st.sess[o].wait.tag == w.tag {
				rank++
			}
		}
		sum += mix(mix(f.tag(w.tag), f.label(id)<<8|uint64(w.mode)), rank)
	}
	return sum
}

// session hashes a session.
func (f *hasher) session(s *session) uint64 {
	h := f.label(s.id)<<16 | uint64(s.state)<<8 | uint64(s.opts.Isolation)<<4 | flag(s.opts.ReadOnly, 1) | flag(s.opts.Implicit, 2) |
		flag(s.cidUsed, 4) | flag(s.running, 8)
	var sum uint64
	for i := range s.held {
		l := &s.held[i]
		sum += mix(f.tag(l.tag), uint64(l.mode)<<48|uint64(uint16(l.level))<<32|uint64(l.n))
	}
	for i := range s.currvals {
		sum += mix(uint64(s.currvals[i].seq)+1<<40, uint64(s.currvals[i].val))
	}
	h = mix(h, sum)
	if s.lastSeq != 0 {
		h = mix(h, uint64(s.lastSeq))
	}
	for i := range s.subs {
		b := &s.subs[i]
		n := flag(b.inner, 1) | flag(b.failed, 2) | flag(b.xid != 0, 4)
		if b.name != "" {
			n = types.HashString(n, b.name)
		}
		h = mix(h, n)
	}
	if s.txSnap.ok || s.stmtSnap.ok {
		h = mix(h, f.snapshot(&s.txSnap)<<32|f.snapshot(&s.stmtSnap))
	}
	for i := range s.ddl {
		h = mix(h, f.undo(&s.ddl[i]))
	}
	if s.running || s.wait.state != notWaiting {
		h = f.statement(h, s)
	}
	return h
}

func flag(b bool, n uint64) uint64 {
	if b {
		return n
	}
	return 0
}

// statement folds a blocked statement into h.
func (f *hasher) statement(h uint64, s *session) uint64 {
	if s.stmtSnap.ok {
		h = mix(h, uint64(s.cid-s.stmtSnap.cid))
	}
	for i := range s.snaps {
		h = mix(h, f.snapshot(&s.snaps[i])<<32|uint64(s.cid-s.snaps[i].cid))
	}
	for i := range s.journal {
		h = mix(h, f.entry(&s.journal[i]))
	}
	w := &s.wait
	if w.state != notWaiting {
		h = mix(mix(h, f.tag(w.tag)), uint64(w.state)<<32|uint64(uint16(w.level))<<8|uint64(w.mode))
	}
	if o := &s.op; o.active {
		r := f.st.rel(o.rel)
		h = mix(h, uint64(o.kind)<<24|uint64(o.phase)<<16|uint64(o.index)<<8|flag(o.strong, 1)|flag(o.queued, 2)|flag(o.gone, 4)|flag(o.updated, 8)|uint64(o.goneEnd)<<4)
		h = mix(h, uint64(o.rel))
		if r != nil {
			h = mix(mix(h, f.rank(r, o.base)), f.rank(r, o.tid))
			h = mix(mix(h, f.rank(r, o.made)), f.rank(r, o.goneNext)<<32|f.rank(r, o.chain))
		}
		for _, x := range o.waits {
			h = mix(h, f.stamp(stamp(x)))
		}
		h = mix(h, flag(o.waits != nil, 1)|flag(o.joined, 2))
	}
	if s.broken != nil {
		h = types.HashString(h, s.broken.Error())
	}
	return h
}

// entry hashes a journal entry. Versions are known by their rows: which version of several equal ones an entry means shows
// in the operations that name it.
func (f *hasher) entry(e *jent) uint64 {
	h := uint64(e.kind)<<16 | uint64(e.out)<<8 | flag(e.ok, 1)
	switch e.kind {
	case opInsert, opUpdate, opDelete, opLockRow:
		if e.row != nil {
			h = mix(h, e.row.Hash())
		}
		h = mix(h, flag(e.a != 0, 1)|flag(e.b != 0, 2))
	case opXID:
	default:
		h = mix(mix(h, e.a), e.b)
	}
	switch p := e.p.(type) {
	case nil:
	case error:
		h = types.HashString(h, p.Error())
	case []scanRow:
		for i := range p {
			h = mix(h, p[i].row.Hash())
		}
	case Hasher:
		h = mix(h, p.Hash())
	}
	return h
}

// undo hashes what a rollback would bring back.
func (f *hasher) undo(u *undo) uint64 {
	h := types.HashString(types.HashString(uint64(u.kind), u.key.class), u.key.name)
	h = mix(h, uint64(u.rel))
	switch u.kind {
	case undoRows:
		x, _ := f.rows(u.old)
		h = mix(h, x)
	case undoSequence:
		h = mix(h, u.seq.hash())
	case undoAlter:
		h = types.HashString(h, u.old.name)
	}
	return h
}
