package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
	"simrun/sim/postgres"
)

const (
	schema  = "CREATE TABLE a (k int PRIMARY KEY, v int NOT NULL); CREATE TABLE log (id int PRIMARY KEY, v int NOT NULL)"
	seed    = "INSERT INTO a SELECT g, 0 FROM generate_series(0, 99) g"
	clients = 4 // sessions in turn
	batch   = 100
)

// call is a statement of a workload; $1 is the session's row.
type call struct {
	sql  string
	args bool
}

// workload is what the group "statements" runs: each session in turn has transactions of its own row, so that nothing waits.
var workload = []call{
	{"BEGIN", false}, {"SELECT v FROM a WHERE k = $1", true}, {"UPDATE a SET v = v + 1 WHERE k = $1", true}, {"COMMIT", false},
}

func setup() *sim.Setup { return &sim.Setup{Schema: schema, Seed: seed} }

func open(db sim.Backend, err error) (sim.Backend, error) {
	if err != nil {
		return nil, err
	}
	for i := range clients {
		if err := db.Open(i, sim.ActorSpec{Name: fmt.Sprint("s", i)}); err != nil {
			return nil, errors.Join(err, db.Shutdown())
		}
	}
	return db, nil
}

func submit(db sim.Backend, session int, sql string, args ...any) error {
	r, err := db.Submit(session, sim.Request{SQL: sql, Args: args})
	switch {
	case err != nil:
		return err
	case r.Err != nil:
		return fmt.Errorf("%s: %w", sql, r.Err)
	case r.Blocked:
		return fmt.Errorf("%s: waits", sql)
	}
	return nil
}

// kinds measures the model alone.
var kinds = Group{"model", "statements on the model, by kind, on one core; each in a transaction of its own unless it says otherwise",
	func(context.Context, Options) ([]Member, func(), error) {
		var members []Member
		add := func(name string, do func(db sim.Backend, i int) error, undo func(db sim.Backend) error) {
			members = append(members, Member{name, "statements/s", func(ctx context.Context, per time.Duration) (int, time.Duration, error) {
				db, err := open(sim.NewModel(setup()))
				if err != nil {
					return 0, 0, err
				}
				defer db.Shutdown()
				total, spent := 0, time.Duration(0)
				for spent < per {
					n, took, err := loop(ctx, min(per, 20*time.Millisecond), batch, func() error {
						for range batch {
							if err := do(db, total); err != nil {
								return err
							}
							total++
						}
						return nil
					})
					if err != nil {
						return 0, 0, err
					}
					_, spent = n, spent+took
					if undo != nil {
						if err := undo(db); err != nil {
							return 0, 0, err
						}
					}
				}
				return total, spent, nil
			}})
		}
		vacuum := func(db sim.Backend) error { return submit(db, 0, "VACUUM a") }
		add("SELECT by key", func(db sim.Backend, i int) error { return submit(db, 0, "SELECT v FROM a WHERE k = $1", i%100) }, nil)
		add("SELECT of 100 rows", func(db sim.Backend, _ int) error { return submit(db, 0, "SELECT sum(v) FROM a") }, nil)
		add("UPDATE by key", func(db sim.Backend, i int) error { return submit(db, 0, "UPDATE a SET v = v + 1 WHERE k = $1", i%100) }, vacuum)
		add("INSERT", func(db sim.Backend, i int) error { return submit(db, 0, "INSERT INTO log VALUES ($1, 0)", i) },
			func(db sim.Backend) error {
				return errors.Join(submit(db, 0, "DELETE FROM log"), submit(db, 0, "VACUUM log"))
			})
		add("BEGIN and COMMIT", func(db sim.Backend, i int) error { return submit(db, 0, []string{"BEGIN", "COMMIT"}[i%2]) }, nil)
		return members, func() {}, nil
	}}

// statements measures one workload on the model, in lock-step, on the server through simrun, and through pgx alone.
var statements = Group{"statements", "the same statements (BEGIN, SELECT, UPDATE, COMMIT of four sessions in turn) through pgx alone, in lock-step, on the server, on the model",
	func(ctx context.Context, o Options) (members []Member, done func(), err error) {
		var closers []func()
		done = func() {
			for i := len(closers) - 1; i >= 0; i-- {
				closers[i]()
			}
		}
		defer func() {
			if err != nil {
				done()
			}
		}()
		through := func(name string, do func(session int, c call) error) {
			members = append(members, Member{name, "statements/s", func(ctx context.Context, per time.Duration) (int, time.Duration, error) {
				return loop(ctx, per, batch*len(workload)*clients, func() error {
					for range batch {
						for _, c := range workload {
							for session := range clients {
								if err := do(session, c); err != nil {
									return err
								}
							}
						}
					}
					return nil
				})
			}})
		}
		backend := func(name string, create func(*sim.Setup) (sim.Backend, error)) error {
			db, err := open(create(setup()))
			if err != nil {
				return err
			}
			closers = append(closers, func() { _ = db.Shutdown() })
			through(name, func(session int, c call) error {
				if c.args {
					return submit(db, session, c.sql, session)
				}
				return submit(db, session, c.sql)
			})
			return nil
		}
		if o.Postgres == "none" {
			return members, done, backend("model", sim.NewModel)
		}
		server, err := postgres.Open(ctx, o.Postgres)
		if err != nil {
			return nil, nil, fmt.Errorf("no server (--postgres none leaves it out): %w", err)
		}
		closers = append(closers, func() { _ = server.Close() })
		if o.Note != nil {
			o.Note("PostgreSQL %d", server.Version()/10000)
		}
		if err := throughPgx(ctx, server, through, &closers); err != nil {
			return nil, nil, err
		}
		if err := backend("lock-step", func(s *sim.Setup) (sim.Backend, error) { return server.NewPair(s, false) }); err != nil {
			return nil, nil, err
		}
		if err := backend("server", func(s *sim.Setup) (sim.Backend, error) { return server.NewBackend(s) }); err != nil {
			return nil, nil, err
		}
		return members, done, backend("model", sim.NewModel)
	}}

func throughPgx(ctx context.Context, server *postgres.Server, through func(string, func(int, call) error), closers *[]func()) error {
	name, err := server.CreateDatabase()
	if err != nil {
		return err
	}
	*closers = append(*closers, func() { _ = server.DropDatabase(name) })
	var conns []*pgx.Conn
	for range clients {
		c, err := pgx.Connect(ctx, server.URL(name))
		if err != nil {
			return err
		}
		*closers = append(*closers, func() { _ = c.Close(context.Background()) })
		conns = append(conns, c)
	}
	for _, sql := range []string{schema, seed} {
		if _, err := conns[0].Exec(ctx, sql); err != nil {
			return err
		}
	}
	through("pgx", func(session int, c call) error {
		var args []any
		if c.args {
			args = []any{session}
		}
		_, err := conns[session].Exec(ctx, c.sql, args...)
		return err
	})
	return nil
}
