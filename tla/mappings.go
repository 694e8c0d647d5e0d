package tla

import "simrun/sim"

// Mapping ties a scenario to a specification: what of a world the specification's variables are.
type Mapping struct {
	Config string // of the specification
	// Instance is the scenario whose runs must be runs of the specification.
	sim.Instance
	// Atomic is how many steps of the specification one step of a run may make at once.
	Atomic int
	Start  func() Tracker
	// Rejects are mutants of the scenario that the specification must reject.
	Rejects []string
	// Why explains the actions that no run can take in this scenario.
	Why map[string]string
}

// Mappings are all ties between scenarios and specifications.
func Mappings() []Mapping {
	return []Mapping{
		{
			Config: "PostingsMembership", Instance: sim.Instance{Scenario: "postings/claim", Variant: "seed"}, Atomic: 1, Start: newMembership,
			Rejects: []string{"Z03", "Z04", "Z09"},
			Why:     map[string]string{"Create": "the two postings that are followed exist from the start"},
		},
		{
			Config: "PostingsMembership", Instance: sim.Instance{Scenario: "postings/claim", Variant: "repaired"}, Atomic: 1, Start: newMembership,
			Why: map[string]string{
				"Create":  "the two postings that are followed exist from the start",
				"Release": "a repaired saga that loses a posting rolls back what it reserved: nothing was committed",
			},
		},
		{
			Config: "CommitSaga", Instance: sim.Instance{Scenario: "postings/two-recoverers", Variant: "repaired", Params: map[string]int{"recoverers": 1}}, Atomic: 8, Start: newSaga,
			Why: map[string]string{
				"Release": "a repaired saga that loses the posting rolls back the transaction that wrote its record",
				"GiveUp":  "the record of a repaired saga that loses the posting was never committed",
			},
		},
		{
			Config: "RingLockOrder_flip", Instance: sim.Instance{Scenario: "rings/flip", Variant: "repaired"}, Atomic: 1, Start: newLockOrder,
			Rejects: []string{"A1", "B9"},
			Why:     map[string]string{"LockChild": "there is no pruner in this scenario"},
		},
		{
			Config: "RingCursor_flip", Instance: sim.Instance{Scenario: "rings/flip", Variant: "repaired"}, Atomic: 1, Start: newCursor,
			Rejects: []string{"A2", "B1"},
			Why: map[string]string{
				"Fold": "there is no folder in this scenario", "Prune6": "there is no pruner in this scenario", "Prune7": "there is no pruner in this scenario",
				"Finish": "the row of this scenario is never finished", "Insert": "the row of this scenario is there from the start",
			},
		},
	}
}

// Refinement prepares the mapping's check.
func (m Mapping) Refinement() (*Refinement, error) {
	configs, err := Configs()
	if err != nil {
		return nil, err
	}
	for _, c := range configs {
		if c.Name == m.Config {
			return NewRefinement(c, m.Start(), m.Atomic)
		}
	}
	return nil, errNoConfig(m.Config)
}

type errNoConfig string

func (e errNoConfig) Error() string { return "there is no configuration " + string(e) }
