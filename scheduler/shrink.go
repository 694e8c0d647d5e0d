package scheduler

import (
	"context"
	"slices"
)

// Shrinking is what Shrink needs to know besides the test.
type Shrinking struct {
	// Choice returns the choice that a name stands for; ok is false for a name never seen. It tells the passes which actor
	// moves, what is a fault, and which values there are.
	Choice func(name string) (c Choice, ok bool)
	// Smaller, when set, returns names that may stand in place of one: the same choice with a smaller parameter.
	Smaller func(name string) []string
	Tries   int // most tests; 0 means 20,000
}

// Shrunk is what shrinking came to.
type Shrunk struct {
	Names  []string
	Tries  int
	Passes []PassCount // how often each pass helped, in the order of passes
	Cut    bool        // Tries or the context ended it before no pass helped any more
}

// PassCount says how often a pass was tried and how often it made the schedule better.
type PassCount struct {
	Name   string
	Tries  int
	Helped int
}

// Shrink makes a failing schedule smaller, as long as it fails. Better is, in this order: shorter, fewer faults, fewer switches
// between actors, fewer actors, smaller values. Test runs a candidate, tolerantly (FollowLoosely), and returns the schedule
// that really ran, up to the failure, and whether it failed in the same way.
//
// The passes are those of delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002)
// on choices, with what a schedule has besides: actors, faults, turns and values.
func Shrink(ctx context.Context, start []string, opt Shrinking, test func(candidate []string) (ran []string, fails bool)) *Shrunk {
	if opt.Tries == 0 {
		opt.Tries = 20_000
	}
	s := &shrinker{Shrinking: opt, ctx: ctx, test: test, tried: map[uint64]bool{}, result: &Shrunk{}}
	s.now = slices.Clone(start)
	s.cost = s.costOf(s.now)
	passes := []struct {
		name string
		run  func()
	}{
		{"actors", s.dropActors}, {"faults", s.dropFaults}, {"stretches", s.dropStretches}, {"turns", s.joinTurns},
		{"steps earlier", s.moveEarlier}, {"pairs", s.dropPairs}, {"values", s.smallerValues},
	}
	for _, p := range passes {
		s.result.Passes = append(s.result.Passes, PassCount{Name: p.name})
	}
	s.try(s.now) // what runs may be shorter than what was recorded
	for better := true; better && !s.over(); {
		before := s.cost
		for i, p := range passes {
			s.pass = &s.result.Passes[i]
			p.run()
		}
		better = s.cost != before
	}
	s.result.Names = s.now
	s.result.Cut = s.over()
	return s.result
}

type shrinker struct {
	Shrinking
	ctx    context.Context
	test   func(candidate []string) ([]string, bool)
	tried  map[uint64]bool // candidates, by hash
	now    []string        // the best so far
	cost   cost
	pass   *PassCount // the present pass
	result *Shrunk
}

// cost orders schedules; less is better from the first field on.
type cost struct{ steps, faults, switches, actors, values int }

func (a cost) less(b cost) bool {
	for _, d := range [...]int{a.steps - b.steps, a.faults - b.faults, a.switches - b.switches, a.actors - b.actors, a.values - b.values} {
		if d != 0 {
			return d < 0
		}
	}
	return false
}

func (s *shrinker) costOf(names []string) cost {
	c := cost{steps: len(names)}
	var seen []int32
	last := int32(-2)
	for _, n := range names {
		ch, ok := s.Choice(n)
		if !ok {
			continue
		}
		c.values += int(max(ch.Value, 0))
		if ch.Actor == Environment {
			c.faults++
			continue
		}
		if ch.Actor != last {
			c.switches++
			last = ch.Actor
		}
		if !slices.Contains(seen, ch.Actor) {
			seen = append(seen, ch.Actor)
			c.actors++
		}
	}
	return c
}

func (s *shrinker) actor(name string) int32 {
	if c, ok := s.Choice(name); ok {
		return c.Actor
	}
	return -2
}

func (s *shrinker) over() bool { return s.result.Tries >= s.Tries || s.ctx.Err() != nil }

// try tests a candidate and keeps what ran if that is better. It reports whether it is.
func (s *shrinker) try(candidate []string) bool {
	h := uint64(len(candidate))
	for _, n := range candidate {
		for i := range len(n) {
			h = (h ^ uint64(n[i])) * 0x100000001b3
		}
		h = mix64(h)
	}
	if s.tried[h] || s.over() {
		return false
	}
	s.tried[h] = true
	s.result.Tries++
	if s.pass != nil {
		s.pass.Tries++
	}
	ran, fails := s.test(candidate)
	if !fails {
		return false
	}
	c := s.costOf(ran)
	if !c.less(s.cost) {
		return false
	}
	s.now, s.cost = slices.Clone(ran), c
	if s.pass != nil {
		s.pass.Helped++
	}
	return true
}

// without returns the present schedule without the choices that drop names.
func (s *shrinker) without(drop func(i int) bool) []string {
	var kept []string
	for i, n := range s.now {
		if !drop(i) {
			kept = append(kept, n)
		}
	}
	return kept
}

func (s *shrinker) dropActors() {
	var actors []int32
	for _, n := range s.now {
		if a := s.actor(n); !slices.Contains(actors, a) {
			actors = append(actors, a)
		}
	}
	for _, a := range actors {
		s.try(s.without(func(i int) bool { return s.actor(s.now[i]) == a }))
	}
}

func (s *shrinker) dropFaults() {
	for i := 0; i < len(s.now); i++ {
		if s.actor(s.now[i]) == Environment && s.try(s.without(func(j int) bool { return j == i })) {
			i--
		}
	}
}

// dropStretches leaves out stretches of half the schedule, of a quarter, and so on to single choices.
func (s *shrinker) dropStretches() {
	for size := max(len(s.now)/2, 1); ; size /= 2 {
		for at := 0; at < len(s.now); {
			if !s.try(s.without(func(i int) bool { return at <= i && i < at+size })) {
				at += size
			}
		}
		if size <= 1 {
			return
		}
	}
}

// joinTurns moves the steps of one turn of an actor to its turn before or after.
func (s *shrinker) joinTurns() {
	for at := 0; at < len(s.now); {
		a, end := s.actor(s.now[at]), at+1
		for end < len(s.now) && s.actor(s.now[end]) == a {
			end++
		}
		before := at - 1
		for before >= 0 && s.actor(s.now[before]) != a {
			before--
		}
		after := end
		for after < len(s.now) && s.actor(s.now[after]) != a {
			after++
		}
		switch {
		case before >= 0 && s.try(s.moved(at, end, before+1)):
		case after < len(s.now) && s.try(s.moved(at, end, after)):
		default:
			at = end
		}
	}
}

// moved returns the present schedule with the choices from..end-1 moved to before the one at to.
func (s *shrinker) moved(from, end, to int) []string {
	part := s.now[from:end]
	if to <= from {
		return slices.Concat(s.now[:to], part, s.now[to:from], s.now[end:])
	}
	return slices.Concat(s.now[:from], s.now[end:to], part, s.now[to:])
}

// moveEarlier makes single steps earlier, so that what then comes for nothing falls off the end.
func (s *shrinker) moveEarlier() {
	for from := 1; from < len(s.now); from++ {
		for to := from - 1; to >= 0 && from < len(s.now); to-- {
			if s.actor(s.now[to]) == s.actor(s.now[from]) {
				break // the steps of an actor keep their order
			}
			s.try(s.moved(from, from+1, to))
		}
	}
}

const pairsMost = 48 // choices; longer schedules are not worth the tries, which grow with the square

func (s *shrinker) dropPairs() {
	if len(s.now) > pairsMost {
		return
	}
	for i := 0; i < len(s.now); i++ {
		for j := i + 2; j < len(s.now); j++ {
			if s.try(s.without(func(k int) bool { return k == i || k == j })) {
				j = i + 1
			}
		}
	}
}

func (s *shrinker) smallerValues() {
	if s.Smaller == nil {
		return
	}
	for i := 0; i < len(s.now); i++ {
		for _, n := range s.Smaller(s.now[i]) {
			candidate := slices.Clone(s.now)
			candidate[i] = n
			if s.try(candidate) {
				break
			}
		}
	}
}
