package postgres

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"simrun/sim"
)

const twoAccounts = "INSERT INTO a VALUES (1, 10, 'x'), (2, 20, 'y')"

const terminated = "57P01 terminating connection due to administrator command \x00"

// TestSignals: what pg_cancel_backend and pg_terminate_backend do to sessions that wait, that are idle, and to their own.
func TestSignals(t *testing.T) {
	p := modelPair(t, twoAccounts, true)
	openAll(t, p, 4)
	reopen := func(session int) {
		t.Helper()
		if err := p.Open(session, sim.ActorSpec{Name: "again"}); err != nil {
			t.Fatal(err)
		}
	}
	// A session that waits ends its statement, and may catch a cancel.
	expect(t, do(t, p, 0, "BEGIN; UPDATE a SET v = 11 WHERE k = 1"), "BEGIN; UPDATE 1 T")
	expect(t, do(t, p, 1, "BEGIN; UPDATE a SET v = 21 WHERE k = 2"), "BEGIN; UPDATE 1 T")
	expect(t, do(t, p, 1, `DO $$ BEGIN UPDATE a SET v = 12 WHERE k = 1; EXCEPTION WHEN query_canceled THEN
		RAISE NOTICE '%', SQLERRM; END $$`), "blocked by [0]")
	expect(t, do(t, p, 2, "SELECT v FROM a WHERE k = 2 FOR UPDATE"), "blocked by [1]")
	expect(t, do(t, p, 3, "SELECT pg_cancel_backend(2), pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = 1"), "SELECT 1 (t,t) I")
	resume(t, p, 1, "DO T")
	expect(t, do(t, p, 1, "UPDATE a SET v = 12 WHERE k = 1"), "blocked by [0]")
	expect(t, do(t, p, 3, "SELECT pg_terminate_backend(2)"), "SELECT 1 (t) I")
	resume(t, p, 1, terminated)
	resume(t, p, 2, "SELECT 1 (20) I")
	expect(t, do(t, p, 3, "SELECT count(*) FROM pg_stat_activity"), "SELECT 1 (3) I")
	reopen(1)
	// An idle session has nothing to cancel; terminated it rolls back, frees its locks, and knows it with its next request.
	expect(t, do(t, p, 0, "SELECT pg_advisory_lock(7)"), "SELECT 1 () T")
	expect(t, do(t, p, 1, "SELECT pg_advisory_lock(7)"), "blocked by [0]")
	expect(t, do(t, p, 3, "SELECT pg_cancel_backend(1)"), "SELECT 1 (t) I")
	expect(t, do(t, p, 0, "SELECT v FROM a WHERE k = 1"), "SELECT 1 (11) T")
	expect(t, do(t, p, 3, "SELECT pg_terminate_backend(1, 1000)"), "SELECT 1 (t) I")
	resume(t, p, 1, "SELECT 1 () I")
	expect(t, do(t, p, 3, "SELECT pg_terminate_backend(1), pg_cancel_backend(1)"), "SELECT 1 (f,f) I")
	expect(t, do(t, p, 3, "SELECT v FROM a WHERE k = 1 FOR UPDATE NOWAIT"), "SELECT 1 (10) I")
	expect(t, do(t, p, 0, "COMMIT"), terminated)
	reopen(0)
	// A session may signal itself.
	expect(t, do(t, p, 0, "BEGIN; SELECT pg_cancel_backend(pg_backend_pid())"), "BEGIN; 57014 canceling statement due to user request E")
	expect(t, do(t, p, 0, "ROLLBACK"), "ROLLBACK I")
	expect(t, do(t, p, 0, "SELECT pg_terminate_backend(pg_backend_pid())"), terminated)
	reopen(0)
	// Not everybody may, and not every number is a process.
	expect(t, do(t, p, 0, "SELECT pg_terminate_backend(2, -1)"), `22003 "timeout" must not be negative I`)
	expect(t, do(t, p, 0, "SELECT pg_terminate_backend(99), pg_terminate_backend(NULL)"), "SELECT 1 (f,NULL) I")
	expect(t, do(t, p, 0, "CREATE ROLE signaller; SET ROLE signaller"), "CREATE ROLE; SET I")
	for _, f := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		if r := do(t, p, 0, "SELECT "+f+"(2)"); r.Err == nil || r.Err.Code != "42501" {
			t.Errorf("%s: %s", f, show(r))
		}
	}
	expect(t, do(t, p, 0, "RESET ROLE; DROP ROLE signaller"), "RESET; DROP ROLE I")
}

// TestIdleTimeoutInLockstep: the connection of a session that is idle in a transaction ends, in a failed one too.
func TestIdleTimeoutInLockstep(t *testing.T) {
	p := modelPair(t, twoAccounts, true)
	openAll(t, p, 2)
	for _, begin := range []string{
		"BEGIN; SET LOCAL idle_in_transaction_session_timeout = '1s'; UPDATE a SET v = 11",
		"SET idle_in_transaction_session_timeout = '1s'; BEGIN; UPDATE a SET v = 11; SAVEPOINT s; SELECT 1/0",
	} {
		do(t, p, 0, begin)
		expect(t, do(t, p, 1, "UPDATE a SET v = 12 WHERE k = 1"), "blocked by [0]")
		if r, err := p.Interrupt(0, sim.IdleTimeout); err != nil || r.Err != nil {
			t.Fatal(show(r), err)
		}
		resume(t, p, 1, "UPDATE 1 I")
		expect(t, do(t, p, 0, "COMMIT"), "25P03 terminating connection due to idle-in-transaction timeout \x00")
		if err := p.Open(0, sim.ActorSpec{Name: "again"}); err != nil {
			t.Fatal(err)
		}
		expect(t, do(t, p, 0, "SELECT v FROM a WHERE k = 1"), "SELECT 1 (12) I")
	}
}

// TestSignalsAtRandom has four sessions contend for two rows, signal each other and run into timeouts, and go on in any order when they
// are freed.
func TestSignalsAtRandom(t *testing.T) {
	p := modelPair(t, twoAccounts, true)
	openAll(t, p, 4)
	var seen [3]int
	for seed := range uint64(60) {
		if err := p.Reset(); err != nil {
			t.Fatal(err)
		}
		openAll(t, p, 4)
		r := rand.New(rand.NewPCG(seed, 4))
		blocked, tx := map[int]bool{}, map[int]byte{}
		took := func(session int, rep sim.Reply, err error) {
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if blocked[session], tx[session] = rep.Blocked, rep.Tx; rep.Err == nil {
				return
			}
			switch rep.Err.Code {
			case "57014":
				seen[0]++
			case "57P01":
				seen[1]++
			case "25P03":
				seen[2]++
			}
			if rep.Err.Severity == "FATAL" {
				if err := p.Open(session, sim.ActorSpec{Name: "again"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 40 {
			if cycle := p.Deadlock(); len(cycle) > 0 {
				victim := cycle[r.IntN(len(cycle))]
				rep, err := p.Interrupt(victim, "40P01")
				took(victim, rep, err)
				continue
			}
			if woken := p.Woken(nil); len(woken) > 0 && r.IntN(3) > 0 { // lazily
				s := woken[r.IntN(len(woken))]
				rep, err := p.Resume(s)
				took(s, rep, err)
				continue
			}
			s := r.IntN(4)
			if blocked[s] {
				continue
			}
			if tx[s] != 'I' && tx[s] != 0 && r.IntN(8) == 0 {
				if _, err := p.Interrupt(s, sim.IdleTimeout); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				tx[s] = 'I'
				continue
			}
			sql := []string{
				"BEGIN", "COMMIT", "SAVEPOINT s", "ROLLBACK TO s",
				fmt.Sprintf("UPDATE a SET v = v + 1 WHERE k = %d", 1+r.IntN(2)),
				fmt.Sprintf("UPDATE a SET v = v + 1 WHERE k = %d", 1+r.IntN(2)),
				fmt.Sprintf("SELECT v FROM a WHERE k = %d FOR UPDATE", 1+r.IntN(2)),
				fmt.Sprintf("SELECT pg_advisory_lock(%d)", r.IntN(2)),
				fmt.Sprintf("INSERT INTO a VALUES (%d)", 3+r.IntN(2)),
				fmt.Sprintf("SELECT pg_cancel_backend(%d)", 1+r.IntN(4)),
				fmt.Sprintf("SELECT pg_terminate_backend(%d)", 1+r.IntN(4)),
				"DO $$ BEGIN UPDATE a SET v = 0 WHERE k = 1; EXCEPTION WHEN query_canceled THEN UPDATE a SET v = 0 WHERE k = 2; END $$",
				"SELECT pid, state, wait_event FROM pg_stat_activity ORDER BY pid",
				"SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity ORDER BY pid",
				"SELECT pid, locktype, mode, granted FROM pg_locks WHERE locktype <> 'transactionid' OR pid = pg_backend_pid() ORDER BY 1, 2, 3, 4",
				"SELECT pg_terminate_backend(min(pid)) FROM pg_locks WHERE NOT granted",
			}[r.IntN(16)]
			rep, err := p.Submit(s, sim.Request{SQL: sql})
			took(s, rep, err)
		}
	}
	t.Logf("57014 %d times, 57P01 %d, 25P03 %d", seen[0], seen[1], seen[2])
	for i, n := range seen {
		if n == 0 {
			t.Errorf("kind %d of interruption never happened", i)
		}
	}
}
