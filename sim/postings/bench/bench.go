// Package bench measures a claim that the decision record of the postings system makes about a real server: reads of the hot
// working set do not grow with the history.
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

// Measured is what Reads found.
type Measured struct {
	Bench  postings.ReadBench   `json:"bench"`
	Server int                  `json:"server"` // as server_version_num
	Points []postings.ReadPoint `json:"points"`
}

// Reads measures spendable and live reads on both encodings in one run on the server that where names (auto, or a URL), in a
// database of its own, which it drops. The server that auto starts has the settings of PostgreSQL but for fsync and autovacuum, which
// are off.
func Reads(ctx context.Context, where string, b postings.ReadBench, progress io.Writer) (m *Measured, err error) {
	server, err := postgres.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	database, err := server.CreateDatabase()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.DropDatabase(database)) }()
	conn, err := pgx.Connect(ctx, server.URL(database))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	points, err := b.Run(ctx, conn, progress)
	if err != nil {
		return nil, err
	}
	return &Measured{Bench: b, Server: server.Version(), Points: points}, nil
}

// Table writes the measurements as a Markdown table, the encodings side by side.
func (m *Measured) Table(w io.Writer) error { return postings.WriteReads(w, m.Points) }

// Files writes the table and the plot as postings-reads.md, .svg and .png into dir, which is made when it is missing.
func (m *Measured) Files(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	table, err := os.Create(filepath.Join(dir, "postings-reads.md"))
	if err != nil {
		return err
	}
	plot := m.Plot()
	return errors.Join(m.Table(table), table.Close(),
		plot.Write(filepath.Join(dir, "postings-reads.svg")), plot.Write(filepath.Join(dir, "postings-reads.png")))
}

// Plot shows the medians over the size of the history, one line for each encoding and read.
func (m *Measured) Plot() reports.Plot {
	plot := reports.Plot{
		Title: "Reads of one account while the history grows", LogX: true, LogY: true,
		X: "historical postings", Y: "median of one read (µs)",
		Caption: fmt.Sprintf("simrun bench postings-reads; PostgreSQL %d, %d live postings in each of %d accounts", m.Server/10000, m.Bench.Live, m.Bench.Accounts),
	}
	at := map[string]int{}
	for _, p := range m.Points {
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
