package tla

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// Walk says how a mapping is checked.
type Walk struct {
	Reject          // the changes to make; the zero value makes none
	States   int    // the model's reachable states are visited breadth-first, up to so many; 0 visits none
	Runs     uint64 // seeded runs beside that; when the search was complete they are left out
	Seed     uint64 // the first
	Workers  int
	Strategy string        // "" is the mapping's
	Open     replay.Opener // the backend of the runs; nil is the model
}

// Walked is what came of checking a mapping.
type Walked struct {
	Mapping   string               `json:"mapping"`
	Config    string               `json:"config"`
	Instance  sim.Instance         `json:"instance"`
	States    int                  `json:"states"`   // distinct states of the model visited
	Complete  bool                 `json:"complete"` // these are all
	Runs      uint64               `json:"runs"`
	Steps     uint64               `json:"steps"` // of the runs
	Violation *scheduler.Violation `json:"violation,omitempty"`
	Schedule  []string             `json:"schedule,omitempty"` // the shortest run that is no run of the specification, when search found it
	Seed      uint64               `json:"seed,omitempty"`     // of the run that is none, when a seed did
	Strategy  string               `json:"strategy,omitempty"`
	Reproduce string               `json:"reproduce,omitempty"` // flags of the run
	Coverage  []ActionCoverage     `json:"coverage"`
	Stutters  []Stutter            `json:"stutters"`
	Untaken   []Untaken            `json:"untaken"`
}

// Walk checks that the runs of the mapping's scenario are runs of the specification: breadth-first over the model's reachable
// states as far as the bound, and then by seeded runs.
func (m Mapping) Walk(ctx context.Context, w Walk) (*Walked, error) {
	in := m.Instance
	in.Mutants = w.Mutants
	if w.Variant != "" {
		in.Variant = w.Variant
	}
	in.Params = maps.Clone(in.Params)
	for name, v := range w.Params {
		if in.Params == nil {
			in.Params = map[string]int{}
		}
		in.Params[name] = v
	}
	in, _, err := in.Resolve()
	if err != nil {
		return nil, err
	}
	if w.Strategy == "" {
		w.Strategy = cmp.Or(m.Strategy, "random")
	}
	r, err := m.Refinement()
	if err != nil {
		return nil, err
	}
	out := &Walked{Mapping: m.Name, Config: m.Config, Instance: in}
	if w.States > 0 {
		err = out.search(ctx, in, r, w)
	}
	if err == nil && out.Violation == nil && !out.Complete && w.Runs > 0 {
		err = out.fuzz(ctx, in, r, w)
	}
	out.Coverage, out.Stutters, out.Untaken = r.Coverage(), r.Stutters(), r.Untaken()
	return out, err
}

func (out *Walked) search(ctx context.Context, in sim.Instance, r *Refinement, w Walk) error {
	setup, _, err := in.Build(1)
	if err != nil {
		return err
	}
	setup.Invariants = []sim.Invariant{r.Invariant()}
	backend, err := sim.NewModel(setup)
	if err != nil {
		return err
	}
	defer backend.Shutdown()
	sys, err := sim.NewSystem(setup, backend, sim.Options{Share: true})
	if err != nil {
		return err
	}
	defer sys.Close()
	res, err := scheduler.Search(ctx, sys, scheduler.Options{Bounds: scheduler.Bounds{States: w.States}, Workers: w.Workers, AllowStuck: true})
	if err != nil {
		return err
	}
	out.States, out.Complete = res.States, res.Verdict == scheduler.Held
	if res.Verdict == scheduler.Violated {
		if res.Violation.Invariant == sim.CouldNotRun {
			return fmt.Errorf("%s: %s", out.Mapping, res.Violation.Detail)
		}
		out.Violation, out.Schedule = &res.Violation, res.Schedule.Names
	}
	return nil
}

func (out *Walked) fuzz(ctx context.Context, in sim.Instance, r *Refinement, w Walk) error {
	inner := w.Open
	if inner == nil {
		inner = sim.NewModel
	}
	spec := replay.Spec{Instance: in, Seed: w.Seed, Strategy: w.Strategy}
	report, err := fuzz.Campaign{
		Spec: spec, Runs: w.Runs, Context: ctx, Workers: w.Workers,
		Open: func(setup *sim.Setup) (sim.Backend, error) {
			setup.Invariants = []sim.Invariant{r.Invariant()}
			return inner(setup)
		},
	}.Run()
	if err != nil {
		return err
	}
	out.Runs, out.Steps = report.Runs, report.Steps
	if report.Failed {
		out.Violation, out.Seed, out.Strategy = &report.Violation, report.Seed, w.Strategy
		out.Reproduce = fmt.Sprintf("%s --seed %d", in.Flags(), report.Seed)
	}
	return nil
}
