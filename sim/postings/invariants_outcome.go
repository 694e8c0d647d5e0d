package postings

import (
	"fmt"

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
		submitted := map[string]int{}
		v.Facts(factEnvelope, func(_ string, value any) {
			if e, err := decodeEnvelopeOnce(value.(string)); err == nil {
				submitted[e.ID()]++
			}
		})
		violation := ""
		v.Facts(factOutcome, func(actor string, value any) {
			text, ok := v.Fact(actor, factEnvelope)
			if !ok || violation != "" {
				return
			}
			e, err := decodeEnvelopeOnce(text.(string))
			if err != nil {
				violation = fmt.Sprintf("%s submitted an envelope that cannot be read: %v", actor, err)
				return
			}
			tid := e.ID()
			_, stored := l.T[tid]
			switch Outcome(value.(string)) {
			case Unknown:
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
