package simtest

import (
	"fmt"
	"slices"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// arena is a system on which runs of one setup are made.
type arena struct {
	setup   *sim.Setup
	sys     *sim.System
	runner  *scheduler.Runner[*sim.World]
	picker  *picker
	backend sim.Backend
}

// stage holds the arenas of a test.
type stage struct {
	kept map[string]*arena // of setups that no seed changes
	last *arena            // of a setup that its seed has drawn
}

// arena returns the one of the spec.
func (x *test) arena(spec replay.Spec) (*arena, error) {
	key := spec.Flags()
	if a := x.stage.kept[key]; a != nil {
		return a, nil
	}
	setup, drawn, err := spec.Build(spec.Seed)
	if err != nil {
		return nil, err
	}
	a := &arena{setup: setup, picker: &picker{}}
	if a.backend, err = x.open(setup); err != nil {
		return nil, err
	}
	record := slices.ContainsFunc(setup.Invariants, func(i sim.Invariant) bool { return i.Kind == sim.WholeRun })
	if a.sys, err = sim.NewSystem(setup, a.backend, sim.Options{Record: record, Lazy: x.lazy, Share: !drawn}); err != nil {
		return nil, err
	}
	a.runner = scheduler.NewRunner(a.sys, a.picker, scheduler.Limits{Steps: setup.MaxSteps})
	a.runner.Plan = &scheduler.Plan{}
	if !drawn {
		x.stage.kept[key] = a
	} else {
		x.stage.last.close()
		x.stage.last = a
	}
	return a, nil
}

// close gives the arenas' backends back.
func (x *test) close() {
	x.stage.last.close()
	for _, a := range x.stage.kept {
		a.close()
	}
	clear(x.stage.kept)
	x.stage.last = nil
}

func (a *arena) close() {
	if a != nil {
		a.sys.Close()
		_ = a.backend.Shutdown()
	}
}

// run makes one run by the choices of pick, and judges it. The error says why it could not be made.
func (x *test) run(a *arena, pick func(names []string) int) (names []string, v scheduler.Violation, err error) {
	a.picker.pick = pick
	a.picker.made = a.picker.made[:0]
	o := a.runner.Run(0)
	w := a.runner.State()
	if err := w.Err(); err != nil {
		return a.picker.made, scheduler.Violation{}, fmt.Errorf("the run could not be made: %w", err)
	}
	if o.LimitHit {
		o.Violation.Invariant, o.Violation.Detail = a.sys.JudgeRun(w)
	}
	x.count(w, a.setup, o.Witnesses)
	a.sys.Trim()
	return slices.Clone(a.picker.made), o.Violation, nil
}

// picker is a strategy whose choices a function makes. Choices are shown to it in the order in which shrinking should end at
// them: the actor that moved last goes on, another actor moves, the environment acts, a fault happens.
type picker struct {
	pick  func(names []string) int
	made  []string
	order []int
	names []string
}

// Name is scheduler.Strategy's.
func (p *picker) Name() string { return "drawn" }

// Begin is scheduler.Strategy's.
func (p *picker) Begin(uint64, *scheduler.Plan) {}

// Pick is scheduler.Strategy's.
func (p *picker) Pick(v *scheduler.View) int {
	p.order, p.names = p.order[:0], p.names[:0]
	for rank := range 4 {
		for i := range v.Choices {
			if rankOf(v, i) == rank {
				p.order = append(p.order, i)
				p.names = append(p.names, v.NameOf(i))
			}
		}
	}
	k := 0
	if len(p.order) > 1 {
		k = p.pick(p.names)
	}
	p.made = append(p.made, p.names[k])
	return p.order[k]
}

func rankOf(v *scheduler.View, i int) int {
	switch c := v.Choices[i]; {
	case v.Faulty(i):
		return 3
	case c.Actor == scheduler.Environment:
		return 2
	case c.Actor != v.Last:
		return 1
	}
	return 0
}
