package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/reports"
	"simrun/scheduler"
)

// fuzzOptions are the flags of fuzz, and what is learned while they are obeyed.
type fuzzOptions struct {
	spec     specFlags
	ci       ciFlags
	dir      string
	plots    string
	only     []string
	double   bool
	noShrink bool
	ctx      context.Context

	steps, was, now int // of a failing run; its choices before and after shrinking
	shrunk          string
}

func (a *app) fuzzCommand() *cobra.Command {
	var o fuzzOptions
	var first, runs uint64
	var limit time.Duration
	var workers int
	var measure, refine bool
	c := &cobra.Command{
		Use:   "fuzz",
		Short: "Make many seeded runs, and stop at the first seed that breaks an invariant",
		Args:  noArgs,
	}
	f := c.Flags()
	o.spec.instance(f)
	o.spec.schedule(f)
	o.ci.flags(f)
	a.server.flags(f)
	f.Uint64Var(&first, "seed-start", 1, "the first seed")
	f.Uint64Var(&runs, "runs", 0, "how many runs (default 10000, unless --time is given)")
	f.DurationVar(&limit, "time", 0, "for how long, e.g. 5m")
	f.IntVar(&workers, "workers", 0, "how many run at once (default one for each processor; one on a server)")
	f.BoolVar(&o.double, "doublecheck", false, "make each run twice, and name the first step that differs; otherwise tell a digest of all steps of all runs")
	f.BoolVar(&refine, "tla", false, tlaFlagDoc)
	f.BoolVar(&measure, "measure", false, "count the distinct states and orderings that the runs reach, by one worker on the model, and estimate how many they have not reached")
	f.StringArrayVar(&o.only, "only", nil, "look for violations of this invariant; a run that breaks another just ends; may be repeated")
	f.StringVar(&o.plots, "plots", "", "draw coverage (which turns on --measure; on the model only), the rate of runs and how long statements wait, as SVG, in this folder")
	f.StringVar(&o.dir, "out", ".", "the folder for failure files (default --corpus, when that is given)")
	f.BoolVar(&o.noShrink, "no-shrink", false, "do not shrink a failing run")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o.ctx = c.Context()
		start, stride, err := o.ci.seeds(first)
		if err != nil {
			return err
		}
		s, err := o.spec.resolve(start)
		if err != nil {
			return err
		}
		if err := invariantsOf(s, o.only); err != nil {
			return err
		}
		open, err := a.opener(c.Context())
		if err != nil {
			return err
		}
		if open, err = tied(refine, s.Instance, open); err != nil {
			return err
		}
		if runs == 0 && limit == 0 {
			runs = 10_000
		}
		if workers <= 0 {
			workers = 1
			if a.server.backend == "model" {
				workers = runtime.GOMAXPROCS(0)
			}
		}
		if o.ci.corpus != "" && !c.Flags().Changed("out") {
			o.dir = o.ci.corpus
		}
		var rates rates
		if o.plots != "" {
			measure = measure || a.server.backend == "model"
			if err := os.MkdirAll(o.plots, 0o755); err != nil {
				return &exit{exitCouldNot, err}
			}
		}
		known, err := o.ci.known(s, open)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		progress := a.teller()
		r, err := fuzz.Campaign{Spec: s, Stride: stride, Runs: runs, Time: limit, Workers: workers, Open: open, DoubleCheck: o.double, Only: o.only, Measure: measure, Waits: o.plots != "",
			Context: c.Context(), Progress: func(p fuzz.Progress) {
				rates.add(p.Elapsed, p.Runs)
				progress.tell(p.Elapsed, rate("runs", p.Runs, p.Of, p.Elapsed))
			}}.Run()
		progress.done()
		if err != nil {
			return err
		}
		if o.plots != "" {
			rates.add(r.Elapsed, r.Runs)
			if err := plotCampaign(o.plots, s.Scenario, r, rates); err != nil {
				return &exit{exitCouldNot, err}
			}
		}
		return a.fuzzed(s, r, open, &o, known)
	}
	return c
}

// jsonFuzz is the form of a campaign under --json.
type jsonFuzz struct {
	replay.Spec
	Backend   string            `json:"backend"`
	Verdict   string            `json:"verdict"` // held, violated, differs
	Runs      uint64            `json:"runs,omitempty"`
	Steps     uint64            `json:"steps,omitempty"`
	Cut       uint64            `json:"cut,omitempty"` // runs that reached the limit of steps
	Witnesses map[string]uint64 `json:"witnesses,omitempty"`
	Unseen    []string          `json:"unseen,omitempty"`
	Digest    string            `json:"digest,omitempty"`  // with --doublecheck: of all steps of all runs
	Bound     string            `json:"bound,omitempty"`   // what the strategy promises
	Reached   []string          `json:"reached,omitempty"` // with --measure: states and orderings, and how many are estimated to be left
	FailedAt  uint64            `json:"failed_seed,omitempty"`
	Violation *replay.Broken    `json:"violation,omitempty"`
	File      string            `json:"file,omitempty"`
	Shrunk    string            `json:"shrunk,omitempty"` // the file of the shrunk run
	Reproduce string            `json:"reproduce,omitempty"`
}

// invariantsOf checks that the scenario has the invariants that were named.
func invariantsOf(s replay.Spec, names []string) error {
	setup, _, err := s.Build(s.Seed)
	if err != nil {
		return err
	}
	var known []string
	for i := range setup.Invariants {
		known = append(known, setup.Invariants[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return usage("--only %s: %s has no such invariant; it has %s", name, s.Scenario, strings.Join(known, ", "))
		}
	}
	return nil
}

// fuzzed reports a campaign.
func (a *app) fuzzed(s replay.Spec, r *fuzz.Report, open replay.Opener, o *fuzzOptions, known []reports.Finding) error {
	fmt.Fprintf(a.errs, "%d runs, %d steps in %v: %.0f runs/s\n", r.Runs, r.Steps, r.Elapsed.Round(time.Millisecond), float64(r.Runs)/r.Elapsed.Seconds())
	if r.Differs != nil {
		return &exit{exitDivergence, fmt.Errorf("two runs of seed %d are not the same: %w", r.Seed, r.Differs)}
	}
	var found *reports.Finding
	var err error
	out := jsonFuzz{Spec: s, Backend: a.server.backend, Verdict: "held", Runs: r.Runs, Steps: r.Steps, Cut: r.Cut, Witnesses: r.Witnesses, Unseen: r.Unseen}
	if out.Bound, err = bound(s); err != nil {
		return err
	}
	if o.double {
		out.Digest = fmt.Sprintf("%016x", r.Digest)
	}
	if c := r.Coverage; c != nil {
		out.Reached = []string{c.States.Meaning("states"), c.Orderings.Meaning("orderings")}
	}
	if r.Failed {
		file, path, err := a.failure(s, r, open, o)
		if err != nil {
			return err
		}
		reproduce := commandLine(file.Spec, a.server.backend)
		if r.Choices != nil {
			reproduce = replayLine(path, a.server.backend)
		}
		f := finding(file, path, reports.New)
		found = &f
		out = jsonFuzz{Spec: file.Spec, Backend: a.server.backend, Verdict: "violated", FailedAt: r.Seed, Violation: &file.Violation, File: path,
			Shrunk: o.shrunk, Reproduce: reproduce}
	}
	if a.json {
		if err := a.write(out); err != nil {
			return err
		}
	} else {
		a.printFuzz(&out, o)
	}
	if err := a.report(&o.ci, s, r, known, found); err != nil {
		return &exit{exitCouldNot, err}
	}
	if found != nil || slices.ContainsFunc(known, func(f reports.Finding) bool { return f.Standing == reports.Known }) {
		return &exit{code: exitViolated}
	}
	return nil
}

// bound says what a strategy with a guarantee promises, "" for others.
func bound(s replay.Spec) (string, error) {
	strategy, err := scheduler.ParseStrategy(s.Strategy)
	if err != nil {
		return "", err
	}
	b, ok := strategy.(scheduler.Bounder)
	if !ok {
		return "", nil
	}
	setup, _, err := s.Build(s.Seed)
	if err != nil {
		return "", err
	}
	plan, err := replay.PlanOf(setup, strategy, s.Lazy)
	if err != nil {
		return "", err
	}
	p, of := b.Bound(plan)
	return fmt.Sprintf("each run of %s finds %s with a probability of at least %.2g, if it needs no fault", strategy.Name(), of, p), nil
}

func (a *app) printFuzz(f *jsonFuzz, o *fuzzOptions) {
	if v := f.Violation; v != nil {
		fmt.Fprintf(a.out, "VIOLATED at seed %d: %s: %s\n%d steps, written to %s\n", f.FailedAt, v.Invariant, v.Detail, o.steps, f.File)
		if f.Shrunk != "" {
			fmt.Fprintf(a.out, "shrunk from %d choices to %d, written to %s\n", o.was, o.now, f.Shrunk)
		}
		fmt.Fprintf(a.out, "reproduce: %s\n       or: simrun replay %s\n", f.Reproduce, f.File)
		return
	}
	what := "no invariant was violated"
	if len(o.only) > 0 {
		what = strings.Join(o.only, ", ") + " not violated"
	}
	fmt.Fprintf(a.out, "held: %d runs of %s from seed %d, %s\n", f.Runs, f.Scenario, f.Seed, what)
	for _, name := range slices.Sorted(maps.Keys(f.Witnesses)) {
		fmt.Fprintf(a.out, "  %8d runs saw %s\n", f.Witnesses[name], name)
	}
	if f.Digest != "" {
		fmt.Fprintf(a.out, "each was made twice, with the same steps: digest %s\n", f.Digest)
	}
	if f.Bound != "" {
		fmt.Fprintln(a.out, f.Bound)
	}
	for _, line := range f.Reached {
		fmt.Fprintln(a.out, line)
	}
	for _, name := range f.Unseen {
		fmt.Fprintf(a.out, "warning: no run saw %s\n", name)
	}
	if f.Cut > 0 {
		fmt.Fprintf(a.out, "warning: %d runs reached the limit of steps and were cut\n", f.Cut)
	}
}

// failure makes the failing run again, recorded, writes its file, and shrinks it on the model.
func (a *app) failure(s replay.Spec, r *fuzz.Report, open replay.Opener, o *fuzzOptions) (*replay.File, string, error) {
	s.Seed = r.Seed
	var run *replay.Run
	var err error
	if r.Choices != nil {
		run, err = replay.Follow(s, r.Choices, open)
	} else {
		run, err = replay.Once(s, open)
	}
	switch {
	case err != nil:
		return nil, "", err
	case run.Violation != r.Violation:
		return nil, "", &exit{exitDivergence, fmt.Errorf("seed %d broke %s in the campaign, and made again it came to %q: a run depends on more than its seed",
			s.Seed, r.Violation.Invariant, run.Violation.Invariant)}
	}
	file := replay.NewFile(run, version())
	path, err := file.WriteTo(o.dir)
	if err != nil {
		return nil, "", &exit{exitCouldNot, err}
	}
	o.steps = len(file.Steps)
	if o.noShrink || a.server.backend == "postgres" {
		return file, path, nil
	}
	small, _, err := replay.Shrink(o.ctx, file, version(), scheduler.ShrinkOptions{Tries: shrinkTries, SearchStates: -1})
	if err != nil {
		return nil, "", &exit{exitCouldNot, fmt.Errorf("shrinking %s: %w", path, err)}
	}
	o.shrunk, o.was, o.now = smallName(path), len(file.Choices()), len(small.Choices())
	return file, path, small.Write(o.shrunk)
}

// shrinkTries bounds the runs that fuzz itself spends on shrinking; simrun shrink spends more.
const shrinkTries = 5000
