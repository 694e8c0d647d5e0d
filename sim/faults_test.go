package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

// systemOn makes the system of a setup on the in-memory Postgres.
func systemOn(t *testing.T, setup *Setup, opts Options) *System {
	t.Helper()
	db, err := NewModel(setup)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSystem(setup, db, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onModel makes the system of a setup on the in-memory Postgres, and its first world.
func onModel(t *testing.T, setup *Setup) (*System, *World) {
	t.Helper()
	s := systemOn(t, setup, Options{Record: true})
	return s, s.Initial()[0]
}

// twoRows is a table of two rows, which two actors update in opposite order.
func twoRows(aFirst ...string) *Setup {
	return &Setup{
		Schema: "CREATE TABLE rows (id int PRIMARY KEY, n int)", Seed: "INSERT INTO rows VALUES (1, 0), (2, 0)",
		Actors: []ActorSpec{
			{Name: "a", Run: script(append(append([]string{"begin"}, aFirst...),
				"UPDATE rows SET n = 1 WHERE id = 1", "UPDATE rows SET n = 1 WHERE id = 2", "commit")...)},
			{Name: "b", Run: script("begin", "UPDATE rows SET n = 2 WHERE id = 2", "UPDATE rows SET n = 2 WHERE id = 1", "commit")},
		},
	}
}

// TestTimeoutIsNoVictim: whoever waits under a timeout shorter than deadlock_timeout gives up before it looks for a
// deadlock. The other may still look at that moment, and then says so.
func TestTimeoutIsNoVictim(t *testing.T) {
	for set, want := range map[string][]string{
		"SET LOCAL lock_timeout = '10ms'":                {"victim b", "lock-timeout a"},
		"SELECT set_config('lock_timeout', '999', true)": {"victim b", "lock-timeout a"},
		"SET LOCAL lock_timeout = '2s'":                  {"victim a", "victim b", "lock-timeout a"},
		"SET LOCAL lock_timeout TO 1000":                 {"victim a", "victim b", "lock-timeout a"},
		"SET LOCAL lock_timeout = 0":                     {"victim a", "victim b"},
		"SET LOCAL statement_timeout = '10ms'":           {"victim b", "statement-timeout a"},
		"SET LOCAL statement_timeout = '2s'":             {"victim a", "victim b", "statement-timeout a"},
		"SET LOCAL statement_timeout = 0":                {"victim a", "victim b"},
	} {
		t.Run(set, func(t *testing.T) {
			s, w := onModel(t, twoRows(set))
			for _, name := range []string{"a", "a", "a", "b", "b", "a", "b"} {
				w = take(t, s, w, name)
			}
			if diff := cmp.Diff(want, enabled(s, w)); diff != "" {
				t.Fatal(diff)
			}
			w = take(t, s, w, "victim b")
			for _, step := range w.Trace().Steps {
				if got := step.Yielding; got != (step.Kind == StepVictim && len(want) == 2 && strings.HasSuffix(want[1], "-timeout a")) {
					t.Errorf("%s: Yielding is %v", step.Name, got)
				}
			}
		})
	}
}

// TestLostConnectionAcquiresNothing: the locks of a step before, of whomever, are not those of a connection's end.
func TestLostConnectionAcquiresNothing(t *testing.T) {
	for _, fault := range []string{"commit-dropped a", "commit-applied a"} {
		setup := twoRows()
		setup.Faults = Faults{CommitUnknown: 1}
		setup.Invariants = []Invariant{{Name: "locks", Kind: WholeRun, NeedsLocks: true, Run: func(*Trace) string { return "" }}}
		s, w := onModel(t, setup)
		for _, name := range []string{"a", "a", "a", "b", "b", fault} {
			w = take(t, s, w, name)
		}
		acquired := map[string]int{}
		for _, step := range w.Trace().Steps {
			acquired[step.Name] += len(step.Acquired)
		}
		if acquired["a"] == 0 || acquired["b"] == 0 || acquired[fault] != 0 {
			t.Errorf("locks acquired by step: %v", acquired)
		}
	}
}

// TestIdleTimeout: the connection ends between two statements of a transaction, which frees its locks; the actor is told by its next
// statement, the transaction is dead, and what follows has a new connection.
func TestIdleTimeout(t *testing.T) {
	var told []string
	tell := func(err error) {
		var e *pgconn.PgError
		switch {
		case errors.As(err, &e):
			told = append(told, e.Severity+" "+e.Code)
		case err != nil:
			told = append(told, err.Error())
		default:
			told = append(told, "ok")
		}
	}
	setup := twoRows()
	setup.Faults.IdleTimeout = 1
	setup.Actors[0].Settings = [][2]string{{"idle_in_transaction_session_timeout", "10s"}}
	setup.Actors[0].Run = ActorFunc(func(ctx context.Context, db DB) error {
		told = nil
		tx, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE rows SET n = 1 WHERE id = 2")
		tell(err)
		if err := Sleep(ctx, time.Minute); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE rows SET n = 1 WHERE id = 1")
		tell(err)
		tell(tx.Commit(ctx))
		_, err = db.Exec(ctx, "UPDATE rows SET n = n + 10")
		tell(err)
		return nil
	})
	s, w := onModel(t, setup)
	for _, name := range []string{"a", "a", "b", "b", "idle-timeout a", "b", "b", "clock", "a", "a"} {
		for _, other := range enabled(s, w) {
			if idle := strings.HasPrefix(other, "idle-timeout"); idle && (other != "idle-timeout a" || w.actors[0].tx != 'T') {
				t.Errorf("%s is enabled before %s", other, name)
			}
		}
		w = take(t, s, w, name)
	}
	if diff := cmp.Diff([]string{"ok", "FATAL 25P03", "conn closed", "ok"}, told); diff != "" {
		t.Error(diff)
	}
	r, err := w.Query("SELECT n FROM rows ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	if got := column(r); got != "12 12" {
		t.Errorf("the rows are %s", got)
	}
}

// TestTerminated: an actor that another terminates is told by its next statement, or by the one that waits.
func TestTerminated(t *testing.T) {
	for _, end := range []string{"commit", "UPDATE rows SET n = 2 WHERE id = 1"} {
		setup := twoRows()
		setup.Actors[1].Run = ActorFunc(func(ctx context.Context, db DB) error {
			err := exec(ctx, db, "begin", "UPDATE rows SET n = 2 WHERE id = 2", end)
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code != "57P01" {
				return fmt.Errorf("told %v", err)
			}
			return exec(ctx, db, "UPDATE rows SET n = n + 10 WHERE id = 2")
		})
		setup.Actors = append(setup.Actors, ActorSpec{Name: "admin", Run: script(
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = 2")})
		s, w := onModel(t, setup)
		steps := []string{"a", "a", "b", "b", "admin", "b", "b", "a", "a"}
		if end != "commit" { // b waits
			steps = []string{"a", "a", "b", "b", "b", "admin", "b", "a", "a"}
		}
		for _, name := range steps {
			w = take(t, s, w, name)
		}
		for i := range w.actors {
			if a := &w.actors[i]; a.status != ended || a.err() != nil {
				t.Errorf("%s: actor %d has status %d, error %v", end, i, a.status, a.err())
			}
		}
		r, err := w.Query("SELECT n FROM rows ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		if got := column(r); got != "1 1" {
			t.Errorf("%s: the rows are %s", end, got)
		}
	}
}

func column(r *Result) string {
	var texts []string
	for _, row := range r.Rows {
		texts = append(texts, row[0].Text())
	}
	return strings.Join(texts, " ")
}
