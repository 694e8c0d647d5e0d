package scheduler

// SURW samples the interleavings of a few chosen steps uniformly and lets the rest fall as they may: the selectively uniform
// random walk of the paper "Selectively uniform concurrency testing", ASPLOS 2025. Each run chooses one object that actors
// share (all steps, when none is known); the steps that touch it are the chosen ones. Which actor makes the next chosen
// step is drawn with the number that each has left, as measured, and until then the others wait before theirs.
func SURW() Strategy { return pacing(&surw{}) }

type surw struct {
	rng    source
	object uint64 // 0: every step is a chosen one
	left   []int  // chosen steps that each actor has left; index 0 is the environment
	next   int    // index in left of the actor that makes the next chosen step; -1 when nobody is known to
	free   []int  // scratch: the choices that need not wait
}

func (*surw) Name() string     { return "surw" }
func (*surw) LooksAhead() bool { return true }

func (s *surw) Begin(seed uint64, plan *Plan) {
	s.rng.seed(seed, 0x73757277)
	counts := plan.Counts
	s.object = 0
	if n := len(plan.Objects); n > 0 {
		o := &plan.Objects[s.rng.below(n)]
		s.object, counts = o.ID, o.Counts
	}
	s.left = append(s.left[:0], counts...)
	s.next = s.rng.weighted(s.left)
}

func (s *surw) Pick(v *View) int {
	s.free = s.free[:0]
	for i, c := range v.Choices {
		if s.next < 0 || int(c.Actor)+1 == s.next || !s.chosen(v, i) {
			s.free = append(s.free, i)
		}
	}
	var pick int
	if len(s.free) > 0 {
		pick = s.free[s.rng.below(len(s.free))]
	} else { // the drawn actor cannot move and all others wait for it
		pick = s.rng.below(len(v.Choices))
	}
	if s.chosen(v, pick) {
		if a := int(v.Choices[pick].Actor) + 1; a < len(s.left) && s.left[a] > 0 {
			s.left[a]--
		}
		s.next = s.rng.weighted(s.left)
	}
	return pick
}

// chosen reports whether choice i is one of the steps whose order is sampled.
func (s *surw) chosen(v *View, i int) bool {
	if s.object == 0 || len(v.Pending) == 0 {
		return true
	}
	feet := &v.Pending[i]
	return holds(feet.Writes, s.object) || holds(feet.Reads, s.object) || holds(feet.Writes, 0)
}
