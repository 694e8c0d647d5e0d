package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/sim/postgres"
	"simrun/sim/postings"
)

// The whole path at a size that is done in a second; `simrun bench postings-reads` has a million postings.
func TestReads(t *testing.T) {
	if _, err := postgres.FindBinaries(); err != nil {
		t.Skip("this machine has no PostgreSQL server binaries")
	}
	dir := t.TempDir()
	b := postings.ReadBench{History: []int{1000, 3000}, Accounts: 5, Live: 3, Reads: 10}
	if err := Reads(context.Background(), "auto", b, dir, t.Output()); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(dir, "reads.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 1000 | spendable |", "| 3000 | live |"} {
		if !strings.Contains(string(table), want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	for _, plot := range []string{"reads.svg", "reads.png"} {
		if info, err := os.Stat(filepath.Join(dir, plot)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", plot, err)
		}
	}
}

// SIMRUN_READS names a folder to write the full measurement to.
func TestReadsInFull(t *testing.T) {
	dir := os.Getenv("SIMRUN_READS")
	if dir == "" {
		t.Skip("set SIMRUN_READS to a folder to measure with a million postings")
	}
	if err := Reads(context.Background(), "auto", postings.DefaultReadBench(), dir, t.Output()); err != nil {
		t.Fatal(err)
	}
}
