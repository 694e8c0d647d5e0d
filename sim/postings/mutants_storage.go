package postings

import (
	"context"

	"simrun/sim"
)

// mutantsStorage are bugs of the primitives (section 5.1 of the catalogue).
func mutantsStorage() []mutant {
	return []mutant{
		{
			Mutant: sim.Mutant{
				Name: "check-then-act", ID: "Z03", Breaks: []string{"no-double-spend", "ownership", "one-state"},
				Doc: "reserve looks which postings are active and then moves them by key alone; it happened before E1",
			},
			scenarios: []string{"postings/claim", "postings/bank"},
			edit:      func(p *program) { p.reserve, p.grants = reserveCheckThenAct, grantUpdateReserved },
		},
		{
			Mutant: sim.Mutant{
				Name: "reserve-steals", ID: "Z04", Breaks: []string{"ownership", "no-double-spend"},
				Doc: "reserve takes postings that another saga has reserved",
			},
			scenarios: []string{"postings/claim", "postings/bank"},
			edit:      func(p *program) { p.reserve, p.grants = reserveSteals, grantUpdateReserved },
		},
		{
			Mutant: sim.Mutant{
				Name: "release-ignores-owner", ID: "Z09", Breaks: []string{"ownership"},
				Doc: "release gives back postings whoever has reserved them, so a loser's compensation frees the winner's inputs",
			},
			scenarios: []string{"postings/claim", "postings/bank"},
			edit:      func(p *program) { p.release = releaseAnyOwner },
		},
	}
}

// grantUpdateReserved is what a reserve that overwrites reservations needs. The roles as granted refuse it with 42501.
const grantUpdateReserved = `GRANT UPDATE ON reserved_postings TO ledger_commit;
`

var (
	// reserveCheckThenAct: the first statement looks, the others act on what it saw by key alone, in transactions of their own.
	reserveCheckThenAct = move{by: func(ctx context.Context, db session, ids []PostingID, rid int64) (int, error) {
		free, err := found(ctx, db, `SELECT transfer_id, idx FROM active_postings WHERE (transfer_id, idx) IN @ids`, named{"ids": ids})
		if err != nil || len(free) == 0 {
			return 0, err
		}
		_, err = exec(ctx, db, `
INSERT INTO reserved_postings
SELECT transfer_id, idx, owner, subaccount, asset, value, @rid::bigint FROM postings WHERE (transfer_id, idx) IN @ids
ON CONFLICT (transfer_id, idx) DO UPDATE SET reservation = excluded.reservation`, named{"ids": free, "rid": rid})
		if err != nil {
			return 0, err
		}
		_, err = exec(ctx, db, `DELETE FROM active_postings WHERE (transfer_id, idx) IN @ids`, named{"ids": free})
		return len(free), err
	}}

	reserveSteals = move{stmts: []string{`
WITH stolen AS (
    UPDATE reserved_postings SET reservation = @rid WHERE (transfer_id, idx) IN @ids),
claimed AS (
    DELETE FROM active_postings WHERE (transfer_id, idx) IN @ids RETURNING *)
INSERT INTO reserved_postings
SELECT transfer_id, idx, owner, subaccount, asset, value, @rid::bigint FROM claimed`}}

	releaseAnyOwner = move{stmts: []string{`
WITH freed AS (
    DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids RETURNING *)
INSERT INTO active_postings
SELECT transfer_id, idx, owner, subaccount, asset, value FROM freed`}}
)
