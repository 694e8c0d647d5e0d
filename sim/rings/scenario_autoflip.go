package rings

import (
	"time"

	"simrun/sim"
)

// rings/gate: manual flips against runtimes that come and go. rings/autoflip: two leaders with their clocks. rings/foreign: a
// ledger that is ahead. rings/returning: every path of an old binary that comes back after the flip.
func init() {
	register(&sim.Scenario{
		Name:   "rings/gate",
		Doc:    "Unforced flips while runtimes of both versions come and go",
		Params: []sim.Param{slotsParam(4)},
		Build:  build("rings/gate", buildGate),
	})
	register(&sim.Scenario{
		Name:   "rings/autoflip",
		Doc:    "Two leaders flip by themselves once the fleet has been aware for long enough",
		Params: []sim.Param{slotsParam(4)},
		Build:  build("rings/autoflip", buildAutoflip),
	})
	register(&sim.Scenario{
		Name:   "rings/foreign",
		Doc:    "A flip, forced or not, finds a ledger ahead of the columns",
		Params: []sim.Param{slotsParam(4), {Name: "force", Doc: "1: the flip skips its gate", Default: 1, Max: 1}},
		Build:  build("rings/foreign", buildForeign),
	})
	register(&sim.Scenario{
		Name:   "rings/returning",
		Doc:    "An old binary comes back after the flip, on every path it has",
		Params: []sim.Param{slotsParam(2), ticksParam(2)},
		Build:  build("rings/returning", buildReturning),
	})
}

func buildGate(cfg sim.Config, p *program) *sim.Setup {
	l := small(cfg.Params["slots"])
	from := start{layout: l, authority: columns, cur: cursor{1, 1}, extra: oldRow(cursor{1, 1})}
	return &sim.Setup{
		Schema: p.schema.text(l),
		Seed:   from.text(),
		Actors: []sim.ActorSpec{
			{Name: "runtime-0.6", Run: runtime{id: "old", old: true, version: "0.6.2", beats: 3, every: 10 * time.Second}},
			{Name: "runtime-0.7", Run: runtime{id: "new", version: "0.7.0", beats: 3, every: 30 * time.Second}},
			{Name: "runtime-test", Run: runtime{id: "test", version: "dev-build", beats: 1, every: 10 * time.Second}},
			{Name: "rotator-0.6", Run: oldRotator{p, l.queue, 2}},
			{Name: "flip", Run: flip{p: p, times: 3, pause: 60 * time.Second}},
		},
		Invariants: append(cursorInvariants(from.cursors()), gateInvariant()),
		Witnesses:  []string{"flip: Flipped", "flip: Refused blocking runtimes"},
		Faults:     sim.Faults{Crash: 1},
	}
}

func buildAutoflip(cfg sim.Config, p *program) *sim.Setup {
	l := small(cfg.Params["slots"])
	from := start{layout: l, authority: columns, cur: cursor{1, 1}, extra: oldRow(cursor{1, 1})}
	return &sim.Setup{
		Schema: p.schema.text(l),
		Seed:   from.text(),
		Actors: []sim.ActorSpec{
			{Name: "leader/1", Kind: "leader", Run: leader{p, 24}, Restarts: 1},
			{Name: "leader/2", Kind: "leader", Run: leader{p, 24}, Restarts: 1},
			{Name: "runtime-0.6", Run: runtime{id: "old", old: true, version: "0.6.2", beats: 2, every: 80 * time.Second}},
			{Name: "runtime-0.7", Run: runtime{id: "new", version: "0.7.0", beats: 11, every: 70 * time.Second}},
			{Name: "rotator-0.6", Run: oldRotator{p, l.queue, 1}},
		},
		Invariants: append(cursorInvariants(from.cursors()), gateInvariant(), autoStable()),
		Witnesses:  []string{"auto-flip: Flipped"},
		Faults:     sim.Faults{Crash: 1},
	}
}

func buildForeign(cfg sim.Config, p *program) *sim.Setup {
	l := small(cfg.Params["slots"])
	from := start{layout: l, authority: columns, cur: cursor{1, 1}, extra: oldRow(cursor{1, 1}) +
		"INSERT INTO runtime_instances VALUES ('new', '0.7.0', true, now(), '0.7.0'), ('old', '0.6.2', true, now(), NULL);\n" +
		"INSERT INTO lease_ring_rotations (generation, slot) VALUES (3, 3);\n"}
	first := from.cursors()
	return &sim.Setup{
		Schema: p.schema.text(l),
		Seed:   from.text(),
		Actors: []sim.ActorSpec{
			{Name: "flip", Run: flip{p: p, times: 1, force: cfg.Params["force"] == 1}},
			{Name: "rotator-0.6", Run: oldRotator{p, l.queue, 1}},
			{Name: "reader", Run: cursorReader{l.lease, 1}},
		},
		// The ledger leads from the start: of the invariants about that only those of the authoritative cursor are asked.
		Invariants: []sim.Invariant{noSkip(first), mixedFleet(first), awareNeverBreaks()},
		Witnesses:  []string{"flip: Refused ledger ahead"},
		Faults:     sim.Faults{Crash: 1},
	}
}

func buildReturning(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := fullRing(p, slots, columns)
	s := w.setup(
		sim.ActorSpec{Name: "flip", Run: flip{p: p, times: 2, force: true}},
		sim.ActorSpec{Name: "rotator-0.6", Run: oldRotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "lease rotator-0.6", Run: oldRotator{p, leaseRing, ticks}},
		sim.ActorSpec{Name: "pruner-0.6", Run: pruner{p: p, ring: queueRing, old: true, ticks: ticks}},
		sim.ActorSpec{Name: "claim pruner-0.6", Run: pruner{p: p, ring: claimRing, old: true, ticks: ticks}},
		sim.ActorSpec{Name: "enqueuer-0.6", Run: enqueuer{p: p, how: oldRoute(), old: true, ring: queueRing, lane: queueQ, first: 100, jobs: 2}},
		sim.ActorSpec{Name: "enqueuer-0.7", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 200, jobs: 1}},
		sim.ActorSpec{Name: "worker", Run: worker{p: p, ring: queueRing, lane: queueQ, shape: rowClaim, ticks: 1}},
	)
	s.Faults = sim.Faults{Crash: 1}
	s.Witnesses = []string{"flip: Flipped", "flip: AlreadyLedger", "rotate-0.6: SkippedBusy next slot", "prune-0.6 queue: Noop", "prune-0.6 claim: Noop",
		"enqueue-0.6: Failed 23514", "enqueue-0.7: Done", "rotate-0.6: Failed 55000"}
	return s
}
