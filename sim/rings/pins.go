package rings

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// pinHold is how long scenarios pin the horizon: longer than a fold tolerates.
const pinHold = 20 * time.Second

// pinnedReader holds a snapshot in a REPEATABLE READ transaction for a while: it pins the horizon.
type pinnedReader struct {
	hold  time.Duration // of simulated time; 0 leaves it to the schedule
	ticks int
}

// Run reads, waits, reads again, and lets go.
func (a pinnedReader) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		if err := pin(ctx, db, snapshotRead, a.hold, 1, `SELECT count(*) FROM queue_ring_rotations`); err != nil {
			return err
		}
	}
	return nil
}

// idleWriter sits in a transaction that has written: it pins the horizon too.
type idleWriter struct {
	hold  time.Duration
	ticks int
}

// Run writes, idles, and rolls back.
func (a idleWriter) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		if err := pin(ctx, db, readCommitted, a.hold, -1, `SELECT pg_current_xact_id() IS NOT NULL`); err != nil {
			return err
		}
	}
	return nil
}

// pin begins a transaction, runs the statement, waits, and ends. sign is that of the fact it tells.
func pin(ctx context.Context, db sim.DB, how pgx.TxOptions, hold time.Duration, sign int64, sql string) error {
	tx, err := db.BeginTx(ctx, how)
	if err != nil {
		_, err = failed(err)
		return err
	}
	var ignored any
	if err = tx.QueryRow(ctx, sql).Scan(&ignored); err == nil {
		sim.Note(ctx, notePin, sign*sim.Now(ctx).UnixMicro())
		sim.Witness(ctx, "pin: held")
		err = sim.Sleep(ctx, hold)
	}
	if err == nil {
		err = tx.QueryRow(ctx, `SELECT 1`).Scan(&ignored)
	}
	if err == nil {
		err = tx.Commit(ctx)
	} else {
		_ = tx.Rollback(ctx)
	}
	sim.Note(ctx, notePin, int64(0))
	_, err = failedOrNil(err)
	return err
}

func failedOrNil(err error) (Outcome, error) {
	if err == nil {
		return Outcome{}, nil
	}
	return failed(err)
}
