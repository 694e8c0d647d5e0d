package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
	"simrun/tla"
)

func (a *app) replayCommand() *cobra.Command {
	var timeline, refine bool
	var emit, emitSpec, test string
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a failure file again, and say whether it is still the same",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("simrun replay takes one failure file, got %d arguments", len(args))
			}
			return nil
		},
	}
	f := c.Flags()
	a.server.flags(f)
	f.BoolVar(&timeline, "timeline", false, "show the timeline instead of the log")
	f.BoolVar(&refine, "tla", false, tlaFlagDoc)
	f.StringVar(&emit, "emit-tla", "", "write the run as TLA+ modules that TLC accepts or rejects into this folder, one for each specification that the scenario is tied to")
	f.StringVar(&emitSpec, "emit-spec", "", "write the run as a .spec file for isolationtester: --emit-spec=FILE, or --emit-spec alone for the failure file's name")
	f.Lookup("emit-spec").NoOptDefVal = "auto"
	f.StringVar(&test, "emit-test", "", "shrink the run, and write a Go test that makes it again into this file, NAME_test.go; its failure file goes to testdata/simrun beside it")
	c.RunE = func(c *cobra.Command, args []string) error {
		file, err := replay.Read(args[0])
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		in, _, err := file.Resolve()
		if err != nil {
			return &exit{exitCouldNot, fmt.Errorf("the file no longer applies: %w", err)}
		}
		if test != "" {
			return a.emitTest(c.Context(), file, test)
		}
		open, err := a.opener(c.Context())
		if err != nil {
			return err
		}
		if open, err = tied(refine, in, open); err != nil {
			return err
		}
		var traces []*tla.Trace
		if emit != "" {
			if traces, open, err = traced(in, open); err != nil {
				return err
			}
		}
		run, drift, err := file.Again(open)
		if err != nil {
			return err
		}
		if err := a.emitTraces(traces, emit); err != nil {
			return err
		}
		if emitSpec != "" {
			return a.emitSpec(run, args[0], emitSpec)
		}
		return a.replayed(run, drift, timeline, replayLine(args[0], a.server.backend))
	}
	return c
}

// emitTest shrinks the run of a failure file and writes a test for it.
func (a *app) emitTest(ctx context.Context, file *replay.File, path string) error {
	small, _, err := replay.Shrink(ctx, file, version(), scheduler.ShrinkOptions{Tries: shrinkTries, SearchStates: -1})
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	failure, err := small.EmitTest(path)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	if a.json {
		err = a.write(struct {
			Test    string `json:"test"`
			File    string `json:"file"`
			Choices int    `json:"choices"`
		}{path, failure, len(small.Choices())})
	} else {
		fmt.Fprintf(a.out, "%s: %s\n%d choices, in %s\ntest written to %s\n", small.Violation.Invariant, small.Violation.Detail, len(small.Choices()), failure, path)
	}
	if err != nil {
		return err
	}
	return &exit{code: exitViolated}
}

func (a *app) replayed(run *replay.Run, drift *replay.Drift, timeline bool, reproduce string) error {
	switch {
	case a.json:
		if err := a.write(struct {
			jsonRun
			Drift *replay.Drift `json:"drift,omitempty"`
		}{runJSON(run, a.server.backend, reproduce), drift}); err != nil {
			return err
		}
	case timeline:
		if err := a.show(run, false, false, reproduce); err != nil {
			return err
		}
	default:
		for i := range run.Trace.Steps {
			s := &run.Trace.Steps[i]
			fmt.Fprintf(a.out, "%016x %s\n", s.Digest, s.Line(run.Trace.Actors))
		}
		a.verdicts(run)
	}
	var d *sim.Divergence
	if errors.As(run.Err, &d) {
		return run.Err
	}
	if drift == nil {
		if !a.json {
			fmt.Fprintln(a.out, "the run is the same as in the file, byte for byte")
		}
		return verdict(run)
	}
	if run.Violation.Invariant != "" {
		fmt.Fprintln(a.errs, "simrun:", drift)
		return verdict(run)
	}
	return &exit{exitCouldNot, drift}
}
