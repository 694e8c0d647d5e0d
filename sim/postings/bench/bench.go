// Package bench measures claims that the decision record of the postings system makes about a real server: reads of the hot
// working set do not grow with the history, and the commit role gets by without UPDATE on what is append-only.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"simrun/reports"
	"simrun/sim/postgres"
	"simrun/sim/postings"
)

// Reads measures spendable and live reads on both encodings in one run on the server that where names (auto, or a URL), in a
// database of its own, and writes reads.md, reads.svg and reads.png into dir.
func Reads(ctx context.Context, where string, b postings.ReadBench, dir string, progress io.Writer) (err error) {
	server, err := postgres.Open(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	database, err := server.CreateDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.DropDatabase(database)) }()
	conn, err := pgx.Connect(ctx, server.URL(database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	points, err := b.Run(ctx, conn, progress)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	table, err := os.Create(filepath.Join(dir, "reads.md"))
	if err != nil {
		return err
	}
	if err := errors.Join(postings.WriteReads(table, points), table.Close()); err != nil {
		return err
	}
	plot := Plot(points)
	plot.Caption = fmt.Sprintf("simrun bench postings-reads; PostgreSQL %d, %d live postings in each of %d accounts", server.Version(), b.Live, b.Accounts)
	return errors.Join(plot.Write(filepath.Join(dir, "reads.svg")), plot.Write(filepath.Join(dir, "reads.png")))
}

// Plot shows the medians over the size of the history, one line for each encoding and read.
func Plot(points []postings.ReadPoint) reports.Plot {
	plot := reports.Plot{
		Title: "Reads of one account while the history grows", LogX: true, LogY: true,
		X: "historical postings", Y: "median of one read (µs)",
	}
	at := map[string]int{}
	for _, p := range points {
		name := p.Read + ", " + p.Encoding
		i, ok := at[name]
		if !ok {
			i = len(plot.Series)
			at[name] = i
			plot.Series = append(plot.Series, reports.Series{Name: name})
		}
		plot.Series[i].Points = append(plot.Series[i].Points, reports.Point{X: float64(p.History), Y: float64(p.P50.Nanoseconds()) / 1000})
	}
	return plot
}
