package postings

import (
	"fmt"
	"slices"
	"strings"

	"simrun/sim"
)

// stateCheck judges a ledger; "" when the invariant holds.
type stateCheck func(l *ledger) string

// onLedger makes an invariant of a check on the committed state.
func onLedger(name, id, doc string, kind sim.InvariantKind, enc encoding, check stateCheck) sim.Invariant {
	return sim.Invariant{Name: name, ID: id, Doc: doc, Kind: kind, Check: func(v sim.View) string {
		l := ledgerOf(v, enc)
		if l.err != "" {
			return "the ledger cannot be read: " + l.err
		}
		return check(l)
	}}
}

// checkConserved (I1, always): in each asset, what is live and what is in flight sums to zero, and every stored transfer
// creates what it consumes.
func checkConserved(l *ledger) string {
	total := &amounts{}
	for _, id := range l.live {
		p := l.posting(id)
		total.add(holding{Asset: p.Asset}, p.Value)
	}
	for _, id := range l.spent {
		if l.inFlight(id) {
			total.add(holding{Asset: l.P[id].Asset}, l.P[id].Value)
		}
	}
	for _, h := range total.order {
		if total.sum[h] != 0 {
			return fmt.Sprintf("asset %d: live and in-flight postings sum to %d, not 0: %s", h.Asset, total.sum[h], l.describe())
		}
	}
	for _, tid := range l.tids {
		sums := &amounts{}
		for _, in := range distinct(l.T[tid].Consumes) {
			p, ok := l.P[in]
			if !ok {
				return fmt.Sprintf("transfer %s consumes %s, which was never recorded", tid, in)
			}
			sums.add(holding{Asset: p.Asset}, -p.Value)
		}
		for _, o := range l.T[tid].Creates {
			sums.add(holding{Asset: o.Asset}, o.Value)
		}
		for _, h := range sums.order {
			if sums.sum[h] != 0 {
				return fmt.Sprintf("transfer %s creates %+d more of asset %d than it consumes", tid, sums.sum[h], h.Asset)
			}
		}
	}
	return ""
}

// checkBalances (I1, at quiescence): each account holds what the stored transfers gave it, less what they took.
func checkBalances(l *ledger) string {
	diff := l.liveAmounts()
	for _, tid := range l.tids {
		for _, o := range l.T[tid].Creates {
			diff.add(holding{o.Owner, o.Asset}, -o.Value)
		}
		for _, in := range l.T[tid].Consumes {
			if p, ok := l.P[in]; ok {
				diff.add(holding{p.Owner, p.Asset}, p.Value)
			}
		}
	}
	for _, h := range diff.order {
		if diff.sum[h] != 0 {
			return fmt.Sprintf("account %s holds %+d of asset %d more than the stored transfers say: %s", h.Account, diff.sum[h], h.Asset, l.describe())
		}
	}
	return ""
}

// checkSpentOnce (I2, always): no posting is consumed by two stored transfers.
func checkSpentOnce(l *ledger) string {
	for _, id := range l.ids {
		if by := l.spenders(id); len(by) > 1 {
			return fmt.Sprintf("posting %s is consumed by transfers %s", id, strings.Join(by, " and "))
		}
	}
	return ""
}

// checkSpentHasSpender (I3, always): a spent posting is consumed by a stored transfer or by a finalizing saga.
func checkSpentHasSpender(l *ledger) string {
	for _, id := range l.spent {
		finalizing := slices.ContainsFunc(l.W, func(w Record) bool {
			return w.Phase == Finalizing && slices.Contains(w.Envelope.Consumes, id)
		})
		if len(l.spenders(id)) == 0 && !finalizing {
			return fmt.Sprintf("posting %s is spent by nobody: %s", id, l.describe())
		}
	}
	return ""
}

// checkSpentIffConsumed (I3, at quiescence): spent exactly when one stored transfer consumes it.
func checkSpentIffConsumed(l *ledger) string {
	for _, id := range l.ids {
		state, by := l.state(id), l.spenders(id)
		if (state.Place == Spent) != (len(by) == 1) {
			return fmt.Sprintf("posting %s is %s, and consumed by %d stored transfers %v", id, state, len(by), by)
		}
	}
	return ""
}

// checkFaithful (I4, always): index rows equal the immutable row, and an immutable row is what its transfer creates.
func checkFaithful(l *ledger) string {
	for _, id := range l.live {
		p, ok := l.P[id]
		for _, hot := range []struct {
			is   bool
			copy Posting
		}{{has(l.A, id), l.A[id]}, {has(l.R, id), l.R[id].Posting}} {
			if ok && hot.is && hot.copy != p {
				return fmt.Sprintf("posting %s is %+v, but its index row says %+v", id, p, hot.copy)
			}
		}
	}
	for _, id := range l.ids {
		e, ok := l.T[id.Transfer]
		if !ok {
			continue
		}
		made := e.postings(id.Transfer)
		if int(id.Idx) >= len(made) || made[id.Idx] != l.P[id] {
			return fmt.Sprintf("posting %s is %+v, which its transfer does not create", id, l.P[id])
		}
	}
	return ""
}

func has[V any](m map[PostingID]V, id PostingID) bool { _, ok := m[id]; return ok }

// checkOneState (I5, always): no posting is both active and reserved, and every one of them is recorded.
func checkOneState(l *ledger) string {
	for _, id := range l.live {
		if has(l.A, id) && has(l.R, id) {
			return fmt.Sprintf("posting %s is both active and reserved by %d", id, l.R[id].RID)
		}
		if !has(l.P, id) {
			return fmt.Sprintf("posting %s is %s, but was never recorded", id, l.state(id))
		}
	}
	return ""
}

// checkNoOrphan (I7, always): a reservation has a record that consumes the posting.
func checkNoOrphan(l *ledger) string {
	for _, id := range l.live {
		r, ok := l.R[id]
		if !ok {
			continue
		}
		owned := slices.ContainsFunc(l.W, func(w Record) bool { return w.RID == r.RID && slices.Contains(w.Envelope.Consumes, id) })
		if !owned {
			return fmt.Sprintf("posting %s is reserved by %d, which has no record of it", id, r.RID)
		}
	}
	return ""
}

// checkLogHasEffects (I9, always): a stored transfer has all its outputs recorded and all its inputs spent.
func checkLogHasEffects(l *ledger) string {
	for _, tid := range l.tids {
		for _, p := range l.T[tid].postings(tid) {
			if !has(l.P, p.ID) {
				return fmt.Sprintf("transfer %s is stored, but its output %s is not", tid, p.ID)
			}
		}
		for _, in := range l.T[tid].Consumes {
			if s := l.state(in); s.Place != Spent {
				return fmt.Sprintf("transfer %s is stored, but its input %s is %s", tid, in, s)
			}
		}
	}
	return ""
}

// checkEffectsHaveLog (I9, at quiescence): every posting belongs to a stored transfer.
func checkEffectsHaveLog(l *ledger) string {
	for _, id := range l.ids {
		if _, ok := l.T[id.Transfer]; !ok {
			return fmt.Sprintf("posting %s exists, but its transfer was never stored", id)
		}
	}
	return ""
}

// checkEventHasTransfer (I10, always): an event tells of a stored transfer.
func checkEventHasTransfer(l *ledger) string {
	for _, e := range l.E {
		if _, ok := l.T[e.Data]; e.Kind == transferEvent && !ok {
			return fmt.Sprintf("event %d tells of transfer %s, which is not stored", e.Seq, e.Data)
		}
	}
	return ""
}

// checkEvents (I10, at quiescence): exactly one event for each stored transfer and for each account version after the first.
func checkEvents(l *ledger) string {
	count := map[string]int{}
	for _, e := range l.E {
		count[e.Dedup]++
	}
	for _, tid := range l.tids {
		if count[tid] != 1 {
			return fmt.Sprintf("transfer %s has %d events, not 1", tid, count[tid])
		}
	}
	for _, a := range l.Accounts {
		if key := accountEventKey(a.AccountID, a.Version); a.Version > 1 && count[key] != 1 {
			return fmt.Sprintf("version %d of account %s has %d events, not 1", a.Version, a.AccountID, count[key])
		}
	}
	return ""
}

// checkClosedEmpty (I13, strong form, always): a closed account has no live posting.
func checkClosedEmpty(l *ledger) string {
	for _, id := range l.live {
		p := l.posting(id)
		if a, ok := l.account(p.Owner); ok && a.closed() {
			return fmt.Sprintf("account %s is closed, and its posting %s is %s", p.Owner, id, l.state(id))
		}
	}
	return ""
}

// checkVersions (I14, always): versions run from 1 to the head without a gap; closed is terminal.
func checkVersions(l *ledger) string {
	for i, a := range l.Accounts {
		first := i == 0 || l.Accounts[i-1].AccountID != a.AccountID
		last := i == len(l.Accounts)-1 || l.Accounts[i+1].AccountID != a.AccountID
		switch head := l.Heads[a.AccountID]; {
		case first && a.Version != 1:
			return fmt.Sprintf("account %s starts at version %d", a.AccountID, a.Version)
		case !first && a.Version != l.Accounts[i-1].Version+1:
			return fmt.Sprintf("account %s has version %d after %d", a.AccountID, a.Version, l.Accounts[i-1].Version)
		case !first && l.Accounts[i-1].closed():
			return fmt.Sprintf("account %s has version %d after it was closed", a.AccountID, a.Version)
		case last && a.Version != head:
			return fmt.Sprintf("account %s has version %d, but its head says %d", a.AccountID, a.Version, head)
		}
	}
	return ""
}

// checkFlagsKept (I14, always): a transition changes the frozen and the closed bit, nothing else.
func checkFlagsKept(l *ledger) string {
	const changed = FlagFrozen | FlagClosed
	for i, a := range l.Accounts {
		if i == 0 || l.Accounts[i-1].AccountID != a.AccountID {
			continue
		}
		if before := l.Accounts[i-1].Flags; before&^changed != a.Flags&^changed {
			return fmt.Sprintf("account %s had flags %#x, and has %#x in version %d", a.AccountID, uint32(before), uint32(a.Flags), a.Version)
		}
	}
	return ""
}

// checkIndexed (always): a stored transfer is indexed under the owners of all that it consumes and creates.
func checkIndexed(l *ledger) string {
	for _, tid := range l.tids {
		if tid == genesis {
			continue
		}
		owners := l.T[tid].createdOwners()
		for _, in := range l.T[tid].Consumes {
			owners = append(owners, l.P[in].Owner)
		}
		if want := sortedAccounts(owners); !slices.Equal(want, l.Involved[tid]) {
			return fmt.Sprintf("transfer %s involves accounts %v, but is indexed under %v", tid, want, l.Involved[tid])
		}
	}
	return ""
}

// checkIntentOnce (I8, always): what a caller asked for once is done at most once: the memo tells intents apart.
func checkIntentOnce(l *ledger) string {
	by := map[string]string{}
	for _, tid := range l.tids {
		memo := l.T[tid].Memo
		if other, ok := by[memo]; ok && memo != "" && memo != reversalMemo {
			return fmt.Sprintf("transfers %s and %s are both %q", other, tid, memo)
		}
		by[memo] = tid
	}
	return ""
}

// checkFloors (I15, always): an account that may not overdraw holds no negative posting and no negative balance.
func checkFloors(l *ledger) string {
	for _, id := range l.live {
		p := l.posting(id)
		if a, ok := l.account(p.Owner); ok && p.Value < 0 && !a.Policy.mayHoldNegative() {
			return fmt.Sprintf("account %s may not owe, but holds %s of %d", p.Owner, id, p.Value)
		}
	}
	return checkFloor(l, "no-overdraft")
}

// checkCappedFloors (I15, strong form, always): a capped account is not below its floor.
func checkCappedFloors(l *ledger) string { return checkFloor(l, "capped") }

func checkFloor(l *ledger, kind string) string {
	sums := l.liveAmounts()
	// What is in flight still counts for its owner: the saga that took it has not created the change yet.
	for _, id := range l.spent {
		if l.inFlight(id) {
			sums.add(holding{l.P[id].Owner, l.P[id].Asset}, l.P[id].Value)
		}
	}
	for _, h := range sums.order {
		a, ok := l.account(h.Account)
		if !ok || a.Policy.Kind != kind {
			continue
		}
		if floor, has := a.Policy.floor(); has && sums.sum[h] < floor {
			return fmt.Sprintf("account %s is at %d in asset %d, below its floor %d", h.Account, sums.sum[h], h.Asset, floor)
		}
	}
	return ""
}

// checkRebuildable (I17, always): the index tables are what the logs and the records say: a posting is spent when a stored
// transfer consumes it; a finalizing saga has it reserved or spent; a reserving one active or reserved; else it is active.
func checkRebuildable(l *ledger) string {
	for _, id := range l.ids {
		state := l.state(id)
		if len(l.spenders(id)) > 0 {
			if state.Place != Spent {
				return fmt.Sprintf("posting %s is %s, but a stored transfer consumes it", id, state)
			}
			continue
		}
		ok := state.Place == Active
		for _, w := range l.W {
			if slices.Contains(w.Envelope.Consumes, id) {
				ok = ok || state == State{Held, w.RID} || w.Phase == Finalizing && state.Place == Spent
			}
		}
		if !ok {
			return fmt.Sprintf("posting %s is %s, which neither the transfers nor the records explain", id, state)
		}
	}
	return ""
}

// checkRecovered (I18, at quiescence): no record and no reservation is left.
func checkRecovered(l *ledger) string {
	for _, w := range l.W {
		return fmt.Sprintf("the record of saga %d (%s) is never cleared", w.RID, w.Phase)
	}
	for _, id := range l.live {
		if r, ok := l.R[id]; ok {
			return fmt.Sprintf("posting %s stays reserved by %d", id, r.RID)
		}
	}
	return ""
}

// describe lists the postings and records, for reports.
func (l *ledger) describe() string {
	var b strings.Builder
	for _, id := range l.ids {
		p := l.P[id]
		fmt.Fprintf(&b, "%s (%d of %s) %s; ", id, p.Value, p.Owner, l.state(id))
	}
	for _, w := range l.W {
		fmt.Fprintf(&b, "record %d %s; ", w.RID, w.Phase)
	}
	return strings.TrimSuffix(b.String(), "; ")
}
