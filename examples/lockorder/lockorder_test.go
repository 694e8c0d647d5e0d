package lockorder

import (
	"context"
	"slices"
	"testing"

	"simrun/scheduler"
)

var (
	ordered  = Transactions{{0, 1, 2}, {1, 2, 3}, {0, 3}}
	crossing = Transactions{{0, 1, 2}, {1, 2, 3}, {3, 0}}
)

func TestOrderedLocksHold(t *testing.T) {
	r, err := scheduler.Search(context.Background(), ordered, scheduler.Options{Workers: 2})
	if err != nil || r.Verdict != scheduler.Held || r.States != 56 || r.Completed != 1 || !slices.Equal(r.Witnesses, []string{"waited"}) {
		t.Errorf("%v, %d completed, witnesses %v, %v", r, r.Completed, r.Witnesses, err)
	}
}

func TestCrossingLocksDeadlock(t *testing.T) {
	r, err := scheduler.Search(context.Background(), crossing, scheduler.Options{})
	want := []string{"0 locks 0", "1 locks 1", "1 locks 2", "2 locks 3"}
	if err != nil || r.Violation.Invariant != scheduler.Deadlock || len(r.Schedule.Names) != len(want) {
		t.Errorf("%v after %v, want a deadlock after %d steps, as %v; %v", r, r.Schedule.Names, len(want), want, err)
	}
}

// TestReduction compares the classes of schedules with all of them: the verdict is the same. In the ordered system each of three
// pairs of actors conflicts: 2^3 orders, less the two cyclic ones, are 6 classes.
func TestReduction(t *testing.T) {
	for _, c := range []struct {
		t       Transactions
		classes int
		verdict scheduler.Verdict
	}{{ordered, 6, scheduler.Held}, {crossing, 0, scheduler.Violated}} {
		e, err := scheduler.Explore(context.Background(), c.t, scheduler.ExploreOptions[State]{Reduction: scheduler.ReduceDPOR})
		if err != nil || e.Verdict != c.verdict {
			t.Fatalf("%v: %v, %v", c.t, e, err)
		}
		all, ok := scheduler.Interleavings(context.Background(), scheduler.System[State](c.t), 0)
		if !ok {
			t.Fatal("not counted")
		}
		t.Logf("%d classes (%d begun in vain) of %.0f interleavings", e.Schedules, e.Vain, all)
		if c.verdict == scheduler.Held && (e.Schedules != c.classes || float64(e.Schedules) > all/10) {
			t.Errorf("%d classes of %.0f interleavings, want %d", e.Schedules, all, c.classes)
		}
	}
}

func TestShrink(t *testing.T) {
	shortest, err := scheduler.Search(context.Background(), crossing, scheduler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := scheduler.NewRunner(scheduler.System[State](crossing), scheduler.Random(), scheduler.Limits{})
	shrunk := 0
	for seed := range uint64(200) {
		o := r.Run(seed)
		if !o.Failed() {
			continue
		}
		r.Name(o)
		small, how, err := scheduler.ShrinkRun(context.Background(), scheduler.System[State](crossing), o.Initial, o.Names, scheduler.ShrinkOptions{SearchStates: -1})
		if err != nil || small.Violation != o.Violation || len(small.Names) > len(shortest.Schedule.Names) {
			t.Fatalf("seed %d: %v shrank to %v in %d tries, the shortest is %v; %v", seed, o.Names, small.Names, how.Tries, shortest.Schedule.Names, err)
		}
		shrunk++
	}
	if shrunk < 20 {
		t.Errorf("only %d runs failed", shrunk)
	}
}
