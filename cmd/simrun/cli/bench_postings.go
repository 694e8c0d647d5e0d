package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"simrun/sim/postings"
	"simrun/sim/postings/bench"
)

// postingsReads is `simrun bench postings-reads`.
func (a *app) postingsReads() *cobra.Command {
	var history int
	var url, dir string
	c := &cobra.Command{
		Use:   "postings-reads",
		Short: "Compare reads of a ledger on a mutable status column and on index tables, while the history grows",
		Long: `postings-reads fills two schemas of one database with the same postings, one with a mutable status column, one with index tables of
what is active and reserved, and measures in turns what one account can spend and what it owns, at growing sizes of the history.
The database is dropped at the end.`,
		Args: noArgs,
	}
	f := c.Flags()
	f.IntVar(&history, "postings", 1_000_000, "historical postings at the end; at least 100000")
	f.StringVar(&url, "postgres", "auto", "the server: auto starts a throw-away one, otherwise a URL")
	f.StringVar(&dir, "out", "", "the folder for postings-reads.md, .svg and .png (default: only the table is printed)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if history < 100_000 {
			return usage("--postings %d: a hundredth of it must hold 1000 live postings, so at least 100000", history)
		}
		progress := a.errs
		if a.json {
			progress = io.Discard
		}
		m, err := bench.Reads(c.Context(), url, postings.DefaultReadBench(history), progress)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		if dir != "" {
			if err := m.Files(dir); err != nil {
				return &exit{exitCouldNot, fmt.Errorf("write the measurements: %w", err)}
			}
		}
		if a.json {
			return a.write(m)
		}
		return m.Table(a.out)
	}
	return c
}
