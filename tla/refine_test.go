package tla

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// Runs of the repaired variants are runs of the specifications, and each action is taken unless something says why not.
func TestRefinement(t *testing.T) {
	for _, m := range Mappings() {
		t.Run(m.Name, func(t *testing.T) {
			w, err := m.Walk(context.Background(), Walk{Runs: 100, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
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
		})
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
