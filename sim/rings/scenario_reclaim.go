package rings

import "simrun/sim"

// rings/reclaim: one leader and enough ticks. What is spent must be reclaimed in the end, whatever is left in the slots.
func init() {
	register(&sim.Scenario{
		Name:   "rings/reclaim",
		Doc:    "With fair ticks every sealed and spent slot is reclaimed in the end",
		Params: []sim.Param{slotsParam(4), ticksParam(8)},
		Build:  build("rings/reclaim", buildReclaim),
	})
}

func buildReclaim(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	n := int64(slots)
	w := newWorld(p, slots, ledger, cursor{int(n - 1), 2*n - 1})
	// Any of the sealed slots holds leftovers, of any kind.
	spent := int64(0)
	for gen := n; gen < 2*n-1; gen++ {
		slot := int(gen % n)
		switch cfg.Rand.IntN(4) {
		case 0:
			spent++
			w.done(queueQ, spent, spent, cursor{slot, gen}, slot, "")
		case 1:
			spent++
			w.done(queueQ, spent, spent, cursor{slot, gen}, slot, "completed")
		case 2:
			w.from.extra += "INSERT INTO ready_tombstones VALUES (" + itoa(slot) + ", " + itoa(int(gen)) + ", 'q', 0, " + itoa(900+slot) + ");\n"
		}
	}
	w.at(queueQ, spent+1, spent+1)
	s := w.setup(
		sim.ActorSpec{Name: "queue leader", Run: maintainer{p, queueRing, ticks}},
		sim.ActorSpec{Name: "claim leader", Run: maintainer{p, claimRing, ticks}},
		sim.ActorSpec{Name: "lease leader", Run: maintainer{p, leaseRing, ticks}},
		sim.ActorSpec{Name: "rollup", Run: rollup{p, 1}},
	)
	s.Invariants = append(s.Invariants, sim.Invariant{Name: "Reclaim", ID: "I-26", Kind: sim.Quiescent, SQL: leftoversSQL(),
		Doc: "at the end no sealed slot holds rows that nobody needs"})
	s.Witnesses = []string{"prune-0.7 queue: Pruned", "prune-0.7 claim: Pruned", "rotate-0.7: SkippedIdle", "maintain: prune suppressed", "rollup: Done"}
	return s
}

// leftoversSQL finds rows in slots that are not open.
func leftoversSQL() string {
	sql := ""
	for _, r := range []ring{queueRing, claimRing} {
		for _, family := range r.families {
			if sql != "" {
				sql += "\nUNION ALL\n"
			}
			sql += "SELECT '" + family + "' AS family, x." + r.key + " AS slot FROM " + family + " x, ring_cursor('" + r.name + "') c WHERE x." + r.key + " <> c.slot"
		}
	}
	return sql
}
