package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	"simrun/reports"
	"simrun/sim"
)

// experiment makes an experiment in a fresh database of the server, prints its table, and plots its series.
func (a *app) experiment(ctx context.Context, scenario string,
	run func(context.Context, func(context.Context) (*pgx.Conn, error)) (*sim.Experiment, error)) error {
	if a.server.backend != "postgres" {
		return usage("scenario %s is an experiment on a server; it needs --backend postgres", scenario)
	}
	if _, err := a.opener(ctx); err != nil {
		return err
	}
	db, err := a.server.running.CreateDatabase()
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	found, err := run(ctx, func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, a.server.running.URL(db)) })
	if err = errors.Join(err, a.server.running.DropDatabase(db)); err != nil {
		return &exit{exitCouldNot, err}
	}
	if a.json {
		return a.write(found)
	}
	fmt.Fprintf(a.out, "%s\n%s\n\n", found.Title, found.Text)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(found.Columns, "\t"))
	for _, row := range found.Rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(found.Series) == 0 {
		return nil
	}
	plot := reports.Plot{Title: found.Title, X: found.X, Y: found.Y, Caption: "simrun run --scenario " + scenario + " --backend postgres"}
	for _, s := range found.Series {
		line := reports.Series{Name: s.Name}
		for i := range s.X {
			line.Points = append(line.Points, reports.Point{X: s.X[i], Y: s.Y[i]})
		}
		plot.Series = append(plot.Series, line)
	}
	path := strings.ReplaceAll(scenario, "/", "-") + ".svg"
	if err := plot.Write(path); err != nil {
		return &exit{exitCouldNot, err}
	}
	fmt.Fprintf(a.out, "\nplotted in %s\n", path)
	return nil
}
