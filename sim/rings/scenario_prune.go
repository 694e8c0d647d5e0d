package rings

import "simrun/sim"

// rings/prune: prune against a slow producer and a worker. rings/mixed: the same before the flip, with pruners and rotators
// of both versions. rings/retain: failed jobs are carried forward. rings/late: a producer that read the cursor before the
// rotation writes into the slot that is being pruned.
func init() {
	register(&sim.Scenario{
		Name:   "rings/prune",
		Doc:    "Prune of the queue ring against a slow producer, a worker and readers, under the ledger",
		Params: []sim.Param{slotsParam(2), ticksParam(3), {Name: "ledger", Doc: "1: the ledger is authoritative, 0: the columns are", Default: 1, Max: 1}},
		Build:  build("rings/prune", buildPrune),
	})
	register(&sim.Scenario{
		Name:   "rings/mixed",
		Doc:    "Rotators, pruners and producers of both versions on one ring before the flip",
		Params: []sim.Param{slotsParam(2), ticksParam(3)},
		Build:  build("rings/mixed", buildMixed),
	})
	register(&sim.Scenario{
		Name:   "rings/retain",
		Doc:    "Failed jobs are carried forward by prune while counters are folded, rebuilt and read",
		Params: []sim.Param{slotsParam(2), ticksParam(3)},
		Build:  build("rings/retain", buildRetain),
	})
	register(&sim.Scenario{
		Name:   "rings/late",
		Doc:    "A producer that read the cursor before the rotation writes into the slot that prune is about to empty",
		Params: []sim.Param{slotsParam(2), ticksParam(2)},
		Build:  build("rings/late", buildLate),
	})
}

// buildLate is small, so that the few steps that matter often meet: what the open slot holds is finished, so that nothing but
// the late row keeps the slot from being emptied once it is sealed.
func buildLate(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	open := cursor{0, int64(slots)}
	w := newWorld(p, slots, ledger, open)
	w.done(queueQ, 1, 1, open, 0, "")
	w.at(queueQ, 1, 1)
	s := w.setup(
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, 1}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
		sim.ActorSpec{Name: "enqueuer", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 1}},
	)
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 1}
	s.Witnesses = []string{"rotate-0.7: Rotated", "enqueue-0.7: Done", "prune-0.7 queue: Pruned", "prune-0.7 queue: Blocked",
		"prune-0.7 queue: SkippedActive queue.pending_ready"}
	return s
}

func buildPrune(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := fullRing(p, slots, authorityOf(cfg))
	s := w.setup(
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
		sim.ActorSpec{Name: "enqueuer/1", Kind: "enqueuer", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 1}},
		sim.ActorSpec{Name: "enqueuer/2", Kind: "enqueuer", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 200, jobs: 1}},
		sim.ActorSpec{Name: "worker", Run: worker{p: p, ring: queueRing, lane: queueQ, ticks: 3}},
		sim.ActorSpec{Name: "counter", Run: counter{p: p, queue: "q", ticks: 2}},
	)
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 1}
	s.Witnesses = []string{"prune-0.7 queue: Pruned", "prune-0.7 queue: SkippedActive queue.pending_ready",
		"prune-0.7 queue: SkippedActive queue.unclosed_claim_refs", "prune-0.7 queue: Blocked", "complete: Done", "count: Counted q"}
	return s
}

func buildMixed(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := fullRing(p, slots, columns)
	s := w.setup(
		sim.ActorSpec{Name: "rotator-0.6", Run: oldRotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "rotator-0.7", Run: rotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "pruner-0.6", Run: pruner{p: p, ring: queueRing, old: true, ticks: ticks}},
		sim.ActorSpec{Name: "pruner-0.7", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
		sim.ActorSpec{Name: "enqueuer-0.6", Run: enqueuer{p: p, how: oldRoute(), old: true, ring: queueRing, lane: queueQ, first: 100, jobs: 1}},
		sim.ActorSpec{Name: "enqueuer-0.7", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 200, jobs: 1}},
		sim.ActorSpec{Name: "worker", Run: worker{p: p, ring: queueRing, lane: queueQ, ticks: 2}},
	)
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 1}
	s.Witnesses = []string{"prune-0.6 queue: Pruned", "prune-0.7 queue: Pruned", "rotate-0.6: Rotated", "rotate-0.7: Rotated", "enqueue-0.6: Done"}
	return s
}

func buildRetain(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	p.retain = "1 hour"
	w := newWorld(p, slots, ledger, cursor{0, int64(slots)})
	for gen := int64(1); gen < int64(slots); gen++ {
		w.done(queueQ, gen, gen, cursor{int(gen), gen}, int(gen), "failed")
	}
	w.done(queueQ, 50, 50, cursor{0, int64(slots)}, 0, "completed")
	w.at(queueQ, 50, 50)
	s := w.setup(
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
		sim.ActorSpec{Name: "rollup", Run: rollup{p, 2}},
		sim.ActorSpec{Name: "rebuilder", Run: rebuilder{p, 1}},
		sim.ActorSpec{Name: "folder", Run: folder{p: p, ticks: 2, deltas: true}},
		sim.ActorSpec{Name: "counter", Run: counter{p: p, queue: "q", ticks: 2}},
	)
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 1}
	s.Witnesses = []string{"prune-0.7 queue: Pruned", "rollup: Done", "rebuild: Done", "fold-deltas: Done", "count: Counted q"}
	return s
}
