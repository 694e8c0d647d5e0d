package spec

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"simrun/scheduler"
	"simrun/sim"
)

// Exploration is what Explore found about a selection of steps.
type Exploration struct {
	Steps     string       `json:"steps"`     // Selection.String
	Schedules float64      `json:"schedules"` // interleavings; with the victims of deadlocks and the orders of wake-ups that are open
	States    int          `json:"states"`    // distinct ones visited
	Outcomes  int          `json:"outcomes"`  // that differ in a step's result or in the final state
	Finals    []FinalState `json:"final_states"`
	// Violation is the nearest violation of a check, nil when there is none.
	Violation *CheckViolation `json:"violation,omitempty"`
	// Bounded says that States reached its bound, so that there may be more.
	Bounded bool `json:"bounded,omitempty"`
	// All are the distinct ends that were found, the nearest first.
	All []Outcome `json:"-"`
}

// Outcome is one distinct end.
type Outcome struct {
	Class     Class
	Schedules float64           // that end so
	Results   map[string]string // of each step: its rows "(1, a) (2, b)", command tags and errors
	Tables    []string          // as FinalState.Tables
}

// FinalState is what some schedules leave behind.
type FinalState struct {
	Tables []string `json:"tables,omitempty"` // "name: (1, a) (2, b)", of the tables that the setup made
	Stuck  []string `json:"stuck,omitempty"`  // the steps that wait for ever
	Groups []Group  `json:"groups"`
}

// Group is a part of the schedules that lead to a final state.
type Group struct {
	Class     Class    `json:"class"`
	Order     string   `json:"serial_order,omitempty"` // the serial order that gives the first of the outcomes
	Failures  []string `json:"failures,omitempty"`     // SQLSTATEs that ask for another try, each once
	Violates  string   `json:"violates,omitempty"`     // the check
	Schedules float64  `json:"schedules"`
	Outcomes  int      `json:"outcomes"`
	Example   []string `json:"example"` // the steps of one of them, as they were launched
	Results   []string `json:"results"` // what they got, in the order of sessions
}

// CheckViolation is a schedule after which a check's query returned a row.
type CheckViolation struct {
	Check   string   `json:"check"`
	Detail  string   `json:"detail"`
	Class   Class    `json:"class"`
	Order   string   `json:"serial_order,omitempty"`
	Example []string `json:"example"`
	Choices []string `json:"choices"` // the schedule, for replay
}

// explorer has the worlds of a selection on the model.
type explorer struct {
	sel    *Selection
	setup  *sim.Setup
	search *frame // cloned by searches; tells footprints
	record *frame // records single runs
}

func newExplorer(sel *Selection) (*explorer, error) {
	setup, err := sel.setup()
	if err != nil {
		return nil, err
	}
	x := &explorer{sel: sel, setup: setup}
	for _, f := range []struct {
		frame **frame
		opts  sim.Options
	}{{&x.search, sim.Options{Share: true, Footprints: true}}, {&x.record, sim.Options{Record: true}}} {
		db, err := sim.NewModel(setup)
		if err != nil {
			return nil, refusal(err)
		}
		if *f.frame, err = frameOn(db, setup, f.opts); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func frameOn(db sim.Backend, setup *sim.Setup, opts sim.Options) (*frame, error) {
	sys, err := sim.NewSystem(setup, db, opts)
	if err != nil {
		return nil, err
	}
	return newFrame(sys)
}

// outcome makes a recorded run of choices, which begin with the setups, on the model.
func (x *explorer) outcome(choices []scheduler.Choice) (*outcome, error) {
	return x.outcomeOn(x.record, choices)
}

// outcomeOn makes a recorded run in a frame of the explorer's setup.
func (x *explorer) outcomeOn(f *frame, choices []scheduler.Choice) (*outcome, error) {
	w, _, err := f.run(choices)
	if err != nil {
		return nil, refusal(err)
	}
	o := outcomeOf(x.sel, x.setup, w.Trace())
	if o.setupErr != "" {
		return nil, errors.New(o.setupErr)
	}
	if len(o.stuck) == 0 {
		if o.broken, o.detail = f.System.Violation(w); o.broken == sim.CouldNotRun {
			return nil, refusal(w.Err())
		}
	}
	return o, nil
}

// refusal makes a *Refused of an error that says what the model does not support.
func refusal(err error) error {
	var u *sim.Unsupported
	if errors.As(err, &u) {
		if what, refused := refusedBy(u.Err); refused {
			return fmt.Errorf("%w, in %s", &Refused{Construct: what}, sim.OneLine(u.SQL, 100))
		}
	}
	return err
}

// Explore makes all interleavings of the selection's steps on the model. states bounds how many states are visited; 0 means no
// bound. The error wraps a *Refused when the model does not support a statement.
func Explore(ctx context.Context, sel *Selection, states int) (*Exploration, error) {
	x, err := newExplorer(sel)
	if err != nil {
		return nil, err
	}
	if err := x.try(); err != nil {
		return nil, err
	}
	ends, visited, all := scheduler.Ends(ctx, scheduler.System[*sim.World](x.search), states)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &Exploration{Steps: sel.String(), States: visited, Bounded: !all}
	j := &judge{explorer: x, known: map[string]serials{}}
	outcomes := map[string]bool{}
	nearest := 0
	for _, e := range ends {
		if err := e.State.Err(); err != nil {
			return nil, refusal(err)
		}
		o, err := x.outcome(slices.Concat(x.search.before, e.Choices))
		if err != nil {
			return nil, err
		}
		class, order, err := j.classify(ctx, o)
		if err != nil {
			return nil, err
		}
		outcomes[o.key(nil)] = true
		out.Schedules += e.Schedules
		out.All = append(out.All, Outcome{Class: class, Schedules: e.Schedules, Results: o.byStep(), Tables: o.tables})
		out.group(o, class, order, e.Schedules)
		if v := out.Violation; o.broken != "" && (v == nil || v.Class != ClassRace && class == ClassRace && len(e.Choices) == nearest) {
			nearest = len(e.Choices) // ends are sorted; of those that are as near, a race tells more
			out.Violation = &CheckViolation{Check: o.broken, Detail: o.detail, Class: class, Order: order, Example: o.order, Choices: x.names(e.Choices)}
		}
	}
	out.Outcomes = len(outcomes)
	return out, nil
}

// try sees whether the setups run at all.
func (x *explorer) try() error {
	w, _, err := x.record.run(x.record.before)
	if err != nil {
		return refusal(err)
	}
	if o := outcomeOf(x.sel, x.setup, w.Trace()); o.setupErr != "" {
		return errors.New(o.setupErr)
	}
	return nil
}

// names is the whole schedule of a run by name.
func (x *explorer) names(choices []scheduler.Choice) []string {
	_, made, err := x.record.run(slices.Concat(x.record.before, choices))
	if err != nil {
		panic(fmt.Sprintf("spec: a run cannot be made again: %v", err)) // it was made before
	}
	sys := x.record.System
	return scheduler.NamesOf(scheduler.System[*sim.World](sys), sys.Initial()[0], made)
}

// group adds an outcome to those of its kind.
func (e *Exploration) group(o *outcome, class Class, order string, schedules float64) {
	at := slices.IndexFunc(e.Finals, func(f FinalState) bool { return slices.Equal(f.Tables, o.tables) && slices.Equal(f.Stuck, o.stuck) })
	if at < 0 {
		at = len(e.Finals)
		e.Finals = append(e.Finals, FinalState{Tables: o.tables, Stuck: o.stuck})
	}
	f := &e.Finals[at]
	codes := o.codes()
	for i := range f.Groups {
		if g := &f.Groups[i]; g.Class == class && g.Violates == o.broken && slices.Equal(g.Failures, codes) {
			g.Schedules += schedules
			g.Outcomes++
			return
		}
	}
	f.Groups = append(f.Groups, Group{Class: class, Order: order, Failures: codes, Violates: o.broken, Schedules: schedules, Outcomes: 1,
		Example: o.order, Results: o.results()})
}

// codes are the SQLSTATEs of failures that ask for another try, sorted.
func (o *outcome) codes() []string {
	var codes []string
	for _, steps := range o.sessions {
		for _, s := range steps {
			if again(s.code) {
				codes = append(codes, s.code)
			}
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// byStep is what each step got.
func (o *outcome) byStep() map[string]string {
	got := map[string]string{}
	for _, steps := range o.sessions {
		for _, s := range steps {
			got[s.name] = s.text
		}
	}
	return got
}

// results tells what each step got, in a line each.
func (o *outcome) results() []string {
	var lines []string
	for _, steps := range o.sessions {
		for _, s := range steps {
			lines = append(lines, s.name+" -> "+s.text)
		}
	}
	return lines
}
