package storage

import (
	"slices"

	"simrun/model/types"
)

// SERIALIZABLE is serializable snapshot isolation as PostgreSQL does it (Ports and Grittner, "Serializable Snapshot Isolation
// in PostgreSQL", VLDB 2012; src/backend/storage/lmgr/README-SSI). A read-write conflict T1 -> T2 means that T1 read what a
// concurrent T2 wrote a newer version of. A transaction with a conflict in and one out is a pivot; when the transaction it has
// the conflict out to commits first of the three, somebody fails with 40001.
//
// A server remembers the rows that it read and the pages of the indexes that it used, or a table that it scanned sequentially.
// Here a lookup by key is remembered by the key and every other read by the table; after SequentialScans all reads are remembered
// by table, which is exactly what a server does that is told to use no indexes. MayFailSerializable says where the
// coarser view could fail a transaction that the finer one lets pass.

// serials are the serializable transactions that matter: those in progress, and those committed that are concurrent with one
// of them. It is copied as a whole when a clone changes it.
type serials struct {
	owner  uint64
	lastID uint64
	seq    uint64 // number of the last step of a commit
	txs    []serial
}

// serial is a serializable transaction.
type serial struct {
	id          uint64
	sess        SessionID // -1 when committed
	readOnly    bool      // declared so, or committed without a write
	wrote       bool
	doomed      bool // it is to fail with its next read, write or commit
	conflictOut bool // committed with a conflict out to a transaction that committed before it
	unsafe      bool // a read-only one that may see an anomaly
	unmet       bool // it had a transaction id before its snapshot, under which nobody who reads what it has written finds it

	csn      uint64 // of its snapshot
	xmin     XID    // of its snapshot
	snapSeq  uint64 // serials.seq when it was taken
	prepared uint64 // serials.seq of its commit, 0 before
	commit   uint64 // likewise, one step later
	firstOut uint64 // prepared of the earliest committed transaction it has a conflict out to
	endCSN   uint64 // the commit that made its changes visible
	endXID   XID    // the next transaction id when it committed

	reads, writes []serItem
	emptied       []emptied // by TRUNCATE or DROP TABLE: what had been written there can no longer be met
	in, out       []uint64  // conflicts, by id of the other
	watching      []uint64  // of a read-only one: writers in progress that decide whether it is safe
}

// emptied is a table, with how many writes there were before it was emptied.
type emptied struct {
	rel    TableID
	writes int
}

// serItem is a table, or a key in an index of it.
type serItem struct {
	rel   TableID
	index int16 // -1: the table
	hash  uint64
}

// SequentialScans makes SERIALIZABLE remember reads by table, also where a row is looked up by its key.
func (st *State) SequentialScans(on bool) { st.sequential = on }

func (a serItem) meets(b serItem) bool { return a.rel == b.rel && (a.index < 0 || a == b) }

func (st *State) wserials() *serials {
	if st.ser.owner != st.owner {
		c := &serials{owner: st.owner, lastID: st.ser.lastID, seq: st.ser.seq, txs: slices.Clone(st.ser.txs)}
		for i := range c.txs {
			t := &c.txs[i]
			t.reads, t.writes, t.emptied = slices.Clip(t.reads), slices.Clip(t.writes), slices.Clip(t.emptied)
			t.in, t.out, t.watching = slices.Clone(t.in), slices.Clone(t.out), slices.Clone(t.watching)
		}
		st.ser = c
	}
	return st.ser
}

func (c *serials) find(id uint64) *serial {
	for i := range c.txs {
		if c.txs[i].id == id {
			return &c.txs[i]
		}
	}
	return nil
}

// remove forgets a transaction and its conflicts.
func (c *serials) remove(id uint64) {
	c.txs = slices.DeleteFunc(c.txs, func(t serial) bool { return t.id == id })
	is := func(x uint64) bool { return x == id }
	for i := range c.txs {
		t := &c.txs[i]
		t.in, t.out, t.watching = slices.DeleteFunc(t.in, is), slices.DeleteFunc(t.out, is), slices.DeleteFunc(t.watching, is)
	}
}

// serBegin enters the transaction of s, which has just taken its snapshot.
func (st *State) serBegin(s *session) {
	st.touchSerial()
	var watching []uint64
	if s.opts.ReadOnly {
		for i := range st.ser.txs {
			if t := &st.ser.txs[i]; t.commit == 0 && !t.readOnly {
				watching = append(watching, t.id)
			}
		}
		if watching == nil {
			return // nobody writes: what it sees is safe
		}
	}
	c := st.wserials()
	c.lastID++
	s.ser = c.lastID
	c.txs = append(c.txs, serial{id: s.ser, sess: s.id, readOnly: s.opts.ReadOnly, csn: s.txSnap.csn, xmin: s.txSnap.xmin,
		snapSeq: c.seq, watching: watching, unmet: s.topXID() != 0})
}

func errSerialize(reason string) error {
	return types.NewError("40001", "could not serialize access due to read/write dependencies among transactions").
		WithDetail("Reason code: %s.", reason).WithHint("The transaction might succeed if retried.")
}

// serScan remembers a read, and finds the conflicts with those who have written what was read.
func (st *State) serScan(s *session, c *Cursor) error {
	st.touchSerial()
	item := serItem{rel: c.rel, index: -1}
	if c.index >= 0 && !st.sequential {
		item.index = int16(c.index)
		item.hash, _ = hashKey(c.key)
	}
	ss := st.wserials()
	me := ss.find(s.ser)
	if me.doomed {
		return errSerialize("Canceled on identification as a pivot, during conflict out checking")
	}
	if !slices.Contains(me.reads, item) {
		me.reads = append(me.reads, item)
	}
	if slices.ContainsFunc(me.emptied, func(e emptied) bool { return e.rel == c.rel }) {
		return nil
	}
	for i := range ss.txs {
		w := &ss.txs[i]
		if w.id == me.id || w.doomed || w.unmet || w.commit != 0 && w.endCSN <= max(me.csn, c.snap.csn) || slices.Contains(me.out, w.id) ||
			!slices.ContainsFunc(w.writes, item.meets) {
			continue
		}
		if me.readOnly && w.commit != 0 && (!w.conflictOut || me.snapSeq < w.firstOut) {
			continue
		}
		if err := ss.conflict(me, w, me); err != nil {
			return err
		}
	}
	return nil
}

// serWrite remembers a write of the rows old and new, of which one may be nil, and finds the conflicts with those who have
// read what was written.
func (st *State) serWrite(s *session, r *relation, rows ...*Row) error {
	st.touchSerial()
	ss := st.wserials()
	me := ss.find(s.ser)
	if me.doomed {
		return errSerialize("Canceled on identification as a pivot, during conflict in checking")
	}
	me.wrote = true
	items := []serItem{{rel: r.id, index: -1}}
	for _, row := range rows {
		for i := range r.specs {
			if row == nil {
				break
			}
			if h, in, _ := r.specs[i].entryOf(row); in {
				items = append(items, serItem{r.id, int16(i), h})
			}
		}
	}
	since := me.emptiedAt(r.id)
	for _, item := range items {
		if !slices.Contains(me.writes[since:], item) {
			me.writes = append(me.writes, item)
		}
	}
	for i := range ss.txs {
		o := &ss.txs[i]
		if o.id == me.id || o.doomed || o.commit != 0 && me.xmin >= o.endXID || slices.Contains(me.in, o.id) {
			continue
		}
		if !slices.ContainsFunc(o.reads, func(read serItem) bool { return slices.ContainsFunc(items, read.meets) }) {
			continue
		}
		if err := ss.conflict(o, me, me); err != nil {
			return err
		}
	}
	return nil
}

// serEmpty finds the conflicts of TRUNCATE and DROP TABLE with all who have read of the table. Unlike a write of a row it conflicts
// with those too that committed before this transaction's snapshot, as long as what they have read is remembered.
func (st *State) serEmpty(s *session, t TableID) error {
	if s.ser == 0 {
		return nil
	}
	st.touchSerial()
	ss := st.wserials()
	me := ss.find(s.ser)
	if me.doomed {
		return errSerialize("Canceled on identification as a pivot, during conflict in checking")
	}
	me.wrote, me.emptied = true, append(me.emptied, emptied{t, len(me.writes)})
	for i := range ss.txs {
		o := &ss.txs[i]
		if o.id == me.id || slices.Contains(me.in, o.id) || !slices.ContainsFunc(o.reads, func(read serItem) bool { return read.rel == t }) {
			continue
		}
		if err := ss.conflict(o, me, me); err != nil {
			return err
		}
	}
	return nil
}

// serReplaced forgets what others have written to tables whose rows s has replaced as a whole, in the commit: it can no longer be met.
func (st *State) serReplaced(s *session) {
	var replaced []TableID
	for i := range s.ddl {
		if u := &s.ddl[i]; u.kind == undoRows {
			replaced = append(replaced, u.rel)
		}
	}
	if replaced == nil {
		return
	}
	st.touchSerial()
	c := st.wserials()
	for i := range c.txs {
		t := &c.txs[i]
		var kept []serItem
		for k, w := range t.writes {
			gone := slices.Contains(replaced, w.rel)
			if t.id == s.ser {
				gone = k < t.emptiedAt(w.rel) // what it has written since then is in the new rows
			}
			if !gone {
				kept = append(kept, w)
			}
		}
		t.writes = kept
	}
}

// emptiedAt is how many writes there were when the transaction last emptied the table, 0 when it did not.
func (t *serial) emptiedAt(rel TableID) (writes int) {
	for _, e := range t.emptied {
		if e.rel == rel {
			writes = e.writes
		}
	}
	return writes
}

// emptyings is how often the transaction has emptied the table since its write number i; each can be rolled back alone.
func (t *serial) emptyings(rel TableID, i int) (n int) {
	for _, e := range t.emptied {
		if e.rel == rel && i < e.writes {
			n++
		}
	}
	return n
}

// serUndo forgets what a subtransaction that is rolled back has written. What it has read, and the conflicts that were found, stay.
func (st *State) serUndo(s *session, b *sub) {
	me := st.ser.find(s.ser)
	if len(me.writes) > b.serWrites || len(me.emptied) > b.serEmptied {
		st.touchSerial()
		me = st.wserials().find(s.ser)
		me.writes, me.emptied = slices.Clip(me.writes[:b.serWrites]), slices.Clip(me.emptied[:b.serEmptied])
	}
}

// serDoomed returns the error of a transaction that SSI has doomed.
func (st *State) serDoomed(s *session) error {
	if s.ser != 0 && st.ser.find(s.ser).doomed {
		return errSerialize("Canceled on identification as a pivot, during conflict in checking")
	}
	return nil
}

// conflict enters reader -> writer, found by me, which is one of them, unless that completes a dangerous structure; then the
// writer is doomed, or me fails.
func (c *serials) conflict(reader, writer, me *serial) error {
	fail := writer.commit != 0 && writer.conflictOut
	if !fail {
		// The writer as the pivot.
		for _, id := range writer.out {
			t := c.find(id)
			if t.prepared != 0 && (reader.commit == 0 || t.prepared <= reader.commit) &&
				(writer.commit == 0 || t.prepared <= writer.commit) && (!reader.readOnly || t.prepared <= reader.snapSeq) {
				fail = true
			}
		}
	}
	if !fail && writer.prepared != 0 && !reader.readOnly {
		// The reader as the pivot.
		for _, id := range reader.in {
			t := c.find(id)
			if !t.doomed && (t.commit == 0 || t.commit >= writer.prepared) && (!t.readOnly || t.snapSeq >= writer.prepared) {
				fail = true
			}
		}
	}
	if fail {
		switch {
		case me == writer:
			return errSerialize("Canceled on identification as a pivot, during write")
		case writer.prepared != 0:
			return errSerialize("Canceled on conflict out to pivot, during read")
		}
		writer.doomed = true
	}
	reader.out = append(reader.out, writer.id)
	writer.in = append(writer.in, reader.id)
	return nil
}

// serPrepare decides whether s may commit.
func (st *State) serPrepare(s *session) error {
	st.touchSerial()
	c := st.wserials()
	me := c.find(s.ser)
	if me.doomed {
		return errSerialize("Canceled on identification as a pivot, during commit attempt")
	}
	for _, near := range me.in {
		n := c.find(near)
		if n.commit != 0 || n.doomed {
			continue
		}
		for _, far := range n.in {
			if f := c.find(far); far == me.id || f.commit == 0 && !f.readOnly && !f.doomed {
				n.doomed = true
				break
			}
		}
	}
	c.seq++
	me.prepared = c.seq
	return nil
}

// serEnd takes note that the transaction of s has ended, and forgets what has become irrelevant.
func (st *State) serEnd(s *session, committed bool) {
	st.touchSerial()
	c := st.wserials()
	me := c.find(s.ser)
	s.ser = 0
	if committed {
		c.seq++
		me.commit, me.sess = c.seq, -1
		me.endCSN, me.endXID = st.csn, st.nextXID
		if !me.readOnly {
			for _, id := range me.out {
				if o := c.find(id); o.commit != 0 && (!me.conflictOut || o.prepared < me.firstOut) {
					me.conflictOut, me.firstOut = true, o.prepared
				}
			}
		}
		wasReadOnly := me.readOnly
		me.readOnly = me.readOnly || !me.wrote
		c.dropConflicts(me)
		if !wasReadOnly {
			st.decideSafe(c, me, true)
		}
	} else {
		id, writer := me.id, !me.readOnly
		if writer {
			st.decideSafe(c, me, false)
		}
		c.remove(id)
	}
	oldest := ^XID(0)
	for i := range c.txs {
		if t := &c.txs[i]; t.commit == 0 {
			oldest = min(oldest, t.xmin)
		}
	}
	for i := 0; i < len(c.txs); {
		if t := &c.txs[i]; t.commit != 0 && t.endXID <= oldest {
			c.remove(t.id)
			continue
		}
		i++
	}
}

// dropConflicts forgets the conflicts of a committed transaction that no longer count.
func (c *serials) dropConflicts(me *serial) {
	for _, id := range slices.Clone(me.out) {
		if o := c.find(id); o.commit != 0 || o.snapSeq >= c.seq {
			me.out = slices.DeleteFunc(me.out, func(x uint64) bool { return x == id })
			o.in = slices.DeleteFunc(o.in, func(x uint64) bool { return x == me.id })
		}
	}
	for _, id := range slices.Clone(me.in) {
		if o := c.find(id); o.commit != 0 || o.readOnly {
			me.in = slices.DeleteFunc(me.in, func(x uint64) bool { return x == id })
			o.out = slices.DeleteFunc(o.out, func(x uint64) bool { return x == me.id })
		}
	}
}

// decideSafe tells the read-only transactions that wait for the end of a writer: one that none of its concurrent writers makes
// unsafe need not be watched any more.
func (st *State) decideSafe(c *serials, me *serial, committed bool) {
	end := *me
	for i := 0; i < len(c.txs); {
		t := &c.txs[i]
		at := slices.Index(t.watching, end.id)
		if at < 0 {
			i++
			continue
		}
		if committed && end.wrote && end.conflictOut && end.firstOut <= t.snapSeq {
			t.unsafe = true
		}
		t.watching = slices.Delete(t.watching, at, at+1)
		if len(t.watching) == 0 && !t.unsafe && t.commit == 0 {
			st.wsession(t.sess).ser = 0
			c.remove(t.id)
			continue
		}
		i++
	}
}

// MayFailSerializable reports whether a server that remembers reads by table where the model remembers them by key could fail the session's transaction with 40001: whether, reads taken by table, it is part of a structure of two
// conflicts in a row.
func (st *State) MayFailSerializable(id SessionID) bool {
	me := st.sess[id].ser
	if me == 0 {
		return false
	}
	conflict := func(r, w *serial) bool {
		return r.id != w.id && !(w.commit != 0 && w.endCSN <= r.csn) && !(r.commit != 0 && w.xmin >= r.endXID) &&
			slices.ContainsFunc(r.reads, func(a serItem) bool {
				return slices.ContainsFunc(w.writes, func(b serItem) bool { return a.rel == b.rel })
			})
	}
	txs := st.ser.txs
	for i := range txs {
		for j := range txs {
			if !conflict(&txs[i], &txs[j]) {
				continue
			}
			for k := range txs {
				if conflict(&txs[j], &txs[k]) && (txs[i].id == me || txs[j].id == me || txs[k].id == me) {
					return true
				}
			}
		}
	}
	return false
}

// serials hashes the serializable transactions. Their numbers matter by their order only.
func (f *hasher) serials() uint64 {
	c := f.st.ser
	var seqs []uint64
	for i := range c.txs {
		t := &c.txs[i]
		seqs = append(seqs, t.snapSeq, t.prepared, t.commit, t.firstOut)
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	rank := func(n uint64) uint64 { i, _ := slices.BinarySearch(seqs, n); return uint64(i) }
	name := func(t *serial) uint64 {
		if t.commit != 0 {
			return 1<<32 | rank(t.commit)
		}
		return f.label(t.sess)
	}
	var sum uint64
	for i := range c.txs {
		t := &c.txs[i]
		h := mix(name(t), flag(t.readOnly, 1)|flag(t.wrote, 2)|flag(t.doomed, 4)|flag(t.conflictOut, 8)|flag(t.unsafe, 16)|flag(t.unmet, 32))
		h = mix(mix(h, rank(t.snapSeq)<<32|rank(t.prepared)), rank(t.firstOut))
		var items, others uint64
		for _, r := range t.reads {
			items += mix(mix(1, uint64(r.rel)<<16|uint64(uint16(r.index))), r.hash)
		}
		var subs []sub // that can be rolled back alone
		if t.commit == 0 {
			subs = f.st.sess[t.sess].subs
		}
		level := func(i int, began func(*sub) int) (l uint64) {
			for l+1 < uint64(len(subs)) && i >= began(&subs[l+1]) {
				l++
			}
			return l
		}
		for i, w := range t.writes {
			l := level(i, func(b *sub) int { return b.serWrites })
			items += mix(mix(2, uint64(w.rel)<<16|uint64(uint16(w.index))), mix(l|uint64(t.emptyings(w.rel, i))<<32, w.hash))
		}
		for i, e := range t.emptied {
			items += mix(6, mix(level(i, func(b *sub) int { return b.serEmptied }), uint64(e.rel)))
		}
		for _, id := range t.in {
			others += mix(3, name(c.find(id)))
		}
		for _, id := range t.out {
			others += mix(4, name(c.find(id)))
		}
		for _, id := range t.watching {
			others += mix(5, name(c.find(id)))
		}
		sum += mix(mix(h, items), others)
	}
	return sum
}
