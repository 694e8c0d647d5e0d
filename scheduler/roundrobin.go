package scheduler

// RoundRobin lets the actors take turns, in order of their numbers, one step each; the seed only says who begins. It is the
// schedule a fair server would give, and finds nothing that needs more: a floor for comparisons.
func RoundRobin() Strategy { return pacing(&roundRobin{}) }

type roundRobin struct {
	rng  source
	next int32 // the actor whose turn it is; the environment's turn never comes while an actor can move
}

func (*roundRobin) Name() string { return "round-robin" }

func (s *roundRobin) Begin(seed uint64, plan *Plan) {
	s.rng.seed(seed, 0x726f756e)
	s.next = int32(s.rng.below(max(len(plan.Counts)-1, 1)))
}

func (s *roundRobin) Pick(v *View) int {
	best, wrapped := -1, -1
	for i, c := range v.Choices {
		switch {
		case c.Actor == Environment:
		case c.Actor >= s.next:
			if best < 0 || c.Actor < v.Choices[best].Actor {
				best = i
			}
		case wrapped < 0 || c.Actor < v.Choices[wrapped].Actor:
			wrapped = i
		}
	}
	if best < 0 {
		best = wrapped
	}
	if best < 0 {
		return 0 // only the environment can move
	}
	s.next = v.Choices[best].Actor + 1
	return best
}
