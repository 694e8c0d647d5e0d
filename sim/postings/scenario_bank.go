package postings

import (
	"context"
	"fmt"
	"slices"

	"simrun/sim"
)

func init() {
	register("postings/bank",
		"a swarm: each seed draws a few of all the actors, accounts and faults of the other scenarios",
		variantRepaired,
		[]sim.Param{
			{Name: "actors", Doc: "most actors that a seed draws", Default: 4, Min: 2, Max: 6},
			{Name: "faults", Doc: "most faults of each kind that a seed draws", Default: 1, Min: 0, Max: 2},
			{Name: "repeatable-read", Doc: "1: sessions default to REPEATABLE READ", Default: 0, Min: 0, Max: 1},
		}, buildBank)
}

// buildBank: alice pays, bob receives and passes on, carol may owe 100, dave is created by whoever comes first.
func buildBank(w *world) {
	r := w.cfg.Rand
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	w.open.account(carol, Policy{Kind: "capped", Floor: -100}, 0)
	p, q := w.open.posting(alice, usd, 60), w.open.posting(alice, usd, 40)
	w.open.posting(carol, usd, 20)
	w.open.posting(alice, eur, 7)

	budget := func() int { return r.IntN(w.cfg.Params["faults"] + 1) }
	w.faults = sim.Faults{Crash: budget(), ConnLost: budget(), CommitUnknown: budget(), Cancel: budget()}
	w.restarts = w.faults.Crash

	kinds := w.bankKinds(p, q)
	n := 2 + r.IntN(w.cfg.Params["actors"]-1)
	picked := r.Perm(len(kinds))[:min(n, len(kinds))]
	slices.Sort(picked) // equal sets make equal setups
	for _, k := range picked {
		w.add(kinds[k].name, kinds[k].make(w.process()))
	}
	w.linear = true
	w.witnesses = []string{"committed", "compensated", "refused: input taken", "refused: insufficient funds", "refused: frozen account",
		"refused: closed account", "refused: stale snapshot", "refused: below the floor", "freeze: done", "unfreeze: done", "close: done", "close: refused: live postings",
		"created", "reversed", "recovered: reserving, committed", "recovered: reserving, aborted"}
}

// kind is an actor that a seed may draw.
type kind struct {
	name string
	make func(pr process) sim.Actor
}

func (w *world) bankKinds(p, q PostingID) []kind {
	both := payment("pay both", alice, bob, p, 100)
	both.Consumes = append(both.Consumes, q)
	// Both clients of the deposit submit one envelope. Left to pin for themselves they may pin different versions, and the
	// snapshots are part of the identity: then it would be two transfers, in every variant.
	in := deposit(external, bob, usd, 5, "deposit")
	in.Snapshots = []Snapshot{{bob, 1}, {external, 1}}
	pay := func(memo string, moves ...Movement) func(process) sim.Actor {
		return func(pr process) sim.Actor { return payer(pr, memo, moves...) }
	}
	claim := func(env Envelope) func(process) sim.Actor {
		return func(pr process) sim.Actor { return claimer(pr, env) }
	}
	change := func(t transition, id AccountID) func(process) sim.Actor {
		return func(pr process) sim.Actor { return transit(pr, t, id) }
	}
	read := func(of ...holding) func(process) sim.Actor {
		return func(pr process) sim.Actor { return reader(pr, of...) }
	}
	return []kind{
		{"pay-60", claim(payment("pay 60", alice, bob, p, 60))},
		{"pay-60-again", claim(payment("pay 60 again", alice, bob, p, 60))},
		{"pay-both", claim(both)},
		{"pay-55", pay("pay 55", Movement{alice, bob, usd, 55})},
		{"pay-two-assets", pay("pay two assets", Movement{alice, bob, usd, 10}, Movement{alice, carol, eur, 3})},
		{"pass-on", pay("pass on", Movement{bob, carol, usd, 30})},
		{"owe-90", pay("owe 90", Movement{carol, bob, usd, 90})},
		{"owe-80", pay("owe 80", Movement{carol, alice, usd, 80})},
		{"owe-130", pay("owe 130", Movement{carol, bob, usd, 130})}, // too much, unless bob passed on first
		{"deposit", claim(in)},
		{"deposit-again", claim(in)},
		{"pay-and-reverse", func(pr process) sim.Actor { return payAndReverse(pr, payment("pay 40", alice, carol, q, 40)) }},
		{"freeze-bob", change(freeze, bob)},
		{"unfreeze-bob", change(unfreeze, bob)},
		{"freeze-alice", change(freeze, alice)},
		{"close-bob", change(closeDown, bob)},
		{"close-alice", change(closeDown, alice)},
		{"create-dave", func(pr process) sim.Actor { return creator(pr, Account{AccountID: dave, Policy: noOverdraft}) }},
		{"create-dave-too", func(pr process) sim.Actor { return creator(pr, Account{AccountID: dave, Policy: noOverdraft}) }},
		{"recoverer", func(pr process) sim.Actor { return recoverer(pr, 2) }},
		{"recoverer-too", func(pr process) sim.Actor { return recoverer(pr, 1) }},
		{"read-bob", read(holding{bob, usd}, holding{bob, usd})},
		{"read-all", read(holding{alice, usd}, holding{bob, usd}, holding{carol, usd})},
	}
}

// payAndReverse commits a payment and then takes it back.
func payAndReverse(pr process, env Envelope) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		ids := pr.idSource(ctx)
		if sim.Attempt(ctx) > 0 {
			pr.recoverSelf(ctx, db, ids)
			return nil
		}
		tid, out := pr.commitAs(ctx, db, ids, env)
		if out == Committed {
			back, err := pr.p.reverse(ctx, db, tid)
			if err != nil {
				return fmt.Errorf("plan the reversal of %s: %w", tid, err)
			}
			if out = pr.commit(ctx, db, ids, back); out == Committed {
				sim.Witness(ctx, "reversed")
			}
		}
		if out == Unknown {
			pr.recoverSelf(ctx, db, ids)
		}
		return nil
	})
}
