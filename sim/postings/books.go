package postings

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Book is a named set of transfers.
type Book struct {
	ID         int64
	Name, Data string
}

const (
	sqlCreateBook       = `INSERT INTO books (id, name, data) VALUES (@id, @name, @data) ON CONFLICT DO NOTHING`
	sqlAppendProjection = `INSERT INTO balance_projection (id, account, subaccount, asset, balance, watermark)
VALUES (@seq, @id, @sub, @asset, @balance, @watermark)`
	sqlClosestProjection = `SELECT balance, watermark FROM balance_projection
WHERE account = @id AND subaccount = @sub AND asset = @asset AND watermark <= @at ORDER BY watermark DESC, id DESC LIMIT 1`
)

// createBook returns 1, or 0 when the book exists.
func (p *program) createBook(ctx context.Context, db session, b Book) (int, error) {
	return exec(ctx, db, sqlCreateBook, named{"id": b.ID, "name": b.Name, "data": b.Data})
}

// book gives one book, or notFound.
func (p *program) book(ctx context.Context, db session, id int64) (Book, error) {
	b := Book{ID: id}
	err := db.QueryRow(ctx, `SELECT name, data FROM books WHERE id = $1`, id).Scan(&b.Name, &b.Data)
	if errors.Is(err, pgx.ErrNoRows) {
		err = notFound{fmt.Sprintf("book %d", id)}
	}
	return b, err
}

// books lists all books by id.
func (p *program) books(ctx context.Context, db session) ([]Book, error) {
	var out []Book
	err := collect(ctx, db, `SELECT id, name, data FROM books ORDER BY id`, nil, func(rows pgx.Rows) error {
		var b Book
		err := rows.Scan(&b.ID, &b.Name, &b.Data)
		out = append(out, b)
		return err
	})
	return out, err
}

// BalancePoint is a point of the cache of balances: the balance of an account in an asset after everything that was stored until
// the watermark, in the system's milliseconds.
type BalancePoint struct {
	Account   AccountID
	Asset     Asset
	Balance   int64
	Watermark int64
}

// appendProjection adds a point. There may be several of one watermark; the last one counts.
func (p *program) appendProjection(ctx context.Context, db session, ids *idSource, b BalancePoint) error {
	_, err := exec(ctx, db, sqlAppendProjection, b.columns(ids.next()))
	return err
}

func (b BalancePoint) columns(seq int64) named {
	return named{"seq": seq, "id": b.Account.ID, "sub": b.Account.Sub, "asset": int32(b.Asset), "balance": strconv.FormatInt(b.Balance, 10), "watermark": b.Watermark}
}

// closestProjection gives the last point at or before a time in the system's milliseconds, and whether there is one.
func (p *program) closestProjection(ctx context.Context, db session, a AccountID, asset Asset, asOf int64) (BalancePoint, bool, error) {
	b := BalancePoint{Account: a, Asset: asset}
	var balance string
	text, values := bind(sqlClosestProjection, named{"id": a.ID, "sub": a.Sub, "asset": int32(asset), "at": asOf})
	err := db.QueryRow(ctx, text, values...).Scan(&balance, &b.Watermark)
	if errors.Is(err, pgx.ErrNoRows) {
		return BalancePoint{}, false, nil
	}
	if err == nil {
		b.Balance, err = strconv.ParseInt(balance, 10, 64)
	}
	return b, err == nil, err
}
