package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/sim/postgres/pgtest"
	"simrun/sim/postings"
)

// The whole path at a size that is done in a second; `simrun bench postings-reads` has a million postings.
func TestReads(t *testing.T) {
	server := pgtest.Start(t)
	b := postings.ReadBench{History: []int{1000, 3000}, Accounts: 5, Live: 3, Reads: 10}
	m, err := Reads(context.Background(), server.URL("postgres"), b, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Points) != 8 {
		t.Errorf("%d points; expected two sizes, two encodings, two reads", len(m.Points))
	}
	for _, p := range m.Points {
		if p.P50 <= 0 || p.P95 < p.P50 || p.Buffers < 1 {
			t.Errorf("%+v cannot be", p)
		}
	}
	dir := t.TempDir()
	if err := m.Files(dir); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(dir, "postings-reads.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 1000 | spendable |", "| 3000 | live |"} {
		if !strings.Contains(string(table), want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	for _, plot := range []string{"postings-reads.svg", "postings-reads.png"} {
		if info, err := os.Stat(filepath.Join(dir, plot)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", plot, err)
		}
	}
}

// A history in which the accounts do not have room is refused, and a read that returns something else than expected too.
func TestReadsRefuse(t *testing.T) {
	server := pgtest.Start(t)
	for _, b := range []postings.ReadBench{
		{History: []int{100}, Accounts: 0, Live: 1, Reads: 1},
		{History: []int{10}, Accounts: 5, Live: 3, Reads: 1},
		{History: []int{1000, 100}, Accounts: 5, Live: 3, Reads: 1},
	} {
		if _, err := Reads(context.Background(), server.URL("postgres"), b, t.Output()); err == nil {
			t.Errorf("%+v was measured", b)
		}
	}
}
