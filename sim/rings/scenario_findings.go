package rings

import "simrun/sim"

// Scenarios that are no larger than what they show: each is about one weakness of the release that a search has found, and
// about its repair.
func init() {
	register(&sim.Scenario{
		Name:   "rings/route",
		Doc:    "A 0.7 producer reads authority and cursor while the flip commits",
		Params: []sim.Param{slotsParam(2)},
		Build:  build("rings/route", buildRoute),
	})
	register(&sim.Scenario{
		Name:   "rings/lap",
		Doc:    "A producer that routes a job, and inserts it when the ring has gone round",
		Params: []sim.Param{slotsParam(2), ticksParam(3)},
		Build:  build("rings/lap", buildLap),
	})
	register(&sim.Scenario{
		Name:   "rings/sweep",
		Doc:    "Two sweeps over the claim slots, and the flip, which updates all of their rows",
		Params: []sim.Param{slotsParam(3)},
		Build:  build("rings/sweep", buildSweep),
	})
	register(&sim.Scenario{
		Name:   "rings/isolation",
		Doc:    "A rotator, a pruner and a producer whose sessions default to REPEATABLE READ",
		Params: []sim.Param{slotsParam(2)},
		Build:  build("rings/isolation", buildIsolation),
	})
	register(&sim.Scenario{
		Name:   "rings/reinstall",
		Doc:    "A 0.7 installer runs after the columns were dropped, and an old binary comes back",
		Params: []sim.Param{slotsParam(4)},
		Build:  build("rings/reinstall", buildReinstall),
	})
	register(&sim.Scenario{
		Name:   "rings/oldreader",
		Doc:    "A 0.6.2 reader counts next to 0.7 prunes before the flip",
		Params: []sim.Param{slotsParam(2)},
		Build:  build("rings/oldreader", buildOldReader),
	})
}

func buildRoute(cfg sim.Config, p *program) *sim.Setup {
	w := newWorld(p, cfg.Params["slots"], columns, cursor{0, int64(cfg.Params["slots"])})
	s := w.setup(
		sim.ActorSpec{Name: "flip", Run: flip{p: p, times: 1}},
		sim.ActorSpec{Name: "enqueuer-0.7", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 2}},
	)
	s.Witnesses = []string{"flip: Flipped", "enqueue-0.7: Done"}
	return s
}

func buildLap(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := newWorld(p, slots, columns, cursor{0, int64(slots)})
	s := w.setup(
		sim.ActorSpec{Name: "enqueuer-0.7", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 1}},
		sim.ActorSpec{Name: "rotator-0.6", Run: oldRotator{p, queueRing, ticks}}, // it never idles
		sim.ActorSpec{Name: "pruner-0.7", Run: pruner{p: p, ring: queueRing, ticks: 2}},
	)
	// What matters is whether the job is lost; that its slot holds two generations is how.
	var kept []sim.Invariant
	for _, inv := range s.Invariants {
		if inv.Name != "OneGeneration" {
			kept = append(kept, inv)
		}
	}
	s.Invariants = kept
	s.Witnesses = []string{"enqueue-0.7: Done", "rotate-0.6: Rotated", "prune-0.7 queue: Pruned"}
	return s
}

func buildSweep(cfg sim.Config, p *program) *sim.Setup {
	w := abandoned(p, cfg.Params["slots"], columns)
	s := w.setup(
		sim.ActorSpec{Name: "rescuer/1", Kind: "rescuer", Run: rescuer{p, claimRing, queueQ, 1}},
		sim.ActorSpec{Name: "rescuer/2", Kind: "rescuer", Run: rescuer{p, claimRing, queueQ, 1}},
		sim.ActorSpec{Name: "claim rotator-0.6", Run: oldRotator{p, claimRing, 1}},
		sim.ActorSpec{Name: "flip", Run: flip{p: p, times: 1}},
	)
	s.Witnesses = []string{"rescue: Done", "flip: Flipped"}
	return s
}

func buildOldReader(cfg sim.Config, p *program) *sim.Setup {
	w := fullRing(p, cfg.Params["slots"], columns)
	s := w.setup(
		sim.ActorSpec{Name: "pruner-0.7", Run: pruner{p: p, ring: queueRing, ticks: 1}},
		sim.ActorSpec{Name: "counter-0.6", Run: counter{p: p, kind: oldCounter, queue: "q", ticks: 2}},
		sim.ActorSpec{Name: "counter-0.7", Run: counter{p: p, queue: "q", ticks: 2}},
	)
	s.Witnesses = []string{"prune-0.7 queue: Pruned", "count-0.6: Counted q", "count: Counted q"}
	return s
}

func buildIsolation(cfg sim.Config, p *program) *sim.Setup {
	n := int64(cfg.Params["slots"])
	w := newWorld(p, int(n), ledger, cursor{0, n})
	w.ready(queueQ, 1, 1, cursor{0, n})
	w.at(queueQ, 1, 0)
	s := w.setup(
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, 1}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: 1}},
		sim.ActorSpec{Name: "enqueuer", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 1}},
	)
	for i := range s.Actors {
		s.Actors[i].Settings = [][2]string{{"default_transaction_isolation", "repeatable read"}}
	}
	s.Witnesses = []string{"rotate-0.7: Rotated", "enqueue-0.7: Done"}
	return s
}

func buildReinstall(cfg sim.Config, p *program) *sim.Setup {
	l := small(cfg.Params["slots"])
	p.slots = l.slots
	from := start{layout: l, authority: ledger, cur: cursor{1, 1}, extra: oldRow(cursor{1, 1})}
	return &sim.Setup{
		Schema: p.schema.text(l),
		Seed:   from.text(),
		Actors: []sim.ActorSpec{
			{Name: "contractor", Run: contractor{p: p, times: 1}},
			{Name: "installer-0.7", Run: expander{p, 1}},
			{Name: "rotator-0.6", Run: oldRotator{p, l.lease, 1}},
		},
		Invariants: migratingInvariants(from.cursors()),
		Witnesses:  []string{"contract: Done", "expand: Done expanded"},
	}
}
