package rings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"simrun/sim"
)

// gateWatch is the monitor of Gate: when a runtime that is not known to be aware of the flip was last seen, and what that
// came to when each flip's gate looked. Times are in microseconds of simulated time.
type gateWatch struct {
	unaware int64 // last_seen_at of the latest such runtime; 0 when there is none
	blocked [maxActors]bool
	forced  [maxActors]bool
}

// freshWindow is how long after its last row a runtime counts as alive.
const freshWindow = 90 * time.Second

const runtimesSQL = `SELECT (extract(epoch FROM last_seen_at) * 1000000)::bigint, coalesce(binary_version, '') FROM runtime_instances`

type runtimesKey struct{}

// unawareSeen is last_seen_at of the latest runtime whose binary_version is not known to be 0.7 or later.
func unawareSeen(v sim.View) int64 {
	seen, _ := v.Memo(runtimesKey{}, func() any {
		res, err := v.Query(runtimesSQL)
		if err != nil {
			return int64(0)
		}
		var latest int64
		for _, row := range res.Rows {
			if !knowsFlip(row[1].S) {
				latest = max(latest, row[0].N)
			}
		}
		return latest
	}).(int64)
	return seen
}

// knowsFlip says whether a binary version is 0.7.0 or later; text that is no version is not.
func knowsFlip(version string) bool {
	version, _, _ = strings.Cut(version, "-")
	version, _, _ = strings.Cut(version, "+")
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return false
	}
	var n [3]int
	for i, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil {
			return false
		}
		n[i] = v
	}
	return n[0] > 0 || n[1] >= 7
}

// Step is sim.Monitor's.
func (g *gateWatch) Step(s *sim.Step) (sim.Monitor, string) {
	next := *g
	if s.Committed != nil {
		next.unaware = unawareSeen(s.Committed)
	}
	if s.Actor < 0 || s.Actor >= maxActors {
		return next.or(g), ""
	}
	if strings.Contains(s.SQL, "FROM runtime_instances") && !s.Reply.Blocked {
		next.blocked[s.Actor] = next.unaware != 0 && s.Now.UnixMicro()-next.unaware < freshWindow.Microseconds()
	}
	bad := ""
	for _, e := range s.Events {
		if e.Kind != sim.EventNote {
			continue
		}
		switch v := e.Value.(type) {
		case bool:
			if e.Name == noteForced {
				next.forced[s.Actor], next.blocked[s.Actor] = v, false
			}
		case Outcome:
			if v.Kind == Flipped && next.blocked[s.Actor] && !next.forced[s.Actor] {
				bad = "an unforced flip committed although a runtime that is not known to be aware was fresh at its gate"
			}
		}
	}
	return next.or(g), bad
}

// Hash is sim.Monitor's.
func (g *gateWatch) Hash() uint64 {
	h := uint64(g.unaware) * 0x9e3779b97f4a7c15
	for i := range g.blocked {
		h = (h ^ uint64(b2i(g.blocked[i])) ^ uint64(b2i(g.forced[i]))<<1) * 0xd6e8feb86659fd93
		h ^= h >> 29
	}
	return h
}

// or is was when nothing has changed.
func (g gateWatch) or(was *gateWatch) *gateWatch {
	if g == *was {
		return was
	}
	return &g
}

// gateInvariant is I-20.
func gateInvariant() sim.Invariant {
	return sim.Invariant{Name: "Gate", ID: "I-20", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &gateWatch{} },
		Doc: "an unforced flip never commits while its gate saw a fresh runtime that is not known to be aware"}
}

// stability is the monitor of AutoStable: since when each leader has seen the fleet ready, look after look; 0 is "not".
type stability struct {
	since [maxActors]int64
	auto  [maxActors]int64 // of the auto-flip under way: how long the fleet had been ready, -1 when none is
}

// Step is sim.Monitor's.
func (w *stability) Step(s *sim.Step) (sim.Monitor, string) {
	next := *w
	if s.Actor < 0 || s.Actor >= maxActors {
		return w, ""
	}
	if s.Kind == sim.StepCrash || s.Kind == sim.StepConnLost {
		next.since[s.Actor], next.auto[s.Actor] = 0, 0
	}
	bad := ""
	for _, e := range s.Events {
		if e.Kind != sim.EventNote {
			continue
		}
		switch v := e.Value.(type) {
		case fleetSeen:
			switch {
			case v.At < 0:
				next.auto[s.Actor] = 1
			case !v.Ready:
				next.since[s.Actor] = 0
			case next.since[s.Actor] == 0:
				next.since[s.Actor] = v.At
			}
		case Outcome:
			if v.Kind == Flipped && next.auto[s.Actor] == 1 {
				since := next.since[s.Actor]
				if since == 0 || s.Now.UnixMicro()-since < stablePeriod.Microseconds() {
					bad = fmt.Sprintf("auto-flip after %v of a ready fleet", time.Duration(s.Now.UnixMicro()-since)*time.Microsecond)
				}
			}
			if v.Kind == Flipped || v.Kind == Refused || v.Kind == AlreadyLedger {
				next.auto[s.Actor] = 0
			}
		}
	}
	if next == *w {
		return w, bad
	}
	return &next, bad
}

// Hash is sim.Monitor's.
func (w *stability) Hash() uint64 {
	h := uint64(5)
	for i := range w.since {
		h = (h ^ uint64(w.since[i]) ^ uint64(w.auto[i])<<50) * 0x9e3779b97f4a7c15
		h ^= h >> 31
	}
	return h
}

// autoStable is I-21.
func autoStable() sim.Invariant {
	return sim.Invariant{Name: "AutoStable", ID: "I-21", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &stability{} },
		Doc: "an auto-flip commits only after the stable period of looks by the same leader at a fleet that is alive and aware"}
}

// expansion is the monitor of ExpandFaithful: the columns before the migration.
type expansion struct {
	seen bool // queue storage was there
	cols [3]cursor
}

// Step is sim.Monitor's.
func (x expansion) Step(s *sim.Step) (sim.Monitor, string) {
	bad := ""
	for o := range outcomes(s) {
		if o.Kind == Failed && o.Reason == "23502" {
			bad = "the migration fails on the schema that it is for"
		}
	}
	if s.Committed == nil {
		return x, bad
	}
	now := readCursors(s.Committed)
	for o := range outcomes(s) {
		if o.Reason != reasonExpanded || o.Kind != Done {
			continue
		}
		for i := range allRings {
			switch {
			case now == nil:
				bad = "the migration left no cursor"
			case !x.seen && (now.authority != ledger || !now.rings[i].columns.poisoned() || now.rings[i].ledger != cursor{0, 0}):
				bad = fmt.Sprintf("a fresh install is in %s authority with the %s columns at %v and its ledger at %v",
					now.authority, allRings[i].name, now.rings[i].columns, now.rings[i].ledger)
			case x.seen && now.authority == columns && now.rings[i].columns != x.cols[i]:
				bad = fmt.Sprintf("the migration moved the %s columns from %v to %v", allRings[i].name, x.cols[i], now.rings[i].columns)
			case x.seen && now.authority == columns && now.rings[i].ledger != x.cols[i]:
				bad = fmt.Sprintf("the migration left the %s ledger at %v, the columns are at %v", allRings[i].name, now.rings[i].ledger, x.cols[i])
			case x.seen && now.authority == ledger && !x.cols[i].poisoned():
				bad = "an upgrade is in ledger authority"
			}
		}
	}
	for i, r := range allRings {
		res, err := s.Committed.Query(`SELECT current_slot, generation FROM ` + r.name + `_ring_state`)
		if err == nil && len(res.Rows) == 1 {
			x.seen, x.cols[i] = true, cursor{int(res.Rows[0][0].N), res.Rows[0][1].N}
		}
	}
	return x, bad
}

// Hash is sim.Monitor's.
func (x expansion) Hash() uint64 {
	h := uint64(b2i(x.seen))
	for _, c := range x.cols {
		h = (h ^ uint64(c.Slot)<<32 ^ uint64(c.Gen)) * 0x9e3779b97f4a7c15
	}
	return h
}

// expandFaithful is I-23. before is what the columns hold at the start, nil when there are none.
func expandFaithful(before *[3]cursor) sim.Invariant {
	return sim.Invariant{Name: "ExpandFaithful", ID: "I-23", Doc: "the migration keeps the columns, seeds the ledgers from them, and starts in the right authority",
		Kind: sim.Monitored, Monitor: func() sim.Monitor {
			if before == nil {
				return expansion{}
			}
			return expansion{seen: true, cols: *before}
		}}
}
