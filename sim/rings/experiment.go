package rings

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// Horizon is the experiment that the ledgers were made for: one simulated hour of rotations at a cadence of 1 s, three rings,
// while somebody pins the horizon; once with the columns authoritative, once with the ledgers. It runs on a real server,
// because it is the server's dead rows that are counted.
type Horizon struct {
	Ticks  int // rotations of each ring; 0 means 3,600, an hour
	Sample int // ticks between two samples; 0 means 300
}

// HorizonRow is what became of one relation under one authority.
type HorizonRow struct {
	Authority string // "columns" or "ledger"
	Relation  string
	Written   int64 // rows inserted, updated and deleted
	Dead      int64 // dead rows at the end, under the pin, as the server counts them
	Kept      int64 // dead rows that a VACUUM under the pin could not remove
	Freed     int64 // dead rows that are left after the pin has gone and a VACUUM has run
}

// HorizonSeries is the dead rows of all ring bookkeeping under one authority, by simulated second.
type HorizonSeries struct {
	Authority string
	Second    []float64
	Dead      []float64
}

// HorizonResult is what the experiment found.
type HorizonResult struct {
	Rows   []HorizonRow
	Series []HorizonSeries
}

// horizonRelations is the bookkeeping of a ring that a rotation may write.
func horizonRelations() []string {
	var out []string
	for _, r := range allRings {
		out = append(out, r.name+"_ring_state", r.name+"_ring_slots", r.name+"_ring_rotations")
	}
	return out
}

// Run makes the experiment in an empty database, which connect opens sessions to.
func (h Horizon) Run(ctx context.Context, connect func(context.Context) (*pgx.Conn, error)) (*HorizonResult, error) {
	if h.Ticks == 0 {
		h.Ticks = 3600
	}
	if h.Sample == 0 {
		h.Sample = 300
	}
	pin, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer pin.Close(ctx)
	modes := []string{columns, ledger}
	arms := make([]horizonArm, len(modes))
	for i, mode := range modes {
		arms[i] = horizonArm{Horizon: h, authority: mode, schema: "horizon_" + mode}
		if arms[i].db, err = connect(ctx); err != nil {
			return nil, err
		}
		defer arms[i].db.Close(ctx)
		if err := arms[i].install(ctx); err != nil {
			return nil, err
		}
	}
	// The pin: a snapshot, taken when the tables are there and held to the end.
	tx, err := pin.BeginTx(ctx, snapshotRead)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `SELECT count(*) FROM pg_class`); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	for i := range arms {
		wg.Add(1)
		go func() { // each authority has its own schema and session: the two do not meet
			defer wg.Done()
			arms[i].err = arms[i].hour(ctx)
		}()
	}
	wg.Wait()
	for i := range arms {
		if arms[i].err != nil {
			return nil, arms[i].err
		}
	}
	if err := tx.Rollback(ctx); err != nil {
		return nil, err
	}
	out := &HorizonResult{}
	for i := range arms {
		rows, err := arms[i].released(ctx)
		if err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, rows...)
		out.Series = append(out.Series, arms[i].series)
	}
	return out, nil
}

// horizonArm is the hour under one authority.
type horizonArm struct {
	Horizon
	authority string
	schema    string
	db        *pgx.Conn
	rows      []HorizonRow
	series    HorizonSeries
	err       error
}

// install makes the rings in the arm's own schema.
func (a *horizonArm) install(ctx context.Context) error {
	l := small(4)
	p := newProgram(shipped)
	from := start{layout: l, authority: a.authority, cur: cursor{0, 4}}
	for _, sql := range []string{"CREATE SCHEMA " + a.schema, "SET search_path = " + a.schema, p.schema.text(l), from.text()} {
		if _, err := a.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// hour rotates the three rings once a simulated second. The rings are kept from idling, as under load: an idle ring writes
// nothing under either authority.
func (a *horizonArm) hour(ctx context.Context) error {
	p := newProgram(shipped)
	p.compatRotate = p.compatRotate.without("probe whole ring")
	p.ledgerRotate = p.ledgerRotate.without("probe whole ring")
	a.series.Authority = a.authority
	for tick := 0; ; tick++ {
		if tick%a.Sample == 0 || tick == a.Ticks {
			rows, err := a.count(ctx)
			if err != nil {
				return err
			}
			total := int64(0)
			for _, r := range rows {
				total += r.Dead
			}
			a.rows = rows
			a.series.Second = append(a.series.Second, float64(tick))
			a.series.Dead = append(a.series.Dead, float64(total))
		}
		if tick == a.Ticks {
			break
		}
		for _, r := range small(4).rings() {
			o, err := p.rotate(ctx, a.db, r)
			if err != nil {
				return err
			}
			if o.Kind != Rotated {
				return fmt.Errorf("tick %d of the %s ring under %s authority: %v", tick, r.name, a.authority, o)
			}
		}
	}
	// Under the pin a VACUUM cannot help.
	after, err := a.vacuum(ctx)
	for i := range after {
		a.rows[i].Kept = after[i].Dead
	}
	return err
}

// released vacuums once the pin has gone.
func (a *horizonArm) released(ctx context.Context) ([]HorizonRow, error) {
	after, err := a.vacuum(ctx)
	for i := range after {
		a.rows[i].Freed = after[i].Dead
	}
	return a.rows, err
}

func (a *horizonArm) vacuum(ctx context.Context) ([]HorizonRow, error) {
	if _, err := a.db.Exec(ctx, "VACUUM "+strings.Join(horizonRelations(), ", ")); err != nil {
		return nil, err
	}
	return a.count(ctx)
}

// count asks the server for the dead rows of each relation. The session's own statistics are flushed first.
func (a *horizonArm) count(ctx context.Context) ([]HorizonRow, error) {
	for _, sql := range []string{`SELECT pg_stat_force_next_flush()`, `SELECT pg_stat_clear_snapshot()`} {
		if _, err := a.db.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	var out []HorizonRow
	for _, relation := range horizonRelations() {
		r := HorizonRow{Authority: a.authority, Relation: relation}
		if err := a.db.QueryRow(ctx, `SELECT n_tup_ins + n_tup_upd + n_tup_del, n_dead_tup FROM pg_stat_user_tables
			WHERE schemaname = $1 AND relname = $2`, a.schema, relation).Scan(&r.Written, &r.Dead); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

var _ sim.DB = (*pgx.Conn)(nil) // an actor runs on a plain connection as it is
