package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/reports"
)

// ciFlags are what fuzz offers to CI systems; docs/ci.md describes them.
type ciFlags struct {
	corpus, junit, markdown, shard string
	github                         bool
}

func (c *ciFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&c.corpus, "corpus", "", "a folder of failure files that is kept from job to job: they are run again first, and new ones are added")
	f.StringVar(&c.junit, "junit", "", "write a JUnit XML report to this file")
	f.StringVar(&c.markdown, "markdown", "", "write a Markdown summary to this file")
	f.BoolVar(&c.github, "github", false, "write GitHub annotations and the step summary")
	f.StringVar(&c.shard, "shard", "", "run only shard i of n, as i/n: shards have disjoint seeds")
}

// seeds returns the first seed of the shard and the distance between its seeds.
func (c *ciFlags) seeds(first uint64) (start, stride uint64, err error) {
	if c.shard == "" {
		return first, 1, nil
	}
	i, n, ok := strings.Cut(c.shard, "/")
	a, err1 := strconv.ParseUint(i, 10, 32)
	b, err2 := strconv.ParseUint(n, 10, 32)
	if !ok || err1 != nil || err2 != nil || a < 1 || a > b {
		return 0, 0, usage("--shard %s: expected i/n with 1 <= i <= n", c.shard)
	}
	return first + a - 1, b, nil
}

// known runs the corpus's files of the spec's instance again, and returns what they come to: one finding for each invariant, shown
// by its shortest run that still fails.
func (c *ciFlags) known(s replay.Spec, open replay.Opener) ([]reports.Finding, error) {
	if c.corpus == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.corpus, 0o755); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(c.corpus, "*.simrun.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var out []reports.Finding
	for _, path := range paths {
		file, err := replay.Read(path)
		if err != nil {
			return nil, err
		}
		if file.Flags() != s.Flags() {
			continue
		}
		run, _, err := file.Again(open)
		if err != nil {
			return nil, err
		}
		f := finding(file, path, reports.Known)
		if run.Violation.Invariant != file.Violation.Invariant {
			f.Standing = reports.Fixed
		}
		i := slices.IndexFunc(out, func(o reports.Finding) bool { return o.Name() == f.Name() })
		switch {
		case i < 0:
			out = append(out, f)
		case f.Standing == reports.Known && (out[i].Standing == reports.Fixed || f.Steps < out[i].Steps):
			out[i] = f
		}
	}
	return out, nil
}

func finding(f *replay.File, path string, standing reports.Standing) reports.Finding {
	return reports.Finding{Scenario: f.Scenario, Variant: f.Variant, Mutants: f.Mutants, Invariant: f.Violation.Invariant, Detail: f.Violation.Detail,
		Standing: standing, Steps: len(f.Steps), File: path, Reproduce: "simrun replay " + path}
}

// report writes what the flags ask for. found is the failure of this campaign, or nil.
func (a *app) report(c *ciFlags, s replay.Spec, r *fuzz.Report, known []reports.Finding, found *reports.Finding) error {
	sum := reports.Summary{Command: command(), Scenarios: []string{s.Scenario},
		Runs: int(r.Runs), Steps: int(r.Steps), Wall: r.Elapsed, Findings: known}
	if found != nil {
		for _, k := range known {
			if k.Name() == found.Name() && k.Standing == reports.Known {
				found.Standing = reports.Known
			}
		}
		if found.Standing == reports.New {
			sum.Findings = append(sum.Findings, *found)
		}
	}
	if r.Coverage != nil {
		sum.Saturation = r.Coverage.States.Meaning("states")
	}
	for _, w := range slices.Sorted(maps.Keys(r.Witnesses)) {
		sum.Coverage = append(sum.Coverage, reports.Coverage{Witness: w, Seen: int(r.Witnesses[w])})
	}
	for _, w := range r.Unseen {
		sum.Coverage = append(sum.Coverage, reports.Coverage{Witness: w})
	}
	for _, f := range sum.Findings {
		if !a.json {
			fmt.Fprintf(a.out, "%s: %s, %s\n", f.Standing, f.Name(), f.File)
		}
	}
	if c.junit != "" {
		if err := writeFile(c.junit, sum.WriteJUnit); err != nil {
			return err
		}
	}
	if c.markdown != "" {
		if err := writeFile(c.markdown, sum.WriteMarkdown); err != nil {
			return err
		}
	}
	if c.github {
		if err := sum.WriteGitHub(a.out); err != nil {
			return err
		}
		if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			return errors.Join(sum.WriteMarkdown(f), f.Close())
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
