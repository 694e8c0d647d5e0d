package tla

import (
	"slices"
	"strconv"
	"strings"

	"simrun/sim"
)

// lockOrder maps worlds of rings/flip to RingLockOrder: who holds which ring's singleton, advisory lock, slot row and children.
type lockOrder struct {
	authority string
	held      []hold // sorted by actor and resource
}

// hold is a lock of the specification that an actor holds.
type hold struct {
	actor          int
	resource, ring string
	mode           string // "S" or "X"
}

// lockActor is an actor of rings/flip as the specification names it.
type lockActor struct{ kind, ring string }

// The actors of rings/flip, by index; the reader takes no lock of the specification.
var lockActors = []lockActor{{"r6", "queue"}, {"r7", "queue"}, {"r7b", "queue"}, {"flip", "all"}, {}, {"r6", "lease"}}

func newLockOrder() Tracker { return lockOrder{authority: "columns"} }

func (m lockOrder) Step(s *sim.Step) (Tracker, error) {
	next := lockOrder{authority: m.authority, held: slices.Clone(m.held)}
	if s.Actor >= 0 && lockActors[s.Actor].kind != "" {
		for _, l := range s.Acquired {
			if resource, ring, mode, ok := lockOf(&l, lockActors[s.Actor]); ok {
				next.take(hold{s.Actor, resource, ring, mode})
			}
		}
		// The end of a transaction frees its locks, and so does the error that makes it fail.
		if !s.Reply.Blocked && s.Reply.Tx != 'T' || s.Done {
			next.held = slices.DeleteFunc(next.held, func(h hold) bool { return h.actor == s.Actor })
		}
	}
	if s.Changed {
		authority, err := rows(s.Committed, `SELECT authority FROM ring_cursor_authority`)
		if err != nil {
			return nil, err
		}
		next.authority = authority[0][0]
	}
	return next, nil
}

func (m *lockOrder) take(h hold) {
	if slices.ContainsFunc(m.held, func(o hold) bool { return o.actor == h.actor && o.resource == h.resource && o.ring == h.ring }) {
		return
	}
	m.held = append(m.held, h)
	slices.SortFunc(m.held, func(a, b hold) int {
		if a.actor != b.actor {
			return a.actor - b.actor
		}
		return strings.Compare(a.resource+a.ring, b.resource+b.ring)
	})
}

// lockOf maps a lock of the database to one of the specification. Row locks on the singletons and slots count, not the table
// locks that come with them; on the children the table lock is what counts.
func lockOf(l *sim.Lock, a lockActor) (resource, ring, mode string, ok bool) {
	object, _, isRow := strings.Cut(l.Object, "(")
	switch {
	case l.Class == "advisory":
		return "advisory", a.ring, "X", a.kind == "r7" || a.kind == "r7b"
	case isRow && strings.HasSuffix(object, "_ring_state"):
		return "state", strings.TrimSuffix(object, "_ring_state"), "X", true
	case isRow && strings.HasSuffix(object, "_ring_slots"):
		return "slot", strings.TrimSuffix(object, "_ring_slots"), "X", true
	case l.Class != "relation":
		return "", "", "", false
	}
	for _, child := range []struct{ prefix, ring string }{{"ready_entries_", "queue"}, {"leases_", "lease"}, {"lease_claims_", "claim"}} {
		if strings.HasPrefix(object, child.prefix) {
			mode = "S"
			if l.Mode == "AccessExclusiveLock" {
				mode = "X"
			}
			return "child", child.ring, mode, true
		}
	}
	return "", "", "", false
}

func (m lockOrder) Visible() State {
	var held []Pair
	for _, resource := range []string{"state", "advisory", "slot", "child"} {
		for _, ring := range []string{"queue", "lease", "claim"} {
			var by []Value
			for _, h := range m.held {
				if h.resource == resource && h.ring == ring {
					a := lockActors[h.actor]
					by = append(by, Tuple(Tuple(Str(a.kind), Str(a.ring)), Str(h.mode)))
				}
			}
			held = append(held, Pair{Tuple(Str(resource), Str(ring)), Set(by...)})
		}
	}
	return State{"authority": Str(m.authority), "held": Func(held...)}
}

func (m lockOrder) Hash() uint64 { return hashOf(m.authority, m.held) }

// cursor maps worlds of rings/flip to RingCursor, for the queue ring.
type cursor struct {
	authority   string
	cols        [2]string // slot and generation of the singleton
	generations []string
	slots       []string // generation of each slot's row
}

func newCursor() Tracker {
	return cursor{authority: "columns", cols: [2]string{"1", "1"}, generations: []string{"0", "1"}, slots: []string{"0", "1", "-1", "-1"}}
}

func (m cursor) Step(s *sim.Step) (Tracker, error) {
	if !s.Changed {
		return m, nil
	}
	read, err := rows(s.Committed, `SELECT authority, current_slot, generation FROM ring_cursor_authority, queue_ring_state`)
	if err != nil {
		return nil, err
	}
	next := cursor{authority: read[0][0], cols: [2]string{read[0][1], read[0][2]}}
	if read, err = rows(s.Committed, `SELECT generation, slot FROM queue_ring_rotations ORDER BY generation`); err != nil {
		return nil, err
	}
	for _, r := range read {
		next.generations = append(next.generations, r[0])
	}
	if read, err = rows(s.Committed, `SELECT generation FROM queue_ring_slots ORDER BY slot`); err != nil {
		return nil, err
	}
	for _, r := range read {
		next.slots = append(next.slots, r[0])
	}
	return next, nil
}

func (m cursor) Visible() State {
	var generations []Value
	for _, g := range m.generations {
		generations = append(generations, Value(g))
	}
	var slots []Pair
	for i, g := range m.slots {
		slots = append(slots, Pair{Value(strconv.Itoa(i)), Value(g)})
	}
	return State{
		"authority": Str(m.authority), "cols": Tuple(Value(m.cols[0]), Value(m.cols[1])),
		"ledger": Set(generations...), "slotGen": Func(slots...),
		"rows": Set(Func(Field("job", "1"), Field("slot", "1"), Field("gen", "1"), Field("done", Bool(false)))),
	}
}

func (m cursor) Hash() uint64 { return hashOf(m.authority, m.cols, m.generations, m.slots) }
