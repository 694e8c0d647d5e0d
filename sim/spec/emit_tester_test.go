package spec_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/replay"
	"simrun/sim/postgres/pgtest"
	"simrun/sim/spec"
)

// TestEmittedByIsolationtester runs emitted failures with PostgreSQL's own isolationtester, which must take the files, print what
// simrun prints, and see the violated invariant.
func TestEmittedByIsolationtester(t *testing.T) {
	program, err := spec.FindTester()
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"rings-C19-live-counts-survive", "rings-C2-no-recheck-under-lock"} {
		t.Run(name, func(t *testing.T) {
			f, err := replay.Read("../../testdata/mutants/" + name + ".simrun.json")
			if err != nil {
				t.Fatal(err)
			}
			text, run := emitted(t, f)
			file := filepath.Join(t.TempDir(), name+".spec")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			tester := &spec.Tester{Program: program, Conninfo: pgtest.Database(t)}
			if err := tester.Prepare(); err != nil {
				t.Fatal(err)
			}
			out, err := tester.Run(context.Background(), file)
			if err != nil {
				t.Fatal(err)
			}
			_, last, found := strings.Cut(string(out), "step "+run.Violation.Invariant+":")
			if !found || strings.Contains(last, "(0 rows)") || !strings.Contains(last, "row") {
				t.Fatalf("%s is not seen to be violated:\n%s", run.Violation.Invariant, out)
			}
			server := &spec.Server{URL: pgtest.Database(t)}
			defer server.Close()
			duel, err := tester.Fight(context.Background(), file, server, true)
			if err != nil || duel.Diff != "" {
				t.Fatal(err, duel.Diff)
			}
		})
	}
}
