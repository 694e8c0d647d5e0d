package tla

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// Runs of the repaired variants are runs of the specifications; each action is taken unless something says why not, and each
// statement that is no action is explained. The README says the same. SIMRUN_UPDATE=1 writes its table.
func TestRefinement(t *testing.T) {
	var walked []*Walked
	for _, m := range Mappings() {
		t.Run(m.Name, func(t *testing.T) {
			w, err := m.Walk(context.Background(), Walk{Runs: 100, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			walked = append(walked, w)
			if w.Violation != nil {
				t.Fatalf("%s\n%s", w.Violation.Detail, w.Reproduce)
			}
			for _, c := range w.Coverage {
				t.Logf("%-14s %4d edges, %4d taken, %6d times", c.Action, c.Edges, c.Taken, c.Times)
				if why := m.Why[c.Action]; c.Taken == 0 && c.Edges > 0 && why == "" {
					t.Errorf("no run takes %s, and nothing says why", c.Action)
				} else if c.Taken > 0 && why != "" {
					t.Errorf("runs take %s, of which is said: %s", c.Action, why)
				}
			}
			for _, s := range w.Stutters {
				if Outside(configSpec(m.Config), s.Statement) == "" {
					t.Errorf("%d times no action of %s, and nothing says why: %s", s.Times, m.Config, s.Statement)
				}
			}
		})
	}
	if !t.Failed() && len(walked) == len(Mappings()) {
		readme(t, CoverageTable(Mappings(), walked))
	}
}

// readme compares the table of the README with a fresh one: the actions that no step takes, and why, must be the same. How
// often the others were taken may change with the scenarios.
func readme(t *testing.T, table string) {
	const begin, end = "<!-- coverage -->\n", "<!-- end of coverage -->"
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("README.md has no part between %q and %q", begin, end)
	}
	if os.Getenv("SIMRUN_UPDATE") != "" {
		if err := os.WriteFile("README.md", []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for line := range strings.SplitSeq(table, "\n") {
		if strings.HasPrefix(line, "* ") && !strings.HasPrefix(line, "* `") && !strings.Contains(was, line) {
			t.Errorf("README.md does not say %q; SIMRUN_UPDATE=1 go test ./tla -run TestRefinement writes it", line)
		}
	}
}

// A mutant that a specification can express is rejected by it, and so is every fault that a configuration has.
func TestRefinementRejects(t *testing.T) {
	rejected := map[string]bool{}
	for _, m := range Mappings() {
		for _, r := range m.Rejects {
			rejected[r.Config] = true
			t.Run(m.Name+"/"+r.String(), func(t *testing.T) {
				w, err := m.Walk(context.Background(), Walk{Reject: r, Runs: 3000, Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				if w.Violation == nil || !strings.HasPrefix(w.Violation.Invariant, "Refines") {
					t.Fatalf("%d runs of it are runs of %s", w.Runs, m.Config)
				}
				t.Logf("seed %d: %s", w.Seed, w.Violation.Detail)
			})
		}
	}
	configs, err := Configs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		if c.Breaks != "" && !rejected[c.Name] {
			t.Errorf("no change of a scenario shows the fault of %s", c.Name)
		}
	}
	for name := range rejected {
		if name != "" && !slices.ContainsFunc(configs, func(c Config) bool { return c.Name == name && c.Breaks != "" }) {
			t.Errorf("there is no failing configuration %s", name)
		}
	}
}
