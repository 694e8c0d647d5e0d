package rings

import (
	"context"

	"simrun/sim"
)

// oldRotator is the rotator of 0.6.2: it knows only the columns, has no idle gate and never writes a ledger.
type oldRotator struct {
	p     *program
	ring  ring
	ticks int
}

// oldRotate is its transaction.
func oldRotate() procedure {
	return procedure{
		{"lock cursor", func(t *turn) error {
			err := t.row(`SELECT current_slot, generation, slot_count FROM {ring}_ring_state WHERE singleton FOR UPDATE`).
				Scan(&t.cur.Slot, &t.cur.Gen, &t.n)
			if err == nil {
				mode := columns
				if t.cur.poisoned() {
					mode = "poison"
				}
				sim.Note(t.ctx, noteHold, hold{t.name, mode})
			}
			return err
		}},
		{"probe next slot", probeNext},
		{"advance columns", func(t *turn) error {
			next := t.cur.next(t.n)
			if t.name == queueRing.name {
				return t.do(`UPDATE {ring}_ring_state SET current_slot = $1, generation = $2 WHERE singleton`, next.Slot, next.Gen)
			}
			rows, err := t.exec(`UPDATE {ring}_ring_state SET current_slot = $1, generation = $2
				WHERE singleton AND current_slot = $3 AND generation = $4`, next.Slot, next.Gen, t.cur.Slot, t.cur.Gen)
			return t.unlessLost(rows, err)
		}},
		{"stamp queue slot", func(t *turn) error {
			next := t.cur.next(t.n)
			t.now.Slot, t.now.Gen = next.Slot, next.Gen
			if t.name != queueRing.name {
				return nil
			}
			return t.do(`UPDATE queue_ring_slots SET generation = $1 WHERE slot = $2`, next.Gen, next.Slot)
		}},
	}
}

// Run rotates once a tick.
func (a oldRotator) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		_, err := operate(ctx, "rotate-0.6", "rotate", a.ring, func() (Outcome, error) {
			t := a.p.turn(ctx, db, a.ring, nil)
			return t.transact(Outcome{Kind: Rotated}, a.p.oldRotate)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
