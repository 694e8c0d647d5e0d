package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"simrun/replay"
	"simrun/sim"
	"simrun/tla"
)

// refineOptions are the flags of tla refine.
type refineOptions struct {
	walk     tla.Walk
	edges    bool
	markdown bool
}

func (a *app) tlaRefineCommand() *cobra.Command {
	var o refineOptions
	c := &cobra.Command{
		Use:   "refine [NAME..]",
		Short: "Check that every step of the actors is a step of a specification, or changes nothing that it shows",
		Long: `refine checks scenarios against the state graphs of the specifications that they are tied to: on the model breadth-first over all
reachable states as far as --states, and beyond that by --runs seeded runs; with another --backend by runs alone. NAME is a
specification or one of its ties, such as RingCursor or RingCursor/flip.

It shows how often each action was taken, which actions no step took and why, and which statements changed data that the
specification does not show. The first step that is no step of the specification ends it, with exit code 1. A stored graph that is older
than its specification is an error.`,
	}
	f := c.Flags()
	a.server.flags(f)
	f.IntVar(&o.walk.States, "states", 20_000, "visit at most so many distinct states of the model breadth-first (0: none)")
	f.Uint64Var(&o.walk.Runs, "runs", 200, "how many seeded runs to make where the states were not all visited")
	f.Uint64Var(&o.walk.Seed, "seed", 1, "the first seed")
	f.StringVar(&o.walk.Strategy, "strategy", "", "how runs make their choices (default what suits the scenario)")
	f.StringSliceVar(&o.walk.Mutants, "mutant", nil, "apply a mutant, by name or id; may be repeated")
	f.StringVar(&o.walk.Variant, "variant", "", "another variant of the scenario than the one that refines the specification")
	f.IntVar(&o.walk.Workers, "workers", 0, "how many work at once (default one for each processor; one on a server)")
	f.BoolVar(&o.edges, "edges", false, "list what the specification can do and no run did")
	f.BoolVar(&o.markdown, "markdown", false, "write the table of actions as tla/README.md has it")
	c.RunE = func(c *cobra.Command, args []string) error {
		mappings, err := tla.MappingsOf(args...)
		if err != nil {
			return usage("%w", err)
		}
		if o.walk.Open, err = a.opener(c.Context()); err != nil {
			return err
		}
		if a.server.backend != "model" {
			o.walk.States = 0
			o.walk.Workers = max(o.walk.Workers, 1)
		} else if o.walk.Workers <= 0 {
			o.walk.Workers = runtime.GOMAXPROCS(0)
		}
		return a.tlaRefine(c.Context(), mappings, o)
	}
	return c
}

func (a *app) tlaRefine(ctx context.Context, mappings []tla.Mapping, o refineOptions) error {
	var all []*tla.Walked
	broken := 0
	for _, m := range mappings {
		w, err := m.Walk(ctx, o.walk)
		var d *sim.Divergence
		if errors.As(err, &d) {
			return err
		} else if err != nil {
			return &exit{exitCouldNot, fmt.Errorf("%s: %w", m.Name, err)}
		}
		if w.Violation != nil {
			broken++
		}
		all = append(all, w)
		if !a.json && !o.markdown {
			a.printRefine(m, w, o)
		}
	}
	switch {
	case a.json:
		if err := a.write(all); err != nil {
			return err
		}
	case o.markdown:
		fmt.Fprint(a.out, tla.CoverageTable(mappings, all))
	}
	if broken > 0 {
		return &exit{code: exitViolated}
	}
	return nil
}

// printRefine tells what came of one mapping.
func (a *app) printRefine(m tla.Mapping, w *tla.Walked, o refineOptions) {
	fmt.Fprintf(a.out, "%s: %s against %s\n", w.Mapping, w.Instance.Flags(), w.Config)
	var how []string
	if w.States > 0 {
		all := "within the bound of --states"
		if w.Complete {
			all = "all that can be reached"
		}
		how = append(how, fmt.Sprintf("%d states, %s", w.States, all))
	}
	if w.Runs > 0 {
		how = append(how, fmt.Sprintf("%d runs on %s, %d steps", w.Runs, a.server.backend, w.Steps))
	}
	fmt.Fprintf(a.out, "  %s\n", strings.Join(how, "; "))
	if v := w.Violation; v != nil {
		fmt.Fprintf(a.out, "  REJECTED: %s\n", strings.ReplaceAll(v.Detail, "\n", "\n  "))
		if len(w.Schedule) > 0 {
			fmt.Fprintf(a.out, "  after %d choices: %s\n\n", len(w.Schedule), strings.Join(w.Schedule, ", "))
		} else {
			fmt.Fprintf(a.out, "  reproduce: simrun run %s --strategy '%s'\n\n", w.Reproduce, w.Strategy)
		}
		return
	}
	t := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  action\tedges\ttaken\tsteps\t")
	for _, c := range w.Coverage {
		note := ""
		switch {
		case c.Edges == 0:
			note = "changes nothing that is visible"
		case c.Taken == 0:
			note = "no step: " + m.Why[c.Action]
		}
		fmt.Fprintf(t, "  %s\t%d\t%d\t%d\t%s\n", c.Action, c.Edges, c.Taken, c.Times, note)
	}
	t.Flush()
	if o.edges {
		for _, u := range w.Untaken {
			fmt.Fprintf(a.out, "  never taken: %s, %d edges\n  %s\n", u.Action, u.Edges, strings.ReplaceAll(u.Change, "\n", "\n  "))
		}
	} else if len(w.Untaken) > 0 {
		edges := 0
		for _, u := range w.Untaken {
			edges += u.Edges
		}
		fmt.Fprintf(a.out, "  %d edges in %d kinds are never taken; --edges lists them\n", edges, len(w.Untaken))
	}
	for _, s := range w.Stutters {
		fmt.Fprintf(a.out, "  no action, %d times: %s\n", s.Times, s.Statement)
	}
	fmt.Fprintln(a.out)
}

// tlaFlagDoc says what --tla does.
const tlaFlagDoc = "check each step against the specifications that the scenario is tied to, see simrun tla refine"

// tied wraps an opener, when asked to, so that runs of the instance are checked against the specifications that it is tied to.
func tied(asked bool, in sim.Instance, open replay.Opener) (replay.Opener, error) {
	if !asked {
		return open, nil
	}
	mappings, err := tla.MappingsFor(in)
	if err != nil {
		return nil, usage("--tla: %w", err)
	}
	var rs []*tla.Refinement
	for _, m := range mappings {
		r, err := m.Refinement()
		if err != nil {
			return nil, &exit{exitCouldNot, err}
		}
		rs = append(rs, r)
	}
	return tla.Watched(open, rs...), nil
}
