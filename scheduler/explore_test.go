package scheduler

import (
	"context"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// finals explores p and returns its final states.
func finals(t interface{ Fatal(...any) }, p System[*progState], reduction Reduction) (map[uint64]Status, *Exploration) {
	all := map[uint64]Status{}
	e, err := Explore(context.Background(), p, ExploreOptions[*progState]{
		Reduction: reduction, AllowStuck: true,
		OnEnd: func(_ int, _ []Choice, s *progState) Violation {
			all[p.Fingerprint(s)] = p.(Judge[*progState]).Status(s)
			return Violation{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, e
}

func TestReductionKeepsFinalStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 4, 4)
		p.faults = rapid.IntRange(0, 1).Draw(t, "faults")
		p.crashes = rapid.IntRange(0, 1).Draw(t, "crashes")
		p.clock = rapid.Bool().Draw(t, "clock")
		p.daemon = rapid.Bool().Draw(t, "daemon")
		count, _ := Interleavings(context.Background(), System[*progState](p), 0)
		if count > 20_000 {
			t.Skip("too many interleavings to go through")
		}
		want, plain := finals(t, p, ReduceNone)
		if float64(plain.Schedules) != count {
			t.Fatalf("explored %d schedules, counted %v", plain.Schedules, count)
		}
		gotSleep, sleep := finals(t, p, ReduceSleep)
		got, dpor := finals(t, p, ReduceDPOR)
		if !maps.Equal(want, gotSleep) {
			t.Fatalf("sleep sets: final states %v, want %v", gotSleep, want)
		}
		if !maps.Equal(want, got) {
			t.Fatalf("dpor: final states %v, want %v", got, want)
		}
		if dpor.Schedules > sleep.Schedules || sleep.Schedules > plain.Schedules {
			t.Fatalf("%d schedules, %d with sleep sets, %d with dpor", plain.Schedules, sleep.Schedules, dpor.Schedules)
		}
	})
}
