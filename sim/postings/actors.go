package postings

import (
	"context"
	"strings"

	"simrun/sim"
)

// process is what every actor of this system is: a process with a program and a number that tells its ids from others'.
type process struct {
	p     *program
	node  int
	clock bool // mints ids from the clock and a counter alone, as released
	// repeat bounds how many recoveries a process runs after an error of unknown effect; one more than the faults of a run
	// are enough.
	repeat int
}

// owns says whether a reservation was minted by this process or an earlier life of it. Recovering only one's own records is
// how a deployment keeps two processes off one saga.
// Ids from the clock alone do not tell.
func (w process) owns(rid int64) bool {
	return w.clock || w.p.clockIDs || rid/1000 == int64(w.node)
}

func anyRecord(int64) bool { return true }

func (w process) idSource(ctx context.Context) *idSource {
	if w.clock || w.p.clockIDs {
		return clockIDs(ctx)
	}
	return nodeIDs(w.node, sim.Attempt(ctx))
}

// CommitInput is the input of the operation "commit" in a history.
type CommitInput struct {
	TID      string
	Envelope string
}

// commit is the operation "commit": it pins the envelope, runs the saga, and returns how it ended.
func (w process) commit(ctx context.Context, db sim.DB, ids *idSource, env Envelope) Outcome {
	_, out := w.commitAs(ctx, db, ids, env)
	return out
}

// commitAs is commit that also gives the id of the transfer.
func (w process) commitAs(ctx context.Context, db sim.DB, ids *idSource, env Envelope) (string, Outcome) {
	s := w.p.newSaga(db, ids, env)
	// Pinning only reads; it comes first because the envelope's identity, and so the operation, includes the snapshots.
	if err := pin(ctx, s); err != nil {
		return "", Unknown
	}
	sim.Note(ctx, factEnvelope, encodeEnvelope(s.env))
	sim.Note(ctx, factTID, s.tid)
	sim.Note(ctx, factOutcome, "") // not known yet
	op := sim.Op(ctx, "commit", CommitInput{s.tid, encodeEnvelope(s.env)})
	out := outcomeOf(w.p.commit(ctx, s))
	if out != Unknown {
		op.Return(out)
	}
	sim.Note(ctx, factOutcome, string(out))
	sim.Witness(ctx, string(out))
	return s.tid, out
}

const (
	factEnvelope = "envelope" // the envelope that the actor submitted last
	factTID      = "tid"      // its content id
	factOutcome  = "outcome"  // how that ended for the actor
	factIntent   = "intent"   // the movements that the actor was asked for
	factWon      = "won"      // the account version that the actor made last
)

// recoverSelf clears what earlier lives and failed sagas of this process left.
func (w process) recoverSelf(ctx context.Context, db sim.DB, ids *idSource) {
	for range w.repeat + 1 {
		if n, err := w.p.recover(ctx, db, ids, w.owns); n == 0 && err == nil {
			return
		}
	}
}

// claimer commits one envelope that is planned already. After a crash its next life recovers what the last one left.
func claimer(w process, env Envelope) sim.Actor {
	return worker(w, func(context.Context, sim.DB) (Envelope, error) { return env, nil })
}

// payer resolves movements into an envelope and commits it.
func payer(w process, memo string, moves ...Movement) sim.Actor {
	return worker(w, func(ctx context.Context, db sim.DB) (Envelope, error) {
		sim.Note(ctx, factIntent, encodeIntent(moves))
		return w.p.resolve(ctx, db, memo, moves)
	})
}

// worker plans an envelope, commits it, and recovers itself after a crash or an error of unknown effect.
func worker(w process, planned func(ctx context.Context, db sim.DB) (Envelope, error)) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		ids := w.idSource(ctx)
		if sim.Attempt(ctx) > 0 {
			w.recoverSelf(ctx, db, ids)
			return nil // whoever asked for the transfer is gone
		}
		env, err := planned(ctx, db)
		if err != nil {
			sim.Witness(ctx, string(outcomeOf(err)))
			return nil
		}
		if w.commit(ctx, db, ids, env) == Unknown {
			w.recoverSelf(ctx, db, ids)
		}
		return nil
	})
}

// recoverer takes up every record it finds, whoever works on it, passes times.
func recoverer(w process, passes int) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		ids := w.idSource(ctx)
		for range passes {
			// A recovery that fails is tried again by the next pass; what stays is judged at the end.
			_, _ = w.p.recover(ctx, db, ids, anyRecord)
		}
		return nil
	})
}

// transit is the operation "freeze", "unfreeze" or "close" of an account. An error of unknown effect is not repeated: the
// new version is stored or not, and the event follows it at the next recovery of transitions.
func transit(w process, t transition, id AccountID) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		w.transit(ctx, db, w.idSource(ctx), t, id)
		return nil
	})
}

func (w process) transit(ctx context.Context, db sim.DB, ids *idSource, t transition, id AccountID) Outcome {
	op := sim.Op(ctx, t.name, id.String())
	out := outcomeOf(w.p.transit(ctx, w.p, db, ids, t, id))
	if out == Committed {
		sim.Witness(ctx, t.name+": done")
	} else {
		sim.Witness(ctx, t.name+": "+string(out))
	}
	if out != Unknown {
		op.Return(out)
	}
	return out
}

// creator creates an account.
func creator(w process, a Account) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		n, err := w.p.createAccount(ctx, db, a)
		switch {
		case err != nil:
		case n == 1:
			sim.Note(ctx, factWon, accountEventKey(a.AccountID, 1))
			sim.Witness(ctx, "created")
		default:
			sim.Witness(ctx, "existed")
		}
		return nil
	})
}

// BalanceInput is the input of the operation "balance" in a history; its output is the balance, an int64.
type BalanceInput struct {
	Account string
	Asset   Asset
}

// reader reads balances one after another.
func reader(w process, of ...holding) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		for _, h := range of {
			w.readBalance(ctx, db, h)
		}
		return nil
	})
}

func (w process) readBalance(ctx context.Context, db sim.DB, h holding) {
	op := sim.Op(ctx, "balance", BalanceInput{h.Account.String(), h.Asset})
	if b, err := w.p.balance(ctx, db, h.Account, h.Asset); err == nil {
		op.Return(b)
	}
}

// pager reads an account's postings in pages of two, each page in a snapshot of its own, and then the feed of all transfers.
func pager(w process, id AccountID) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		const size = 2
		for at, total := 0, 1; at < total; at += size {
			page, n, err := w.p.queryPostings(ctx, db, PostingQuery{Account: id, Asset: usd, Filter: FilterAll, Page: Page{size, at}})
			if err != nil {
				return err
			}
			total = n
			ids := make([]string, len(page))
			for i, p := range page {
				if ids[i] = p.ID.String(); p.ID.Transfer != genesis {
					sim.Witness(ctx, "a page of what is new")
				}
			}
			sim.Note(ctx, factPage, strings.Join(ids, " "))
		}
		feed, _, err := w.p.queryTransfers(ctx, db, TransferQuery{})
		if len(feed) > 1 {
			sim.Witness(ctx, "a feed of what is new")
		}
		sim.Note(ctx, factFeed, strings.Join(feed, " "))
		return err
	})
}

const (
	factPage = "page" // the ids of the page that the actor read last
	factFeed = "feed" // the ids of the transfers that the actor read last
)
