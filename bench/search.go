package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"simrun/examples/twophase"
	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
	_ "simrun/sim/rings" // registers the scenario
)

// flip is the scenario that runs and searches are measured with.
var flip = sim.Instance{Scenario: "rings/flip"}

// runs measures whole runs of rings/flip on one core.
var runs = Group{"runs", "runs of rings/flip on the model, strategy random, one core", func(context.Context, Options) ([]Member, func(), error) {
	setup, sys, err := system(sim.Options{})
	if err != nil {
		return nil, nil, err
	}
	runner := scheduler.NewRunner(sys, scheduler.Random(), scheduler.Limits{Steps: setup.MaxSteps})
	runner.Plan = &scheduler.Plan{}
	next := uint64(0)
	run := func() (steps int, err error) {
		next++
		o := runner.Run(next)
		if o.Failed() {
			return 0, fmt.Errorf("seed %d: %s: %s", next, o.Violation.Invariant, o.Violation.Detail)
		}
		sys.Trim()
		return o.Steps(), nil
	}
	return []Member{
		{"runs", "runs/s", func(ctx context.Context, per time.Duration) (int, time.Duration, error) {
			return loop(ctx, per, 1, func() error { _, err := run(); return err })
		}},
		{"choices", "choices/s", func(ctx context.Context, per time.Duration) (int, time.Duration, error) {
			all := 0
			_, took, err := loop(ctx, per, 1, func() error {
				n, err := run()
				all += n
				return err
			})
			return all, took, err
		}},
	}, func() {}, nil
}}

// system is the flip on the model.
func system(opts sim.Options) (*sim.Setup, *sim.System, error) {
	setup, _, err := replay.Spec{Instance: flip}.Build(1)
	if err != nil {
		return nil, nil, err
	}
	model, err := sim.NewModel(setup)
	if err != nil {
		return nil, nil, err
	}
	sys, err := sim.NewSystem(setup, model, opts)
	return setup, sys, err
}

// flipStates bounds one search of rings/flip.
const flipStates = 200_000

// search measures breadth-first search of rings/flip.
var search = Group{"search", fmt.Sprintf("breadth-first search of rings/flip on the model, the first %d states", flipStates),
	func(context.Context, Options) ([]Member, func(), error) {
		return forWorkers("rings/flip", func(ctx context.Context, workers int) (*scheduler.Result, error) {
			_, sys, err := system(sim.Options{})
			if err != nil {
				return nil, err
			}
			return scheduler.Search(ctx, sys, scheduler.Options{Bounds: scheduler.Bounds{States: flipStates}, Workers: workers})
		}), func() {}, nil
	}}

const managers = 9

// twoPhase measures breadth-first search of a plain Go state machine.
var twoPhase = Group{"twophase", fmt.Sprintf("breadth-first search of two-phase commit with %d resource managers, all 10,340,352 states", managers),
	func(context.Context, Options) ([]Member, func(), error) {
		return forWorkers("two-phase commit", func(ctx context.Context, workers int) (*scheduler.Result, error) {
			r, err := scheduler.Search(ctx, twophase.Managers(managers), scheduler.Options{Workers: workers})
			if err == nil && ctx.Err() == nil && r.States != 10_340_352 {
				err = fmt.Errorf("%d states", r.States)
			}
			return r, err
		}), func() {}, nil
	}}

// forWorkers are members for one worker and for as many as there are processors.
func forWorkers(what string, find func(ctx context.Context, workers int) (*scheduler.Result, error)) []Member {
	var out []Member
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		if workers == 1 && len(out) > 0 {
			continue
		}
		name := fmt.Sprintf("%s, %d workers", what, workers)
		if workers == 1 {
			name = what + ", 1 worker"
		}
		out = append(out, Member{name, "states/s", func(ctx context.Context, _ time.Duration) (int, time.Duration, error) {
			runtime.GC() // of what the member before has left
			r, err := find(ctx, workers)
			if err != nil {
				return 0, 0, err
			}
			if r.Verdict == scheduler.Violated {
				return 0, 0, fmt.Errorf("%s: %s", r.Violation.Invariant, r.Violation.Detail)
			}
			return r.States, r.Elapsed, nil
		}})
	}
	return out
}
