package scheduler

import "slices"

// Limits bound a run.
type Limits struct {
	Steps      int  // most steps; 0 means 10,000
	AllowStuck bool // a Stuck end is no violation
}

const stepsDefault = 10_000

// Outcome is what a run came to.
type Outcome struct {
	Seed      uint64
	Strategy  string    // the member's name when a portfolio made the run
	Initial   int       // index of the initial state
	Choices   []Choice  // the schedule
	Names     []string  // the schedule by name; filled by Run, and by Runner.Name
	Status    Status    // of the last state; Running when a limit or a violation ended the run
	Violation Violation // the first one; its Invariant is "" when there was none
	Witnesses []string  // seen at least once, in order of appearance
	LimitHit  bool      // Limits.Steps ended the run
	NewStates int       // states and orderings that the Runner's Coverage had not seen
	Err       error     // why the strategy could not go on
}

// Steps returns the number of steps made.
func (o *Outcome) Steps() int { return len(o.Choices) }

// Failed reports whether the run ended in a violation.
func (o *Outcome) Failed() bool { return o.Violation.Invariant != "" }

// Runner makes runs of one system under one strategy. It reuses its memory: the loop itself allocates nothing. A Runner
// is used by one goroutine at a time.
type Runner[S any] struct {
	// OnStep, when set, sees each state right after the step that led to it, before it is judged.
	OnStep func(step int, c Choice, s S)
	// Coverage, when set, counts what the runs reach, over all runs.
	Coverage *Coverage
	// Plan is what the strategy is told; nil means that Run measures it first.
	Plan *Plan

	sys      System[S]
	strategy Strategy
	limits   Limits
	judge    Judge[S]       // nil when sys is none
	feet     Footprinter[S] // nil when sys is none
	ahead    lookahead[S]
	initial  []S // never stepped: runs begin with clones

	state   S // the state that the view shows
	view    View
	outcome Outcome
}

// NewRunner returns a Runner for sys.
func NewRunner[S any](sys System[S], strategy Strategy, limits Limits) *Runner[S] {
	if limits.Steps == 0 {
		limits.Steps = stepsDefault
	}
	r := &Runner[S]{sys: sys, strategy: strategy, limits: limits, initial: sys.Initial()}
	r.judge, _ = sys.(Judge[S])
	r.feet = footprinter(sys)
	r.ahead = newLookahead(sys, r.feet)
	r.view.fair, _ = sys.(Fair)
	r.view.names = func(i int) string { return r.sys.Name(r.state, r.view.Choices[i]) }
	return r
}

// Run makes one run of sys and returns its outcome, with the choices by name.
func Run[S any](sys System[S], strategy Strategy, limits Limits, seed uint64) Outcome {
	r := NewRunner(sys, strategy, limits)
	o := r.Run(seed)
	r.Name(o)
	return *o
}

// Run makes one run. The outcome is good until the next one. With several initial states the seed says which.
func (r *Runner[S]) Run(seed uint64) *Outcome {
	return r.RunFrom(seed, int(mix64(seed^0x696e6974)%uint64(len(r.initial))))
}

// RunFrom makes one run from the initial state of that index: a replay names the one that its outcome had.
func (r *Runner[S]) RunFrom(seed uint64, initial int) *Outcome {
	if r.Plan == nil {
		r.Plan = Measure(r.sys, r.limits)
	}
	o := &r.outcome
	*o = Outcome{Seed: seed, Initial: initial, Choices: o.Choices[:0], Witnesses: o.Witnesses[:0]}
	r.strategy.Begin(seed, r.Plan)
	looking := r.feet != nil && looksAhead(r.strategy)
	r.ahead.reset()
	r.state = r.sys.Clone(r.initial[initial])
	v := &r.view
	v.Last, v.Made, v.Pending = -2, Footprint{}, nil
	if r.Coverage != nil {
		r.Coverage.begin()
		r.see(o)
	}
	for r.judgeState(o) {
		v.Choices = r.sys.Choices(r.state, v.Choices[:0])
		if len(v.Choices) == 0 {
			r.end(o)
			break
		}
		if len(o.Choices) == r.limits.Steps {
			o.LimitHit = true
			break
		}
		v.Step = len(o.Choices)
		if looking {
			v.Pending = r.ahead.pending(r.state, v)
		}
		i := r.strategy.Pick(v)
		if i < 0 {
			if f, ok := r.strategy.(Failer); ok {
				o.Err = f.Err()
			}
			break
		}
		c := v.Choices[i]
		r.state = r.sys.Apply(r.state, c)
		o.Choices = append(o.Choices, c)
		v.Last = c.Actor
		if looking {
			v.Made = r.ahead.made(r.feet.Footprint(r.state))
		}
		if r.OnStep != nil {
			r.OnStep(v.Step, c, r.state)
		}
		if r.judge != nil {
			r.witness(o)
		}
		if r.Coverage != nil {
			r.see(o)
		}
	}
	if r.Coverage != nil {
		o.NewStates += r.Coverage.end()
		if l, ok := r.strategy.(Learner); ok {
			l.Learn(o.Choices, o.NewStates)
		}
	}
	return o
}

// State returns the state that the last run ended in.
func (r *Runner[S]) State() S { return r.state }

// judgeState reports whether the run may go on, that is, whether the state breaks no invariant.
func (r *Runner[S]) judgeState(o *Outcome) bool {
	if r.judge == nil {
		return true
	}
	o.Violation.Invariant, o.Violation.Detail = r.judge.Violation(r.state)
	return o.Violation.Invariant == ""
}

// end says what the final state is.
func (r *Runner[S]) end(o *Outcome) {
	o.Status = Completed
	if r.judge == nil {
		return
	}
	o.Status = r.judge.Status(r.state)
	if o.Status == Running {
		panic("scheduler: a state without choices has status running")
	}
	if o.Status == Stuck && !r.limits.AllowStuck {
		o.Violation = Violation{Deadlock, stuckDetail}
	}
}

const stuckDetail = "no choice is left, and an actor is not done"

func (r *Runner[S]) witness(o *Outcome) {
	n := len(o.Witnesses)
	o.Witnesses = r.judge.Witnesses(r.state, o.Witnesses)
	fresh := o.Witnesses[n:]
	o.Witnesses = o.Witnesses[:n]
	for _, w := range fresh {
		if !slices.Contains(o.Witnesses, w) {
			o.Witnesses = append(o.Witnesses, w)
		}
	}
}

func (r *Runner[S]) see(o *Outcome) {
	if r.Coverage.state(r.sys.Fingerprint(r.state)) {
		o.NewStates++
	}
	if r.feet != nil && len(o.Choices) > 0 {
		r.Coverage.step(o.Choices[len(o.Choices)-1], r.feet.Footprint(r.state))
	}
}

// Name fills o.Names, by making the choices of o once more, and returns o.
func (r *Runner[S]) Name(o *Outcome) *Outcome {
	o.Strategy = r.strategy.Name()
	if p, ok := r.strategy.(interface{ Chosen() string }); ok {
		o.Strategy = p.Chosen()
	}
	o.Names = NamesOf(r.sys, r.sys.Clone(r.initial[o.Initial]), o.Choices)
	return o
}

// NamesOf returns the names of the choices, made one after the other from s, which it uses up.
func NamesOf[S any](sys System[S], s S, choices []Choice) []string {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = sys.Name(s, c)
		s = sys.Apply(s, c)
	}
	return names
}
