package cli

import (
	"context"
	"errors"
	"fmt"
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
	setup, sys, err := modelSystem(s, sim.Options{Lazy: s.Lazy, Footprints: true, Share: true})
	if err != nil {
		return err
	}
	s.Strategy = "random"
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
	out := jsonClasses{Spec: s, Backend: a.server.backend, Verdict: res.Verdict.String(), Classes: res.Schedules, BoundsHit: res.BoundsHit}
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
		fmt.Fprintf(a.out, "%d classes of equivalent interleavings, each made once on the server", c.Classes)
		if c.Interleavings > 0 {
			fmt.Fprintf(a.out, ", of %.6g interleavings", c.Interleavings)
		}
		fmt.Fprintln(a.out)
		for _, b := range c.BoundsHit {
			fmt.Fprintf(a.out, "bound hit: %s\n", b)
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
