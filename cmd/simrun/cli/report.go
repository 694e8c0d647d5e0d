package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/spf13/cobra"

	"simrun/model/sql/parser"
	"simrun/replay"
	"simrun/reports"
	"simrun/sim"
)

func (a *app) reportCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "Write one offline HTML page that shows a failure",
		Long: `report runs a failure file again and writes what happened as one HTML file that needs no network: what broke, a timeline with a lane an
actor, waits with the holder named, the tables as they were at the step you point at, the order of locks, and the operations.
With --backend both the run is made on the model and on the server, and results that differ stand side by side.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("simrun report takes one failure file, got %d arguments", len(args))
			}
			return nil
		},
	}
	f := c.Flags()
	a.server.flags(f)
	f.StringVar(&out, "out", "", "the HTML file (default: the failure file's name with .html)")
	c.RunE = func(c *cobra.Command, args []string) error {
		file, err := replay.Read(args[0])
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		if out == "" {
			out = strings.TrimSuffix(filepath.Base(args[0]), ".simrun.json") + ".html"
		}
		page, err := a.page(c, file, args[0])
		if err != nil {
			return err
		}
		w, err := os.Create(out)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		if err := errors.Join(page.WriteHTML(w), w.Close()); err != nil {
			return &exit{exitCouldNot, err}
		}
		if a.json {
			return a.write(map[string]string{"report": out})
		}
		fmt.Fprintln(a.out, out)
		return nil
	}
	return c
}

// page runs the file again with a recorder, on the first backend, and on the server too with --backend both.
func (a *app) page(c *cobra.Command, file *replay.File, path string) (*reports.Page, error) {
	spec := file.Spec
	resolved, scenario, err := spec.Resolve()
	if err != nil {
		return nil, &exit{exitCouldNot, fmt.Errorf("the file no longer applies: %w", err)}
	}
	spec.Instance = resolved
	backend := a.server.backend
	if backend == "both" {
		a.server.backend = "model"
	}
	open, err := a.opener(c.Context())
	if err != nil {
		return nil, err
	}
	var recorder *reports.Recorder
	run, err := replay.Follow(spec, file.Choices(), func(setup *sim.Setup) (sim.Backend, error) {
		var actors []string
		for _, a := range setup.Actors {
			actors = append(actors, a.Name)
		}
		recorder = reports.NewRecorder(tablesOf(setup.Schema), actors)
		setup.Observe = recorder.Observe
		db, err := open(setup)
		if err == nil {
			recorder.Start(db)
		}
		return db, err
	})
	if err != nil {
		return nil, err
	}
	p, err := reports.BuildPage(run.Trace, recorder)
	if err != nil {
		return nil, &exit{exitCouldNot, err}
	}
	p.Title = scenario.Name + " (" + strings.Join(append([]string{spec.Variant}, spec.Mutants...), ", ") + ")"
	p.Invariant, p.Detail, p.Reproduce = run.Violation.Invariant, run.Violation.Detail, "simrun replay "+path
	for _, inv := range run.Setup.Invariants {
		if inv.Name == p.Invariant {
			p.Doc = inv.Doc
		}
		if inv.Page == nil || p.Linearizability != "" && inv.Name != p.Invariant {
			continue
		}
		var b strings.Builder
		if shown, err := inv.Page(run.Trace, &b); err != nil {
			return nil, &exit{exitCouldNot, err}
		} else if shown {
			p.Linearizability = b.String()
		}
	}
	if p.Invariant != "" && len(p.Steps) > 0 {
		p.Steps[len(p.Steps)-1].Culprit = true
	}
	if backend == "both" {
		a.server.backend = "postgres"
		if open, err = a.opener(c.Context()); err != nil {
			return nil, err
		}
		other, err := replay.Follow(spec, file.Choices(), open)
		if err != nil {
			return nil, err
		}
		p.Beside("postgres", other.Trace)
	}
	return p, nil
}

// tablesOf lists the tables that a schema creates, partitions left out: their rows show in the parent.
func tablesOf(schema string) []string {
	stmts, err := parser.Parse(schema)
	if err != nil {
		return nil // the schema has been run already: only a dialect of the server's own gets here
	}
	var names []string
	for _, s := range stmts {
		create, ok := s.Stmt.Node.(*pg.Node_CreateStmt)
		if !ok || create.CreateStmt.Partbound != nil {
			continue
		}
		name := create.CreateStmt.Relation.Relname
		if schema := create.CreateStmt.Relation.Schemaname; schema != "" {
			name = schema + "." + name
		}
		names = append(names, name)
	}
	return names
}
