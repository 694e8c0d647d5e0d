package simtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

const (
	maxStates  = 1_000_000
	maxClasses = 10_000
	sampleRuns = 20
)

// Exhaustive visits every reachable state of the scenario on the model, breadth-first, and fails with a shortest way to a
// violation, when there is one. It fails too when there are more than MaxStates states, and when a witness of the scenario is
// seen in none. Invariants of whole runs need more than states: they are judged only with Backend(Both) or
// Backend(Postgres), under which one run of every class of equivalent interleavings is made on the server.
func Exhaustive(t testing.TB, s *sim.Scenario, opts ...Option) {
	t.Helper()
	x := newTest(t, s, opts)
	x.corpus()
	defer x.close()
	spec := x.spec(x.instance, 1, "search")
	x.sample(spec)
	if x.backend == Model {
		x.search(spec)
	} else {
		x.classes(spec)
	}
	if !t.Failed() {
		x.vacuous()
	}
}

// sample makes a few random runs to see that actors come through.
func (x *test) sample(spec replay.Spec) {
	x.Helper()
	a, err := x.arena(spec)
	if err != nil {
		x.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range sampleRuns {
		if _, _, err := x.run(a, func(names []string) int { return r.IntN(len(names)) }); err != nil {
			x.Fatal(err)
		}
	}
}

// system is the spec's setup on the model.
func (x *test) system(spec replay.Spec, opts sim.Options) (*sim.Setup, *sim.System) {
	x.Helper()
	setup, _, err := spec.Build(spec.Seed)
	if err != nil {
		x.Fatal(err)
	}
	model, err := sim.NewModel(setup)
	if err != nil {
		x.Fatal(err)
	}
	opts.Lazy = x.lazy
	sys, err := sim.NewSystem(setup, model, opts)
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(sys.Close)
	return setup, sys
}

func (x *test) search(spec replay.Spec) {
	x.Helper()
	setup, sys := x.system(spec, sim.Options{})
	limit := x.maxStates
	if limit == 0 {
		limit = maxStates
	}
	r, err := scheduler.Search(context.Background(), sys, scheduler.Options{Bounds: scheduler.Bounds{States: limit}, Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		x.Fatal(err)
	}
	switch r.Verdict {
	case scheduler.Violated:
		if r.Violation.Invariant == sim.CouldNotRun {
			x.Fatal(r.Violation.Detail)
		}
		x.fail(spec, r.Schedule.Names, r.Violation)
		x.FailNow()
	case scheduler.HeldWithinBounds:
		x.Fatalf("not exhaustive: there are more than the %d states that were visited, without a violation; give simtest.MaxStates more, or the scenario less to do", r.States)
	}
	for _, name := range r.Witnesses {
		x.seen[name] = true
	}
	if missing := x.unseen(setup); len(missing) > 0 {
		x.Errorf("no state saw %s", strings.Join(missing, ", "))
	}
	x.Logf("held: %d distinct states, %d transitions, depth %d, %d ends", r.States, r.Transitions, r.Depth, r.Completed)
	var left []string
	for _, inv := range setup.Invariants {
		if inv.Kind == sim.WholeRun {
			left = append(left, inv.Name)
		}
	}
	if len(left) > 0 {
		x.Logf("not judged, because they judge whole runs: %s", strings.Join(left, ", "))
	}
}

// classes makes one run of each class of interleavings on the server.
func (x *test) classes(spec replay.Spec) {
	x.Helper()
	setup, sys := x.system(spec, sim.Options{Footprints: true})
	limit := x.maxStates
	if limit == 0 {
		limit = maxClasses
	}
	var stopped error
	r, err := scheduler.Explore(context.Background(), sys, scheduler.ExploreOptions[*sim.World]{
		Reduction: scheduler.ReduceDPOR, Steps: setup.MaxSteps, Schedules: limit, AllowStuck: true,
		OnEnd: func(_ int, choices []scheduler.Choice, _ *sim.World) scheduler.Violation {
			run, err := replay.Follow(spec, scheduler.NamesOf(sys, sys.Initial()[0], choices), x.open)
			if err == nil {
				err = run.Err
			}
			if err != nil {
				stopped = err
				return scheduler.Violation{Invariant: sim.CouldNotRun, Detail: err.Error()}
			}
			for _, w := range run.Witnesses {
				x.seen[w] = true
			}
			return run.Violation
		},
	})
	if err = errors.Join(err, stopped); err != nil {
		x.Fatal(err)
	}
	switch r.Verdict {
	case scheduler.Violated:
		x.fail(spec, slices.Clone(r.Schedule.Names), r.Violation)
		x.FailNow()
	case scheduler.HeldWithinBounds:
		x.Fatalf("not exhaustive: there are more classes of interleavings than the %d that were run; give simtest.MaxStates more", r.Schedules)
	}
	if missing := x.unseen(setup); len(missing) > 0 {
		x.Errorf("no run saw %s", strings.Join(missing, ", "))
	}
	x.Logf("held on the server: one run of each of the %d classes of equivalent interleavings", r.Schedules)
}
