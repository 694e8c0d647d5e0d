package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"simrun/fuzz"
	"simrun/replay"
)

func (a *app) fuzzCommand() *cobra.Command {
	var spec specFlags
	var first, runs uint64
	var limit time.Duration
	var workers int
	var double bool
	var dir string
	c := &cobra.Command{
		Use:   "fuzz",
		Short: "Make many seeded runs, and stop at the first seed that breaks an invariant",
		Args:  noArgs,
	}
	f := c.Flags()
	spec.instance(f)
	spec.schedule(f)
	a.server.flags(f)
	f.Uint64Var(&first, "seed-start", 1, "the first seed")
	f.Uint64Var(&runs, "runs", 0, "how many runs (default 10000, unless --time is given)")
	f.DurationVar(&limit, "time", 0, "for how long, e.g. 5m")
	f.IntVar(&workers, "workers", 0, "how many run at once (default one for each processor; one on a server)")
	f.BoolVar(&double, "doublecheck", false, "make each run twice, and name the first step that differs")
	f.StringVar(&dir, "out", ".", "the folder for failure files")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := spec.resolve(first)
		if err != nil {
			return err
		}
		open, err := a.opener(c.Context())
		if err != nil {
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
		r, err := fuzz.Campaign{Spec: s, Runs: runs, Time: limit, Workers: workers, Open: open, DoubleCheck: double, Context: c.Context(),
			Progress: a.progress()}.Run()
		if err != nil {
			return err
		}
		return a.fuzzed(s, r, open, dir)
	}
	return c
}

// progress tells how far a campaign is, on standard error.
func (a *app) progress() func(fuzz.Progress) {
	last := time.Duration(0)
	return func(p fuzz.Progress) {
		if p.Elapsed-last < 10*time.Second {
			return
		}
		last = p.Elapsed
		rate := float64(p.Runs) / p.Elapsed.Seconds()
		line := fmt.Sprintf("%d runs, %.0f runs/s", p.Runs, rate)
		if p.Of > 0 && rate > 0 {
			left := time.Duration(float64(p.Of-p.Runs) / rate * float64(time.Second))
			line += fmt.Sprintf(", %v left", left.Round(time.Second))
		}
		fmt.Fprintln(a.errs, line)
	}
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
	FailedAt  uint64            `json:"failed_seed,omitempty"`
	Violation *replay.Broken    `json:"violation,omitempty"`
	File      string            `json:"file,omitempty"`
	Reproduce string            `json:"reproduce,omitempty"`
}

// fuzzed reports a campaign.
func (a *app) fuzzed(s replay.Spec, r *fuzz.Report, open replay.Opener, dir string) error {
	fmt.Fprintf(a.errs, "%d runs, %d steps in %v: %.0f runs/s\n", r.Runs, r.Steps, r.Elapsed.Round(time.Millisecond), float64(r.Runs)/r.Elapsed.Seconds())
	if r.Differs != nil {
		return &exit{exitDivergence, fmt.Errorf("two runs of seed %d are not the same: %w", r.Seed, r.Differs)}
	}
	if r.Failed {
		return a.failure(s, r, open, dir)
	}
	out := jsonFuzz{Spec: s, Backend: a.server.backend, Verdict: "held", Runs: r.Runs, Steps: r.Steps, Cut: r.Cut, Witnesses: r.Witnesses, Unseen: r.Unseen}
	if a.json {
		return a.write(out)
	}
	fmt.Fprintf(a.out, "held: %d runs of %s from seed %d, no invariant was violated\n", r.Runs, s.Scenario, s.Seed)
	for _, name := range slices.Sorted(maps.Keys(r.Witnesses)) {
		fmt.Fprintf(a.out, "  %8d runs saw %s\n", r.Witnesses[name], name)
	}
	for _, name := range r.Unseen {
		fmt.Fprintf(a.out, "warning: no run saw %s\n", name)
	}
	if r.Cut > 0 {
		fmt.Fprintf(a.out, "warning: %d runs reached the limit of steps and were cut\n", r.Cut)
	}
	return nil
}

// failure makes the failing run again, recorded, and writes its file.
func (a *app) failure(s replay.Spec, r *fuzz.Report, open replay.Opener, dir string) error {
	s.Seed = r.Seed
	run, err := replay.Once(s, open)
	switch {
	case err != nil:
		return err
	case run.Violation != r.Violation:
		return &exit{exitDivergence, fmt.Errorf("seed %d broke %s in the campaign, and made again it came to %q: a run depends on more than its seed",
			s.Seed, r.Violation.Invariant, run.Violation.Invariant)}
	}
	file := replay.NewFile(run, version())
	path := filepath.Join(dir, file.Name())
	if err := file.Write(path); err != nil {
		return &exit{exitCouldNot, err}
	}
	if a.json {
		err = a.write(jsonFuzz{Spec: s, Backend: a.server.backend, Verdict: "violated", FailedAt: s.Seed, Violation: &file.Violation, File: path,
			Reproduce: commandLine(s, a.server.backend)})
	} else {
		fmt.Fprintf(a.out, "VIOLATED at seed %d: %s: %s\n%d steps, written to %s\nreproduce: %s\n       or: simrun replay %s\n",
			s.Seed, run.Violation.Invariant, run.Violation.Detail, len(run.Trace.Steps), path, commandLine(s, a.server.backend), path)
	}
	if err != nil {
		return err
	}
	return &exit{code: exitViolated}
}
