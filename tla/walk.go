package tla

import (
	"context"
	"fmt"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// Walked is what came of checking a mapping.
type Walked struct {
	Mapping
	States    int  // distinct states of the model searched, 0 when only runs were made
	Complete  bool // all reachable states were searched
	Runs      uint64
	Violation scheduler.Violation // of the refinement alone: other invariants are not judged
	Schedule  []string            // the run that is no run of the specification
	Coverage  []ActionCoverage
}

// Search walks the model's reachable states breadth-first, up to maxStates, with the mutants applied.
func (m Mapping) Search(ctx context.Context, mutants []string, maxStates, workers int) (*Walked, error) {
	spec, r, err := m.prepare(mutants)
	if err != nil {
		return nil, err
	}
	setup, _, err := spec.Build(1)
	if err != nil {
		return nil, err
	}
	setup.Invariants = []sim.Invariant{r.Invariant()}
	backend, err := sim.NewModel(setup)
	if err != nil {
		return nil, err
	}
	defer backend.Shutdown()
	sys, err := sim.NewSystem(setup, backend, sim.Options{})
	if err != nil {
		return nil, err
	}
	res, err := scheduler.Search(ctx, sys, scheduler.Options{Bounds: scheduler.Bounds{States: maxStates}, Workers: workers, AllowStuck: true})
	if err != nil {
		return nil, err
	}
	w := &Walked{Mapping: m, States: res.States, Complete: len(res.BoundsHit) == 0, Coverage: r.Coverage()}
	if res.Verdict == scheduler.Violated {
		w.Violation, w.Schedule = res.Violation, res.Schedule.Names
	}
	return w, nil
}

// Fuzz makes seeded runs on a backend of open's, with the mutants applied, and checks each against the specification.
func (m Mapping) Fuzz(ctx context.Context, mutants []string, runs uint64, open replay.Opener) (*Walked, error) {
	spec, r, err := m.prepare(mutants)
	if err != nil {
		return nil, err
	}
	report, err := fuzz.Campaign{
		Spec: replay.Spec{Instance: spec, Seed: 1, Strategy: "random"}, Runs: runs, Context: ctx,
		Open: func(setup *sim.Setup) (sim.Backend, error) {
			setup.Invariants = []sim.Invariant{r.Invariant()}
			return open(setup)
		},
	}.Run()
	if err != nil {
		return nil, err
	}
	w := &Walked{Mapping: m, Runs: report.Runs, Violation: report.Violation, Coverage: r.Coverage()}
	if report.Failed {
		w.Schedule = []string{fmt.Sprintf("seed %d", report.Seed)}
	}
	return w, nil
}

func (m Mapping) prepare(mutants []string) (sim.Instance, *Refinement, error) {
	in := m.Instance
	in.Mutants = mutants
	in, _, err := in.Resolve()
	if err != nil {
		return in, nil, err
	}
	r, err := m.Refinement()
	return in, r, err
}
