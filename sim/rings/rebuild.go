package rings

import (
	"context"

	"simrun/sim"
)

// rebuilder computes the live counts anew from the rows, with the terminal families locked, and marks them trusted.
type rebuilder struct {
	p     *program
	ticks int
}

// rebuildCounters is its transaction.
func rebuildCounters() procedure {
	return procedure{
		{"lock rebuild", func(t *turn) error {
			return t.do(`SELECT pg_advisory_xact_lock(hashtextextended('rebuild_terminal_counters', 0))`)
		}},
		{"lock families", func(t *turn) error {
			return t.do(`LOCK TABLE done_entries, receipt_completion_batches, queue_terminal_count_deltas, queue_terminal_live_counts
				IN ACCESS EXCLUSIVE MODE`)
		}},
		{"clear counters", func(t *turn) error {
			return t.do(`TRUNCATE queue_terminal_live_counts, queue_terminal_count_deltas`)
		}},
		{"count rows", func(t *turn) error {
			return t.do(`INSERT INTO queue_terminal_live_counts (ready_slot, queue, completed, failed)
				SELECT d.ready_slot, d.queue, count(*) FILTER (WHERE d.state = 'completed'), count(*) FILTER (WHERE d.state = 'failed')
				FROM done_entries d GROUP BY d.ready_slot, d.queue ORDER BY d.ready_slot, d.queue`)
		}},
		{"trust counters", func(t *turn) error {
			return t.do(`UPDATE queue_ring_state SET terminal_counter_trusted_at = now() WHERE singleton`)
		}},
	}
}

// Run rebuilds once a tick.
func (a rebuilder) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		_, err := operate(ctx, "rebuild", "rebuild", queueRing, func() (Outcome, error) {
			t := a.p.turn(ctx, db, queueRing, nil)
			return t.transact(Outcome{Kind: Done}, a.p.rebuild)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
