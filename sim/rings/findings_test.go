package rings_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/sim"
	"simrun/sim/postgres/pgtest"
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

// campaign makes a few runs of a scenario on the model, to the first that breaks one of only; nil means any invariant.
func campaign(t *testing.T, strategy string, runs uint64, only []string, in sim.Instance) *fuzz.Report {
	t.Helper()
	in, _, err := in.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r, err := fuzz.Campaign{Spec: replay.Spec{Instance: in, Seed: 1, Strategy: strategy}, Runs: runs, Only: only, Open: sim.NewModel}.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRepairedHolds makes a few runs of every scenario in its default variant: the negative twin of the mutants and the findings.
func TestRepairedHolds(t *testing.T) {
	runs := uint64(20)
	if os.Getenv("SIMRUN_LONG") != "" {
		runs = 400
	}
	for _, s := range sim.Scenarios() {
		if !strings.HasPrefix(s.Name, "rings/") || s.Build == nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			if r := campaign(t, "portfolio", runs, nil, sim.Instance{Scenario: s.Name}); r.Failed {
				t.Errorf("seed %d: %v", r.Seed, r.Violation)
			}
		})
	}
}

// mutants are all of the catalogue, each once, and the scenarios that each is in.
func mutants() (all []sim.Mutant, in map[string][]string) {
	in = map[string][]string{}
	for _, s := range sim.Scenarios() {
		if !strings.HasPrefix(s.Name, "rings/") {
			continue
		}
		for _, m := range s.Mutants {
			if in[m.Name] == nil {
				all = append(all, m)
			}
			in[m.Name] = append(in[m.Name], s.Name)
		}
	}
	return all, in
}

// rare are the mutants that take more than a few hundred runs; they wait for SIMRUN_LONG.
var rare = map[string]bool{"B4": true, "B5": true, "B6": true, "B7": true, "B13": true, "B16": true, "C1": true, "C4": true, "C7": true, "C2": true, "C3": true,
	"C23": true, "D3": true, "D14": true, "E5": true, "E8": true, "F1": true}

// TestMutantsAreFound looks for each mutant in its scenarios, first with few runs. The table of docs/rings.md says how many it takes.
func TestMutantsAreFound(t *testing.T) {
	all, in := mutants()
	for _, m := range all {
		budgets := []uint64{300}
		if rare[m.ID] {
			if os.Getenv("SIMRUN_LONG") == "" {
				continue
			}
			budgets = []uint64{300, 20_000}
		}
		t.Run(m.ID, func(t *testing.T) {
			names := []string{m.Name}
			if m.Masked {
				names = append(names, m.Pair)
			}
			for _, runs := range budgets {
				for _, scenario := range in[m.Name] {
					if campaign(t, "portfolio", runs, m.Breaks, sim.Instance{Scenario: scenario, Mutants: names}).Failed {
						return
					}
				}
			}
			t.Errorf("%d runs of %v broke none of %v", budgets[len(budgets)-1], in[m.Name], m.Breaks)
		})
	}
}

const mutantFiles = "../../testdata/mutants/"

// TestMutantFiles makes the shrunk failing run of each mutant again, byte for byte, to an invariant that it must break. The files
// are written by simrun mutants --scenario rings --verify --out testdata/mutants.
func TestMutantFiles(t *testing.T) {
	all, _ := mutants()
	for _, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			f, err := replay.Read(mutantFiles + "rings-" + m.ID + "-" + m.Name + ".simrun.json")
			if err != nil {
				t.Fatal(err)
			}
			run, drift, err := f.Again(sim.NewModel)
			switch {
			case err != nil:
				t.Fatal(err)
			case drift != nil:
				t.Fatal(drift)
			case f.Mutants[0] != m.Name:
				t.Errorf("the file is of %v", f.Mutants)
			case !slices.Contains(m.Breaks, run.Violation.Invariant):
				t.Errorf("the run breaks %q, not one of %v", run.Violation.Invariant, m.Breaks)
			}
		})
	}
}

// TestMutantFilesOnServer makes the run of each mutant's file in lock-step with a server.
func TestMutantFilesOnServer(t *testing.T) {
	server := pgtest.Start(t)
	all, _ := mutants()
	for _, m := range all {
		t.Run(m.ID, func(t *testing.T) {
			f, err := replay.Read(mutantFiles + "rings-" + m.ID + "-" + m.Name + ".simrun.json")
			if err != nil {
				t.Fatal(err)
			}
			run, drift, err := f.Again(func(setup *sim.Setup) (sim.Backend, error) { return server.NewPair(setup, false) })
			switch {
			case err != nil:
				t.Fatal(err)
			case drift != nil:
				t.Fatal(drift)
			case !slices.Contains(m.Breaks, run.Violation.Invariant):
				t.Errorf("the run breaks %q, not one of %v", run.Violation.Invariant, m.Breaks)
			}
		})
	}
}
