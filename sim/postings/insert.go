package postings

import (
	"context"
	"slices"
)

// An insertion makes new postings and activates them. The gate matters: only a posting whose immutable row is new becomes
// active. A replay after the output was spent must not bring it back.
//
// Statement parameters: @rows. It returns how many immutable rows were new; the content of an existing row is not compared.
type insertion struct {
	// one is the single statement that does both for all rows, or "" when record and activate do it row by row.
	one string
	// record inserts one immutable row, activate its active copy; in one transaction for all rows unless apart.
	record, activate string
	ungated          bool // activate also when record found the row there (Z08)
	apart            bool // each statement is a transaction of its own (Z07)
}

func (i insertion) do(ctx context.Context, db session, rows []Posting) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	if i.one != "" && len(rows) <= maxBatch {
		return exec(ctx, db, i.one, rowsOf(rows))
	}
	inserted := 0
	if i.one != "" {
		return counted(&inserted, inTx(ctx, db, func(db session) error {
			for batch := range slices.Chunk(rows, maxBatch) {
				n, err := exec(ctx, db, i.one, rowsOf(batch))
				if err != nil {
					return err
				}
				inserted += n
			}
			return nil
		}))
	}
	body := func(db session) error {
		inserted = 0
		for r := range rows {
			n, err := exec(ctx, db, i.record, rowsOf(rows[r:r+1]))
			if err != nil {
				return err
			}
			inserted += n
			if i.activate == "" || n == 0 && !i.ungated {
				continue
			}
			if _, err := exec(ctx, db, i.activate, rowsOf(rows[r:r+1])); err != nil {
				return err
			}
		}
		return nil
	}
	if i.apart {
		return counted(&inserted, body(db))
	}
	return counted(&inserted, inTx(ctx, db, body))
}

func rowsOf(rows []Posting) named {
	return named{"rows": rows, "active_rows": newActive(rows)}
}

const (
	sqlRecordPosting   = `INSERT INTO postings (transfer_id, idx, owner, subaccount, asset, value) VALUES @rows ON CONFLICT DO NOTHING`
	sqlActivatePosting = `INSERT INTO active_postings (transfer_id, idx, owner, subaccount, asset, value) VALUES @rows ON CONFLICT DO NOTHING`
)

var (
	// insertIndex is both inserts in one statement: the rows that the first one returns are the new ones.
	insertIndex = insertion{one: `
WITH new AS (
    INSERT INTO postings (transfer_id, idx, owner, subaccount, asset, value) VALUES @rows ON CONFLICT DO NOTHING RETURNING *)
INSERT INTO active_postings SELECT * FROM new ON CONFLICT DO NOTHING`}

	// insertIndexRowwise is what E2 and E3 shipped: two statements a row, one transaction.
	insertIndexRowwise = insertion{record: sqlRecordPosting, activate: sqlActivatePosting}

	insertLive = insertion{
		record:   sqlRecordPosting,
		activate: `INSERT INTO live_postings (transfer_id, idx, owner, subaccount, asset, value) VALUES @rows ON CONFLICT DO NOTHING`,
	}

	insertStatus = insertion{one: `
INSERT INTO postings (transfer_id, idx, owner, subaccount, asset, value, status) VALUES @active_rows ON CONFLICT DO NOTHING`}
)
