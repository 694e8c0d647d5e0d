package postings

import (
	"fmt"
	"slices"
	"strings"

	"simrun/sim"
)

// checkHonest (I16): a caller that was told "committed" finds its transfer stored, now and after any crash; one that was
// refused does not, unless somebody else submitted the same envelope.
func checkHonest(enc encoding) func(v sim.View) string {
	return func(v sim.View) string {
		l := ledgerOf(v, enc)
		if l.err != "" {
			return "the ledger cannot be read: " + l.err
		}
		submitted := map[any]int{}
		v.Facts(factTID, func(_ string, tid any) { submitted[tid]++ })
		violation := ""
		v.Facts(factOutcome, func(actor string, value any) {
			tid, ok := v.Fact(actor, factTID)
			if !ok || violation != "" {
				return
			}
			_, stored := l.T[tid.(string)]
			switch Outcome(value.(string)) {
			case Unknown, "":
			case Committed:
				if !stored {
					violation = fmt.Sprintf("%s was told that transfer %s is committed, but it is not stored", actor, tid)
				}
			default:
				if stored && submitted[tid] == 1 {
					violation = fmt.Sprintf("%s was told %q for transfer %s, but it is stored", actor, value, tid)
				}
			}
		})
		return violation
	}
}

// checkIntentKept (I16): the envelope that an actor submitted for an intent moves exactly that: each account gains and loses
// what the movements say, no more.
func checkIntentKept(enc encoding) func(v sim.View) string {
	return func(v sim.View) string {
		violation := ""
		v.Facts(factIntent, func(actor string, value any) {
			text, ok := v.Fact(actor, factEnvelope)
			if !ok || violation != "" {
				return
			}
			l := ledgerOf(v, enc)
			e, err := decodeEnvelopeOnce(text.(string))
			tid, _ := v.Fact(actor, factTID)
			if _, stored := l.T[fmt.Sprint(tid)]; !stored || err != nil {
				return
			}
			moves, err := decodeIntentOnce(value.(string))
			if err != nil {
				violation = fmt.Sprintf("%s: %v", actor, err)
				return
			}
			diff := &amounts{}
			for _, m := range moves {
				diff.add(holding{m.From, m.Asset}, m.Amount)
				diff.add(holding{m.To, m.Asset}, -m.Amount)
			}
			for _, in := range e.Consumes {
				diff.add(holding{l.P[in].Owner, l.P[in].Asset}, -l.P[in].Value)
			}
			for _, o := range e.Creates {
				diff.add(holding{o.Owner, o.Asset}, o.Value)
			}
			for _, h := range diff.order {
				if diff.sum[h] != 0 {
					violation = fmt.Sprintf("%s was asked for %q, and account %s got %+d more of asset %d", actor, value, h.Account, diff.sum[h], h.Asset)
					return
				}
			}
		})
		return violation
	}
}

// checkOneWinner (I14): no two processes were told that they made the same version of an account.
func checkOneWinner(v sim.View) string {
	by := map[any]string{}
	violation := ""
	v.Facts(factWon, func(actor string, value any) {
		if other, ok := by[value]; ok && violation == "" {
			violation = fmt.Sprintf("%s and %s were both told that they made %v", other, actor, value)
		}
		by[value] = actor
	})
	return violation
}

// checkPages (R1): without an order, pages of one result need not be disjoint.
func checkPages(v sim.View) string {
	violation := ""
	v.Facts(factPage, func(actor string, value any) {
		if ids := strings.Fields(value.(string)); !slices.IsSorted(ids) {
			violation = fmt.Sprintf("%s read a page in the order %v", actor, ids)
		}
	})
	return violation
}

// checkFeed (R2): the opening transfer is always there, and no account is indexed for it.
func checkFeed(v sim.View) string {
	violation := ""
	v.Facts(factFeed, func(actor string, value any) {
		if ids := strings.Fields(value.(string)); !slices.Contains(ids, genesis) {
			violation = fmt.Sprintf("%s read a feed without the transfer %s: %v", actor, genesis, ids)
		}
	})
	return violation
}
