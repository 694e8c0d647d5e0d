package rings

import (
	"context"
	"fmt"
	"strings"
	"time"

	"simrun/sim"
)

// rings/expand: the migration on a live 0.6 schema, and again on its own result. rings/install: on no schema at all.
// rings/upgrade: the whole way from 0.6.2 to the contracted schema. rings/contract: its end, and an old installer after it.
func init() {
	register(&sim.Scenario{
		Name:   "rings/expand",
		Doc:    "The migration makes the ledgers while 0.6.2 binaries rotate, and is run again",
		Params: []sim.Param{slotsParam(4), ticksParam(2)},
		Build:  build("rings/expand", buildExpand),
	})
	register(&sim.Scenario{
		Name:   "rings/install",
		Doc:    "A fresh install, and an old binary that attaches to it",
		Params: []sim.Param{slotsParam(4), ticksParam(2)},
		Build:  build("rings/install", buildInstall),
	})
	register(&sim.Scenario{
		Name:   "rings/upgrade",
		Doc:    "0.6.2, migration, 0.7 next to it, flip and contraction, in either rollout order",
		Params: []sim.Param{slotsParam(4), ticksParam(2)},
		Build:  build("rings/upgrade", buildUpgrade),
	})
	register(&sim.Scenario{
		Name:   "rings/contract",
		Doc:    "The columns are dropped after the flip, and a 0.7 installer runs once more",
		Params: []sim.Param{slotsParam(4), ticksParam(2)},
		Build:  build("rings/contract", buildContract),
	})
}

// patient starts an actor of 0.7 once the migration is there: before, the binary refuses to start and is started again.
type patient struct {
	run   sim.Actor
	tries int
	find  string // a table that the migration makes
}

// Run looks for the table now and then.
func (a patient) Run(ctx context.Context, db sim.DB) error {
	for try := range a.tries {
		sim.Checkpoint(ctx, "waits", try)
		var found bool
		if err := db.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, a.find).Scan(&found); err != nil {
			return err
		}
		if found {
			return a.run.Run(ctx, db)
		}
		sim.Witness(ctx, "start: refused, schema too old")
		if err := sim.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// oldRings is the rows of a 0.6 schema at a cursor.
func oldRings(l layout, at cursor) string {
	var b strings.Builder
	for _, r := range l.rings() {
		fmt.Fprintf(&b, "INSERT INTO %s_ring_state VALUES (true, %d, %d, %d);\n", r.name, l.slots, at.Slot, at.Gen)
		for slot := range l.slots {
			gen := int64(-1)
			switch {
			case r.name == queueRing.name:
				gen = at.lastOpen(slot, l.slots)
			case slot == 0:
				gen = 0
			}
			fmt.Fprintf(&b, "INSERT INTO %s_ring_slots VALUES (%d, %d);\n", r.name, slot, gen)
		}
	}
	return b.String()
}

// oldRow keeps the rings busy: a row in the open slot of each.
func oldRow(at cursor) string {
	return fmt.Sprintf(`INSERT INTO ready_entries VALUES (%[1]d, %[2]d, 'q', 0, 1, 1, 1);
INSERT INTO leases VALUES (%[1]d, %[2]d, 1, 1, %[1]d, %[2]d, 'q', 0, 1);
INSERT INTO lease_claims VALUES (%[1]d, 1, 1, %[1]d, %[2]d, 'q', 0, 1);
`, at.Slot, at.Gen)
}

// small is the layout of scenarios about cursors: one family a ring.
func small(slots int) layout {
	return layout{slots, queueRing.only("ready_entries"), leaseRing, claimRing.only("lease_claims")}
}

func buildExpand(cfg sim.Config, p *program) *sim.Setup {
	l, at := small(cfg.Params["slots"]), cursor{3 % cfg.Params["slots"], 19 / int64(cfg.Params["slots"]) * int64(cfg.Params["slots"])}
	at.Slot = int(at.Gen) % l.slots
	p.slots = l.slots
	before := [3]cursor{at, at, at}
	return &sim.Setup{
		Schema: p.schema.oldText(l, true),
		Seed:   oldRings(l, at) + oldRow(at) + "INSERT INTO runtime_instances VALUES ('old', '0.6.2', true, now());\n",
		Actors: []sim.ActorSpec{
			{Name: "expander", Run: expander{p, 2}},
			{Name: "runtime-0.6.1", Run: runtime{id: "ancient", old: true, version: "0.6.1", beats: 1}},
			{Name: "rotator-0.6", Run: oldRotator{p, l.queue, cfg.Params["ticks"]}},
			{Name: "lease rotator-0.6", Run: oldRotator{p, l.lease, cfg.Params["ticks"]}},
			{Name: "rotator-0.7", Run: patient{rotator{p, l.queue, cfg.Params["ticks"]}, 20, "ring_cursor_authority"}},
		},
		Invariants: append(migratingInvariants(cursors{}), expandFaithful(&before), tooOld()),
		Witnesses:  []string{"expand: Done expanded", "expand: Refused runtime too old", "rotate-0.6: Rotated", "rotate-0.7: Rotated", "start: refused, schema too old"},
		Faults:     sim.Faults{Crash: 1},
	}
}

func buildInstall(cfg sim.Config, p *program) *sim.Setup {
	l := small(cfg.Params["slots"])
	p.slots = l.slots
	return &sim.Setup{
		Schema: p.schema.oldText(l, false),
		Seed:   oldRow(cursor{0, 0}),
		Actors: []sim.ActorSpec{
			{Name: "expander", Run: expander{p, 2}},
			{Name: "rotator-0.6", Run: patient{oldRotator{p, l.lease, cfg.Params["ticks"]}, 20, "ring_cursor_authority"}},
			{Name: "rotator-0.7", Run: patient{rotator{p, l.queue, cfg.Params["ticks"]}, 20, "ring_cursor_authority"}},
		},
		Invariants: append(migratingInvariants(cursors{}), expandFaithful(nil)),
		Witnesses:  []string{"expand: Done expanded", "rotate-0.6: Failed 55000", "rotate-0.7: Rotated"},
		Faults:     sim.Faults{Crash: 1},
	}
}

func buildUpgrade(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	l, at := small(slots), cursor{1, int64(slots) + 1}
	p.slots = slots
	before := [3]cursor{at, at, at}
	tries := 20
	const made = "ring_cursor_authority"
	return &sim.Setup{
		Schema: p.schema.oldText(l, true),
		Seed:   oldRings(l, at) + oldRow(at) + "INSERT INTO runtime_instances VALUES ('old', '0.6.2', true, now());\n",
		Actors: []sim.ActorSpec{
			{Name: "rotator-0.6", Run: oldRotator{p, l.queue, ticks}},
			{Name: "lease rotator-0.6", Run: oldRotator{p, l.lease, ticks}},
			{Name: "expander", Run: expander{p, 1}},
			{Name: "runtime-0.7", Run: patient{runtime{id: "new", version: "0.7.0", beats: 2, every: 60 * time.Second}, tries, made}},
			{Name: "rotator-0.7", Run: patient{rotator{p, l.queue, ticks}, tries, made}},
			{Name: "flip", Run: patient{flip{p: p, times: 2, pause: 120 * time.Second}, tries, made}},
			{Name: "contractor", Run: patient{contractor{p: p, times: 2, pause: 200 * time.Second}, tries, made}},
		},
		Invariants: append(migratingInvariants(cursors{}), expandFaithful(&before), gateInvariant()),
		Witnesses: []string{"expand: Done expanded", "rotate-0.6: Rotated", "rotate-0.7: Rotated", "flip: Flipped", "flip: Refused blocking runtimes",
			"contract: Done", "contract: Refused not flipped"},
		Faults: sim.Faults{Crash: 1},
	}
}

func buildContract(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	l := small(slots)
	p.slots = slots
	from := start{layout: l, authority: columns, cur: cursor{1, 1}, extra: oldRow(cursor{1, 1}) +
		"INSERT INTO runtime_instances VALUES ('new', '0.7.0', true, now(), '0.7.0');\n"}
	return &sim.Setup{
		Schema: p.schema.text(l),
		Seed:   from.text(),
		Actors: []sim.ActorSpec{
			{Name: "flip", Run: flip{p: p, times: 1}},
			{Name: "contractor", Run: contractor{p: p, times: 2, pause: time.Second}},
			{Name: "rotator-0.6", Run: oldRotator{p, l.lease, ticks}},
			{Name: "rotator-0.7", Run: rotator{p, l.queue, ticks}},
			{Name: "expander", Run: expander{p, 1}},
			{Name: "reader", Run: cursorReader{l.queue, 2}},
		},
		Invariants: append(migratingInvariants(from.cursors()), linearizableCursor(from.cursors())),
		Witnesses:  []string{"flip: Flipped", "contract: Done", "contract: Refused not flipped", "expand: Done expanded", "rotate-0.7: Rotated"},
		Faults:     sim.Faults{Crash: 1},
	}
}

// tooOld is the floor of the migration: it never commits while a runtime older than 0.6.2 is fresh.
func tooOld() sim.Invariant {
	return noOutcome("Floor", "I-23", "the migration never commits next to a fresh runtime older than 0.6.2", func(s *sim.Step, o Outcome) string {
		if o.Kind != Done || o.Reason != reasonExpanded || s.Committed == nil {
			return ""
		}
		res, err := s.Committed.Query(`SELECT instance_id, version FROM runtime_instances WHERE coalesce(semver_rank(version), 0) < semver_rank('0.6.2')`)
		if err == nil && len(res.Rows) > 0 {
			return "migrated next to runtime " + res.Rows[0][0].S + " of version " + res.Rows[0][1].S
		}
		return ""
	})
}
