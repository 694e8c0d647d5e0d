package simtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"simrun/replay"
	"simrun/sim"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.nofailfile", "true") // failures are expected here
	os.Exit(m.Run())
}

// counter is a scenario that nobody registers: actors increment a counter, by hand in the mutant.
var counter = &sim.Scenario{
	Name: "simtest/counter", Variants: []string{"locked", "atomic"},
	Mutants: []sim.Mutant{{Name: "no-lock", ID: "T1", Doc: "reads the counter without a lock", Breaks: []string{"NoneLost"}}},
	Params:  []sim.Param{{Name: "actors", Doc: "how many increment", Default: 3, Min: 1, Max: 5}},
	Build: func(cfg sim.Config) (*sim.Setup, error) {
		read := "SELECT n FROM counter FOR UPDATE"
		if len(cfg.Mutants) > 0 {
			read = "SELECT n FROM counter"
		}
		s := &sim.Setup{
			Schema: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); CREATE TABLE done (actor text PRIMARY KEY)",
			Seed:   "INSERT INTO counter VALUES (1, 0)",
			Invariants: []sim.Invariant{{Name: "NoneLost", Kind: sim.Quiescent, Doc: "every increment counts",
				SQL: "SELECT n, (SELECT count(*) FROM done) AS done FROM counter WHERE n <> (SELECT count(*) FROM done)"}},
			Witnesses: []string{"incremented"},
		}
		for i := range cfg.Params["actors"] {
			name := string(rune('a' + i))
			s.Actors = append(s.Actors, sim.ActorSpec{Name: name, Run: sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
				return increment(ctx, db, name, read, cfg.Variant == "atomic")
			})})
		}
		return s, nil
	},
}

func increment(ctx context.Context, db sim.DB, name, read string, atomic bool) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if atomic {
		_, err = tx.Exec(ctx, "UPDATE counter SET n = n + 1")
	} else {
		var n int
		if err := tx.QueryRow(ctx, read).Scan(&n); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE counter SET n = $1", n+1)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO done VALUES ($1)", name); err != nil {
		return err
	}
	sim.Witness(ctx, "incremented")
	return tx.Commit(ctx)
}

// drawn is the counter with a number of actors that the seed draws.
var drawn = &sim.Scenario{
	Name: "simtest/drawn", Mutants: counter.Mutants,
	Build: func(cfg sim.Config) (*sim.Setup, error) {
		cfg.Params = map[string]int{"actors": 1 + cfg.Rand.IntN(3)}
		return counter.Build(cfg)
	},
}

// recorder is a test that may fail without failing the one it is in.
type recorder struct {
	testing.TB
	name   string
	failed bool
	log    strings.Builder
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return r.name }
func (r *recorder) Failed() bool { return r.failed }
func (r *recorder) Fail()        { r.failed = true }
func (r *recorder) FailNow()     { r.failed = true; runtime.Goexit() }
func (r *recorder) Log(args ...any) {
	fmt.Fprintln(&r.log, args...)
}
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.log, format+"\n", args...) }
func (r *recorder) Error(args ...any)               { r.Log(args...); r.Fail() }
func (r *recorder) Fatal(args ...any)               { r.Log(args...); r.FailNow() }
func (r *recorder) Errorf(format string, args ...any) {
	r.Logf(format, args...)
	r.Fail()
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Logf(format, args...)
	r.FailNow()
}

// record runs f as a test of its own and returns how that went.
func record(t *testing.T, f func(t testing.TB)) *recorder {
	r := &recorder{TB: t, name: t.Name()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

// files lists the failure files in dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.simrun.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// found checks that r has failed as it must, and returns its one failure file.
func found(t *testing.T, r *recorder, dir string, want ...string) *replay.File {
	t.Helper()
	if !r.failed {
		t.Fatalf("nothing was found:\n%s", r.log.String())
	}
	for _, w := range append(want, "VIOLATED: NoneLost: n = ", "every increment counts", "SELECT n FROM counter", "go test -run") {
		if !strings.Contains(r.log.String(), w) {
			t.Errorf("the output has no %q:\n%s", w, r.log.String())
		}
	}
	paths := files(t, dir)
	if len(paths) != 1 {
		t.Fatalf("failure files %v", paths)
	}
	f, err := replay.Read(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// shortest is how many choices the shortest losing schedule of two actors has: BEGIN, SELECT, UPDATE, INSERT and COMMIT of each.
// An UPDATE that waits is no choice when it goes on.
const shortest = 10

func TestCheckFindsAndShrinks(t *testing.T) {
	dir := t.TempDir()
	r := record(t, func(t testing.TB) { Check(t, counter, Mutants("T1"), Dir(dir)) })
	f := found(t, r, dir)
	if f.Params["actors"] != 2 || len(f.Choices()) != shortest {
		t.Errorf("%d actors, %d choices; 2 and %d are enough\n%s", f.Params["actors"], len(f.Choices()), shortest, r.log.String())
	}
}

func TestCheckDrawsSetups(t *testing.T) {
	dir := t.TempDir()
	f := found(t, record(t, func(t testing.TB) { Check(t, drawn, Mutants("no-lock"), Dir(dir)) }), dir)
	if f.Seed > 100 {
		t.Errorf("seed %d is not small", f.Seed)
	}
}

func TestCheckHolds(t *testing.T) {
	for _, v := range counter.Variants {
		t.Run(v, func(t *testing.T) { Check(t, counter, Variant(v), Runs(300)) })
	}
}

func TestExhaustiveFindsTheShortest(t *testing.T) {
	dir := t.TempDir()
	f := found(t, record(t, func(t testing.TB) {
		Exhaustive(t, counter, Mutants("T1"), Params(map[string]int{"actors": 2}), Dir(dir))
	}), dir)
	if len(f.Choices()) != shortest {
		t.Errorf("%d choices", len(f.Choices()))
	}
}

func TestExhaustiveHolds(t *testing.T) {
	for _, v := range counter.Variants {
		t.Run(v, func(t *testing.T) { Exhaustive(t, counter, Variant(v)) })
	}
}

func TestExhaustiveFailsWhenItIsNot(t *testing.T) {
	r := record(t, func(t testing.TB) { Exhaustive(t, counter, MaxStates(10)) })
	if !r.failed || !strings.Contains(r.log.String(), "not exhaustive") {
		t.Errorf("failed %v:\n%s", r.failed, r.log.String())
	}
}

func TestExhaustiveFailsForAWitnessThatNoStateSees(t *testing.T) {
	s := *counter
	s.Build = func(cfg sim.Config) (*sim.Setup, error) {
		setup, err := counter.Build(cfg)
		setup.Witnesses = append(setup.Witnesses, "never")
		return setup, err
	}
	r := record(t, func(t testing.TB) { Exhaustive(t, &s) })
	if !r.failed || !strings.Contains(r.log.String(), "no state saw never") {
		t.Errorf("failed %v:\n%s", r.failed, r.log.String())
	}
}

// The input under which each actor reads before the other writes: bytes choose among [goes on, the other one].
func TestFuzzFindsAndHolds(t *testing.T) {
	input := []byte{0, 0, 0, 0, 1, 0}
	dir := t.TempDir()
	f := found(t, record(t, func(t testing.TB) {
		newTest(t, counter, []Option{Mutants("T1"), Dir(dir), Params(map[string]int{"actors": 2})}).input(t, input)
	}), dir)
	if len(f.Choices()) != shortest {
		t.Errorf("%d choices", len(f.Choices()))
	}
	newTest(t, counter, nil).input(t, input)
}

func FuzzCounter(f *testing.F) { Fuzz(f, counter) }

func TestFailureFilesAreRunFirst(t *testing.T) {
	dir := t.TempDir()
	s := *counter
	broken := true
	s.Build = func(cfg sim.Config) (*sim.Setup, error) {
		if broken {
			cfg.Mutants = []string{"no-lock"}
		}
		return counter.Build(cfg)
	}
	found(t, record(t, func(t testing.TB) { Exhaustive(t, &s, Dir(dir)) }), dir)
	first := record(t, func(t testing.TB) { Check(t, &s, Dir(dir), Runs(1)) })
	found(t, first, dir)
	if strings.Contains(first.log.String(), "rapid") {
		t.Errorf("rapid ran before the failure file:\n%s", first.log.String())
	}
	path := files(t, dir)[0]
	found(t, record(t, func(t testing.TB) { Replay(t, &s, path) }), dir)

	broken = false
	fixed := record(t, func(t testing.TB) { Replay(t, &s, path) })
	if fixed.failed || !strings.Contains(fixed.log.String(), "no longer fails") {
		t.Errorf("failed %v:\n%s", fixed.failed, fixed.log.String())
	}
	Exhaustive(t, &s, Dir(dir))
}

func TestActorsThatNeverComeThroughFailTheTest(t *testing.T) {
	s := &sim.Scenario{Name: "simtest/wrong", Build: func(sim.Config) (*sim.Setup, error) {
		return &sim.Setup{Schema: "CREATE TABLE a (k int)", Actors: []sim.ActorSpec{{Name: "typo", Run: sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
			_, err := db.Exec(ctx, "INSERT INTO b VALUES (1)")
			return err
		})}}}, nil
	}}
	for name, f := range map[string]func(testing.TB, ...Option){
		"check":      func(t testing.TB, o ...Option) { Check(t, s, append(o, Runs(1))...) },
		"exhaustive": func(t testing.TB, o ...Option) { Exhaustive(t, s, o...) },
	} {
		r := record(t, func(t testing.TB) { f(t) })
		if !r.failed || !strings.Contains(r.log.String(), `relation "b" does not exist`) {
			t.Errorf("%s: failed %v:\n%s", name, r.failed, r.log.String())
		}
		f(t, MayFail("typo"))
	}
}

func TestUnsupportedSQLFailsTheTest(t *testing.T) {
	s := &sim.Scenario{Name: "simtest/refused", Build: func(sim.Config) (*sim.Setup, error) {
		return &sim.Setup{Schema: "CREATE TABLE a (k int)", Actors: []sim.ActorSpec{{Name: "one", Run: sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
			_, err := db.Exec(ctx, "LISTEN a")
			return err
		})}}}, nil
	}}
	for name, f := range map[string]func(testing.TB){
		"check":      func(t testing.TB) { Check(t, s) },
		"exhaustive": func(t testing.TB) { Exhaustive(t, s) },
	} {
		r := record(t, f)
		if !r.failed || !strings.Contains(r.log.String(), "LISTEN") {
			t.Errorf("%s: failed %v:\n%s", name, r.failed, r.log.String())
		}
	}
}

func TestOnAServer(t *testing.T) {
	two := Params(map[string]int{"actors": 2})
	t.Run("check", func(t *testing.T) { Check(t, counter, Backend(Both), Runs(20), two) })
	t.Run("exhaustive", func(t *testing.T) { Exhaustive(t, counter, Backend(Both), two) })
	t.Run("exhaustive finds", func(t *testing.T) {
		dir := t.TempDir()
		found(t, record(t, func(t testing.TB) { Exhaustive(t, counter, Mutants("T1"), Backend(Both), two, Dir(dir)) }), dir)
	})
	t.Run("check finds on the server alone", func(t *testing.T) {
		dir := t.TempDir()
		found(t, record(t, func(t testing.TB) { Check(t, counter, Mutants("T1"), Backend(Postgres), two, Dir(dir)) }), dir)
	})
}
