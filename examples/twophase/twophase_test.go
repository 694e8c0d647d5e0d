package twophase

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"simrun/scheduler"
)

// The counts are those that the TLA+ examples and other checkers report for this specification.
var states = map[Managers]int{3: 288, 5: 8_832, 7: 296_448, 8: 1_745_408, 9: 10_340_352, 10: 61_515_776}

func TestStates(t *testing.T) {
	for _, n := range []Managers{3, 5, 7} {
		for _, workers := range []int{1, 2, 3} {
			r, err := scheduler.Search(context.Background(), n, scheduler.Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != scheduler.Held || r.States != states[n] {
				t.Errorf("%d managers, %d workers: %v, want %d distinct states", n, workers, r, states[n])
			}
		}
	}
}

// TestSymmetry compares a search of the symmetric system with the orbits of all states of the plain one.
func TestSymmetry(t *testing.T) {
	const n = Managers(5)
	orbits := map[uint64]bool{}
	seen := map[State]bool{}
	for todo := n.Initial(); len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		orbits[Symmetric{n}.Fingerprint(s)] = true
		for _, c := range n.Choices(s, nil) {
			todo = append(todo, n.Apply(s, c))
		}
	}
	r, err := scheduler.Search[State](context.Background(), Symmetric{n}, scheduler.Options{})
	if err != nil || r.Verdict != scheduler.Held || r.States != len(orbits) || r.States*20 > len(seen) {
		t.Errorf("%v, want the %d orbits of %d states; %v", r, len(orbits), len(seen), err)
	}
	t.Logf("%d states for %d", r.States, len(seen))
}

// TestBrokenManager has one manager that aborts although it is prepared: the invariant must fire.
func TestBrokenManager(t *testing.T) {
	r, err := scheduler.Search[State](context.Background(), hasty{3}, scheduler.Options{Workers: 2})
	if err != nil || r.Violation.Invariant != "TCConsistent" || len(r.Schedule.Names) != 9 {
		t.Errorf("%v after %v; %v", r, r.Schedule.Names, err)
	}
}

// hasty lets managers abort when they are prepared.
type hasty struct{ Managers }

func (h hasty) Choices(s State, buf []scheduler.Choice) []scheduler.Choice {
	buf = h.Managers.Choices(s, buf)
	for i := range int32(h.Managers) {
		if s.rm(i) == prepared {
			buf = append(buf, h.choice(i, rmChooseAbort))
		}
	}
	return buf
}

// BenchmarkSearch checks the count of each size as well. The largest takes a minute or two and 5 GiB.
func BenchmarkSearch(b *testing.B) {
	for _, c := range []struct {
		name    string
		n       Managers
		workers int
	}{{"7/1", 7, 1}, {"7/2", 7, 2}, {"8/1", 8, 1}, {"8/2", 8, 2}, {"9/1", 9, 1}, {"9/2", 9, 2}, {"10/2", 10, 2}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				before := cpuTime(b)
				r, err := scheduler.Search(context.Background(), c.n, scheduler.Options{Workers: c.workers})
				if err != nil || r.States != states[c.n] {
					b.Fatal(r, err)
				}
				b.ReportMetric(r.Rate()/1e6, "Mstates/s")
				b.ReportMetric(float64(cpuTime(b)-before)/float64(r.Transitions), "cpu-ns/step")
			}
		})
	}
}

// cpuTime is what the process has used, in ns: on a machine that others use too it says more than the clock.
func cpuTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
