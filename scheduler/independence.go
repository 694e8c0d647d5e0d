package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Commutation is what CheckFootprints found.
type Commutation struct {
	States      int // visited
	Pairs       int // of choices of different actors, enabled in one of them
	Independent int // that touch nothing in common
	Needless    int // that do, and yet commute
	// Blamed counts, for each object, the needless pairs that have nothing else in common.
	Blamed map[uint64]int
	Wrong  []Mistake // the first few independent pairs that do not commute: mistakes in the footprints
}

// Mistake is a pair of choices whose order matters although their footprints deny it.
type Mistake struct {
	Way  []string // to the state
	A, B string   // the choices
	Why  string
}

// String says it in a line.
func (m Mistake) String() string {
	return fmt.Sprintf("%q and %q touch nothing in common, but %s; after %q", m.A, m.B, m.Why, m.Way)
}

const mistakesMost = 10

// CheckFootprints tests the footprints of sys where reduction relies on them: in each of the first states of a breadth-first
// visit (0: all), every two enabled choices of different actors that touch nothing in common must leave each other enabled, touch
// the same after the other as before, and lead to the same state in either order.
func CheckFootprints[S any](ctx context.Context, sys System[S], states int) (*Commutation, error) {
	c := &commutes[S]{sys: sys, feet: footprinter(sys), result: &Commutation{Blamed: map[uint64]int{}}, seen: map[uint64]bool{}}
	if c.feet == nil {
		return nil, errors.New("this system has no footprints to check")
	}
	c.judge, _ = sys.(Judge[S])
	type item struct {
		state S
		way   []string
	}
	var queue []item
	for _, s := range sys.Initial() {
		c.seen[sys.Fingerprint(s)] = true
		queue = append(queue, item{state: s})
	}
	for len(queue) > 0 && (states == 0 || c.result.States < states) && len(c.result.Wrong) < mistakesMost {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		now := queue[0]
		queue = queue[1:]
		for _, m := range c.expand(now.state, now.way) {
			if fp := sys.Fingerprint(m.after); !c.seen[fp] {
				c.seen[fp] = true
				queue = append(queue, item{m.after, append(slices.Clip(now.way), m.name)})
			}
		}
	}
	return c.result, nil
}

type commutes[S any] struct {
	sys    System[S]
	feet   Footprinter[S]
	judge  Judge[S] // nil when sys is none
	seen   map[uint64]bool
	result *Commutation
}

// move is a choice that was made, with what it touched.
type move[S any] struct {
	choice Choice
	name   string
	feet   Footprint
	after  S
	next   []Choice // enabled afterwards
}

func (c *commutes[S]) make(s S, ch Choice) move[S] {
	m := move[S]{choice: ch, name: c.sys.Name(s, ch)}
	m.after = c.sys.Apply(c.sys.Clone(s), ch)
	f := c.feet.Footprint(m.after)
	m.feet = Footprint{slices.Clone(f.Reads), slices.Clone(f.Writes)}
	if c.judge != nil {
		c.judge.Violation(m.after)
	}
	m.next = c.sys.Choices(m.after, nil)
	return m
}

// expand makes every choice of s, and compares every two.
func (c *commutes[S]) expand(s S, way []string) []move[S] {
	c.result.States++
	var moves []move[S]
	for _, ch := range c.sys.Choices(s, nil) {
		moves = append(moves, c.make(s, ch))
	}
	for i := range moves {
		for j := range i {
			a, b := &moves[j], &moves[i]
			// Reduction sees by itself that a step stops another actor.
			if a.choice.Actor == b.choice.Actor || !canMove(a.next, b.choice.Actor) || !canMove(b.next, a.choice.Actor) {
				continue
			}
			c.result.Pairs++
			why := c.differ(a, b)
			switch {
			case Dependent(a.feet, b.feet):
				if why == "" {
					c.blame(a, b)
				}
			case why != "":
				c.result.Wrong = append(c.result.Wrong, Mistake{way, a.name, b.name, why})
			default:
				c.result.Independent++
			}
		}
	}
	return moves
}

// differ says why the order of two choices matters, "" when it does not.
func (c *commutes[S]) differ(a, b *move[S]) string {
	for _, p := range [][2]*move[S]{{a, b}, {b, a}} {
		if !slices.Contains(p[0].next, p[1].choice) {
			return fmt.Sprintf("after %q the other is not enabled", p[0].name)
		}
	}
	ab, ba := c.make(a.after, b.choice), c.make(b.after, a.choice)
	switch {
	case c.sys.Fingerprint(ab.after) != c.sys.Fingerprint(ba.after):
		return "the order shows in the state"
	case !sameFeet(a.feet, ba.feet):
		return fmt.Sprintf("%q touches something else when it comes second", a.name)
	case !sameFeet(b.feet, ab.feet):
		return fmt.Sprintf("%q touches something else when it comes second", b.name)
	}
	return ""
}

func sameFeet(a, b Footprint) bool {
	return subset(a.Reads, b.Reads) && subset(b.Reads, a.Reads) && subset(a.Writes, b.Writes) && subset(b.Writes, a.Writes)
}

func subset(a, b []uint64) bool {
	for _, x := range a {
		if !holds(b, x) {
			return false
		}
	}
	return true
}

// blame counts a needless dependence for the object that makes it, if that is one.
func (c *commutes[S]) blame(a, b *move[S]) {
	c.result.Needless++
	var common []uint64
	for _, w := range [][3][]uint64{{a.feet.Writes, b.feet.Reads, b.feet.Writes}, {b.feet.Writes, a.feet.Reads, a.feet.Writes}} {
		for _, x := range w[0] {
			if (holds(w[1], x) || holds(w[2], x) || x == 0) && !holds(common, x) {
				common = append(common, x)
			}
		}
	}
	if len(common) == 1 {
		c.result.Blamed[common[0]]++
	}
}
