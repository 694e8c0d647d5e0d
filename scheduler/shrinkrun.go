package scheduler

import (
	"cmp"
	"context"
	"errors"
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
	c := newCandidates(sys, initial, opt.Limits)
	first := c.run(names)
	if !first.Failed() {
		return nil, nil, errors.New("the run to shrink does not fail")
	}
	invariant := first.Violation.Invariant
	shrunk := Shrink(ctx, first.Names, Shrinking{Choice: c.book.choice, Smaller: c.book.smaller, Tries: opt.Tries},
		func(candidate []string) ([]string, bool) {
			o := c.run(candidate)
			if o.Violation.Invariant != invariant {
				return nil, false
			}
			c.runner.limits.Steps = max(o.Steps(), 1) // a longer run is no better
			return o.Names, true
		})
	if opt.SearchStates >= 0 && len(shrunk.Names) > 1 {
		better, err := searchShorter(ctx, sys, initial, invariant, shrunk.Names, opt)
		if err != nil {
			return nil, nil, err
		}
		if better != nil {
			shrunk.Names = better
			shrunk.Passes = append(shrunk.Passes, PassCount{"search", 1, 1})
		}
	}
	last := *newCandidates(sys, initial, opt.Limits).run(shrunk.Names)
	if last.Violation.Invariant != invariant {
		return nil, nil, errors.New("the shrunk run does not fail again: Apply or Choices depend on something besides the state")
	}
	return &last, shrunk, nil
}

// candidates runs schedules tolerantly and remembers the names it comes across.
type candidates[S any] struct {
	runner  *Runner[S]
	follow  *follow
	initial int
	book    *nameBook
}

func newCandidates[S any](sys System[S], initial int, limits Limits) *candidates[S] {
	c := &candidates[S]{follow: &follow{}, initial: initial, book: newNameBook()}
	c.runner = NewRunner[S](sys, c.follow, limits)
	c.runner.Plan = &Plan{}
	view := &c.runner.view
	names := view.names
	view.names = func(i int) string { // also of choices that are not made
		n := names(i)
		c.book.add(n, view.Choices[i])
		return n
	}
	return c
}

// run makes one run. The outcome is good until the next.
func (c *candidates[S]) run(names []string) *Outcome {
	c.follow.names = names
	o := c.runner.RunFrom(0, c.initial)
	o.Strategy, o.Names = c.follow.Name(), slices.Clone(c.follow.made)
	return o
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
