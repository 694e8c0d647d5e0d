package rings

import (
	"fmt"
	"strings"

	"simrun/sim"
)

// world is a scenario with all families, lanes and the application's tables.
type world struct {
	p     *program
	from  start
	lanes []lane
	ended int64 // how many jobs of queue q have finished at the start
}

// queueQ is the lane that most scenarios use.
var queueQ = lane{"q", 0}

// newWorld makes the start of a scenario with data: rings at the cursor, lanes with nothing in them.
func newWorld(p *program, slots int, authority string, cur cursor, lanes ...lane) *world {
	p.slots = slots
	if len(lanes) == 0 {
		lanes = []lane{queueQ}
	}
	return &world{p: p, lanes: lanes, from: start{layout: layout{slots, queueRing, leaseRing, claimRing}, authority: authority, cur: cur}}
}

// schema is the whole schema as SQL.
func (w *world) schema() string {
	var b strings.Builder
	b.WriteString(w.p.schema.text(w.from.layout))
	for _, name := range []string{"lanes", "counts", "rescue", "app"} {
		b.WriteString(schemaFile(name))
	}
	for _, l := range w.lanes {
		fmt.Fprintf(&b, "CREATE SEQUENCE %s;\nCREATE SEQUENCE %s;\n", l.seq("enqueue"), l.seq("claim"))
	}
	return b.String()
}

// seed is the start as SQL.
func (w *world) seed() string {
	var b strings.Builder
	b.WriteString(w.from.text())
	for _, l := range w.lanes {
		fmt.Fprintf(&b, "INSERT INTO queue_enqueue_heads VALUES ('%[1]s', %[2]d, '%[3]s');\nINSERT INTO queue_claim_heads VALUES ('%[1]s', %[2]d, '%[4]s');\n",
			l.queue, l.shard, l.seq("enqueue"), l.seq("claim"))
	}
	return b.String()
}

// setup is the scenario with these actors.
func (w *world) setup(actors ...sim.ActorSpec) *sim.Setup {
	first := w.from.cursors()
	return &sim.Setup{
		Schema:     w.schema(),
		Seed:       w.seed(),
		Actors:     actors,
		Invariants: append(append(cursorInvariants(first), jobInvariants(first, w.ended)...), linearizableCursor(first)),
	}
}

// ready adds a ready job to the start: at a position of the lane, routed to the cursor given.
func (w *world) ready(l lane, id, seq int64, at cursor) {
	w.from.extra += fmt.Sprintf(`INSERT INTO app_jobs VALUES (%[1]d, '%[2]s');
INSERT INTO ready_entries VALUES (%[5]d, %[6]d, '%[2]s', %[3]d, %[4]d, %[1]d, 1);
INSERT INTO ready_segments VALUES (%[5]d, %[6]d, '%[2]s', %[3]d, %[4]d, %[4]d);
`, id, l.queue, l.shard, seq, at.Slot, at.Gen)
}

// done adds a finished job: claimed and closed compactly in the claim slot, or explicitly with a terminal row.
func (w *world) done(l lane, id, seq int64, at cursor, claimSlot int, state string) {
	w.ready(l, id, seq, at)
	w.ended++
	w.from.extra += fmt.Sprintf(`INSERT INTO ready_claim_attempt_batches VALUES (%[5]d, %[6]d, '%[2]s', %[3]d, %[4]d, %[4]d);
INSERT INTO app_effects VALUES (%[1]d, 1, %[7]t);
`, id, l.queue, l.shard, seq, at.Slot, at.Gen, state == "failed")
	if state == "" {
		w.from.extra += fmt.Sprintf(`INSERT INTO lease_claim_batches VALUES (%[7]d, %[5]d, %[6]d, '%[2]s', %[3]d, %[4]d, 1);
INSERT INTO lease_claim_closure_batches VALUES (%[7]d, %[5]d, %[6]d, '%[2]s', %[3]d, %[4]d, 1);
INSERT INTO receipt_completion_batches VALUES (%[5]d, %[6]d, '%[2]s', %[3]d, %[4]d, 1);
`, id, l.queue, l.shard, seq, at.Slot, at.Gen, claimSlot)
		return
	}
	w.from.extra += fmt.Sprintf(`INSERT INTO lease_claims VALUES (%[7]d, %[1]d, 1, %[5]d, %[6]d, '%[2]s', %[3]d, %[4]d);
INSERT INTO lease_claim_closures VALUES (%[7]d, %[1]d, 1);
INSERT INTO done_entries VALUES (%[5]d, %[6]d, '%[2]s', %[3]d, %[4]d, %[1]d, '%[8]s', now());
INSERT INTO queue_terminal_count_deltas VALUES (%[5]d, %[6]d, '%[2]s', %[9]d, %[10]d);
`, id, l.queue, l.shard, seq, at.Slot, at.Gen, claimSlot, state, b2i(state == "completed"), b2i(state == "failed"))
}

// at sets a lane's sequences: the last position handed out and the last consumed.
func (w *world) at(l lane, handedOut, consumed int64) {
	w.from.extra += fmt.Sprintf("SELECT setval('%s', %d);\n", l.seq("enqueue"), handedOut)
	if consumed > 0 {
		w.from.extra += fmt.Sprintf("SELECT setval('%s', %d);\n", l.seq("claim"), consumed)
	}
}
