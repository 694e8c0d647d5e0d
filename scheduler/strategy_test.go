package scheduler

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// allStrategies returns new ones of every kind.
func allStrategies(t testing.TB) []Strategy {
	var all []Strategy
	for _, name := range StrategyNames {
		s, err := ParseStrategy(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestSameSeedSameRun(t *testing.T) {
	p := coverProgram()
	p.faults = 2
	differ := 0
	for i, s := range allStrategies(t) {
		a := NewRunner(System[*progState](p), s, Limits{})
		b := NewRunner(System[*progState](p), allStrategies(t)[i], Limits{})
		b.Plan = a.Plan
		var last []Choice
		for seed := range uint64(200) {
			x, y := a.Run(seed), b.Run(seed)
			if !slices.Equal(x.Choices, y.Choices) {
				t.Fatalf("%s, seed %d: %v and %v", s.Name(), seed, x.Choices, y.Choices)
			}
			if !slices.Equal(last, x.Choices) {
				differ++
			}
			last = slices.Clone(x.Choices)
		}
	}
	if differ < 1000 {
		t.Errorf("seeds hardly matter: only %d runs differed from the one before", differ)
	}
}

func TestParseStrategy(t *testing.T) {
	for _, name := range []string{"random", "pct(5)", "swarm(pos)", "portfolio(random,swarm(pct(2)),surw)", "context-bounded(0)"} {
		s, err := ParseStrategy(name)
		if err != nil || s.Name() != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for _, name := range []string{"", "fast", "pct(x)", "pct(2", "random(1)", "portfolio(random,slow)", "pct(-1)"} {
		if s, err := ParseStrategy(name); err == nil {
			t.Errorf("%q is a strategy: %s", name, s.Name())
		}
	}
}

// lost is the lost update among others that do nothing to the matter: it needs one preemption, so it has depth 2.
func lost(others, padding int) *program {
	pad := func(ops ...operation) []operation {
		for range padding {
			ops = append([]operation{{kind: opSet, a: 1, n: 1}}, ops...)
		}
		return ops
	}
	p := &program{vars: 3, limit: 9, actors: [][]operation{
		pad(operation{kind: opSet, a: 0, n: 1}, operation{kind: opSet, a: 0, n: 0}), // 0 is 1 for one step
		pad(operation{kind: opCopy, a: 2, b: 0}, operation{kind: opAwait, a: 2, n: 1}, operation{kind: opSet, a: 2, n: 9}),
	}}
	for range others {
		p.actors = append(p.actors, pad())
	}
	return p
}

func TestPCTKeepsItsBound(t *testing.T) {
	for _, c := range []struct {
		p     *program
		depth int
	}{{lost(1, 3), 2}, {lost(2, 2), 2}, {lost(0, 4), 2}} {
		r := NewRunner(System[*progState](c.p), PCT(c.depth), Limits{AllowStuck: true})
		const runs = 20_000
		found := 0
		for seed := range uint64(runs) {
			if r.Run(seed).Failed() {
				found++
			}
		}
		bound, of := r.strategy.(Bounder).Bound(r.Plan)
		rate := float64(found) / runs
		sigma := math.Sqrt(bound * (1 - bound) / runs)
		if rate < bound-3*sigma {
			t.Errorf("found in %.4f of the runs, the bound for %s is %.4f", rate, of, bound)
		}
		// One that is not deep enough has no change points, and cannot find a bug that needs a preemption.
		shallow := NewRunner(System[*progState](c.p), PCT(1), Limits{AllowStuck: true})
		for seed := range uint64(2_000) {
			if o := shallow.Run(seed); o.Failed() {
				t.Fatalf("pct(1) preempted: %v", o.Choices)
			}
		}
	}
}

func TestPCTBound(t *testing.T) {
	p, of := PCT(3).(Bounder).Bound(&Plan{Steps: 10, Counts: []int{0, 5, 5}})
	if p != 1.0/200 || !strings.Contains(of, "depth 3, with 2 actors and 10 steps") {
		t.Errorf("bound %v for %s, want 1/(2*10^2)", p, of)
	}
}

// interleavings runs the strategy on two actors with m and n steps and counts how often each interleaving came.
func interleavings(s Strategy, m, n, runs int, op operation) map[string]int {
	ops := func(n int) []operation { return slices.Repeat([]operation{op}, n) }
	p := &program{vars: 1, actors: [][]operation{ops(m), ops(n)}}
	r := NewRunner(System[*progState](p), s, Limits{})
	counts := map[string]int{}
	for seed := range uint64(runs) {
		var order []byte
		for _, c := range r.Run(seed).Choices {
			order = append(order, byte('a'+c.Actor))
		}
		counts[string(order)]++
	}
	return counts
}

func chiSquare(counts map[string]int, classes, runs int) float64 {
	want, x := float64(runs)/float64(classes), 0.0
	for _, n := range counts {
		x += (float64(n) - want) * (float64(n) - want) / want
	}
	return x + float64(classes-len(counts))*want
}

func TestSURWIsUniform(t *testing.T) {
	const runs = 20_000
	// 5 over 2, and 6 over 2, interleavings. The limits are far out on the tail of the distribution (p < 1e-6).
	for _, c := range []struct {
		m, n, classes int
		limit         float64
	}{{3, 2, 10, 45}, {4, 2, 15, 55}, {1, 5, 6, 37}} {
		if x := chiSquare(interleavings(SURW(), c.m, c.n, runs, operation{kind: opAdd, n: 1}), c.classes, runs); x > c.limit {
			t.Errorf("%d and %d steps: chi-square %.1f over %d interleavings", c.m, c.n, x, c.classes)
		}
	}
	if x := chiSquare(interleavings(Random(), 1, 5, runs, operation{kind: opAdd, n: 1}), 6, runs); x < 1000 {
		t.Errorf("a random walk is as uniform (%.1f): the test shows nothing", x)
	}
}

func TestPOSSamplesClasses(t *testing.T) {
	// Two actors with three steps of their own and one on a shared variable: two classes. A random walk and POS both find
	// both; with one actor that has many steps before, the walk hardly ever lets it be first.
	steps := func(own, n int) []operation {
		ops := slices.Repeat([]operation{{kind: opSet, a: own, n: 1}}, n)
		return append(ops, operation{kind: opSet, a: 0, n: int8(own)})
	}
	p := &program{vars: 3, actors: [][]operation{steps(1, 8), steps(2, 0)}}
	late := func(s Strategy) (n int) {
		r := NewRunner(System[*progState](p), s, Limits{})
		for seed := range uint64(4_000) {
			r.Run(seed)
			if r.State().vars[0] == 2 { // the short actor was last
				n++
			}
		}
		return n
	}
	pos, random := late(POS()), late(Random())
	if pos < 300 || random > 50 {
		t.Errorf("the rare class came %d times of 4,000 under pos and %d under random", pos, random)
	}
}

func TestContextBoundedKeepsItsBound(t *testing.T) {
	p := coverProgram()
	for bound := range 4 {
		r := NewRunner(System[*progState](p), ContextBounded(bound), Limits{})
		most := 0
		for seed := range uint64(500) {
			preemptions, left := 0, map[int32]int{0: 10, 1: 7, 2: 5}
			last := int32(-1)
			for _, c := range r.Run(seed).Choices {
				if last >= 0 && c.Actor != last && left[last] > 0 {
					preemptions++
				}
				left[c.Actor]--
				last = c.Actor
			}
			most = max(most, preemptions)
		}
		if most != bound {
			t.Errorf("bound %d: at most %d preemptions in a run", bound, most)
		}
	}
}

func TestRoundRobinTakesTurns(t *testing.T) {
	for seed := range uint64(5) {
		o := Run(System[*progState](coverProgram()), RoundRobin(), Limits{}, seed)
		for i := 3; i < 12; i++ {
			if o.Choices[i].Actor != o.Choices[i-3].Actor {
				t.Fatalf("seed %d: %v", seed, o.Choices)
			}
		}
	}
}

func TestFollowSaysWhereAndWhy(t *testing.T) {
	p := deadlocking()
	o := Run(System[*progState](p), Follow([]string{"a0=0", "b1=0"}), Limits{}, 0)
	var e *NotEnabled
	if !errors.As(o.Err, &e) || e.Step != 1 || e.Name != "b1=0" || !slices.Equal(e.Enabled, []string{"a1=0", "b0=0"}) {
		t.Errorf("%v", o.Err)
	}
	if want := `step 2: "b1=0" is not enabled; enabled are: a1=0, b0=0`; o.Err.Error() != want {
		t.Errorf("%q, want %q", o.Err, want)
	}
	o = Run(System[*progState](p), FollowLoosely([]string{"b1=0", "b0=0"}), Limits{}, 0)
	if want := []string{"b0=0", "b1=0", "b2=0", "b3=0", "a0=0", "a1=0", "a2=0", "a3=0"}; o.Err != nil || !slices.Equal(o.Names, want) {
		t.Errorf("loosely: %v, %v", o.Names, o.Err)
	}
	o = Run(System[*progState](p), Follow([]string{"a0=0", "b0=0"}), Limits{}, 0)
	if o.Violation.Invariant != Deadlock || o.Status != Stuck {
		t.Errorf("%+v", o)
	}
}

func TestSwarmLeavesFaultsOut(t *testing.T) {
	p := coverProgram()
	p.faults = 1
	r := NewRunner(System[*progState](p), Swarm(Random()), Limits{})
	early := 0
	for seed := range uint64(1_000) {
		o := r.Run(seed)
		for i, c := range o.Choices {
			if c.Actor == Environment && i < len(o.Choices)-1 {
				early++
			}
		}
	}
	if early < 400 || early > 600 { // about half of the runs have the fault among the steps; the others when nothing else is left
		t.Errorf("the fault came among other steps in %d of 1,000 runs", early)
	}
}

func TestFaultsAreSpread(t *testing.T) {
	p := coverProgram()
	p.faults = 1
	for _, name := range []string{"random", "pct(3)", "pos", "surw", "context-bounded(2)", "round-robin", "portfolio"} {
		strategy, err := ParseStrategy(name)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRunner(System[*progState](p), strategy, Limits{})
		var thirds [3]int
		for seed := range uint64(1_000) {
			o := r.Run(seed)
			for i, c := range o.Choices {
				if c.Actor == Environment {
					thirds[3*i/len(o.Choices)]++
				}
			}
		}
		if min(thirds[0], thirds[1], thirds[2]) < 100 {
			t.Errorf("%s: the fault came %v times in the thirds of 1,000 runs", name, thirds)
		}
	}
}

func TestFeatures(t *testing.T) {
	counts, sizes := map[string]int{}, map[int]int{}
	for seed := range uint64(1_000) {
		f := Features(seed, []string{"a", "b", "c"})
		sizes[len(f)]++
		for _, x := range f {
			counts[x]++
		}
		if !slices.IsSorted(f) {
			t.Fatalf("order not kept: %v", f)
		}
	}
	if sizes[0] != 0 || len(sizes) != 3 || min(counts["a"], counts["b"], counts["c"]) < 450 {
		t.Errorf("sizes %v, counts %v", sizes, counts)
	}
}

// TestGuidedGoesFurther has a bug behind a row of coin flips that each must fall right: what a run has reached must be kept.
func TestGuidedGoesFurther(t *testing.T) {
	var ops []operation
	for range 14 {
		ops = append(ops, operation{kind: opPick, a: 0}, operation{kind: opAwait, a: 0, n: 1})
	}
	p := &program{vars: 2, limit: 9, actors: [][]operation{append(ops, operation{kind: opSet, a: 1, n: 9})}}
	first := func(s Strategy) uint64 {
		r := NewRunner(System[*progState](p), s, Limits{AllowStuck: true})
		r.Coverage = NewCoverage()
		for seed := range uint64(3_000) {
			if r.Run(seed).Failed() {
				return seed
			}
		}
		return 3_000
	}
	if g, r := first(Guided()), first(Random()); g == 3_000 || r < 3_000 {
		t.Errorf("guided found it in run %d, random in run %d", g, r)
	}
}

func TestRunLoopAllocatesNothing(t *testing.T) {
	for _, name := range []string{"random", "round-robin", "pct(3)", "surw", "context-bounded(2)", "portfolio"} {
		s, _ := ParseStrategy(name)
		r := NewRunner(System[uint64](counters{4, 20}), s, Limits{})
		r.Run(1)
		if n := testing.AllocsPerRun(50, func() { r.Run(7) }); n != 0 {
			t.Errorf("%s: %v allocations a run of %d steps", name, n, r.outcome.Steps())
		}
	}
}

func TestCoverageCountsOrderings(t *testing.T) {
	// Two writes to one variable and one to another: two orderings in six interleavings.
	p := &program{vars: 2, actors: [][]operation{{{kind: opSet, a: 0, n: 1}}, {{kind: opSet, a: 0, n: 2}}, {{kind: opSet, a: 1, n: 1}}}}
	r := NewRunner(System[*progState](p), Random(), Limits{})
	r.Coverage = NewCoverage()
	for seed := range uint64(200) {
		r.Run(seed)
	}
	depths, _, _ := naive(p)
	if c := r.Coverage; c.Orderings.Distinct != 2 || c.States.Distinct != len(depths) || c.Orderings.Unseen() != 0 {
		t.Errorf("%d orderings, %d states of %d, %v unseen", c.Orderings.Distinct, c.States.Distinct, len(depths), c.Orderings.Unseen())
	}
	if n := len(r.Coverage.Curve); n < 10 || r.Coverage.Curve[n-1].Runs > 200 {
		t.Errorf("curve %v", r.Coverage.Curve)
	}
}

func TestCoverageOfWorkersAddsUp(t *testing.T) {
	whole, parts := NewCoverage(), []*Coverage{NewCoverage(), NewCoverage(), NewCoverage()}
	r := NewRunner(System[*progState](coverProgram()), Random(), Limits{})
	for seed := range uint64(300) {
		r.Coverage = whole
		r.Run(seed)
		r.Coverage = parts[seed%3]
		r.Run(seed)
	}
	sum := NewCoverage()
	for _, p := range parts {
		sum.Merge(p)
	}
	for _, c := range []struct{ got, want Species }{{sum.States, whole.States}, {sum.Orderings, whole.Orderings}} {
		if c.got.Distinct != c.want.Distinct || c.got.Once != c.want.Once || c.got.Twice != c.want.Twice || c.got.Unseen() != c.want.Unseen() {
			t.Errorf("merged %d %d %d, want %d %d %d", c.got.Distinct, c.got.Once, c.got.Twice, c.want.Distinct, c.want.Once, c.want.Twice)
		}
	}
	if sum.States.Distinct == 0 || sum.States.Once == 0 {
		t.Error("nothing to add up")
	}
}

func TestSpeciesEstimates(t *testing.T) {
	// 1,000 kinds, equally common, one a sample. After 1,000 samples about 368 are unseen.
	var s Species
	var rng source
	rng.seed(1, 2)
	for i := 1; i <= 1000; i++ {
		s.samples = i
		s.add(uint64(rng.below(1000)), i)
	}
	unseen := float64(1000 - s.Distinct)
	if e := s.Unseen(); e < unseen*0.8 || e > unseen*1.2 {
		t.Errorf("%.0f estimated unseen, truth %.0f", e, unseen)
	}
	expected, before := s.Expect(1000), s.Distinct
	for i := 1001; i <= 2000; i++ {
		s.samples = i
		s.add(uint64(rng.below(1000)), i)
	}
	if got := float64(s.Distinct - before); expected < got*0.8 || expected > got*1.2 {
		t.Errorf("%.0f new ones expected, %.0f came", expected, got)
	}
	for range 20_000 {
		s.samples++
		s.add(uint64(rng.below(1000)), s.samples)
	}
	if s.Unseen() != 0 || !strings.Contains(s.Meaning("states"), "hardly") {
		t.Errorf("%.1f unseen when all was seen: %s", s.Unseen(), s.Meaning("states"))
	}
}

// untracked is a program whose footprints are off.
type untracked struct{ *program }

func (untracked) TracksFootprints() bool                { return false }
func (untracked) Footprint(*progState) (none Footprint) { panic("asked for footprints that are off") }

func TestFootprintsThatAreOffAreNotAskedFor(t *testing.T) {
	sys := System[*progState](untracked{coverProgram()})
	for _, s := range allStrategies(t) {
		if o := Run(sys, s, Limits{}, 1); o.Steps() == 0 {
			t.Errorf("%s: %+v", s.Name(), o)
		}
	}
	if _, err := Explore(context.Background(), sys, ExploreOptions[*progState]{Reduction: ReduceDPOR}); err == nil {
		t.Error("reduction without footprints")
	}
}
