package scheduler

// paced spreads faults over the runs of the strategy inside. Where faults (choices that need never be made) are enabled beside
// others, a fault is made with a small probability, any of them; otherwise the strategy inside picks among the others. Left to
// themselves most strategies spend a budget of faults in the first steps, because at every step many faults are possible.
type paced struct {
	Strategy
	pace pace
	part selection
}

// pace decides when a fault is made.
type pace struct {
	rng  source
	gaps int // a fault is made at one step of so many, on average
}

const gapsDefault = 24 // when no run was measured

// begin draws how many faults a run would see: one, two, four or eight.
func (p *pace) begin(seed uint64, plan *Plan) {
	p.rng.seed(seed, 0x70616365)
	steps := plan.Steps
	if steps == 0 {
		steps = gapsDefault
	}
	p.gaps = max(steps>>p.rng.below(4), 2)
}

func (p *pace) due() bool { return p.rng.below(p.gaps) == 0 }

func pacing(inner Strategy) Strategy {
	p := &paced{Strategy: inner}
	if b, ok := inner.(Bounder); ok {
		return &pacedBounder{p, b}
	}
	return p
}

// pacedBounder is paced with a guarantee: that of the strategy inside, for bugs that need no fault and runs that have none.
type pacedBounder struct {
	*paced
	Bounder
}

func (s *paced) inside() []Strategy { return []Strategy{s.Strategy} }

func (s *paced) Begin(seed uint64, plan *Plan) {
	s.pace.begin(seed, plan)
	s.Strategy.Begin(seed, plan)
}

// LooksAhead reports whether the strategy inside does.
func (s *paced) LooksAhead() bool { return looksAhead(s.Strategy) }

func (s *paced) Pick(v *View) int {
	faults := v.faults()
	if faults == 0 || faults == len(v.Choices) {
		return s.Strategy.Pick(v)
	}
	due := s.pace.due()
	s.part.begin(v)
	for i := range v.Choices {
		if v.Faulty(i) == due {
			s.part.add(i)
		}
	}
	if due {
		return s.part.index[s.pace.rng.below(faults)]
	}
	return s.part.pick(s.Strategy)
}

// selection is a view of a part of the choices.
type selection struct {
	whole *View
	view  View
	index []int // of its choices in the whole
}

// begin starts a selection from v, with no choice in it.
func (s *selection) begin(v *View) {
	if s.view.names == nil {
		s.view.names = func(i int) string { return s.whole.NameOf(s.index[i]) }
	}
	p := &s.view
	s.whole, s.index = v, s.index[:0]
	p.Step, p.Last, p.Made, p.fair = v.Step, v.Last, v.Made, v.fair
	p.Choices, p.Pending = p.Choices[:0], p.Pending[:0]
}

// add adds choice i of the whole.
func (s *selection) add(i int) {
	s.view.Choices = append(s.view.Choices, s.whole.Choices[i])
	s.index = append(s.index, i)
	if len(s.whole.Pending) > 0 {
		s.view.Pending = append(s.view.Pending, s.whole.Pending[i])
	}
}

// pick lets the strategy pick from the selection and returns the index in the whole.
func (s *selection) pick(inner Strategy) int {
	i := inner.Pick(&s.view)
	if i < 0 {
		return -1
	}
	return s.index[i]
}
