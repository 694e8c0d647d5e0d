package sim

import (
	"fmt"
	"sort"
)

// scenarios is filled by init functions only, and read afterwards.
var scenarios = map[string]*Scenario{}

// Register makes a scenario known by its name; one without variants gets the variant "plain". It is called from init functions and
// panics on a name that is taken or a scenario that cannot be built.
func Register(s *Scenario) {
	if len(s.Variants) == 0 {
		s.Variants = []string{"plain"}
	}
	switch {
	case s.Name == "" || (s.Build == nil) == (s.Experiment == nil):
		panic(fmt.Sprintf("sim.Register: scenario %q needs a name, and either a Build or an Experiment function", s.Name))
	case scenarios[s.Name] != nil:
		panic(fmt.Sprintf("sim.Register: scenario %q is registered twice", s.Name))
	}
	scenarios[s.Name] = s
}

// Lookup returns the scenario of that name, or nil.
func Lookup(name string) *Scenario { return scenarios[name] }

// Scenarios returns the registered scenarios, by name, but for those that are made from a text.
func Scenarios() []*Scenario {
	out := make([]*Scenario, 0, len(scenarios))
	for _, s := range scenarios {
		if !s.FromText {
			out = append(out, s)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Mutant returns the scenario's mutant of that name or id, or nil.
func (s *Scenario) Mutant(name string) *Mutant {
	for i := range s.Mutants {
		if s.Mutants[i].Name == name || s.Mutants[i].ID == name {
			return &s.Mutants[i]
		}
	}
	return nil
}
