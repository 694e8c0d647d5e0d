package postings

import (
	"context"
	"errors"
)

// The mended variant is the seed with the smallest repairs that hold under all faults as long as each record is worked on by
// one process at a time:
//
//   - Past the point of no return nothing is released: a saga that fails there keeps its record and its reservations.
//   - A recovery of a finalizing record does not validate again: that was decided.
//   - A record whose compensation failed is kept, because it is all that knows of the reservation.
//   - A caller is told of a refusal only when the record is gone: a recovery would submit the envelope again.
func mend(p *program) {
	p.compensate = releaseBeforeFinalizing
	p.keepRecord = func(_ context.Context, _ *saga, compensated error) bool { return compensated != nil }
	p.rollOnly = true
	p.reportStay = true
}

// errRollForward is the failed compensation of a saga that must roll forward.
var errRollForward = errors.New("past the point of no return")

// releaseBeforeFinalizing asks the stored record, because the answer of the step that wrote it may have been lost.
func releaseBeforeFinalizing(ctx context.Context, s *saga, cause error) error {
	record, found, err := s.p.getSaga(ctx, s.db, s.rid)
	if err != nil {
		return err
	}
	if found && record.Phase == Finalizing {
		return errRollForward
	}
	return releaseAll(ctx, s, cause)
}
