package storage

import (
	"fmt"
	"slices"
)

// check says what of the State's inner invariants does not hold, or "".
func (st *State) check() string {
	var snapBuf [8]uint64
	snaps := st.liveSnapshots(snapBuf[:0])
	sum := uint64(0)
	f := hasher{st: st}
	f.classify(nil, nil)
	for t := range st.nextRel {
		r := st.rel(t)
		if r == nil {
			continue
		}
		h, _ := f.relation(r)
		if dirty := slices.Contains(st.dirty, t); r.clean == dirty {
			return fmt.Sprintf("relation %d: clean is %v, dirty is %v", t, r.clean, dirty)
		} else if !dirty {
			if h != r.hash {
				return fmt.Sprintf("relation %d: stale hash", t)
			}
			sum += h
		}
		if e := st.checkRows(r, snaps); e != "" {
			return fmt.Sprintf("relation %d: %s", t, e)
		}
	}
	if sum != st.relSum {
		return "relSum is stale"
	}
	strong := 0
	for _, s := range st.sess {
		for _, h := range s.held {
			if strongMode(h.tag, h.mode) {
				strong++
			}
			for _, o := range st.sess {
				if o.id > s.id && conflicts[h.mode]&st.heldModes(o, h.tag) != 0 {
					return fmt.Sprintf("sessions %d and %d hold conflicting locks", s.id, o.id)
				}
			}
		}
		if (s.wait.state == waiting) != slices.Contains(st.queue, s.id) {
			return fmt.Sprintf("session %d and the queue disagree", s.id)
		}
		if s.wait.state == waiting {
			if strongMode(s.wait.tag, s.wait.mode) {
				strong++
			}
			if len(st.BlockedBy(s.id, nil)) == 0 {
				return fmt.Sprintf("session %d waits for nobody", s.id)
			}
		}
		if s.state == Idle && (len(s.subs) > 0 || len(s.writes) > 0 || s.txSnap.ok || s.stmtSnap.ok) {
			return fmt.Sprintf("idle session %d has remains of a transaction", s.id)
		}
		if slices.ContainsFunc(s.held, func(h hold) bool { return h.tag.kind == LockTuple }) && s.wait.state == notWaiting {
			return fmt.Sprintf("session %d keeps a tuple lock", s.id)
		}
	}
	if strong != st.strong {
		return fmt.Sprintf("%d strong locks counted, there are %d", st.strong, strong)
	}
	return ""
}

func (st *State) checkRows(r *relation, snaps []uint64) string {
	n, last := 0, TID(0)
	var seen []*version
	for _, c := range r.chunks {
		if len(c.v) == 0 || len(c.v) > chunkMax {
			return "chunk of bad size"
		}
		for i := range c.v {
			v := &c.v[i]
			n++
			if v.tid <= last {
				return "versions out of order"
			}
			last = v.tid
			seen = append(seen, v)
			for _, x := range []stamp{v.xmin, v.xmax} {
				if x != 0 && !x.committed() && st.xid(x.xid()) == nil {
					return "stamp of a transaction that has ended"
				}
			}
			if v.xmin.committed() && (len(snaps) == 0 || v.xmin.csn() <= snaps[0]) {
				return "xmin is not settled"
			}
			if v.xmax.committed() && !needed(snaps, birth(v), v.xmax.csn()) {
				return "a dead version is kept"
			}
			for j, l := range v.lockers {
				if st.xid(l.xid) == nil {
					return "row lock of a transaction that has ended"
				}
				if j > 0 && v.lockers[j-1].xid >= l.xid {
					return "lockers out of order"
				}
			}
			if v.next != 0 {
				if o := r.get(v.next); o == nil || o.prev != v.tid {
					return fmt.Sprintf("broken chain at %d", v.tid)
				}
			}
		}
	}
	if n != r.rows {
		return "rows miscounted"
	}
	if (len(r.chunks) > 1) != (r.index != nil) && len(r.specs) > 0 {
		return "indexes missing or left over"
	}
	for i := range r.index {
		count := r.index[i].count()
		for _, v := range seen {
			h, in, _ := r.specs[i].entryOf(v.row)
			if !in {
				continue
			}
			count--
			if !slices.Contains(r.index[i].find(h), entry{h, v.tid}) {
				return "a version is missing in an index"
			}
		}
		if count != 0 {
			return "an index has entries too many"
		}
	}
	return ""
}

func (t *trie) count() int {
	if t == nil {
		return 0
	}
	n := len(t.ents)
	if t.kids != nil {
		for _, k := range t.kids {
			n += k.count()
		}
	}
	return n
}
