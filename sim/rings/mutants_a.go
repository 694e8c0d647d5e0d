package rings

import (
	"strings"

	"simrun/sim"
)

// Group A: authority, flip, fence, expand, contract.
var mutantsA = []mutant{
	{sim.Mutant{Name: "authority-before-lock", ID: "A1", Breaks: []string{"MixedFleet", "AwareNeverBreaks"},
		Doc: "The gate samples the authority and takes the serializer afterwards."},
		[]string{"flip"}, func(p *program) { p.gate = p.gate.before("read authority", "lock singleton") }},
	{sim.Mutant{Name: "flip-without-reconcile", ID: "A2", Breaks: []string{"Shadow", "NoSkip"},
		Doc: "The flip promotes the ledgers as they are."},
		[]string{"flip"}, func(p *program) { p.flipRings = nil }},
	{sim.Mutant{Name: "poison-slot-only", ID: "A3", Breaks: []string{"Fence", "MixedFleet/data"},
		Doc: "The flip leaves the generations in the columns."},
		[]string{"flip"}, func(p *program) {
			for _, r := range allRings {
				p.flipSwitch = p.flipSwitch.with("poison columns "+r.name, func(t *turn) error {
					t.ring = r
					return t.do(`UPDATE {ring}_ring_state SET current_slot = -1 WHERE singleton`)
				})
			}
		}},
	{sim.Mutant{Name: "no-fence-trigger", ID: "A4", Breaks: []string{"Fence", "MixedFleet/data"},
		Doc: "The columns are poisoned, but no trigger rejects an old rotator's advance from them."},
		[]string{"flip"}, func(p *program) { p.schema.fence = "" }},
	{sim.Mutant{Name: "slots-not-poisoned", ID: "A5", Breaks: []string{"Fence"},
		Doc: "The flip leaves the slots' generations, by which an old prune picks its target."},
		[]string{"flip", "returning"}, func(p *program) {
			p.flipSwitch = p.flipSwitch.without("poison slots queue", "poison slots lease", "poison slots claim")
		}},
	{sim.Mutant{Name: "flip-misses-a-ring", ID: "A6", Breaks: []string{"Shadow", "NoSkip"},
		Doc: "The flip does not lock the lease ring's singleton before it reconciles."},
		[]string{"flip"}, func(p *program) { p.flipLocks = p.flipLocks.without("lock singleton lease") }},
	{sim.Mutant{Name: "flip-without-verify", ID: "A7", Breaks: []string{"NoSkip"},
		Doc: "The flip does not check that no ledger is ahead of its columns."},
		[]string{"foreign"}, func(p *program) { p.flipRings = backfillOnly() }},
	{sim.Mutant{Name: "flip-in-two-commits", ID: "A8", Breaks: []string{"Fence"},
		Doc: "The flip commits the authority before it poisons the columns and the slots."},
		[]string{"flip"}, func(p *program) {
			p.schema.fence = "" // else the second transaction would be rejected
			p.flipSwitch = p.flipSwitch.before("set authority", "poison columns queue").after("set authority", commitHere)
		}},
	{sim.Mutant{Name: "authority-before-poison", ID: "A9", Breaks: []string{"AwareNeverBreaks"},
		Doc: "The flip sets the authority first, so that the fence rejects its own poison."},
		[]string{"flip"}, func(p *program) {
			p.flipSwitch = p.flipSwitch.before("set authority", "poison columns queue")
		}},
	{sim.Mutant{Name: "fresh-install-unpoisoned", ID: "A10", Breaks: []string{"Fence", "ExpandFaithful"},
		Doc: "A fresh install, which begins with the ledger, leaves (0, 0) in the columns."},
		[]string{"install"}, func(p *program) { p.expandPoison = nil }},
	{sim.Mutant{Name: "null-version-is-aware", ID: "A11", Breaks: []string{"Gate"},
		Doc: "The gate takes a runtime without a version, or with one it cannot read, for an aware one."},
		[]string{"gate"}, func(p *program) {
			p.flipGate = flipGate(strings.Replace(statusSQL, "semver_rank(binary_version) IS NULL\n\t\tOR ", "", 1))
		}},
	{sim.Mutant{Name: "window-shorter-than-heartbeat", ID: "A12", Breaks: []string{"Gate"},
		Doc: "The gate takes a runtime for dead after half a second, though it publishes every ten."},
		[]string{"gate"}, func(p *program) { p.flipGate = flipGate(strings.Replace(statusSQL, "90 seconds", "0.5 seconds", 1)) }},
	{sim.Mutant{Name: "flip-empty-fleet", ID: "A13", Breaks: []string{"AutoStable"},
		Doc: "The auto-flip takes a fleet of which nobody is seen for a ready one."},
		[]string{"autoflip"}, func(p *program) { p.fleetReady = func(s authorityStatus) bool { return s.blocking == 0 } }},
	{sim.Mutant{Name: "flip-not-idempotent", ID: "A15", Breaks: []string{"Idempotent"},
		Doc: "A flip does not look whether it was done already."},
		[]string{"returning"}, func(p *program) { p.flipAgain = true }},
	{sim.Mutant{Name: "force-skips-too-much", ID: "A16", Breaks: []string{"Shadow", "NoSkip"},
		Doc: "A forced flip skips reconciliation and verification too."},
		[]string{"returning", "foreign"}, func(p *program) { p.forceSkips = true }},
	{sim.Mutant{Name: "installer-unflips", ID: "A22", Breaks: []string{"OneWay", "MixedFleet/data"},
		Doc: "The installer overwrites the authority that it finds."},
		[]string{"contract"}, func(p *program) {
			p.expandAuthority = p.expandAuthority.with("seed authority", func(t *turn) error {
				return t.do(`INSERT INTO ring_cursor_authority (authority) VALUES ('columns')
					ON CONFLICT (singleton) DO UPDATE SET authority = EXCLUDED.authority`)
			})
		}},
	{sim.Mutant{Name: "upgrade-taken-for-fresh", ID: "A23", Breaks: []string{"ExpandFaithful"},
		Doc: "The installer takes an upgrade for a fresh install."},
		[]string{"expand"}, func(p *program) {
			p.expandAuthority = append(procedure{{"assume fresh", func(t *turn) error { t.expanding().fresh = true; return nil }}}, p.expandAuthority...)
		}},
	{sim.Mutant{Name: "seed-violates-not-null", ID: "A25", Breaks: []string{"ExpandFaithful"},
		Doc: "The seed of the singleton names no cursor, which a 0.6 schema demands even where the row is there."},
		[]string{"expand"}, func(p *program) {
			p.expandRing = p.expandRing.with("seed state", func(t *turn) error {
				return t.do(`INSERT INTO {ring}_ring_state (slot_count) VALUES ($1) ON CONFLICT DO NOTHING`, t.n)
			})
		}},
	{sim.Mutant{Name: "seed-genesis-only", ID: "A26", Breaks: []string{"ExpandFaithful"},
		Doc: "The migration does not put the columns' cursor into the ledger."},
		[]string{"expand"}, func(p *program) { p.expandRing = p.expandRing.without("forward seed") }},
	{sim.Mutant{Name: "inverse-seed-always", ID: "A27", Breaks: []string{"ExpandFaithful", "NoSkip"},
		Doc: "The migration copies the ledger into the columns even where the columns are live."},
		[]string{"expand"}, func(p *program) {
			p.expandRing = p.expandRing.with("inverse seed", func(t *turn) error {
				return t.do(`UPDATE {ring}_ring_state s SET current_slot = r.slot, generation = r.generation
					FROM (SELECT slot, generation FROM {ring}_ring_rotations ORDER BY generation DESC LIMIT 1) r WHERE r.generation > 0`)
			})
		}},
	{sim.Mutant{Name: "no-version-floor", ID: "A28", Breaks: []string{"Floor"},
		Doc: "The migration does not ask for runtimes that are too old."},
		[]string{"expand"}, func(p *program) { p.expandFloor = nil }},
	{sim.Mutant{Name: "contract-unasked", ID: "A29", Breaks: []string{"NoSkip"},
		Doc: "The columns are dropped whatever the authority is."},
		[]string{"contract"}, func(p *program) { p.contractCheck = p.contractCheck.without("check authority", "check runtimes") }},
}

// backfillOnly reconciles the ledgers without looking where they stand.
func backfillOnly() procedure {
	return eachRing("reconcile", func(t *turn) error {
		if err := t.row(`SELECT current_slot, generation, slot_count FROM {ring}_ring_state WHERE singleton`).
			Scan(&t.cur.Slot, &t.cur.Gen, &t.n); err != nil {
			return err
		}
		return t.backfill(t.cur.Gen)
	})
}
