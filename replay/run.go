// Package replay makes single runs, writes failures to files, and runs those again on any backend.
package replay

import (
	"fmt"
	"hash/fnv"

	"simrun/scheduler"
	"simrun/sim"
)

// Opener makes a backend with the schema and the seed of a setup. Whoever asked for it shuts it down.
type Opener func(setup *sim.Setup) (sim.Backend, error)

// Spec says which run to make.
type Spec struct {
	sim.Instance
	Seed     uint64 `json:"seed"`
	Strategy string `json:"strategy"` // as scheduler.ParseStrategy takes it
	Lazy     bool   `json:"lazy,omitempty"`
}

// Run is one run that was made and recorded.
type Run struct {
	Spec
	Setup     *sim.Setup
	Trace     *sim.Trace
	Choices   []string // the schedule by name
	Violation scheduler.Violation
	Status    scheduler.Status
	Witnesses []string
	Cut       bool  // the limit of steps ended the run
	Err       error // why the run could not be made to its end; an *scheduler.NotEnabled when a schedule did not apply
}

// Once makes the run that spec says on a backend of open's, and records it. The error says why it could not begin.
func Once(spec Spec, open Opener) (*Run, error) {
	strategy, err := scheduler.ParseStrategy(spec.Strategy)
	if err != nil {
		return nil, err
	}
	return once(spec, strategy, open)
}

// Follow makes the run that the names of choices say.
func Follow(spec Spec, choices []string, open Opener) (*Run, error) {
	return once(spec, scheduler.Follow(choices), open)
}

func once(spec Spec, strategy scheduler.Strategy, open Opener) (*Run, error) {
	setup, _, err := spec.Build(spec.Seed)
	if err != nil {
		return nil, err
	}
	m, err := NewMaker(setup, strategy, open, sim.Options{Record: true, Locks: true, Lazy: spec.Lazy})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	o, world, err := m.Run(spec.Seed)
	if err != nil {
		return nil, err
	}
	run := &Run{Spec: spec, Setup: setup, Violation: o.Violation, Status: o.Status, Witnesses: o.Witnesses, Cut: o.LimitHit, Err: o.Err}
	if err := world.Err(); err != nil {
		run.Err, run.Violation = err, scheduler.Violation{}
	}
	run.Trace = world.Trace().Clone()
	run.Trace.Cut = o.LimitHit
	run.Choices = run.Trace.Choices()
	return run, nil
}

// Difference is the first step at which two runs are not the same.
type Difference struct {
	Step     int    // index of the step
	Was, Now string // the steps in a line; "" when a run had ended
}

func (d *Difference) Error() string {
	return fmt.Sprintf("step %d differs: it was %q, now it is %q", d.Step, d.Was, d.Now)
}

// Digest is a hash of all the lines and steps of a run and of what it broke: that of another run of the same spec, by any build and
// on any machine, is the same.
func (r *Run) Digest() uint64 {
	h := fnv.New64a()
	for i := range r.Trace.Steps {
		s := &r.Trace.Steps[i]
		fmt.Fprintf(h, "%s\n%016x\n", s.Line(r.Trace.Actors), s.Digest)
	}
	fmt.Fprintf(h, "%s: %s", r.Violation.Invariant, r.Violation.Detail)
	return h.Sum64()
}

// Compare returns the first step at which two runs differ, or nil.
func Compare(a, b *Run) *Difference {
	line := func(r *Run, i int) (string, uint64) {
		if i >= len(r.Trace.Steps) {
			return "", 0
		}
		return r.Trace.Steps[i].Line(r.Trace.Actors), r.Trace.Steps[i].Digest
	}
	for i := range max(len(a.Trace.Steps), len(b.Trace.Steps)) {
		was, wasDigest := line(a, i)
		now, nowDigest := line(b, i)
		if was != now || wasDigest != nowDigest {
			return &Difference{i, was, now}
		}
	}
	if a.Violation != b.Violation {
		return &Difference{len(a.Trace.Steps), a.Violation.Invariant + ": " + a.Violation.Detail, b.Violation.Invariant + ": " + b.Violation.Detail}
	}
	return nil
}
