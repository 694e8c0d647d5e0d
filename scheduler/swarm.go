package scheduler

// Swarm leaves out, run by run, a random part of the kinds of faults: Groce, Zhang, Eide, Chen and
// Regehr, "Swarm testing", ISSTA 2012. A run with few kinds of fault goes deeper into each than one with all of them. The
// strategy inside makes the choices that are left; when only left-out ones are enabled they are enabled after all. To leave
// out actors and sizes as well, a scenario draws them with Features.
func Swarm(inner Strategy) Strategy {
	return &swarm{inner: inner}
}

type swarm struct {
	inner Strategy
	seed  uint64
	part  selection
}

func (s *swarm) Name() string { return "swarm(" + s.inner.Name() + ")" }

func (s *swarm) Begin(seed uint64, plan *Plan) {
	s.seed = mix64(seed ^ 0x737761726d)
	s.inner.Begin(seed, plan)
}

func (s *swarm) inside() []Strategy { return []Strategy{s.inner} }

// LooksAhead reports whether the strategy inside does.
func (s *swarm) LooksAhead() bool { return looksAhead(s.inner) }

func (s *swarm) Pick(v *View) int {
	s.part.begin(v)
	for i, c := range v.Choices {
		if v.Faulty(i) && mix64(s.seed+uint64(uint32(c.Kind)))&1 == 0 {
			continue
		}
		s.part.add(i)
	}
	if len(s.part.index) == 0 {
		return s.inner.Pick(v)
	}
	return s.part.pick(s.inner)
}

// Learn passes on to the strategy inside.
func (s *swarm) Learn(choices []Choice, novel int) {
	if l, ok := s.inner.(Learner); ok {
		l.Learn(choices, novel)
	}
}

// Features draws a part of the features for one run: each with probability one half, and one at least. The order is kept.
func Features[T any](seed uint64, features []T) []T {
	if len(features) == 0 {
		return nil
	}
	var rng source
	rng.seed(seed, 0x66656174)
	kept := make([]T, 0, len(features))
	for _, f := range features {
		if rng.below(2) == 1 {
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 {
		kept = append(kept, features[rng.below(len(features))])
	}
	return kept
}
