package machines

// deadTuples is DeadTuples.
type deadTuples struct {
	limit, maxRows, wrap                        uint8
	foldStandsDown, rotateAppends, pruneAppends bool
}

// deadState is its state; dead is in the order state, ledger, rollups, deltas.
type deadState struct {
	ledgerAuthority, pinned, probed bool
	dead                            [4]uint8
	ledger, deltas                  uint8
}

func newDeadTuples(k *constants) (deadTuples, error) {
	return deadTuples{
		limit: uint8(k.int("Cap", 15)), maxRows: uint8(k.int("MaxRows", 200)), wrap: uint8(k.int("Wrap", 200)),
		foldStandsDown: k.bool("FoldStandsDown"), rotateAppends: k.bool("RotateAppends"), pruneAppends: k.bool("PruneAppends"),
	}, k.err
}

func (d deadTuples) initial() []deadState { return []deadState{{ledger: 1}} }

// dies makes n versions of table t dead.
func (d deadTuples) dies(s *deadState, t int, n uint8) { s.dead[t] = min(d.limit, s.dead[t]+n) }

func (d deadTuples) next(s deadState, emit func(string, deadState)) {
	do := func(action string, change func(t *deadState)) {
		t := s
		change(&t)
		emit(action, t)
	}
	if s.pinned {
		do("Unpin", func(t *deadState) { t.pinned = false })
	} else {
		do("Pin", func(t *deadState) { t.pinned = true })
	}
	if !s.ledgerAuthority {
		for rows := s.ledger; rows <= d.maxRows; rows++ {
			do("RotateC", func(t *deadState) { d.dies(t, 0, 1); t.ledger = rows })
			do("Flip", func(t *deadState) { d.dies(t, 0, 1); t.ledger = rows; t.ledgerAuthority = true })
		}
		do("Prune6", func(t *deadState) { d.dies(t, 2, 1) })
	} else if s.ledger < d.maxRows {
		do("RotateL", func(t *deadState) {
			t.ledger++
			if !d.rotateAppends {
				d.dies(t, 0, 1)
			}
		})
	}
	switch {
	case !d.pruneAppends:
		do("Prune7", func(t *deadState) { d.dies(t, 2, 1) })
	case s.deltas < d.maxRows:
		do("Prune7", func(t *deadState) { t.deltas++ })
	}
	if !s.probed && !s.pinned {
		do("Probe", func(t *deadState) { t.probed = true })
	}
	if s.probed {
		do("Leave", func(t *deadState) { t.probed = false })
	}
	if s.probed || !d.foldStandsDown {
		for kept := uint8(1); kept <= d.wrap && kept < s.ledger; kept++ {
			do("FoldLedger", func(t *deadState) { d.dies(t, 1, s.ledger-kept); t.ledger = kept; t.probed = false })
		}
		if s.deltas > 0 {
			do("FoldDeltas", func(t *deadState) { d.dies(t, 3, s.deltas); d.dies(t, 2, 1); t.deltas = 0; t.probed = false })
		}
	}
	if !s.pinned && s.dead != [4]uint8{} {
		do("Vacuum", func(t *deadState) { t.dead = [4]uint8{} })
	}
}

func (d deadTuples) invariant(s deadState) string {
	if s.ledger > d.maxRows || s.deltas > d.maxRows || max(s.dead[0], s.dead[1], s.dead[2], s.dead[3]) > d.limit {
		return "TypeOK"
	}
	return ""
}

func (d deadTuples) properties() []string { return []string{"QuietLedger", "StandDown"} }

func (d deadTuples) property(s, t deadState) string {
	if !s.pinned || s.probed {
		return ""
	}
	if t.ledger < s.ledger || t.deltas < s.deltas {
		return "StandDown"
	}
	if s.ledgerAuthority && t.ledgerAuthority {
		for i := range s.dead {
			if t.dead[i] > s.dead[i] {
				return "QuietLedger"
			}
		}
	}
	return ""
}

func (d deadTuples) words(s deadState) [3]uint64 {
	w := uint64(s.ledger) | uint64(s.deltas)<<8 | bit(s.ledgerAuthority)<<16 | bit(s.pinned)<<17 | bit(s.probed)<<18
	for i, n := range s.dead {
		w |= uint64(n) << (20 + 8*i)
	}
	return [3]uint64{w}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
