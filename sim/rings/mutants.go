package rings

import (
	"fmt"

	"simrun/sim"
)

// mutant is a seeded bug: what the catalogue says of it, the scenarios that show it, and the edit of the program.
type mutant struct {
	sim.Mutant
	in   []string // scenarios, without "rings/"
	edit func(p *program)
}

// allMutants are the mutants of all groups, in the order of the catalogue.
func allMutants() []mutant {
	var all []mutant
	for _, group := range [][]mutant{mutantsA, mutantsB, mutantsC, mutantsD, mutantsE} {
		all = append(all, group...)
	}
	return all
}

// mutantsOf is the mutants of a scenario.
func mutantsOf(scenario string) []sim.Mutant {
	var out []sim.Mutant
	for _, m := range allMutants() {
		if m.applies(scenario) {
			out = append(out, m.Mutant)
		}
	}
	return out
}

func (m mutant) applies(scenario string) bool {
	for _, s := range m.in {
		if "rings/"+s == scenario {
			return true
		}
	}
	return false
}

// programOf is the program of a configuration: the variant's, edited by the mutants in the order given.
func programOf(scenario string, cfg sim.Config) (*program, error) {
	switch cfg.Variant {
	case repaired, shipped, seed:
	default:
		return nil, fmt.Errorf("%s has no variant %q: it has %s, %s and %s", scenario, cfg.Variant, repaired, shipped, seed)
	}
	p := newProgram(cfg.Variant)
next:
	for _, name := range cfg.Mutants {
		for _, m := range allMutants() {
			if m.Name == name || m.ID == name {
				m.edit(p)
				continue next
			}
		}
		return nil, fmt.Errorf("%s has no mutant %q", scenario, name)
	}
	return p, nil
}
