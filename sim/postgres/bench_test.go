package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// The workload of the benchmarks: four sessions in turn, each with transactions of its own row, so that nothing blocks.
const (
	benchSchema = "CREATE TABLE a (k int PRIMARY KEY, v int NOT NULL)"
	benchSeed   = "INSERT INTO a SELECT g, 0 FROM generate_series(0, 3) g"
)

var benchSteps = []struct {
	sql  string
	args bool
}{
	{"BEGIN", false}, {"SELECT v FROM a WHERE k = $1", true}, {"UPDATE a SET v = v + 1 WHERE k = $1", true}, {"COMMIT", false},
}

// rounds runs n statements on a backend, 16 a round.
func rounds(b testing.TB, db sim.Backend, n int) {
	for i := range n {
		step, session := benchSteps[i/4%4], i%4
		req := sim.Request{SQL: step.sql}
		if step.args {
			req.Args = []any{session}
		}
		r, err := db.Submit(session, req)
		if err != nil || r.Err != nil || r.Blocked {
			b.Fatal(step.sql, err, r.Err, r.Blocked)
		}
		if got := db.Woken(nil); len(got) > 0 {
			b.Fatal("woken:", got)
		}
	}
}

func pgxRounds(b testing.TB, conns []*pgx.Conn, n int) {
	ctx := context.Background()
	for i := range n {
		step, session := benchSteps[i/4%4], i%4
		var args []any
		if step.args {
			args = []any{session}
		}
		if _, err := conns[session].Exec(ctx, step.sql, args...); err != nil {
			b.Fatal(err)
		}
	}
}

func pgxConns(b testing.TB, database string) []*pgx.Conn {
	s, err := testServer()
	if err != nil {
		b.Fatal(err)
	}
	var conns []*pgx.Conn
	for range 4 {
		c, err := pgx.Connect(context.Background(), s.URL(database))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close(context.Background()) })
		conns = append(conns, c)
	}
	return conns
}

func lockstep(b testing.TB) *Pair {
	s, err := testServer()
	if err != nil {
		b.Fatal(err)
	}
	p, err := s.NewPair(&sim.Setup{Schema: benchSchema, Seed: benchSeed}, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Shutdown() })
	openAll(b, p, 4)
	return p.(*Pair)
}

// BenchmarkStatements gives statements a second on the model, on the server, in lock-step, and through pgx alone.
func BenchmarkStatements(b *testing.B) {
	p := lockstep(b)
	conns := pgxConns(b, p.server.database)
	for _, c := range []struct {
		name string
		run  func(n int)
	}{
		{"model", func(n int) { rounds(b, p.model, n) }},
		{"postgres", func(n int) { rounds(b, p.server, n) }},
		{"both", func(n int) { rounds(b, p, n) }},
		{"pgx", func(n int) { pgxRounds(b, conns, n) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			if c.name == "both" {
				if err := p.Reset(); err != nil {
					b.Fatal(err)
				}
				openAll(b, p, 4)
			}
			b.ReportAllocs()
			n := (b.N + 15) / 16 * 16
			b.ResetTimer()
			c.run(n)
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "statements/s")
		})
	}
}

// BenchmarkShare gives the lock-step's statements a second as a percentage of pgx's, with the two measured in turns, so that
// a busy machine disturbs both alike.
func BenchmarkShare(b *testing.B) {
	p := lockstep(b)
	conns := pgxConns(b, p.server.database)
	var pair, raw time.Duration
	for b.Loop() {
		begun := time.Now()
		rounds(b, p, 1600)
		middle := time.Now()
		pgxRounds(b, conns, 1600)
		pair += middle.Sub(begun)
		raw += time.Since(middle)
	}
	b.ReportMetric(100*raw.Seconds()/pair.Seconds(), "%ofpgx")
}
