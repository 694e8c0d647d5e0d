package scheduler

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Strategy makes the choices of runs, one run after the other. What it does in a run depends on the seed, the plan and the
// views only (and, for one that learns, on the runs that it has learned from).
type Strategy interface {
	// Name is the strategy with its parameters, as a user writes it: "pct(3)".
	Name() string
	// Begin starts a run. The plan is what a few measured runs have shown; the strategy keeps it no longer than the run.
	Begin(seed uint64, plan *Plan)
	// Pick returns the index of the choice to make in v.Choices, or -1 to end the run.
	Pick(v *View) int
}

// Looker is a Strategy that can need View.Pending and View.Made.
type Looker interface {
	// LooksAhead reports, after Begin, whether the run needs them.
	LooksAhead() bool
}

func looksAhead(s Strategy) bool {
	l, ok := s.(Looker)
	return ok && l.LooksAhead()
}

// MayLookAhead reports whether some run of the strategy needs View.Pending and View.Made.
func MayLookAhead(s Strategy) bool {
	return within(s, func(s Strategy) bool { return looksAhead(s) })
}

// Learns reports whether what a run does depends on the runs before it.
func Learns(s Strategy) bool {
	return within(s, func(s Strategy) bool { _, ok := s.(Learner); return ok })
}

// composite is a strategy made of others.
type composite interface{ inside() []Strategy }

// within reports whether a strategy is of a kind or, when it is made of others, one of those is.
func within(s Strategy, is func(Strategy) bool) bool {
	if c, ok := s.(composite); ok {
		return slices.ContainsFunc(c.inside(), func(s Strategy) bool { return within(s, is) })
	}
	return is(s)
}

// Learner is a Strategy that learns from runs. A Runner with a Coverage tells it after each run.
type Learner interface {
	// Learn is told the choices of the run that ended and how many new states and orderings it has reached.
	Learn(choices []Choice, novel int)
}

// Bounder is a Strategy that gives a guarantee.
type Bounder interface {
	// Bound returns the least probability with which one run finds a bug of the kind the strategy promises to find, and
	// the kind in a few words.
	Bound(plan *Plan) (probability float64, of string)
}

// Failer is a Strategy that can end a run because it cannot go on.
type Failer interface {
	// Err returns why Pick returned -1, nil if it meant to.
	Err() error
}

// View is what a strategy sees before it picks.
type View struct {
	Step    int       // steps made so far
	Last    int32     // actor of the last step; -2 before the first
	Choices []Choice  // the enabled choices, at least one
	Made    Footprint // of the last step; for a Looker on a Footprinter, else empty
	// Pending holds for each choice what it would touch; for a Looker on a Footprinter, else empty.
	Pending []Footprint

	names func(i int) string
	fair  Fair // nil: the choices of the environment are faults
}

// Faulty reports whether choice i need never be made: a fault.
func (v *View) Faulty(i int) bool {
	if v.fair != nil {
		return !v.fair.Fair(v.Choices[i])
	}
	return v.Choices[i].Actor == Environment
}

// faults returns how many of the choices are.
func (v *View) faults() int {
	n := 0
	for i := range v.Choices {
		if v.Faulty(i) {
			n++
		}
	}
	return n
}

// NameOf returns the name of choice i. It may allocate: for strategies that go by names.
func (v *View) NameOf(i int) string { return v.names(i) }

// Plan is what measured runs have shown of a system: the parameters of strategies that need to know it beforehand.
type Plan struct {
	Steps   int          // of the longest run
	Counts  []int        // steps of each actor, most over the runs; index 0 is the environment, a+1 is actor a
	Objects []PlanObject // objects that two actors or more touch and one writes, in order of id
}

// PlanObject is an object that actors share.
type PlanObject struct {
	ID     uint64
	Counts []int // steps of each actor that touch it, indexed like Plan.Counts
}

// Actors returns the number of actors that made a step; the environment counts as one.
func (p *Plan) Actors() int {
	n := 0
	for _, c := range p.Counts {
		if c > 0 {
			n++
		}
	}
	return max(n, 1)
}

// source is the one generator that strategies draw from.
type source struct{ pcg rand.PCG }

// seed starts the stream of a strategy: stream keeps the streams of different strategies apart under one seed.
func (r *source) seed(seed, stream uint64) { r.pcg.Seed(seed, mix64(seed^stream)) }

// below returns a number in [0, n), n > 0. The bias, under n/2^64, is far below what any run could show.
func (r *source) below(n int) int {
	hi, _ := bits.Mul64(r.pcg.Uint64(), uint64(n))
	return int(hi)
}

func (r *source) uint64() uint64 { return r.pcg.Uint64() }

// shuffle puts s in random order.
func (r *source) shuffle(s []int) {
	for i := len(s) - 1; i > 0; i-- {
		j := r.below(i + 1)
		s[i], s[j] = s[j], s[i]
	}
}

// weighted returns an index drawn with the weights, -1 when all are zero.
func (r *source) weighted(weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		return -1
	}
	x := r.below(sum)
	for i, w := range weights {
		if x < w {
			return i
		}
		x -= w
	}
	panic("scheduler: weights changed while drawing")
}

// Mix returns x with all its bits mixed into all others: a permutation of the 64-bit numbers (the finalizer of splitmix64,
// Steele, Lea and Flood 2014). A state that fits 64 bits has with it a fingerprint free of collisions.
func Mix(x uint64) uint64 { return mix64(x) }

func mix64(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return x
}

// Dependent reports whether two steps of different actors conflict: one writes what the other reads or writes.
func Dependent(a, b Footprint) bool {
	return holds(a.Writes, 0) || holds(b.Writes, 0) ||
		overlap(a.Writes, b.Writes) || overlap(a.Writes, b.Reads) || overlap(a.Reads, b.Writes)
}

func overlap(a, b []uint64) bool {
	for _, x := range a {
		if holds(b, x) {
			return true
		}
	}
	return false
}

func holds(set []uint64, object uint64) bool {
	for _, x := range set {
		if x == object {
			return true
		}
	}
	return false
}
