package sim

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// beginSQL renders options as pgx does.
func beginSQL(o pgx.TxOptions) string {
	if o.BeginQuery != "" {
		return o.BeginQuery
	}
	var b strings.Builder
	b.WriteString("begin")
	if o.IsoLevel != "" {
		b.WriteString(" isolation level ")
		b.WriteString(string(o.IsoLevel))
	}
	for _, mode := range [...]string{string(o.AccessMode), string(o.DeferrableMode)} {
		if mode != "" {
			b.WriteByte(' ')
			b.WriteString(mode)
		}
	}
	return b.String()
}

// tx is a transaction, or with save > 0 a savepoint in one, with the statements and errors that pgx has for them.
type tx struct {
	s         *session
	conn      int // the connection it is on
	commitSQL string
	outer     *tx // of a savepoint, the transaction
	save      int // number of the savepoint
	saves     int // savepoints begun so far, in the transaction
	closed    bool
}

var errNotModelled = errors.New("sim: not supported by simulated sessions")

// open returns why the transaction cannot be used.
func (t *tx) open() error {
	switch {
	case t.closed || t.outer != nil && t.outer.closed:
		return pgx.ErrTxClosed
	case t.conn != t.s.conn:
		return errConnDead
	}
	return nil
}

func (t *tx) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	top := t
	if t.outer != nil {
		top = t.outer
	}
	top.saves++
	n := top.saves
	if _, err := t.s.Exec(ctx, "savepoint sp_"+strconv.Itoa(n)); err != nil {
		return nil, err
	}
	return &tx{s: t.s, conn: t.conn, outer: top, save: n}, nil
}

func (t *tx) Commit(ctx context.Context) error {
	if err := t.open(); err != nil {
		t.closed = true
		return err
	}
	sql := "commit"
	switch {
	case t.outer != nil:
		sql = "release savepoint sp_" + strconv.Itoa(t.save)
	case t.commitSQL != "":
		sql = t.commitSQL
	}
	tag, err := t.s.Exec(ctx, sql)
	t.closed = true
	if err == nil && t.outer == nil && tag.String() == "ROLLBACK" {
		return pgx.ErrTxCommitRollback
	}
	return err
}

func (t *tx) Rollback(ctx context.Context) error {
	if err := t.open(); err != nil {
		t.closed = true
		return err
	}
	sql := "rollback"
	if t.outer != nil {
		sql = "rollback to savepoint sp_" + strconv.Itoa(t.save)
	}
	_, err := t.s.Exec(ctx, sql)
	t.closed = true
	return err
}

func (t *tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := t.open(); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.s.Exec(ctx, sql, args...)
}

func (t *tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := t.open(); err != nil {
		return failedRows(err), err
	}
	return t.s.Query(ctx, sql, args...)
}

func (t *tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	r, _ := t.Query(ctx, sql, args...)
	return row{r.(*rows)}
}

func (t *tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if err := t.open(); err != nil {
		return &batchResults{err: err}
	}
	return t.s.SendBatch(ctx, b)
}

// Prepare names a statement for this connection. It is no step: nothing that others do depends on it.
func (t *tx) Prepare(_ context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	if t.s.prepared == nil {
		t.s.prepared = map[string]string{}
	}
	t.s.prepared[name] = sql
	return &pgconn.StatementDescription{Name: name, SQL: sql}, nil
}

// CopyFrom is refused: COPY is not part of what is simulated.
func (t *tx) CopyFrom(context.Context, pgx.Identifier, []string, pgx.CopyFromSource) (int64, error) {
	return 0, errNotModelled
}

// LargeObjects gives the zero value, whose methods panic: large objects are not part of what is simulated.
func (t *tx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Conn is nil: there is no pgx connection behind a simulated session.
func (t *tx) Conn() *pgx.Conn { return nil }
