package rings

import (
	"strings"

	"simrun/sim"
)

// Group D: folds, counts, horizon.
var mutantsD = []mutant{
	{sim.Mutant{Name: "any-snapshot-pins", ID: "D1", Breaks: []string{"FoldProgress"},
		Doc: "A fold stands down for any snapshot, however young."},
		[]string{"fold"}, func(p *program) { p.standDown = standDown(horizonAnySQL) }},
	{sim.Mutant{Name: "fold-without-probe", ID: "D3", Breaks: []string{"StandDown"},
		Doc: "A fold does not ask who pins the horizon."},
		[]string{"fold"}, func(p *program) { p.standDown = nil }},
	{sim.Mutant{Name: "trims-one-too-many", ID: "D5", Breaks: []string{"Retention"},
		Doc: "A fold keeps one row less than a round."},
		[]string{"trim"}, func(p *program) {
			p.foldLedgers = eachRing("trim ledger", func(t *turn) error {
				return t.trim(strings.Replace(trimSQL, "slot_count - 1", "slot_count - 2", 1))
			})
		}},
	{sim.Mutant{Name: "trims-the-cursor", ID: "D6", Breaks: []string{"Retention", "NoSkip", "SingleAdvance"},
		Doc: "A fold deletes the greatest row too."},
		[]string{"trim", "fold"}, func(p *program) {
			p.foldLedgers = eachRing("trim ledger", func(t *turn) error {
				return t.trim(`DELETE FROM {ring}_ring_rotations WHERE generation = (SELECT max(r.generation) FROM {ring}_ring_rotations r)`)
			})
		}},
	{sim.Mutant{Name: "fold-in-two-transactions", ID: "D8", Breaks: []string{"ExactCounts"},
		Doc: "A fold commits the deletion of the deltas before it adds them to the rollups."},
		[]string{"fold"}, func(p *program) { p.foldDeltas = p.foldDeltas.after("drain deltas", commitHere) }},
	{sim.Mutant{Name: "read-then-delete-all", ID: "D9", Breaks: []string{"ExactCounts"},
		Doc: "A fold reads the deltas, and deletes whatever is there when it comes to that."},
		[]string{"fold"}, func(p *program) {
			p.foldDeltas = p.foldDeltas.with("drain deltas", func(t *turn) error {
				rows, err := t.tx.Query(t.ctx, `SELECT queue, completed_delta, failed_delta FROM queue_terminal_rollup_deltas`)
				if err != nil {
					return err
				}
				defer rows.Close()
				return t.sumDeltas(rows)
			}).after("drain deltas", step{"delete all deltas", func(t *turn) error { return t.do(`DELETE FROM queue_terminal_rollup_deltas`) }})
		}},
	{sim.Mutant{Name: "reader-forgets-deltas", ID: "D13", Breaks: []string{"ExactReads"},
		Doc: "A reader counts the rollups without the deltas that are not folded yet."},
		[]string{"fold"}, func(p *program) { p.counts.exact = p.counts.old }},
	{sim.Mutant{Name: "reader-in-two-statements", ID: "D14", Breaks: []string{"ExactReads"},
		Doc: "A reader counts the live rows and the pruned ones in two statements."},
		[]string{"fold"}, func(p *program) { p.counts.how = splitCounter }},
	{sim.Mutant{Name: "reader-on-old-snapshot", ID: "D15", Breaks: []string{"ExactReads"},
		Doc: "A reader counts under a snapshot from before a prune, whose truncation is no respecter of snapshots."},
		[]string{"fold"}, func(p *program) { p.counts.how = snapshotCounter }},
	{sim.Mutant{Name: "clamp-per-fold", ID: "D16", Breaks: []string{"ExactCounts"},
		Doc: "A fold clamps what it adds instead of the sum that it is added to."},
		[]string{"fold"}, func(p *program) {
			p.foldDeltas = p.foldDeltas.with("add to rollups", func(t *turn) error {
				counts := t.pruning().counts
				for i := range counts {
					counts[i].completed, counts[i].failed = max(0, counts[i].completed), max(0, counts[i].failed)
				}
				return addToRollups(t)
			})
		}},
}
