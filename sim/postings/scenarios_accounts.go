package postings

import (
	"context"
	"fmt"

	"simrun/sim"
)

func init() {
	register("postings/freeze",
		"a payment, its crash and recovery, beside a freeze of the payee; whoever froze it then reads the balance",
		variantRepaired, faultParams(1, 0, 0), buildFreeze)
	register("postings/close-deposit",
		"accounts are closed while a deposit arrives at one and a payment leaves the other",
		variantRepaired, faultParams(0, 0, 0), buildClose)
	register("postings/accounts",
		"transitions of one account and creations of another race for the next version",
		variantSeed, faultParams(0, 0, 0), buildAccounts)
	register("postings/overdraft",
		"payments out of an account that may owe down to a floor, beside a reader of its balance",
		variantRepaired, faultParams(0, 0, 0), buildOverdraft)
	register("postings/rules",
		"envelopes that each break one rule, and a valid one",
		variantSeed, faultParams(0, 0, 0), buildRules)
}

// buildFreeze: after the freeze has returned and the balance was read without the payment, nothing may arrive.
func buildFreeze(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	p := w.open.posting(alice, usd, 60)
	w.add("pay", claimer(w.process(), payment("pay", alice, bob, p, 60)))
	f := w.process()
	w.add("freezer", sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		if sim.Attempt(ctx) == 0 && f.transit(ctx, db, f.idSource(ctx), freeze, bob) == Committed {
			f.readBalance(ctx, db, holding{bob, usd})
		}
		return nil
	}))
	w.add("pay-again", claimer(w.process(), payment("pay again", alice, bob, p, 60)))
	w.linear = true
	w.witnesses = []string{"committed", "refused: frozen account", "freeze: done", "refused: input taken"}
	if w.faults.Crash > 0 {
		w.witnesses = append(w.witnesses, "recovered: reserving, committed", "recovered: reserving, aborted")
	}
}

// buildClose: bob has nothing and is closed while a deposit arrives; alice is closed while her only posting is on its way.
func buildClose(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.open.account(carol, noOverdraft, 0)
	p := w.open.posting(alice, usd, 60)
	w.add("deposit", claimer(w.process(), deposit(external, bob, usd, 5, "deposit")))
	w.add("close-bob", transit(w.process(), closeDown, bob))
	w.add("pay", claimer(w.process(), payment("pay", alice, carol, p, 60)))
	w.add("close-alice", transit(w.process(), closeDown, alice))
	w.linear = true
	w.witnesses = []string{"committed", "refused: closed account", "close: done", "close: refused: live postings"}
}

// buildAccounts: alice has user flags, the sign bit among them, which every transition must carry on.
func buildAccounts(w *world) {
	const userFlags = 1<<8 | -1<<31
	w.open.account(alice, noOverdraft, userFlags)
	w.add("freeze-1", transit(w.process(), freeze, alice))
	w.add("freeze-2", transit(w.process(), freeze, alice))
	w.add("close", transit(w.process(), closeDown, alice))
	for i := range 2 {
		w.add(fmt.Sprintf("create-%d", i+1), creator(w.process(), Account{AccountID: dave, Policy: noOverdraft}))
	}
	w.witnesses = []string{"freeze: done", "close: done", "freeze: refused: closed account", "freeze: refused: version conflict", "created", "existed"}
}

// buildOverdraft: carol has 20 and may owe 100; two payments of 90 do not both fit.
func buildOverdraft(w *world) {
	w.open.account(carol, Policy{Kind: "capped", Floor: -100}, 0)
	w.open.account(bob, noOverdraft, 0)
	w.open.posting(carol, usd, 20)
	for i := range 2 {
		w.add(fmt.Sprintf("pay-%d", i+1), payer(w.process(), fmt.Sprintf("pay %d", i+1), Movement{carol, bob, usd, 90}))
	}
	w.add("reader", reader(w.process(), holding{carol, usd}, holding{bob, usd}))
	w.linear = true
	w.witnesses = []string{"committed", "refused: below the floor"}
}

// buildRules: two callers each choose an envelope.
func buildRules(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.open.account(carol, noOverdraft, FlagFrozen)
	w.open.account(dave, noOverdraft, FlagClosed)
	w.open.account(erin, Policy{Kind: "capped", Floor: -100}, 0)
	p := w.open.posting(alice, usd, 10)
	q := w.open.posting(alice, usd, 30)
	to := func(owner AccountID, asset Asset, value int64) Output {
		return Output{Owner: owner, Asset: asset, Value: value, Payer: alice}
	}
	const huge = 1<<63 - 1
	envelopes := []Envelope{
		{Memo: "valid", Consumes: []PostingID{p}, Creates: []Output{to(bob, usd, 10)}},
		{Memo: "empty"},
		{Memo: "twice", Consumes: []PostingID{p, p}, Creates: []Output{to(bob, usd, 20)}},
		{Memo: "other asset", Consumes: []PostingID{p}, Creates: []Output{to(bob, eur, 10)}},
		{Memo: "more", Consumes: []PostingID{p}, Creates: []Output{to(bob, usd, 11)}},
		{Memo: "overflow", Creates: []Output{to(bob, usd, huge), to(bob, usd, huge), to(bob, usd, 2)}},
		{Memo: "negative", Consumes: []PostingID{q}, Creates: []Output{to(bob, usd, 40), to(alice, usd, -10)}},
		{Memo: "nobody", Consumes: []PostingID{p}, Creates: []Output{to(AccountID{ID: 77}, usd, 10)}},
		{Memo: "frozen", Consumes: []PostingID{p}, Creates: []Output{to(carol, usd, 10)}},
		{Memo: "closed", Consumes: []PostingID{p}, Creates: []Output{to(dave, usd, 10)}},
		{Memo: "stale", Consumes: []PostingID{p}, Creates: []Output{to(bob, usd, 10)}, Snapshots: []Snapshot{{bob, 7}}},
	}
	for i := range 2 {
		pr := w.process()
		w.add(fmt.Sprintf("caller-%d", i+1), worker(pr, func(ctx context.Context, _ sim.DB) (Envelope, error) {
			return envelopes[sim.Choose(ctx, "envelope", len(envelopes))], nil
		}))
	}
	pr := w.process()
	w.add("payer", payer(pr, "pay", Movement{alice, bob, usd, 25}))
	w.add("owe", payer(w.process(), "owe", Movement{erin, bob, usd, 5}))
	w.add("poor", payer(w.process(), "beyond", Movement{bob, alice, usd, 1000}))
	w.witnesses = []string{"committed", "refused: empty", "refused: duplicate input", "refused: not conserved", "refused: negative posting",
		"refused: unknown account", "refused: frozen account", "refused: closed account", "refused: stale snapshot", "refused: insufficient funds"}
}
