package rings

import (
	"context"
	"time"

	"simrun/sim"
)

// contractor is the migration of 0.8 that drops the columns for good. What 0.7 binaries touch stays: the authority row, pinned
// to the ledger, and a resolver of the ledger only.
type contractor struct {
	p     *program
	times int
	pause time.Duration // between the times
}

// contractCheck refuses unless the ledger is authoritative and no runtime from before the flip is alive.
func contractCheck(statusSQL string) procedure {
	return procedure{
		{"lock migration", func(t *turn) error {
			return t.do(`SELECT pg_advisory_xact_lock(hashtextextended('queue_storage.migrate', 0))`)
		}},
		{"lock runtimes", func(t *turn) error { return t.do(`LOCK TABLE runtime_instances IN SHARE MODE`) }},
		{"check authority", func(t *turn) error {
			err := t.row(`SELECT authority FROM ring_cursor_authority WHERE singleton`).Scan(&t.mode)
			if err == nil && t.mode != ledger {
				return t.refuse(Outcome{Kind: Refused, Reason: "not flipped"})
			}
			return err
		}},
		{"check runtimes", func(t *turn) error {
			status, err := t.authorityStatus(statusSQL)
			if err == nil && status.blocking > 0 {
				return t.refuse(Outcome{Kind: Refused, Reason: "blocking runtimes"})
			}
			return err
		}},
	}
}

// ledgerResolver is ring_cursor() without the columns.
const ledgerResolver = `CREATE OR REPLACE FUNCTION ring_cursor(ring text, OUT slot integer, OUT generation bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF ring = 'queue' THEN
        SELECT r.slot, r.generation INTO slot, generation FROM queue_ring_rotations r ORDER BY r.generation DESC LIMIT 1;
    ELSIF ring = 'lease' THEN
        SELECT r.slot, r.generation INTO slot, generation FROM lease_ring_rotations r ORDER BY r.generation DESC LIMIT 1;
    ELSIF ring = 'claim' THEN
        SELECT r.slot, r.generation INTO slot, generation FROM claim_ring_rotations r ORDER BY r.generation DESC LIMIT 1;
    ELSE
        RAISE EXCEPTION 'unknown ring %', ring USING ERRCODE = '22023';
    END IF;
END
$$`

// contractDrop replaces the resolver, drops the fence, which names the columns, and then the columns.
func contractDrop() procedure {
	return of(
		procedure{{"replace resolver", func(t *turn) error { return t.do(ledgerResolver) }}},
		eachRing("drop fence", func(t *turn) error { return t.do(`DROP TRIGGER IF EXISTS reject_compat_cursor ON {ring}_ring_state`) }),
		eachRing("drop slot column", func(t *turn) error { return t.do(`ALTER TABLE {ring}_ring_state DROP COLUMN IF EXISTS current_slot`) }),
		eachRing("drop generation column", func(t *turn) error { return t.do(`ALTER TABLE {ring}_ring_state DROP COLUMN IF EXISTS generation`) }),
		eachRing("drop slot generations", func(t *turn) error { return t.do(`ALTER TABLE {ring}_ring_slots DROP COLUMN IF EXISTS generation`) }),
	)
}

// Run contracts as often as it is told.
func (a contractor) Run(ctx context.Context, db sim.DB) error {
	for i := range a.times {
		sim.Checkpoint(ctx, i)
		if i > 0 {
			if err := sim.Sleep(ctx, a.pause); err != nil {
				return err
			}
		}
		_, err := operate(ctx, "contract", "contract", ring{}, func() (Outcome, error) {
			return a.p.turn(ctx, db, ring{}, nil).transact(Outcome{Kind: Done}, of(a.p.contractCheck, a.p.contractDrop))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
