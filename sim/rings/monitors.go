package rings

import (
	"fmt"
	"strings"

	"simrun/sim"
)

// stateless is a monitor that judges each step by itself.
type stateless func(s *sim.Step) string

// Step is sim.Monitor's.
func (m stateless) Step(s *sim.Step) (sim.Monitor, string) { return m, m(s) }

// Hash is sim.Monitor's.
func (stateless) Hash() uint64 { return 0 }

// brokenAware says that a 0.7 actor got the fence's error, or found no partition for a row.
func brokenAware(s *sim.Step) string {
	for o := range outcomes(s) {
		if o.Kind == Failed && !o.Old && (o.Reason == "55000" || o.Reason == "23514") {
			return fmt.Sprintf("a 0.7 actor failed: %v", o)
		}
	}
	return ""
}

// outcomes goes over the outcomes that were told with the step.
func outcomes(s *sim.Step) func(yield func(Outcome) bool) {
	return func(yield func(Outcome) bool) {
		for _, e := range s.Events {
			if o, ok := e.Value.(Outcome); ok && e.Kind == sim.EventNote && e.Name == noteOutcome && !yield(o) {
				return
			}
		}
	}
}

// ended says that the actor has no live transaction after the step.
func ended(s *sim.Step) bool {
	switch s.Kind {
	case sim.StepCrash, sim.StepCommitApplied, sim.StepCommitDropped, sim.StepConnLost:
		return true
	}
	return s.Done || s.Reply.Tx == 'I' || s.Reply.Tx == 'E'
}

// maxActors is how many actors the monitors of this package can follow.
const maxActors = 16

// fleet is the monitor of MixedFleet: which actors hold a serializer, and under which discipline.
type fleet struct {
	flipped bool
	columns uint16 // actors that hold one under the columns' discipline
	ledger  uint16 // ... under the ledger's
}

// Step is sim.Monitor's.
func (f *fleet) Step(s *sim.Step) (sim.Monitor, string) {
	if s.Actor < 0 || s.Actor >= maxActors {
		return f, ""
	}
	next := *f
	bit := uint16(1) << s.Actor
	if ended(s) {
		next.columns, next.ledger = next.columns&^bit, next.ledger&^bit
	}
	if s.Committed != nil {
		if c := readCursors(s.Committed); c != nil {
			next.flipped = c.authority == ledger
		}
	}
	for _, e := range s.Events {
		h, ok := e.Value.(hold)
		switch {
		case !ok || e.Name != noteHold:
		case h.Mode == columns:
			next.columns |= bit
		case h.Mode == ledger:
			next.ledger |= bit
		}
	}
	if next == *f {
		return f, ""
	}
	switch {
	case next.columns != 0 && next.ledger != 0:
		return &next, "one transaction holds its serializer under the columns' discipline, another under the ledger's"
	case next.columns != 0 && next.flipped:
		return &next, "a transaction holds its serializer under the columns' discipline after the flip"
	}
	return &next, ""
}

// Hash is sim.Monitor's.
func (f *fleet) Hash() uint64 {
	h := uint64(f.columns)<<32 | uint64(f.ledger)
	if f.flipped {
		h ^= 0x9e3779b97f4a7c15
	}
	return h
}

// reports is the monitor of SingleReport: the generations modulo 64 that a rotation reported, by ring.
type reports [3]uint64

// Step is sim.Monitor's.
func (r *reports) Step(s *sim.Step) (sim.Monitor, string) {
	next := *r
	for o := range outcomes(s) {
		if o.Kind != Rotated {
			continue
		}
		for i := range allRings {
			if allRings[i].name != o.Ring {
				continue
			}
			bit := uint64(1) << (o.Gen & 63)
			if next[i]&bit != 0 {
				return &next, fmt.Sprintf("generation %d of the %s ring was reported by two rotations", o.Gen, o.Ring)
			}
			next[i] |= bit
			next[i] &^= bit<<32 | bit>>32 // half a round away: free for the next lap
		}
	}
	if next == *r {
		return r, ""
	}
	return &next, ""
}

// Hash is sim.Monitor's.
func (r *reports) Hash() uint64 {
	return r[0] ^ r[1]*0x9e3779b97f4a7c15 ^ r[2]*0xd6e8feb86659fd93
}

// serializers is the monitor of SerializerHeld.
type serializers struct {
	holds   [maxActors]uint8 // the ring whose serializer the actor holds: a bit of allRings
	refused [maxActors]uint8 // rings that others held when the actor's advisory lock was refused, and bit 7
}

// Step is sim.Monitor's.
func (h *serializers) Step(s *sim.Step) (sim.Monitor, string) {
	if s.Actor < 0 || s.Actor >= maxActors {
		return h, ""
	}
	next := *h
	if strings.Contains(s.SQL, "pg_try_advisory") && strings.Contains(s.SQL, "ring_rotation") && isFalse(s.Reply.Result) {
		next.refused[s.Actor] = 1 << 7
		for actor, ring := range next.holds {
			if actor != s.Actor {
				next.refused[s.Actor] |= ring
			}
		}
	}
	if ended(s) {
		next.holds[s.Actor] = 0
	}
	bad := ""
	for _, e := range s.Events {
		if e.Kind != sim.EventNote {
			continue
		}
		switch v := e.Value.(type) {
		case hold:
			next.holds[s.Actor] = ringBit(v.Ring)
		case Outcome:
			if v.Reason == reasonSerializer && next.refused[s.Actor]&ringBit(v.Ring) == 0 {
				bad = fmt.Sprintf("the serializer of the %s ring was refused, and nobody held it", v.Ring)
			}
			next.refused[s.Actor] = 0
		}
	}
	if next == *h {
		return h, bad
	}
	return &next, bad
}

// isFalse says whether a result is one row with false first.
func isFalse(r *sim.Result) bool {
	return r != nil && len(r.Rows) == 1 && r.Rows[0][0].Valid && r.Rows[0][0].N == 0
}

// ringBit is the bit of a ring in allRings.
func ringBit(name string) uint8 {
	for i := range allRings {
		if allRings[i].name == name {
			return 1 << i
		}
	}
	return 0
}

// Hash is sim.Monitor's.
func (h *serializers) Hash() uint64 {
	v := uint64(3)
	for i := range h.holds {
		v = (v ^ uint64(h.holds[i]) ^ uint64(h.refused[i])<<8) * 0x9e3779b97f4a7c15
		v ^= v >> 31
	}
	return v
}

// noOutcome makes an invariant that no outcome is bad.
func noOutcome(name, id, doc string, bad func(s *sim.Step, o Outcome) string) sim.Invariant {
	return sim.Invariant{Name: name, ID: id, Doc: doc, Kind: sim.Monitored, Monitor: func() sim.Monitor {
		return stateless(func(s *sim.Step) string {
			for o := range outcomes(s) {
				if why := bad(s, o); why != "" {
					return why
				}
			}
			return ""
		})
	}}
}
