package rings

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"simrun/sim"
)

// step is one step of a protocol transaction: one SQL statement and what the actor makes of its result.
type step struct {
	name string
	run  func(t *turn) error
}

// procedure is a protocol transaction: its steps between BEGIN and COMMIT, in order.
type procedure []step

// of makes a procedure of several.
func of(parts ...procedure) procedure {
	var all procedure
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// index finds a step; a name that is not there is a mistake of the caller.
func (p procedure) index(name string) int {
	for i := range p {
		if p[i].name == name {
			return i
		}
	}
	panic(fmt.Sprintf("rings: no step %q", name))
}

// without is p with the named steps left out.
func (p procedure) without(names ...string) procedure {
	out := append(procedure(nil), p...)
	for _, name := range names {
		i := out.index(name)
		out = append(out[:i:i], out[i+1:]...)
	}
	return out
}

// with is p with the named step done by run instead.
func (p procedure) with(name string, run func(t *turn) error) procedure {
	out := append(procedure(nil), p...)
	out[p.index(name)].run = run
	return out
}

// before is p with the step moved that is named first, to just before the one that is named second.
func (p procedure) before(name, mark string) procedure {
	moved := p[p.index(name)]
	out := p.without(name)
	i := out.index(mark)
	return append(append(append(procedure(nil), out[:i]...), moved), out[i:]...)
}

// after is p with a step put in just behind the named one.
func (p procedure) after(mark string, s step) procedure {
	i := p.index(mark) + 1
	return append(append(append(procedure(nil), p[:i]...), s), p[i:]...)
}

// commitHere ends the transaction in the middle of a procedure and begins another: what a mutant of atomicity does.
var commitHere = step{"commit in between", func(t *turn) error {
	if err := t.tx.Commit(t.ctx); err != nil {
		return err
	}
	tx, err := t.db.BeginTx(t.ctx, t.how)
	if err == nil {
		t.tx = tx
	}
	return err
}}

// turn is one execution of a procedure: the transaction, and what its steps have learned.
type turn struct {
	ctx context.Context
	db  sim.DB
	tx  pgx.Tx
	ring
	how pgx.TxOptions // how its transaction begins
	now Outcome       // what the turn came to, if a step said so

	mode      string // authority that the gate read: "columns" or "ledger"
	n         int    // slot count
	cur       cursor // the ring's cursor
	target    cursor // slot and generation that a prune or a rollup is about
	ledgerMax cursor // of the flip
	locals    any    // what one actor's steps tell each other beyond that
}

// turn begins a turn of a procedure of the program.
func (p *program) turn(ctx context.Context, db sim.DB, r ring, locals any) *turn {
	return &turn{ctx: ctx, db: db, ring: r, how: p.begin, locals: locals}
}

// errEnd ends a procedure early; its transaction commits.
var errEnd = errors.New("procedure ended early")

// errRefuse ends a procedure early; its transaction rolls back, as when a database function raises.
var errRefuse = errors.New("procedure refused")

// end ends the procedure with an outcome; the transaction commits.
func (t *turn) end(o Outcome) error { t.now = o; return errEnd }

// refuse ends the procedure with an outcome; the transaction rolls back.
func (t *turn) refuse(o Outcome) error { t.now = o; return errRefuse }

// sql fills in the names in a statement: {ring}, and for the turn's target {slot}; {children} are all its tables of the target slot.
func (t *turn) sql(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return strings.NewReplacer("{ring}", t.name, "{slot}", itoa(t.target.Slot),
		"{children}", t.childList(max(t.target.Slot, 0))).Replace(text)
}

func (t *turn) exec(text string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(t.ctx, t.sql(text), args...)
	return tag.RowsAffected(), err
}

// do is exec for statements whose row count does not matter.
func (t *turn) do(text string, args ...any) error {
	_, err := t.exec(text, args...)
	return err
}

func (t *turn) row(text string, args ...any) pgx.Row {
	return t.tx.QueryRow(t.ctx, t.sql(text), args...)
}

// cursorRow reads a cursor: a row (slot, generation).
func (t *turn) cursorRow(into *cursor, text string, args ...any) error {
	return t.row(text, args...).Scan(&into.Slot, &into.Gen)
}

// exists runs a statement that returns one boolean.
func (t *turn) exists(text string, args ...any) (bool, error) {
	var found bool
	err := t.row(text, args...).Scan(&found)
	return found, err
}

// steps runs the steps of p until one ends the turn.
func (t *turn) steps(p procedure) error {
	for _, s := range p {
		if err := s.run(t); err != nil {
			return err
		}
	}
	return nil
}

// transact runs the procedure in one transaction. The outcome is that of the step that ended it, or done; a database error
// is an outcome too, unless the connection is lost.
func (t *turn) transact(done Outcome, p procedure) (Outcome, error) {
	return t.transactWith(t.how, done, p)
}

// How a transaction begins when it does not leave that to the session's default.
var (
	readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	snapshotRead  = pgx.TxOptions{IsoLevel: pgx.RepeatableRead}
)

func (t *turn) transactWith(how pgx.TxOptions, done Outcome, p procedure) (Outcome, error) {
	tx, err := t.db.BeginTx(t.ctx, how)
	if err != nil {
		return failed(err)
	}
	t.tx, t.now = tx, done
	err = t.steps(p)
	switch {
	case err == nil || errors.Is(err, errEnd):
		if err = tx.Commit(t.ctx); err != nil {
			return failed(err)
		}
		return t.now, nil
	case errors.Is(err, errRefuse):
		return t.now, tx.Rollback(t.ctx)
	}
	out, lost := failed(err)
	if lost == nil {
		lost = tx.Rollback(t.ctx)
	}
	return out, lost
}

// failed makes an outcome of a database error. An error that is no answer of the server ends the actor.
func failed(err error) (Outcome, error) {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		return Outcome{Kind: Failed, Reason: pg.Code}, nil
	case errors.Is(err, pgx.ErrTxCommitRollback), errors.Is(err, pgx.ErrNoRows):
		return Outcome{Kind: Failed, Reason: err.Error()}, nil
	}
	return Outcome{}, err
}

func itoa(n int) string { return strconv.Itoa(n) }
