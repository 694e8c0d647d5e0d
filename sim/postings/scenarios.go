package postings

import (
	"context"
	"fmt"
	"slices"

	"simrun/sim"
)

// register makes a scenario known. def is the variant that must hold in it; it becomes the default.
func register(name, doc, def string, params []sim.Param, build func(w *world)) {
	order := slices.DeleteFunc(variants(), func(v string) bool { return v == def })
	sim.Register(&sim.Scenario{
		Name: name, Doc: doc, Variants: append([]string{def}, order...), Mutants: mutantsOf(name), Params: params,
		Build: func(cfg sim.Config) (*sim.Setup, error) {
			w, err := newWorld(cfg)
			if err != nil {
				return nil, err
			}
			build(w)
			return w.setup(), nil
		},
	})
}

func init() {
	register("postings/claim",
		"sagas that reserve, consume and create over overlapping sets of postings; at most one wins each posting",
		variantSeed,
		append([]sim.Param{
			{Name: "sagas", Doc: "concurrent sagas", Default: 3, Min: 1, Max: 4},
			{Name: "postings", Doc: "postings of the payer", Default: 2, Min: 1, Max: 3},
		}, faultParams(0, 0, 0)...), buildClaim)
	register("postings/saga-crash-recover",
		"overlapping sagas whose processes crash and, started again, recover what they left; another account spends their outputs",
		variantSeed, faultParams(1, 0, 0), buildCrash)
	register("postings/saga-errors",
		"overlapping sagas that lose connections and answers, and recover their own records",
		variantMended, faultParams(0, 1, 1), buildCrash)
	register("postings/two-recoverers",
		"recoverers that take up every record, beside each other and beside live workers",
		variantRepaired, append([]sim.Param{{Name: "recoverers", Doc: "recoverers", Default: 2, Min: 1, Max: 3}}, faultParams(1, 0, 0)...), buildRecoverers)
	register("postings/same-rid",
		"processes that mint reservation ids from the clock and a counter alone, in the same millisecond",
		variantRepaired, faultParams(0, 0, 0), buildSameRID)
	register("postings/retry",
		"two clients submit the same deposit and the same payment, one of them without saying who pays",
		variantSeed, faultParams(1, 0, 0), buildRetry)
	register("postings/pay",
		"payments that are resolved from what the payer can spend, beside a reader of its balance",
		variantSeed, faultParams(0, 0, 0), buildPay)
	register("postings/lone-saga",
		"one saga, its crash and its recovery: nobody else spends the input",
		variantSeed, faultParams(1, 0, 0), buildLone)
	register("postings/late-payer",
		"a payment is planned while another saga holds the larger of the payer's postings",
		variantSeed, faultParams(0, 0, 0), buildLate)
	register("postings/reads",
		"an account's postings are read in pages and all transfers as a feed, beside a deposit and a payment",
		variantSeed, faultParams(0, 0, 0), buildReads)
	register("postings/reverse",
		"a payment is reversed while its payee spends what it got",
		variantSeed, faultParams(0, 0, 0), buildReverse)
}

// one pays an id of known value to somebody in one posting.
func payment(memo string, from, to AccountID, in PostingID, value int64) Envelope {
	return Envelope{Memo: memo, Consumes: []PostingID{in}, Creates: []Output{{Owner: to, Asset: usd, Value: value, Payer: from}}}
}

// buildClaim: alice holds a few postings; the first saga pays bob with all of them, the others pay bob with one each, in turn.
func buildClaim(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	all := Envelope{Memo: "all"}
	var each []Envelope
	for i := range w.cfg.Params["postings"] {
		value := int64(10 * (i + 1))
		id := w.open.posting(alice, usd, value)
		all.Consumes = append(all.Consumes, id)
		all.Creates = append(all.Creates, Output{Owner: bob, Asset: usd, Value: value, Payer: alice})
		each = append(each, payment("only "+id.String(), alice, bob, id, value))
	}
	for i := range w.cfg.Params["sagas"] {
		env := all
		if i > 0 {
			env = each[(i-1)%len(each)]
			env.Memo = fmt.Sprintf("%s by %d", env.Memo, i+1)
		}
		w.add(fmt.Sprintf("saga-%d", i+1), claimer(w.process(), env))
	}
	w.witnesses = []string{"committed"}
	if w.cfg.Params["sagas"] > 1 {
		w.witnesses = append(w.witnesses, "refused: input taken", "compensated")
	}
}

// buildCrash: two sagas want alice's first posting, one of them also her second; carol's saga spends what bob got.
func buildCrash(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.open.account(carol, noOverdraft, 0)
	p, q := w.open.posting(alice, usd, 60), w.open.posting(alice, usd, 40)
	w.add("pay-60", claimer(w.process(), payment("pay 60", alice, bob, p, 60)))
	both := payment("pay 100", alice, bob, p, 100)
	both.Consumes = append(both.Consumes, q)
	w.add("pay-100", claimer(w.process(), both))
	w.add("spend", payer(w.process(), "spend", Movement{bob, carol, usd, 60}))
	w.witnesses = []string{"committed", "refused: input taken", "refused: insufficient funds"}
	if w.faults.Crash+w.faults.ConnLost+w.faults.CommitUnknown > 0 {
		w.witnesses = append(w.witnesses, "recovered: reserving, committed", "compensated")
		if w.p.rollOnly || w.cfg.Variant != variantRepaired {
			w.witnesses = append(w.witnesses, "recovered: finalizing, committed", "recovered: stored")
		}
	}
}

// buildRecoverers: two sagas over one posting, and recoverers that do not ask whose records they find.
func buildRecoverers(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	p := w.open.posting(alice, usd, 60)
	for i := range 2 {
		w.add(fmt.Sprintf("pay-%d", i+1), claimer(w.process(), payment(fmt.Sprintf("pay %d", i+1), alice, bob, p, 60)))
	}
	for i := range w.cfg.Params["recoverers"] {
		w.add(fmt.Sprintf("recoverer-%d", i+1), recoverer(w.process(), 2))
	}
	w.linear = true
	w.witnesses = []string{"committed", "refused: input taken"}
}

// buildSameRID: the claim scenario's race, with ids that collide.
func buildSameRID(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.p.clockIDs = true
	p, q := w.open.posting(alice, usd, 60), w.open.posting(alice, usd, 40)
	w.add("pay-1", claimer(w.process(), payment("pay 1", alice, bob, p, 60)))
	w.add("pay-2", claimer(w.process(), payment("pay 2", alice, bob, p, 60)))
	w.add("pay-3", claimer(w.process(), payment("pay 3", alice, bob, q, 40)))
	w.witnesses = []string{"committed", "refused: input taken"}
}

// buildRetry: what two clients ask for is one thing, and is done once.
func buildRetry(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	p := w.open.posting(alice, usd, 60)
	in, pay := deposit(external, alice, usd, 5, "deposit"), payment("pay", alice, bob, p, 60)
	w.add("deposit-1", claimer(w.process(), in))
	w.add("pay-1", claimer(w.process(), pay))
	in.Creates = slices.Clone(in.Creates)
	in.Creates[1].Payer = AccountID{}
	w.add("deposit-2", claimer(w.process(), in))
	w.add("pay-2", claimer(w.process(), pay))
	w.witnesses = []string{"committed", "refused: input taken"}
}

// buildPay: alice has 60 and 40 and pays 60, 40 and 30; they do not all fit.
func buildPay(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.open.posting(alice, usd, 60)
	w.open.posting(alice, usd, 40)
	for _, amount := range []int64{60, 40, 30} {
		memo := fmt.Sprintf("pay %d", amount)
		w.add(memo, payer(w.process(), memo, Movement{alice, bob, usd, amount}))
	}
	w.witnesses = []string{"committed", "refused: input taken", "refused: insufficient funds"}
}

// buildReverse: alice pays bob and takes it back; bob pays carol meanwhile.
func buildReverse(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.open.account(carol, noOverdraft, 0)
	p := w.open.posting(alice, usd, 60)
	w.add("pay-and-reverse", payAndReverse(w.process(), payment("pay", alice, bob, p, 60)))
	w.add("spend", payer(w.process(), "spend", Movement{bob, carol, usd, 60}))
	w.witnesses = []string{"committed", "reversed", "refused: input taken", "refused: insufficient funds"}
}

// buildLone: alice pays bob; whoever recovers that is the same process.
func buildLone(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.add("pay", claimer(w.process(), payment("pay", alice, bob, w.open.posting(alice, usd, 60), 60)))
	w.witnesses = []string{"committed"}
	if w.faults.Crash > 0 {
		w.witnesses = append(w.witnesses, "recovered: reserving, committed")
	}
}

// buildLate: the late payer plans only when it sees that something of alice is reserved; what is left is enough for it.
func buildLate(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	p := w.open.posting(alice, usd, 60)
	w.open.posting(alice, usd, 40)
	w.add("holder", claimer(w.process(), payment("pay 60", alice, bob, p, 60)))
	late := w.process()
	w.add("late", sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		held, err := late.p.ofAccount(ctx, db, alice, usd, FilterReserved)
		if err != nil || len(held) == 0 {
			return err
		}
		sim.Witness(ctx, "saw it held")
		return payer(late, "pay 40", Movement{alice, bob, usd, 40}).Run(ctx, db)
	}))
	w.witnesses = []string{"committed", "saw it held"}
}

// buildReads: bob's postings come from transfers whose ids are before and after each other in no order of time.
func buildReads(w *world) {
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	p := w.open.posting(alice, usd, 60)
	w.open.posting(bob, usd, 1)
	w.open.posting(bob, usd, 2)
	w.add("deposit", claimer(w.process(), deposit(external, bob, usd, 5, "deposit")))
	w.add("pay", claimer(w.process(), payment("pay", alice, bob, p, 60)))
	w.add("reader", pager(w.process(), bob))
	w.reads = true
	w.witnesses = []string{"committed", "a page of what is new", "a feed of what is new"}
}
