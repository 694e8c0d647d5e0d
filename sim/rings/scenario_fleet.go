package rings

import (
	"fmt"

	"simrun/sim"
)

// rings/fleet: a swarm. Each seed draws a start, the number of slots, and a handful of all the actors there are.
func init() {
	register(&sim.Scenario{
		Name:   "rings/fleet",
		Doc:    "A swarm: each seed draws its start and some of all actors, of both versions, before, during and after the flip",
		Params: []sim.Param{{Name: "actors", Doc: "how many actors a run has", Default: 5, Min: 2, Max: 12}, isolationParam},
		Build:  build("rings/fleet", buildFleet),
	})
}

// fleetStart draws one of the starts with data.
func fleetStart(cfg sim.Config, p *program) *world {
	slots := 2 + cfg.Rand.IntN(2)
	authority := columns
	if cfg.Rand.IntN(2) == 1 {
		authority = ledger
	}
	if cfg.Rand.IntN(3) == 0 {
		p.retain = "1 hour"
	}
	if cfg.Rand.IntN(3) == 0 {
		return abandoned(p, slots, authority)
	}
	return fullRing(p, slots, authority)
}

func buildFleet(cfg sim.Config, p *program) *sim.Setup {
	w := fleetStart(cfg, p)
	w.from.extra += "INSERT INTO runtime_instances VALUES ('new', '0.7.0', true, now(), '0.7.0');\n"
	pool := fleetPool(p, w)
	var actors []sim.ActorSpec
	counts := map[string]int{}
	for range cfg.Params["actors"] {
		a := pool[cfg.Rand.IntN(len(pool))]
		counts[a.Name]++
		if counts[a.Name] > 2 {
			continue
		}
		a.Kind = a.Name
		a.Name = fmt.Sprintf("%s/%d", a.Name, counts[a.Name])
		if e, ok := a.Run.(enqueuer); ok {
			e.first = int64(1000 + 100*len(actors))
			a.Run = e
		}
		actors = append(actors, a)
	}
	s := w.setup(actors...)
	isolate(s, cfg)
	s.Invariants = append(s.Invariants, retention(w.from.cursors()), standsDown(), foldsOn(), gateInvariant())
	s.Faults = sim.Faults{Crash: 1, LockTimeout: 2, Cancel: 1, CommitUnknown: 1}
	s.Witnesses = fleetWitnesses
	return s
}

// fleetPool is every actor that works on a schema with data.
func fleetPool(p *program, w *world) []sim.ActorSpec {
	var pool []sim.ActorSpec
	add := func(name string, run sim.Actor) { pool = append(pool, sim.ActorSpec{Name: name, Run: run}) }
	for _, r := range allRings {
		add(r.name+" rotator-0.6", oldRotator{p, r, 2})
		add(r.name+" rotator-0.7", rotator{p, r, 2})
		add(r.name+" pruner-0.6", pruner{p: p, ring: r, old: true, ticks: 2})
		add(r.name+" pruner-0.7", pruner{p: p, ring: r, ticks: 2})
		add(r.name+" leader", maintainer{p, r, 3})
		add(r.name+" reader", cursorReader{r, 2})
	}
	add("enqueuer-0.6", enqueuer{p: p, how: oldRoute(), old: true, ring: queueRing, lane: queueQ, jobs: 2})
	add("enqueuer-0.7", enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, jobs: 2})
	add("sql producer", enqueuer{p: p, how: databaseRoute(), ring: queueRing, lane: queueQ, jobs: 2})
	add("worker/compact", worker{p: p, ring: queueRing, lane: queueQ, shape: compactClaim, end: complete, ticks: 2})
	add("worker/row", worker{p: p, ring: queueRing, lane: queueQ, shape: rowClaim, end: complete, ticks: 2})
	add("worker/fail", worker{p: p, ring: queueRing, lane: queueQ, shape: compactClaim, end: fail, ticks: 2})
	add("worker/lease", worker{p: p, ring: queueRing, lane: queueQ, shape: compactClaim, end: materialise, ticks: 2})
	add("worker/legacy", worker{p: p, ring: queueRing, lane: queueQ, shape: legacyClaim, end: complete, ticks: 2})
	add("worker/abandon", worker{p: p, ring: queueRing, lane: queueQ, shape: compactClaim, end: abandon, ticks: 2})
	add("rescuer", rescuer{p, claimRing, queueQ, 1})
	add("canceller", canceller{p, queueRing, queueQ, []int64{int64(p.slots)}})
	add("rollup", rollup{p, 1})
	add("rebuilder", rebuilder{p, 1})
	add("folder", folder{p: p, ticks: 1, deltas: true, ledgers: true})
	add("flip", flip{p: p, times: 2})
	add("forced flip", flip{p: p, times: 1, force: true})
	add("counter", counter{p: p, queue: "q", ticks: 2})
	add("pinned reader", pinnedReader{hold: pinHold, ticks: 1})
	add("idle writer", idleWriter{hold: pinHold, ticks: 1})
	return pool
}

// fleetWitnesses is what a search over the fleet must have seen.
var fleetWitnesses = []string{
	"rotate-0.6: Rotated", "rotate-0.6: SkippedBusy next slot", "rotate-0.6: Failed 55000",
	"rotate-0.7: Rotated", "rotate-0.7: SkippedBusy next slot", "rotate-0.7: SkippedIdle",
	"prune-0.6 queue: Pruned", "prune-0.6 queue: Noop", "prune-0.6 claim: Noop", "prune-0.6 lease: Noop",
	"prune-0.7 queue: Pruned", "prune-0.7 queue: Blocked", "prune-0.7 queue: SkippedActive queue.pending_ready",
	"prune-0.7 queue: SkippedActive queue.unclosed_claim_refs",
	"prune-0.7 claim: Pruned", "prune-0.7 claim: SkippedActive claim.open", "prune-0.7 lease: Pruned",
	"enqueue-0.6: Done", "enqueue-0.6: Failed 23514", "enqueue-0.7: Done", "claim: Done", "complete: Done", "complete-row: Done", "close: Done",
	"materialise: Done", "complete-lease: Done", "rescue: Done", "cancel: Done", "rollup: Done", "rebuild: Done",
	"fold-deltas: Done", "fold-deltas: SkippedPinned", "fold-ledgers: Done", "flip: Flipped", "flip: AlreadyLedger", "count: Counted q", "read: Read", "pin: held",
}
