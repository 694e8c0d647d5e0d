package postgres

import (
	"context"
	"testing"

	"simrun/scheduler"
	"simrun/sim"
)

// On a server alone, invariants wait for the state in which they can be read: a table that an actor has locked against readers is
// no violation, and one that was made meanwhile is found afterwards.
func TestInvariantsPastALock(t *testing.T) {
	s, err := testServer()
	if err != nil {
		t.Fatal(err)
	}
	statement := func(sql string) sim.ActorFunc {
		return func(ctx context.Context, db sim.DB) error { _, err := db.Exec(ctx, sql); return err }
	}
	locker := sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		tx, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		if _, err := tx.Exec(ctx, "LOCK TABLE locked"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	const query = "SELECT u.v FROM locked, u WHERE u.v > 0"
	check := func(v sim.View) string {
		r, err := v.Query(query)
		if err != nil {
			return "it cannot be read: " + err.Error()
		}
		if len(r.Rows) > 0 {
			return "there is a row"
		}
		return ""
	}
	for _, c := range []struct {
		name, insert string
		invariant    sim.Invariant
		broken       string
	}{
		{"query held", "INSERT INTO u VALUES (0)", sim.Invariant{Name: "none", Kind: sim.Always, SQL: query}, ""},
		{"query broken", "INSERT INTO u VALUES (1)", sim.Invariant{Name: "none", Kind: sim.Always, SQL: query}, "none"},
		{"check held", "INSERT INTO u VALUES (0)", sim.Invariant{Name: "none", Kind: sim.Always, Check: check}, ""},
		{"check broken", "INSERT INTO u VALUES (1)", sim.Invariant{Name: "none", Kind: sim.Always, Check: check}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			setup := &sim.Setup{
				Schema:     "CREATE TABLE locked (k int); CREATE TABLE u (v int)",
				Seed:       "INSERT INTO locked VALUES (1)",
				Actors:     []sim.ActorSpec{{Name: "locker", Run: locker}, {Name: "writer", Run: statement(c.insert)}},
				Invariants: []sim.Invariant{c.invariant},
			}
			b, err := s.NewBackend(setup)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Shutdown() })
			sys, err := sim.NewSystem(setup, b, sim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := scheduler.NewRunner(sys, scheduler.Random(), scheduler.Limits{Steps: 100})
			late := false
			for seed := range uint64(12) {
				o := r.Run(seed)
				if o.Violation.Invariant != c.broken {
					t.Fatalf("seed %d: %+v", seed, o.Violation)
				}
				late = late || o.Choices[len(o.Choices)-1].Actor == 0
			}
			if !late {
				t.Error("no run ended with the locker's commit")
			}
		})
	}
}
