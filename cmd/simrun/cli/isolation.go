package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"simrun/sim/spec"
)

// specVerb runs isolationtester files.
func (a *app) specVerb() *cobra.Command {
	var expected string
	var opt allFlags
	cmd := &cobra.Command{
		Use:   "spec FILE|DIR...",
		Short: "Run isolationtester .spec files as isolationtester does, compare with expected outputs, or explore every interleaving",
		Long: `spec runs isolationtester's .spec files: the permutations that they list, or all of them where none is listed. It prints what
isolationtester prints, or with --expected compares that with files.

With --all it explores every interleaving of the steps that a listed permutation has (of all steps where none is listed) on the
model, and shows the distinct final states, how many schedules lead to each, and whether a serial order of the sessions, or of their
transactions, gives the same. Transactions that failed with 40001, 40P01, 55P03 or 57014 are left out of that comparison. Sessions
begin with their setups and end, together, with their teardowns. A check (--check STEP, or a comment "# check: STEP" in the file) is a
step that is not interleaved: its query, made at the end, must return no row. A violation is shown with the shortest
interleaving and written to a failure file.

With --all and --backend postgres or both, one interleaving of each class of equivalent ones, by partial-order reduction, is run
on the server too, and compared.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("simrun spec expects a .spec file or a folder of them; see simrun spec --help")
			}
			return nil
		},
	}
	f := cmd.Flags()
	a.server.flags(f)
	f.StringVar(&expected, "expected", "", "folder of expected outputs: <name>.out and its variants <name>_1.out ...; one of them must be matched")
	f.BoolVar(&opt.all, "all", false, "explore every interleaving of the sessions' steps")
	f.StringArrayVar(&opt.checks, "check", nil, "with --all, a step whose query must return no row at the end; may be repeated")
	f.IntVar(&opt.states, "states", 0, "with --all, visit at most this many distinct states (0: no bound)")
	f.IntVar(&opt.classes, "classes", 0, "with --all on a server, run at most this many classes of equivalent interleavings (0: no bound)")
	f.StringVar(&opt.out, "out", ".", "with --all, the folder for failure files")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		var files []string
		for _, arg := range args {
			found, err := spec.Files(arg)
			if err != nil {
				return usage("%w", err)
			}
			files = append(files, found...)
		}
		switch {
		case opt.all && expected != "":
			return usage("--all shows what it finds, and --expected compares isolationtester's output: give one of them")
		case len(opt.checks) > 0 && !opt.all:
			return usage("--check needs --all")
		case opt.all:
			return a.exploreSpecs(c.Context(), files, opt)
		}
		where, done, err := a.specBackend(c.Context())
		if err != nil {
			return err
		}
		defer done()
		if expected == "" {
			return a.runSpecs(files, where)
		}
		return a.checkSpecs(c.Context(), files, expected, where)
	}
	return cmd
}

// specBackend makes where specs run; done frees it. On a server, one database serves all files, as pg_isolation_regress has it.
func (a *app) specBackend(ctx context.Context) (_ spec.Backend, done func(), err error) {
	switch a.server.backend {
	case "model":
		return &spec.Model{}, func() {}, nil
	case "postgres":
	default:
		return nil, nil, usage("--backend %s: without --all, expected model or postgres", a.server.backend)
	}
	if _, err := a.opener(ctx); err != nil {
		return nil, nil, err
	}
	database, err := a.server.running.CreateDatabase()
	if err != nil {
		return nil, nil, &exit{exitCouldNot, err}
	}
	s := &spec.Server{URL: a.server.running.URL(database)}
	return s, s.Close, nil
}

// runSpecs prints what isolationtester prints.
func (a *app) runSpecs(files []string, where spec.Backend) error {
	for _, file := range files {
		if err := spec.RunFile(file, where, a.out, a.errs); errors.Is(err, spec.ErrFailed) {
			return &exit{exitViolated, nil}
		} else if err != nil {
			return &exit{exitCouldNot, err}
		}
	}
	return nil
}

// specReport is the outcome of comparing specs, as JSON.
type specReport struct {
	Passed   int            `json:"passed"`
	Refused  int            `json:"refused"`
	Differs  int            `json:"differs"`
	Millis   int64          `json:"milliseconds"`
	Verdicts []spec.Verdict `json:"specs"`
}

// checkSpecs compares each file's output with what is expected.
func (a *app) checkSpecs(ctx context.Context, files []string, expected string, where spec.Backend) error {
	var report specReport
	begun := time.Now()
	refused := map[string][]string{}
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := spec.Check(file, expected, where)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		report.Verdicts = append(report.Verdicts, v)
		switch {
		case v.Refused != "":
			report.Refused++
			refused[v.Refused] = append(refused[v.Refused], v.Name)
		case v.Passed:
			report.Passed++
		default:
			report.Differs++
		}
		if !a.json {
			a.specLine(v)
		}
	}
	report.Millis = time.Since(begun).Milliseconds()
	if a.json {
		if err := a.write(report); err != nil {
			return err
		}
	} else {
		printRefused(a.out, refused)
		fmt.Fprintf(a.out, "%d specs: %d passed, %d refused, %d differ\n", len(files), report.Passed, report.Refused, report.Differs)
		fmt.Fprintf(a.errs, "%.1f s\n", time.Since(begun).Seconds())
	}
	if report.Differs > 0 {
		return &exit{exitViolated, nil}
	}
	return nil
}

func (a *app) specLine(v spec.Verdict) {
	switch {
	case v.Refused != "":
		fmt.Fprintf(a.out, "refused  %s: %s\n", v.Name, v.Refused)
	case v.Passed:
		fmt.Fprintf(a.out, "passed   %s\n", v.Name)
	default:
		fmt.Fprintf(a.out, "differs  %s\n%s", v.Name, v.Diff)
	}
}

// printRefused lists what the model refused, the most frequent first.
func printRefused(w io.Writer, refused map[string][]string) {
	if len(refused) == 0 {
		return
	}
	var constructs []string
	for c := range refused {
		constructs = append(constructs, c)
	}
	slices.SortFunc(constructs, func(x, y string) int {
		if d := len(refused[y]) - len(refused[x]); d != 0 {
			return d
		}
		return slices.Compare([]string{x}, []string{y})
	})
	fmt.Fprintln(w, "refused, by construct:")
	for _, c := range constructs {
		fmt.Fprintf(w, "%5d  %s\n", len(refused[c]), c)
	}
}
