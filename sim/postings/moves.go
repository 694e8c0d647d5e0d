package postings

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// A move is one transition of posting ids. Its contract: apply one conditional change, return how many ids it was applied to
// or an error, never interpret. A batch is not all-or-nothing: ids whose condition does not hold are skipped, and it is one
// transaction. No ids, no SQL. An id given twice counts once.
//
// Parameters of its statements: @ids, and @rid, the reservation.
type move struct {
	stmts   []string
	counted int  // the count is that of this statement
	eachID  bool // the statements run once for each id, and the counts are added
	// by replaces all of the above by code: no move of the protocol needs it, some bugs do.
	by func(ctx context.Context, db session, ids []PostingID, rid int64) (int, error)
}

// maxBatch is how many ids or rows a statement takes: servers bound the parameters of one (Postgres to 65535), and the released
// system had to learn it (before 1d2cd7f).
const maxBatch = 500

func (m move) do(ctx context.Context, db session, ids []PostingID, rid int64) (int, error) {
	ids = distinct(ids)
	if len(ids) == 0 {
		return 0, nil
	}
	if m.by != nil {
		return m.by(ctx, db, ids, rid)
	}
	size := maxBatch
	if m.eachID {
		size = 1
	}
	batches := slices.Collect(slices.Chunk(ids, size))
	count := 0
	body := func(db session) error {
		count = 0
		for _, batch := range batches {
			for i, stmt := range m.stmts {
				n, err := exec(ctx, db, stmt, named{"ids": batch, "rid": rid})
				if err != nil {
					return err
				}
				if i == m.counted {
					count += n
				}
			}
		}
		return nil
	}
	if len(batches)*len(m.stmts) == 1 {
		return counted(&count, body(db)) // a single statement is a transaction by itself
	}
	return counted(&count, inTx(ctx, db, body))
}

// found gives the ids that a statement returns, which is a query or has RETURNING transfer_id, idx.
func found(ctx context.Context, db session, sql string, args named) ([]PostingID, error) {
	var out []PostingID
	err := collect(ctx, db, sql, args, func(rows pgx.Rows) error {
		var id PostingID
		err := rows.Scan(&id.Transfer, &id.Idx)
		out = append(out, id)
		return err
	})
	return out, err
}

// counted gives 0 for a failed move: what a failed transaction counted did not happen.
func counted(count *int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return *count, nil
}

// distinct keeps the first of each id, in order.
func distinct(ids []PostingID) []PostingID {
	out := make([]PostingID, 0, len(ids))
	if len(ids) <= 8 { // nearly always: looking through them is faster than a map
		for _, id := range ids {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
		return out
	}
	seen := make(map[PostingID]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// Moves on two index tables, in the order of the decision record: delete first. The deleted row is the claim, so a waiter
// that wakes re-checks the row, finds it gone, and counts 0. No ON CONFLICT: were an id in both tables, the key would say so.
var (
	reserveDeleteFirst = move{stmts: []string{`
WITH claimed AS (
    DELETE FROM active_postings WHERE (transfer_id, idx) IN @ids RETURNING *)
INSERT INTO reserved_postings
SELECT transfer_id, idx, owner, subaccount, asset, value, @rid::bigint FROM claimed`}}

	releaseDeleteFirst = move{stmts: []string{`
WITH freed AS (
    DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid RETURNING *)
INSERT INTO active_postings
SELECT transfer_id, idx, owner, subaccount, asset, value FROM freed`}}

	consumeReserved = move{stmts: []string{`
DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid`}}

	deactivateActive = move{stmts: []string{`
DELETE FROM active_postings WHERE (transfer_id, idx) IN @ids`}}
)

// Moves as era E2 shipped them: insert first, then delete; the count is the delete's, the insert's is ignored. Each statement
// has its own snapshot, and the SELECT locks nothing.
var (
	reserveInsertFirst = move{counted: 1, stmts: []string{`
INSERT INTO reserved_postings
SELECT transfer_id, idx, owner, subaccount, asset, value, @rid::bigint FROM active_postings WHERE (transfer_id, idx) IN @ids
ON CONFLICT DO NOTHING`, `
DELETE FROM active_postings WHERE (transfer_id, idx) IN @ids`}}

	releaseInsertFirst = move{counted: 1, stmts: []string{`
INSERT INTO active_postings
SELECT transfer_id, idx, owner, subaccount, asset, value FROM reserved_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid
ON CONFLICT DO NOTHING`, `
DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid`}}
)

// Moves on one live table (E4): guarded updates of the reservation, a guarded delete.
var (
	reserveLive = move{stmts: []string{`
UPDATE live_postings SET reservation = @rid WHERE (transfer_id, idx) IN @ids AND reservation IS NULL`}}

	releaseLive = move{stmts: []string{`
UPDATE live_postings SET reservation = NULL WHERE (transfer_id, idx) IN @ids AND reservation = @rid`}}

	consumeLive = move{stmts: []string{`
DELETE FROM live_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid`}}

	deactivateLive = move{stmts: []string{`
DELETE FROM live_postings WHERE (transfer_id, idx) IN @ids AND reservation IS NULL`}}
)

// Moves on the mutable status column (E1): one guarded update an id, in the order given, in one transaction.
var (
	reserveStatus = move{eachID: true, stmts: []string{`
UPDATE postings SET status = 1, reservation = @rid WHERE (transfer_id, idx) IN @ids AND status = 0`}}

	releaseStatus = move{eachID: true, stmts: []string{`
UPDATE postings SET status = 0, reservation = NULL WHERE (transfer_id, idx) IN @ids AND status = 1 AND reservation = @rid`}}

	consumeStatus = move{eachID: true, stmts: []string{`
UPDATE postings SET status = 2, reservation = NULL WHERE (transfer_id, idx) IN @ids AND status = 1 AND reservation = @rid`}}

	deactivateStatus = move{eachID: true, stmts: []string{`
UPDATE postings SET status = 2 WHERE (transfer_id, idx) IN @ids AND status = 0`}}
)
