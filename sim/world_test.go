package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"simrun/scheduler"
)

// runOn makes one recorded run under the random strategy.
func runOn(t *testing.T, setup *Setup, db Backend, seed uint64, opts Options) (scheduler.Outcome, *Trace) {
	t.Helper()
	opts.Record = true
	s, err := NewSystem(setup, db, opts)
	if err != nil {
		t.Fatal(err)
	}
	r := scheduler.NewRunner(s, scheduler.Random(), scheduler.Limits{})
	o := *r.Run(seed)
	if err := r.State().Err(); err != nil {
		t.Fatal(err)
	}
	return o, r.State().Trace().Clone()
}

func exec(ctx context.Context, db DB, statements ...string) error {
	for _, sql := range statements {
		if _, err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func script(statements ...string) ActorFunc {
	return func(ctx context.Context, db DB) error { return exec(ctx, db, statements...) }
}

// increment reads and writes in two statements, without a lock: two of them can lose an update.
func increment(ctx context.Context, db DB) error {
	var v int
	if err := db.QueryRow(ctx, "get x").Scan(&v); err != nil {
		return err
	}
	return exec(ctx, db, fmt.Sprintf("set x %d", v+1))
}

func lostUpdate(n int) *Setup {
	s := &Setup{Invariants: []Invariant{{Name: "none-lost", Kind: Quiescent, Check: func(v View) string {
		if got := v.(*World).db.(*fake).committed["x"]; got != n {
			return fmt.Sprintf("x is %d after %d increments", got, n)
		}
		return ""
	}}}}
	for i := range n {
		s.Actors = append(s.Actors, ActorSpec{Name: fmt.Sprintf("inc%d", i), Run: ActorFunc(increment)})
	}
	return s
}

func TestSearchFindsTheLostUpdateAndCountsStates(t *testing.T) {
	s, err := NewSystem(lostUpdate(2), newFake(map[string]int{"x": 0}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := scheduler.Search(context.Background(), s, scheduler.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if res.Violation.Invariant != "none-lost" || len(res.Schedule.Names) != 4 {
		t.Fatalf("found %+v by %q, want none-lost by four steps", res.Violation, res.Schedule.Names)
	}
	// Without the invariant, by hand: x is 0: both before get, one has got 0, both have; x is 1: one is done and the other before
	// get, has got 0 or has got 1, or both are done; x is 2. What a done actor observed no longer counts.
	setup := lostUpdate(2)
	setup.Invariants = nil
	s, _ = NewSystem(setup, newFake(map[string]int{"x": 0}), Options{})
	res, err = scheduler.Search(context.Background(), s, scheduler.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if res.States != 12 || res.Completed != 2 {
		t.Errorf("states %d, completed %d", res.States, res.Completed)
	}
}

func TestRunsAreTheSameForTheSameSeed(t *testing.T) {
	setup := deadlockSetup()
	setup.Faults = Faults{Crash: 1, Cancel: 1, ConnLost: 1, CommitUnknown: 1}
	for seed := range uint64(200) {
		_, a := runOn(t, setup, newFake(map[string]int{"x": 0, "y": 0}), seed, Options{})
		_, b := runOn(t, setup, newFake(map[string]int{"x": 0, "y": 0}), seed, Options{})
		if d := cmp.Diff(digests(a), digests(b)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func digests(t *Trace) (out []string) {
	for _, s := range t.Steps {
		out = append(out, fmt.Sprintf("%s %016x", s.Name, s.Digest))
	}
	return out
}

func deadlockSetup() *Setup {
	return &Setup{Actors: []ActorSpec{
		{Name: "a", Run: script("begin", "add x 1", "add y 1", "commit")},
		{Name: "b", Run: script("begin", "add y 1", "add x 1", "commit")},
	}}
}

func TestVictimOfADeadlockIsAChoice(t *testing.T) {
	s, err := NewSystem(deadlockSetup(), newFake(map[string]int{"x": 0, "y": 0}), Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Initial()[0]
	for _, name := range strings.Fields("a a b b a b") {
		w = take(t, s, w, name)
	}
	if got := enabled(s, w); !cmp.Equal(got, []string{"victim a", "victim b"}) {
		t.Fatalf("enabled: %q", got)
	}
	w = take(t, s, w, "victim b")
	steps := w.Trace().Steps
	last := steps[len(steps)-1]
	if last.Name != "wake a" || !last.Eager || last.Reply.Result.Tag != "UPDATE 1" {
		t.Errorf("the last step is %+v", last)
	}
	if done, err := w.Done("b"); !done || !strings.Contains(err.Error(), "40P01") {
		t.Errorf("b: %v %v", done, err)
	}
}

func enabled(s *System, w *World) (names []string) {
	for _, c := range s.Choices(w, nil) {
		names = append(names, s.Name(w, c))
	}
	return names
}

func take(t *testing.T, s *System, w *World, name string) *World {
	t.Helper()
	for _, c := range s.Choices(w, nil) {
		if s.Name(w, c) == name {
			return s.Apply(w, c)
		}
	}
	t.Fatalf("%q is not enabled; enabled are %q", name, enabled(s, w))
	return nil
}

func TestLazyWakeUpsLetOthersRunFirst(t *testing.T) {
	setup := &Setup{Actors: []ActorSpec{
		{Name: "a", Run: script("begin", "add x 1", "commit")},
		{Name: "b", Run: script("add x 1")},
		{Name: "c", Run: script("get x")},
	}}
	s, _ := NewSystem(setup, newFake(map[string]int{"x": 0}), Options{Lazy: true})
	w := s.Initial()[0]
	for _, name := range strings.Fields("a a b a") {
		w = take(t, s, w, name)
	}
	if got := enabled(s, w); !cmp.Equal(got, []string{"c", "wake b"}) {
		t.Fatalf("enabled: %q", got)
	}
}

func TestFaults(t *testing.T) {
	commit := script("begin", "add x 1", "commit")
	for _, tc := range []struct {
		name     string
		faults   Faults
		schedule string
		x        int
		check    func(err error) bool
	}{
		{"crash", Faults{Crash: 1}, "a|a|crash a", 0, func(err error) bool { return errors.Is(err, ErrCrashed) }},
		{"applied", Faults{CommitUnknown: 1}, "a|a|commit-applied a", 1, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"dropped", Faults{CommitUnknown: 1}, "a|a|commit-dropped a", 0, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"lost", Faults{ConnLost: 1}, "a|disconnect a", 0, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"cancel", Faults{Cancel: 1}, "a|cancel a", 0, func(err error) bool { return strings.Contains(err.Error(), "57014") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			setup := &Setup{Actors: []ActorSpec{{Name: "a", Run: commit}}, Faults: tc.faults}
			db := newFake(map[string]int{"x": 0})
			s, err := NewSystem(setup, db, Options{})
			if err != nil {
				t.Fatal(err)
			}
			w := s.Initial()[0]
			for _, name := range strings.Split(tc.schedule, "|") {
				w = take(t, s, w, name)
			}
			done, err := w.Done("a")
			if !done || !tc.check(err) {
				t.Errorf("done %v, error %v", done, err)
			}
			if got := w.db.(*fake).committed["x"]; got != tc.x {
				t.Errorf("x is %d, want %d", got, tc.x)
			}
		})
	}
}

func TestRestartBeginsANewProcess(t *testing.T) {
	run := func(ctx context.Context, db DB) error {
		Op(ctx, "work", nil)
		if err := exec(ctx, db, fmt.Sprintf("add x %d", 10*Attempt(ctx)+1)); err != nil {
			return err
		}
		return exec(ctx, db, "get x")
	}
	setup := &Setup{Actors: []ActorSpec{{Name: "a", Restarts: 1, Run: ActorFunc(run)}}, Faults: Faults{Crash: 2}}
	s, _ := NewSystem(setup, newFake(map[string]int{"x": 0}), Options{Record: true})
	w := s.Initial()[0]
	for _, name := range []string{"a", "crash a", "a", "a"} {
		w = take(t, s, w, name)
	}
	if done, err := w.Done("a"); !done || err != nil {
		t.Errorf("done %v, %v", done, err)
	}
	if x := w.db.(*fake).committed["x"]; x != 12 {
		t.Errorf("x is %d", x)
	}
	h := w.Trace().History
	if len(h) != 2 || !h[0].Indeterminate || h[0].Call != 0 || h[1].Call != 4 {
		t.Errorf("history %+v", h)
	}
}

func TestClockWakesSleepers(t *testing.T) {
	var at []time.Duration
	sleeper := func(d time.Duration) ActorFunc {
		return func(ctx context.Context, db DB) error {
			if err := Sleep(ctx, d); err != nil {
				return err
			}
			at = append(at, Now(ctx).Sub(Epoch))
			return nil
		}
	}
	setup := &Setup{Actors: []ActorSpec{{Name: "a", Run: sleeper(2 * time.Second)}, {Name: "b", Run: sleeper(time.Second)}}}
	s, _ := NewSystem(setup, newFake(nil), Options{})
	w := s.Initial()[0]
	w = take(t, s, w, "clock")
	if got := enabled(s, w); !cmp.Equal(got, []string{"clock"}) {
		t.Errorf("enabled: %q", got)
	}
	take(t, s, w, "clock")
	if !cmp.Equal(at, []time.Duration{time.Second, 2 * time.Second}) {
		t.Errorf("woken at %v", at)
	}
}

func TestChooseIsAChoice(t *testing.T) {
	setup := &Setup{Actors: []ActorSpec{{Name: "a", Run: ActorFunc(func(ctx context.Context, db DB) error {
		return exec(ctx, db, fmt.Sprintf("set x %d", Choose(ctx, "size", 3)))
	})}}}
	s, _ := NewSystem(setup, newFake(map[string]int{"x": 0}), Options{Record: true})
	w := s.Initial()[0]
	if got := enabled(s, w); !cmp.Equal(got, []string{"a size=0", "a size=1", "a size=2"}) {
		t.Fatalf("enabled: %q", got)
	}
	w = take(t, s, w, "a size=2")
	if got := w.Trace().Steps[0].Name; got != "a size=2" {
		t.Errorf("the step's name is %q", got)
	}
	if w = take(t, s, w, "a"); w.db.(*fake).committed["x"] != 2 {
		t.Error("the value was not used")
	}
}

func TestAnActorThatIsNotAFunctionOfItsObservationsIsFound(t *testing.T) {
	calls := 0
	setup := &Setup{Actors: []ActorSpec{{Name: "a", Run: ActorFunc(func(ctx context.Context, db DB) error {
		calls++
		return exec(ctx, db, fmt.Sprintf("set x %d", calls), "get x", "get y")
	})}, {Name: "b", Run: script("add y 1")}}}
	s, _ := NewSystem(setup, newFake(map[string]int{"x": 0, "y": 0}), Options{})
	res, err := scheduler.Search(context.Background(), s, scheduler.Options{Workers: 1})
	if err == nil && (res.Violation.Invariant != CouldNotRun || !strings.Contains(res.Violation.Detail, "not a function")) {
		t.Errorf("got %+v", res.Violation)
	}
}

func TestCheckpointForgets(t *testing.T) {
	loop := func(honest bool) ActorFunc {
		return func(ctx context.Context, db DB) error {
			sum := 0
			for {
				if honest {
					Checkpoint(ctx)
				} else {
					Checkpoint(ctx)
					if err := exec(ctx, db, fmt.Sprintf("set y %d", sum)); err != nil {
						return err
					}
				}
				var v int
				if err := db.QueryRow(ctx, "get x").Scan(&v); err != nil {
					return err
				}
				sum++
			}
		}
	}
	for _, honest := range []bool{true, false} {
		setup := &Setup{Actors: []ActorSpec{{Name: "loop", Daemon: true, Run: loop(honest)}, {Name: "b", Run: script("add x 1", "add x 1")}}}
		s, _ := NewSystem(setup, newFake(map[string]int{"x": 0, "y": 0}), Options{})
		res, err := scheduler.Search(context.Background(), s, scheduler.Options{Workers: 1, Bounds: scheduler.Bounds{Depth: 50}})
		switch {
		case err != nil:
			t.Fatal(err)
		case honest && (res.Violation.Invariant != "" || res.States != 3):
			t.Errorf("honest: %d states, %+v", res.States, res.Violation)
		case !honest && !strings.Contains(res.Violation.Detail, "depends on more than the locals"):
			t.Errorf("dishonest: %+v", res.Violation)
		}
	}
}

func TestSQLInvariantNamesTheRow(t *testing.T) {
	setup := &Setup{Actors: []ActorSpec{{Name: "a", Run: script("set x -3")}},
		Invariants: []Invariant{{Name: "not-negative", SQL: "x"}}}
	o, _ := runOn(t, setup, newFake(map[string]int{"x": 0}), 1, Options{})
	if o.Violation.Invariant != "not-negative" || o.Violation.Detail != "x = -3" {
		t.Errorf("got %+v", o.Violation)
	}
}

func TestPanicOfAnActorIsAViolation(t *testing.T) {
	setup := &Setup{Actors: []ActorSpec{{Name: "a", Run: ActorFunc(func(context.Context, DB) error { panic("oops") })}}}
	s, _ := NewSystem(setup, newFake(nil), Options{})
	if inv, why := s.Violation(s.Initial()[0]); inv != "no-panic" || !strings.Contains(why, "oops") {
		t.Errorf("%s: %s", inv, why)
	}
}

func TestTransactionsBehaveAsInPgx(t *testing.T) {
	var log []string
	say := func(what string, err error) { log = append(log, fmt.Sprintf("%s: %v", what, err)) }
	run := func(ctx context.Context, db DB) error {
		log = nil
		tx, err := db.Begin(ctx)
		say("begin", err)
		inner, err := tx.Begin(ctx)
		say("nested", err)
		say("release", inner.Commit(ctx))
		say("release again", inner.Commit(ctx))
		say("commit", tx.Commit(ctx))
		say("rollback after commit", tx.Rollback(ctx))
		tx, _ = db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		_, err = tx.Exec(ctx, "fail 23505")
		say("fail", err)
		_, err = tx.Exec(ctx, "get x")
		say("after", err)
		say("commit of failed", tx.Commit(ctx))
		var v int
		say("no rows", db.QueryRow(ctx, "get nothing").Scan(&v))
		rows, err := db.Query(ctx, "get x")
		say("query", err)
		_, err = db.Exec(ctx, "get x")
		say("busy", err)
		rows.Close()
		_, err = db.Exec(ctx, "get x")
		say("free", err)
		return nil
	}
	_, trace := runOn(t, &Setup{Actors: []ActorSpec{{Name: "a", Run: ActorFunc(run)}}}, newFake(map[string]int{"x": 0}), 1, Options{})
	want := []string{
		"begin: <nil>", "nested: <nil>", "release: <nil>", "release again: tx is closed", "commit: <nil>",
		"rollback after commit: tx is closed", "fail: ERROR: told to fail (SQLSTATE 23505)",
		"after: ERROR: current transaction is aborted, commands ignored until end of transaction block (SQLSTATE 25P02)",
		"commit of failed: commit unexpectedly resulted in rollback", "no rows: no rows in result set", "query: <nil>",
		"busy: conn busy", "free: <nil>",
	}
	if d := cmp.Diff(want, log); d != "" {
		t.Error(d)
	}
	var sql []string
	for _, s := range trace.Steps {
		sql = append(sql, s.SQL)
	}
	if d := cmp.Diff([]string{"begin", "savepoint sp_1", "release savepoint sp_1", "commit",
		"begin isolation level repeatable read read only", "fail 23505", "get x", "commit", "get nothing", "get x", "get x"}, sql); d != "" {
		t.Error(d)
	}
}

func TestBatchIsAnImplicitTransaction(t *testing.T) {
	run := func(ctx context.Context, db DB) error {
		b := &pgx.Batch{}
		b.Queue("set x 1")
		b.Queue("fail 23505")
		b.Queue("set x 2")
		return db.SendBatch(ctx, b).Close()
	}
	_, trace := runOn(t, &Setup{Actors: []ActorSpec{{Name: "a", Run: ActorFunc(run)}}}, newFake(map[string]int{"x": 0}), 1, Options{})
	var sql []string
	for _, s := range trace.Steps {
		sql = append(sql, s.SQL)
	}
	if !cmp.Equal(sql, []string{"begin", "set x 1", "fail 23505", "rollback"}) {
		t.Errorf("steps: %q", sql)
	}
	if err := trace.Steps[3].Err; err == nil || !strings.Contains(err.Error(), "23505") {
		t.Errorf("the batch ended with %v", err)
	}
}

func TestSharedDatabasesChangeNothing(t *testing.T) {
	setup := deadlockSetup()
	setup.Actors = append(setup.Actors, ActorSpec{Name: "c", Run: ActorFunc(increment)})
	setup.Faults = Faults{Crash: 1, Cancel: 1, ConnLost: 1, CommitUnknown: 1}
	var want *scheduler.Result
	for _, share := range []bool{false, true} {
		for _, workers := range []int{1, 2} {
			s, err := NewSystem(setup, newFake(map[string]int{"x": 0, "y": 0}), Options{Share: share})
			if err != nil {
				t.Fatal(err)
			}
			res, err := scheduler.Search(context.Background(), s, scheduler.Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = res
			}
			if res.States != want.States || res.Transitions != want.Transitions || res.Completed != want.Completed || res.Depth != want.Depth {
				t.Errorf("share %v, %d workers: %v; want %v", share, workers, res, want)
			}
		}
	}
	for seed := range uint64(50) {
		_, a := runOn(t, setup, newFake(map[string]int{"x": 0, "y": 0}), seed, Options{})
		_, b := runOn(t, setup, newFake(map[string]int{"x": 0, "y": 0}), seed, Options{Share: true})
		if d := cmp.Diff(digests(a), digests(b)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func TestLookingAheadLeavesTheRecordAlone(t *testing.T) {
	s, err := NewSystem(lostUpdate(2), newFake(map[string]int{"x": 0}), Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Clone(s.Initial()[0])
	s.Apply(s.Clone(w), s.Choices(w, nil)[0]) // what a strategy that looks ahead does
	w = take(t, s, w, "inc1")
	if tr := w.Trace(); tr == nil || len(tr.Steps) != 1 || tr.Steps[0].Name != "inc1" {
		t.Errorf("trace %+v", tr)
	}
}

// An operation that is left open at a Checkpoint stays indeterminate: what is returned afterwards is another one, although a
// Checkpoint numbers operations anew.
func TestOperationsEndAtACheckpoint(t *testing.T) {
	setup := &Setup{Actors: []ActorSpec{{Name: "a", Run: ActorFunc(func(ctx context.Context, db DB) error {
		for round := range 2 {
			op := Op(ctx, "round", round)
			if _, err := db.Exec(ctx, "add x 1"); err != nil {
				return err
			}
			if round > 0 {
				op.Return("done")
			}
			Checkpoint(ctx, round)
		}
		return nil
	})}}}
	s, err := NewSystem(setup, newFake(map[string]int{"x": 0}), Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Initial()[0]
	for range 2 {
		w = take(t, s, w, "a")
	}
	h := w.Trace().History
	if len(h) != 2 || !h[0].Indeterminate || h[1].Indeterminate || h[1].Output != "done" {
		t.Errorf("history %+v", h)
	}
}
