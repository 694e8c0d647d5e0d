package postings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/replay"
	"simrun/sim"
	_ "simrun/sim/postings"
)

// Each finding is a page and a failure file that replays on the model, byte for byte, to the violation that the page names. With
// SIMRUN_UPDATE=1 a file whose schedule still leads there, through other words, is written anew.
func TestFindings(t *testing.T) {
	files, err := filepath.Glob("../../testdata/findings/postings-*.simrun.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".simrun.json")
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join("../../docs/findings", name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			f, err := replay.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			run, drift, err := f.Again(sim.NewModel)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case drift != nil && os.Getenv("SIMRUN_UPDATE") != "" && run.Err == nil && run.Violation.Invariant == f.Violation.Invariant:
				if err := replay.NewFile(run, f.Tool).Write(path); err != nil {
					t.Fatal(err)
				}
			case drift != nil:
				t.Fatal(drift)
			}
			if v := run.Violation.Invariant; v == "" || !strings.Contains(string(page), v) {
				t.Errorf("the run breaks %q, of which the page says nothing", v)
			}
			if !strings.Contains(string(page), f.Scenario) {
				t.Errorf("the page does not name the scenario %s", f.Scenario)
			}
		})
	}
}
