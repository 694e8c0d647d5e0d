package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"simrun/scheduler"
	"simrun/tla"
	"simrun/tla/machines"
)

// jsonMachine is what came of searching a specification's machine.
type jsonMachine struct {
	Config      string  `json:"config"`
	Verdict     string  `json:"verdict"`
	Violated    string  `json:"violated,omitempty"`
	Distinct    int     `json:"distinct_states"`
	Transitions int     `json:"transitions"`
	Depth       int     `json:"depth"`
	Seconds     float64 `json:"seconds"`
}

func (a *app) tlaSearchCommand() *cobra.Command {
	var workers int
	c := &cobra.Command{
		Use:   "search [CONFIG..]",
		Short: "Search the specifications' state machines in Go, which must have the states that TLC finds",
		Long: `search visits every state of the machine that a specification is in Go, with the constants of a configuration: those of tla/ and of
tla/large/, or those named. It checks the invariants and action properties of the specification.`,
	}
	c.Flags().IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "how many search at once")
	c.RunE = func(c *cobra.Command, args []string) error {
		configs, err := anyConfigs(args)
		if err != nil {
			return err
		}
		var all []jsonMachine
		wrong := false
		for _, cfg := range configs {
			started := time.Now()
			r, err := machines.Search(c.Context(), cfg, scheduler.Options{Workers: workers})
			if err != nil {
				return &exit{exitCouldNot, err}
			}
			wrong = wrong || r.Violation.Invariant != cfg.Breaks
			all = append(all, jsonMachine{cfg.Name, r.Verdict.String(), r.Violation.Invariant, r.States, r.Transitions, r.Depth, time.Since(started).Seconds()})
		}
		if a.json {
			if err := a.write(all); err != nil {
				return err
			}
		} else {
			t := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
			fmt.Fprintln(t, "configuration\tverdict\tdistinct states\ttransitions\tdepth\tseconds")
			for _, m := range all {
				fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%.3f\n", m.Config, outcome(m.Violated), m.Distinct, m.Transitions, m.Depth, m.Seconds)
			}
			if err := t.Flush(); err != nil {
				return err
			}
		}
		if wrong {
			return &exit{exitViolated, fmt.Errorf("a machine does not come to what its configuration expects")}
		}
		return nil
	}
	return c
}

// anyConfigs returns the named configurations of tla/ and tla/large/, or all.
func anyConfigs(names []string) ([]tla.Config, error) {
	all, err := tla.Configs()
	if err != nil {
		return nil, err
	}
	large, err := tla.LargeConfigs()
	if err != nil {
		return nil, err
	}
	all = append(all, large...)
	if len(names) == 0 {
		return all, nil
	}
	var out []tla.Config
	for _, n := range names {
		i := slices.IndexFunc(all, func(c tla.Config) bool { return c.Name == n })
		if i < 0 {
			return nil, usage("there is no configuration %q; simrun tla search without names lists all", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// jsonDuel is TLC and simrun on the same configuration.
type jsonDuel struct {
	Config    string  `json:"config"`
	Distinct  int     `json:"distinct_states"` // of both
	TLC       measure `json:"tlc"`
	Simrun    measure `json:"simrun"`
	WallRatio float64 `json:"wall_ratio"` // how many times as long TLC takes
	CPURatio  float64 `json:"cpu_ratio"`
	PeakRatio float64 `json:"peak_ratio"`
}

// measure is one process from its start to its verdict.
type measure struct {
	Seconds    float64 `json:"seconds"`     // wall
	CPUSeconds float64 `json:"cpu_seconds"` // of user and system: what does not depend on who else is busy
	PeakBytes  int64   `json:"peak_bytes"`  // greatest resident set
}

func (a *app) tlaBenchCommand() *cobra.Command {
	var workers, rounds int
	c := &cobra.Command{
		Use:   "bench [CONFIG..]",
		Short: "Compare TLC with simrun's search on the same state spaces: time to the verdict, distinct states, peak memory",
		Long: `bench runs TLC and simrun tla search in turns, each as a process of its own from start to verdict, on the same configuration with the
same invariants and properties: by default those of tla/large/ and the holding ones of tla/. The distinct states must be equal. With
several rounds the table shows the median of each. TLC runs as it advises: with the parallel collector and as many workers.`,
	}
	c.Flags().IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "workers of either")
	c.Flags().IntVar(&rounds, "rounds", 1, "how often each is run")
	c.RunE = func(c *cobra.Command, args []string) error {
		configs, err := anyConfigs(args)
		if err != nil {
			return err
		}
		configs = slices.DeleteFunc(configs, func(c tla.Config) bool { return c.Breaks != "" })
		if len(configs) == 0 || rounds < 1 {
			return usage("simrun tla bench needs configurations that hold, and at least one round")
		}
		tlc, err := tla.FindTLC()
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		var all []jsonDuel
		for _, cfg := range configs {
			d, err := duel(c.Context(), tlc, cfg, workers, rounds)
			if err != nil {
				return &exit{exitCouldNot, err}
			}
			fmt.Fprintf(a.errs, "%s: %.1f s and %.3f s\n", cfg.Name, d.TLC.Seconds, d.Simrun.Seconds)
			all = append(all, *d)
		}
		if a.json {
			return a.write(all)
		}
		t := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "configuration\tdistinct states\tTLC s\tsimrun s\tratio\tTLC CPU s\tsimrun CPU s\tratio\tTLC MiB\tsimrun MiB\tratio\t")
		for _, d := range all {
			fmt.Fprintf(t, "%s\t%d\t%.2f\t%.3f\t%.0f\t%.2f\t%.3f\t%.0f\t%d\t%d\t%.0f\t\n", d.Config, d.Distinct, d.TLC.Seconds, d.Simrun.Seconds, d.WallRatio,
				d.TLC.CPUSeconds, d.Simrun.CPUSeconds, d.CPURatio, d.TLC.PeakBytes>>20, d.Simrun.PeakBytes>>20, d.PeakRatio)
		}
		return t.Flush()
	}
	return c
}

// duel runs both on a configuration, in turns.
func duel(ctx context.Context, tlc *tla.TLC, c tla.Config, workers, rounds int) (*jsonDuel, error) {
	d := &jsonDuel{Config: c.Name}
	var theirs, ours []measure
	for range rounds {
		o, err := tlc.Run(ctx, c, workers, "")
		if err != nil {
			return nil, err
		}
		m, found, err := searchApart(ctx, c, workers)
		if err != nil {
			return nil, err
		}
		if o.Violated != "" || found.Violated != "" || o.Distinct != found.Distinct {
			return nil, fmt.Errorf("%s: TLC says %s with %d distinct states, simrun %s with %d", c.Name, outcome(o.Violated), o.Distinct,
				outcome(found.Violated), found.Distinct)
		}
		d.Distinct = o.Distinct
		theirs = append(theirs, measure{o.Wall.Seconds(), o.CPU.Seconds(), o.PeakBytes})
		ours = append(ours, m)
	}
	d.TLC, d.Simrun = medians(theirs), medians(ours)
	d.WallRatio = d.TLC.Seconds / d.Simrun.Seconds
	d.CPURatio = d.TLC.CPUSeconds / d.Simrun.CPUSeconds
	d.PeakRatio = float64(d.TLC.PeakBytes) / float64(d.Simrun.PeakBytes)
	return d, nil
}

// medians is the median of each figure.
func medians(ms []measure) measure {
	middle := func(f func(m measure) float64) float64 {
		var v []float64
		for _, m := range ms {
			v = append(v, f(m))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return measure{
		middle(func(m measure) float64 { return m.Seconds }),
		middle(func(m measure) float64 { return m.CPUSeconds }),
		int64(middle(func(m measure) float64 { return float64(m.PeakBytes) })),
	}
}

// searchApart runs simrun tla search on a configuration as a process of its own.
func searchApart(ctx context.Context, c tla.Config, workers int) (measure, jsonMachine, error) {
	self, err := os.Executable()
	if err != nil {
		return measure{}, jsonMachine{}, err
	}
	cmd := exec.CommandContext(ctx, self, "tla", "search", c.Name, "--json", "--workers", strconv.Itoa(workers))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	started := time.Now()
	if err := cmd.Run(); err != nil {
		return measure{}, jsonMachine{}, fmt.Errorf("simrun tla search %s: %w\n%s", c.Name, err, errs.String())
	}
	m := measure{Seconds: time.Since(started).Seconds(), CPUSeconds: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.PeakBytes = usage.Maxrss * 1024
	}
	var found []jsonMachine
	if err := json.Unmarshal([]byte(out.String()), &found); err != nil || len(found) != 1 {
		return m, jsonMachine{}, fmt.Errorf("simrun tla search %s said %q: %w", c.Name, out.String(), err)
	}
	return m, found[0], nil
}
