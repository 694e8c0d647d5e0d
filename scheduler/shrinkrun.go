package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// ShrinkOptions say how to shrink a failing run.
type ShrinkOptions struct {
	Limits
	Tries int // most runs; 0 means 20,000
	// SearchStates bounds a breadth-first search for a still shorter schedule when the passes are done; 0 means 20,000
	// states, -1 none.
	SearchStates int
	Workers      int // of that search
}

const searchStatesDefault = 20_000

// ShrinkRun makes a failing run of sys small: it runs candidates of Shrink on sys, from the same initial state, until no pass
// helps, and then looks breadth-first whether a shorter one is near the beginning. The outcome breaks the same invariant.
func ShrinkRun[S any](ctx context.Context, sys System[S], initial int, names []string, opt ShrinkOptions) (*Outcome, *Shrunk, error) {
	limits := opt.Limits
	first := runNames(sys, initial, names, limits, nil)
	if first.Violation.Invariant == "" {
		return nil, nil, errors.New("the run to shrink does not fail")
	}
	known := newNameBook()
	known.learn(first)
	shrunk := Shrink(ctx, first.Names, Shrinking{Choice: known.choice, Smaller: known.smaller, Tries: opt.Tries},
		func(candidate []string) ([]string, bool) {
			o := runNames(sys, initial, candidate, limits, known)
			if o.Violation.Invariant != first.Violation.Invariant {
				return nil, false
			}
			known.learn(o)
			limits.Steps = max(len(o.Choices), 1) // a longer run is no better
			return o.Names, true
		})
	if opt.SearchStates >= 0 && len(shrunk.Names) > 1 {
		better, err := searchShorter(ctx, sys, initial, first.Violation.Invariant, shrunk.Names, opt)
		if err != nil {
			return nil, nil, err
		}
		if better != nil {
			shrunk.Names = better
			shrunk.Passes = append(shrunk.Passes, PassCount{"search", 1, 1})
		}
	}
	last := runNames(sys, initial, shrunk.Names, opt.Limits, nil)
	if last.Violation.Invariant != first.Violation.Invariant {
		return nil, nil, fmt.Errorf("the shrunk run does not fail again: Apply or Choices depend on something besides the state")
	}
	return last, shrunk, nil
}

// runNames runs a schedule tolerantly.
func runNames[S any](sys System[S], initial int, names []string, limits Limits, book *nameBook) *Outcome {
	r := NewRunner(sys, FollowLoosely(names), limits)
	r.Plan = &Plan{}
	if book != nil {
		book.watch(&r.view)
	}
	o := r.RunFrom(0, initial)
	return r.Name(o)
}

// searchShorter looks for a schedule that breaks the invariant and is shorter than names; nil when there is none within bounds.
func searchShorter[S any](ctx context.Context, sys System[S], initial int, invariant string, names []string, opt ShrinkOptions) ([]string, error) {
	states := cmp.Or(opt.SearchStates, searchStatesDefault)
	only := &narrowed[S]{System: sys, initial: initial, invariant: invariant}
	only.judge, _ = sys.(Judge[S])
	r, err := Search[S](ctx, only, Options{Bounds: Bounds{States: states, Depth: len(names) - 1}, Workers: opt.Workers,
		AllowStuck: invariant != Deadlock})
	if err != nil || r.Verdict != Violated || len(r.Schedule.Names) >= len(names) {
		return nil, err
	}
	return r.Schedule.Names, nil
}

// narrowed is a system from one initial state that is judged by one invariant.
type narrowed[S any] struct {
	System[S]
	judge     Judge[S]
	initial   int
	invariant string
}

func (n *narrowed[S]) Initial() []S { return n.System.Initial()[n.initial : n.initial+1] }

func (n *narrowed[S]) Violation(s S) (string, string) {
	if n.judge == nil {
		return "", ""
	}
	if name, detail := n.judge.Violation(s); name == n.invariant {
		return name, detail
	}
	return "", ""
}

func (n *narrowed[S]) Status(s S) Status {
	if n.judge == nil {
		return Completed
	}
	return n.judge.Status(s)
}

func (n *narrowed[S]) Witnesses(_ S, buf []string) []string { return buf }

func (n *narrowed[S]) Fork() System[S] {
	f := *n
	if g, ok := n.System.(Forker[S]); ok {
		f.System = g.Fork()
		f.judge, _ = f.System.(Judge[S])
	}
	return &f
}

// nameBook knows the choices of the names that runs have shown.
type nameBook struct {
	choices map[string]Choice
	kinds   map[[2]int32][]string // names by actor and kind, in order of value
}

func newNameBook() *nameBook {
	return &nameBook{choices: map[string]Choice{}, kinds: map[[2]int32][]string{}}
}

func (b *nameBook) choice(name string) (Choice, bool) {
	c, ok := b.choices[name]
	return c, ok
}

func (b *nameBook) add(name string, c Choice) {
	if _, ok := b.choices[name]; ok {
		return
	}
	b.choices[name] = c
	k := [2]int32{c.Actor, c.Kind}
	b.kinds[k] = append(b.kinds[k], name)
	slices.SortStableFunc(b.kinds[k], func(x, y string) int { return cmp.Compare(b.choices[x].Value, b.choices[y].Value) })
}

func (b *nameBook) learn(o *Outcome) {
	for i, n := range o.Names {
		b.add(n, o.Choices[i])
	}
}

// watch learns the names that a run looks at, also of choices that it does not make.
func (b *nameBook) watch(v *View) {
	names := v.names
	v.names = func(i int) string {
		n := names(i)
		b.add(n, v.Choices[i])
		return n
	}
}

// smaller returns the names of the same actor and kind with smaller values, the smallest first.
func (b *nameBook) smaller(name string) []string {
	c, ok := b.choices[name]
	if !ok {
		return nil
	}
	var all []string
	for _, n := range b.kinds[[2]int32{c.Actor, c.Kind}] {
		if b.choices[n].Value < c.Value {
			all = append(all, n)
		}
	}
	return all
}
