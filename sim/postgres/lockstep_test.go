package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"simrun/model/types"
	"simrun/sim"
)

// twins are two databases of the server in lock-step, the first in the model's place, whose answers a test can falsify.
func twins(t *testing.T, schema, seed string) (*Pair, *liar) {
	first, second := backend(t, schema, seed, 0), backend(t, schema, seed, 0)
	l := &liar{Backend: first}
	p := PairOf(l, second, false)
	openAll(t, p, 4)
	return p, l
}

// modelPair is the model and a server in lock-step, with the table of accounts; locks are compared when asked for.
func modelPair(t testing.TB, seed string, compareLocks bool) *Pair {
	t.Helper()
	s, err := testServer()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.NewPair(&sim.Setup{Schema: accounts, Seed: seed}, compareLocks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() })
	return p.(*Pair)
}

// A liar changes the answers of a backend.
type liar struct {
	sim.Backend
	reply func(sim.Reply) sim.Reply
	woken func([]int) []int
	query func(*sim.Result)
}

func (l *liar) Submit(session int, req sim.Request) (sim.Reply, error) {
	r, err := l.Backend.Submit(session, req)
	if l.reply != nil {
		r = l.reply(r)
	}
	return r, err
}

func (l *liar) Woken(buf []int) []int {
	if buf = l.Backend.Woken(buf); l.woken != nil {
		buf = l.woken(buf)
	}
	return buf
}

func (l *liar) Query(sql string) (*sim.Result, error) {
	r, err := l.Backend.Query(sql)
	if l.query != nil {
		l.query(r)
	}
	return r, err
}

func TestLockstepAgrees(t *testing.T) {
	p, _ := twins(t, accounts, "INSERT INTO a SELECT g, 0 FROM generate_series(1, 4) g")
	for seed := range uint64(20) {
		contend(t, p, seed)
	}
}

func TestLockstepDiverges(t *testing.T) {
	value := func(n int64) func(sim.Reply) sim.Reply {
		return func(r sim.Reply) sim.Reply {
			r.Result.Rows[0][0] = types.NewInt(types.Int4, n)
			return r
		}
	}
	p, l := twins(t, accounts, "INSERT INTO a VALUES (1, 5, '')")
	for _, c := range []struct {
		name string
		lie  func(sim.Reply) sim.Reply
		what string
	}{
		{"rows", value(77), "rows"},
		{"tag", func(r sim.Reply) sim.Reply { r.Result.Tag = "SELECT 2"; return r }, "command tag"},
		{"column", func(r sim.Reply) sim.Reply { r.Result.Fields[0].Name = "w"; return r }, "columns"},
		{"error", func(r sim.Reply) sim.Reply {
			return sim.Reply{Tx: 'I', Err: types.NewError("22012", "division by zero")}
		}, "error"},
		{"transaction", func(r sim.Reply) sim.Reply { r.Tx = 'T'; return r }, "transaction state"},
		{"blocked", func(r sim.Reply) sim.Reply { return sim.Reply{Blocked: true, By: []int{2}} }, "outcome"},
		{"notice", func(r sim.Reply) sim.Reply {
			r.Result.Notices = []*types.Error{{Severity: "NOTICE", Message: "x"}}
			return r
		}, "notices"},
		{"missing result", func(r sim.Reply) sim.Reply { r.Result = nil; return r }, "number of results"},
	} {
		t.Run(c.name, func(t *testing.T) {
			do(t, p, 0, "SELECT v FROM a")
			l.reply = c.lie
			_, err := p.Submit(0, sim.Request{SQL: "SELECT v FROM a"})
			wantDivergence(t, err, c.what)
			if _, err := p.Query("SELECT 1"); err == nil {
				t.Error("the run goes on after a divergence")
			}
			l.reply = nil
			if err := p.Reset(); err != nil {
				t.Fatal(err)
			}
			openAll(t, p, 1)
			do(t, p, 0, "SELECT v FROM a")
		})
	}
}

func TestLockstepDivergesInWaiting(t *testing.T) {
	p, l := twins(t, accounts, "INSERT INTO a VALUES (1, 5, '')")
	begin := func(t *testing.T) {
		*l = liar{Backend: l.Backend}
		if err := p.Reset(); err != nil {
			t.Fatal(err)
		}
		openAll(t, p, 3)
	}
	block := func() (sim.Reply, error) {
		do(t, p, 0, "BEGIN; UPDATE a SET v = v + 1")
		return p.Submit(1, sim.Request{SQL: "UPDATE a SET v = v + 1"})
	}
	t.Run("holders", func(t *testing.T) {
		begin(t)
		l.reply = func(r sim.Reply) sim.Reply {
			if r.Blocked {
				r.By = []int{2}
			}
			return r
		}
		_, err := block()
		wantDivergence(t, err, "holders")
	})
	t.Run("woken", func(t *testing.T) {
		begin(t)
		if _, err := block(); err != nil {
			t.Fatal(err)
		}
		l.woken = func([]int) []int { return []int{1} }
		p.Woken(nil)
		_, err := p.Submit(2, sim.Request{SQL: "SELECT 1"})
		wantDivergence(t, err, "woken sessions")
	})
	t.Run("query", func(t *testing.T) {
		begin(t)
		l.query = func(r *sim.Result) { r.Rows = nil }
		_, err := p.Query("SELECT * FROM a")
		wantDivergence(t, err, "rows")
	})
}

// TestSoftDeadlock closes a cycle in which one session waits only for its place in a queue. The server breaks it by changing
// the order of the queue.
func TestSoftDeadlock(t *testing.T) {
	b := backend(t, "CREATE TABLE x (); CREATE TABLE y ()", "", 3)
	do(t, b, 0, "BEGIN; LOCK TABLE x IN SHARE MODE")
	do(t, b, 1, "BEGIN; LOCK TABLE y IN ACCESS EXCLUSIVE MODE")
	expect(t, do(t, b, 1, "LOCK TABLE x IN ACCESS EXCLUSIVE MODE"), "blocked by [0]")
	do(t, b, 2, "BEGIN")
	expect(t, do(t, b, 2, "LOCK TABLE x IN ACCESS SHARE MODE"), "blocked by [1]") // by its place in the queue only
	if d := b.Deadlock(); d != nil {
		t.Fatal("deadlock:", d)
	}
	expect(t, do(t, b, 0, "ROLLBACK"), "ROLLBACK I")
	resume(t, b, 1, "LOCK TABLE T")
}

func wantDivergence(t *testing.T, err error, what string) {
	t.Helper()
	var d *sim.Divergence
	if !errors.As(err, &d) || !strings.HasPrefix(d.What, what) {
		t.Fatalf("error %v, want a divergence of the %s", err, what)
	}
}

// An actor that has locked a table against readers does not keep the invariants waiting.
func TestQueryPastALock(t *testing.T) {
	p := modelPair(t, "INSERT INTO a VALUES (1, 10, 'x')", false)
	for range 2 { // the second time after a reset, which must not be as impatient
		openAll(t, p, 2)
		expect(t, do(t, p, 0, "BEGIN; LOCK TABLE a; UPDATE a SET v = 11"), "BEGIN; LOCK TABLE; UPDATE 1 T")
		for range 2 {
			r, err := p.Query("SELECT v FROM a")
			if err != nil || r.Rows[0][0].Text() != "10" {
				t.Fatalf("%v, %v", r, err)
			}
		}
		expect(t, do(t, p, 0, "COMMIT"), "COMMIT I")
		r, err := p.Query("SELECT v FROM a")
		if err != nil || r.Rows[0][0].Text() != "11" {
			t.Fatalf("%v, %v", r, err)
		}
		if err := p.Reset(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Query("SELECT nothing FROM a"); err == nil {
		t.Error("a query that fails on both must fail")
	}
}

// TestTransactionsBeganInSimulatedTime: pg_stat_activity tells when transactions began by the simulation's clock, as the model does.
func TestTransactionsBeganInSimulatedTime(t *testing.T) {
	p := modelPair(t, "", false)
	openAll(t, p, 3)
	const ages = `SELECT pid, clock_timestamp() - xact_start FROM pg_stat_activity WHERE xact_start IS NOT NULL ORDER BY pid`
	steps := []struct {
		session int
		after   time.Duration
		sql     string
	}{
		{1, 0, "BEGIN"}, {2, 3 * time.Second, "BEGIN"}, {0, 4 * time.Second, ages}, {1, 0, "COMMIT"}, {0, time.Second, ages},
	}
	now := sim.Epoch
	for _, x := range steps {
		now = now.Add(x.after)
		if err := p.SetNow(now); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Submit(x.session, sim.Request{SQL: x.sql}); err != nil {
			t.Fatal(err)
		}
	}
}
