package rings

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// rings/horizon is the document's claim as an experiment on a real server; see Horizon.
func init() {
	sim.Register(&sim.Scenario{
		Name:     "rings/horizon",
		Doc:      "One simulated hour of rotations under a pinned horizon: dead rows by columns and by ledgers, on a real server",
		Variants: []string{shipped},
		Experiment: func(ctx context.Context, connect func(context.Context) (*pgx.Conn, error)) (*sim.Experiment, error) {
			res, err := Horizon{}.Run(ctx, connect)
			if err != nil {
				return nil, err
			}
			return res.report(), nil
		},
	})
}

// report is the result as a table and a plot.
func (r *HorizonResult) report() *sim.Experiment {
	e := &sim.Experiment{
		Title: "Dead rows of ring bookkeeping in an hour under a pinned horizon",
		Text: "Three rings rotate once a simulated second for an hour while a REPEATABLE READ transaction holds its snapshot. Dead: as the server counts them " +
			"at the end; kept: those that a VACUUM under the pin could not remove; freed: those left after the pin has gone and a VACUUM has run.",
		Columns: []string{"authority", "relation", "rows written", "dead", "kept", "freed"},
		X:       "simulated time (s)",
		Y:       "dead rows",
	}
	for _, row := range r.Rows {
		e.Rows = append(e.Rows, []string{row.Authority, row.Relation, fmt.Sprint(row.Written), fmt.Sprint(row.Dead), fmt.Sprint(row.Kept), fmt.Sprint(row.Freed)})
	}
	for _, s := range r.Series {
		e.Series = append(e.Series, sim.ExperimentSeries{Name: s.Authority, X: s.Second, Y: s.Dead})
	}
	return e
}
