package postings

import (
	"context"
	"slices"

	"simrun/sim"
)

// mutantsStorage are bugs of the primitives (section 5.1 of the catalogue). Their SQL is that of two index tables.
func mutantsStorage() []mutant {
	claim := []string{"postings/claim", "postings/bank"}
	crash := []string{"postings/saga-crash-recover"}
	return []mutant{
		{
			Mutant: sim.Mutant{
				Name: "check-then-act", ID: "Z03", Breaks: []string{"no-double-spend", "ownership", "one-state"},
				Doc: "reserve looks which postings are active and then moves them by key alone; so it was before E1",
			},
			scenarios: claim,
			edit:      func(p *program) { p.reserve, p.grants = reserveCheckThenAct, grantUpdateReserved },
		},
		{
			Mutant: sim.Mutant{
				Name: "reserve-steals", ID: "Z04", Breaks: []string{"ownership", "no-double-spend"},
				Doc: "reserve takes postings that another saga has reserved",
			},
			scenarios: append(slices.Clone(claim), "postings/late-payer"),
			edit:      func(p *program) { p.reserve, p.grants = reserveSteals, grantUpdateReserved },
		},
		{
			Mutant: sim.Mutant{
				Name: "reserve-in-two-transactions", ID: "Z05", Breaks: []string{"ownership", "conservation", "spent-has-spender"},
				Doc: "the delete from active and the insert into reserved commit separately",
			},
			scenarios: append([]string{"postings/claim"}, crash...),
			edit:      func(p *program) { p.reserve = reserveApart },
		},
		{
			Mutant: sim.Mutant{
				Name: "release-in-two-transactions", ID: "Z06", Breaks: []string{"conservation", "spent-has-spender"},
				Doc: "the delete from reserved and the insert into active commit separately",
			},
			scenarios: append([]string{"postings/claim"}, crash...),
			edit:      func(p *program) { p.release = releaseApart },
		},
		{
			Mutant: sim.Mutant{
				Name: "insert-in-two-transactions", ID: "Z07", Breaks: []string{"conservation", "spent-has-spender"},
				Doc: "a crash between the immutable row and its activation leaves the posting spent: the gate of the replay never activates it",
			},
			scenarios: append([]string{"postings/claim"}, crash...),
			edit: func(p *program) {
				p.insert = insertion{record: sqlRecordPosting, activate: sqlActivatePosting, apart: true}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "ungated-activation", ID: "Z08", Breaks: []string{"lifecycle", "conservation", "ownership"},
				Doc: "a replay activates outputs that were recorded before, and so brings back spent ones",
			},
			scenarios: crash,
			edit: func(p *program) {
				p.insert = insertion{record: sqlRecordPosting, activate: sqlActivatePosting, ungated: true}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "release-ignores-owner", ID: "Z09", Breaks: []string{"ownership"},
				Doc: "release gives back postings whoever has reserved them, so a loser's compensation frees the winner's inputs",
			},
			scenarios: []string{"postings/claim"},
			edit:      func(p *program) { p.release = releaseAnyOwner },
		},
		{
			Mutant: sim.Mutant{
				Name: "consume-ignores-owner", ID: "Z10", Breaks: []string{"ownership"}, Masked: true, Pair: "reserve-count-ignored",
				Doc: "finalize spends postings whoever has reserved them; the claim's count keeps it from meeting others' reservations",
			},
			scenarios: []string{"postings/claim"},
			edit: func(p *program) {
				p.consume = move{stmts: []string{`DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids`}}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "consume-takes-active", ID: "Z11", Breaks: []string{"ownership", "conservation"}, Masked: true, Pair: "recovery-skips-reserve",
				Doc: "finalize also spends active postings, which no saga holds; the claim keeps it from meeting any",
			},
			scenarios: []string{"postings/lone-saga"},
			edit: func(p *program) {
				p.consume = move{stmts: []string{`
WITH held AS (
    DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid RETURNING transfer_id, idx),
free AS (
    DELETE FROM active_postings WHERE (transfer_id, idx) IN @ids RETURNING transfer_id, idx)
SELECT transfer_id, idx FROM held UNION ALL SELECT transfer_id, idx FROM free`}}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "release-from-record", ID: "Z13", Breaks: []string{"lifecycle", "conservation", "one-state", "ownership"},
				Doc: "release activates the postings as the immutable table has them, spent or not",
			},
			scenarios: []string{"postings/claim"},
			edit:      func(p *program) { p.release = releaseFromRecord },
		},
		{
			Mutant: sim.Mutant{
				Name: "copy-drifts", ID: "Z14", Breaks: []string{"faithful-copies", "conservation"},
				Doc: "the active copy of a new posting has another value than its immutable row",
			},
			scenarios: []string{"postings/claim", "postings/bank"},
			edit: func(p *program) {
				p.insert = insertion{one: `
WITH new AS (
    INSERT INTO postings (transfer_id, idx, owner, subaccount, asset, value) VALUES @rows ON CONFLICT DO NOTHING RETURNING *)
INSERT INTO active_postings SELECT transfer_id, idx, owner, subaccount, asset, '1' || value FROM new ON CONFLICT DO NOTHING`}
			},
		},
		{
			Mutant: sim.Mutant{
				Name: "count-of-ids", ID: "Z15", Breaks: []string{"no-double-spend", "conservation"},
				Doc: "reserve returns how many ids it was given, not how many it moved",
			},
			scenarios: []string{"postings/claim"},
			edit: func(p *program) {
				inner := p.reserve
				p.reserve = move{by: func(ctx context.Context, db session, ids []PostingID, rid int64) (int, error) {
					_, err := inner.do(ctx, db, ids, rid)
					return len(ids), err
				}}
			},
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

	reserveApart = apart(`DELETE FROM active_postings WHERE (transfer_id, idx) IN @ids RETURNING transfer_id, idx`, `
INSERT INTO reserved_postings
SELECT transfer_id, idx, owner, subaccount, asset, value, @rid::bigint FROM postings WHERE (transfer_id, idx) IN @ids`)

	releaseApart = apart(`
DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid RETURNING transfer_id, idx`, `
INSERT INTO active_postings
SELECT transfer_id, idx, owner, subaccount, asset, value FROM postings WHERE (transfer_id, idx) IN @ids`)

	releaseAnyOwner = move{stmts: []string{`
WITH freed AS (
    DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids RETURNING *)
INSERT INTO active_postings
SELECT transfer_id, idx, owner, subaccount, asset, value FROM freed`}}

	releaseFromRecord = move{counted: 1, stmts: []string{`
DELETE FROM reserved_postings WHERE (transfer_id, idx) IN @ids AND reservation = @rid`, `
INSERT INTO active_postings
SELECT transfer_id, idx, owner, subaccount, asset, value FROM postings WHERE (transfer_id, idx) IN @ids
ON CONFLICT DO NOTHING`}}
)

// apart is a move whose delete and insert commit separately: the delete returns the ids that the insert then takes.
func apart(del, insert string) move {
	return move{by: func(ctx context.Context, db session, ids []PostingID, rid int64) (int, error) {
		taken, err := found(ctx, db, del, named{"ids": ids, "rid": rid})
		if err != nil || len(taken) == 0 {
			return 0, err
		}
		return exec(ctx, db, insert, named{"ids": taken, "rid": rid})
	}}
}
