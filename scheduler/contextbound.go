package scheduler

import "fmt"

// ContextBounded lets an actor run until it can go no further, and takes the turn from it only at a few random steps: random
// schedules with at most the given number of preemptions, after Musuvathi and Qadeer, "Iterative context bounding for
// systematic testing of multithreaded programs", PLDI 2007. Most bugs need one or two. A choice of the environment is made
// only at such a step, or when no actor can move.
func ContextBounded(preemptions int) Strategy {
	return pacing(&contextBounded{preemptions: max(preemptions, 0)})
}

type contextBounded struct {
	preemptions int
	rng         source
	at          []int // the steps at which the turn is taken, ascending
	done        int
	last        int32 // the actor that has the turn; -2 before the first step
	other       []int // scratch
}

func (s *contextBounded) Name() string { return fmt.Sprintf("context-bounded(%d)", s.preemptions) }

func (s *contextBounded) Begin(seed uint64, plan *Plan) {
	s.rng.seed(seed, 0x637478)
	s.at, s.done, s.last = s.at[:0], 0, -2
	for range s.preemptions {
		s.at = insertSorted(s.at, s.rng.below(max(plan.Steps, 1)))
	}
}

func (s *contextBounded) Pick(v *View) int {
	preempt := false
	for s.done < len(s.at) && s.at[s.done] <= v.Step {
		s.done++
		preempt = true
	}
	if !preempt && s.last != -2 {
		if i := pickOf(&s.rng, v.Choices, s.last); i >= 0 {
			return i
		}
	}
	s.other = s.other[:0]
	for i, c := range v.Choices {
		if c.Actor == s.last || (c.Actor == Environment && !preempt) {
			continue
		}
		s.other = append(s.other, i)
	}
	if len(s.other) == 0 {
		return s.rng.below(len(v.Choices))
	}
	i := s.other[s.rng.below(len(s.other))]
	if a := v.Choices[i].Actor; a != Environment { // after a fault the actor that had the turn keeps it
		s.last = a
	}
	return i
}
