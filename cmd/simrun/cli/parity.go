package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"simrun/sim/parity"
	"simrun/sim/postgres"
)

// parityVerb looks for divergences between the model and a server.
func (a *app) parityVerb() *cobra.Command {
	var o parity.Options
	var url, out string
	cmd := &cobra.Command{
		Use:   "parity",
		Short: "Run random SQL of several sessions on the model and a server in lock-step, and shrink what differs",
		Args:  noArgs,
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", 1, "the first seed; each schema has its own, counting up")
	f.IntVar(&o.Steps, "steps", 10000, "how many statements to run")
	f.BoolVar(&o.CompareLocks, "compare-locks", false, "compare pg_locks after each step too")
	f.IntVar(&o.Keep, "keep", 1, "how many divergences to find before it ends")
	f.StringVar(&url, "postgres", "auto", "the server: auto starts a throw-away one, otherwise a URL")
	f.StringVar(&out, "out", ".", "the folder for the case that a divergence is shrunk to")
	cmd.RunE = func(c *cobra.Command, _ []string) error {
		server, err := postgres.Open(c.Context(), url)
		if err != nil {
			return &exit{exitCouldNot, fmt.Errorf("no server: %w", err)}
		}
		defer server.Close()
		progress, started := a.teller(), time.Now()
		o.Progress = func(r parity.Report) {
			elapsed := time.Since(started)
			progress.tell(elapsed, fmt.Sprintf("%s, %d schemas, seed %d", rate("steps", uint64(r.Steps), uint64(o.Steps), elapsed), r.Schemas, r.Seed))
		}
		report, found, err := parity.Fuzz(c.Context(), server, o)
		progress.done()
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		return a.parityReport(report, found, server.Version(), out)
	}
	return cmd
}

func (a *app) parityReport(r parity.Report, found []*parity.Found, version int, out string) error {
	if a.json {
		if err := a.write(struct {
			parity.Report
			Server int             `json:"server"`
			Found  []*parity.Found `json:"found,omitempty"`
		}{r, version, found}); err != nil {
			return err
		}
	} else {
		for _, what := range slices.Sorted(maps.Keys(r.Refused)) {
			fmt.Fprintf(a.out, "refused %d times: %s\n", r.Refused[what], what)
		}
		fmt.Fprintf(a.out, "PostgreSQL %d: %d statements in %d runs on %d schemas\n", version/10000, r.Steps, r.Runs, r.Schemas)
	}
	if len(found) == 0 {
		if !a.json {
			fmt.Fprintln(a.out, "no divergence")
		}
		return nil
	}
	for _, f := range found {
		f.Shrunk.Doc = f.Divergence.Error()
		if err := os.MkdirAll(out, 0o755); err != nil {
			return &exit{exitCouldNot, err}
		}
		file := filepath.Join(out, fmt.Sprintf("parity-%d.spec", f.Seed))
		if err := os.WriteFile(file, []byte(f.Shrunk.String()), 0o644); err != nil {
			return err
		}
		if !a.json {
			fmt.Fprintf(a.out, "seed %d, in %d steps:\n%s\nsaved as %s\n", f.Seed, len(f.Shrunk.Steps), f.Shrunk, file)
		}
	}
	return found[0].Divergence
}
