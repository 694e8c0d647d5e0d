package storage

import "slices"

// Snapshot says which row versions a command sees. The zero Snapshot is none.
type Snapshot struct {
	csn  uint64    // commits up to and with this one are seen
	xmin XID       // the oldest transaction in progress when it was taken: VACUUM's view of the horizon
	cid  CommandID // own changes of earlier commands are seen
	own  SessionID
	ok   bool
	now  bool // of now also where the transaction has a snapshot that it keeps: changes are checked against that one
}

// CommandID is the command that changes made under this snapshot get.
func (s Snapshot) CommandID() CommandID { return s.cid }

// Valid reports whether the snapshot is one.
func (s Snapshot) Valid() bool { return s.ok }

// takeSnapshot returns a snapshot of now for s; in REPEATABLE READ and above, of when the transaction took its first.
func (st *State) takeSnapshot(s *session) Snapshot {
	if s.txSnap.ok {
		snap := s.txSnap
		snap.cid = s.cid
		return snap
	}
	snap := st.now(s)
	if s.opts.Isolation >= RepeatableRead {
		s.txSnap = snap
		st.touchSnapshot(true)
		if s.opts.Isolation == Serializable {
			st.serBegin(s)
		}
	}
	return snap
}

// now is a snapshot of now.
func (st *State) now(s *session) Snapshot {
	return Snapshot{csn: st.csn, xmin: st.oldestXID(), cid: s.cid, own: s.id, ok: true}
}

// ownSnapshot is the one that the transaction keeps, for the command of snap.
func (s *session) ownSnapshot(snap *Snapshot) Snapshot {
	own := s.txSnap
	own.cid = snap.cid
	return own
}

func (st *State) oldestXID() XID {
	if len(st.active) > 0 {
		return st.active[0].xid
	}
	return st.nextXID
}

// sees reports whether the snapshot sees the version.
func (st *State) sees(snap *Snapshot, v *version) bool {
	if x := v.xmin; x != 0 {
		if x.committed() {
			if x.csn() > snap.csn {
				return false
			}
		} else if !st.mine(snap.own, x.xid()) || v.cmin >= snap.cid {
			return false
		}
	}
	x := v.xmax
	switch {
	case x == 0:
		return true
	case x.committed():
		return x.csn() > snap.csn
	}
	return !st.mine(snap.own, x.xid()) || v.cmax >= snap.cid
}

// snapshots calls f for each live snapshot of the session.
func (s *session) snapshots(f func(*Snapshot)) {
	if s.txSnap.ok {
		f(&s.txSnap)
	}
	if s.stmtSnap.ok {
		f(&s.stmtSnap)
	}
	for i := range s.snaps {
		f(&s.snaps[i])
	}
}

// liveSnapshots appends the commit numbers of all live snapshots, ascending, each once.
func (st *State) liveSnapshots(buf []uint64) []uint64 {
	add := func(sn *Snapshot) {
		for i, c := range buf {
			if c == sn.csn {
				return
			}
			if c > sn.csn {
				buf = slices.Insert(buf, i, sn.csn)
				return
			}
		}
		buf = append(buf, sn.csn)
	}
	for _, s := range st.sess {
		if s.txSnap.ok || s.stmtSnap.ok || len(s.snaps) > 0 {
			s.snapshots(add)
		}
	}
	return buf
}

// dropSnapshots gives up every snapshot of s.
func (st *State) dropSnapshots(s *session) {
	if !s.txSnap.ok && !s.stmtSnap.ok && len(s.snaps) == 0 {
		return
	}
	st.dropStatementSnapshots(s)
	if s.txSnap.ok {
		csn := s.txSnap.csn
		s.txSnap = Snapshot{}
		st.settleReleased(csn)
	}
}

// dropStatementSnapshots gives up the snapshots of the statement of s.
func (st *State) dropStatementSnapshots(s *session) {
	if s.stmtSnap.ok {
		csn := s.stmtSnap.csn
		s.stmtSnap = Snapshot{}
		st.settleReleased(csn)
	}
	for len(s.snaps) > 0 {
		n := len(s.snaps) - 1
		csn := s.snaps[n].csn
		s.snaps = s.snaps[:n]
		st.settleReleased(csn)
	}
}

// Xmin returns the lowest xmin of the session's live snapshots, pg_stat_activity.backend_xmin, or 0 when it has none.
func (st *State) Xmin(id SessionID) XID {
	low := XID(0)
	st.sess[id].snapshots(func(sn *Snapshot) {
		if low == 0 || sn.xmin < low {
			low = sn.xmin
		}
	})
	return low
}
