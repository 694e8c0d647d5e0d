package postings

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// The repaired variant keeps the tables, the delete-first moves and the write-ahead record, and changes who may do what when:
//
//   - The claim is one transaction: the record is inserted (never over another) and all inputs are reserved, or nothing is.
//   - The record is the lock of its saga. Finishing deletes it, aborting deletes it, each in the transaction that does the
//     work; whoever deletes it decides, everyone else finds it gone. A recoverer beside a live worker is thereby harmless,
//     and there is no phase in which an input is spent and the output not there.
//   - Accounts are validated under a lock on their heads, in the transaction that moves the value, so that freeze and close,
//     which take the same lock, are before or after it. The holder of a capped floor is locked exclusively.
//   - A head is updated in place, so that a waiter wakes to the new version instead of to nothing.
//   - A reservation id or an event number that another process minted too is minted again.
//   - One failing record does not stop a recovery; 40001 and 40P01 are retried, because such a transaction left nothing.
//   - The transactions ask for READ COMMITTED by name: under it the statement after a lock sees what the lock protects.
func repair(p *program) {
	p.appendVersionIn = appendVersionUpdate(p)
	p.sqlSaveSaga = `INSERT INTO sagas (id, data) VALUES (@rid, @data)`
	p.sqlLockHead = `SELECT version FROM account_head WHERE id = @id AND subaccount = @sub FOR NO KEY UPDATE`
	p.sqlAppendEvent = `INSERT INTO events (seq, at, kind, data, dedup_key) VALUES (@seq, @now, @kind, @data, @dedup) ON CONFLICT DO NOTHING`
	p.sqlClaimRecord = `DELETE FROM sagas WHERE id = @rid`
	p.probes = []string{`
SELECT p.transfer_id, p.idx, r.reservation, a.transfer_id IS NOT NULL
FROM postings p
LEFT JOIN active_postings a ON a.transfer_id = p.transfer_id AND a.idx = p.idx
LEFT JOIN reserved_postings r ON r.transfer_id = p.transfer_id AND r.idx = p.idx
WHERE (p.transfer_id, p.idx) IN @ids`}
	p.steps = []step{
		{"lookup", partBegin, stepLookup},
		{"claim", partClaim, stepClaim},
		{"finish", partFinish, stepFinish},
	}
	p.commit = commitRepaired
	p.recoverOne = recoverRepaired
	p.transit = transitTogether
	p.lockHeads = lockHeads
	p.stopAtFail = false
}

// maxRetries bounds how often a transaction that the database gave up (40001, 40P01) is tried again.
const maxRetries = 3

// atomically runs f in a READ COMMITTED transaction, again when the database gave it up.
func atomically(ctx context.Context, db sim.DB, f func(tx session) error) error {
	var err error
	for range 1 + maxRetries {
		err = func() error {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
			if err != nil {
				return err
			}
			if err := f(tx); err != nil {
				_ = tx.Rollback(ctx)
				return err
			}
			return tx.Commit(ctx)
		}()
		if state := sqlstate(err); state != "40001" && state != "40P01" {
			break
		}
	}
	return err
}

// commitRepaired runs the steps. A refusal after the claim aborts the saga; any other error leaves it to a recovery.
func commitRepaired(ctx context.Context, s *saga) error {
	defer s.holds(ctx, 0)
	err := s.forward(ctx, s.p.steps)
	if errors.Is(err, errCommitted) {
		return nil
	}
	return err
}

// stepClaim makes the record and reserves all inputs, or does nothing. An id that another process minted too is minted anew.
func stepClaim(ctx context.Context, s *saga) error {
	for {
		s.rid = s.ids.next()
		s.holds(ctx, s.rid)
		err := atomically(ctx, s.db, func(tx session) error {
			if err := s.p.saveSaga(ctx, tx, Record{s.rid, Reserving, s.tid, s.env}); err != nil {
				return err
			}
			n, err := s.p.reserve.do(ctx, tx, s.env.Consumes, s.rid)
			if err == nil && n != len(s.env.Consumes) {
				err = RefusedTaken
			}
			return err
		})
		switch {
		case sqlstate(err) == "23505":
			continue
		case errors.Is(err, RefusedTaken) && len(distinct(s.env.Consumes)) != len(s.env.Consumes):
			return RefusedDuplicate
		case errors.Is(err, RefusedTaken):
			// Taken by the same envelope, submitted by another, perhaps: then the transfer is its receipt.
			_, found, lookup := s.p.getTransfer(ctx, s.db, s.tid)
			switch {
			case lookup != nil:
				return lookup
			case found:
				return errCommitted
			}
		}
		return err
	}
}

// errGone rolls back a transaction that found the record gone: another process decided this saga.
var errGone = errors.New("the record is gone")

// stepFinish decides the saga: it moves the value, or aborts when a rule refuses.
func stepFinish(ctx context.Context, s *saga) error {
	inputs, err := s.p.postings(ctx, s.db, s.env.Consumes)
	if err != nil {
		return err
	}
	s.inputs = inputs
	err = atomically(ctx, s.db, s.finalize(ctx))
	var refused Refusal
	if errors.As(err, &refused) {
		if aborted := atomically(ctx, s.db, s.abort(ctx)); aborted != nil {
			err = aborted
		} else {
			sim.Witness(ctx, "compensated")
		}
	}
	if !errors.Is(err, errGone) {
		return err
	}
	_, found, err := s.p.getTransfer(ctx, s.db, s.tid)
	switch {
	case err != nil:
		return err
	case found:
		return errCommitted
	}
	return RefusedElsewhere
}

// claimRecord deletes the record, which only one transaction can.
func (s *saga) claimRecord(ctx context.Context, tx session) error {
	n, err := exec(ctx, tx, s.p.sqlClaimRecord, named{"rid": s.rid})
	if err == nil && n == 0 {
		err = errGone
	}
	return err
}

// finalize is the transaction that moves the value. Its counts are certain: the record is ours, so the inputs are.
func (s *saga) finalize(ctx context.Context) func(tx session) error {
	return func(tx session) error {
		if err := s.claimRecord(ctx, tx); err != nil {
			return err
		}
		if err := s.p.lockHeads(ctx, s, tx); err != nil {
			return err
		}
		if !s.trusted {
			if err := s.validate(ctx, tx); err != nil {
				return err
			}
		}
		n, err := s.p.consume.do(ctx, tx, s.env.Consumes, s.rid)
		if err != nil {
			return err
		}
		if n != len(s.env.Consumes) {
			return errWedged
		}
		if _, err := s.p.insert.do(ctx, tx, s.env.postings(s.tid)); err != nil {
			return err
		}
		if _, err := s.p.storeTransfer(ctx, tx, s.tid, s.env, s.p.involved(s.env, s.inputs)); err != nil {
			return err
		}
		_, err = s.p.appendEvent(ctx, tx, s.ids, transferEvent, s.tid, s.tid)
		return err
	}
}

// abort is the transaction that gives the inputs back.
func (s *saga) abort(ctx context.Context) func(tx session) error {
	return func(tx session) error {
		if err := s.claimRecord(ctx, tx); err != nil {
			return err
		}
		_, err := s.p.release.do(ctx, tx, s.env.Consumes, s.rid)
		return err
	}
}

// lockHeads locks the heads of the accounts that the envelope touches, in order: shared, because payments do not exclude each
// other; exclusively for owners that go into debt, whose floor is judged by a sum.
func lockHeads(ctx context.Context, s *saga, tx session) error {
	return lockHeadsWith(ctx, s, tx, func(owner AccountID) string {
		if slices.ContainsFunc(s.env.Creates, func(o Output) bool { return o.Owner == owner && o.Value < 0 }) {
			return `FOR NO KEY UPDATE`
		}
		return `FOR SHARE`
	})
}

func lockHeadsWith(ctx context.Context, s *saga, tx session, lock func(owner AccountID) string) error {
	v := &plan{env: s.env, inputs: s.inputs}
	for _, owner := range v.owners() {
		_, err := exec(ctx, tx, `SELECT version FROM account_head WHERE id = @id AND subaccount = @sub `+lock(owner), named{"id": owner.ID, "sub": owner.Sub})
		if err != nil {
			return err
		}
	}
	return nil
}

// recoverRepaired decides one record as its own process would.
func recoverRepaired(ctx context.Context, s *saga, r Record) error {
	err := stepFinish(ctx, s)
	switch {
	case err == nil:
		sim.Witness(ctx, "recovered: reserving, committed")
	case errors.Is(err, errCommitted), errors.Is(err, RefusedElsewhere):
		err = nil
	case outcomeOf(err) != Unknown:
		sim.Witness(ctx, "recovered: reserving, aborted")
		err = nil
	}
	return err
}

// appendVersionUpdate moves the head in place: a waiter re-checks the row that it waited for, and sees the new version.
func appendVersionUpdate(p *program) func(ctx context.Context, tx session, next Account) error {
	return func(ctx context.Context, tx session, next Account) error {
		err := one(exec(ctx, tx, `UPDATE account_head SET version = @version WHERE id = @id AND subaccount = @sub AND version = @version - 1`, next.columns()))
		if err != nil {
			return err
		}
		return one(exec(ctx, tx, sqlInsertVersion, next.columns()))
	}
}

// transitTogether is a transition in one transaction under the head's lock.
func transitTogether(ctx context.Context, p *program, db sim.DB, ids *idSource, t transition, id AccountID) error {
	won := ""
	err := atomically(ctx, db, func(tx session) error {
		if _, err := p.headVersion(ctx, tx, id); err != nil {
			return err
		}
		a, err := p.account(ctx, tx, id)
		if err != nil {
			return err
		}
		if a.closed() {
			return RefusedClosed
		}
		if t.empty {
			live, err := p.closeChecks(ctx, tx, p, id)
			if err != nil {
				return err
			}
			if live {
				return RefusedLive
			}
		}
		next := t.next(a)
		if err := p.appendVersionIn(ctx, tx, next); err != nil {
			if errors.Is(err, errNothing) {
				err = RefusedVersion
			}
			return err
		}
		won = accountEventKey(id, next.Version)
		_, err = p.appendEvent(ctx, tx, ids, eventKinds[t.name], id.String(), won)
		return err
	})
	if err == nil {
		sim.Note(ctx, factWon, won)
	}
	return err
}
