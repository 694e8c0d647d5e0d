package rings

import "simrun/sim"

// Group B: rotation.
var mutantsB = []mutant{
	{sim.Mutant{Name: "no-lock-no-cas", ID: "B1", Breaks: []string{"SingleAdvance", "Lockstep"},
		Doc: "A rotator takes no serializer and adds one to whatever generation it finds."},
		[]string{"flip"}, func(p *program) {
			p.gate = p.gate.with("lock singleton", func(t *turn) error { return t.do(`SELECT 1 FROM {ring}_ring_state WHERE singleton`) })
			p.compatRotate = p.compatRotate.with("advance columns", func(t *turn) error {
				next := t.cur.next(t.n)
				t.now.Slot, t.now.Gen = next.Slot, next.Gen
				return t.do(`UPDATE {ring}_ring_state SET current_slot = $1, generation = generation + 1 WHERE singleton`, next.Slot)
			})
		}},
	{sim.Mutant{Name: "compat-takes-advisory-only", ID: "B9", Breaks: []string{"MixedFleet", "SingleAdvance"},
		Doc: "A 0.7 rotator takes the advisory lock in both authorities and never the singleton, which is all that 0.6.2 takes."},
		[]string{"flip"}, func(p *program) {
			p.gate = p.gate.without("lock singleton").with("try advisory lock", func(t *turn) error {
				got, err := t.exists(`SELECT pg_try_advisory_xact_lock(hashtextextended('ring_rotation:{ring}', 0))`)
				switch {
				case err != nil:
					return err
				case !got:
					return t.end(Outcome{Kind: SkippedBusy, Reason: "serializer"})
				}
				sim.Note(t.ctx, noteHold, hold{t.name, t.mode})
				return nil
			})
		}},
}
