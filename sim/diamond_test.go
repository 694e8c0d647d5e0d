package sim_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"simrun/scheduler"
	"simrun/sim"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
)

// TestSharedStepsAreThoseMade: whatever a shared database takes from its graph, remembered or as the side of a diamond, is what
// its execution would have given, in state and answer.
func TestSharedStepsAreThoseMade(t *testing.T) {
	names, states, runs := []string{"rings/flip", "postings/claim", "postings/freeze"}, 1500, 10
	if os.Getenv("SIMRUN_LONG") != "" {
		states, runs, names = 4000, 20, nil
		for _, s := range sim.Scenarios() {
			if s.Build != nil && (strings.HasPrefix(s.Name, "rings/") || strings.HasPrefix(s.Name, "postings/")) {
				names = append(names, s.Name)
			}
		}
	}
	if n, err := strconv.Atoi(os.Getenv("SIMRUN_STATES")); err == nil {
		states = n
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			setup, _, err := sim.Instance{Scenario: name}.Build(1)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sim.NewModel(setup)
			if err != nil {
				t.Fatal(err)
			}
			setup.Invariants = nil
			sys, err := sim.NewSystem(setup, sim.ShareVerified(db, setup.Actors), sim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := scheduler.Search(context.Background(), sys, scheduler.Options{Bounds: scheduler.Bounds{States: states}, AllowStuck: true})
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict == scheduler.Violated {
				t.Fatalf("%s: %s", res.Violation.Invariant, res.Violation.Detail)
			}
			r := scheduler.NewRunner(sys, scheduler.Random(), scheduler.Limits{AllowStuck: true})
			r.Plan = &scheduler.Plan{}
			for seed := range uint64(runs) {
				if o := r.Run(seed); o.Failed() {
					t.Fatalf("seed %d: %s: %s", seed, o.Violation.Invariant, o.Violation.Detail)
				}
			}
			edges, executed := sim.Diamonds(sys.Initial()[0])
			t.Logf("%d edges, %d executed", edges, executed)
			if executed == 0 || executed == edges && len(setup.Actors) > 1 {
				t.Errorf("%d of %d edges executed: no diamond was found", executed, edges)
			}
		})
	}
}
