package spec

import (
	"errors"
	"slices"

	"simrun/scheduler"
	"simrun/sim"
)

// frame is the part of a spec's runs that interleaves. A run begins with the setups, in the order of the sessions, and ends, when
// every session has run its steps, with their teardowns and a look at the tables; neither leaves a choice, and the frame makes
// both.
type frame struct {
	*sim.System
	actors []string
	before []scheduler.Choice // the setups
}

// newFrame makes a frame. sys has the setup of a Selection.
func newFrame(sys *sim.System) (*frame, error) {
	f := &frame{System: sys}
	sessions := 0
	for _, a := range sys.Setup().Actors {
		f.actors = append(f.actors, a.Name)
		if s, ok := a.Run.(sessionActor); ok && len(s.steps) > 0 {
			sessions++
		}
	}
	if sessions == 0 {
		return nil, errors.New("there is nothing to interleave")
	}
	for i, a := range sys.Setup().Actors {
		n := 0
		switch run := a.Run.(type) {
		case script:
			n = len(run)
		case sessionActor:
			if run.before != "" {
				n = 1
			}
		}
		for range n {
			f.before = append(f.before, scheduler.Choice{Actor: int32(i), Kind: int32(sim.StepRun)})
		}
	}
	return f, nil
}

// Initial is the state after the setups.
func (f *frame) Initial() []*sim.World {
	w := f.System.Clone(f.System.Initial()[0])
	for _, c := range f.before {
		w = f.System.Apply(w, c)
	}
	return []*sim.World{w}
}

// Choices leaves out the clock, which would end the run.
func (f *frame) Choices(w *sim.World, buf []scheduler.Choice) []scheduler.Choice {
	from := len(buf)
	all := f.System.Choices(w, buf)
	kept := all[:from]
	for _, c := range all[from:] {
		if sim.StepKind(c.Kind) != sim.StepClock {
			kept = append(kept, c)
		}
	}
	return kept
}

// Fork gives another worker its own.
func (f *frame) Fork() scheduler.System[*sim.World] {
	g := *f
	g.System = f.System.Fork().(*sim.System)
	return &g
}

// Status says of a state without choices whether every session has run its steps.
func (f *frame) Status(w *sim.World) scheduler.Status {
	for i := range f.actors {
		if _, waits := w.Standing(i); waits {
			return scheduler.Stuck
		}
	}
	return scheduler.Completed
}

// Violation is that of the run that the frame would end here, or of a step that could not be made.
func (f *frame) Violation(w *sim.World) (invariant, detail string) {
	if w.Err() != nil {
		return f.System.Violation(w)
	}
	return "", ""
}

// finish ends the run: the clock lets all sessions end, one after the other, and then the tables are read. It uses up w, and
// returns the choices that it made.
func (f *frame) finish(w *sim.World) (*sim.World, []scheduler.Choice) {
	var made, choices []scheduler.Choice
	for {
		choices = f.System.Choices(w, choices[:0])
		if len(choices) == 0 {
			return w, made
		}
		c := choices[0] // the clock is last but for faults, of which there is none without a wait
		made = append(made, c)
		w = f.System.Apply(w, c)
	}
}

// run makes a recorded run of the choices, which begin with the setups, and of what the frame ends it with, and returns the choices
// of all. The System has sim.Options.Record.
func (f *frame) run(choices []scheduler.Choice) (*sim.World, []scheduler.Choice, error) {
	w := f.System.Clone(f.System.Initial()[0])
	made := slices.Clone(choices)
	var enabled []scheduler.Choice
	for i, c := range made {
		if enabled = f.System.Choices(w, enabled[:0]); !slices.Contains(enabled, c) {
			if err := w.Err(); err != nil {
				return nil, nil, err
			}
			e := &scheduler.NotEnabled{Step: i, Name: f.System.Name(w, c)}
			for _, c := range enabled {
				e.Enabled = append(e.Enabled, f.System.Name(w, c))
			}
			return nil, nil, e
		}
		w = f.System.Apply(w, c)
	}
	if f.Status(w) == scheduler.Completed {
		var end []scheduler.Choice
		w, end = f.finish(w)
		made = append(made, end...)
	}
	return w, made, w.Err()
}
