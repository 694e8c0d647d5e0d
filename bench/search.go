package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"simrun/examples/twophase"
	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
	_ "simrun/sim/rings" // registers the scenario
)

// flip is the scenario that runs and searches are measured with.
var flip = sim.Instance{Scenario: "rings/flip"}

// three are the actors of the small flip.
var three = []string{"rotator-0.6", "rotator-0.7/1", "flip"}

// runs measures whole runs on one core. Members that share keep the databases and the steps between them from run to run; they
// begin with what the rounds before have left, as a campaign does.
var runs = Group{"runs", "runs of rings/flip on the model, strategy random, one core: all six actors and three of them", func(context.Context, Options) ([]Member, func(), error) {
	var members []Member
	for _, m := range []struct {
		name   string
		actors []string
		share  bool
	}{{"six actors", nil, false}, {"six actors, shared", nil, true}, {"three actors", three, false}, {"three actors, shared", three, true}} {
		setup, sys, err := system(m.actors, 1, sim.Options{Share: m.share})
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
		members = append(members,
			Member{"runs, " + m.name, "runs/s", func(ctx context.Context, per time.Duration) (int, time.Duration, error) {
				return loop(ctx, per, 1, func() error { _, err := run(); return err })
			}},
			Member{"choices, " + m.name, "choices/s", func(ctx context.Context, per time.Duration) (int, time.Duration, error) {
				all := 0
				_, took, err := loop(ctx, per, 1, func() error {
					n, err := run()
					all += n
					return err
				})
				return all, took, err
			}})
	}
	return members, func() {}, nil
}}

// system is the flip on the model, with all of its actors or with those named, which then have so many ticks each.
func system(actors []string, ticks int, opts sim.Options) (*sim.Setup, *sim.System, error) {
	instance := flip
	if actors != nil {
		instance.Params = map[string]int{"ticks": ticks}
	}
	setup, _, err := replay.Spec{Instance: instance}.Build(1)
	if err != nil {
		return nil, nil, err
	}
	if actors != nil {
		setup.Actors = slices.DeleteFunc(setup.Actors, func(a sim.ActorSpec) bool { return !slices.Contains(actors, a.Name) })
	}
	model, err := sim.NewModel(setup)
	if err != nil {
		return nil, nil, err
	}
	sys, err := sim.NewSystem(setup, model, opts)
	return setup, sys, err
}

// flipStates bounds one search of rings/flip. With three actors of flipTicks ticks it has 195,102 states; with one tick each it has
// 2,140, which are visited before a search is under way.
const (
	flipStates = 200_000
	flipTicks  = 8
)

// search measures breadth-first search as check does it.
var search = Group{"search", fmt.Sprintf("breadth-first search of rings/flip on the model as check does it: the first %d states of six actors, and all of three with %d ticks each", flipStates, flipTicks),
	func(context.Context, Options) ([]Member, func(), error) {
		return append(searchOf("rings/flip", nil, flipStates), searchOf("rings/flip with three actors", three, 0)...), func() {}, nil
	}}

// growth measures whether a state costs as much late in a search as early.
var growth = Group{"growth", "breadth-first search of rings/flip on the model, by the number of states",
	func(context.Context, Options) ([]Member, func(), error) {
		var members []Member
		for _, states := range []int{100_000, 1_000_000, 10_000_000} {
			members = append(members, searchOf(fmt.Sprintf("first %d states", states), nil, states)...)
		}
		return members, func() {}, nil
	}}

// searchOf searches the flip up to so many states; 0 means all.
func searchOf(what string, actors []string, states int) []Member {
	return forWorkers(what, func(ctx context.Context, workers int) (*scheduler.Result, error) {
		_, sys, err := system(actors, flipTicks, sim.Options{Share: true})
		if err != nil {
			return nil, err
		}
		return scheduler.Search(ctx, sys, scheduler.Options{Bounds: scheduler.Bounds{States: states}, Workers: workers})
	})
}

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
