package simtest

import (
	"flag"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// Check makes many runs whose workload (the bounds that are not fixed, and the seed that the setup is drawn with) and schedule
// rapid draws. A failing run is shrunk by rapid, to a small workload and few switches between actors, and then by the
// passes of scheduler.Shrink. The first failure ends the test. rapid's own flags work: -rapid.seed, -rapid.failfile, -rapid.v.
func Check(t testing.TB, s *sim.Scenario, opts ...Option) {
	t.Helper()
	x := newTest(t, s, opts)
	x.corpus()
	defer x.close()
	c := checker{test: x, named: map[string]bool{}}
	defer c.report()
	for range c.batches() {
		rapid.Check(t, c.property)
	}
	x.vacuous()
	for _, name := range slices.Sorted(maps.Keys(c.named)) {
		if !c.seen[name] {
			t.Logf("no run saw %s", name)
		}
	}
}

// checker is a Check under way.
type checker struct {
	*test
	named  map[string]bool // witnesses of the setups
	failed *failed
}

// failed is the last failing run: rapid ends with the smallest.
type failed struct {
	spec      replay.Spec
	names     []string
	violation scheduler.Violation
}

// batches is how often to call rapid.Check, which makes -rapid.checks runs. With -rapid.seed every batch would be the same.
func (c *checker) batches() int {
	n := c.runs
	if n == 0 {
		n = 1000
		if c.backend != Model {
			n = 100
		}
	}
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() != "0" {
		return 1
	}
	each := 100
	if f := flag.Lookup("rapid.checks"); f != nil {
		if v, err := strconv.Atoi(f.Value.String()); err == nil && v > 0 {
			each = v
		}
	}
	return max(1, (n+each-1)/each)
}

func (c *checker) property(t *rapid.T) {
	in := c.instance
	in.Params = map[string]int{}
	for _, p := range c.scenario.Params {
		v, fixed := c.instance.Params[p.Name]
		if !fixed {
			v = rapid.IntRange(p.Min, max(p.Min, p.Default)).Draw(t, p.Name)
		}
		in.Params[p.Name] = v
	}
	spec := c.spec(in, 0, "rapid")
	if _, drawn, err := spec.Build(0); err == nil && drawn {
		spec.Seed = uint64(rapid.IntRange(0, 1<<16-1).Draw(t, "setup"))
	}
	a, err := c.arena(spec)
	if err != nil {
		t.Fatal(err)
	}
	names, v, err := c.run(a, func(names []string) int {
		return slices.Index(names, rapid.SampledFrom(names).Draw(t, "choice"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range a.setup.Witnesses {
		c.named[w] = true
	}
	if v.Invariant != "" {
		c.failed = &failed{spec, names, v}
		t.Fatalf("%s is violated", v.Invariant) // the same words for each schedule: rapid shrinks towards the same error only
	}
}

// report writes and shows what rapid has found. It runs also when rapid has ended the test.
func (c *checker) report() {
	c.Helper()
	if f := c.failed; f != nil {
		c.fail(f.spec, f.names, f.violation)
	}
}
