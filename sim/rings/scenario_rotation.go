package rings

import "simrun/sim"

// rings/rotation: two rotators and a pruner on a ring that has been round, so that the next slot is the oldest, while jobs
// are handed over. rings/trim: rotators that never idle, and the fold that trims the ledger behind them.
func init() {
	register(&sim.Scenario{
		Name: "rings/rotation",
		Doc:  "Two rotators and a pruner on a full ring, where the next slot is the oldest one, under the ledger",
		Params: []sim.Param{slotsParam(3), ticksParam(2), {Name: "ledger", Doc: "1: the ledger is authoritative, 0: the columns are", Default: 1, Max: 1},
			isolationParam},
		Build: build("rings/rotation", buildRotation),
	})
	register(&sim.Scenario{
		Name:   "rings/trim",
		Doc:    "Rotators on an empty ring that never idle, and folds that trim the ledger behind them",
		Params: []sim.Param{slotsParam(2), ticksParam(3)},
		Build:  build("rings/trim", buildTrim),
	})
}

// fullRing is a world whose rings have been round once: the open slot holds a ready job, the sealed ones finished jobs.
func fullRing(p *program, slots int, authority string) *world {
	n := int64(slots)
	w := newWorld(p, slots, authority, cursor{0, n})
	for gen := int64(1); gen < n; gen++ {
		state := "" // compactly
		if gen%2 == 0 {
			state = "completed"
		}
		w.done(queueQ, gen, gen, cursor{int(gen), gen}, int(gen), state)
	}
	w.ready(queueQ, n, n, cursor{0, n})
	w.at(queueQ, n, n-1)
	return w
}

func authorityOf(cfg sim.Config) string {
	if cfg.Params["ledger"] == 1 {
		return ledger
	}
	return columns
}

func buildRotation(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := fullRing(p, slots, authorityOf(cfg))
	s := w.setup(
		sim.ActorSpec{Name: "rotator/1", Kind: "rotator", Run: rotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "rotator/2", Kind: "rotator", Run: rotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
		sim.ActorSpec{Name: "enqueuer", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 2}},
		sim.ActorSpec{Name: "reader", Run: cursorReader{queueRing, 2}},
	)
	isolate(s, cfg)
	s.Faults = sim.Faults{Crash: 1}
	s.Witnesses = []string{"rotate-0.7: Rotated", "rotate-0.7: SkippedBusy next slot", "prune-0.7 queue: Pruned",
		"prune-0.7 queue: SkippedActive queue.pending_ready", "enqueue-0.7: Done"}
	return s
}

func buildTrim(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	p.compatRotate = p.compatRotate.without("probe whole ring")
	p.ledgerRotate = p.ledgerRotate.without("probe whole ring")
	w := newWorld(p, slots, ledger, cursor{0, int64(slots)})
	s := w.setup(
		sim.ActorSpec{Name: "rotator/1", Run: rotator{p, leaseRing, 1}},
		sim.ActorSpec{Name: "rotator/2", Run: rotator{p, leaseRing, ticks}},
		sim.ActorSpec{Name: "folder", Run: folder{p: p, ticks: 2, ledgers: true}},
	)
	s.Invariants = append(s.Invariants, retention(w.from.cursors()))
	s.Faults = sim.Faults{Crash: 1}
	s.Witnesses = []string{"rotate-0.7: Rotated", "fold-ledgers: Done"}
	return s
}
