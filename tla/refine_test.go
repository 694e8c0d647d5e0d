package tla

import (
	"context"
	"strings"
	"testing"

	"simrun/sim"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
)

// Runs of the repaired variants are runs of the specifications.
func TestRefinement(t *testing.T) {
	for _, m := range Mappings() {
		t.Run(m.Config+"/"+m.Variant, func(t *testing.T) {
			w, err := m.Fuzz(context.Background(), nil, 300, sim.NewModel)
			if err != nil {
				t.Fatal(err)
			}
			if w.Violation.Invariant != "" {
				t.Fatalf("%s\n%v", w.Violation.Detail, w.Schedule)
			}
			for _, c := range w.Coverage {
				t.Logf("%-14s %4d edges, %4d taken, %6d times", c.Action, c.Edges, c.Taken, c.Times)
				if c.Taken == 0 && c.Edges > 0 && m.Why[c.Action] == "" {
					t.Errorf("no run takes %s, and nothing says why", c.Action)
				}
			}
		})
	}
}

// A mutant that the specification can express is rejected by it.
func TestRefinementRejectsMutants(t *testing.T) {
	for _, m := range Mappings() {
		for _, mutant := range m.Rejects {
			t.Run(m.Config+"/"+mutant, func(t *testing.T) {
				w, err := m.Fuzz(context.Background(), []string{mutant}, 2000, sim.NewModel)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(w.Violation.Invariant, "Refines") {
					t.Errorf("%d runs of the mutant are runs of %s", w.Runs, m.Config)
				}
				t.Log(w.Violation.Detail)
			})
		}
	}
}
