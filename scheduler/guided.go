package scheduler

// Guided keeps the choices of runs that reached something new, a state or an ordering, and mostly makes mutants of them: it
// cuts the end off, drops or moves a stretch, lets two neighbours change places, or joins the head of one run to the tail of
// another, and goes on at random where the recorded choices end or are not enabled. Coverage-guided fuzzing applied to recorded
// choices, as in Fest, NSDI 2026. What a run does depends on the runs before it: a session is repeatable as a whole, a single
// run by its recorded choices. It needs a Runner with a Coverage.
func Guided() Strategy { return &guided{free: Random()} }

const guidedKept = 256 // recorded runs; the oldest gives way

type guided struct {
	rng    source
	free   Strategy   // makes the choices that no record does
	corpus [][]Choice // in order of arrival, as a ring once full
	oldest int
	script []Choice // what this run tries to follow
	next   int
}

func (*guided) Name() string { return "guided" }

func (s *guided) Begin(seed uint64, plan *Plan) {
	s.free.Begin(seed, plan)
	s.rng.seed(seed, 0x67756964)
	s.script, s.next = s.script[:0], 0
	if len(s.corpus) == 0 || s.rng.below(4) == 0 {
		return // a fresh random run
	}
	s.script = append(s.script, s.corpus[s.rng.below(len(s.corpus))]...)
	for range 1 + s.rng.below(2) {
		s.mutate()
	}
}

func (s *guided) mutate() {
	n := len(s.script)
	if n < 2 {
		return
	}
	switch s.rng.below(5) {
	case 0: // cut the end off
		s.script = s.script[:1+s.rng.below(n-1)]
	case 1: // drop a short stretch
		at := s.rng.below(n)
		end := min(at+1+s.rng.below(4), n)
		s.script = append(s.script[:at], s.script[end:]...)
	case 2: // two neighbours of different actors change places
		at := s.rng.below(n - 1)
		for i := range n - 1 {
			j := (at + i) % (n - 1)
			if s.script[j].Actor != s.script[j+1].Actor {
				s.script[j], s.script[j+1] = s.script[j+1], s.script[j]
				return
			}
		}
	case 3: // one choice happens earlier or later
		from, to := s.rng.below(n), s.rng.below(n)
		c := s.script[from]
		copy(s.script[from:], s.script[from+1:])
		copy(s.script[to+1:], s.script[to:n-1])
		s.script[to] = c
	case 4: // the tail of another run
		other := s.corpus[s.rng.below(len(s.corpus))]
		at := s.rng.below(n)
		s.script = append(s.script[:at], other[min(at, len(other)):]...)
	}
}

func (s *guided) Pick(v *View) int {
	for s.next < len(s.script) {
		c := s.script[s.next]
		s.next++
		for i, e := range v.Choices {
			if e == c {
				return i
			}
		}
	}
	return s.free.Pick(v)
}

// Learn keeps the run if it reached something new.
func (s *guided) Learn(choices []Choice, novel int) {
	if novel == 0 || len(choices) == 0 {
		return
	}
	if len(s.corpus) < guidedKept {
		s.corpus = append(s.corpus, append([]Choice(nil), choices...))
		return
	}
	s.corpus[s.oldest] = append(s.corpus[s.oldest][:0], choices...)
	s.oldest = (s.oldest + 1) % guidedKept
}
