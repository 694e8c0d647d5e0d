package cli

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/sim"
)

func (a *app) mutantsCommand() *cobra.Command {
	var scenario string
	var verify bool
	var runs uint64
	var strategy string
	c := &cobra.Command{
		Use:   "mutants",
		Short: "List the seeded bugs; with --verify, show that each is found",
		Args:  noArgs,
	}
	f := c.Flags()
	f.StringVar(&scenario, "scenario", "", "only those of this scenario")
	f.BoolVar(&verify, "verify", false, "fuzz each mutant on the model until it breaks an invariant that it must break")
	f.Uint64Var(&runs, "runs", 20_000, "with --verify, how many runs to give each mutant")
	f.StringVar(&strategy, "strategy", "random", "with --verify, how choices are made")
	c.RunE = func(*cobra.Command, []string) error {
		scenarios := sim.Scenarios()
		if scenario != "" {
			if sim.Lookup(scenario) == nil {
				_, _, err := sim.Instance{Scenario: scenario}.Resolve()
				return usage("%w", err)
			}
			scenarios = []*sim.Scenario{sim.Lookup(scenario)}
		}
		rows, missed := []jsonMutant{}, 0
		for _, s := range scenarios {
			for _, m := range s.Mutants {
				row := jsonMutant{Scenario: s.Name, Name: m.Name, ID: m.ID, Doc: m.Doc, Breaks: m.Breaks, Masked: m.Masked, Pair: m.Pair}
				if verify {
					v, err := verifyMutant(s, &m, runs, strategy)
					if err != nil {
						return err
					}
					row.Verified = v
					if !v.OK {
						missed++
					}
				}
				rows = append(rows, row)
				if !a.json {
					row.print(a.out)
				}
			}
		}
		if a.json {
			if err := a.write(rows); err != nil {
				return err
			}
		}
		if missed > 0 {
			return &exit{exitViolated, fmt.Errorf("%d mutants did not do what they must", missed)}
		}
		return nil
	}
	return c
}

type jsonMutant struct {
	Scenario string        `json:"scenario"`
	Name     string        `json:"name"`
	ID       string        `json:"id"`
	Doc      string        `json:"doc"`
	Breaks   []string      `json:"breaks"`
	Masked   bool          `json:"masked,omitempty"`
	Pair     string        `json:"pair,omitempty"`
	Verified *verification `json:"verified,omitempty"`
}

// verification is what fuzzing a mutant came to.
type verification struct {
	OK        bool   `json:"ok"`
	Invariant string `json:"invariant,omitempty"` // that broke
	Runs      uint64 `json:"runs"`                // until it broke, or all
	Note      string `json:"note,omitempty"`
}

func (m *jsonMutant) print(w io.Writer) {
	fmt.Fprintf(w, "%s  %s (%s)\n  %s\n  breaks: %s\n", m.Scenario, m.Name, m.ID, m.Doc, strings.Join(m.Breaks, ", "))
	if m.Masked {
		fmt.Fprintf(w, "  masked: survives alone, shown with %s\n", m.Pair)
	}
	if v := m.Verified; v != nil {
		state := "NOT FOUND"
		if v.OK {
			state = "ok"
		}
		fmt.Fprintf(w, "  %s: %s after %d runs %s\n", state, nonEmpty(v.Invariant, "nothing broke"), v.Runs, v.Note)
	}
}

func nonEmpty(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// verifyMutant fuzzes a mutant until it breaks an invariant that it must break. One that is masked must survive alone and break
// together with its pair.
func verifyMutant(s *sim.Scenario, m *sim.Mutant, runs uint64, strategy string) (*verification, error) {
	if !m.Masked {
		return fuzzMutants(s, []string{m.Name}, m.Breaks, runs, strategy)
	}
	alone, err := fuzzMutants(s, []string{m.Name}, nil, runs, strategy)
	if err != nil || alone.Invariant != "" {
		alone.OK, alone.Note = false, "it is masked and must survive alone"
		return alone, err
	}
	both, err := fuzzMutants(s, []string{m.Name, m.Pair}, m.Breaks, runs, strategy)
	both.Note = strings.TrimSpace(both.Note + " (with " + m.Pair + ")")
	return both, err
}

// fuzzMutants makes runs until one breaks one of the invariants, or any when none is named.
func fuzzMutants(s *sim.Scenario, mutants, breaks []string, runs uint64, strategy string) (*verification, error) {
	in, _, err := sim.Instance{Scenario: s.Name, Mutants: mutants}.Resolve()
	if err != nil {
		return &verification{}, err
	}
	v := &verification{}
	for v.Runs < runs {
		spec := replay.Spec{Instance: in, Seed: v.Runs + 1, Strategy: strategy}
		r, err := fuzz.Campaign{Spec: spec, Runs: runs - v.Runs, Workers: runtime.GOMAXPROCS(0), Open: sim.NewModel}.Run()
		if err != nil {
			return v, err
		}
		if !r.Failed {
			v.Runs = runs
			break
		}
		v.Runs, v.Invariant = r.Seed, r.Violation.Invariant
		if len(breaks) == 0 || slices.Contains(breaks, v.Invariant) {
			v.OK = true
			return v, nil
		}
	}
	if v.Invariant != "" {
		v.Note = "of those it must break, " + strings.Join(breaks, " or ") + ", none did"
	}
	return v, nil
}
