package rings

import (
	"context"
	"sort"

	"simrun/sim"
)

// folder is the leader's fold tick: it drains the rollup deltas and trims the ledgers. It takes no ring's lock.
type folder struct {
	p       *program
	ticks   int
	ledgers bool // trim the ledgers
	deltas  bool // drain the deltas
}

// foldDeltas moves the deltas into the rollups, in one transaction.
func foldDeltas() procedure {
	return procedure{
		{"drain deltas", func(t *turn) error {
			rows, err := t.tx.Query(t.ctx, `DELETE FROM queue_terminal_rollup_deltas RETURNING queue, completed_delta, failed_delta`)
			if err != nil {
				return err
			}
			defer rows.Close()
			return t.sumDeltas(rows)
		}},
		{"add to rollups", addToRollups},
	}
}

// sumDeltas adds rows (queue, completed, failed) up by queue, in the order of the queues.
func (t *turn) sumDeltas(rows interface {
	Next() bool
	Scan(...any) error
	Err() error
}) error {
	counts := t.pruning()
	counts.counts = nil
	for rows.Next() {
		var c queueCount
		if err := rows.Scan(&c.queue, &c.completed, &c.failed); err != nil {
			return err
		}
		counts.add(c)
		t.now.N++
	}
	return rows.Err()
}

// add adds c to its queue's sum; the sums are kept in the order of the queues.
func (p *pruning) add(c queueCount) {
	i := sort.Search(len(p.counts), func(i int) bool { return p.counts[i].queue >= c.queue })
	if i < len(p.counts) && p.counts[i].queue == c.queue {
		p.counts[i].completed += c.completed
		p.counts[i].failed += c.failed
		return
	}
	p.counts = append(p.counts[:i:i], append([]queueCount{c}, p.counts[i:]...)...)
}

// addToRollups adds each queue's sum. The clamp is on the branch that updates only.
func addToRollups(t *turn) error {
	for _, c := range t.pruning().counts {
		if err := t.do(`INSERT INTO queue_terminal_rollups AS r (queue, pruned_completed_count, pruned_failed_count) VALUES ($1, $2, $3)
			ON CONFLICT (queue) DO UPDATE SET
				pruned_completed_count = greatest(0, r.pruned_completed_count + EXCLUDED.pruned_completed_count),
				pruned_failed_count = greatest(0, r.pruned_failed_count + EXCLUDED.pruned_failed_count)`,
			c.queue, c.completed, c.failed); err != nil {
			return err
		}
	}
	return nil
}

// foldLedgers trims each ledger to one round, in one transaction.
func foldLedgers() procedure {
	return eachRing("trim ledger", func(t *turn) error { return t.trim(trimSQL) })
}

const trimSQL = `DELETE FROM {ring}_ring_rotations WHERE generation <
	(SELECT max(r.generation) FROM {ring}_ring_rotations r) - (SELECT s.slot_count - 1 FROM {ring}_ring_state s)`

func (t *turn) trim(sql string) error {
	rows, err := t.exec(sql)
	t.now.N += rows
	return err
}

// Run folds once a tick.
func (a folder) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		if a.deltas {
			if err := a.p.fold(ctx, db, "fold-deltas", of(a.p.standDown, a.p.foldDeltas)); err != nil {
				return err
			}
		}
		if a.ledgers {
			if err := a.p.fold(ctx, db, "fold-ledgers", of(a.p.standDown, a.p.foldLedgers)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *program) fold(ctx context.Context, db sim.DB, name string, steps procedure) error {
	sim.Note(ctx, noteFold, sim.Now(ctx).UnixMicro())
	_, err := operate(ctx, name, name, ring{}, func() (Outcome, error) {
		t := p.turn(ctx, db, ring{}, &pruning{})
		return t.transact(Outcome{Kind: Done}, steps)
	})
	return err
}
