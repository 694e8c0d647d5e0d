package bench

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// kind is a kind of statement, each in a transaction of its own unless it says otherwise.
type kind struct {
	name, unit string
	sql        []string // run in turn
	arg        func(i int) any
	undo       []string // makes up for a batch, without being timed
}

// many is how many rows the statements by key go over.
const many = 100

func byKey(i int) any { return i % many }

// kindsOfStatement are what protocols are made of.
var kindsOfStatement = []kind{
	{"SELECT by key", "selects/s", []string{"SELECT v FROM a WHERE k = $1"}, byKey, nil},
	{"SELECT FOR UPDATE", "row locks/s", []string{"SELECT v FROM a WHERE k = $1 FOR UPDATE"}, byKey, nil},
	// half of them find their key taken
	{"INSERT ON CONFLICT", "upserts/s", []string{"INSERT INTO log VALUES ($1, 0) ON CONFLICT (id) DO NOTHING"},
		func(i int) any { return i % (batch / 2) }, []string{"DELETE FROM log", "VACUUM log"}},
	{"UPDATE by key", "updates/s", []string{"UPDATE a SET v = v + 1 WHERE k = $1"}, byKey, []string{"VACUUM a"}},
	{"DELETE RETURNING in a CTE", "deletes/s", []string{"WITH d AS (DELETE FROM queue WHERE id = $1 RETURNING id, v) SELECT v FROM d"},
		byKey, []string{"VACUUM queue", "INSERT INTO queue SELECT g, 0 FROM generate_series(0, 99) g"}},
	{"INSERT", "inserts/s", []string{"INSERT INTO log VALUES ($1, 0)"}, byKey, []string{"DELETE FROM log", "VACUUM log"}},
	{"SELECT of 100 rows", "scans/s", []string{"SELECT sum(v) FROM a"}, nil, nil},
	{"BEGIN and COMMIT", "statements/s", []string{"BEGIN", "COMMIT"}, nil, nil},
}

// kinds measures each kind on the model, and through pgx alone on a server in the same process.
var kinds = Group{"model", "statements by kind through pgx alone and on the model, one at a time; each in a transaction of its own unless it says otherwise",
	func(ctx context.Context, o Options) (members []Member, done func(), err error) {
		var closers closers
		defer func() {
			if err != nil {
				closers.close()
			}
		}()
		var conn *pgx.Conn
		if o.Postgres != "none" {
			server, err := openServer(ctx, o, &closers)
			if err != nil {
				return nil, nil, err
			}
			conns, err := connect(ctx, server, 1, &closers)
			if err != nil {
				return nil, nil, err
			}
			conn = conns[0]
		}
		for _, k := range kindsOfStatement {
			if conn != nil {
				members = append(members, k.member("pgx", func() (func(string, []any) error, error) {
					return func(sql string, args []any) error {
						_, err := conn.Exec(ctx, sql, args...)
						return err
					}, nil
				}))
			}
			members = append(members, k.member("model", func() (func(string, []any) error, error) {
				db, err := open(sim.NewModel(setup()))
				return func(sql string, args []any) error { return submit(db, 0, sql, args...) }, err
			}))
		}
		return members, closers.close, nil
	}}

// member measures the kind through what begin gives.
func (k kind) member(through string, begin func() (do func(sql string, args []any) error, err error)) Member {
	return Member{k.name + ", " + through, k.unit, func(ctx context.Context, per time.Duration) (int, time.Duration, error) {
		do, err := begin()
		if err != nil {
			return 0, 0, err
		}
		var keys [batch][]any
		for i := range keys {
			if k.arg != nil {
				keys[i] = []any{k.arg(i)}
			}
		}
		total, spent := 0, time.Duration(0)
		for spent < per && ctx.Err() == nil {
			begun := time.Now()
			for i := range batch {
				if err := do(k.sql[i%len(k.sql)], keys[i]); err != nil {
					return 0, 0, err
				}
			}
			spent += time.Since(begun)
			total += batch
			for _, sql := range k.undo {
				err = errors.Join(err, do(sql, nil))
			}
			if err != nil {
				return 0, 0, err
			}
		}
		return total, spent, ctx.Err()
	}}
}
