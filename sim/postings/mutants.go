package postings

import (
	"fmt"
	"slices"

	"simrun/sim"
)

// mutant is a seeded bug with the edit that plants it.
type mutant struct {
	sim.Mutant
	scenarios []string // where it can be found, the best first
	steps     bool     // it edits a step of the saga, which the repaired variant does not have
	edit      func(p *program)
}

// mutants are all of them, in the order of the catalogue.
func mutants() []mutant {
	return slices.Concat(mutantsStorage(), mutantsSaga(), mutantsRecovery(), mutantsAccounts())
}

func mutantNamed(name string) (mutant, error) {
	for _, m := range mutants() {
		if m.Name == name || m.ID == name {
			return m, nil
		}
	}
	return mutant{}, fmt.Errorf("postings has no mutant %q", name)
}

// mutantsOf lists the mutants that a scenario can show.
func mutantsOf(scenario string) []sim.Mutant {
	var out []sim.Mutant
	for _, m := range mutants() {
		if slices.Contains(m.scenarios, scenario) {
			out = append(out, m.Mutant)
		}
	}
	return out
}
