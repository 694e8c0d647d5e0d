package scheduler

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestShrinkComesNearTheShortest shrinks failing random runs of random programs, without the search at the end, and compares with
// what breadth-first search gives.
func TestShrinkComesNearTheShortest(t *testing.T) {
	var steps, shrunk, shortest, runs int
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 4, 6)
		p.limit = 3
		p.faults = rapid.IntRange(0, 2).Draw(t, "faults")
		sys := System[*progState](p)
		o := Run(sys, Random(), Limits{AllowStuck: true}, rapid.Uint64().Draw(t, "seed"))
		if !o.Failed() {
			return
		}
		small, how, err := ShrinkRun(context.Background(), sys, o.Initial, o.Names, ShrinkOptions{Limits: Limits{AllowStuck: true}, SearchStates: -1})
		if err != nil {
			t.Fatal(err)
		}
		again := Run(sys, Follow(small.Names), Limits{AllowStuck: true}, 0)
		if again.Err != nil || again.Violation.Invariant != o.Violation.Invariant || !slices.Equal(again.Names, small.Names) {
			t.Fatalf("the shrunk schedule %v does not fail again: %+v", small.Names, again)
		}
		if how.Cut {
			t.Fatalf("not done after %d tries", how.Tries)
		}
		best := mustSearch(t, sys, Options{AllowStuck: true})
		if len(small.Names) < len(best.Schedule.Names) {
			t.Fatalf("%v is shorter than the shortest, %v", small.Names, best.Schedule.Names)
		}
		runs, steps, shrunk, shortest = runs+1, steps+len(o.Names), shrunk+len(small.Names), shortest+len(best.Schedule.Names)
	})
	t.Logf("%d runs of %d steps shrank to %d; the shortest have %d", runs, steps, shrunk, shortest)
	if runs == 0 || float64(shrunk) > 1.2*float64(shortest) {
		t.Errorf("%d runs, shrunk to %d steps in all, the shortest have %d", runs, shrunk, shortest)
	}
}

func TestShrinkEndsWithSearch(t *testing.T) {
	sys := System[*progState](deadlocking())
	names := []string{"a0=0", "a1=0", "a2=0", "a3=0", "b0=0"}
	if _, _, err := ShrinkRun(context.Background(), sys, 0, names, ShrinkOptions{}); err == nil {
		t.Error("a run that does not fail was shrunk")
	}
	small, how, err := ShrinkRun(context.Background(), sys, 0, []string{"a0=0", "b0=0"}, ShrinkOptions{})
	if err != nil || len(small.Names) != 2 || how.Tries == 0 {
		t.Errorf("%+v, %v", small, err)
	}
}

func TestShrinkPrefersFewerFaultsAndTurns(t *testing.T) {
	names := strings.Fields("a1 b1 a2 F b2 a3 b3 c1 a4")
	choice := func(name string) (Choice, bool) {
		if name == "F" {
			return Choice{Actor: Environment}, true
		}
		return Choice{Actor: int32(name[0] - 'a'), Value: int32(name[1] - '0')}, true
	}
	// It fails when at least five choices are made, two of them by a and two by b.
	s := Shrink(context.Background(), names, Shrinking{Choice: choice}, func(c []string) ([]string, bool) {
		count := func(prefix string) (n int) {
			for _, x := range c {
				if strings.HasPrefix(x, prefix) {
					n++
				}
			}
			return n
		}
		return c, len(c) >= 5 && count("a") >= 2 && count("b") >= 2
	})
	sh := &shrinker{Shrinking: Shrinking{Choice: choice}}
	if c := sh.costOf(s.Names); c.steps != 5 || c.faults != 0 || c.switches != 2 || c.actors != 2 {
		t.Errorf("%v: %+v", s.Names, c)
	}
}

func TestShrinkTriesSmallerValues(t *testing.T) {
	p := &program{vars: 2, limit: 3, actors: [][]operation{{{kind: opPick, a: 1}, {kind: opSet, a: 0, n: 9}}}}
	small, _, err := ShrinkRun(context.Background(), System[*progState](p), 0, []string{"a0=1", "a1=0"}, ShrinkOptions{})
	if err != nil || !slices.Equal(small.Names, []string{"a0=0", "a1=0"}) {
		t.Errorf("%v, %v", small, err)
	}
}
