package rings

import (
	"fmt"
	"strings"

	"simrun/sim"
)

// routes is the monitor of RouteFresh: the queue cursor now, and when each actor's transaction began.
type routes struct {
	slots int64
	now   int64 // generation of the authoritative cursor
	since [maxActors]int64
	inTx  [maxActors]bool
}

// Step is sim.Monitor's.
func (r *routes) Step(s *sim.Step) (sim.Monitor, string) {
	next := *r
	if s.Committed != nil {
		if c := readCursors(s.Committed); c != nil {
			next.now = c.of(0).Gen
		}
	}
	bad := ""
	if i := s.Actor; i >= 0 && i < maxActors {
		if s.SQL != "" && !next.inTx[i] {
			next.inTx[i], next.since[i] = true, r.now
		}
		if slot, gen, ok := routed(s); ok && (gen < next.since[i] || gen > next.now || slot != gen%next.slots) {
			bad = fmt.Sprintf("a row was routed to slot %d, generation %d, while the cursor went from generation %d to %d", slot, gen, next.since[i], next.now)
		}
		if ended(s) && !s.Reply.Blocked {
			next.inTx[i], next.since[i] = false, 0
		}
	}
	if next == *r {
		return r, bad
	}
	return &next, bad
}

// routed is the slot and the generation of the ready row that the step has inserted.
func routed(s *sim.Step) (slot, gen int64, ok bool) {
	if !strings.HasPrefix(s.SQL, "INSERT INTO ready_entries") || s.Reply.Err != nil || s.Reply.Blocked || s.Reply.Result == nil || len(s.Args) < 2 {
		return 0, 0, false
	}
	at, ok := s.Args[0].(int)
	gen, okay := s.Args[1].(int64)
	return int64(at), gen, ok && okay
}

// Hash is sim.Monitor's.
func (r *routes) Hash() uint64 {
	h := uint64(r.now)
	for i := range r.since {
		h = (h ^ uint64(r.since[i])<<1 ^ uint64(b2i(r.inTx[i]))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// routeFresh is I-10 in its weak form: a row may be late, but not lost in time. In its strict form, at the moment of the insert,
// it fails harmlessly: nothing keeps a rotation from coming between the read of the cursor and the insert.
func routeFresh(first cursors) sim.Invariant {
	return sim.Invariant{Name: "RouteFresh", ID: "I-10", Kind: sim.Monitored,
		Doc: "a ready row is routed by a cursor that was authoritative at some time while its transaction ran",
		Monitor: func() sim.Monitor {
			return &routes{slots: int64(first.rings[0].n), now: first.of(0).Gen}
		}}
}

// quiet is the monitor of QuietLedger: which actors act under the ledger's discipline.
type quiet struct{ ledger uint16 }

// quietTables are those on which the ledger's discipline leaves no dead row. A trust marker in queue_ring_state and the rescue
// cursors in claim_ring_slots are others' business.
var quietTables = []string{"queue_ring_state", "lease_ring_state", "claim_ring_state", "queue_ring_slots", "lease_ring_slots",
	"queue_terminal_rollups", "queue_ring_rotations", "lease_ring_rotations", "claim_ring_rotations"}

// Step is sim.Monitor's.
func (q *quiet) Step(s *sim.Step) (sim.Monitor, string) {
	if s.Actor < 0 || s.Actor >= maxActors {
		return q, ""
	}
	bit, next := uint16(1)<<s.Actor, q.ledger
	bad := ""
	if next&bit != 0 && s.Reply.Result != nil && s.Reply.Err == nil {
		if table, n := overwritten(s); n != "" {
			bad = fmt.Sprintf("a ring transaction under the ledger's discipline left dead rows in %s: %s", table, n)
		}
	}
	if ended(s) {
		next &^= bit
	}
	for _, e := range s.Events {
		if h, ok := e.Value.(hold); ok && e.Name == noteHold && h.Mode == ledger {
			next |= bit
		}
	}
	if next == q.ledger {
		return q, bad
	}
	return &quiet{next}, bad
}

// overwritten is the table of which the step has updated or deleted rows, and the command tag that says so.
func overwritten(s *sim.Step) (table, tag string) {
	tag = s.Reply.Result.Tag
	verb, n, _ := strings.Cut(tag, " ")
	upsert := verb == "INSERT" && strings.Contains(s.SQL, "DO UPDATE") && !strings.HasSuffix(tag, " 0")
	if (verb != "UPDATE" && verb != "DELETE" || n == "0") && !upsert {
		return "", ""
	}
	words := strings.Fields(s.SQL)
	for _, table := range quietTables {
		for i, w := range words {
			if w == table && i > 0 && (words[i-1] == "UPDATE" || words[i-1] == "FROM" || words[i-1] == "INTO") && i <= 2 {
				return table, tag
			}
		}
	}
	return "", ""
}

// Hash is sim.Monitor's.
func (q *quiet) Hash() uint64 { return uint64(q.ledger) }

// quietLedger is I-14.
func quietLedger() sim.Invariant {
	return sim.Invariant{Name: "QuietLedger", ID: "I-14", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &quiet{} },
		Doc: "under the ledger's discipline rotations and prunes overwrite no row of the rings' bookkeeping or of the rollups"}
}
