package rings

import (
	"strings"

	"simrun/sim"
)

// Group B: rotation. F1, the serializer dropped because "only the leader rotates", is here too.
var mutantsB = []mutant{
	{sim.Mutant{Name: "no-lock-no-cas", ID: "B1", Breaks: []string{"SingleReport", "Lockstep", "NoSkip"},
		Doc: "A rotator takes no serializer and adds one to whatever generation it finds."},
		[]string{"flip"}, func(p *program) {
			p.gate = withoutSerializer(p.gate)
			p.compatRotate = p.compatRotate.with("advance columns", func(t *turn) error {
				next := t.cur.next(t.n)
				t.now.Slot, t.now.Gen = next.Slot, next.Gen
				return t.do(`UPDATE {ring}_ring_state SET current_slot = $1, generation = generation + 1 WHERE singleton`, next.Slot)
			})
		}},
	{sim.Mutant{Name: "lost-race-reported", ID: "B2", Breaks: []string{"SingleReport"}, Masked: true, Pair: "no-serializer",
		Doc: "A rotator whose compare-and-swap changed no row reports that it rotated."},
		[]string{"rotation"}, func(p *program) {
			p.ledgerRotate = p.ledgerRotate.with("append", func(t *turn) error {
				next := t.cur.next(t.n)
				t.now.Slot, t.now.Gen = next.Slot, next.Gen
				return t.do(`INSERT INTO {ring}_ring_rotations (generation, slot) VALUES ($1, $2)
					ON CONFLICT (generation) DO NOTHING`, next.Gen, next.Slot)
			})
		}},
	{sim.Mutant{Name: "no-busy-check", ID: "B3", Breaks: []string{"EmptyTarget"},
		Doc: "A rotator does not look into the slot that it opens."},
		[]string{"rotation"}, func(p *program) {
			p.compatRotate = p.compatRotate.without("probe next slot")
			p.ledgerRotate = p.ledgerRotate.without("probe next slot")
		}},
	{sim.Mutant{Name: "busy-check-forgets-tombstones", ID: "B4", Breaks: []string{"EmptyTarget"},
		Doc: "The busy check leaves a family out, so that evidence of an old generation is in the slot that opens."},
		[]string{"reclaim"}, func(p *program) {
			p.ledgerRotate = p.ledgerRotate.with("probe next slot", func(t *turn) error {
				return withFamilies(t, withoutFamily(t.ring, "ready_tombstones"), probeNext)
			})
		}},
	{sim.Mutant{Name: "probes-current-slot", ID: "B5", Breaks: []string{"EmptyTarget"},
		Doc: "The busy check looks into the open slot instead of the next one."},
		[]string{"reclaim"}, func(p *program) {
			p.ledgerRotate = p.ledgerRotate.with("probe next slot", func(t *turn) error {
				at := t.cur
				t.cur = cursor{(at.Slot + t.n - 1) % t.n, at.Gen - 1}
				err := probeNext(t)
				t.cur = at
				return err
			})
		}},
	{sim.Mutant{Name: "idle-gate-on-current-slot", ID: "B6", Breaks: []string{"Reclaim"},
		Doc: "A ring whose open slot is empty counts as idle, whatever its sealed slots hold."},
		[]string{"reclaim"}, func(p *program) {
			p.ledgerRotate = p.ledgerRotate.with("probe whole ring", func(t *turn) error {
				for _, table := range t.children(t.cur.Slot) {
					found, err := t.exists(`SELECT EXISTS (SELECT 1 FROM ` + table + ` LIMIT 1)`)
					if found || err != nil {
						return err
					}
				}
				return t.end(Outcome{Kind: SkippedIdle, Slot: t.cur.Slot, Gen: t.cur.Gen})
			})
		}},
	{sim.Mutant{Name: "idle-gate-forgets-tombstones", ID: "B7", Breaks: []string{"Reclaim"},
		Doc: "The idle check leaves a family out; what only that family holds is never reclaimed."},
		[]string{"reclaim"}, func(p *program) {
			p.ledgerRotate = p.ledgerRotate.with("probe whole ring", func(t *turn) error {
				return withFamilies(t, withoutFamily(t.ring, "ready_tombstones"), probeRing)
			})
		}},
	{sim.Mutant{Name: "compat-does-not-stamp-slot", ID: "B8", Breaks: []string{"Stamped", "OpenSlotSafe", "NoLoss", "ExactCounts"},
		Doc: "A 0.7 rotation of the columns leaves the slot's old generation, by which a 0.6.2 prune takes the open slot for the oldest."},
		[]string{"mixed"}, func(p *program) { p.compatRotate = p.compatRotate.without("stamp slot") }},
	{sim.Mutant{Name: "compat-takes-advisory-only", ID: "B9", Breaks: []string{"MixedFleet", "SingleReport"},
		Doc: "A 0.7 rotator takes the advisory lock in both authorities and never the singleton, which is all that 0.6.2 takes."},
		[]string{"flip"}, func(p *program) {
			p.gate = p.gate.without("lock singleton").with("try advisory lock", func(t *turn) error {
				return t.tryAdvisory(`SELECT pg_try_advisory_xact_lock(hashtextextended('ring_rotation:{ring}', 0))`)
			})
		}},
	{sim.Mutant{Name: "shadow-before-swap", ID: "B10", Breaks: []string{"LinearizableCursor"}, Masked: true, Pair: "no-serializer",
		Doc: "A compat rotation writes the ledger before it knows that its swap of the columns succeeded; if the flip was faster, that is a rotation which nobody made."},
		[]string{"flip"}, func(p *program) {
			p.compatRotate = p.compatRotate.without("shadow ledger")
			i := p.compatRotate.index("probe whole ring")
			early := step{"shadow ledger early", func(t *turn) error { return t.backfill(t.cur.next(t.n).Gen) }}
			p.compatRotate = p.compatRotate.after(p.compatRotate[i].name, early)
		}},
	{sim.Mutant{Name: "shadow-own-generation-only", ID: "B11", Breaks: []string{"Contiguous"},
		Doc: "A compat rotation does not backfill what a 0.6.2 rotator advanced alone."},
		[]string{"flip"}, func(p *program) {
			p.compatRotate = p.compatRotate.with("shadow ledger", func(t *turn) error {
				return t.do(`INSERT INTO {ring}_ring_rotations (generation, slot) VALUES ($1, $2) ON CONFLICT (generation) DO NOTHING`,
					t.now.Gen, t.now.Slot)
			})
		}},
	{sim.Mutant{Name: "backfill-with-one-slot", ID: "B12", Breaks: []string{"Lockstep"},
		Doc: "The backfill gives every generation the slot of the last."},
		[]string{"flip"}, func(p *program) {
			p.compatRotate = p.compatRotate.with("shadow ledger", func(t *turn) error {
				return t.do(`INSERT INTO {ring}_ring_rotations (generation, slot)
					SELECT g, $2::integer
					FROM generate_series((SELECT coalesce(max(generation), -1) + 1 FROM {ring}_ring_rotations), $1::bigint) AS g
					ON CONFLICT (generation) DO NOTHING`, t.now.Gen, t.now.Slot)
			})
		}},
	{sim.Mutant{Name: "cursor-before-lock", ID: "B13", Breaks: []string{"OpenSlotSafe", "NoLoss", "ExactCounts"},
		Doc: "A prune reads the cursor, and takes the serializer afterwards."},
		[]string{"mixed"}, func(p *program) {
			p.pruneTarget = of(readCursor(), gate(), pickOldest())
		}},
	{sim.Mutant{Name: "lost-update", ID: "B14", Breaks: []string{"SingleReport", "NoSkip", "MixedFleet/data"},
		Doc: "An old rotator reads the columns without locking them and overwrites them without looking."},
		[]string{"flip"}, func(p *program) {
			p.oldRotate = p.oldRotate.with("lock cursor", func(t *turn) error {
				return t.row(`SELECT current_slot, generation, slot_count FROM {ring}_ring_state WHERE singleton`).
					Scan(&t.cur.Slot, &t.cur.Gen, &t.n)
			})
		}},
	{sim.Mutant{Name: "swap-outlives-retention", ID: "B16", Breaks: []string{"SingleReport"},
		Doc: "A rotator that holds no serializer appends a generation that a fold has trimmed meanwhile."},
		[]string{"trim"}, func(p *program) { p.gate = withoutSerializer(p.gate) }},
	{sim.Mutant{Name: "session-advisory-lock", ID: "B18", Breaks: []string{"SerializerHeld"},
		Doc: "The advisory lock belongs to the session and outlives the transaction."},
		[]string{"rotation"}, func(p *program) {
			p.gate = p.gate.with("try advisory lock", func(t *turn) error {
				return t.tryAdvisory(`SELECT pg_try_advisory_lock(hashtextextended('ring_rotation:{ring}', 0))`)
			})
		}},
	{sim.Mutant{Name: "one-key-for-all-rings", ID: "B19", Breaks: []string{"SerializerHeld"},
		Doc: "The advisory lock's key does not name the ring, so that rings starve each other."},
		[]string{"claim"}, func(p *program) {
			p.gate = p.gate.with("try advisory lock", func(t *turn) error {
				return t.tryAdvisory(`SELECT pg_try_advisory_xact_lock(hashtextextended('ring_rotation', 0))`)
			})
			p.pruneTarget = of(p.gate, readCursor(), pickOldest())
		}},
	{sim.Mutant{Name: "no-serializer", ID: "F1", Breaks: []string{"OpenSlotSafe", "NoLoss", "EmptyTarget", "ExactCounts", "AwareNeverBreaks", "NoDeadlock"},
		Doc: "Rotators and pruners take no serializer, because only the leader is thought to run them."},
		[]string{"rotation", "flip"}, func(p *program) {
			p.gate = withoutSerializer(p.gate)
			p.pruneTarget = of(p.gate, readCursor(), pickOldest())
		}},
}

// withoutSerializer is a gate that only reads the authority. It still tells which discipline it took.
func withoutSerializer(gate procedure) procedure {
	return gate.with("lock singleton", func(t *turn) error { return t.do(`SELECT 1 FROM {ring}_ring_state WHERE singleton`) }).
		with("try advisory lock", func(t *turn) error { return nil })
}

// tryAdvisory is the gate's last step with another lock.
func (t *turn) tryAdvisory(sql string) error {
	if t.mode == columns && strings.Contains(sql, "pg_try_advisory_lock") {
		sim.Note(t.ctx, noteHold, hold{t.name, t.mode})
		return nil
	}
	got, err := t.exists(sql)
	switch {
	case err != nil:
		return err
	case !got:
		return t.end(Outcome{Kind: SkippedBusy, Reason: reasonSerializer})
	}
	sim.Note(t.ctx, noteHold, hold{t.name, t.mode})
	return nil
}

// withoutFamily is the ring with one family left out.
func withoutFamily(r ring, family string) ring {
	var rest []string
	for _, f := range r.families {
		if f != family {
			rest = append(rest, f)
		}
	}
	return r.only(rest...)
}

// withFamilies runs a step as if the ring had other families.
func withFamilies(t *turn, r ring, run func(t *turn) error) error {
	was := t.ring
	t.ring = r
	err := run(t)
	t.ring = was
	return err
}
