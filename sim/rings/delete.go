package rings

import (
	"context"

	"simrun/sim"
)

// deleter removes finished jobs from the records, one transaction over several queues: what a prune has counted of them is
// taken back by negative deltas.
type deleter struct {
	p    *program
	jobs []deletion
}

// deletion is one job to remove, long pruned.
type deletion struct {
	queue  string
	id     int64
	failed bool
}

// Run deletes.
func (a deleter) Run(ctx context.Context, db sim.DB) error {
	var steps procedure
	for _, d := range a.jobs {
		steps = append(steps,
			step{"delete from application", func(t *turn) error {
				return t.do(`WITH gone AS (DELETE FROM app_effects WHERE job = $1) DELETE FROM app_jobs WHERE job = $1`, d.id)
			}},
			step{"take back", func(t *turn) error {
				return t.do(`INSERT INTO queue_terminal_rollup_deltas (queue, completed_delta, failed_delta) VALUES ($1, $2, $3)`,
					d.queue, -b2i(!d.failed), -b2i(d.failed))
			}})
	}
	_, err := operate(ctx, "delete", "delete", ring{}, func() (Outcome, error) {
		return a.p.turn(ctx, db, ring{}, nil).transact(Outcome{Kind: Done}, steps)
	})
	return err
}
