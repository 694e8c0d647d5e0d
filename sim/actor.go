// Package sim runs the actors of a Postgres protocol one SQL statement at a time, on the in-memory Postgres, on a real
// one, or on both in lock-step. An actor is an ordinary Go function over a pgx-shaped session.
package sim

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is an actor's session, in pgx's own shapes, so that code written for pgx (sqlc's DBTX included) compiles against it
// unchanged. One actor has one session; each call is one step of the schedule.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Actor is one concurrent process. Run must be a deterministic function of what db and this package's functions return to
// it: no goroutines, no time.Now, no map order, no package state. A returned error ends the actor; it is an outcome of the
// run, and a violation only if an invariant says so.
type Actor interface {
	Run(ctx context.Context, db DB) error
}

// ActorFunc is an Actor that is a function.
type ActorFunc func(ctx context.Context, db DB) error

// Run calls f.
func (f ActorFunc) Run(ctx context.Context, db DB) error { return f(ctx, db) }
