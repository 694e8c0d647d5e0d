package postings

import (
	"context"

	"simrun/sim"
)

// A transition changes the flags of an account by a new version: freeze, unfreeze, close. Closed is terminal; a frozen
// account may be closed; unfreeze does not require frozen.
type transition struct {
	name       string
	set, clear int32
	empty      bool // the account must have no live postings
}

var (
	freeze     = transition{name: "freeze", set: FlagFrozen}
	unfreeze   = transition{name: "unfreeze", clear: FlagFrozen}
	closeDown  = transition{name: "close", set: FlagClosed, clear: FlagFrozen, empty: true}
	eventKinds = map[string]string{"freeze": "AccountFrozen", "unfreeze": "AccountUnfrozen", "close": "AccountClosed"}
)

// next is the version that the transition makes of a.
func (t transition) next(a Account) Account {
	a.Version++
	a.Flags = a.Flags&^t.clear | t.set
	return a
}

// transitSeparately is the transition as released: the checks, the new version and the event are statements of their own, so
// a deposit may land between the emptiness check of a close and its new version.
func transitSeparately(ctx context.Context, p *program, db sim.DB, ids *idSource, t transition, id AccountID) error {
	a, err := p.account(ctx, db, id)
	if err != nil {
		return err
	}
	if a.closed() {
		return RefusedClosed
	}
	if t.empty {
		live, err := p.closeChecks(ctx, db, p, id)
		if err != nil {
			return err
		}
		if live {
			return RefusedLive
		}
	}
	next := t.next(a)
	n, err := p.appendVersion(ctx, db, next)
	if err != nil {
		return err
	}
	if n == 0 {
		return RefusedVersion
	}
	sim.Note(ctx, factWon, accountEventKey(id, next.Version))
	_, err = p.appendEvent(ctx, db, ids, eventKinds[t.name], id.String(), accountEventKey(id, next.Version))
	return err
}

// closeChecksLive: active and reserved postings both keep an account open.
func closeChecksLive(ctx context.Context, db session, p *program, a AccountID) (bool, error) {
	return p.hasLive(ctx, db, a)
}

// reversalMemo is the memo of reversals. The released system repeats the memo of the original.
const reversalMemo = "reversal"

// reverse plans the transfer that undoes tid: it consumes all that tid created and creates again what tid consumed.
func (p *program) reverse(ctx context.Context, db session, tid string) (Envelope, error) {
	original, found, err := p.getTransfer(ctx, db, tid)
	if err != nil {
		return Envelope{}, err
	}
	if !found {
		return Envelope{}, notFound{"transfer " + tid}
	}
	inputs, err := p.postings(ctx, db, original.Consumes)
	if err != nil {
		return Envelope{}, err
	}
	env := Envelope{Memo: reversalMemo}
	for _, created := range original.postings(tid) {
		env.Consumes = append(env.Consumes, created.ID)
	}
	for _, in := range inputs {
		env.Creates = append(env.Creates, Output{Owner: in.Owner, Asset: in.Asset, Value: in.Value})
	}
	return env, nil
}
