package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"simrun/sim/postgres"
	"simrun/sim/spec"
)

// specVerb runs isolationtester files.
func (a *app) specVerb() *cobra.Command {
	var expected, backend, url string
	cmd := &cobra.Command{
		Use:   "spec FILE|DIR...",
		Short: "Run isolationtester .spec files and print what isolationtester prints, or compare with expected outputs",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("simrun spec expects a .spec file or a folder of them; see simrun spec --help")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&expected, "expected", "", "folder of expected outputs: <name>.out and its variants <name>_1.out ...; one of them must be matched")
	cmd.Flags().StringVar(&backend, "backend", "model", "what executes the SQL: model or postgres")
	cmd.Flags().StringVar(&url, "postgres", "auto", "the server: auto starts a throw-away one, otherwise a URL")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		var files []string
		for _, arg := range args {
			found, err := spec.Files(arg)
			if err != nil {
				return usage("%w", err)
			}
			files = append(files, found...)
		}
		where, done, err := specBackend(c.Context(), backend, url)
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
func specBackend(ctx context.Context, backend, url string) (_ spec.Backend, done func(), err error) {
	switch backend {
	case "model":
		return &spec.Model{}, func() {}, nil
	case "postgres":
	default:
		return nil, nil, usage("--backend %s: expected model or postgres", backend)
	}
	server, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, nil, &exit{exitCouldNot, fmt.Errorf("no server: %w", err)}
	}
	database, err := server.CreateDatabase()
	if err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	s := &spec.Server{URL: server.URL(database)}
	return s, func() {
		s.Close()
		_ = server.Close()
	}, nil
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
