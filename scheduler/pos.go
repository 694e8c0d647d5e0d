package scheduler

// POS gives each pending choice a random priority, makes the one with the highest, and then draws anew for those that race
// with it: Yuan, Yang and Gu, "Partial order aware concurrency sampling", CAV 2018. Orders of steps that do not conflict
// cost it nothing, so it samples the classes of equivalent schedules far more evenly than a random walk. On a System that
// is no Footprinter it cannot tell which choices race, and keeps the priorities of all.
func POS() Strategy { return pacing(&pos{}) }

type pos struct {
	rng     source
	pending []priority // of choices that are or were enabled and not made since
}

type priority struct {
	choice Choice
	value  uint64
}

func (*pos) Name() string     { return "pos" }
func (*pos) LooksAhead() bool { return true }

func (s *pos) Begin(seed uint64, _ *Plan) {
	s.rng.seed(seed, 0x706f73)
	s.pending = s.pending[:0]
}

func (s *pos) Pick(v *View) int {
	best, high := -1, uint64(0)
	for i, c := range v.Choices {
		at := s.find(c)
		if at < 0 {
			at = len(s.pending)
			s.pending = append(s.pending, priority{c, s.rng.uint64()})
		} else if v.Step > 0 && len(v.Pending) > 0 && Dependent(v.Made, v.Pending[i]) {
			s.pending[at].value = s.rng.uint64()
		}
		if best < 0 || s.pending[at].value > high {
			best, high = i, s.pending[at].value
		}
	}
	s.forget(v.Choices[best])
	return best
}

func (s *pos) find(c Choice) int {
	for i := range s.pending {
		if s.pending[i].choice == c {
			return i
		}
	}
	return -1
}

// forget drops what the actor of c had pending: c is made, its alternatives are gone. The environment's other choices stay.
func (s *pos) forget(c Choice) {
	kept := s.pending[:0]
	for _, p := range s.pending {
		if p.choice != c && (c.Actor == Environment || p.choice.Actor != c.Actor) {
			kept = append(kept, p)
		}
	}
	s.pending = kept
}
