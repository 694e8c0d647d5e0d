package postings

import (
	"context"
	"errors"

	"simrun/sim"
)

// saga is one attempt to commit an envelope: what a process knows of it. Everything another process needs is in its record.
type saga struct {
	p   *program
	db  sim.DB
	ids *idSource

	env Envelope
	tid string
	rid int64

	begun    bool      // the record may exist, or something may be reserved
	reserved bool      // the reserve step succeeded in this process
	inputs   []Posting // the consumed postings, after load
	past     bool      // some input is spent: the point of no return is behind
	trusted  bool      // not validated again
}

func (p *program) newSaga(db sim.DB, ids *idSource, env Envelope) *saga {
	return &saga{p: p, db: db, ids: ids, env: env}
}

// step is one step of the saga. Steps of one part are retried together.
type step struct {
	name string
	part int
	do   func(ctx context.Context, s *saga) error
}

// The parts of the saga: what precedes the claim, the claim, and the rest.
const (
	partBegin = iota
	partClaim
	partFinish
)

// sagaSteps are s1..s12 in order; s0, pin, comes before, because the content id depends on it.
func sagaSteps() []step {
	return []step{
		{"lookup", partBegin, stepLookup},          // s1
		{"write-ahead", partBegin, stepWriteAhead}, // s2
		{"reserve", partClaim, stepReserve},        // s3
		{"relookup", partFinish, stepRelookup},     // s4
		{"load", partFinish, stepLoad},             // s5
		{"validate", partFinish, stepValidate},     // s6
		{"finalizing", partFinish, stepFinalizing}, // s7, the point of no return
		{"consume", partFinish, stepConsume},       // s8
		{"create", partFinish, stepCreate},         // s9
		{"store", partFinish, stepStore},           // s10
		{"event", partFinish, stepEvent},           // s11
		{"forget", partFinish, stepForget},         // s12
	}
}

// pin is s0. It pins the current versions of the created owners, unless the envelope was planned with snapshots. A payer without a
// change posting is not pinned.
func pin(ctx context.Context, s *saga) error {
	if len(s.env.Snapshots) == 0 {
		accounts, err := s.p.accounts(ctx, s.db, s.env.createdOwners())
		if err != nil {
			return err
		}
		for _, a := range accounts {
			s.env.Snapshots = append(s.env.Snapshots, Snapshot{a.AccountID, a.Version})
		}
	}
	s.tid = s.p.contentID(s)
	return nil
}

func stepLookup(ctx context.Context, s *saga) error {
	_, found, err := s.p.getTransfer(ctx, s.db, s.tid)
	if err == nil && found {
		err = errCommitted
	}
	return err
}

// stepWriteAhead makes the saga recoverable before it changes anything.
func stepWriteAhead(ctx context.Context, s *saga) error {
	s.rid = s.ids.next()
	s.holds(ctx, s.rid)
	err := s.p.saveSaga(ctx, s.db, Record{s.rid, Reserving, s.tid, s.env})
	s.begun = err == nil
	return err
}

// stepReserve claims the inputs. A short count is fine only when all of them are this saga's already, as in a recovery.
func stepReserve(ctx context.Context, s *saga) error {
	n, err := s.p.reserve.do(ctx, s.db, s.env.Consumes, s.rid)
	if err != nil {
		return err
	}
	if n < len(s.env.Consumes) {
		states, err := s.p.states(ctx, s.db, s.env.Consumes)
		if err != nil {
			return err
		}
		if !allHeldBy(states, s.rid) {
			return RefusedTaken
		}
	}
	s.reserved = true
	return nil
}

func stepRelookup(ctx context.Context, s *saga) error {
	_, found, err := s.p.getTransfer(ctx, s.db, s.tid)
	if err != nil || !found {
		return err
	}
	if err := stepEvent(ctx, s); err != nil {
		return err
	}
	return errCommitted
}

func stepLoad(ctx context.Context, s *saga) error {
	inputs, err := s.p.postings(ctx, s.db, s.env.Consumes)
	if err != nil {
		var missing notFound
		if errors.As(err, &missing) {
			return RefusedMissing
		}
		return err
	}
	states, err := s.p.states(ctx, s.db, s.env.Consumes)
	s.inputs, s.past = inputs, anyAt(states, Spent)
	return err
}

// stepValidate judges the envelope by the rules, unless inputs are spent: then it was valid when that was decided.
func stepValidate(ctx context.Context, s *saga) error {
	if s.past || s.trusted {
		return nil
	}
	return s.validate(ctx, s.db)
}

func stepFinalizing(ctx context.Context, s *saga) error {
	return s.p.saveSaga(ctx, s.db, Record{s.rid, Finalizing, s.tid, s.env})
}

// stepConsume spends the inputs. A short count is fine only when all are spent already, by an earlier attempt of this saga.
func stepConsume(ctx context.Context, s *saga) error {
	n, err := s.p.consume.do(ctx, s.db, s.env.Consumes, s.rid)
	if err != nil || n == len(s.env.Consumes) && !s.p.reread {
		return err
	}
	states, err := s.p.states(ctx, s.db, s.env.Consumes)
	if err == nil && !allAt(states, Spent) {
		err = errWedged
	}
	return err
}

func stepCreate(ctx context.Context, s *saga) error {
	created := s.env.postings(s.tid)
	n, err := s.p.insert.do(ctx, s.db, created)
	if err != nil || n == len(created) && !s.p.reread {
		return err
	}
	ids := make([]PostingID, len(created))
	for i := range created {
		ids[i] = created[i].ID
	}
	states, err := s.p.states(ctx, s.db, ids)
	if err == nil && anyAt(states, Missing) {
		err = errWedged
	}
	return err
}

func stepStore(ctx context.Context, s *saga) error {
	n, err := s.p.storeTransfer(ctx, s.db, s.tid, s.env, s.p.involved(s.env, s.inputs))
	if err != nil || n == 1 && !s.p.reread {
		return err
	}
	_, found, err := s.p.getTransfer(ctx, s.db, s.tid)
	if err == nil && !found {
		err = errWedged
	}
	return err
}

func stepEvent(ctx context.Context, s *saga) error {
	_, err := s.p.appendEvent(ctx, s.db, s.ids, transferEvent, s.tid, s.tid)
	return err
}

func stepForget(ctx context.Context, s *saga) error {
	return s.p.deleteSaga(ctx, s.db, s.rid)
}

// commitSaga runs the whole saga. nil means that the transfer is stored, now or before; a Refusal that it will not be;
// any other error says nothing.
func commitSaga(ctx context.Context, s *saga) error { return s.run(ctx, "lookup") }

// run goes through the steps from the named one to the last, and cleans up when one fails.
func (s *saga) run(ctx context.Context, from string) error {
	defer s.holds(ctx, 0)
	err := s.forward(ctx, s.p.steps[s.p.stepIndex(from):])
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errCommitted) && s.begun:
		return stepForget(ctx, s)
	case errors.Is(err, errCommitted):
		return nil
	case !s.begun:
		return err
	}
	cause := err
	failed := s.p.compensate(ctx, s, cause)
	if failed != nil {
		err = compensationFailed{cause, failed}
	} else {
		sim.Witness(ctx, "compensated")
	}
	if !s.p.keepRecord(ctx, s, failed) {
		// As released, the outcome is the cause's even when the record stays; a recovery may then commit what was refused.
		if failed := stepForget(ctx, s); failed != nil && s.p.reportStay {
			err = compensationFailed{cause, failed}
		}
	}
	return err
}

// forward runs steps part by part, each part as often as the program retries it.
func (s *saga) forward(ctx context.Context, steps []step) error {
	for len(steps) > 0 {
		end := 1
		for end < len(steps) && steps[end].part == steps[0].part {
			end++
		}
		attempts := s.p.attempts
		if steps[0].part == partBegin {
			attempts = 1
		}
		var err error
		for range attempts {
			if err = runSteps(ctx, s, steps[:end]); err == nil || errors.Is(err, errCommitted) {
				break
			}
		}
		if err != nil {
			return err
		}
		steps = steps[end:]
	}
	return nil
}

func runSteps(ctx context.Context, s *saga, steps []step) error {
	for _, step := range steps {
		if err := step.do(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// releaseAll is the compensation: it releases the inputs that this saga holds, whatever its phase.
func releaseAll(ctx context.Context, s *saga, _ error) error {
	if s.p.noteFirst && !s.reserved {
		return nil
	}
	_, err := s.p.release.do(ctx, s.db, s.env.Consumes, s.rid)
	return err
}

// storedFinalizing says whether the stored record has passed the point of no return; when that cannot be read, it may have.
func storedFinalizing(ctx context.Context, s *saga, _ error) bool {
	record, found, err := s.p.getSaga(ctx, s.db, s.rid)
	return err != nil || found && record.Phase == Finalizing
}

// holds tells which reservation this actor works for from now on; 0 is none.
func (s *saga) holds(ctx context.Context, rid int64) { sim.Note(ctx, factHolds, rid) }

const factHolds = "holds"
