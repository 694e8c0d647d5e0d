package rings

import (
	"context"

	"simrun/sim"
)

// rotator is the rotator of 0.7. After the gate it advances the columns or the ledger, as the authority says.
type rotator struct {
	p     *program
	ring  ring
	ticks int
}

// compatRotate advances the columns, as a 0.6.2 rotator next to it does, and shadows the ledger.
func compatRotate() procedure {
	return procedure{
		{"probe next slot", probeNext},
		{"probe whole ring", probeRing},
		{"advance columns", func(t *turn) error {
			next := t.cur.next(t.n)
			t.now.Slot, t.now.Gen = next.Slot, next.Gen
			return t.unlessLost(t.exec(`UPDATE {ring}_ring_state SET current_slot = $1, generation = $2
				WHERE singleton AND generation = $3`, next.Slot, next.Gen, t.cur.Gen))
		}},
		{"stamp slot", func(t *turn) error {
			return t.do(`UPDATE {ring}_ring_slots SET generation = $1 WHERE slot = $2`, t.now.Gen, t.now.Slot)
		}},
		{"read slot count again", func(t *turn) error {
			return t.row(`SELECT slot_count FROM {ring}_ring_state WHERE singleton`).Scan(&t.n)
		}},
		// The shadow write, and the reconciliation of the generations that a 0.6.2 rotator advanced alone.
		{"shadow ledger", func(t *turn) error { return t.backfill(t.now.Gen) }},
	}
}

// ledgerRotate appends to the ledger; its primary key is the compare-and-swap.
func ledgerRotate() procedure {
	return procedure{
		{"probe next slot", probeNext},
		{"probe whole ring", probeRing},
		{"append", func(t *turn) error {
			next := t.cur.next(t.n)
			t.now.Slot, t.now.Gen = next.Slot, next.Gen
			return t.unlessLost(t.exec(`INSERT INTO {ring}_ring_rotations (generation, slot) VALUES ($1, $2)
				ON CONFLICT (generation) DO NOTHING`, next.Gen, next.Slot))
		}},
	}
}

// backfill inserts every generation that the ledger lacks after its greatest, up to last.
func (t *turn) backfill(last int64) error {
	return t.do(`INSERT INTO {ring}_ring_rotations (generation, slot)
		SELECT g, (g % $2)::integer
		FROM generate_series((SELECT coalesce(max(generation), -1) + 1 FROM {ring}_ring_rotations), $1::bigint) AS g
		ON CONFLICT (generation) DO NOTHING`, last, int64(t.n))
}

// rotate runs one tick of the 0.7 rotator.
func (p *program) rotate(ctx context.Context, db sim.DB, r ring) (Outcome, error) {
	t := p.turn(ctx, db, r, nil)
	branch := procedure{{"rotate", func(t *turn) error {
		steps := p.compatRotate
		if t.mode == ledger {
			steps = p.ledgerRotate
		}
		return t.steps(steps)
	}}}
	return t.transact(Outcome{Kind: Rotated}, of(p.gate, p.readCursor, branch))
}

// Run rotates once a tick.
func (a rotator) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		_, err := operate(ctx, "rotate-0.7", "rotate", a.ring, func() (Outcome, error) { return a.p.rotate(ctx, db, a.ring) })
		if err != nil {
			return err
		}
	}
	return nil
}
