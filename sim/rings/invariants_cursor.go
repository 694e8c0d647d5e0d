package rings

import (
	"fmt"
	"strings"

	"simrun/invariants"
	"simrun/sim"
)

// watcher is a monitor over the committed cursors: judge compares them before and after each commit that changed them.
type watcher struct {
	last  *cursors // nil before there were any
	most  [3]int64 // the greatest generation that was ever authoritative, for each ring
	judge func(w *watcher, s *sim.Step, now *cursors) string
}

// Step is sim.Monitor's.
func (w *watcher) Step(s *sim.Step) (sim.Monitor, string) {
	if s.Committed == nil {
		return w, ""
	}
	now := readCursors(s.Committed)
	if now == nil || w.last != nil && *now == *w.last {
		return w, ""
	}
	var bad string
	if w.last != nil {
		bad = w.judge(w, s, now)
	}
	next := &watcher{last: now, most: w.most, judge: w.judge}
	for i := range next.most {
		next.most[i] = max(next.most[i], now.of(i).Gen)
	}
	return next, bad
}

// Hash is sim.Monitor's.
func (w *watcher) Hash() uint64 {
	if w.last == nil {
		return 0
	}
	h := uint64(1)
	add := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	if w.last.authority == ledger {
		add(1)
	}
	for i := range w.last.rings {
		add(uint64(w.most[i]))
		r := &w.last.rings[i]
		for _, c := range []cursor{r.columns, r.ledger} {
			add(uint64(c.Slot))
			add(uint64(c.Gen))
		}
	}
	return h
}

// watch makes an invariant of a judgement over committed cursor changes. The first state is that of the start.
func watch(name, id, doc string, first cursors, judge func(w *watcher, s *sim.Step, now *cursors) string) sim.Invariant {
	return sim.Invariant{Name: name, ID: id, Doc: doc, Kind: sim.Monitored, Monitor: func() sim.Monitor {
		w := &watcher{judge: judge}
		if first.authority != "" {
			w.last = &first
		}
		for i := range w.most {
			w.most[i] = first.of(i).Gen
		}
		return w
	}}
}

// watched are the invariants over committed cursor changes. first is the state of the start.
func watched(first cursors) []sim.Invariant {
	return []sim.Invariant{
		watch("MixedFleet/data", "I-1", "no cursor changes under the columns' discipline after the flip, nor under the ledger's before it", first,
			func(w *watcher, _ *sim.Step, now *cursors) string {
				for i, r := range now.rings {
					was := w.last.rings[i]
					switch {
					case w.last.authority == ledger && r.columns != was.columns && !r.columns.poisoned():
						return fmt.Sprintf("columns of the %s ring moved from %v to %v after the flip", r.ring, was.columns, r.columns)
					case now.authority == columns && r.ledger != was.ledger && r.ledger.Gen > r.columns.Gen:
						return fmt.Sprintf("ledger of the %s ring moved to %v before the flip, columns are at %v", r.ring, r.ledger, r.columns)
					}
				}
				return ""
			}),
		watch("SingleAdvance", "I-3", "each generation becomes authoritative at most once", first,
			func(w *watcher, _ *sim.Step, now *cursors) string {
				for i, r := range now.rings {
					if c := now.of(i); c != w.last.of(i) && c.Gen <= w.most[i] && w.last.of(i).Gen < c.Gen {
						return fmt.Sprintf("generation %d of the %s ring became authoritative again", c.Gen, r.ring)
					}
				}
				return ""
			}),
		noSkip(first),
		watch("OneWay", "I-17", "the authority goes from columns to ledger once, for all rings in one commit", first,
			func(w *watcher, _ *sim.Step, now *cursors) string {
				if w.last.authority == ledger && now.authority != ledger {
					return "the authority went back to " + now.authority
				}
				return ""
			}),
		watch("Shadow", "I-12", "the ledger never leads the columns, and equals them after a compat rotation and at the flip", first,
			func(w *watcher, s *sim.Step, now *cursors) string {
				flipped := w.last.authority == columns && now.authority == ledger
				for i, r := range now.rings {
					switch {
					case flipped && r.ledger != w.last.rings[i].columns:
						return fmt.Sprintf("flipped with the %s ledger at %v and columns at %v", r.ring, r.ledger, w.last.rings[i].columns)
					case now.authority == columns && r.ledger.Gen > r.columns.Gen:
						return fmt.Sprintf("the %s ledger is at %v, ahead of the columns at %v", r.ring, r.ledger, r.columns)
					case now.authority == columns && compatRotated(s, r) && r.ledger != r.columns:
						return fmt.Sprintf("after a compat rotation the %s ledger is at %v, the columns at %v", r.ring, r.ledger, r.columns)
					}
				}
				return ""
			}),
	}
}

func noSkip(first cursors) sim.Invariant {
	return watch("NoSkip", "I-4", "the authoritative generation steps by exactly one and never decreases", first,
		func(w *watcher, _ *sim.Step, now *cursors) string {
			for i, r := range now.rings {
				if was, is := w.last.of(i), now.of(i); is != was && is.Gen != was.Gen+1 {
					return fmt.Sprintf("cursor of the %s ring went from %v to %v", r.ring, was, is)
				}
			}
			return ""
		})
}

// compatRotated says whether a 0.7 rotation of the ring to its present columns was reported with the step.
func compatRotated(s *sim.Step, r ringCursor) bool {
	for _, e := range s.Events {
		if o, ok := e.Value.(Outcome); ok && e.Name == noteOutcome && o.Kind == Rotated && !o.Old && o.Ring == r.ring && o.Gen == r.columns.Gen {
			return true
		}
	}
	return false
}

// lockstepSQL finds cursors and ledger rows whose slot is not their generation modulo the slot count.
func lockstepSQL() string {
	var parts []string
	for _, r := range allRings {
		parts = append(parts, strings.ReplaceAll(`
SELECT '{ring}' AS ring, 'columns' AS held_in, s.current_slot AS slot, s.generation, s.slot_count
FROM {ring}_ring_state s, ring_cursor_authority a
WHERE a.authority = 'columns' AND s.current_slot <> s.generation % s.slot_count
UNION ALL
SELECT '{ring}', 'ledger', r.slot, r.generation, s.slot_count
FROM {ring}_ring_state s, {ring}_ring_rotations r
WHERE r.slot <> r.generation % s.slot_count`, "{ring}", r.name))
	}
	return strings.Join(parts, "\nUNION ALL")
}

// fenceSQL finds columns and slot rows that an old binary could act on although the ledger is authoritative.
func fenceSQL() string {
	var parts []string
	for _, r := range allRings {
		parts = append(parts, strings.ReplaceAll(`
SELECT '{ring}' AS ring, s.current_slot AS slot, s.generation
FROM {ring}_ring_state s, ring_cursor_authority a
WHERE a.authority = 'ledger' AND (s.current_slot <> -1 OR s.generation <> -1)
UNION ALL
SELECT '{ring} slot', s.slot, s.generation
FROM {ring}_ring_slots s, ring_cursor_authority a
WHERE a.authority = 'ledger' AND s.generation <> -1`, "{ring}", r.name))
	}
	return strings.Join(parts, "\nUNION ALL")
}

// migratingInvariants is what must hold of the cursors and the authority where the tables themselves come and go.
func migratingInvariants(first cursors) []sim.Invariant {
	return append(watched(first),
		watch("Lockstep", "I-5", "slot = generation mod slot_count for the cursor", first, func(_ *watcher, _ *sim.Step, now *cursors) string {
			for i, r := range now.rings {
				if c := now.of(i); c.Gen >= 0 && int64(c.Slot) != c.Gen%int64(r.n) {
					return fmt.Sprintf("the cursor of the %s ring is %v with %d slots", r.ring, c, r.n)
				}
			}
			return ""
		}),
		watch("Fence", "I-18", "after the flip the columns hold poison, or nothing", first, func(_ *watcher, _ *sim.Step, now *cursors) string {
			for _, r := range now.rings {
				if now.authority == ledger && !r.columns.poisoned() {
					return fmt.Sprintf("the ledger is authoritative, and the columns of the %s ring are at %v", r.ring, r.columns)
				}
			}
			return ""
		}),
		mixedFleet(first), awareNeverBreaks(), singleReport(), understood(), invariants.NoDeadlock(), invariants.LockOrder(),
	)
}

// cursorInvariants is what must hold of the cursors and the authority in every scenario whose tables stay.
func cursorInvariants(first cursors) []sim.Invariant {
	return append(watched(first),
		sim.Invariant{Name: "Lockstep", ID: "I-5", Doc: "slot = generation mod slot_count, for the cursor and for every ledger row", SQL: lockstepSQL()},
		sim.Invariant{Name: "Fence", ID: "I-18", Doc: "after the flip nothing an old binary reads lets it advance, route or prune", SQL: fenceSQL()},
		contiguous(first), mixedFleet(first), awareNeverBreaks(), singleReport(), serializerHeld(), idempotent(), boundedWait(), understood(),
		quietLedger(),
		invariants.NoDeadlock(),
		invariants.LockOrder(),
	)
}

func mixedFleet(first cursors) sim.Invariant {
	return sim.Invariant{Name: "MixedFleet", ID: "I-1", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &fleet{flipped: first.authority == ledger} },
		Doc: "no transaction holds a serializer under the columns' discipline next to one under the ledger's, or after the flip"}
}

func awareNeverBreaks() sim.Invariant {
	return sim.Invariant{Name: "AwareNeverBreaks", ID: "I-22", Kind: sim.Monitored, Monitor: func() sim.Monitor { return stateless(brokenAware) },
		Doc: "no 0.7 actor gets an error because a flip happened"}
}

func singleReport() sim.Invariant {
	return sim.Invariant{Name: "SingleReport", ID: "I-3", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &reports{} },
		Doc: "no two rotations report the same generation"}
}

func serializerHeld() sim.Invariant {
	return sim.Invariant{Name: "SerializerHeld", ID: "I-26", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &serializers{} },
		Doc: "a ring's serializer is refused only while another transaction on that ring holds it"}
}

// contiguous is I-4 of the ledgers: above the row that an upgrade seeded, and what a fold left, no generation is missing.
func contiguous(first cursors) sim.Invariant {
	var parts []string
	for i, r := range allRings {
		parts = append(parts, fmt.Sprintf(`
SELECT '%[1]s' AS ring, x.lo, x.hi, x.n FROM
	(SELECT min(generation) AS lo, max(generation) AS hi, count(*) AS n FROM %[1]s_ring_rotations WHERE generation >= %[2]d) x
WHERE x.hi - x.lo + 1 <> x.n`, r.name, first.rings[i].ledger.Gen))
	}
	return sim.Invariant{Name: "Contiguous", ID: "I-4", Doc: "no ledger has a hole above its upgrade's row", SQL: strings.Join(parts, "\nUNION ALL")}
}

func idempotent() sim.Invariant {
	return noOutcome("Idempotent", "I-27", "a flip after the flip finds its work done", func(_ *sim.Step, o Outcome) string {
		if o.Kind == Refused && (o.Reason == "invalid columns" || o.Reason == "ledger differs") {
			return "a flip was refused: " + o.Reason
		}
		return ""
	})
}

// boundedWait is what keeps readers from queueing behind a prune.
func boundedWait() sim.Invariant {
	return sim.Invariant{Name: "BoundedWait", ID: "I-2", Doc: "a prune waits for its children with a lock timeout only", Kind: sim.Monitored,
		Monitor: func() sim.Monitor {
			return stateless(func(s *sim.Step) string {
				if s.Reply.Blocked && !s.Bounded && strings.HasPrefix(s.SQL, "LOCK TABLE ready_entries_") {
					return "waits without a limit for " + s.Reply.On
				}
				return ""
			})
		}}
}

// understood is that the database takes every statement: an error of syntax, type or name is no outcome of a protocol.
func understood() sim.Invariant {
	return noOutcome("Understood", "", "no statement of the protocol is refused for what it says", func(_ *sim.Step, o Outcome) string {
		if o.Kind == Failed && !o.Old && len(o.Reason) == 5 {
			switch o.Reason[:2] {
			case "0A", "22", "42", "XX":
				return "the database answered " + o.Reason
			}
		}
		return ""
	})
}
