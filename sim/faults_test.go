package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onModel makes the system of a setup on the in-memory Postgres, and its first world.
func onModel(t *testing.T, setup *Setup) (*System, *World) {
	t.Helper()
	db, err := NewModel(setup)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSystem(setup, db, Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Initial()[0]
}

// twoRows is a table of two rows, which two actors update in opposite order.
func twoRows(aFirst ...string) *Setup {
	return &Setup{
		Schema: "CREATE TABLE rows (id int PRIMARY KEY, n int)", Seed: "INSERT INTO rows VALUES (1, 0), (2, 0)",
		Actors: []ActorSpec{
			{Name: "a", Run: script(append(append([]string{"begin"}, aFirst...),
				"UPDATE rows SET n = 1 WHERE id = 1", "UPDATE rows SET n = 1 WHERE id = 2", "commit")...)},
			{Name: "b", Run: script("begin", "UPDATE rows SET n = 2 WHERE id = 2", "UPDATE rows SET n = 2 WHERE id = 1", "commit")},
		},
	}
}

// TestTimeoutIsNoVictim: whoever waits under a timeout shorter than deadlock_timeout gives up before it looks for a
// deadlock. The other may still look at that moment, and then says so.
func TestTimeoutIsNoVictim(t *testing.T) {
	for set, want := range map[string][]string{
		"SET LOCAL lock_timeout = '10ms'":                {"victim b", "lock-timeout a"},
		"SELECT set_config('lock_timeout', '999', true)": {"victim b", "lock-timeout a"},
		"SET LOCAL lock_timeout = '2s'":                  {"victim a", "victim b", "lock-timeout a"},
		"SET LOCAL lock_timeout TO 1000":                 {"victim a", "victim b", "lock-timeout a"},
		"SET LOCAL lock_timeout = 0":                     {"victim a", "victim b"},
		"SET LOCAL statement_timeout = '10ms'":           {"victim b", "statement-timeout a"},
		"SET LOCAL statement_timeout = '2s'":             {"victim a", "victim b", "statement-timeout a"},
		"SET LOCAL statement_timeout = 0":                {"victim a", "victim b"},
	} {
		t.Run(set, func(t *testing.T) {
			s, w := onModel(t, twoRows(set))
			for _, name := range []string{"a", "a", "a", "b", "b", "a", "b"} {
				w = take(t, s, w, name)
			}
			if diff := cmp.Diff(want, enabled(s, w)); diff != "" {
				t.Fatal(diff)
			}
			w = take(t, s, w, "victim b")
			for _, step := range w.Trace().Steps {
				if got := step.Yielding; got != (step.Kind == StepVictim && len(want) == 2 && strings.HasSuffix(want[1], "-timeout a")) {
					t.Errorf("%s: Yielding is %v", step.Name, got)
				}
			}
		})
	}
}

// TestLostConnectionAcquiresNothing: the locks of a step before, of whomever, are not those of a connection's end.
func TestLostConnectionAcquiresNothing(t *testing.T) {
	for _, fault := range []string{"commit-dropped a", "commit-applied a"} {
		setup := twoRows()
		setup.Faults = Faults{CommitUnknown: 1}
		setup.Invariants = []Invariant{{Name: "locks", Kind: WholeRun, NeedsLocks: true, Run: func(*Trace) string { return "" }}}
		s, w := onModel(t, setup)
		for _, name := range []string{"a", "a", "a", "b", "b", fault} {
			w = take(t, s, w, name)
		}
		acquired := map[string]int{}
		for _, step := range w.Trace().Steps {
			acquired[step.Name] += len(step.Acquired)
		}
		if acquired["a"] == 0 || acquired["b"] == 0 || acquired[fault] != 0 {
			t.Errorf("locks acquired by step: %v", acquired)
		}
	}
}
