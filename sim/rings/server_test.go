package rings

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
	"simrun/sim/postgres/pgtest"
)

// onServer makes a database with the setup's schema and seed on a real server, and returns a way to connect to it.
func onServer(t *testing.T, setup *sim.Setup) func() *pgx.Conn {
	t.Helper()
	ctx := context.Background()
	url := pgtest.Database(t)
	connect := func() *pgx.Conn {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(ctx) })
		return c
	}
	c := connect()
	for _, text := range []string{setup.Schema, setup.Seed} {
		if _, err := c.Exec(ctx, text); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	return connect
}

// setupOf builds a scenario with its default parameters.
func setupOf(t *testing.T, name, variant string, mutants ...string) *sim.Setup {
	t.Helper()
	s := sim.Lookup(name)
	cfg := sim.Config{Variant: variant, Mutants: mutants, Params: map[string]int{}, Rand: rand.New(rand.NewPCG(1, 2))}
	for _, p := range s.Params {
		cfg.Params[p.Name] = p.Default
	}
	setup, err := s.Build(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return setup
}

// TestActorsAloneOnServer runs the actors of each scenario one after the other on a real server, each to its end, and asks
// the SQL invariants afterwards: every statement of the protocol is one that the server takes.
func TestActorsAloneOnServer(t *testing.T) {
	for _, s := range sim.Scenarios() {
		for _, variant := range s.Variants {
			t.Run(s.Name+"/"+variant, func(t *testing.T) {
				setup := setupOf(t, s.Name, variant)
				connect := onServer(t, setup)
				for _, actor := range setup.Actors {
					c := connect()
					if err := actor.Run.Run(context.Background(), logged{c, t, actor.Name}); err != nil {
						t.Errorf("%s: %v", actor.Name, err)
					}
				}
				c := connect()
				for _, inv := range setup.Invariants {
					if inv.SQL == "" {
						continue
					}
					rows, err := c.Query(context.Background(), inv.SQL)
					if err != nil {
						t.Fatalf("%s: %v", inv.Name, err)
					}
					if rows.Next() {
						v, _ := rows.Values()
						t.Errorf("%s is violated: %v", inv.Name, v)
					}
					rows.Close()
					if rows.Err() != nil {
						t.Fatalf("%s: %v", inv.Name, rows.Err())
					}
				}
			})
		}
	}
}

// logged shows the statements of an actor's transactions in the test's log.
type logged struct {
	*pgx.Conn
	t     *testing.T
	actor string
}

func (l logged) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := l.Conn.BeginTx(ctx, opts)
	return loggedTx{tx, l}, err
}

func (l logged) Begin(ctx context.Context) (pgx.Tx, error) { return l.BeginTx(ctx, pgx.TxOptions{}) }

type loggedTx struct {
	pgx.Tx
	l logged
}

func (tx loggedTx) Commit(ctx context.Context) error {
	tx.l.t.Logf("%s: commit", tx.l.actor)
	return tx.Tx.Commit(ctx)
}

func (tx loggedTx) Rollback(ctx context.Context) error {
	tx.l.t.Logf("%s: rollback", tx.l.actor)
	return tx.Tx.Rollback(ctx)
}

func (tx loggedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return loggedRow{tx.Tx.QueryRow(ctx, sql, args...), tx.l, sql, args}
}

type loggedRow struct {
	pgx.Row
	l    logged
	sql  string
	args []any
}

func (r loggedRow) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	r.l.t.Logf("%s: %s %v: %v", r.l.actor, r.sql, r.args, err)
	return err
}
