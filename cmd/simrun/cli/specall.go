package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"simrun/replay"
	"simrun/sim"
	"simrun/sim/spec"
)

// allFlags are the flags of simrun spec --all.
type allFlags struct {
	all     bool
	checks  []string
	states  int
	classes int
	out     string
}

// specAll is what simrun spec --all finds about a selection of a file's steps, as JSON.
type specAll struct {
	File      string `json:"file"`
	Selection int    `json:"selection"` // from 1 on
	*spec.Exploration
	Refused string             `json:"refused,omitempty"` // what the model does not support; then nothing else is there
	Failure string             `json:"failure,omitempty"` // the failure file of the violation
	Server  *spec.Confirmation `json:"server,omitempty"`  // what was run there
}

// exploreSpecs explores every interleaving of each file's steps.
func (a *app) exploreSpecs(ctx context.Context, files []string, opt allFlags) error {
	var open replay.Opener // of model and server in lock-step, which knows best when the server has been too hasty or too slow
	if a.server.backend != "model" {
		if _, err := a.opener(ctx); err != nil {
			return err
		}
		open = func(setup *sim.Setup) (sim.Backend, error) { return a.server.running.NewPair(setup, a.server.locks) }
	}
	var found []specAll
	violated, refused := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		whole := spec.WithChecks(string(text), opt.checks)
		s, err := spec.Parse(whole)
		if err != nil {
			return &exit{exitCouldNot, fmt.Errorf("%s: %w", file, err)}
		}
		selections, err := s.Selections()
		if err != nil {
			return usage("%s: %w", file, err)
		}
		for i, sel := range selections {
			one, err := a.exploreSpec(ctx, file, whole, i+1, sel, open, opt)
			if err != nil {
				var d *sim.Divergence
				if errors.As(err, &d) {
					return err
				}
				return &exit{exitCouldNot, fmt.Errorf("%s: %w", file, err)}
			}
			if one.Exploration != nil && one.Violation != nil {
				violated++
			}
			if one.Refused != "" {
				refused++
			}
			found = append(found, one)
			if !a.json {
				a.printAll(&one)
			}
		}
	}
	if a.json {
		if err := a.write(found); err != nil {
			return err
		}
	}
	switch {
	case violated > 0:
		return &exit{code: exitViolated}
	case refused > 0:
		return &exit{exitCouldNot, errors.New("the model does not support all of it, and interleavings are found on the model")}
	}
	return nil
}

func (a *app) exploreSpec(ctx context.Context, file, text string, n int, sel *spec.Selection, open replay.Opener, opt allFlags) (one specAll, err error) {
	one = specAll{File: file, Selection: n}
	one.Exploration, err = spec.Explore(ctx, sel, opt.states)
	var refused *spec.Refused
	if errors.As(err, &refused) {
		one.Refused = refused.Construct
		return one, nil
	}
	if err != nil {
		return one, err
	}
	if v := one.Violation; v != nil {
		in := sim.Instance{Scenario: spec.ScenarioName, Params: map[string]int{spec.SelectionParam: n}, Text: text}
		if in, _, err = in.Resolve(); err != nil {
			return one, err
		}
		run, err := replay.Follow(replay.Spec{Instance: in, Seed: 1, Strategy: "search"}, v.Choices, sim.NewModel)
		if err != nil {
			return one, err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".spec") + "-" + strings.ReplaceAll(v.Check, "/", "-")
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		one.Failure = filepath.Join(opt.out, name+".simrun.json")
		if err := replay.NewFile(run, version()).Write(one.Failure); err != nil {
			return one, err
		}
	}
	if open != nil {
		one.Server, err = spec.Confirm(ctx, sel, opt.classes, open)
	}
	return one, err
}

func (a *app) printAll(s *specAll) {
	fmt.Fprintf(a.out, "%s: ", filepath.Base(s.File))
	if s.Refused != "" {
		fmt.Fprintf(a.out, "refused: %s\n\n", s.Refused)
		return
	}
	fmt.Fprintf(a.out, "%s\n%s, %s, %s, %s\n", s.Steps, number(s.Schedules, "schedule"), number(float64(s.States), "state"), number(float64(s.Outcomes), "outcome"),
		number(float64(len(s.Finals)), "final state"))
	for i, f := range s.Finals {
		a.printFinal(i+1, &f)
	}
	if s.Bounded {
		fmt.Fprintln(a.out, "bound hit: there may be more; raise --states")
	}
	if c := s.Server; c != nil {
		fmt.Fprintf(a.out, "on the server: one run of each of %s of equivalent schedules, %s, all as on the model\n", number(float64(c.Classes), "class"),
			number(float64(c.Outcomes), "outcome"))
		if c.Bounded {
			fmt.Fprintln(a.out, "bound hit: there are more classes; raise --classes")
		}
	}
	if v := s.Violation; v != nil {
		fmt.Fprintf(a.out, "VIOLATED: %s: %s\n  after %s\n  %s\n  written to %s\nreproduce: simrun replay %s --timeline\n", v.Check, v.Detail,
			strings.Join(v.Example, " "), classText(v.Class, v.Order), s.Failure, s.Failure)
	}
	fmt.Fprintln(a.out)
}

func (a *app) printFinal(n int, f *spec.FinalState) {
	switch {
	case len(f.Stuck) > 0:
		fmt.Fprintf(a.out, "final state %d: steps wait for ever: %s\n", n, strings.Join(f.Stuck, ", "))
	case len(f.Tables) == 0:
		fmt.Fprintf(a.out, "final state %d\n", n)
	default:
		fmt.Fprintf(a.out, "final state %d: %s\n", n, strings.Join(f.Tables, "\n               "))
	}
	for _, g := range f.Groups {
		fmt.Fprintf(a.out, "  %s: %s", number(g.Schedules, "schedule"), classText(g.Class, g.Order))
		if len(g.Failures) > 0 {
			fmt.Fprintf(a.out, "; transactions failed with %s", strings.Join(g.Failures, ", "))
		}
		if g.Violates != "" {
			fmt.Fprintf(a.out, "; VIOLATES %s", g.Violates)
		}
		fmt.Fprintf(a.out, "\n    %s\n", strings.Join(g.Example, " "))
		if g.Class == spec.ClassRace || g.Class == spec.ClassStuck {
			for _, r := range g.Results {
				fmt.Fprintf(a.out, "      %s\n", r)
			}
		}
	}
}

// classText says in words how outcomes compare with those of serial orders.
func classText(c spec.Class, order string) string {
	switch c {
	case spec.ClassSerial:
		return "as in the serial order " + order
	case spec.ClassTransactions:
		return "as with whole transactions in the order " + order
	case spec.ClassRace:
		return "RACE: no serial order gives this"
	}
	return "STUCK"
}

// number is "1 state", "2 states", "3 classes".
func number(n float64, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%.15g %s", n, what)
}

// emitSpec writes a run as a .spec file.
func (a *app) emitSpec(run *replay.Run, failure, path string) error {
	if run.Err != nil {
		return run.Err
	}
	if path == "auto" {
		path = strings.TrimSuffix(filepath.Base(failure), ".simrun.json") + ".spec"
	}
	doc := fmt.Sprintf("Written by simrun replay --emit-spec from a run of %s", run.Scenario)
	if v := run.Violation; v.Invariant != "" {
		doc += fmt.Sprintf(", after which %s is violated:\n%s", v.Invariant, v.Detail)
	}
	text, err := spec.Emit(run.Setup, run.Trace, run.Violation.Invariant, doc)
	if err != nil {
		return &exit{exitCouldNot, fmt.Errorf("the run cannot be written as a .spec file: %w", err)}
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return &exit{exitCouldNot, err}
	}
	if a.json {
		return a.write(map[string]string{"file": path})
	}
	fmt.Fprintf(a.out, "written to %s\nrun it: simrun spec %s --backend postgres\n    or: isolationtester 'dbname=...' < %s\n", path, path, path)
	return nil
}
