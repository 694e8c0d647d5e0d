package fuzz

import (
	"context"
	"runtime"
	"testing"

	"simrun/replay"
	"simrun/sim"
)

// TestRunsLeaveNoGoroutines makes runs, each of a setup of its own, that end with actors in the middle of their code.
func TestRunsLeaveNoGoroutines(t *testing.T) {
	drawn := &sim.Scenario{Name: "fuzz/drawn", Variants: []string{"plain"}, Build: func(cfg sim.Config) (*sim.Setup, error) {
		daemon := func(ctx context.Context, db sim.DB) error {
			for {
				if err := increment(ctx, db); err != nil {
					return err
				}
			}
		}
		return &sim.Setup{
			Schema: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)", Seed: "INSERT INTO counter VALUES (1, 0)", MaxSteps: 20 + cfg.Rand.IntN(20),
			Actors: []sim.ActorSpec{{Name: "daemon", Run: sim.ActorFunc(daemon), Daemon: true}, {Name: "one", Run: sim.ActorFunc(increment)}},
		}, nil
	}}
	before := runtime.NumGoroutine()
	c := Campaign{Spec: replay.Spec{Instance: sim.Instance{}.Of(drawn), Seed: 1, Strategy: "random"}, Runs: 200, Workers: 2, Open: sim.NewModel}
	for _, strategy := range []string{"random", "pct(3)"} {
		c.Strategy = strategy
		if r, err := c.Run(); err != nil || r.Runs != 200 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if after := runtime.NumGoroutine(); after > before+5 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}
