package rings

import (
	"context"

	"simrun/sim"
)

// rollup is the leader's fold of the count deltas of sealed slots into the live counts.
type rollup struct {
	p     *program
	ticks int
}

// rollupLimit is how many slots one tick rolls up at most.
const rollupLimit = 4

// candidates finds the sealed slots with pending deltas, oldest first, outside of any lock and by the ledger whatever the
// authority is.
func (p *program) candidates(ctx context.Context, db sim.DB, n int) ([]cursor, error) {
	var top cursor
	if err := db.QueryRow(ctx, `SELECT slot, generation FROM queue_ring_rotations ORDER BY generation DESC LIMIT 1`).
		Scan(&top.Slot, &top.Gen); err != nil {
		return nil, err
	}
	var out []cursor
	for back := int64(n - 1); back >= 1; back-- {
		gen := top.Gen - back
		if gen < 0 {
			continue
		}
		c := cursor{int(gen % int64(n)), gen}
		if len(out) == rollupLimit {
			break
		}
		var pending bool
		if err := db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+child("queue_terminal_count_deltas", c.Slot)+` LIMIT 1)`).
			Scan(&pending); err != nil {
			return nil, err
		}
		if pending {
			out = append(out, c)
		}
	}
	return out, nil
}

// rollupSlot is the transaction for one candidate, after the gate and the cursor.
func rollupSlot() procedure {
	return procedure{
		{"lock slot", func(t *turn) error {
			return t.do(`SELECT 1 FROM queue_ring_slots WHERE slot = $1 FOR UPDATE`, t.target.Slot)
		}},
		{"still sealed", func(t *turn) error {
			if t.target.Slot == t.cur.Slot || t.cur.lastOpen(t.target.Slot, t.n) != t.target.Gen {
				return t.end(Outcome{Kind: Noop, Reason: "not sealed"})
			}
			return nil
		}},
		{"probe horizon", nil}, // the variant's
		{"pending ready", func(t *turn) error { return pendingReady(t, pendingSQL, t.target.Gen) }},
		{"set lock timeout", func(t *turn) error { return t.do(`SELECT set_config('lock_timeout', '10ms', true)`) }},
		{"lock deltas", func(t *turn) error {
			return t.lockOrBlocked(`LOCK TABLE queue_terminal_count_deltas_{slot} IN ACCESS EXCLUSIVE MODE`)
		}},
		{"active leases", queueGates()[0].run},
		{"unclosed claims", queueGates()[2].run},
		{"add to live counts", func(t *turn) error {
			return t.do(`INSERT INTO queue_terminal_live_counts AS l (ready_slot, queue, completed, failed)
				SELECT $1, d.queue, sum(d.completed_delta), sum(d.failed_delta) FROM queue_terminal_count_deltas_{slot} d
				GROUP BY d.queue ORDER BY d.queue
				ON CONFLICT (ready_slot, queue) DO UPDATE SET
					completed = greatest(0, l.completed + EXCLUDED.completed), failed = greatest(0, l.failed + EXCLUDED.failed)`, t.target.Slot)
		}},
		{"truncate deltas", func(t *turn) error { return t.do(`TRUNCATE queue_terminal_count_deltas_{slot}`) }},
	}
}

// Run rolls up once a tick.
func (a rollup) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		slots, err := a.p.candidates(ctx, db, a.p.slots)
		if err != nil {
			if _, err = failed(err); err != nil {
				return err
			}
			continue
		}
		for _, target := range slots {
			o, err := operate(ctx, "rollup", "rollup", queueRing, func() (Outcome, error) {
				t := a.p.turn(ctx, db, queueRing, nil)
				t.target = target
				return t.transact(Outcome{Kind: Done, Slot: target.Slot, Gen: target.Gen}, of(a.p.gate, a.p.readCursor, a.p.rollupSlot))
			})
			if err != nil {
				return err
			}
			if o.Kind == SkippedPinned {
				break
			}
		}
	}
	return nil
}
