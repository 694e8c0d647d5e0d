package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"simrun/sim"
)

func (a *app) scenariosCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scenarios",
		Short: "List the scenarios, their variants and bounds",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.write(scenarioList())
			}
			for _, s := range sim.Scenarios() {
				fmt.Fprintf(a.out, "%s\n  %s\n  variants: %s\n  mutants:  %d\n", s.Name, s.Doc, strings.Join(s.Variants, ", "), len(s.Mutants))
				for _, p := range s.Params {
					fmt.Fprintf(a.out, "  --set %s=%d  (%d to %d) %s\n", p.Name, p.Default, p.Min, p.Max, p.Doc)
				}
			}
			return nil
		},
	}
}

type jsonScenario struct {
	Name     string      `json:"name"`
	Doc      string      `json:"doc"`
	Variants []string    `json:"variants"`
	Mutants  []string    `json:"mutants"`
	Params   []jsonParam `json:"params"`
}

type jsonParam struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Default int    `json:"default"`
	Min     int    `json:"min"`
	Max     int    `json:"max"`
}

func scenarioList() []jsonScenario {
	out := []jsonScenario{}
	for _, s := range sim.Scenarios() {
		j := jsonScenario{Name: s.Name, Doc: s.Doc, Variants: s.Variants, Mutants: []string{}, Params: []jsonParam{}}
		for _, m := range s.Mutants {
			j.Mutants = append(j.Mutants, m.Name)
		}
		for _, p := range s.Params {
			j.Params = append(j.Params, jsonParam(p))
		}
		out = append(out, j)
	}
	return out
}
