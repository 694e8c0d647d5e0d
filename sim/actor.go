// Package sim runs the actors of a Postgres protocol one SQL statement at a time, on the in-memory Postgres, on a real
// one, or on both in lock-step. An actor is an ordinary Go function over a pgx-shaped session.
package sim

import (
	"context"
	"time"

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

// The functions below are the only other things an actor may observe or tell. ctx is the one that Run got.
//
//	Now(ctx) time.Time                     simulated time
//	Sleep(ctx, d) error                    until the clock has advanced by d; a step
//	Choose(ctx, name string, n int) int    a value 0..n-1 that the schedule chooses; a step
//	Op(ctx, name string, input any) *Operation   opens an operation of the history; (*Operation).Return(output any)
//	Witness(ctx, name string)              says that something worth seeing has happened
//	Note(ctx, key string, value any)       tells the trace a fact that invariants and monitors read
//	Checkpoint(ctx, locals ...any)         says that what the actor does next depends on locals only, not on older observations
//
// Their contract is in this comment so that systems can be written against it; each has its own file.
var _ = time.Second
