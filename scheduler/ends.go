package scheduler

import (
	"context"
	"slices"
)

// End is a final state of a system.
type End[S any] struct {
	State     S
	Initial   int      // index of the initial state of Choices
	Choices   []Choice // a shortest way there, the first in the order of choices
	Schedules float64  // how many schedules end there
}

// Ends visits the states of sys breadth-first, each once, and returns the distinct final states, the nearest first, with the number
// of schedules that lead to each. It stops with ok false when it has visited more states than states allows (0: any number), when
// ctx ends, or when there are schedules of more than 10,000 choices (a cycle makes endless ones). visited is the number of states.
//
// Search is for systems of many states: Ends keeps the final ones and a way to every state.
func Ends[S any](ctx context.Context, sys System[S], states int) (ends []End[S], visited int, ok bool) {
	e := endSearch[S]{sys: sys, level: map[uint64]int{}, ends: map[uint64]int{}, seen: map[uint64]bool{}}
	e.release, _ = sys.(Releaser[S])
	for i, s := range sys.Initial() {
		e.meet(s, wayTo{parent: -1, initial: i}, 1)
	}
	for depth := 0; len(e.next) > 0; depth++ {
		e.now, e.next = e.next, e.now[:0]
		clear(e.level)
		for _, f := range e.now {
			if depth == stepsDefault || (states > 0 && len(e.seen) > states) || (len(e.seen)%256 == 0 && ctx.Err() != nil) {
				return e.found, len(e.seen), false
			}
			e.expand(f)
		}
	}
	return e.found, len(e.seen), ctx.Err() == nil
}

type endSearch[S any] struct {
	sys       System[S]
	release   Releaser[S] // nil when sys is none
	now, next []reached[S]
	level     map[uint64]int  // fingerprint -> index in next
	seen      map[uint64]bool // fingerprints
	ends      map[uint64]int  // fingerprint -> index in found
	found     []End[S]
	ways      []wayTo
	choices   []Choice
}

// reached is a state of a level, with the number of ways to it that have as many choices as its level is deep.
type reached[S any] struct {
	state S
	fp    uint64
	way   int // index in ways
	count float64
}

// wayTo is the last choice of a way to a state.
type wayTo struct {
	parent  int // index in ways, -1 for an initial state
	initial int
	choice  Choice
}

// meet takes in a state of the next level.
func (e *endSearch[S]) meet(s S, way wayTo, count float64) {
	fp := e.sys.Fingerprint(s)
	if i, known := e.level[fp]; known {
		e.next[i].count += count
		e.drop(s)
		return
	}
	e.seen[fp] = true
	e.level[fp] = len(e.next)
	e.ways = append(e.ways, way)
	e.next = append(e.next, reached[S]{s, fp, len(e.ways) - 1, count})
}

func (e *endSearch[S]) expand(r reached[S]) {
	e.choices = e.sys.Choices(r.state, e.choices[:0])
	if len(e.choices) == 0 {
		e.end(r)
		return
	}
	for i, c := range e.choices {
		s := r.state
		if i < len(e.choices)-1 { // the last choice may use the state up
			s = e.sys.Clone(s)
		}
		e.meet(e.sys.Apply(s, c), wayTo{parent: r.way, initial: e.ways[r.way].initial, choice: c}, r.count)
	}
}

func (e *endSearch[S]) end(r reached[S]) {
	if i, known := e.ends[r.fp]; known {
		e.found[i].Schedules += r.count
		e.drop(r.state)
		return
	}
	var choices []Choice
	for w := r.way; e.ways[w].parent >= 0; w = e.ways[w].parent {
		choices = append(choices, e.ways[w].choice)
	}
	slices.Reverse(choices)
	e.ends[r.fp] = len(e.found)
	e.found = append(e.found, End[S]{State: r.state, Initial: e.ways[r.way].initial, Choices: choices, Schedules: r.count})
}

func (e *endSearch[S]) drop(s S) {
	if e.release != nil {
		e.release.Release(s)
	}
}
