package fuzz

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"simrun/replay"
	"simrun/sim"
)

// drawn has a setup of its own for each seed, and its runs end with actors in the middle of their code.
var drawn = sim.Instance{}.Of(
	&sim.Scenario{Name: "fuzz/drawn", Variants: []string{"plain"}, Build: func(cfg sim.Config) (*sim.Setup, error) {
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
	}})

func TestRunsLeaveNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	c := Campaign{Spec: replay.Spec{Instance: drawn, Seed: 1, Strategy: "random"}, Runs: 200, Workers: 2, Open: sim.NewModel}
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

// What a run had is gone with the first collection after it. What outlives one (in a sync.Pool, behind a finalizer) piles up: under
// GOGC=400 the rest of one collection makes the next one wait for five times as much.
func TestRunsLeaveNoMemory(t *testing.T) {
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	c := Campaign{Spec: replay.Spec{Instance: drawn, Seed: 1, Strategy: "random"}, Runs: 400, Open: sim.NewModel}
	if r, err := c.Run(); err != nil || r.Runs != c.Runs { // fills what the process keeps
		t.Fatalf("%+v, %v", r, err)
	}
	for range 3 {
		inUse()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if r, err := c.Run(); err != nil || r.Runs != c.Runs {
		t.Fatalf("%+v, %v", r, err)
	}
	first := inUse()
	inUse()
	if last := inUse(); first > last+last/2 {
		t.Errorf("%d KiB are in use after one collection, %d after three", first>>10, last>>10)
	}
}
