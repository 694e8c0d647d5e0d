package scheduler

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// sameResult compares results but for what depends on the machine.
var sameResult = cmp.Options{cmpopts.IgnoreFields(Result{}, "Elapsed", "Spilled")}

func mustSearch[S any](t interface{ Fatal(...any) }, sys System[S], opt Options) *Result {
	r, err := Search(context.Background(), sys, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plain hides the optional parts of a program, the Codec among them, so that states are made again from their history.
type plain struct {
	System[*progState]
	Judge[*progState]
}

// naive visits the states of p the obvious way and returns them by depth, and the depth of the nearest violation, -1 if there is none.
func naive(p *program) (depths map[uint64]int, transitions, violated int) {
	depths, violated = map[uint64]int{}, -1
	level := p.Initial()
	depths[p.Fingerprint(level[0])] = 0
	for depth := 0; len(level) > 0; depth++ {
		var next []*progState
		for _, s := range level {
			if name, _ := p.Violation(s); name != "" && violated < 0 {
				violated = depth
			}
			for _, c := range p.Choices(s, nil) {
				transitions++
				after := p.Apply(p.Clone(s), c)
				if fp := p.Fingerprint(after); !has(depths, fp) {
					depths[fp] = depth + 1
					next = append(next, after)
				}
			}
		}
		level = next
	}
	return depths, transitions, violated
}

func has[K comparable, V any](m map[K]V, k K) bool { _, ok := m[k]; return ok }

func TestSearchVisitsEveryState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 4, 5)
		p.faults = rapid.IntRange(0, 2).Draw(t, "faults")
		depths, transitions, _ := naive(p)
		opt := Options{AllowStuck: true, Workers: rapid.IntRange(1, 3).Draw(t, "workers"), segment: rapid.IntRange(0, 3).Draw(t, "segment")}
		sys := System[*progState](p)
		if rapid.Bool().Draw(t, "plain") {
			sys = plain{p, p}
		}
		r := mustSearch(t, sys, opt)
		if r.Verdict != Held || r.States != len(depths) || r.Transitions != transitions {
			t.Fatalf("%v, want %d states and %d transitions", r, len(depths), transitions)
		}
		levels := make([]int, len(r.Levels))
		for _, d := range depths {
			levels[d]++
		}
		if !slices.Equal(levels, r.Levels) {
			t.Fatalf("levels %v, want %v", r.Levels, levels)
		}
		if count, _ := Interleavings(context.Background(), System[*progState](p), 0); count > 5_000 {
			return // too many for the check below
		}
		all, _ := finals(t, p, ReduceDPOR)
		if len(all) != r.Completed+r.Stuck {
			t.Fatalf("%d final states, exploration has %d", r.Completed+r.Stuck, len(all))
		}
	})
}

func TestSearchFindsTheShortestViolation(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 4, 5)
		p.limit = 3
		p.faults = rapid.IntRange(0, 1).Draw(t, "faults")
		_, _, violated := naive(p)
		var first *Result
		for workers := 1; workers <= 3; workers++ {
			r := mustSearch(t, System[*progState](p), Options{AllowStuck: true, Workers: workers})
			if first == nil {
				first = r
			}
			if d := cmp.Diff(first, r, sameResult); d != "" {
				t.Fatalf("another result with %d workers: %s", workers, d)
			}
		}
		if violated < 0 {
			if first.Verdict != Held {
				t.Fatalf("%v, but no state breaks the invariant", first)
			}
			return
		}
		seen++
		if first.Verdict != Violated || len(first.Schedule.Names) != violated {
			t.Fatalf("%v after %v, want a violation after %d steps", first, first.Schedule.Names, violated)
		}
		o := Run(System[*progState](p), Follow(first.Schedule.Names), Limits{}, 1)
		if o.Err != nil || o.Violation != first.Violation || !slices.Equal(o.Names, first.Schedule.Names) {
			t.Fatalf("replay of %v: %+v", first.Schedule.Names, o)
		}
		e, err := Explore(context.Background(), System[*progState](p), ExploreOptions[*progState]{Reduction: ReduceDPOR, AllowStuck: true})
		if err != nil || e.Violation.Invariant != first.Violation.Invariant {
			t.Fatalf("exploration found %v, %v", e.Violation, err)
		}
	})
	if seen == 0 {
		t.Error("no program broke its invariant: the test shows nothing")
	}
}

// deadlocking takes two locks in both orders.
func deadlocking() *program {
	lock := func(v int) operation { return operation{kind: opLock, a: v} }
	free := func(v int) operation { return operation{kind: opFree, a: v} }
	return &program{vars: 2, actors: [][]operation{{lock(0), lock(1), free(1), free(0)}, {lock(1), lock(0), free(0), free(1)}}}
}

func TestSearchFindsDeadlock(t *testing.T) {
	r := mustSearch(t, System[*progState](deadlocking()), Options{})
	if r.Violation.Invariant != Deadlock || len(r.Schedule.Names) != 2 {
		t.Errorf("%v after %v, want a deadlock after two steps", r, r.Schedule.Names)
	}
	if r = mustSearch(t, System[*progState](deadlocking()), Options{AllowStuck: true}); r.Verdict != Held || r.Stuck != 1 {
		t.Errorf("%v with %d stuck, want one", r, r.Stuck)
	}
}

// counters is a system of counters that each go from 0 to its limit: as many states as one likes, of plain value type.
type counters struct{ n, limit int }

func (c counters) Initial() []uint64      { return []uint64{0} }
func (c counters) at(s uint64, i int) int { return int(s >> (8 * i) & 255) }
func (c counters) Choices(s uint64, buf []Choice) []Choice {
	for i := range c.n {
		if c.at(s, i) < c.limit {
			buf = append(buf, Choice{Actor: int32(i)})
		}
	}
	return buf
}
func (c counters) Apply(s uint64, ch Choice) uint64 { return s + 1<<(8*ch.Actor) }
func (c counters) Clone(s uint64) uint64            { return s }
func (c counters) Fingerprint(s uint64) uint64      { return Mix(s + 0x1234567) }
func (c counters) Name(_ uint64, ch Choice) string  { return string(rune('a' + ch.Actor)) }

func TestBoundsAreNamed(t *testing.T) {
	sys := System[uint64](counters{3, 9})
	ended, end := context.WithCancel(context.Background())
	end()
	for _, c := range []struct {
		bound string
		ctx   context.Context
		opt   Options
	}{
		{BoundDepth, context.Background(), Options{Bounds: Bounds{Depth: 26}}},
		{BoundStates, context.Background(), Options{Bounds: Bounds{States: 500}}},
		{BoundMemory, context.Background(), Options{Bounds: Bounds{Memory: 1}}},
		{BoundTime, context.Background(), Options{Bounds: Bounds{Time: time.Nanosecond}}},
		{BoundSwitches, context.Background(), Options{Bounds: Bounds{Switches: 2}}},
		{BoundContext, ended, Options{}},
	} {
		r, err := Search(c.ctx, sys, c.opt)
		if err != nil || r.Verdict != HeldWithinBounds || !slices.Equal(r.BoundsHit, []string{c.bound}) {
			t.Errorf("%s: %v, bounds %v, %v", c.bound, r, r.BoundsHit, err)
		}
	}
	for _, opt := range []Options{{Bounds: Bounds{Depth: 27}}, {Bounds: Bounds{States: 1001}}, {Bounds: Bounds{Switches: 28}}} {
		if r := mustSearch(t, sys, opt); r.Verdict != Held || len(r.BoundsHit) != 0 {
			t.Errorf("bounds that are just wide enough were hit: %v %v", r, r.BoundsHit)
		}
	}
}

func TestSwitchesBoundPreemptions(t *testing.T) {
	// b must move between two steps of a, twice: two preemptions.
	p := &program{vars: 2, limit: 9, actors: [][]operation{
		{{kind: opSet, a: 0, n: 1}, {kind: opSet, a: 0, n: 2}, {kind: opCopy, a: 0, b: 1}},
		{{kind: opAwait, a: 0, n: 1}, {kind: opAwait, a: 0, n: 2}, {kind: opSet, a: 1, n: 9}},
	}}
	for switches, want := range map[int]Verdict{1: HeldWithinBounds, 2: HeldWithinBounds, 3: Violated, 0: Violated} {
		r := mustSearch(t, System[*progState](p), Options{AllowStuck: true, Bounds: Bounds{Switches: switches}})
		if r.Verdict != want {
			t.Errorf("%d switches: %v, want %v", switches, r, want)
		}
	}
}

func TestSpillKeepsTheResult(t *testing.T) {
	sys := System[uint64](counters{4, 9})
	want := mustSearch(t, sys, Options{})
	got := mustSearch(t, sys, Options{segment: 8, Workers: 2, Dir: t.TempDir()})
	if d := cmp.Diff(want, got, sameResult); d != "" || got.Spilled == 0 {
		t.Errorf("spilled %d bytes; %s", got.Spilled, d)
	}
}

func TestCheckpointAndResume(t *testing.T) {
	held := coverProgram()
	held.limit = 0
	for name, sys := range map[string]System[*progState]{
		"codec": coverProgram(), "plain": plain{coverProgram(), coverProgram()}, "held": held,
	} {
		t.Run(name, func(t *testing.T) {
			for _, fairness := range []Fairness{FairnessNone, FairChoices} {
				want := mustSearch(t, sys, Options{AllowStuck: true, Fairness: fairness})
				file := filepath.Join(t.TempDir(), "checkpoint")
				var got *Result
				pieces := 0
				for states := 100; ; states += 100 {
					pieces++
					got = mustSearch(t, sys, Options{AllowStuck: true, Fairness: fairness, Workers: 2, Bounds: Bounds{States: states},
						Checkpoint: file, Resume: true, Identity: name})
					if len(got.BoundsHit) == 0 {
						break
					}
				}
				if d := cmp.Diff(want, got, sameResult); d != "" || pieces < 4 {
					t.Errorf("in %d pieces: %s", pieces, d)
				}
				if _, err := os.Stat(file); err == nil {
					t.Error("the checkpoint of a search that is over was left behind")
				}
			}
		})
	}
}

// coverProgram has some hundred states and breaks its invariant late.
func coverProgram() *program {
	var add []operation
	for range 5 {
		add = append(add, operation{kind: opAdd, a: 0, n: 1}, operation{kind: opSet, a: 1, n: 1})
	}
	return &program{vars: 2, actors: [][]operation{add, add[:7], add[:5]}, limit: 13}
}

func TestCheckpointsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	sys := System[uint64](counters{4, 9})
	opt := Options{Bounds: Bounds{States: 1000}, Checkpoint: file, Identity: "mine"}
	mustSearch(t, sys, opt)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opt.Resume = true
	other := opt
	other.Identity = "another's"
	if _, err := Search(context.Background(), sys, other); err == nil || !strings.Contains(err.Error(), "another search") {
		t.Errorf("a checkpoint of another search: %v", err)
	}
	for name, damaged := range map[string][]byte{
		"short": whole[:len(whole)-100], "flipped": slices.Concat(whole[:len(whole)/2], []byte{whole[len(whole)/2] ^ 1}, whole[len(whole)/2+1:]),
		"empty": nil, "other": []byte("something else, and long enough for the magic"),
	} {
		os.WriteFile(file, damaged, 0o600)
		if _, err := Search(context.Background(), sys, opt); err == nil {
			t.Errorf("a damaged checkpoint (%s) was taken", name)
		}
	}
}

func TestPanicsOfWorkersAreThrownAgain(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "status running") {
			t.Errorf("recovered %v", p)
		}
	}()
	Search(context.Background(), System[*progState](broken{coverProgram()}), Options{Workers: 2})
}

// broken judges final states wrongly.
type broken struct{ *program }

func (broken) Status(*progState) Status { return Running }

func (broken) Violation(*progState) (string, string) { return "", "" }

func TestProgressIsTold(t *testing.T) {
	var told []Progress
	r := mustSearch(t, System[uint64](counters{4, 12}), Options{Bounds: Bounds{States: 100_000}, ProgressEvery: 1, OnProgress: func(p Progress) { told = append(told, p) }})
	if len(told) < 3 {
		t.Fatalf("told %d times", len(told))
	}
	for i, p := range told[1:] {
		if p.States <= told[i].States || p.States > r.States || p.Rate <= 0 || p.Left <= 0 {
			t.Errorf("told %+v after %+v", p, told[i])
		}
	}
}

// releasing is a program that makes released states useless, so that whoever uses one fails.
type releasing struct {
	*program
	released *int
}

func (r releasing) Release(s *progState) {
	if s.vars == nil {
		panic("released twice")
	}
	s.vars, s.at = nil, nil
	*r.released++
}

func TestReleasedStatesAreNotUsed(t *testing.T) {
	p := coverProgram()
	p.limit = 0
	p.faults = 1
	released := 0
	sys := releasing{p, &released}
	want, got := mustSearch(t, System[*progState](p), Options{}), mustSearch(t, System[*progState](sys), Options{segment: 16})
	if d := cmp.Diff(want, got, sameResult); d != "" || released < got.Transitions/2 {
		t.Errorf("%d released: %s", released, d)
	}
	before := released
	ran := Run(System[*progState](sys), POS(), Limits{}, 3)
	if plain := Run(System[*progState](p), POS(), Limits{}, 3); !slices.Equal(plain.Names, ran.Names) || released == before {
		t.Errorf("pos: %v, want %v", ran.Names, plain.Names)
	}
	small := releasing{deadlocking(), &released}
	_, e := finals(t, small, ReduceDPOR)
	count, _ := Interleavings(context.Background(), System[*progState](small), 0)
	if plain, _ := Interleavings(context.Background(), System[*progState](deadlocking()), 0); e.Schedules == 0 || count != plain {
		t.Errorf("%d classes, %v interleavings, want %v", e.Schedules, count, plain)
	}
}
