package fuzz

import (
	"cmp"
	"slices"

	"simrun/scheduler"
)

// Compare makes the hunt's campaigns under each of the strategies, in the first of its scenarios in which its own strategy finds the
// mutant, and returns the runs to the first failure of each campaign, in rising order: Runs+1 where there was none. A strategy whose
// campaigns so far can no longer have a median within Runs is given up: the rest of them count as Runs+1 too.
func (h Hunt) Compare(strategies []string) (scenario string, first [][]uint64, err error) {
	for _, name := range strategies {
		if _, err := scheduler.ParseStrategy(name); err != nil {
			return "", nil, err
		}
	}
	scenario = h.Scenarios[0]
	for _, name := range h.Scenarios {
		r, _, err := h.campaign(name, h.mutants(), 1, h.Runs, h.Mutant.Breaks)
		if err != nil {
			return "", nil, err
		}
		if r.Failed {
			scenario = name
			break
		}
	}
	for _, name := range strategies {
		h.Strategy = name
		var runs []uint64
		missed := 0
		for k := range max(h.Campaigns, 1) {
			n := h.Runs + 1
			if 2*missed < max(h.Campaigns, 1) {
				r, spec, err := h.campaign(scenario, h.mutants(), 1+uint64(k)*apart, h.Runs, h.Mutant.Breaks)
				if err != nil {
					return "", nil, err
				}
				if r.Failed {
					n = r.Seed - spec.Seed + 1
				} else {
					missed++
				}
			}
			runs = append(runs, n)
		}
		slices.SortFunc(runs, cmp.Compare)
		first = append(first, runs)
	}
	return scenario, first, nil
}
