package postings

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostingQuery selects a page of an account's postings. They are ordered by id, so that pages are disjoint.
type PostingQuery struct {
	Account AccountID
	AllSubs bool  // of all sub-accounts of Account.ID
	Asset   Asset // 0 for all
	Filter  Filter
	Page
}

// Page is a window of a result. The total that comes with it is counted before, in a statement of its own, as released.
type Page struct{ Limit, Offset int } // Limit 0: everything after Offset

func (p Page) sql() string {
	if p.Limit == 0 {
		return ` OFFSET @offset`
	}
	return ` LIMIT @limit OFFSET @offset`
}

// sources are FROM items by filter.
type sources [4]string

var (
	sourcesIndex = sources{
		FilterActive:   `active_postings`,
		FilterReserved: `reserved_postings`,
		FilterLive: `(SELECT ` + postingColumns + ` FROM active_postings
UNION ALL SELECT ` + postingColumns + ` FROM reserved_postings) live`,
		FilterAll: `postings`,
	}
	sourcesLive = sources{
		FilterActive:   `(SELECT ` + postingColumns + ` FROM live_postings WHERE reservation IS NULL) active`,
		FilterReserved: `(SELECT ` + postingColumns + ` FROM live_postings WHERE reservation IS NOT NULL) reserved`,
		FilterLive:     `live_postings`,
		FilterAll:      `postings`,
	}
	sourcesStatus = sources{
		FilterActive:   `(SELECT ` + postingColumns + ` FROM postings WHERE status = 0) active`,
		FilterReserved: `(SELECT ` + postingColumns + ` FROM postings WHERE status = 1) reserved`,
		FilterLive:     `(SELECT ` + postingColumns + ` FROM postings WHERE status IN (0, 1)) live`,
		FilterAll:      `postings`,
	}
)

const postingOrder = ` ORDER BY transfer_id, idx`

// queryPostings gives a page and the number of postings on all pages.
func (p *program) queryPostings(ctx context.Context, db session, q PostingQuery) ([]Posting, int, error) {
	where := ` WHERE owner = @id`
	if !q.AllSubs {
		where += ` AND subaccount = @sub`
	}
	if q.Asset != 0 {
		where += ` AND asset = @asset`
	}
	from := ` FROM ` + p.sources[q.Filter] + where
	args := named{"id": q.Account.ID, "sub": q.Account.Sub, "asset": int32(q.Asset), "limit": int64(q.Limit), "offset": int64(q.Offset)}
	total, err := count(ctx, db, from, args)
	if err != nil {
		return nil, 0, err
	}
	page, err := p.selectPostings(ctx, db, `SELECT `+postingColumns+from+p.pageOrder+q.sql(), args)
	return page, total, err
}

func count(ctx context.Context, db session, from string, args named) (int, error) {
	var n int
	text, values := bind(`SELECT count(*)`+from, args)
	err := db.QueryRow(ctx, text, values...).Scan(&n)
	return n, err
}

// TransferQuery selects a page of transfers, ordered by when they were stored and by id.
type TransferQuery struct {
	Account AccountID // the zero account: of all, the index is not asked
	Since   time.Time // stored at this time or later; the zero time: no bound
	Until   time.Time // stored before this time; the zero time: no bound
	Book    int64     // 0 for all
	Page
}

// queryTransfers gives the ids of a page and the number of transfers on all pages.
func (p *program) queryTransfers(ctx context.Context, db session, q TransferQuery) ([]string, int, error) {
	from := ` FROM transfers t`
	args := named{"limit": int64(q.Limit), "offset": int64(q.Offset)}
	var conds []string
	cond := func(sql, name string, value any) {
		conds = append(conds, sql)
		args[name] = value
	}
	if q.Account != (AccountID{}) || p.needsAccount {
		from += ` JOIN transfer_accounts a ON a.transfer_id = t.id`
		cond(`a.account_id = @id`, "id", q.Account.ID)
		cond(`a.subaccount = @sub`, "sub", q.Account.Sub)
	}
	if !q.Since.IsZero() {
		cond(`t.created_at >= @since`, "since", systemMillis(q.Since))
	}
	if !q.Until.IsZero() {
		cond(`t.created_at < @until`, "until", systemMillis(q.Until))
	}
	if q.Book != 0 {
		cond(`t.book = @book`, "book", q.Book)
	}
	if len(conds) > 0 {
		from += ` WHERE ` + strings.Join(conds, ` AND `)
	}
	total, err := count(ctx, db, from, args)
	if err != nil {
		return nil, 0, err
	}
	var out []string
	err = collect(ctx, db, `SELECT t.id`+from+` ORDER BY t.created_at, t.id`+q.sql(), args, func(rows pgx.Rows) error {
		var id string
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	return out, total, err
}
