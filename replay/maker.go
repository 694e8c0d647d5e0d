package replay

import (
	"fmt"

	"simrun/scheduler"
	"simrun/sim"
)

// Maker makes the runs of one setup on one backend under one strategy. A strategy that looks ahead, or learns, needs a backend
// that can be copied; on another one each run is made on the model first, and its schedule then followed.
type Maker struct {
	System *sim.System
	Runner *scheduler.Runner[*sim.World]

	backend sim.Backend
	model   *Maker    // makes the schedules that are followed; nil when the strategy chooses by itself
	follow  *followed // with model
}

// followed is a strategy that is another one in each run.
type followed struct{ scheduler.Strategy }

// Err is scheduler.Failer's.
func (f *followed) Err() error { return f.Strategy.(scheduler.Failer).Err() }

// NewMaker opens a backend for setup. opts.Footprints is set as the strategy needs it. Whoever asked for the Maker closes it.
func NewMaker(setup *sim.Setup, strategy scheduler.Strategy, open Opener, opts sim.Options) (*Maker, error) {
	backend, err := open(setup)
	if err != nil {
		return nil, err
	}
	m := &Maker{backend: backend}
	if err := m.prepare(setup, strategy, opts); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Maker) prepare(setup *sim.Setup, strategy scheduler.Strategy, opts sim.Options) (err error) {
	_, copies := m.backend.(sim.Cloner)
	learns := scheduler.Learns(strategy)
	demanding := learns || scheduler.MayLookAhead(strategy)
	if demanding && !copies {
		if m.model, err = NewMaker(setup, strategy, sim.NewModel, sim.Options{Lazy: opts.Lazy}); err != nil {
			return err
		}
		m.follow = &followed{scheduler.Follow(nil)}
		strategy, demanding, learns = m.follow, false, false
	}
	opts.Footprints = opts.Footprints || demanding
	if m.System, err = sim.NewSystem(setup, m.backend, opts); err != nil {
		return err
	}
	m.Runner = scheduler.NewRunner(m.System, strategy, scheduler.Limits{Steps: setup.MaxSteps})
	if learns {
		m.Runner.Coverage = scheduler.NewCoverage()
	}
	m.Runner.Plan = &scheduler.Plan{}
	if m.follow == nil {
		m.Runner.Plan, err = PlanOf(setup, strategy, opts.Lazy)
	}
	return err
}

// Close shuts the backend down.
func (m *Maker) Close() error {
	if m.model != nil {
		_ = m.model.Close() // it is memory only
	}
	if m.System != nil {
		m.System.Close()
	}
	return m.backend.Shutdown()
}

// Run makes the run of the seed. Outcome and world are good until the next one. A run that was cut is judged as a whole too. The
// error says why the strategy could not choose; why the world could not go on is World.Err's to say.
func (m *Maker) Run(seed uint64) (*scheduler.Outcome, *sim.World, error) {
	if m.model != nil {
		o, w, err := m.model.Run(seed)
		if err == nil {
			err = w.Err()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("this strategy makes its choices on the model, where the run stops (random does not): %w", err)
		}
		m.follow.Strategy = scheduler.Follow(m.model.Names(o))
	}
	o := m.Runner.Run(seed)
	w := m.Runner.State()
	if o.LimitHit {
		o.Violation.Invariant, o.Violation.Detail = m.System.JudgeRun(w)
	}
	if m.model != nil && o.Err == nil && w.Err() == nil && !o.Failed() && !o.LimitHit && o.Status == scheduler.Running {
		o.Err = fmt.Errorf("after %d choices the model's run is over, and the server's is not", o.Steps())
	}
	return o, w, nil
}

// Names are the choices of the outcome of the last run, by name. The run is made once more for them.
func (m *Maker) Names(o *scheduler.Outcome) []string { return m.Runner.Name(o).Names }

// plain says that a strategy does not look at plans.
func plain(s scheduler.Strategy) bool {
	switch s.Name() {
	case "random", "round-robin", "replay", "replay-loosely":
		return true
	}
	return false
}

// PlanOf returns the plan of a strategy for runs of the setup. It is always measured on the model, so that a seed has one
// schedule on every backend; strategies that do not look at plans get an empty one.
func PlanOf(setup *sim.Setup, strategy scheduler.Strategy, lazy bool) (*scheduler.Plan, error) {
	if plain(strategy) {
		return &scheduler.Plan{}, nil
	}
	model, err := sim.NewModel(setup)
	if err != nil {
		return nil, err
	}
	sys, err := sim.NewSystem(setup, model, sim.Options{Lazy: lazy, Footprints: true})
	if err != nil {
		return nil, err
	}
	defer sys.Close()
	return scheduler.Measure(sys, scheduler.Limits{Steps: setup.MaxSteps}), nil
}
