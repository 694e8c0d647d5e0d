package rings

import (
	"context"

	"simrun/sim"
)

// cursorReader reads a ring's cursor through the database's resolver, as the SQL producer and the claimer do.
type cursorReader struct {
	ring  ring
	ticks int
}

// Run reads once a tick.
func (a cursorReader) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		_, err := operate(ctx, "read", "read", a.ring, func() (Outcome, error) {
			o := Outcome{Kind: Read}
			err := db.QueryRow(ctx, `SELECT slot, generation FROM ring_cursor($1)`, a.ring.name).Scan(&o.Slot, &o.Gen)
			if err != nil {
				return failed(err)
			}
			return o, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
