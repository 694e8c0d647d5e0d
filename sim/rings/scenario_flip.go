package rings

import "simrun/sim"

// rings/flip: rotators of both versions, the flip, and a reader. Each ring holds a row in its open slot, so that it is not
// idle; that row also bounds a run, because the ring is busy when it has gone round.
func init() {
	register(&sim.Scenario{
		Name: "rings/flip",
		Doc:  "Old and new rotators advance the cursors while the authority flips from columns to ledger",
		Params: []sim.Param{
			slotsParam(4), ticksParam(2),
			{Name: "lease", Doc: "1: an old rotator on the lease ring too", Default: 1, Min: 0, Max: 1},
		},
		Build: build("rings/flip", buildFlip),
	})
}

func buildFlip(cfg sim.Config, p *program) *sim.Setup {
	queue := queueRing.only("ready_entries")
	lease := leaseRing
	l := layout{cfg.Params["slots"], queue, lease, claimRing.only("lease_claims")}
	ticks := cfg.Params["ticks"]
	from := start{layout: l, authority: columns, cur: cursor{1, 1}, extra: `
INSERT INTO ready_entries VALUES (1, 1, 'q', 0, 1, 1, 1);
INSERT INTO leases VALUES (1, 1, 1, 1, 1, 1, 'q', 0, 1);
INSERT INTO lease_claims VALUES (1, 1, 1, 1, 1, 'q', 0, 1);
INSERT INTO runtime_instances VALUES ('new', '0.7.0', true, now(), '0.7.0');
`}
	setup := &sim.Setup{
		Schema: p.schema.text(l),
		Seed:   from.text(),
		Actors: []sim.ActorSpec{
			{Name: "rotator-0.6", Run: oldRotator{p, queue, ticks}},
			{Name: "rotator-0.7/1", Kind: "rotator-0.7", Run: rotator{p, queue, ticks}},
			{Name: "rotator-0.7/2", Kind: "rotator-0.7", Run: rotator{p, queue, ticks}},
			{Name: "flip", Run: flip{p: p, times: 1}},
			{Name: "reader", Run: cursorReader{queue, ticks}},
		},
		Invariants: append(cursorInvariants(from.cursors()), linearizableCursor(from.cursors())),
		Witnesses: []string{
			"rotate-0.6: Rotated", "rotate-0.6: SkippedBusy next slot", "rotate-0.6: Failed 55000",
			"rotate-0.7: Rotated", "rotate-0.7: SkippedBusy next slot", "flip: Flipped", "read: Read",
		},
		Faults: sim.Faults{Crash: 1},
	}
	if cfg.Params["lease"] == 1 {
		setup.Actors = append(setup.Actors, sim.ActorSpec{Name: "rotator-0.6/lease", Run: oldRotator{p, lease, ticks}})
	}
	return setup
}
