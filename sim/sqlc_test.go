package sim

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The code that sqlc generates for pgx/v5, by shape: sessions and their transactions must be usable as its DBTX.

type dbtx interface {
	Exec(context.Context, string, ...interface{}) (pgconn.CommandTag, error)
	Query(context.Context, string, ...interface{}) (pgx.Rows, error)
	QueryRow(context.Context, string, ...interface{}) pgx.Row
}

type queries struct{ db dbtx }

func newQueries(db dbtx) *queries { return &queries{db: db} }

func (q *queries) WithTx(tx pgx.Tx) *queries { return &queries{db: tx} }

func (q *queries) ListX(ctx context.Context) ([]int32, error) {
	rows, err := q.db.Query(ctx, "get x")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []int32
	for rows.Next() {
		var i int32
		if err := rows.Scan(&i); err != nil {
			return nil, err
		}
		items = append(items, i)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return items, nil
}

func TestGeneratedCodeRunsOnASession(t *testing.T) {
	var got []int32
	run := func(ctx context.Context, db DB) error {
		q := newQueries(db)
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) (err error) {
			if _, err = tx.Exec(ctx, "set x 7"); err != nil {
				return err
			}
			got, err = q.WithTx(tx).ListX(ctx)
			return err
		})
	}
	_, trace := runOn(t, &Setup{Actors: []ActorSpec{{Name: "a", Run: ActorFunc(run)}}}, newFake(map[string]int{"x": 0}), 1, Options{})
	if last := trace.Steps[len(trace.Steps)-1]; !last.Done || last.Err != nil || len(got) != 1 || got[0] != 7 {
		t.Errorf("got %v, ended with %v", got, last.Err)
	}
}
