package rings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/sim"
	_ "simrun/sim/rings"
)

// TestFindings replays each finding's file on the model, byte for byte, to the violation that its page names.
func TestFindings(t *testing.T) {
	files, err := filepath.Glob("../../testdata/findings/rings-*.simrun.json")
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
			if drift != nil {
				t.Fatal(drift)
			}
			if v := run.Violation.Invariant; v == "" || !strings.Contains(string(page), v+" breaks in scenario `"+f.Scenario+"`") {
				t.Errorf("the run breaks %q, which the page does not say", v)
			}
		})
	}
}

// campaign makes a few runs of a scenario on the model.
func campaign(t *testing.T, strategy string, runs uint64, in sim.Instance) *fuzz.Report {
	t.Helper()
	in, _, err := in.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r, err := fuzz.Campaign{Spec: replay.Spec{Instance: in, Seed: 1, Strategy: strategy}, Runs: runs, Open: sim.NewModel}.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRepairedHolds makes a few runs of every scenario in its default variant: the negative twin of the mutants and the findings.
func TestRepairedHolds(t *testing.T) {
	runs := uint64(20)
	if os.Getenv("SIMRUN_LONG") != "" {
		runs = 1000
	}
	for _, s := range sim.Scenarios() {
		if !strings.HasPrefix(s.Name, "rings/") || s.Build == nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			if r := campaign(t, "random", runs, sim.Instance{Scenario: s.Name}); r.Failed {
				t.Errorf("seed %d: %v", r.Seed, r.Violation)
			}
		})
	}
}

// TestMutantsAreFound gives the mutants that a handful of runs find those runs; the others wait for SIMRUN_LONG.
func TestMutantsAreFound(t *testing.T) {
	slow := map[string]bool{}
	for _, id := range []string{"A13", "A29", "B4", "B6", "B7", "B5", "B13", "B16", "C1", "C2", "C3", "C4", "C7", "C9", "C23", "D1", "D14", "E5", "E8", "F1", "D3", "A22", "A10", "A27", "A28"} {
		slow[id] = true
	}
	long := os.Getenv("SIMRUN_LONG") != ""
	for _, s := range sim.Scenarios() {
		if !strings.HasPrefix(s.Name, "rings/") {
			continue
		}
		for _, m := range s.Mutants {
			if slow[m.ID] && !long {
				continue
			}
			t.Run(s.Name+"/"+m.ID, func(t *testing.T) {
				runs, strategy, mutants := uint64(200), "random", []string{m.Name}
				if slow[m.ID] {
					runs, strategy = 20_000, "pct"
				}
				if m.Masked {
					mutants = append(mutants, m.Pair)
				}
				r := campaign(t, strategy, runs, sim.Instance{Scenario: s.Name, Mutants: mutants})
				for _, want := range m.Breaks {
					if r.Violation.Invariant == want {
						return
					}
				}
				t.Errorf("after %d runs %q broke, not one of %v", r.Runs, r.Violation.Invariant, m.Breaks)
			})
		}
	}
}
