// Package simtest runs scenarios under go test. Check draws workloads and schedules with rapid, Exhaustive visits every
// reachable state, Fuzz lets Go's coverage-guided fuzzer drive the choices, and Replay makes the run of a failure file again.
// The scenario need not be registered.
//
// A failure is shrunk, shown as a timeline, and written to testdata/simrun/TESTNAME/*.simrun.json, or to the folder that Dir
// names. Each test runs the files in its folder first, so that a failure is seen again at once until it is fixed; after that
// the file is a regression test, to be kept or deleted. Tests in which a failure is expected give Dir(t.TempDir()).
package simtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
	"simrun/sim/postgres/pgtest"
)

// Where says what executes the SQL.
type Where string

// The backends. Postgres and Both need a server: that of pgtest.Start, which skips the test where none can be had.
const (
	Model    Where = "model"
	Postgres Where = "postgres"
	Both     Where = "both" // in lock-step: a difference between model and server fails the test
)

// Option changes what a test runs.
type Option func(*options)

type options struct {
	instance  sim.Instance
	runs      int
	maxStates int
	backend   Where
	lazy      bool
	dir       string
	mayFail   []string
}

// Variant picks the text of the protocol; the default is the scenario's first.
func Variant(name string) Option { return func(o *options) { o.instance.Variant = name } }

// Mutants seeds bugs, by name or id.
func Mutants(names ...string) Option {
	return func(o *options) { o.instance.Mutants = append(o.instance.Mutants, names...) }
}

// Params fixes bounds of the scenario. Check draws those that are not fixed between their minimum and their default; Exhaustive
// and Fuzz leave them at their default.
func Params(values map[string]int) Option {
	return func(o *options) { maps.Copy(o.instance.Params, values) }
}

// Runs is how many runs Check makes: 1,000 on the model and 100 on a server by default, a fifth of it under go test -short.
// They are made in batches of -rapid.checks runs, as many as are needed.
func Runs(n int) Option { return func(o *options) { o.runs = n } }

// MaxStates is how many distinct states Exhaustive visits, or how many classes of interleavings on a server, before it fails
// because there are more; 0, the default, means 1,000,000 states and 10,000 classes.
func MaxStates(n int) Option { return func(o *options) { o.maxStates = n } }

// Backend says what executes the SQL; the default is the model.
func Backend(w Where) Option { return func(o *options) { o.backend = w } }

// Lazy makes each wake-up a choice: others may run before a woken statement goes on.
func Lazy() Option { return func(o *options) { o.lazy = true } }

// Dir is the folder for failure files.
func Dir(path string) Option { return func(o *options) { o.dir = path } }

// MayFail names actors that may return an error in every run. Of any other actor that is a failure of the test, since a
// protocol that never gets anywhere breaks no invariant.
func MayFail(actors ...string) Option {
	return func(o *options) { o.mayFail = append(o.mayFail, actors...) }
}

// test is what Check, Exhaustive, Fuzz and Replay have in common.
type test struct {
	testing.TB
	options
	scenario *sim.Scenario
	open     replay.Opener
	tally    map[string]*ends
	seen     map[string]bool // witnesses
	stage    *stage
}

// ends counts how an actor ended.
type ends struct {
	fine, failed int
	err          error
}

func newTest(t testing.TB, s *sim.Scenario, opts []Option) *test {
	t.Helper()
	copied := *s
	if copied.Name == "" {
		copied.Name = t.Name()
	}
	if len(copied.Variants) == 0 {
		copied.Variants = []string{"plain"}
	}
	x := &test{TB: t, scenario: &copied, tally: map[string]*ends{}, seen: map[string]bool{}, stage: &stage{kept: map[string]*arena{}}}
	x.instance.Params = map[string]int{}
	x.backend = Model
	x.dir = filepath.Join("testdata", "simrun", strings.NewReplacer("/", "_", "#", "_").Replace(t.Name()))
	for _, o := range opts {
		o(&x.options)
	}
	x.instance = x.instance.Of(x.scenario)
	if _, _, err := x.instance.Resolve(); err != nil {
		t.Fatal(err)
	}
	x.open = x.opener()
	return x
}

func (x *test) opener() replay.Opener {
	x.Helper()
	switch x.backend {
	case Model:
		return sim.NewModel
	case Postgres:
		server := pgtest.Start(x)
		return func(setup *sim.Setup) (sim.Backend, error) { return server.NewBackend(setup) }
	case Both:
		server := pgtest.Start(x)
		return func(setup *sim.Setup) (sim.Backend, error) { return server.NewPair(setup, false) }
	}
	x.Fatalf("backend %q: expected %s, %s or %s", x.backend, Model, Postgres, Both)
	return nil
}

// spec is the run of an instance under a seed.
func (x *test) spec(in sim.Instance, seed uint64, strategy string) replay.Spec {
	in, _, err := in.Resolve()
	if err != nil {
		x.Fatal(err)
	}
	return replay.Spec{Instance: in, Seed: seed, Strategy: strategy, Lazy: x.lazy}
}

// count takes in how the actors of a run ended, and what it witnessed.
func (x *test) count(w *sim.World, setup *sim.Setup, witnesses []string) {
	for _, a := range setup.Actors {
		done, err := w.Done(a.Name)
		if !done || a.Daemon {
			continue
		}
		e := x.tally[a.Name]
		if e == nil {
			e = &ends{}
			x.tally[a.Name] = e
		}
		if err == nil {
			e.fine++
		} else {
			e.failed++
			e.err = err
		}
	}
	for _, name := range witnesses {
		x.seen[name] = true
	}
}

// vacuous fails the test when some actor never came through.
func (x *test) vacuous() {
	x.Helper()
	for _, name := range slices.Sorted(maps.Keys(x.tally)) {
		if e := x.tally[name]; e.fine == 0 && !slices.Contains(x.mayFail, name) {
			x.Errorf("actor %s returned an error in all %d runs in which it ended, the last time: %v\n(simtest.MayFail(%q) when that is meant)", name, e.failed, e.err, name)
		}
	}
}

// unseen lists the witnesses of the setup that were not seen.
func (x *test) unseen(setup *sim.Setup) []string {
	var out []string
	for _, name := range setup.Witnesses {
		if !x.seen[name] {
			out = append(out, name)
		}
	}
	return out
}

// corpus runs the failure files of the test's folder again, and ends the test at the first that still fails.
func (x *test) corpus() {
	x.Helper()
	paths, err := filepath.Glob(filepath.Join(x.dir, "*.simrun.json"))
	if err != nil {
		x.Fatal(err)
	}
	slices.Sort(paths)
	for _, path := range paths {
		x.again(path)
	}
}

// again makes the run of a failure file, and ends the test when it still fails.
func (x *test) again(path string) {
	x.Helper()
	file, err := replay.Read(path)
	if err != nil {
		x.Fatal(err)
	}
	file.Instance = file.Instance.Of(x.scenario)
	if _, _, err := file.Resolve(); err != nil {
		x.Fatalf("%s no longer applies: %v", path, err)
	}
	run, drift, err := file.Again(x.open)
	var gone *scheduler.NotEnabled
	switch {
	case err != nil:
		x.Fatalf("%s: %v", path, err)
	case run.Err != nil && !errors.As(run.Err, &gone):
		x.Fatalf("%s: %v", path, run.Err)
	case run.Violation.Invariant != "":
		x.Fatalf("%s\n%s", describe(run), x.where(path))
	case drift != nil:
		x.Logf("%s no longer fails: %v", path, drift)
	}
}

// fail shrinks a failing run, writes its file and shows it; the test goes on, failed.
func (x *test) fail(spec replay.Spec, names []string, v scheduler.Violation) {
	x.Helper()
	run, err := replay.Follow(spec, names, x.open)
	if err != nil {
		x.Fatal(err)
	}
	if run.Violation.Invariant != v.Invariant {
		x.Fatalf("%s was violated, but when the run was made again it came to %q: it depends on more than its schedule\n%s", v.Invariant, run.Violation.Invariant, describe(run))
	}
	file, was := replay.NewFile(run, tool), len(run.Choices)
	if x.backend != Postgres {
		small, _, err := replay.Shrink(context.Background(), file, tool, scheduler.ShrinkOptions{Tries: shrinkTries, SearchStates: -1})
		if err != nil {
			x.Logf("shrinking: %v", err)
		} else if again, err := replay.Follow(spec, small.Choices(), x.open); err == nil && again.Violation.Invariant == v.Invariant {
			run, file = again, replay.NewFile(again, tool)
		}
	}
	how := ""
	if now := len(run.Choices); now < was {
		how = fmt.Sprintf("shrunk from %d choices\n", was)
	}
	path := "nowhere"
	err = os.MkdirAll(x.dir, 0o755)
	if err == nil {
		path, err = file.WriteTo(x.dir)
	}
	if err != nil {
		x.Logf("the failure file could not be written: %v", err)
	}
	x.Errorf("%s%s\n%s", how, describe(run), x.where(path))
}

const (
	tool        = "simtest"
	shrinkTries = 5000 // bounds the runs spent on shrinking
)
