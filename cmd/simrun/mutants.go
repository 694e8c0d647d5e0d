package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
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

// verifyMutant fuzzes a mutant. One that is masked must survive alone and break together with its pair.
func verifyMutant(s *sim.Scenario, m *sim.Mutant, runs uint64, strategy string) (*verification, error) {
	alone, err := fuzzMutants(s, []string{m.Name}, runs, strategy)
	if err != nil || !m.Masked {
		alone.judge(m)
		return alone, err
	}
	if alone.Invariant != "" {
		alone.Note = "it is masked and must survive alone"
		return alone, nil
	}
	both, err := fuzzMutants(s, []string{m.Name, m.Pair}, runs, strategy)
	both.judge(m)
	both.Note = strings.TrimSpace(both.Note + " (with " + m.Pair + ")")
	return both, err
}

// judge says whether what broke is what the mutant must break.
func (v *verification) judge(m *sim.Mutant) {
	for _, name := range m.Breaks {
		v.OK = v.OK || name == v.Invariant
	}
	if !v.OK && v.Invariant != "" {
		v.Note = "it should have broken " + strings.Join(m.Breaks, " or ")
	}
}

func fuzzMutants(s *sim.Scenario, mutants []string, runs uint64, strategy string) (*verification, error) {
	in, _, err := sim.Instance{Scenario: s.Name, Mutants: mutants}.Resolve()
	if err != nil {
		return &verification{}, err
	}
	r, err := fuzz.Campaign{Spec: replay.Spec{Instance: in, Seed: 1, Strategy: strategy}, Runs: runs, Workers: runtime.GOMAXPROCS(0), Open: sim.NewModel}.Run()
	if err != nil {
		return &verification{}, err
	}
	if r.Differs != nil {
		return &verification{}, errors.New("runs differ")
	}
	if r.Failed {
		return &verification{Invariant: r.Violation.Invariant, Runs: r.Seed}, nil
	}
	return &verification{Runs: r.Runs}, nil
}
