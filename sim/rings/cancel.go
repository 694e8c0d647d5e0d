package rings

import (
	"context"

	"simrun/sim"
)

// canceller takes a ready job back before anyone has claimed it: a tombstone at its position, and a terminal row.
type canceller struct {
	p    *program
	ring ring
	lane lane
	jobs []int64
}

// cancelReady is its transaction. The lane's row keeps claimers away.
func cancelReady() procedure {
	return of(procedure{
		{"lock lane", func(t *turn) error {
			c := t.claimed()
			return t.do(`SELECT 1 FROM queue_claim_heads WHERE queue = $1 AND shard = $2 FOR UPDATE`, c.queue, c.shard)
		}},
		{"find ready row", func(t *turn) error {
			c := t.claimed()
			rows, err := t.tx.Query(t.ctx, `SELECT e.ready_slot, e.ready_generation, e.lane_seq, e.run_lease FROM ready_entries e
				WHERE e.queue = $1 AND e.shard = $2 AND e.job = $3 ORDER BY e.lane_seq DESC LIMIT 1`, c.queue, c.shard, c.id)
			if err != nil {
				return err
			}
			defer rows.Close()
			if !rows.Next() {
				if rows.Err() != nil {
					return rows.Err()
				}
				return t.end(Outcome{Kind: Noop, Reason: "no such job"})
			}
			return rows.Scan(&c.route.Slot, &c.route.Gen, &c.seq, &c.lease)
		}},
		{"spent evidence", func(t *turn) error {
			c := t.claimed()
			spent, err := t.exists(spentSQL, c.route.Slot, c.queue, c.shard, c.seq)
			if err == nil && spent {
				return t.end(Outcome{Kind: Noop, Reason: "claimed"})
			}
			return err
		}},
		{"insert tombstone", func(t *turn) error {
			c := t.claimed()
			return t.do(`INSERT INTO ready_tombstones (ready_slot, ready_generation, queue, shard, lane_seq) VALUES ($1, $2, $3, $4, $5)`,
				c.route.Slot, c.route.Gen, c.queue, c.shard, c.seq)
		}},
	}, terminal("failed"))
}

// Run cancels its jobs one after the other.
func (a canceller) Run(ctx context.Context, db sim.DB) error {
	for i, id := range a.jobs {
		sim.Checkpoint(ctx, i)
		_, err := operate(ctx, "cancel", "cancel", a.ring, func() (Outcome, error) {
			t := a.p.turn(ctx, db, a.ring, &claimed{job: job{lane: a.lane, id: id}})
			return t.transact(Outcome{Kind: Done}, a.p.cancelReady)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
