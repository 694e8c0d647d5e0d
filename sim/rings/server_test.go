package rings

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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
	const role = "CREATE ROLE leader;\n" // roles are the cluster's: another database's test may have made it
	if strings.Contains(setup.Schema, role) {
		_, _ = c.Exec(ctx, role)
	}
	for _, text := range []string{strings.Replace(setup.Schema, role, "", 1), setup.Seed} {
		if _, err := c.Exec(ctx, text); err != nil {
			t.Fatal(err)
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
		short := s.Name == "rings/claim" || s.Name == "rings/retain"
		if s.Build == nil || !strings.HasPrefix(s.Name, "rings/") || !short && os.Getenv("SIMRUN_LONG") == "" {
			continue
		}
		for _, variant := range s.Variants[:1] {
			t.Run(s.Name+"/"+variant, func(t *testing.T) {
				setup := setupOf(t, s.Name, variant)
				connect := onServer(t, setup)
				for _, actor := range setup.Actors {
					switch actor.Run.(type) {
					case pinnedReader, idleWriter, leader, runtime: // they sleep, here in real time
						continue
					}
					c := connect()
					// Outside of a run a Sleep is real: whoever sleeps long is cut short.
					ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
					var db sim.DB = logged{c, t, actor.Name}
					gone := s.Name == "rings/contract" && strings.HasPrefix(actor.Name, "rotator-0.6")
					if gone { // contracted, an old binary fails loudly: its columns are gone
						db = c
					}
					if err := actor.Run.Run(ctx, db); err != nil && ctx.Err() == nil && !gone {
						t.Errorf("%s: %v", actor.Name, err)
					}
					cancel()
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

// logged fails the test when the server does not understand a statement of the protocol; other errors are outcomes.
type logged struct {
	*pgx.Conn
	t     *testing.T
	actor string
}

func (l logged) check(sql string, err error) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "42") || strings.HasPrefix(pg.Code, "22")) {
		l.t.Errorf("%s: %v in %s", l.actor, err, sql)
	}
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

func (tx loggedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	tag, err := tx.Tx.Exec(ctx, sql, args...)
	tx.l.check(sql, err)
	return tag, err
}

func (tx loggedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := tx.Tx.Query(ctx, sql, args...)
	tx.l.check(sql, err)
	return rows, err
}

func (tx loggedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return loggedRow{tx.Tx.QueryRow(ctx, sql, args...), tx.l, sql}
}

type loggedRow struct {
	pgx.Row
	l   logged
	sql string
}

func (r loggedRow) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	r.l.check(r.sql, err)
	return err
}
