package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"simrun/tla"
)

func (a *app) tlaCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tla",
		Short: "Check the TLA+ specifications, and the actors against them",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("simrun tla needs a verb; see simrun tla --help")
		},
	}
	c.AddCommand(a.tlaCheckCommand(), a.tlaRefineCommand(), a.tlaSearchCommand(), a.tlaBenchCommand())
	return c
}

type jsonSpec struct {
	Config    string  `json:"config"`
	Expected  string  `json:"expected"`
	Outcome   string  `json:"outcome"`
	Agrees    bool    `json:"agrees"`
	Distinct  int     `json:"distinct_states"`
	Depth     int     `json:"depth"`
	Seconds   float64 `json:"seconds"`
	PeakBytes int64   `json:"peak_bytes"`
}

func (a *app) tlaCheckCommand() *cobra.Command {
	var graphs string
	var workers int
	var markdown bool
	c := &cobra.Command{
		Use:   "check [CONFIG..]",
		Short: "Run TLC on every configuration and compare with what is expected of it",
		Long: `check runs TLC, which TLA2TOOLS_JAR names or which is on PATH as tlc, on every configuration of tla/, or on those named. Each .cfg says
in its first line whether it holds or which invariant it breaks.`,
	}
	f := c.Flags()
	f.StringVar(&graphs, "graphs", "", "also store the state graphs of the configurations that hold in this folder (the project keeps them in tla/graphs)")
	f.IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "TLC's workers; with one the states of a failing configuration are always the same")
	f.BoolVar(&markdown, "markdown", false, "write the table as tla/README.md has it")
	c.RunE = func(c *cobra.Command, args []string) error {
		configs, err := tlaConfigs(args)
		if err != nil {
			return err
		}
		tlc, err := tla.FindTLC()
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		tlc.Quick = true
		return a.tlaCheck(c.Context(), tlc, configs, workers, graphs, markdown)
	}
	return c
}

// tlaConfigs returns the named configurations, or all.
func tlaConfigs(names []string) ([]tla.Config, error) {
	all, err := tla.Configs()
	if err != nil || len(names) == 0 {
		return all, err
	}
	byName := map[string]tla.Config{}
	for _, c := range all {
		byName[c.Name] = c
	}
	var out []tla.Config
	for _, n := range names {
		c, ok := byName[n]
		if !ok {
			return nil, usage("there is no configuration %q; simrun tla check without names runs all", n)
		}
		out = append(out, c)
	}
	return out, nil
}

func (a *app) tlaCheck(ctx context.Context, tlc *tla.TLC, configs []tla.Config, workers int, graphs string, markdown bool) error {
	var rows []jsonSpec
	wrong := 0
	for _, c := range configs {
		var o *tla.Outcome
		var err error
		if graphs != "" && c.Breaks == "" {
			o, err = tlc.StoreGraph(ctx, c, workers, graphs)
		} else {
			o, err = tlc.Run(ctx, c, workers, "")
		}
		if err != nil && (o == nil || o.Violated == "") {
			return &exit{exitCouldNot, err}
		}
		row := jsonSpec{c.Name, outcome(c.Breaks), outcome(o.Violated), o.Agrees(c), o.Distinct, o.Depth, o.Wall.Seconds(), o.PeakBytes}
		if !row.Agrees {
			wrong++
		}
		rows = append(rows, row)
		fmt.Fprintf(a.errs, "%s: %s, %v\n", c.Name, row.Outcome, o.Wall.Round(10*time.Millisecond))
	}
	switch {
	case a.json:
		if err := a.write(rows); err != nil {
			return err
		}
	case markdown:
		fmt.Fprintln(a.out, "| configuration | TLC says | distinct states | depth |\n|---|---|--:|--:|")
		for _, r := range rows {
			fmt.Fprintf(a.out, "| %s | %s | %d | %d |\n", r.Config, r.Outcome, r.Distinct, r.Depth)
		}
	default:
		w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "configuration\texpected\tTLC says\tdistinct states\tdepth\tseconds\tpeak MiB")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.1f\t%d\n", r.Config, r.Expected, r.Outcome, r.Distinct, r.Depth, r.Seconds, r.PeakBytes>>20)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return &exit{exitViolated, errors.New("TLC does not say what is expected")}
	}
	return nil
}

func outcome(violated string) string {
	if violated == "" {
		return "holds"
	}
	return violated + " violated"
}
