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
	schema = "CREATE TABLE a (k int PRIMARY KEY, v int NOT NULL); CREATE TABLE log (id int PRIMARY KEY, v int NOT NULL);" +
		"CREATE TABLE queue (id int PRIMARY KEY, v int NOT NULL)"
	seed    = "INSERT INTO a SELECT g, 0 FROM generate_series(0, 99) g; INSERT INTO queue SELECT k, v FROM a"
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

// statements measures one workload on the model, in lock-step, on the server through simrun, and through pgx alone.
var statements = Group{"statements", "the same statements (BEGIN, SELECT, UPDATE, COMMIT of four sessions in turn) through pgx alone, in lock-step, on the server, on the model",
	func(ctx context.Context, o Options) (members []Member, done func(), err error) {
		var closers closers
		done = closers.close
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
		server, err := openServer(ctx, o, &closers)
		if err != nil {
			return nil, nil, err
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

// closers are what is to be closed at the end, the last first.
type closers []func()

func (c *closers) close() {
	for i := len(*c) - 1; i >= 0; i-- {
		(*c)[i]()
	}
}

// openServer opens the server that the options name.
func openServer(ctx context.Context, o Options, closers *closers) (*postgres.Server, error) {
	server, err := postgres.Open(ctx, o.Postgres)
	if err != nil {
		return nil, fmt.Errorf("no server (--postgres none leaves it out): %w", err)
	}
	*closers = append(*closers, func() { _ = server.Close() })
	if o.Note != nil {
		o.Note("PostgreSQL %d", server.Version()/10000)
	}
	return server, nil
}

// connect makes connections to a new database with the schema and the seed.
func connect(ctx context.Context, server *postgres.Server, n int, closers *closers) ([]*pgx.Conn, error) {
	name, err := server.CreateDatabase()
	if err != nil {
		return nil, err
	}
	*closers = append(*closers, func() { _ = server.DropDatabase(name) })
	var conns []*pgx.Conn
	for range n {
		c, err := pgx.Connect(ctx, server.URL(name))
		if err != nil {
			return nil, err
		}
		*closers = append(*closers, func() { _ = c.Close(context.Background()) })
		conns = append(conns, c)
	}
	for _, sql := range []string{schema, seed} {
		if _, err := conns[0].Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	return conns, nil
}

func throughPgx(ctx context.Context, server *postgres.Server, through func(string, func(int, call) error), closers *closers) error {
	conns, err := connect(ctx, server, clients, closers)
	if err != nil {
		return err
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
