package rings

import (
	"fmt"
	"strings"

	"simrun/sim"
)

// retention is I-11: whatever a fold deletes, the ledgers keep one round, except for the gap that an upgrade leaves. The
// generations that the start's ledgers lack are below that of their greatest row.
func retention(first cursors) sim.Invariant {
	var parts []string
	for _, r := range first.rings {
		floor := r.ledger.Gen
		if first.authority == ledger {
			floor = max(0, floor-int64(r.n)+1)
		}
		parts = append(parts, fmt.Sprintf(`
SELECT '%[1]s' AS ring, x.hi AS greatest, x.n AS rows_kept FROM
	(SELECT max(r.generation) AS hi, count(*) FILTER (WHERE r.generation >= %[2]d
		AND r.generation > (SELECT max(m.generation) FROM %[1]s_ring_rotations m) - s.slot_count) AS n, s.slot_count
	 FROM %[1]s_ring_rotations r, %[1]s_ring_state s GROUP BY s.slot_count) x
WHERE x.n < least(x.hi - %[2]d + 1, x.slot_count)`, r.ring, floor))
	}
	return sim.Invariant{Name: "Retention", ID: "I-11", Doc: "whatever is trimmed, every ledger keeps its last round", SQL: strings.Join(parts, "\nUNION ALL")}
}

// pinAge is how old a held snapshot must be to count as a pin, in microseconds.
const pinAge = 5_000_000

// pins is the monitor of StandDown and FoldProgress: who holds a snapshot or a write transaction since when, and when each
// fold under way began. Times are in microseconds of simulated time; 0 is "not".
type pins struct {
	since  [maxActors]int64 // negative for a write transaction
	folds  [maxActors]int64 // when the actor's fold began
	clear  [maxActors]bool  // nobody could pin when it began, nor since
	inTx   [maxActors]bool  // the actor is in a transaction
	began  [maxActors]int64 // since when
	pinned [maxActors]bool  // a genuine pin was there when it began, and has been since
	strict bool             // judge StandDown; otherwise FoldProgress
}

// genuine says whether a pin is older than pinAge now.
func (p *pins) genuine(now int64) bool {
	for _, since := range p.since {
		if since < 0 || since > 0 && now-since > pinAge {
			return true
		}
	}
	return false
}

// mayPin says whether anyone but the actor could pin the horizon now: whoever is in a transaction may idle there with a write
// xid, except a reader whose transaction is young: the probe knows when transactions began, not when they took their snapshots.
func (p *pins) mayPin(now int64, but int) bool {
	for i := range p.inTx {
		young := p.since[i] > 0 && now-p.began[i] <= pinAge
		if i != but && p.inTx[i] && !young {
			return true
		}
	}
	return false
}

// Step is sim.Monitor's.
func (p *pins) Step(s *sim.Step) (sim.Monitor, string) {
	next := *p
	now := s.Now.UnixMicro()
	bad := ""
	if s.Actor >= 0 && s.Actor < maxActors && ended(s) && s.Kind == sim.StepCrash {
		next.since[s.Actor], next.folds[s.Actor], next.inTx[s.Actor] = 0, 0, false
	}
	if s.Actor >= 0 && s.Actor < maxActors && s.Reply.Tx != 0 {
		next.inTx[s.Actor] = !ended(s)
	}
	if s.Actor >= 0 && s.Actor < maxActors && next.inTx[s.Actor] != p.inTx[s.Actor] {
		next.began[s.Actor] = now * int64(b2i(next.inTx[s.Actor]))
	}
	for _, e := range s.Events {
		switch v := e.Value.(type) {
		case int64:
			if e.Name == notePin {
				next.since[s.Actor] = v
			}
			if e.Name == noteFold {
				next.folds[s.Actor], next.clear[s.Actor], next.pinned[s.Actor] = v, !next.mayPin(now, s.Actor), next.genuine(now)
			}
		case Outcome:
			if e.Name != noteOutcome || next.folds[s.Actor] == 0 {
				continue
			}
			switch {
			case next.strict && v.Kind == Done && v.N > 0 && next.pinned[s.Actor]:
				bad = fmt.Sprintf("a fold deleted %d rows under a pin that was there before it began", v.N)
			case !next.strict && v.Kind == SkippedPinned && next.clear[s.Actor]:
				bad = "a fold stood down although nobody pinned the horizon"
			}
			next.folds[s.Actor] = 0
		}
	}
	for i := range next.folds {
		if next.folds[i] != 0 {
			next.clear[i] = next.clear[i] && !next.mayPin(now, i)
			next.pinned[i] = next.pinned[i] && next.genuine(now)
		}
	}
	if next == *p {
		return p, bad
	}
	return &next, bad
}

// Hash is sim.Monitor's.
func (p *pins) Hash() uint64 {
	h := uint64(7)
	for i := range p.since {
		for _, v := range []uint64{uint64(p.since[i]), uint64(p.folds[i]), uint64(b2i(p.clear[i])), uint64(p.began[i]), uint64(b2i(p.pinned[i]))} {
			h = (h ^ v) * 0x9e3779b97f4a7c15
			h ^= h >> 31
		}
	}
	return h
}

// standsDown is I-15.
func standsDown() sim.Invariant {
	return sim.Invariant{Name: "StandDown", ID: "I-15", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &pins{strict: true} },
		Doc: "a fold deletes nothing under a genuine pin that was there when it began"}
}

// foldsOn is I-16.
func foldsOn() sim.Invariant {
	return sim.Invariant{Name: "FoldProgress", ID: "I-16", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &pins{} },
		Doc: "a fold does not stand down when nobody pins the horizon"}
}
