package scheduler

import (
	"fmt"
	"math"
	"slices"
)

// PCT gives each actor a random priority, always runs the enabled actor with the highest, and at depth-1 random steps lowers
// the priority of the one that would run below all others: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized
// scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010. A bug that needs depth ordering constraints is
// found in one run with probability at least 1/(n*k^(depth-1)), for n actors and k steps. The environment counts as an actor;
// among several choices of one actor PCT picks uniformly.
func PCT(depth int) Strategy { return pacing(&pct{depth: max(depth, 1)}) }

type pct struct {
	depth int
	rng   source
	rank  []int // priority of each actor, index 0 the environment's; the highest runs; starts as 1, 2, 3 ... in random order
	order []int
	at    []lowering // ascending by step
	done  int        // how many of them have passed
}

// lowering is a point of change. Its rank goes with the order in which the points were drawn, not with their steps: the
// guarantee needs every rank at every step.
type lowering struct{ step, rank int }

func (s *pct) Name() string { return fmt.Sprintf("pct(%d)", s.depth) }

// Bound is the guarantee of the paper, with n and k as measured.
func (s *pct) Bound(plan *Plan) (float64, string) {
	n, k := float64(plan.Actors()), float64(max(plan.Steps, 1))
	return 1 / (n * math.Pow(k, float64(s.depth-1))),
		fmt.Sprintf("a bug of depth %d, with %d actors and %d steps", s.depth, plan.Actors(), plan.Steps)
}

func (s *pct) Begin(seed uint64, plan *Plan) {
	s.rng.seed(seed, 0x706374)
	s.rank = resize(s.rank, len(plan.Counts))
	s.order = resize(s.order, len(plan.Counts))
	for i := range s.order {
		s.order[i] = i
	}
	s.rng.shuffle(s.order)
	for p, actor := range s.order {
		s.rank[actor] = p + 1
	}
	s.at, s.done = s.at[:0], 0
	for i := range s.depth - 1 {
		s.at = append(s.at, lowering{s.rng.below(max(plan.Steps, 1)), -i})
	}
	slices.SortStableFunc(s.at, func(a, b lowering) int { return a.step - b.step })
}

func (s *pct) Pick(v *View) int {
	best := s.highest(v)
	for s.done < len(s.at) && s.at[s.done].step <= v.Step {
		s.rank[v.Choices[best].Actor+1] = s.at[s.done].rank
		s.done++
		best = s.highest(v)
	}
	return pickOf(&s.rng, v.Choices, v.Choices[best].Actor)
}

func (s *pct) highest(v *View) int {
	best := 0
	for i, c := range v.Choices {
		for int(c.Actor)+1 >= len(s.rank) { // an actor that the measured runs have not shown
			s.rank = append(s.rank, len(s.rank)+1)
		}
		if s.rank[c.Actor+1] > s.rank[v.Choices[best].Actor+1] {
			best = i
		}
	}
	return best
}

// pickOf returns the index of a choice of the actor, drawn uniformly.
func pickOf(rng *source, choices []Choice, actor int32) int {
	n, first := 0, -1
	for i, c := range choices {
		if c.Actor == actor {
			if first < 0 {
				first = i
			}
			n++
		}
	}
	if n <= 1 {
		return first
	}
	skip := rng.below(n)
	for i, c := range choices {
		if c.Actor == actor {
			if skip == 0 {
				return i
			}
			skip--
		}
	}
	panic("scheduler: choices changed while drawing")
}

func resize(s []int, n int) []int {
	if cap(s) < n {
		return make([]int, n)
	}
	s = s[:n]
	clear(s)
	return s
}

func insertSorted(s []int, x int) []int {
	s = append(s, x)
	for i := len(s) - 1; i > 0 && s[i-1] > s[i]; i-- {
		s[i-1], s[i] = s[i], s[i-1]
	}
	return s
}
