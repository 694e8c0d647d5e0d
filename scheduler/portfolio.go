package scheduler

import "strings"

// Portfolio makes each run with one of several strategies, drawn with the seed: no strategy is best for every bug (Thomson,
// Donaldson and Betts, TOPC 2016, and since then each new one's own evaluation), and a mix is never much worse than its best
// member, by the factor of its share.
func Portfolio(members ...Strategy) Strategy {
	if len(members) == 0 {
		members = []Strategy{Random(), PCT(2), PCT(3), POS(), SURW(), ContextBounded(2)}
	}
	return &portfolio{members: members}
}

type portfolio struct {
	members []Strategy
	now     Strategy
}

func (s *portfolio) Name() string {
	names := make([]string, len(s.members))
	for i, m := range s.members {
		names[i] = m.Name()
	}
	return "portfolio(" + strings.Join(names, ",") + ")"
}

func (s *portfolio) inside() []Strategy { return s.members }

// LooksAhead reports whether the strategy of the present run does.
func (s *portfolio) LooksAhead() bool { return looksAhead(s.now) }

// Chosen returns the name of the strategy that makes the present run.
func (s *portfolio) Chosen() string { return s.now.Name() }

func (s *portfolio) Begin(seed uint64, plan *Plan) {
	s.now = s.members[mix64(seed^0x706f7274)%uint64(len(s.members))]
	s.now.Begin(seed, plan)
}

func (s *portfolio) Pick(v *View) int { return s.now.Pick(v) }

// Learn tells every member that learns, so that they profit from each other's runs.
func (s *portfolio) Learn(choices []Choice, novel int) {
	for _, m := range s.members {
		if l, ok := m.(Learner); ok {
			l.Learn(choices, novel)
		}
	}
}
