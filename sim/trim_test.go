package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"simrun/scheduler"
	"simrun/sim"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
)

// Runs that share databases, and forget them now and then, are those that share none: choices, verdicts, witnesses and the
// observations of each step. Databases go on being shared where runs have most requests in common, and only there.
func TestTrimmedRunsAreTheSame(t *testing.T) {
	for _, c := range []struct {
		scenario, variant string
		keep              int64
		shares            bool
	}{{"postings/claim", "seed", 1500, true}, {"rings/flip", "", 200, false}, {"postings/freeze", "seed", 800, true}, {"rings/gate", "", 1500, false}} {
		for _, record := range []bool{false, true} {
			runner := func(share bool) (*sim.System, *scheduler.Runner[*sim.World]) {
				setup, _, err := sim.Instance{Scenario: c.scenario, Variant: c.variant}.Build(1)
				if err != nil {
					t.Fatal(err)
				}
				db, err := sim.NewModel(setup)
				if err != nil {
					t.Fatal(err)
				}
				s, err := sim.NewSystem(setup, db, sim.Options{Record: record, Share: share})
				if err != nil {
					t.Fatal(err)
				}
				r := scheduler.NewRunner(s, scheduler.Random(), scheduler.Limits{Steps: setup.MaxSteps})
				r.Plan = &scheduler.Plan{}
				return s, r
			}
			plainSystem, plain := runner(false)
			sharedSystem, shared := runner(true)
			defer plainSystem.Close()
			defer sharedSystem.Close()
			sim.KeepShared(sharedSystem, c.keep)
			forgot, found := false, 0
			for seed := range uint64(400) {
				a, b := plain.Run(seed), shared.Run(seed)
				if !slices.Equal(a.Choices, b.Choices) || a.Violation != b.Violation || a.Status != b.Status || !slices.Equal(a.Witnesses, b.Witnesses) {
					t.Fatalf("%s, record %v, seed %d: shared %+v; not shared %+v", c.scenario, record, seed, b, a)
				}
				if record {
					if d := cmp.Diff(digestsOf(plain.State()), digestsOf(shared.State())); d != "" {
						t.Fatalf("%s, seed %d: %s", c.scenario, seed, d)
					}
				}
				if a.Failed() {
					found++
				}
				before := sim.Kept(sharedSystem)
				sharedSystem.Trim()
				forgot = forgot || sim.Kept(sharedSystem) < before
			}
			shares := sim.Kept(sharedSystem) >= 0
			if !forgot || shares != c.shares {
				t.Errorf("%s, record %v: databases forgotten %v, shared at the end %v", c.scenario, record, forgot, shares)
			}
			t.Logf("%s: %d of 400 runs broke an invariant; %d kept", c.scenario, found, sim.Kept(sharedSystem))
		}
	}
}

// A request that comes again later is another one, although nothing but the time has changed.
func TestSharedDatabasesKnowTheTime(t *testing.T) {
	setup := &sim.Setup{Schema: "CREATE TABLE t ()", Actors: []sim.ActorSpec{{Name: "a", Run: sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		var times [2]time.Time
		for i := range times {
			if err := db.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&times[i]); err != nil {
				return err
			}
			if err := sim.Sleep(ctx, time.Minute); err != nil {
				return err
			}
		}
		if passed := times[1].Sub(times[0]); passed != time.Minute {
			return fmt.Errorf("%v have passed", passed)
		}
		return nil
	})}}}
	db, err := sim.NewModel(setup)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.NewSystem(setup, db, sim.Options{Share: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := scheduler.NewRunner(s, scheduler.Random(), scheduler.Limits{Steps: 100})
	r.Run(1)
	if done, err := r.State().Done("a"); !done || err != nil {
		t.Errorf("done %v: %v", done, err)
	}
}

func digestsOf(w *sim.World) []uint64 {
	var out []uint64
	for _, s := range w.Trace().Clone().Steps {
		out = append(out, s.Digest)
	}
	return out
}
