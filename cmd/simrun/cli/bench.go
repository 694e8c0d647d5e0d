package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"simrun/bench"
)

func (a *app) benchCommand() *cobra.Command {
	var rounds int
	var per time.Duration
	var url string
	names := func() string {
		var out []string
		for _, g := range append(bench.Groups(), bench.Long()...) {
			out = append(out, g.Name)
		}
		return strings.Join(out, ", ")
	}
	c := &cobra.Command{
		Use:   "bench [NAME..]",
		Short: "Measure rates in pairs, and show medians",
		Long: `bench measures what docs/performance.md tells of: ` + names() + `; without a name, all but growth, which takes very long.

The members of a group are measured in turns, round after round, so that a busy machine disturbs all alike. The table shows the
median over the rounds with the lowest and the highest, and the median of each round's ratio to the first of the group that counts the
same. "busy" is how many processors simrun itself kept busy, without the server: below 1 (or the number of workers) where it
computes all the time, others had the processors.`,
	}
	f := c.Flags()
	f.IntVar(&rounds, "rounds", 5, "how often each member of a group is measured")
	f.DurationVar(&per, "per", time.Second, "how long one measurement takes; searches of fixed size take as long as they need")
	f.StringVar(&url, "postgres", "auto", "the server for statements: auto starts a throw-away one, otherwise a URL; none leaves it out")
	c.RunE = func(c *cobra.Command, args []string) error {
		if rounds < 1 || per <= 0 {
			return usage("--rounds and --per must be positive")
		}
		groups := bench.Groups()
		if len(args) > 0 {
			groups = append(groups, bench.Long()...)
		}
		for _, name := range args {
			if !slices.ContainsFunc(groups, func(g bench.Group) bool { return g.Name == name }) {
				return usage("there is nothing named %q to measure; expected some of %s", name, names())
			}
		}
		o := bench.Options{Rounds: rounds, Per: per, Postgres: url, Note: func(format string, args ...any) { fmt.Fprintf(a.errs, format+"\n", args...) }}
		out := jsonBench{Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.GOMAXPROCS(0), Rounds: rounds}
		for _, g := range groups {
			if len(args) > 0 && !slices.Contains(args, g.Name) {
				continue
			}
			rows, err := a.benchGroup(c.Context(), g, o)
			if err != nil {
				return &exit{exitCouldNot, err}
			}
			out.Results = append(out.Results, rows...)
		}
		if a.json {
			return a.write(out)
		}
		return nil
	}
	c.AddCommand(a.postingsReads())
	return c
}

// jsonBench is the form of bench under --json.
type jsonBench struct {
	Go         string         `json:"go"`
	OS         string         `json:"os"`
	Processors int            `json:"processors"`
	Rounds     int            `json:"rounds"`
	Results    []bench.Result `json:"results"`
}

// benchGroup measures a group and prints its table.
func (a *app) benchGroup(ctx context.Context, g bench.Group, o bench.Options) ([]bench.Result, error) {
	rows, err := bench.Measure(ctx, g, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Name, err)
	}
	if a.json {
		return rows, nil
	}
	return rows, benchTable(a.out, g, rows)
}

func benchTable(w io.Writer, g bench.Group, rows []bench.Result) error {
	fmt.Fprintf(w, "%s: %s\n", g.Name, g.Doc)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "measured\tunit\tmedian\tlowest\thighest\tratio\tbusy\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t\n", r.Name, r.Unit, r.Median, r.Lowest, r.Highest, r.Ratio, r.Busy)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
