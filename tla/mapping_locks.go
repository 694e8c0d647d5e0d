package tla

import (
	"regexp"
	"slices"
	"strings"

	"simrun/sim"
)

// lockOrder maps worlds of the rings system to RingLockOrder: who holds which ring's singleton, advisory lock, slot row and
// children. What an actor holds follows from the statements that it has completed, because a server shows no row locks.
type lockOrder struct {
	actors    []lockActor
	authority string
	held      []hold // sorted by actor and resource
}

// hold is a lock of the specification that an actor holds.
type hold struct {
	actor          int
	resource, ring string
	mode           string // "S" or "X"
}

// lockActor is an actor as the specification names it; one without a kind takes no lock of the specification.
type lockActor struct{ kind, ring string }

// flipLockOrder follows the actors of rings/flip.
func flipLockOrder() Tracker {
	return lockOrder{authority: "columns", actors: []lockActor{{"r6", "queue"}, {"r7", "queue"}, {"r7b", "queue"}, {"flip", "all"}, {}, {"r6", "lease"}}}
}

// rotationLockOrder follows the actors of rings/rotation.
func rotationLockOrder(authority string) func() Tracker {
	return func() Tracker {
		return lockOrder{authority: authority, actors: []lockActor{{"r7", "queue"}, {"r7b", "queue"}, {"p7", "queue"}, {}, {}}}
	}
}

func (m lockOrder) Step(s *sim.Step) (Tracker, error) {
	next := m
	if s.Actor >= 0 && m.actors[s.Actor].kind != "" {
		next.held = slices.Clone(m.held)
		if s.SQL != "" && !s.Reply.Blocked && s.Reply.Err == nil && s.Reply.Tx == 'T' {
			for _, l := range locksOf(s, m.actors[s.Actor]) {
				l.actor = s.Actor
				next.take(l)
			}
		}
		if ended(s) {
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

var (
	lockedRow   = regexp.MustCompile(`\bFROM (queue|lease|claim)_ring_(state|slots)\b.* FOR UPDATE`)
	updatedRow  = regexp.MustCompile(`\bUPDATE (queue|lease|claim)_ring_(state|slots) `)
	childTables = map[string]string{"queue": "ready_entries_", "lease": "leases_", "claim": "lease_claims_"}
)

// locksOf is the locks of the specification that a completed statement has taken for the actor.
func locksOf(s *sim.Step, a lockActor) []hold {
	sql := sim.OneLine(s.SQL, 0)
	for _, form := range []*regexp.Regexp{lockedRow, updatedRow} {
		if m := form.FindStringSubmatch(sql); m != nil && affected(s) {
			return []hold{{resource: strings.TrimSuffix(m[2], "s"), ring: m[1], mode: "X"}}
		}
	}
	child := strings.Contains(sql, childTables[a.ring]) && a.ring != "all"
	switch {
	case strings.Contains(sql, "pg_try_advisory_xact_lock(hashtextextended('ring_rotation"):
		if r := s.Reply.Result; r != nil && len(r.Rows) == 1 && r.Rows[0][0].Text() == "t" {
			return []hold{{resource: "advisory", ring: a.ring, mode: "X"}}
		}
	case child && strings.Contains(sql, "IN ACCESS EXCLUSIVE MODE"):
		return []hold{{resource: "child", ring: a.ring, mode: "X"}}
	case child && a.kind != "p7" && (strings.Contains(sql, "IN SHARE MODE") || strings.HasPrefix(sql, "SELECT EXISTS")):
		return []hold{{resource: "child", ring: a.ring, mode: "S"}}
	}
	return nil
}

// affected says whether the statement found or changed a row.
func affected(s *sim.Step) bool {
	r := s.Reply.Result
	return r != nil && (len(r.Rows) > 0 || !strings.HasSuffix(r.Tag, " 0"))
}

func (m lockOrder) Visible() State {
	var held []Pair
	for _, resource := range []string{"state", "advisory", "slot", "child"} {
		for _, ring := range []string{"queue", "lease", "claim"} {
			var by []Value
			for _, h := range m.held {
				if h.resource == resource && h.ring == ring {
					a := m.actors[h.actor]
					by = append(by, Tuple(Tuple(Str(a.kind), Str(a.ring)), Str(h.mode)))
				}
			}
			held = append(held, Pair{Tuple(Str(resource), Str(ring)), Set(by...)})
		}
	}
	return State{"authority": Str(m.authority), "held": Func(held...)}
}

func (m lockOrder) Hash() uint64 { return hashOf(m.authority, m.held) }
