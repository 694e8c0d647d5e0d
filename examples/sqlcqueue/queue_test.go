package sqlcqueue

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"simrun/replay"
	"simrun/sim"
	"simrun/sim/simtest"
)

func TestFixedHoldsInEveryState(t *testing.T) { simtest.Exhaustive(t, Scenario) }

func TestFixedHoldsOnAServer(t *testing.T) {
	simtest.Check(t, Scenario, simtest.Backend(simtest.Both), simtest.Runs(50))
}

func FuzzFixed(f *testing.F) { simtest.Fuzz(f, Scenario) }

// race is a failure file of the racy variant, as simtest.Exhaustive wrote it.
const race = "testdata/race.simrun.json"

// TestRacy shows what each way of testing makes of the racy variant. RACY=1 go test -run TestRacy -v shows the failures.
func TestRacy(t *testing.T) {
	for name, test := range map[string]func(testing.TB, *sim.Scenario, ...simtest.Option){"check": simtest.Check, "exhaustive": simtest.Exhaustive} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			failed := expectFailure(t, func(t testing.TB) { test(t, Scenario, simtest.Variant("racy"), simtest.Dir(dir)) })
			paths, _ := filepath.Glob(filepath.Join(dir, "*.simrun.json"))
			if !failed || len(paths) != 1 {
				t.Fatalf("failed %v, files %v", failed, paths)
			}
			f, err := replay.Read(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			want, err := replay.Read(race)
			if err != nil {
				t.Fatal(err)
			}
			if f.Violation.Invariant != "StartedOnce" || len(f.Choices()) != len(want.Choices()) {
				t.Errorf("%s after %d choices, %d are enough", f.Violation.Invariant, len(f.Choices()), len(want.Choices()))
			}
		})
	}
}

// TestRaceReplays makes the run of the failure file again, step by step the same, on the model.
func TestRaceReplays(t *testing.T) {
	f, err := replay.Read(race)
	if err != nil {
		t.Fatal(err)
	}
	f.Instance = f.Instance.Of(Scenario)
	run, drift, err := f.Again(sim.NewModel)
	if err != nil || drift != nil || run.Violation.Invariant != "StartedOnce" {
		t.Errorf("%v, drift %v, violation %+v", err, drift, run.Violation)
	}
}

// failing is a test that may fail; its output is shown with RACY=1.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Failed() bool { return f.failed }
func (f *failing) Fail()        { f.failed = true }
func (f *failing) FailNow()     { f.failed = true; runtime.Goexit() }
func (f *failing) Logf(format string, args ...any) {
	if os.Getenv("RACY") != "" {
		f.TB.Logf(strings.TrimSpace(format), args...)
	}
}
func (f *failing) Errorf(format string, args ...any) { f.Logf(format, args...); f.Fail() }
func (f *failing) Fatalf(format string, args ...any) { f.Logf(format, args...); f.FailNow() }

// expectFailure runs f as a test of its own and says whether it failed.
func expectFailure(t *testing.T, f func(t testing.TB)) bool {
	r := &failing{TB: t}
	done := make(chan struct{})
	go func() { defer close(done); f(r) }()
	<-done
	return r.failed
}
