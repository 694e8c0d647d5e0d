package postings

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// session is what a primitive needs: sim.DB and pgx.Tx both have it.
type session interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// named are the arguments of a statement by name. A statement of this package is written with @name where a value goes;
// lists are written out, one parameter a value, as the released system's query builder does:
//
//	[]PostingID   (($1, $2), ($3, $4))          for  (transfer_id, idx) IN @ids
//	[]AccountID   (($1, $2), ($3, $4))          for  (id, subaccount) IN @accounts
//	[]Posting     ($1, $2, $3, $4, $5, $6), ... for  VALUES @rows
//	newActive     ($1, ..., $6, $7), ...        the same rows with their status
//	[]involvement ($1, $2, $3), ...             for  VALUES @involved
type named map[string]any

// newActive are postings as rows with status 0.
type newActive []Posting

// bind gives the SQL text with numbered parameters and their values in order.
func bind(sql string, args named) (string, []any) {
	var b strings.Builder
	var values []any
	param := func(v any) {
		values = append(values, v)
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(len(values)))
	}
	tuple := func(first bool, vs ...any) {
		if !first {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for i, v := range vs {
			if i > 0 {
				b.WriteString(", ")
			}
			param(v)
		}
		b.WriteByte(')')
	}
	for {
		at := strings.IndexByte(sql, '@')
		if at < 0 {
			b.WriteString(sql)
			return b.String(), values
		}
		b.WriteString(sql[:at])
		sql = sql[at+1:]
		end := 0
		for end < len(sql) && (sql[end] >= 'a' && sql[end] <= 'z' || sql[end] == '_') {
			end++
		}
		name := sql[:end]
		sql = sql[end:]
		v, ok := args[name]
		if !ok {
			panic(fmt.Sprintf("statement wants @%s, which it is not given", name))
		}
		switch v := v.(type) {
		case []PostingID:
			b.WriteByte('(')
			for i, id := range v {
				tuple(i == 0, id.Transfer, id.Idx)
			}
			b.WriteByte(')')
		case []AccountID:
			b.WriteByte('(')
			for i, a := range v {
				tuple(i == 0, a.ID, a.Sub)
			}
			b.WriteByte(')')
		case []Posting:
			for i, p := range v {
				tuple(i == 0, p.ID.Transfer, p.ID.Idx, p.Owner.ID, p.Owner.Sub, int32(p.Asset), strconv.FormatInt(p.Value, 10))
			}
		case newActive:
			for i, p := range v {
				tuple(i == 0, p.ID.Transfer, p.ID.Idx, p.Owner.ID, p.Owner.Sub, int32(p.Asset), strconv.FormatInt(p.Value, 10), int16(0))
			}
		case []involvement:
			for i, r := range v {
				tuple(i == 0, r.tid, r.account.ID, r.account.Sub)
			}
		default:
			param(v)
		}
	}
}

// exec runs a statement and returns the affected-row count.
func exec(ctx context.Context, db session, sql string, args named) (int, error) {
	text, values := bind(sql, args)
	tag, err := db.Exec(ctx, text, values...)
	return int(tag.RowsAffected()), err
}

// collect runs a query and scans each row with scan.
func collect(ctx context.Context, db session, sql string, args named, scan func(rows pgx.Rows) error) error {
	text, values := bind(sql, args)
	rows, err := db.Query(ctx, text, values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// inTx runs f in a transaction: committed when f returns nil, otherwise rolled back.
func inTx(ctx context.Context, db session, f func(tx session) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		// The error that made the transaction fail is the one to tell; a failed rollback leaves nothing behind either.
		_ = tx.Rollback(ctx)
		return err
	}
	return tx.Commit(ctx)
}

// sqlstate is the SQLSTATE of an error from the database, "" for any other error.
func sqlstate(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
