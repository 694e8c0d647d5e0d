package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"simrun/sim/spec"
)

// specVerb runs isolationtester files.
func (a *app) specVerb() *cobra.Command {
	var expected, tester string
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
	f.StringVar(&tester, "isolationtester", "", "run each file by this program too, on the same server, and compare output and time; auto looks for it beside the server's programs")
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
		case opt.all && expected != "", opt.all && tester != "", expected != "" && tester != "":
			return usage("--all explores, --expected compares with files, --isolationtester with the program: give one of them")
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
		switch {
		case tester != "":
			return a.duelSpecs(c.Context(), files, tester, where)
		case expected != "":
			return a.checkSpecs(c.Context(), files, expected, where)
		}
		return a.runSpecs(files, where)
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
	if err := a.startServer(ctx); err != nil {
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
	Refusals []refusedSpecs `json:"refusals,omitempty"`
	Verdicts []spec.Verdict `json:"specs"`
}

// refusedSpecs are the specs that the model does not run because of one construct.
type refusedSpecs struct {
	Construct string   `json:"construct"`
	Specs     []string `json:"specs"`
}

// refuse counts a refused spec by its construct.
func (r *specReport) refuse(construct, name string) {
	r.Refused++
	i := slices.IndexFunc(r.Refusals, func(s refusedSpecs) bool { return s.Construct == construct })
	if i < 0 {
		i = len(r.Refusals)
		r.Refusals = append(r.Refusals, refusedSpecs{Construct: construct})
	}
	r.Refusals[i].Specs = append(r.Refusals[i].Specs, name)
}

// checkSpecs compares each file's output with what is expected.
func (a *app) checkSpecs(ctx context.Context, files []string, expected string, where spec.Backend) error {
	var report specReport
	begun := time.Now()
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
			report.refuse(v.Refused, v.Name)
		case v.Passed:
			report.Passed++
		default:
			report.Differs++
		}
		if !a.json {
			a.specLine(v)
		}
	}
	slices.SortStableFunc(report.Refusals, func(x, y refusedSpecs) int {
		return cmp.Or(len(y.Specs)-len(x.Specs), cmp.Compare(x.Construct, y.Construct))
	})
	report.Millis = time.Since(begun).Milliseconds()
	if a.json {
		if err := a.write(report); err != nil {
			return err
		}
	} else {
		report.print(a.out)
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

// print writes the table: how many passed, were refused, by construct with the most frequent first, and differ.
func (r *specReport) print(w io.Writer) {
	line := func(n int, what string) {
		fmt.Fprintf(w, "%5d  %3.0f %%  %s\n", n, 100*float64(n)/float64(len(r.Verdicts)), what)
	}
	fmt.Fprintf(w, "\n%d specs\n", len(r.Verdicts))
	line(r.Passed, "passed")
	line(r.Differs, "differ"+names(r.differing()))
	line(r.Refused, "refused, because the model does not support")
	for _, s := range r.Refusals {
		fmt.Fprintf(w, "%16d  %s%s\n", len(s.Specs), s.Construct, names(s.Specs))
	}
}

func (r *specReport) differing() (list []string) {
	for _, v := range r.Verdicts {
		if !v.Passed && v.Refused == "" {
			list = append(list, v.Name)
		}
	}
	return list
}

func names(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// duelReport is the comparison with isolationtester, as JSON.
type duelReport struct {
	Duels   []spec.Duel   `json:"specs"`
	Same    int           `json:"same"`
	Differ  int           `json:"differ"`
	Refused int           `json:"refused"`
	Theirs  time.Duration `json:"isolationtester_nanoseconds"` // of those that both ran
	Ours    time.Duration `json:"simrun_nanoseconds"`
	Program string        `json:"isolationtester"`
	Server  int           `json:"server_version"`
}

// duelSpecs runs each file by isolationtester too, on the same server, in turns, and compares what both print and how long they take.
func (a *app) duelSpecs(ctx context.Context, files []string, program string, where spec.Backend) error {
	if program == "auto" {
		var err error
		if program, err = spec.FindTester(); err != nil {
			return &exit{exitCouldNot, err}
		}
	}
	if err := a.startServer(ctx); err != nil {
		return err
	}
	database, err := a.server.running.CreateDatabase()
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	tester := &spec.Tester{Program: program, Conninfo: a.server.running.URL(database)}
	if err := tester.Prepare(); err != nil {
		return &exit{exitCouldNot, err}
	}
	report := duelReport{Program: program, Server: a.server.running.Version()}
	for i, file := range files {
		d, err := tester.Fight(ctx, file, where, i%2 == 0)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		report.Duels = append(report.Duels, d)
		verdict := "same   "
		switch {
		case d.Refused != "":
			report.Refused++
			verdict = "refused"
		case d.Diff != "":
			report.Differ++
			verdict = "differs"
		default:
			report.Same++
		}
		if d.Refused == "" {
			report.Theirs += d.Theirs
			report.Ours += d.Ours
		}
		if !a.json {
			fmt.Fprintf(a.out, "%s  %7.3f s  %7.3f s  %s\n%s", verdict, d.Theirs.Seconds(), d.Ours.Seconds(), d.Name, d.Diff)
		}
	}
	if a.json {
		if err := a.write(report); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "%d the same, %d differ, %d refused; isolationtester took %.2f s, simrun %.2f s\n", report.Same, report.Differ, report.Refused,
			report.Theirs.Seconds(), report.Ours.Seconds())
	}
	if report.Differ > 0 {
		return &exit{exitViolated, nil}
	}
	return nil
}
