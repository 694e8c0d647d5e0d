package sim_test

import (
	"context"
	"os"
	"strings"
	"testing"

	_ "simrun/examples/sqlcqueue"
	"simrun/scheduler"
	"simrun/sim"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
)

// small are instances whose classes of interleavings can all be made in a test.
var small = []struct {
	in   sim.Instance
	long bool // only in the longer suite
}{
	{in: sim.Instance{Scenario: "examples/sqlcqueue"}},
	{in: sim.Instance{Scenario: "examples/sqlcqueue", Variant: "racy"}},
	{in: sim.Instance{Scenario: "postings/claim", Params: map[string]int{"sagas": 2}}},
	{in: sim.Instance{Scenario: "rings/route"}},
}

// systemOf makes the system of an instance for reduction.
func systemOf(t *testing.T, in sim.Instance, opts sim.Options) *sim.System {
	t.Helper()
	setup, _, err := in.Build(1)
	if err != nil {
		t.Fatal(err)
	}
	return systemFor(t, setup, opts)
}

func systemFor(t *testing.T, setup *sim.Setup, opts sim.Options) *sim.System {
	t.Helper()
	model, err := sim.NewModel(setup)
	if err != nil {
		t.Fatal(err)
	}
	opts.Footprints, opts.Share = true, true
	sys, err := sim.NewSystem(setup, model, opts)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// ends explores sys and returns its final states: every one, with its verdict.
func ends(t *testing.T, sys *sim.System, reduction scheduler.Reduction) (map[uint64]string, *scheduler.Exploration) {
	t.Helper()
	found := map[uint64]string{}
	e, err := scheduler.Explore[*sim.World](context.Background(), sys, scheduler.ExploreOptions[*sim.World]{Reduction: reduction, AllowStuck: true,
		OnEnd: func(_ int, _ []scheduler.Choice, w *sim.World) scheduler.Violation {
			found[sys.Fingerprint(w)] = sys.Status(w).String()
			return scheduler.Violation{}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return found, e
}

// TestReductionKeepsTheEndsOfScenarios compares reduction with a visit to every state: the same final states, the same verdicts.
func TestReductionKeepsTheEndsOfScenarios(t *testing.T) {
	for _, s := range small {
		if s.long && os.Getenv("SIMRUN_LONG") == "" {
			continue
		}
		for _, lazy := range []bool{false, true} {
			name := s.in.Flags()
			if lazy {
				name += " lazy"
			}
			t.Run(strings.TrimPrefix(name, "--scenario "), func(t *testing.T) {
				sys := systemOf(t, s.in, sim.Options{AtEnds: true, Lazy: lazy})
				want, states, ok := scheduler.Ends[*sim.World](context.Background(), sys, 100_000)
				if !ok {
					t.Fatalf("more than %d states", states)
				}
				got, e := ends(t, sys, scheduler.ReduceDPOR)
				if violated := e.Verdict == scheduler.Violated; violated {
					checkViolation(t, sys, e)
					return
				}
				sameEnds(t, sys, want, got)
				all, _ := scheduler.Interleavings[*sim.World](context.Background(), sys, 0)
				if float64(e.Schedules) > all/10 {
					t.Errorf("%d classes of %.6g interleavings", e.Schedules, all)
				}
				t.Logf("%d states, %d ends, %d classes (%d begun in vain) of %.6g interleavings", states, len(want), e.Schedules, e.Vain, all)
			})
		}
	}
}

// sameEnds wants that reduction has reached all final states and no others, with their verdicts.
func sameEnds(t *testing.T, sys *sim.System, want []scheduler.End[*sim.World], got map[uint64]string) {
	t.Helper()
	for _, end := range want {
		if got[sys.Fingerprint(end.State)] != sys.Status(end.State).String() {
			t.Errorf("a final state was not reached; there are %d, reached %d", len(want), len(got))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d final states, want %d", len(got), len(want))
	}
}

// checkViolation checks that search finds the same invariant violated.
func checkViolation(t *testing.T, sys *sim.System, e *scheduler.Exploration) {
	t.Helper()
	r, err := scheduler.Search[*sim.World](context.Background(), sys, scheduler.Options{AllowStuck: true})
	if err != nil || r.Violation.Invariant != e.Violation.Invariant {
		t.Errorf("reduction found %+v, search %+v, %v", e.Violation, r.Violation, err)
	}
}

// TestStepsThatTouchNothingInCommonCommute makes pairs of steps in both orders.
func TestStepsThatTouchNothingInCommonCommute(t *testing.T) {
	for _, name := range []string{"examples/sqlcqueue", "postings/claim", "postings/saga-crash-recover", "rings/route", "rings/flip", "rings/prune"} {
		t.Run(name, func(t *testing.T) {
			sys := systemOf(t, sim.Instance{Scenario: name}, sim.Options{AtEnds: true})
			c, err := scheduler.CheckFootprints[*sim.World](context.Background(), sys, 300)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range c.Wrong {
				if strings.Contains(w.Why, "touches something else") {
					continue // it touches more or less than before, and still commutes
				}
				t.Error(w)
			}
			t.Logf("%d states, %d pairs: %d independent, %d needlessly dependent", c.States, c.Pairs, c.Independent, c.Needless)
		})
	}
}

// signalling is a setup in which sessions are terminated and cancelled while they wait and while they are idle in a transaction.
func signalling() *sim.Setup {
	add := func(ids ...int) sim.Actor {
		return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
			tx, err := db.Begin(ctx)
			for _, id := range ids {
				if err == nil {
					_, err = tx.Exec(ctx, "UPDATE n SET v = v + 1 WHERE id = $1", id)
				}
			}
			if err == nil {
				err = tx.Commit(ctx)
			}
			sim.Note(ctx, "done", err == nil)
			return nil
		})
	}
	idle := [][2]string{{"idle_in_transaction_session_timeout", "1s"}}
	return &sim.Setup{
		Schema: "CREATE TABLE n (id int PRIMARY KEY, v int)", Seed: "INSERT INTO n VALUES (1, 0), (2, 0)",
		Actors: []sim.ActorSpec{
			{Name: "a", Run: add(1, 2), Settings: idle},
			{Name: "b", Run: add(1)},
			{Name: "admin", Run: sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
				_, err := db.Exec(ctx, "SELECT pg_terminate_backend(1), pg_cancel_backend(2)")
				return err
			})},
		},
		Faults: sim.Faults{IdleTimeout: 1},
	}
}

// TestReductionKeepsTheEndsOfSignals is the same for sessions that end each other.
func TestReductionKeepsTheEndsOfSignals(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		sys := systemFor(t, signalling(), sim.Options{AtEnds: true, Lazy: lazy})
		want, states, ok := scheduler.Ends[*sim.World](context.Background(), sys, 100_000)
		if !ok {
			t.Fatalf("more than %d states", states)
		}
		got, _ := ends(t, sys, scheduler.ReduceDPOR)
		sameEnds(t, sys, want, got)
	}
}
