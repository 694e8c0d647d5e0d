package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"simrun/scheduler"
)

// claimers are interchangeable workers that claim jobs, each with a row lock, a key that may conflict and a wait.
func claimers(n int, kind string) *Setup {
	work := ActorFunc(func(ctx context.Context, db DB) error {
		tx, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		var id int
		if err := tx.QueryRow(ctx, "SELECT id FROM jobs WHERE NOT done ORDER BY id LIMIT 1 FOR UPDATE").Scan(&id); err != nil {
			return tx.Rollback(ctx)
		}
		if _, err := tx.Exec(ctx, "UPDATE jobs SET done = true WHERE id = $1", id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO log VALUES ($1) ON CONFLICT DO NOTHING", id); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	setup := &Setup{
		Schema: "CREATE TABLE jobs (id int PRIMARY KEY, done bool NOT NULL DEFAULT false); CREATE TABLE log (id int PRIMARY KEY)",
		Seed:   "INSERT INTO jobs VALUES (1), (2)",
		Faults: Faults{Crash: 1},
		Invariants: []Invariant{{Name: "logged", Kind: Always,
			SQL: "SELECT id FROM jobs WHERE done AND NOT EXISTS (SELECT 1 FROM log WHERE log.id = jobs.id)"}},
	}
	for i := range n {
		setup.Actors = append(setup.Actors, ActorSpec{Name: fmt.Sprint("worker-", i), Kind: kind, Run: work})
	}
	setup.Actors = append(setup.Actors, ActorSpec{Name: "other", Run: script("begin", "SELECT * FROM jobs WHERE id = 2 FOR UPDATE", "commit")})
	return setup
}

// TestSymmetry visits all states without symmetry and asks for the symmetric fingerprint of each: a search with symmetry must visit
// exactly these, and come to the same verdict, with databases shared and not, with eager and lazy wake-ups.
func TestSymmetry(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		for _, share := range []bool{false, true} {
			setup := claimers(3, "worker")
			opts := Options{Lazy: lazy, Share: share, Symmetry: true}
			sys := systemOn(t, setup, opts)
			all := &asThemselves{System: sys, orbits: map[uint64]bool{}}
			r, err := scheduler.Search[*World](t.Context(), all, scheduler.Options{Workers: 1})
			if err != nil || r.Verdict != scheduler.Held {
				t.Fatalf("%+v, %v", r, err)
			}
			got, err := scheduler.Search[*World](t.Context(), systemOn(t, setup, opts), scheduler.Options{Workers: 2})
			t.Logf("lazy %v, shared %v: %d of %d states", lazy, share, got.States, r.States)
			if err != nil || got.Verdict != scheduler.Held || got.States != len(all.orbits) || got.States*4 > r.States {
				t.Errorf("lazy %v, shared %v: %d states with symmetry (%v, %v), want the %d orbits of %d", lazy, share, got.States, got.Verdict, err, len(all.orbits), r.States)
			}
		}
	}
}

// asThemselves is a system with symmetry whose worlds keep fingerprints of their own, and which notes both.
type asThemselves struct {
	*System
	orbits map[uint64]bool
}

func (a *asThemselves) Fingerprint(w *World) uint64 {
	a.orbits[a.System.Fingerprint(w)] = true
	kinds := a.kinds
	a.kinds = nil
	h := a.System.Fingerprint(w)
	a.kinds = kinds
	return h
}

// Fork keeps to one worker's map.
func (a *asThemselves) Fork() scheduler.System[*World] { return a }

// TestSymmetryFindsTheSame: a violation has the same length, and the way to it is one that can be made.
func TestSymmetryFindsTheSame(t *testing.T) {
	setup := claimers(3, "worker")
	setup.Invariants = []Invariant{{Name: "idle", Kind: Always, SQL: "SELECT 1 FROM jobs HAVING bool_and(done)"}}
	want, err := scheduler.Search[*World](t.Context(), systemOn(t, setup, Options{Share: true}), scheduler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := scheduler.Search[*World](t.Context(), systemOn(t, setup, Options{Share: true, Symmetry: true}), scheduler.Options{})
	if err != nil || got.Violation.Invariant != "idle" || len(got.Schedule.Names) != len(want.Schedule.Names) {
		t.Errorf("%+v, %v, want as many choices as in %q", got, err, want.Schedule.Names)
	}
}

// TestSymmetryRefuses what it could be wrong about.
func TestSymmetryRefuses(t *testing.T) {
	for want, change := range map[string]func(*Setup){
		"no two actors are of one kind": func(s *Setup) { s.Actors = s.Actors[2:] },
		"differ in role":                func(s *Setup) { s.Actors[1].Restarts = 1 },
		"monitor of invariant watches": func(s *Setup) {
			s.Invariants = append(s.Invariants, Invariant{Name: "watches", Kind: Monitored, Monitor: func() Monitor { return nil }})
		},
	} {
		setup := claimers(3, "worker")
		change(setup)
		db, err := NewModel(setup)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewSystem(setup, db, Options{Symmetry: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
