package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"simrun/sim"
)

// One cluster serves the tests of this package; its watchdog removes it.
var testServer = sync.OnceValues(func() (*Server, error) { return Open(context.Background(), "auto") })

func backend(t testing.TB, schema, seed string, sessions int) *Backend {
	t.Helper()
	s, err := testServer()
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.NewBackend(&sim.Setup{Schema: schema, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	openAll(t, b, sessions)
	return b
}

func openAll(t testing.TB, b sim.Backend, sessions int) {
	t.Helper()
	for i := range sessions {
		if err := b.Open(i, sim.ActorSpec{Name: fmt.Sprint("s", i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func do(t testing.TB, b sim.Backend, session int, sql string, args ...any) sim.Reply {
	t.Helper()
	r, err := b.Submit(session, sim.Request{SQL: sql, Args: args})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r
}

// show is a reply in one line.
func show(r sim.Reply) string {
	if r.Blocked {
		return fmt.Sprint("blocked by ", r.By)
	}
	var parts []string
	for res := r.Result; res != nil; res = res.Next {
		text := res.Tag
		for _, row := range res.Rows {
			var cells []string
			for _, v := range row {
				if v.Valid {
					cells = append(cells, v.Text())
				} else {
					cells = append(cells, "NULL")
				}
			}
			text += " (" + strings.Join(cells, ",") + ")"
		}
		parts = append(parts, text)
	}
	if r.Err != nil {
		parts = append(parts, r.Err.Code+" "+r.Err.Message)
	}
	return strings.Join(parts, "; ") + " " + string(r.Tx)
}

func expect(t testing.TB, r sim.Reply, want string) {
	t.Helper()
	if got := show(r); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

const accounts = "CREATE TABLE a (k int PRIMARY KEY, v int, s text);"

func TestStatements(t *testing.T) {
	b := backend(t, accounts, "INSERT INTO a VALUES (1, 10, 'x'), (2, 20, NULL)", 1)
	expect(t, do(t, b, 0, "SELECT k, v, s FROM a ORDER BY k"), "SELECT 2 (1,10,x) (2,20,NULL) I")
	expect(t, do(t, b, 0, "BEGIN"), "BEGIN T")
	for range 3 { // the second time the statement is prepared
		expect(t, do(t, b, 0, "UPDATE a SET v = v + $1 WHERE k = $2 RETURNING v - $1", 0, int64(1)), "UPDATE 1 (10) T")
	}
	expect(t, do(t, b, 0, "SELECT $1::text[]", []string{"a", "b c"}), `SELECT 1 ({a,"b c"}) T`)
	expect(t, do(t, b, 0, "INSERT INTO a VALUES ($1, 1, $2)", 1, "dup"), `23505 duplicate key value violates unique constraint "a_pkey" E`)
	expect(t, do(t, b, 0, "SELECT v FROM a WHERE k = $1", 1), "25P02 current transaction is aborted, commands ignored until end of transaction block E")
	expect(t, do(t, b, 0, "ROLLBACK"), "ROLLBACK I")
	expect(t, do(t, b, 0, "SELECT v FROM a WHERE k = $1", 1), "SELECT 1 (10) I")
	expect(t, do(t, b, 0, "SELECT 1; SELECT 2 WHERE false; SELECT 1/0; SELECT 3"), "SELECT 1 (1); SELECT 0; 22012 division by zero I")
	expect(t, do(t, b, 0, "SELEC"), `42601 syntax error at or near "SELEC" I`)
	expect(t, do(t, b, 0, "SELEC $1", 1), `42601 syntax error at or near "SELEC" I`)
	expect(t, do(t, b, 0, "SELECT $1::int", "x"), `22P02 invalid input syntax for type integer: "x" I`)
	expect(t, do(t, b, 0, "COPY a FROM STDIN"), `57014 COPY from stdin failed: COPY is not supported here I`)
	expect(t, do(t, b, 0, ""), " I")
}

func TestBlocksAndResumes(t *testing.T) {
	b := backend(t, accounts, "INSERT INTO a VALUES (1, 10, '')", 4)
	for _, args := range [][]any{nil, {1}} {
		cond := "k = 1"
		if args != nil {
			cond = "k = $1"
		}
		expect(t, do(t, b, 0, "BEGIN; UPDATE a SET v = v + 1"), "BEGIN; UPDATE 1 T")
		expect(t, do(t, b, 1, "UPDATE a SET v = v * 2 WHERE "+cond, args...), "blocked by [0]")
		expect(t, do(t, b, 2, "UPDATE a SET v = v * 3 WHERE "+cond, args...), "blocked by [1]")
		expect(t, do(t, b, 3, "SELECT count(*) FROM a"), "SELECT 1 (1) I")
		if w := b.Woken(nil); len(w) != 0 {
			t.Fatal("woken too early:", w)
		}
		expect(t, do(t, b, 0, "COMMIT"), "COMMIT I")
		if w := b.Woken(nil); !slices.Equal(w, []int{1}) {
			t.Fatal("woken:", w)
		}
		expect(t, do(t, b, 3, "SELECT 1"), "SELECT 1 (1) I") // nobody goes on until resumed
		resume(t, b, 1, "UPDATE 1 I")
		if w := b.Woken(nil); !slices.Equal(w, []int{2}) {
			t.Fatal("woken:", w)
		}
		resume(t, b, 2, "UPDATE 1 I")
		if err := b.Reset(); err != nil {
			t.Fatal(err)
		}
		openAll(t, b, 4)
	}
}

func resume(t testing.TB, b sim.Backend, session int, want string) {
	t.Helper()
	r, err := b.Resume(session)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, want)
}

// TestBlockedWhilePreparing has a statement wait in its analysis, which locks tables too.
func TestBlockedWhilePreparing(t *testing.T) {
	b := backend(t, accounts, "INSERT INTO a VALUES (1, 10, '')", 2)
	expect(t, do(t, b, 0, "BEGIN; LOCK TABLE a"), "BEGIN; LOCK TABLE T")
	expect(t, do(t, b, 1, "SELECT v FROM a WHERE k = $1", 1), "blocked by [0]")
	expect(t, do(t, b, 0, "UPDATE a SET v = 11"), "UPDATE 1 T")
	expect(t, do(t, b, 0, "COMMIT"), "COMMIT I")
	resume(t, b, 1, "SELECT 1 (11) I")
}

// TestWinnerIsChosen has three sessions wait for one key; whoever is resumed first gets it.
func TestWinnerIsChosen(t *testing.T) {
	b := backend(t, accounts, "", 4)
	for round := range 6 {
		first := 1 + round%3
		expect(t, do(t, b, 0, "BEGIN; INSERT INTO a VALUES (1)"), "BEGIN; INSERT 0 1 T")
		for i := 1; i <= 3; i++ {
			expect(t, do(t, b, i, "INSERT INTO a VALUES (1) ON CONFLICT DO NOTHING"), "blocked by [0]")
		}
		expect(t, do(t, b, 0, "ROLLBACK"), "ROLLBACK I")
		if w := b.Woken(nil); !slices.Equal(w, []int{1, 2, 3}) {
			t.Fatal("woken:", w)
		}
		resume(t, b, first, "INSERT 0 1 I")
		for i := 1; i <= 3; i++ {
			if i != first {
				resume(t, b, i, "INSERT 0 0 I")
			}
		}
		if err := b.Reset(); err != nil {
			t.Fatal(err)
		}
		openAll(t, b, 4)
	}
}

func TestDeadlockVictimIsChosen(t *testing.T) {
	b := backend(t, accounts, "INSERT INTO a VALUES (0, 0), (1, 0), (2, 0)", 3)
	for victim := range 3 {
		for i := range 3 {
			expect(t, do(t, b, i, fmt.Sprintf("BEGIN; UPDATE a SET v = 1 WHERE k = %d", i)), "BEGIN; UPDATE 1 T")
		}
		for i := range 3 {
			if d := b.Deadlock(); d != nil {
				t.Fatal("deadlock before the cycle closed:", d)
			}
			expect(t, do(t, b, i, fmt.Sprintf("UPDATE a SET v = 2 WHERE k = %d", (i+1)%3)), fmt.Sprintf("blocked by [%d]", (i+1)%3))
		}
		if d := b.Deadlock(); !slices.Equal(d, []int{0, 1, 2}) {
			t.Fatal("deadlock:", d)
		}
		r, err := b.Interrupt(victim, "40P01")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, r, "40P01 deadlock detected E")
		if d := b.Deadlock(); d != nil {
			t.Fatal("deadlock after the victim failed:", d)
		}
		freed := (victim + 2) % 3
		if w := b.Woken(nil); !slices.Equal(w, []int{freed}) {
			t.Fatal("woken:", w)
		}
		resume(t, b, freed, "UPDATE 1 T")
		if err := b.Reset(); err != nil { // with a session that still waits
			t.Fatal(err)
		}
		openAll(t, b, 3)
	}
}

func TestInterrupt(t *testing.T) {
	b := backend(t, accounts, "INSERT INTO a VALUES (1, 10, '')", 2)
	expect(t, do(t, b, 0, "BEGIN; LOCK TABLE a"), "BEGIN; LOCK TABLE T")
	for cause, message := range map[string]string{"55P03": "55P03 canceling statement due to lock timeout",
		"57014": "57014 canceling statement due to user request", sim.StatementTimeout: "57014 canceling statement due to statement timeout"} {
		expect(t, do(t, b, 1, "SET statement_timeout = '1ms'"), "SET I")

		expect(t, do(t, b, 1, "BEGIN; SET LOCAL lock_timeout = '1ms'"), "BEGIN; SET T")
		expect(t, do(t, b, 1, "SELECT set_config('lock_timeout', '1s', true)"), "SELECT 1 (1s) T")
		expect(t, do(t, b, 1, "SELECT * FROM a"), "blocked by [0]")
		time.Sleep(3 * time.Millisecond) // far more than the timeout, which must not fire
		if w := b.Woken(nil); len(w) != 0 {
			t.Fatal("woken:", w)
		}
		r, err := b.Interrupt(1, cause)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, r, message+" E")
		expect(t, do(t, b, 1, "ROLLBACK"), "ROLLBACK I")
	}
}

func TestCloseFreesEverything(t *testing.T) {
	b := backend(t, accounts, "INSERT INTO a VALUES (1, 10, '')", 3)
	expect(t, do(t, b, 0, "SELECT pg_advisory_lock(7)"), "SELECT 1 () I")
	expect(t, do(t, b, 0, "SET work_mem = '1MB'"), "SET I")
	expect(t, do(t, b, 0, "BEGIN; DELETE FROM a"), "BEGIN; DELETE 1 T")
	expect(t, do(t, b, 1, "BEGIN; SELECT k FROM a FOR UPDATE"), "blocked by [0]")
	expect(t, do(t, b, 2, "SELECT k FROM a FOR UPDATE"), "blocked by [1]")
	if err := b.Close(1); err != nil { // while it waits
		t.Fatal(err)
	}
	if err := b.Close(0); err != nil {
		t.Fatal(err)
	}
	if w := b.Woken(nil); !slices.Equal(w, []int{2}) {
		t.Fatal("woken:", w)
	}
	resume(t, b, 2, "SELECT 1 (1) I")
	expect(t, do(t, b, 2, "SELECT pg_try_advisory_lock(7)"), "SELECT 1 (t) I")
	if err := b.Open(0, sim.ActorSpec{Name: "s0"}); err != nil {
		t.Fatal(err)
	}
	expect(t, do(t, b, 0, "SELECT current_setting('work_mem') <> '1MB'"), "SELECT 1 (t) I")
}

func TestClockAndChance(t *testing.T) {
	b := backend(t, "CREATE TABLE e (at timestamptz DEFAULT now(), id uuid DEFAULT gen_random_uuid())", "", 2)
	at := func(seconds int) time.Time { return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC) }
	set := func(seconds int) {
		if err := b.SetNow(at(seconds)); err != nil {
			t.Fatal(err)
		}
	}
	stamp := func(seconds int) string { return fmt.Sprintf("2026-01-01 00:00:%02d+00", seconds) }
	for range 2 {
		set(1)
		expect(t, do(t, b, 0, "BEGIN ISOLATION LEVEL REPEATABLE READ"), "BEGIN T")
		expect(t, do(t, b, 0, "SELECT now(), clock_timestamp()"), "SELECT 1 ("+stamp(1)+","+stamp(1)+") T")
		set(2)
		expect(t, do(t, b, 0, "SELECT now(), clock_timestamp()"), "SELECT 1 ("+stamp(1)+","+stamp(2)+") T")
		expect(t, do(t, b, 0, "INSERT INTO e DEFAULT VALUES RETURNING at, id"), "INSERT 0 1 ("+stamp(1)+",00000000-0000-4000-8000-000000000001) T")
		expect(t, do(t, b, 0, "ROLLBACK"), "ROLLBACK I") // undoes the setting that told it second 2
		expect(t, do(t, b, 0, "SELECT now(), clock_timestamp(), gen_random_uuid()"), "SELECT 1 ("+stamp(2)+","+stamp(2)+",00000000-0000-4000-8000-000000000002) I")
		expect(t, do(t, b, 1, "SELECT now(), pg_backend_pid()"), "SELECT 1 ("+stamp(2)+",2) I")
		if err := b.Reset(); err != nil {
			t.Fatal(err)
		}
		openAll(t, b, 2)
	}
}

func TestRolesAndReset(t *testing.T) {
	const schema = accounts + "CREATE ROLE simrun_test_clerk; GRANT SELECT ON a TO simrun_test_clerk; CREATE SEQUENCE q START 5;" +
		"CREATE TABLE c (k int REFERENCES a, n int GENERATED ALWAYS AS IDENTITY)"
	for range 2 { // the role exists the second time
		b := backend(t, schema, "INSERT INTO a VALUES (1, 10, ''); INSERT INTO c VALUES (1)", 0)
		for range 12 { // both ways of resetting
			if err := b.Open(0, sim.ActorSpec{Name: "clerk", Role: "simrun_test_clerk"}); err != nil {
				t.Fatal(err)
			}
			openAll(t, b, 0)
			if err := b.Open(1, sim.ActorSpec{Name: "boss", Settings: [][2]string{{"default_transaction_isolation", "serializable"}}}); err != nil {
				t.Fatal(err)
			}
			expect(t, do(t, b, 0, "UPDATE a SET v = 0"), "42501 permission denied for table a I")
			expect(t, do(t, b, 1, "SHOW transaction_isolation"), "SHOW (serializable) I")
			expect(t, do(t, b, 1, "SELECT nextval('q')"), "SELECT 1 (5) I")
			expect(t, do(t, b, 1, "INSERT INTO c VALUES (1) RETURNING n"), "INSERT 0 1 (2) I")
			if err := b.Reset(); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Open(1, sim.ActorSpec{}); err != nil {
			t.Fatal(err)
		}
		expect(t, do(t, b, 1, "ALTER TABLE a ADD COLUMN extra int DEFAULT 7"), "ALTER TABLE I")
		expect(t, do(t, b, 1, "SELECT extra FROM a WHERE k = $1", 1), "SELECT 1 (7) I")
		if err := b.Reset(); err != nil {
			t.Fatal(err)
		}
		if err := b.Open(1, sim.ActorSpec{}); err != nil {
			t.Fatal(err)
		}
		expect(t, do(t, b, 1, "SELECT extra FROM a WHERE k = $1", 1), `42703 column "extra" does not exist I`)
	}
}

// TestRepeatable runs contended random schedules twice each and wants the same trace.
func TestRepeatable(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 15
	}
	b := backend(t, accounts, "INSERT INTO a SELECT g, 0 FROM generate_series(1, 4) g", 4)
	for seed := range seeds {
		first := contend(t, b, uint64(seed))
		if second := contend(t, b, uint64(seed)); !reflect.DeepEqual(first, second) {
			for i := range first {
				if i >= len(second) || first[i] != second[i] {
					t.Fatalf("seed %d: step %d differs:\n%s\n%s", seed, i, strings.Join(first, "\n"), strings.Join(second, "\n"))
				}
			}
		}
	}
}

// contend runs four sessions, two short transactions each, on few rows, and returns the trace.
func contend(t testing.TB, b sim.Backend, seed uint64) (trace []string) {
	t.Helper()
	if err := b.Reset(); err != nil {
		t.Fatal(err)
	}
	openAll(t, b, 4)
	r := rand.New(rand.NewPCG(seed, 1))
	var programs [4][]string
	for i := range programs {
		for range 2 {
			programs[i] = append(programs[i], "BEGIN ISOLATION LEVEL "+[]string{"READ COMMITTED", "REPEATABLE READ"}[r.IntN(2)])
			for range 3 {
				programs[i] = append(programs[i], []string{
					fmt.Sprintf("UPDATE a SET v = v + 1 WHERE k = %d", 1+r.IntN(4)),
					fmt.Sprintf("SELECT v FROM a WHERE k = %d FOR UPDATE", 1+r.IntN(4)),
					fmt.Sprintf("INSERT INTO a VALUES (%d, %d)", 5+r.IntN(2), i),
					"SELECT sum(v), count(*) FROM a",
				}[r.IntN(4)])
			}
			programs[i] = append(programs[i], []string{"COMMIT", "ROLLBACK"}[r.IntN(2)])
		}
	}
	blocked := map[int]bool{}
	note := func(what string, session int, rep sim.Reply, err error) {
		if err != nil {
			t.Fatal(err)
		}
		blocked[session] = rep.Blocked
		trace = append(trace, fmt.Sprintf("%s %d: %s", what, session, show(rep)))
	}
	for {
		for {
			if cycle := b.Deadlock(); len(cycle) > 0 {
				victim := cycle[r.IntN(len(cycle))]
				rep, err := b.Interrupt(victim, "40P01")
				note("victim", victim, rep, err)
			}
			woken := b.Woken(nil)
			if len(woken) == 0 {
				break
			}
			s := woken[r.IntN(len(woken))]
			rep, err := b.Resume(s)
			note("resume", s, rep, err)
		}
		var ready []int
		for i := range programs {
			if len(programs[i]) > 0 && !blocked[i] {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			break
		}
		s := ready[r.IntN(len(ready))]
		sql := programs[s][0]
		programs[s] = programs[s][1:]
		rep, err := b.Submit(s, sim.Request{SQL: sql})
		note(sql, s, rep, err)
	}
	res, err := b.Query("SELECT * FROM a ORDER BY 1, 2")
	note("final", -1, sim.Reply{Result: res}, err)
	return trace
}

// TestStatementTimeoutInLockstep: statement_timeout fires when the schedule says so, and model and server say the same.
func TestStatementTimeoutInLockstep(t *testing.T) {
	p := modelPair(t, "INSERT INTO a VALUES (1, 10, 'x')", true)
	openAll(t, p, 2)
	expect(t, do(t, p, 0, "BEGIN; UPDATE a SET v = 11"), "BEGIN; UPDATE 1 T")
	expect(t, do(t, p, 1, "SET statement_timeout = '5ms'"), "SET I")
	expect(t, do(t, p, 1, "BEGIN; SAVEPOINT s"), "BEGIN; SAVEPOINT T")
	expect(t, do(t, p, 1, "UPDATE a SET v = 12"), "blocked by [0]")
	r, err := p.Interrupt(1, sim.StatementTimeout)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, "57014 canceling statement due to statement timeout E")
	expect(t, do(t, p, 1, "ROLLBACK TO s; SELECT v FROM a"), "ROLLBACK; SELECT 1 (10) T")
}
