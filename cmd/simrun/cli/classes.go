package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// jsonClasses is the form of a check on a server under --json.
type jsonClasses struct {
	replay.Spec
	Backend       string         `json:"backend"`
	Verdict       string         `json:"verdict"` // held, held within bounds, violated
	States        int            `json:"states"`  // visited on the model
	Classes       int            `json:"classes"` // of equivalent interleavings, each made once
	Interleavings float64        `json:"interleavings,omitempty"`
	BoundsHit     []string       `json:"bounds_hit,omitempty"`
	Violation     *replay.Broken `json:"violation,omitempty"`
	File          string         `json:"file,omitempty"`
}

// interleavingsMax is how many states are visited to count all interleavings.
const interleavingsMax = 1_000_000

// checkClasses explores the model with partial-order reduction, and makes one run of each class of equivalent interleavings on
// the server. Whole runs are judged too.
func (a *app) checkClasses(ctx context.Context, s replay.Spec, open replay.Opener, opt scheduler.Options, dir string) error {
	s.Strategy = "random"
	states := opt
	states.States = cmp.Or(opt.States, interleavingsMax)
	_, whole, err := modelSystem(s, sim.Options{Lazy: s.Lazy, Share: true})
	if err != nil {
		return err
	}
	visited, err := scheduler.Search(ctx, whole, states)
	switch {
	case err != nil:
		return &exit{exitCouldNot, err}
	case visited.Violation.Invariant == sim.CouldNotRun:
		return &exit{exitCouldNot, errors.New(visited.Violation.Detail)}
	case visited.Verdict == scheduler.Violated:
		return a.violatedState(s, open, visited, dir)
	}
	setup, sys, err := modelSystem(s, sim.Options{Lazy: s.Lazy, Footprints: true, AtEnds: true, Share: true})
	if err != nil {
		return err
	}
	var broken *replay.Run
	var stopped error
	started := time.Now()
	made := 0
	res, err := scheduler.Explore(ctx, sys, scheduler.ExploreOptions[*sim.World]{
		Reduction: scheduler.ReduceDPOR, Steps: setup.MaxSteps, Schedules: opt.States, Time: opt.Time, AllowStuck: true,
		OnEnd: func(_ int, choices []scheduler.Choice, _ *sim.World) scheduler.Violation {
			run, err := replay.Follow(s, scheduler.NamesOf(sys, sys.Initial()[0], choices), open)
			made++
			switch {
			case err != nil:
				stopped = err
			case run.Err != nil:
				stopped = run.Err
			case run.Violation.Invariant != "":
				broken = run
				return run.Violation
			default:
				return scheduler.Violation{}
			}
			return scheduler.Violation{Invariant: sim.CouldNotRun, Detail: stopped.Error()}
		},
	})
	switch {
	case err != nil:
		return &exit{exitCouldNot, err}
	case stopped != nil:
		return stopped
	case res.Violation.Invariant == sim.CouldNotRun:
		return &exit{exitCouldNot, errors.New(res.Violation.Detail)}
	}
	fmt.Fprintf(a.errs, "%d runs on the server in %v\n", made, time.Since(started).Round(time.Millisecond))
	out := jsonClasses{Spec: s, Backend: a.server.backend, Verdict: max(res.Verdict, visited.Verdict).String(), States: visited.States, Classes: res.Schedules}
	for _, b := range append(visited.BoundsHit, res.BoundsHit...) {
		if b == scheduler.BoundSchedules {
			b = scheduler.BoundStates // which is the flag
		}
		if !slices.Contains(out.BoundsHit, b) {
			out.BoundsHit = append(out.BoundsHit, b)
		}
	}
	if all, ok := scheduler.Interleavings(ctx, sys, interleavingsMax); ok {
		out.Interleavings = all
	}
	if res.Verdict == scheduler.Violated {
		if broken == nil { // a state on the way, which the model alone has seen
			if broken, err = replay.Follow(s, res.Schedule.Names, open); err != nil {
				return err
			}
		}
		file := replay.NewFile(broken, version())
		out.Violation = &file.Violation
		if out.File, err = file.WriteTo(dir); err != nil {
			return &exit{exitCouldNot, err}
		}
	}
	return a.printClasses(&out)
}

// violatedState makes the shortest run to a violation that a state on the model has on the server.
func (a *app) violatedState(s replay.Spec, open replay.Opener, res *scheduler.Result, dir string) error {
	run, err := replay.Follow(s, res.Schedule.Names, open)
	switch {
	case err != nil:
		return err
	case run.Err != nil:
		return run.Err
	case run.Violation.Invariant == "":
		run.Violation = res.Violation // one that search judges
	}
	file := replay.NewFile(run, version())
	out := jsonClasses{Spec: s, Backend: a.server.backend, Verdict: res.Verdict.String(), States: res.States, Violation: &file.Violation}
	if out.File, err = file.WriteTo(dir); err != nil {
		return &exit{exitCouldNot, err}
	}
	return a.printClasses(&out)
}

func (a *app) printClasses(c *jsonClasses) error {
	if a.json {
		if err := a.write(c); err != nil {
			return err
		}
	} else {
		if v := c.Violation; v != nil {
			fmt.Fprintf(a.out, "VIOLATED: %s: %s\nwritten to %s\nreproduce: simrun replay %s --backend %s --timeline\n", v.Invariant, v.Detail, c.File, c.File, c.Backend)
		} else {
			fmt.Fprintf(a.out, "%s: %s --backend %s\n", c.Verdict, c.Flags(), c.Backend)
		}
		fmt.Fprintf(a.out, "%d distinct states on the model\n", c.States)
		if c.Classes == 0 {
			return &exit{code: exitViolated}
		}
		fmt.Fprintf(a.out, "%d classes of equivalent interleavings, each made once on the server", c.Classes)
		if c.Interleavings > 0 {
			fmt.Fprintf(a.out, ", of %.6g interleavings", c.Interleavings)
		}
		fmt.Fprintln(a.out)
		for _, b := range c.BoundsHit {
			fmt.Fprintf(a.out, "bound hit: %s; raise --%s\n", b, b)
		}
	}
	if c.Violation != nil {
		return &exit{code: exitViolated}
	}
	return nil
}

// modelSystem makes the spec's setup on the model.
func modelSystem(s replay.Spec, opts sim.Options) (*sim.Setup, *sim.System, error) {
	setup, _, err := s.Build(s.Seed)
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
