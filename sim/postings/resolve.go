package postings

import (
	"cmp"
	"context"
	"slices"
)

// Movement is an intent: Amount units of Asset from one account to another.
type Movement struct {
	From, To AccountID
	Asset    Asset
	Amount   int64
}

// resolve plans movements: it chooses inputs and gives the envelope, without snapshots. It only reads, and nothing of what it
// reads is protected: the claim decides.
//
// First pass: one output a movement, net debits by payer and asset. Second pass, by account and asset: take active postings,
// largest first, until the debit is covered, and give the excess back; or, when they do not cover it and the payer may
// overdraw, consume all and create one negative posting for the shortfall.
func (p *program) resolve(ctx context.Context, db session, memo string, moves []Movement) (Envelope, error) {
	env := Envelope{Memo: memo}
	debits := map[holding]int64{}
	var payers []holding
	for _, m := range moves {
		env.Creates = append(env.Creates, Output{Owner: m.To, Asset: m.Asset, Value: m.Amount, Payer: m.From})
		from := holding{m.From, m.Asset}
		if !slices.Contains(payers, from) {
			payers = append(payers, from)
		}
		if m.From != m.To { // a movement to oneself, as in a deposit's two legs, debits nobody
			debits[from] += m.Amount
		}
	}
	slices.SortFunc(payers, func(a, b holding) int {
		return cmp.Or(a.Account.compare(b.Account), cmp.Compare(a.Asset, b.Asset))
	})
	for _, payer := range payers {
		debit := debits[payer]
		if debit <= 0 {
			continue
		}
		spendable, err := p.ofAccount(ctx, db, payer.Account, payer.Asset, p.selectOver)
		if err != nil {
			return env, err
		}
		spendable = slices.DeleteFunc(spendable, func(s Posting) bool { return s.Value <= 0 })
		slices.SortStableFunc(spendable, func(a, b Posting) int { return cmp.Compare(b.Value, a.Value) })
		covered := int64(0)
		for _, s := range spendable {
			if covered >= debit {
				break
			}
			covered += s.Value
			env.Consumes = append(env.Consumes, s.ID)
		}
		switch {
		case covered > debit:
			env.Creates = append(env.Creates, Output{Owner: p.changeOwner(payer.Account, moves), Asset: payer.Asset, Value: covered - debit})
		case covered < debit:
			a, err := p.accounts(ctx, db, []AccountID{payer.Account})
			if err != nil {
				return env, err
			}
			if len(a) == 0 || !p.mayOverdraw(a[0].Policy) {
				return env, RefusedFunds
			}
			env.Creates = append(env.Creates, Output{Owner: payer.Account, Asset: payer.Asset, Value: p.shortfall(debit - covered)})
		}
	}
	return env, nil
}

// deposit plans value that comes from outside: the external account owes it. It consumes nothing.
func deposit(external, to AccountID, asset Asset, amount int64, memo string) Envelope {
	return Envelope{Memo: memo, Creates: []Output{
		{Owner: external, Asset: asset, Value: -amount},
		{Owner: to, Asset: asset, Value: amount, Payer: external},
	}}
}

// involvedAccounts are the owners of created and consumed postings, sorted: what a transfer is indexed under.
func involvedAccounts(e Envelope, inputs []Posting) []AccountID {
	owners := e.createdOwners()
	for _, in := range inputs {
		owners = append(owners, in.Owner)
	}
	return sortedAccounts(owners)
}
