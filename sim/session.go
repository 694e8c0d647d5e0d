package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// session is the DB of an actor: each statement is one request to the world. It keeps what a pgx connection keeps on the
// client's side. When its connection is lost, the transaction on it is dead, and the next statement has a new connection, as
// from a pool.
type session struct {
	co   *coroutine
	spec *ActorSpec

	conn     int  // number of the connection, so that a transaction knows when its own is lost
	tx       byte // as Reply.Tx
	busy     bool // rows are open
	settings settings
	prepared map[string]string // statement name -> SQL
}

func newSession(co *coroutine, spec *ActorSpec) *session {
	s := &session{co: co, spec: spec, tx: 'I'}
	s.settings.connect(spec)
	return s
}

var (
	errBusy     = errors.New("conn busy")
	errConnLost = fmt.Errorf("receive message failed: %w", io.ErrUnexpectedEOF)
	errConnDead = errors.New("conn closed")
)

func (s *session) Begin(ctx context.Context) (pgx.Tx, error) { return s.BeginTx(ctx, pgx.TxOptions{}) }

func (s *session) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	if _, err := s.Exec(ctx, beginSQL(opts)); err != nil {
		return nil, err
	}
	return &tx{s: s, conn: s.conn, commitSQL: opts.CommitQuery}, nil
}

func (s *session) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	sql, args, err := s.rewrite(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	if len(args) == 0 {
		args = nil // the simple protocol, as in pgx
	}
	res, err := s.request(ctx, sql, args)
	return lastTag(res), err
}

func (s *session) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	sql, args, err := s.rewrite(ctx, sql, args)
	if err != nil {
		return failedRows(err), err
	}
	if args == nil {
		args = []any{} // the extended protocol, as in pgx
	}
	res, err := s.request(ctx, sql, args)
	rows := &rows{s: s, result: res, err: err, at: -1}
	if err != nil && !deferred(err) {
		rows.closed = true
		return rows, err
	}
	s.busy = true
	return rows, nil
}

// deferred says that pgx would report the error with the rows, because the statement could be prepared: everything but a
// lost connection and what analysis finds.
func deferred(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == "42501" || !strings.HasPrefix(e.Code, "42")
}

func (s *session) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	r, _ := s.Query(ctx, sql, args...)
	return row{r.(*rows)}
}

// rewrite handles the options that pgx takes as leading arguments: modes and formats change nothing here, since both
// backends answer in text.
func (s *session) rewrite(ctx context.Context, sql string, args []any) (string, []any, error) {
	for len(args) > 0 {
		switch a := args[0].(type) {
		case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			args = args[1:]
		case pgx.QueryRewriter:
			var err error
			if sql, args, err = a.RewriteQuery(ctx, nil, sql, args[1:]); err != nil {
				return "", nil, fmt.Errorf("rewrite query failed: %w", err)
			}
			return sql, args, nil
		default:
			return s.named(sql), args, nil
		}
	}
	return s.named(sql), args, nil
}

func (s *session) named(sql string) string {
	if text, ok := s.prepared[sql]; ok {
		return text
	}
	return sql
}

// request is one step.
func (s *session) request(ctx context.Context, sql string, args []any) (*Result, error) {
	switch {
	case s.co.stopped:
		return nil, errStopped
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.busy:
		return nil, errBusy
	}
	stmt := classify(sql)
	req := Request{SQL: sql, Args: args}
	req.hash = req.hashed()
	o := s.co.ask(&pending{
		kind: askSQL, req: req,
		commit: stmt == stmtCommit && s.tx == 'T', plain: stmt == stmtOther, auto: s.tx == 'I' && stmt == stmtOther, reads: s.tx == 'I' && onlyReads(sql),
		repeatable: s.settings.repeatable(), lockTimeout: s.settings.lock.local, statementTimeout: s.settings.statement.local, clock: asksTime(sql),
	})
	if o.kind == obsLost {
		s.lost()
		return nil, errConnLost
	}
	if e := o.reply.Err; e != nil && e.Severity == "FATAL" {
		s.lost()
		return o.reply.Result, pgError(e)
	}
	s.settings.after(stmt, sql, s.tx, o.reply.Tx, o.reply.Err == nil)
	s.tx = o.reply.Tx
	s.co.idles = s.tx != 'I' && s.settings.idle.local != timeoutNone
	if o.reply.Err != nil {
		return o.reply.Result, pgError(o.reply.Err)
	}
	return o.reply.Result, nil
}

// lost is the end of the connection: the next statement has a new one.
func (s *session) lost() {
	s.conn++
	s.tx = 'I'
	s.prepared = nil
	s.settings.connect(s.spec)
	s.co.idles = false
}

func pgError(e *Error) *pgconn.PgError {
	return &pgconn.PgError{
		Severity: e.Severity, SeverityUnlocalized: e.Severity, Code: e.Code, Message: e.Message, Detail: e.Detail,
		Hint: e.Hint, Position: int32(e.Position), SchemaName: e.Schema, TableName: e.Table, ColumnName: e.Column,
		ConstraintName: e.Constraint,
	}
}

func lastTag(r *Result) pgconn.CommandTag {
	if r == nil {
		return pgconn.CommandTag{}
	}
	for r.Next != nil {
		r = r.Next
	}
	return pgconn.NewCommandTag(r.Tag)
}
