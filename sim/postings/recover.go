package postings

import (
	"context"
	"errors"

	"simrun/sim"
)

// recover takes up every pending record for which mine says yes, and returns how many there were. It stops at the first error of the database when the
// program says so; a saga that fails again keeps its record and is swallowed.
func (p *program) recover(ctx context.Context, db sim.DB, ids *idSource, mine func(rid int64) bool) (int, error) {
	records, err := p.pendingSagas(ctx, db)
	if err != nil {
		return 0, err
	}
	taken := 0
	var failed error
	for _, r := range records {
		if !mine(r.RID) {
			continue
		}
		taken++
		s := p.newSaga(db, ids, r.Envelope)
		s.rid, s.begun = r.RID, true
		s.tid = r.TID
		s.trusted = p.trustPlan || p.rollOnly && r.Phase == Finalizing
		s.holds(ctx, r.RID)
		err := p.recoverOne(ctx, s, r)
		s.holds(ctx, 0)
		if err != nil && p.stopAtFail {
			return taken, err
		}
		failed = errors.Join(failed, err)
	}
	return taken, failed
}

// recoverRecord finishes one saga. What tells the cases apart: the transfer is stored; the phase of the record; and the
// states of the inputs, which the steps look at themselves.
func recoverRecord(ctx context.Context, s *saga, r Record) error {
	_, found, err := s.p.getTransfer(ctx, s.db, s.tid)
	if err != nil {
		return err
	}
	if found {
		if err := stepEvent(ctx, s); err != nil {
			return err
		}
		sim.Witness(ctx, "recovered: stored")
		return stepForget(ctx, s)
	}
	from := "reserve"
	if r.Phase == Finalizing {
		from = "relookup" // never reserves again
	}
	switch err := s.run(ctx, from); outcomeOf(err) {
	case Committed:
		sim.Witness(ctx, "recovered: "+string(r.Phase)+", committed")
	case Unknown:
		sim.Witness(ctx, "recovered: "+string(r.Phase)+", failed")
	default:
		sim.Witness(ctx, "recovered: "+string(r.Phase)+", aborted")
	}
	return nil
}
