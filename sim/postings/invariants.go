package postings

import "simrun/sim"

// catalogue is every invariant, in the order of the digest, for an encoding.
func catalogue(enc encoding, exempt ...int) []sim.Invariant {
	state := func(name, id string, kind sim.InvariantKind, check stateCheck, doc string) sim.Invariant {
		return onLedger(name, id, doc, kind, enc, check)
	}
	return []sim.Invariant{
		state("conservation", "I1", sim.Always, checkConserved, "in each asset, live and in-flight postings sum to zero, and a transfer creates what it consumes"),
		state("balances-agree", "I1q", sim.Quiescent, checkBalances, "each account holds what the stored transfers say"),
		state("no-double-spend", "I2", sim.Always, checkSpentOnce, "no posting is consumed by two stored transfers"),
		state("spent-has-spender", "I3", sim.Always, checkSpentHasSpender, "a spent posting is consumed by a stored transfer or a finalizing saga"),
		state("spent-iff-consumed", "I3q", sim.Quiescent, checkSpentIffConsumed, "a posting is spent exactly when one stored transfer consumes it"),
		state("faithful-copies", "I4", sim.Always, checkFaithful, "index rows equal the immutable row, which is what its transfer creates"),
		state("one-state", "I5", sim.Always, checkOneState, "no posting is both active and reserved, and each is recorded"),
		{Name: "ownership", ID: "I6", Doc: "only the holder of a reservation moves a posting out of it", Kind: sim.Monitored, Monitor: newOwnershipMonitor(enc, exempt...)},
		state("no-orphan", "I7", sim.Always, checkNoOrphan, "a reservation has a record that consumes the posting"),
		{Name: "lifecycle", ID: "I8", Doc: "a posting never comes back once spent, and its row never changes", Kind: sim.Monitored, Monitor: newLifecycleMonitor(enc)},
		state("log-has-effects", "I9", sim.Always, checkLogHasEffects, "a stored transfer has its outputs recorded and its inputs spent"),
		state("effects-have-log", "I9q", sim.Quiescent, checkEffectsHaveLog, "every posting belongs to a stored transfer"),
		state("event-has-transfer", "I10", sim.Always, checkEventHasTransfer, "an event tells of a stored transfer"),
		state("one-event-each", "I10q", sim.Quiescent, checkEvents, "one event for each stored transfer and each later account version"),
		{Name: "balance-read", ID: "I11", Doc: "a balance that is read is the sum of the live postings", Kind: sim.Monitored, Monitor: newBalanceMonitor(enc)},
		state("closed-is-empty", "I13", sim.Always, checkClosedEmpty, "a closed account has no live posting"),
		state("versions", "I14", sim.Always, checkVersions, "account versions have no gap, end at the head, and none follows a closed one"),
		state("flags-kept", "I14f", sim.Always, checkFlagsKept, "a transition changes the frozen and closed bits, nothing else"),
		{Name: "one-winner", ID: "I14w", Doc: "one process wins each account version", Kind: sim.Always, Check: checkOneWinner},
		state("floor", "I15", sim.Always, checkFloors, "an account that may not owe holds no negative posting and no negative balance"),
		state("capped-floor", "I15c", sim.Always, checkCappedFloors, "a capped account is not below its floor"),
		{Name: "honest-outcome", ID: "I16", Doc: "what a caller was told is so: committed is stored, refused is not", Kind: sim.Always, Check: checkHonest(enc)},
		{Name: "intent-kept", ID: "I16i", Doc: "a payment moves what was asked, from whom to whom it was asked", Kind: sim.Always, Check: checkIntentKept(enc)},
		state("intent-once", "I8i", sim.Always, checkIntentOnce, "an intent that is submitted twice is done at most once"),
		state("indexed", "I9i", sim.Always, checkIndexed, "a stored transfer is indexed under the owners of all its postings"),
		state("rebuildable", "I17", sim.Always, checkRebuildable, "the index tables are what the transfers and records say"),
		state("recovered", "I18", sim.Quiescent, checkRecovered, "no record and no reservation is left at the end"),
	}
}

// invariants are what the scenario checks: the whole catalogue, where most hold of themselves when a scenario lacks the matter.
func (w *world) invariants() []sim.Invariant {
	all := catalogue(w.enc, w.exempt...)
	if w.reads {
		all = append(all,
			sim.Invariant{Name: "pages-in-order", ID: "R1", Doc: "a page of postings is in the order of their ids", Kind: sim.Always, Check: checkPages},
			sim.Invariant{Name: "feed-complete", ID: "R2", Doc: "a feed without an account has every transfer, also those that no account is indexed for", Kind: sim.Always, Check: checkFeed})
	}
	if w.linear {
		all = append(all, linearizable(w.open))
	}
	return all
}
