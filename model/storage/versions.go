package storage

// NoSession stands where a session could: nobody.
const NoSession SessionID = -1

// VersionInfo is a row version that lies in a heap, and who has to do with it.
type VersionInfo struct {
	TID          TID
	Row          *Row
	Maker, Ender SessionID   // whose transaction in progress has made it, and has updated or deleted it; NoSession when none
	Dead         bool        // a committed transaction has updated or deleted it; it is kept for an old snapshot
	Seen, Hidden []SessionID // the sessions in a transaction whose next command would see it, and those whose would not
}

// Versions lists the row versions of a heap, in the order of a sequential scan.
func (st *State) Versions(id TableID) []VersionInfo {
	r := st.rel(id)
	if r == nil {
		return nil
	}
	var snaps []Snapshot
	for _, s := range st.sess {
		switch {
		case !s.open || s.state == Idle:
		case s.txSnap.ok:
			snap := s.txSnap
			snap.cid = s.cid
			snaps = append(snaps, snap)
		default:
			snaps = append(snaps, Snapshot{csn: st.csn, cid: s.cid, own: s.id, ok: true})
		}
	}
	out := make([]VersionInfo, 0, r.rows)
	for _, c := range r.chunks {
		for i := range c.v {
			v := &c.v[i]
			info := VersionInfo{TID: v.tid, Row: v.row, Maker: st.sessionOf(v.xmin), Ender: st.sessionOf(v.xmax), Dead: v.xmax.committed()}
			for k := range snaps {
				if st.sees(&snaps[k], v) {
					info.Seen = append(info.Seen, snaps[k].own)
				} else {
					info.Hidden = append(info.Hidden, snaps[k].own)
				}
			}
			out = append(out, info)
		}
	}
	return out
}

// sessionOf is the session of a transaction in progress.
func (st *State) sessionOf(x stamp) SessionID {
	if x == 0 || x.committed() {
		return NoSession
	}
	if a := st.xid(x.xid()); a != nil {
		return a.sess
	}
	return NoSession
}
