package scheduler

import (
	"fmt"
	"strings"
)

// Follow replays a schedule: the choices by name, as a failure file holds them. A name that is not enabled ends the run
// with a *NotEnabled; after the last name the run ends.
func Follow(names []string) Strategy { return &follow{names: names, strict: true} }

// FollowLoosely replays what can be replayed: a name that is not enabled is left out, and after the last one the run goes on
// by a fixed rule (the actor that moved last goes on; when it cannot, the first choice of the actor with the lowest
// number; the environment only when no actor can move), so that an edited schedule still makes a whole run.
func FollowLoosely(names []string) Strategy { return &follow{names: names} }

// NotEnabled says where and why a schedule could not be replayed.
type NotEnabled struct {
	Step    int      // the step, counted from 0
	Name    string   // the choice that should have been made
	Enabled []string // those that could be
}

// Error says it in a line.
func (e *NotEnabled) Error() string {
	return fmt.Sprintf("step %d: %q is not enabled; enabled are: %s", e.Step+1, e.Name, strings.Join(e.Enabled, ", "))
}

type follow struct {
	names  []string
	strict bool
	next   int
	made   []string // the names of the choices made
	err    error
}

func (s *follow) Name() string {
	if s.strict {
		return "replay"
	}
	return "replay-loosely"
}

func (s *follow) Begin(uint64, *Plan) { s.next, s.made, s.err = 0, s.made[:0], nil }
func (s *follow) Err() error          { return s.err }

func (s *follow) Pick(v *View) int {
	for s.next < len(s.names) {
		name := s.names[s.next]
		s.next++
		for i := range v.Choices {
			if v.NameOf(i) == name {
				s.made = append(s.made, name)
				return i
			}
		}
		if s.strict {
			e := &NotEnabled{Step: v.Step, Name: name}
			for i := range v.Choices {
				e.Enabled = append(e.Enabled, v.NameOf(i))
			}
			s.err = e
			return -1
		}
	}
	if s.strict {
		return -1
	}
	i := byRule(v)
	s.made = append(s.made, v.NameOf(i))
	return i
}

// byRule is the rule that FollowLoosely ends a run with.
func byRule(v *View) int {
	best := -1
	for i, c := range v.Choices {
		if c.Actor == Environment {
			continue
		}
		if c.Actor == v.Last {
			return i
		}
		if best < 0 || c.Actor < v.Choices[best].Actor {
			best = i
		}
	}
	return max(best, 0)
}
