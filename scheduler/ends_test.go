package scheduler

import (
	"context"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

func TestEndsAreThoseOfAllSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 4, 4)
		p.faults = rapid.IntRange(0, 1).Draw(t, "faults")
		count, _ := Interleavings(context.Background(), System[*progState](p), 0)
		if count > 20_000 {
			t.Skip("too many interleavings to go through")
		}
		want, _ := finals(t, p, ReduceNone)
		ends, _, ok := Ends(context.Background(), System[*progState](p), 0)
		got, sum := map[uint64]Status{}, 0.0
		for i, e := range ends {
			got[p.Fingerprint(e.State)] = p.Status(e.State)
			sum += e.Schedules
			if i > 0 && len(e.Choices) < len(ends[i-1].Choices) {
				t.Fatalf("end %d is nearer than the one before it", i)
			}
			s := p.Initial()[e.Initial]
			for _, c := range e.Choices {
				s = p.Apply(s, c)
			}
			if p.Fingerprint(s) != p.Fingerprint(e.State) {
				t.Fatalf("end %d: its choices lead elsewhere", i)
			}
		}
		if !ok || !maps.Equal(want, got) || sum != count {
			t.Fatalf("ends %v of %v schedules, want %v of %v", got, sum, want, count)
		}
	})
}

func TestEndsStopAtTheirBound(t *testing.T) {
	ends, visited, ok := Ends(context.Background(), System[*progState](deadlocking()), 3)
	if ok || visited < 3 {
		t.Errorf("%d ends, %d states, ok %v", len(ends), visited, ok)
	}
}
