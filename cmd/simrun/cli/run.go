package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"simrun/replay"
	"simrun/reports"
	"simrun/sim"
)

func (a *app) runCommand() *cobra.Command {
	var spec specFlags
	var seed uint64
	var double, quiet, refine bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Make one run and show its timeline and the verdict of each invariant",
		Args:  noArgs,
	}
	f := c.Flags()
	spec.instance(f)
	spec.schedule(f)
	a.server.flags(f)
	f.Uint64Var(&seed, "seed", 1, "the seed: it decides every choice")
	f.BoolVar(&double, "doublecheck", false, "make the run twice, and name the first step that differs")
	f.BoolVar(&quiet, "quiet", false, "leave out the timeline")
	f.BoolVar(&refine, "tla", false, tlaFlagDoc)
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := spec.resolve(seed)
		if err != nil {
			return err
		}
		if e := sim.Lookup(s.Scenario).Experiment; e != nil {
			return a.experiment(c.Context(), s.Scenario, e)
		}
		open, err := a.opener(c.Context())
		if err != nil {
			return err
		}
		if open, err = tied(refine, s.Instance, open); err != nil {
			return err
		}
		started := time.Now()
		run, err := replay.Once(s, open)
		if err != nil {
			return err
		}
		took := time.Since(started)
		if double {
			again, err := replay.Once(s, open)
			if err != nil {
				return err
			}
			if d := replay.Compare(run, again); d != nil {
				return &exit{exitDivergence, fmt.Errorf("two runs of seed %d are not the same: %w", seed, d)}
			}
		}
		if err := a.show(run, quiet, double, commandLine(run.Spec, a.server.backend)); err != nil {
			return err
		}
		fmt.Fprintf(a.errs, "%d steps in %v\n", len(run.Trace.Steps), took.Round(time.Microsecond))
		return verdict(run)
	}
	return c
}

// verdict is the error that ends the program after a run.
func verdict(run *replay.Run) error {
	switch {
	case run.Err != nil:
		return &exit{exitCouldNot, run.Err}
	case run.Violation.Invariant != "":
		return &exit{code: exitViolated}
	}
	return nil
}

// show prints a run, and last the command that reproduces it.
func (a *app) show(run *replay.Run, quiet, double bool, reproduce string) error {
	if a.json {
		return a.write(runJSON(run, a.server.backend, reproduce))
	}
	if !quiet {
		if err := reports.Timeline(a.out, run.Trace); err != nil {
			return err
		}
		fmt.Fprintln(a.out)
	}
	a.verdicts(run)
	fmt.Fprintf(a.out, "\n%d steps by %d choices", len(run.Trace.Steps), len(run.Choices))
	if double {
		fmt.Fprint(a.out, "; a second run was the same")
	}
	fmt.Fprintf(a.out, "\nreproduce: %s\n", reproduce)
	return nil
}

// verdicts prints a line for each invariant.
func (a *app) verdicts(run *replay.Run) {
	width := 0
	for _, inv := range run.Setup.Invariants {
		width = max(width, len(inv.Name))
	}
	named := false
	for _, inv := range run.Setup.Invariants {
		state := "held"
		switch {
		case inv.Name == run.Violation.Invariant:
			state, named = "VIOLATED: "+run.Violation.Detail, true
		case run.Violation.Invariant != "" && (inv.Kind == sim.Quiescent || inv.Kind == sim.WholeRun):
			state = "not checked: the run ended before its end"
		case run.Err != nil:
			state = "held until the run stopped"
		}
		fmt.Fprintf(a.out, "%-*s  %s\n", width, inv.Name, state)
	}
	if v := run.Violation; v.Invariant != "" && !named {
		fmt.Fprintf(a.out, "%-*s  VIOLATED: %s\n", width, v.Invariant, v.Detail)
	}
}

// jsonRun is the form of a run under --json.
type jsonRun struct {
	replay.Spec
	Backend   string         `json:"backend"`
	Verdict   string         `json:"verdict"` // held, violated, stopped
	Violation *replay.Broken `json:"violation,omitempty"`
	Stopped   string         `json:"stopped,omitempty"` // why the run could not go on
	Witnesses []string       `json:"witnesses"`
	Steps     []replay.Line  `json:"steps"`
	Reproduce string         `json:"reproduce"`
}

func runJSON(run *replay.Run, backend, reproduce string) jsonRun {
	file := replay.NewFile(run, "")
	out := jsonRun{Spec: run.Spec, Backend: backend, Verdict: "held", Witnesses: run.Witnesses, Steps: file.Steps,
		Reproduce: reproduce}
	switch {
	case run.Err != nil:
		out.Verdict, out.Stopped = "stopped", run.Err.Error()
	case run.Violation.Invariant != "":
		out.Verdict, out.Violation = "violated", &file.Violation
	}
	return out
}
