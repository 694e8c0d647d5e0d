package rings

import "simrun/sim"

// rings/claim: the life of claims. rings/rescue: sweeps over the claim slots against the flip, prune and each other.
func init() {
	register(&sim.Scenario{
		Name:   "rings/claim",
		Doc:    "Jobs are claimed, completed, failed, rescued, cancelled and materialised while all three rings turn",
		Params: []sim.Param{slotsParam(2), ticksParam(2)},
		Build:  build("rings/claim", buildClaim),
	})
	register(&sim.Scenario{
		Name:   "rings/rescue",
		Doc:    "Sweeps over the claim slots against prune, the flip, a rebuild and each other",
		Params: []sim.Param{slotsParam(3), ticksParam(1)},
		Build:  build("rings/rescue", buildRescue),
	})
	register(&sim.Scenario{
		Name:   "rings/lease",
		Doc:    "Leases are taken and given back while old and new binaries turn the lease ring before the flip",
		Params: []sim.Param{slotsParam(3), ticksParam(2)},
		Build:  build("rings/lease", buildLease),
	})
	register(&sim.Scenario{
		Name:   "rings/lanes",
		Doc:    "Producers and claimers on two lanes of one queue",
		Params: []sim.Param{slotsParam(2), ticksParam(2)},
		Build:  build("rings/lanes", buildLanes),
	})
}

func buildClaim(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := fullRing(p, slots, ledger)
	w.ready(queueQ, 51, int64(slots)+1, cursor{0, int64(slots)})
	w.at(queueQ, int64(slots)+1, int64(slots)-1)
	s := w.setup(
		sim.ActorSpec{Name: "worker/compact", Run: worker{p: p, ring: queueRing, lane: queueQ, shape: compactClaim, end: complete, ticks: ticks}},
		sim.ActorSpec{Name: "worker/row", Run: worker{p: p, ring: queueRing, lane: queueQ, shape: rowClaim, end: fail, ticks: ticks}},
		sim.ActorSpec{Name: "worker/lease", Run: worker{p: p, ring: queueRing, lane: queueQ, shape: compactClaim, end: materialise, ticks: 1}},
		sim.ActorSpec{Name: "rescuer", Run: rescuer{p, claimRing, queueQ, 1}},
		sim.ActorSpec{Name: "canceller", Run: canceller{p, queueRing, queueQ, []int64{51}}},
		sim.ActorSpec{Name: "claim rotator", Run: rotator{p, claimRing, ticks}},
		sim.ActorSpec{Name: "claim pruner", Run: pruner{p: p, ring: claimRing, ticks: ticks}},
		sim.ActorSpec{Name: "queue rotator", Run: rotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "queue pruner", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
	)
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 1}
	s.Witnesses = []string{"claim: Done", "claim: Noop lane taken", "claim: SkippedActive head spent", "complete: Done", "complete: Noop stale", "close: Done",
		"materialise: Done", "complete-lease: Done", "rescue: Done", "cancel: Done", "cancel: Noop claimed",
		"prune-0.7 claim: Pruned", "prune-0.7 claim: SkippedActive claim.open", "prune-0.7 queue: SkippedActive queue.active_leases"}
	return s
}

// abandoned is a full ring with open claims in every claim slot, of either shape.
func abandoned(p *program, slots int, authority string) *world {
	n := int64(slots)
	w := newWorld(p, slots, authority, cursor{0, n})
	for i := range n {
		id := i + 1
		w.ready(queueQ, id, id, cursor{0, n})
		w.from.extra += "INSERT INTO ready_claim_attempt_batches VALUES (0, " + itoa(slots) + ", 'q', 0, " + itoa(int(id)) + ", " + itoa(int(id)) + ");\n"
		if i%2 == 0 {
			w.from.extra += "INSERT INTO lease_claim_batches VALUES (" + itoa(int(i)) + ", 0, " + itoa(slots) + ", 'q', 0, " + itoa(int(id)) + ", 1);\n"
		} else {
			w.from.extra += "INSERT INTO lease_claims VALUES (" + itoa(int(i)) + ", " + itoa(int(id)) + ", 1, 0, " + itoa(slots) + ", 'q', 0, " + itoa(int(id)) + ");\n"
		}
	}
	w.at(queueQ, n, n)
	return w
}

func buildRescue(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := abandoned(p, slots, columns)
	s := w.setup(
		sim.ActorSpec{Name: "rescuer/1", Kind: "rescuer", Run: rescuer{p, claimRing, queueQ, ticks}},
		sim.ActorSpec{Name: "rescuer/2", Kind: "rescuer", Run: rescuer{p, claimRing, queueQ, ticks}},
		sim.ActorSpec{Name: "claim rotator-0.6", Run: oldRotator{p, claimRing, ticks}},
		sim.ActorSpec{Name: "claim rotator", Run: rotator{p, claimRing, ticks}},
		sim.ActorSpec{Name: "claim pruner", Run: pruner{p: p, ring: claimRing, ticks: ticks}},
		sim.ActorSpec{Name: "queue rotator", Run: rotator{p, queueRing, ticks}},
		sim.ActorSpec{Name: "rebuilder", Run: rebuilder{p, ticks}},
		sim.ActorSpec{Name: "flip", Run: flip{p: p, times: 1}},
	)
	s.Faults = sim.Faults{LockTimeout: 1}
	s.Witnesses = []string{"rescue: Done", "rebuild: Done", "flip: Flipped"}
	return s
}

func buildLease(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	n := int64(slots)
	w := newWorld(p, slots, columns, cursor{0, n})
	w.ready(queueQ, 1, 1, cursor{0, n})
	w.ready(queueQ, 2, 2, cursor{0, n})
	w.at(queueQ, 2, 0)
	s := w.setup(
		sim.ActorSpec{Name: "worker/lease", Run: worker{p: p, ring: queueRing, lane: queueQ, shape: compactClaim, end: materialise, ticks: 2}},
		sim.ActorSpec{Name: "worker/legacy", Run: worker{p: p, ring: queueRing, lane: queueQ, shape: legacyClaim, end: complete, ticks: 1}},
		sim.ActorSpec{Name: "rotator-0.6", Run: oldRotator{p, leaseRing, ticks}},
		sim.ActorSpec{Name: "rotator-0.7", Run: rotator{p, leaseRing, ticks}},
		sim.ActorSpec{Name: "pruner-0.6", Run: pruner{p: p, ring: leaseRing, old: true, ticks: 1}},
		sim.ActorSpec{Name: "pruner-0.7", Run: pruner{p: p, ring: leaseRing, ticks: ticks}},
	)
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 1}
	s.Witnesses = []string{"materialise: Done", "complete-lease: Done", "prune-0.7 lease: Pruned", "prune-0.7 lease: SkippedActive lease.active"}
	return s
}

func buildLanes(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	n := int64(slots)
	a, b := lane{"q", 0}, lane{"q", 1}
	w := newWorld(p, slots, ledger, cursor{0, n}, a, b)
	w.done(a, 1, 1, cursor{1, n - 1}, 1, "completed")
	w.ready(b, 2, 1, cursor{1, n - 1})
	w.at(a, 1, 1)
	w.at(b, 1, 0)
	s := w.setup(
		sim.ActorSpec{Name: "enqueuer/0", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: a, first: 100, jobs: 1}},
		sim.ActorSpec{Name: "enqueuer/0b", Run: enqueuer{p: p, how: databaseRoute(), ring: queueRing, lane: a, first: 200, jobs: 1}},
		sim.ActorSpec{Name: "worker/0", Run: worker{p: p, ring: queueRing, lane: a, ticks: ticks}},
		sim.ActorSpec{Name: "worker/0b", Run: worker{p: p, ring: queueRing, lane: a, ticks: ticks}},
		sim.ActorSpec{Name: "worker/1", Run: worker{p: p, ring: queueRing, lane: b, ticks: ticks}},
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, 1}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
	)
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 1}
	s.Witnesses = []string{"enqueue-0.7: Done", "claim: Done", "complete: Done", "prune-0.7 queue: Pruned"}
	return s
}
