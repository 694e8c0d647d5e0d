package machines

import (
	"context"
	"testing"

	"simrun/scheduler"
	"simrun/tla"
)

// Each machine has the distinct states that TLC finds, and breaks what TLC finds broken. The counts are those of the stored
// graphs, which TLC made.
func TestMachinesAgreeWithTLC(t *testing.T) {
	configs, err := tla.Configs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			r, err := Search(context.Background(), c, scheduler.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Violation.Invariant != c.Breaks {
				t.Fatalf("%v, expected %q to be violated", r, c.Breaks)
			}
			if c.Breaks != "" {
				return
			}
			g, err := tla.GraphOf(c)
			if err != nil {
				t.Fatal(err)
			}
			if r.States != len(g.States) {
				t.Errorf("%d distinct states, TLC finds %d", r.States, len(g.States))
			}
		})
	}
}
