package cli

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"simrun/fuzz"
	"simrun/reports"
	"simrun/scheduler"
	"simrun/sim"
)

// jsonCompared is a row of the table of mutants by strategies.
type jsonCompared struct {
	Mutant   string   `json:"mutant"`
	ID       string   `json:"id"`
	Scenario string   `json:"scenario"`
	Medians  []uint64 `json:"medians"` // runs to the first failure, by strategy; more than the runs given where half the campaigns did not find it
	Found    []int    `json:"found"`   // campaigns that found it, by strategy
}

// jsonComparison is the form of mutants compare under --json.
type jsonComparison struct {
	Strategies []string       `json:"strategies"`
	Runs       uint64         `json:"runs"`
	Campaigns  int            `json:"campaigns"`
	Rows       []jsonCompared `json:"rows"`
}

func (a *app) compareCommand() *cobra.Command {
	var o mutantOptions
	var strategies []string
	var plot string
	c := &cobra.Command{
		Use:   "compare",
		Short: "Measure how many runs each strategy needs to find each mutant",
		Long: `compare makes campaigns with seeds far apart for each mutant under each strategy, and writes a table in Markdown of the median number
of runs to the first failure. Where half the campaigns of a cell have failed to find the mutant, the rest of them is left out.`,
		Args: noArgs,
	}
	f := c.Flags()
	f.StringVar(&o.scenario, "scenario", "", "only those of this scenario, or of all under this name: rings means rings/...")
	f.StringArrayVar(&o.only, "mutant", nil, "only this one, by name or id; may be repeated")
	f.StringArrayVar(&strategies, "strategy", scheduler.StrategyNames, "one of the strategies; may be repeated")
	f.Uint64Var(&o.runs, "runs", 10_000, "how many runs to give each campaign")
	f.IntVar(&o.campaigns, "campaigns", 30, "how many campaigns make a median")
	f.StringVar(&plot, "plot", "", "draw how many mutants each strategy finds within how many runs, in this SVG or PNG file")
	c.RunE = func(c *cobra.Command, _ []string) error {
		rows, err := o.rows()
		if err != nil {
			return err
		}
		for _, s := range strategies {
			if _, err := scheduler.ParseStrategy(s); err != nil {
				return usage("%w", err)
			}
		}
		out := jsonComparison{Strategies: strategies, Runs: o.runs, Campaigns: o.campaigns}
		if !a.json {
			out.head(a.out)
		}
		for _, m := range rows {
			h := fuzz.Hunt{Scenarios: m.Scenarios, Mutant: m.mutant, Runs: o.runs, Campaigns: o.campaigns, Strategy: "portfolio",
				Workers: runtime.GOMAXPROCS(0), Open: sim.NewModel, Context: c.Context()}
			scenario, first, err := h.Compare(strategies)
			if err != nil {
				return &exit{exitCouldNot, fmt.Errorf("%s: %w", m.Name, err)}
			}
			row := jsonCompared{Mutant: m.Name, ID: m.ID, Scenario: scenario}
			for _, runs := range first {
				found := 0
				for _, n := range runs {
					if n <= o.runs {
						found++
					}
				}
				row.Medians, row.Found = append(row.Medians, runs[len(runs)/2]), append(row.Found, found)
			}
			out.Rows = append(out.Rows, row)
			if !a.json {
				row.print(a.out, o.runs)
			}
		}
		if plot != "" {
			if err := out.plot().Write(plot); err != nil {
				return &exit{exitCouldNot, err}
			}
		}
		if a.json {
			return a.write(out)
		}
		out.foot(a.out)
		return nil
	}
	return c
}

func (t *jsonComparison) head(w io.Writer) {
	fmt.Fprintf(w, "Median of the runs to the first failure over %d campaigns of %d runs at most.\n\n", t.Campaigns, t.Runs)
	fmt.Fprintf(w, "| mutant | id | scenario | %s |\n|---|---|---|%s\n", strings.Join(t.Strategies, " | "), strings.Repeat("---:|", len(t.Strategies)))
}

func (r *jsonCompared) print(w io.Writer, most uint64) {
	fmt.Fprintf(w, "| %s | %s | %s |", r.Mutant, r.ID, r.Scenario)
	for _, n := range r.Medians {
		if n > most {
			fmt.Fprintf(w, " > %d |", most)
		} else {
			fmt.Fprintf(w, " %d |", n)
		}
	}
	fmt.Fprintln(w)
}

// foot says of how many mutants each strategy has a median.
func (t *jsonComparison) foot(w io.Writer) {
	fmt.Fprint(w, "| found by half of the campaigns | | |")
	for i := range t.Strategies {
		n := 0
		for _, r := range t.Rows {
			if r.Medians[i] <= t.Runs {
				n++
			}
		}
		fmt.Fprintf(w, " %d of %d |", n, len(t.Rows))
	}
	fmt.Fprintln(w)
}

// plot shows for each strategy how many mutants have a median of so many runs or fewer.
func (t *jsonComparison) plot() reports.Plot {
	p := reports.Plot{Title: fmt.Sprintf("Mutants found, of %d", len(t.Rows)), X: "runs to the first failure, median", Y: "mutants found within", LogX: true, Caption: command()}
	for i, name := range t.Strategies {
		medians := make([]uint64, len(t.Rows))
		for k, r := range t.Rows {
			medians[k] = r.Medians[i]
		}
		slices.Sort(medians)
		s := reports.Series{Name: name, Steps: true}
		for k, m := range medians {
			if m <= t.Runs {
				s.Points = append(s.Points, reports.Point{X: float64(m), Y: float64(k + 1)})
			}
		}
		if n := len(s.Points); n > 0 {
			s.Points = append(s.Points, reports.Point{X: float64(t.Runs), Y: float64(n)})
		}
		p.Series = append(p.Series, s)
	}
	return p
}
