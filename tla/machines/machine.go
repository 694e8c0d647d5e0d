// Package machines has each specification of tla/ once more, as a state machine in Go at the specification's own level: the same
// variables, the same actions, the same constants, read from the same .cfg. Searched by the scheduler, a machine must have as
// many distinct states as TLC finds and break what TLC finds broken, which checks the two against each other; and it shows how
// the two searches compare in time and memory on the very same state space.
package machines

import (
	"context"
	"fmt"
	"slices"

	"simrun/scheduler"
	"simrun/tla"
)

// spec is a specification over states S, small structs of numbers.
type spec[S comparable] interface {
	// initial returns the initial states.
	initial() []S
	// next calls emit for each step from s.
	next(s S, emit func(action string, to S))
	// invariant names an invariant that s breaks, "" when it breaks none.
	invariant(s S) string
	// property names an action property that the step breaks, "" when it breaks none.
	property(from, to S) string
	// properties names all action properties.
	properties() []string
	// words packs s into words, different for different states.
	words(s S) [3]uint64
}

// state is a state of a specification, or what a step that breaks an action property leads to.
type state[S comparable] struct {
	S      S
	Broken uint8 // index of the broken property in properties, from 1
}

// step is a step from the state that a machine looked at last.
type step[S comparable] struct {
	action string
	to     S
}

// machine is a specification as a scheduler.System. It keeps the steps of the state that it looked at last.
type machine[S comparable] struct {
	spec  spec[S]
	last  S
	steps []step[S]
	known bool
}

func newMachine[S comparable](s spec[S]) *machine[S] { return &machine[S]{spec: s} }

// Initial is scheduler.System's.
func (m *machine[S]) Initial() []state[S] {
	var out []state[S]
	for _, s := range m.spec.initial() {
		out = append(out, state[S]{S: s})
	}
	return out
}

func (m *machine[S]) look(s S) {
	if m.known && s == m.last {
		return
	}
	m.last, m.known, m.steps = s, true, m.steps[:0]
	m.spec.next(s, func(action string, to S) { m.steps = append(m.steps, step[S]{action, to}) })
}

// Choices is scheduler.System's: each step of the specification is a choice.
func (m *machine[S]) Choices(s state[S], buf []scheduler.Choice) []scheduler.Choice {
	if s.Broken != 0 {
		return buf
	}
	m.look(s.S)
	for i := range m.steps {
		buf = append(buf, scheduler.Choice{Value: int32(i)})
	}
	return buf
}

// Apply is scheduler.System's.
func (m *machine[S]) Apply(s state[S], c scheduler.Choice) state[S] {
	m.look(s.S)
	to := m.steps[c.Value].to
	if broken := m.spec.property(s.S, to); broken != "" {
		return state[S]{to, uint8(slices.Index(m.spec.properties(), broken) + 1)}
	}
	return state[S]{S: to}
}

// Clone is scheduler.System's: states have no pointers.
func (m *machine[S]) Clone(s state[S]) state[S] { return s }

// Fork is scheduler.Forker's.
func (m *machine[S]) Fork() scheduler.System[state[S]] { return newMachine(m.spec) }

// Fingerprint is scheduler.System's.
func (m *machine[S]) Fingerprint(s state[S]) uint64 {
	w := m.spec.words(s.S)
	return scheduler.Mix(scheduler.Mix(scheduler.Mix(w[0]+uint64(s.Broken)<<56)+w[1]) + w[2])
}

// Name is scheduler.System's.
func (m *machine[S]) Name(s state[S], c scheduler.Choice) string {
	m.look(s.S)
	return fmt.Sprintf("%s #%d", m.steps[c.Value].action, c.Value)
}

// Violation is scheduler.Judge's.
func (m *machine[S]) Violation(s state[S]) (invariant, detail string) {
	if s.Broken != 0 {
		return m.spec.properties()[s.Broken-1], "by the step that leads to this state"
	}
	return m.spec.invariant(s.S), fmt.Sprintf("%+v", s.S)
}

// Status is scheduler.Judge's: a state without steps is an end, as CHECK_DEADLOCK FALSE says.
func (m *machine[S]) Status(state[S]) scheduler.Status { return scheduler.Completed }

// Witnesses is scheduler.Judge's.
func (m *machine[S]) Witnesses(_ state[S], buf []string) []string { return buf }

// Search visits every state of a configuration's machine, breadth-first.
func Search(ctx context.Context, c tla.Config, o scheduler.Options) (*scheduler.Result, error) {
	k, err := read(c)
	if err != nil {
		return nil, err
	}
	switch c.Spec {
	case "RingLockOrder":
		s, err := newLockOrder(k)
		return search(ctx, s, err, o)
	case "RingCursor":
		s, err := newCursor(k)
		return search(ctx, s, err, o)
	case "DeadTuples":
		s, err := newDeadTuples(k)
		return search(ctx, s, err, o)
	case "PostingsMembership":
		s, err := newMembership(k)
		return search(ctx, s, err, o)
	case "CommitSaga":
		s, err := newSaga(k)
		return search(ctx, s, err, o)
	}
	return nil, fmt.Errorf("the specification %s has no machine", c.Spec)
}

func search[S comparable](ctx context.Context, s spec[S], err error, o scheduler.Options) (*scheduler.Result, error) {
	if err != nil {
		return nil, err
	}
	return scheduler.Search[state[S]](ctx, newMachine(s), o)
}
