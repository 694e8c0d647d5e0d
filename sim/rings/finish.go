package rings

import (
	"context"

	"simrun/sim"
)

// finish ends a claimed job.
func (p *program) finish(ctx context.Context, db sim.DB, r ring, c *claimed, how ending) error {
	run := func(name string, steps procedure) (Outcome, error) {
		return operate(ctx, name, name, r, func() (Outcome, error) {
			t := p.turn(ctx, db, r, c)
			return t.transact(Outcome{Kind: Done}, steps)
		})
	}
	leased := c.shape == legacyClaim
	if how == materialise && !leased {
		o, err := run("materialise", p.materialise)
		if err != nil {
			return err
		}
		if o.Kind != Done {
			return nil
		}
		leased, how = true, complete
	}
	var err error
	switch {
	case leased:
		_, err = run("complete-lease", p.completeLease)
	case how == fail:
		_, err = run("close", p.closeClaim)
	case c.shape == compactClaim:
		_, err = run("complete", p.completeCompact)
	default:
		_, err = run("complete-row", p.completeRow)
	}
	return err
}

// lockAttempt serialises everyone who decides the fate of one attempt.
func lockAttempt(t *turn) error {
	c := t.claimed()
	return t.do(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, attemptKey(c.id, c.lease))
}

func attemptKey(id int64, lease int) string {
	return "receipt.complete:" + itoa(int(id)) + ":" + itoa(lease)
}

// openSQL finds the claim $1..$4 (slot, queue, shard, position) of attempt $5, $6 if it is open: not closed explicitly or
// compactly, and not materialised.
const openSQL = `
	SELECT x.claim_slot, x.ready_slot, x.ready_generation, x.queue, x.shard, x.lane_seq
	FROM (SELECT b.claim_slot, b.ready_slot, b.ready_generation, b.queue, b.shard, b.first_seq AS lane_seq
	      FROM lease_claim_batches b WHERE b.claim_slot = $1 AND b.queue = $2 AND b.shard = $3 AND b.first_seq = $4
	      UNION ALL
	      SELECT r.claim_slot, r.ready_slot, r.ready_generation, r.queue, r.shard, r.lane_seq
	      FROM lease_claims r WHERE r.claim_slot = $1 AND r.queue = $2 AND r.shard = $3 AND r.lane_seq = $4) x
	WHERE NOT EXISTS (SELECT 1 FROM lease_claim_closures k WHERE k.claim_slot = $1 AND k.job = $5 AND k.run_lease = $6)
	  AND NOT EXISTS (SELECT 1 FROM lease_claim_closure_batches k
	      WHERE k.claim_slot = $1 AND k.queue = $2 AND k.shard = $3 AND k.first_seq = $4)`

const notLeasedSQL = `
	  AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.job = $5 AND l.run_lease = $6)`

func (c *claimed) args() []any {
	return []any{c.claimSlot, c.queue, c.shard, c.seq, c.id, c.lease}
}

// unlessStale ends the turn when the claim was not open any more.
func (t *turn) unlessStale(rows int64, err error) error {
	if err == nil && rows == 0 {
		return t.end(Outcome{Kind: Noop, Reason: "stale"})
	}
	return err
}

// completeCompact is the success of a compact claim: one statement that verifies, closes in the claim's slot, and counts
// in the ready row's slot.
func completeCompact() procedure {
	return procedure{
		{"lock attempt", lockAttempt},
		{"complete", func(t *turn) error {
			return t.unlessStale(t.exec(`WITH open AS (`+openSQL+notLeasedSQL+`),
				closed AS (INSERT INTO lease_claim_closure_batches
					(claim_slot, ready_slot, ready_generation, queue, shard, first_seq, closed_count)
					SELECT claim_slot, ready_slot, ready_generation, queue, shard, lane_seq, 1 FROM open),
				counted AS (INSERT INTO receipt_completion_batches
					(ready_slot, ready_generation, queue, shard, first_seq, completed_count)
					SELECT ready_slot, ready_generation, queue, shard, lane_seq, 1 FROM open)
				INSERT INTO app_effects (job, run_lease, failed) SELECT $5, $6, false FROM open`, t.claimed().args()...))
		}},
	}
}

// completeRow is the success of a row claim: an explicit closure, a terminal row, and a delta of the counters.
func completeRow() procedure {
	return of(
		procedure{{"lock attempt", lockAttempt}, {"lock claim", lockClaim}, {"verify open", verifyOpen}},
		procedure{{"close", closeByShape}},
		terminal("completed"),
	)
}

// closeClaim is a failure, of either shape.
func closeClaim() procedure {
	return of(
		procedure{{"lock attempt", lockAttempt}, {"lock claim", lockClaim}, {"verify open", verifyOpen}},
		procedure{{"close", closeByShape}},
		terminal("failed"),
	)
}

func lockClaim(t *turn) error {
	c := t.claimed()
	if c.shape == rowClaim {
		return t.do(`SELECT 1 FROM lease_claims WHERE claim_slot = $1 AND job = $2 AND run_lease = $3 FOR UPDATE`, c.claimSlot, c.id, c.lease)
	}
	return t.do(`SELECT 1 FROM lease_claim_batches WHERE claim_slot = $1 AND queue = $2 AND shard = $3 AND first_seq = $4 FOR UPDATE`,
		c.claimSlot, c.queue, c.shard, c.seq)
}

func verifyOpen(t *turn) error {
	open, err := t.exists(`SELECT EXISTS (`+openSQL+notLeasedSQL+`)`, t.claimed().args()...)
	if err == nil && !open {
		return t.end(Outcome{Kind: Noop, Reason: "stale"})
	}
	return err
}

// closeByShape closes a claim in its own slot and shape: a row claim by an explicit closure, a compact claim by a closure
// batch. The count proofs of prune rest on it.
func closeByShape(t *turn) error {
	if t.claimed().shape == rowClaim {
		return closeExplicitly(t)
	}
	return closeCompactly(t)
}

func closeExplicitly(t *turn) error {
	c := t.claimed()
	return t.do(`INSERT INTO lease_claim_closures (claim_slot, job, run_lease) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		c.claimSlot, c.id, c.lease)
}

func closeCompactly(t *turn) error {
	c := t.claimed()
	return t.do(`INSERT INTO lease_claim_closure_batches (claim_slot, ready_slot, ready_generation, queue, shard, first_seq, closed_count)
		VALUES ($1, $2, $3, $4, $5, $6, 1)`, c.claimSlot, c.route.Slot, c.route.Gen, c.queue, c.shard, c.seq)
}

// terminal records that the job has ended: its row in the slot of its ready row, what the counters have to add, and what the
// application did.
func terminal(state string) procedure {
	return procedure{
		{"terminal row", func(t *turn) error {
			c := t.claimed()
			return t.do(`INSERT INTO done_entries (ready_slot, ready_generation, queue, shard, lane_seq, job, state, finalized_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, now())`, c.route.Slot, c.route.Gen, c.queue, c.shard, c.seq, c.id, state)
		}},
		{"count delta", func(t *turn) error {
			c := t.claimed()
			return t.do(`INSERT INTO queue_terminal_count_deltas (ready_slot, ready_generation, queue, completed_delta, failed_delta)
				VALUES ($1, $2, $3, $4, $5)`, c.route.Slot, c.route.Gen, c.queue, b2i(state == "completed"), b2i(state == "failed"))
		}},
		{"application effect", func(t *turn) error {
			c := t.claimed()
			return t.do(`INSERT INTO app_effects (job, run_lease, failed) VALUES ($1, $2, $3)`, c.id, c.lease, state == "failed")
		}},
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// unlessGone ends the turn when the lease was not found. A lease is its worker's alone, so it never is gone.
func (t *turn) unlessGone(rows int64, err error) error {
	if err == nil && rows == 0 {
		return t.end(Outcome{Kind: Noop, Reason: reasonGone})
	}
	return err
}

const reasonGone = "lease gone"

// materialise makes a lease of a receipt, so that a job that runs for long has a heartbeat.
func materialiseLease(slotSQL string) procedure {
	return procedure{
		{"lock attempt", lockAttempt},
		{"insert lease", func(t *turn) error {
			return t.unlessStale(t.exec(`WITH target AS (`+slotSQL+`), open AS (`+openSQL+notLeasedSQL+`)
				INSERT INTO leases (lease_slot, lease_generation, job, run_lease, ready_slot, ready_generation, queue, shard, lane_seq)
				SELECT target.slot, target.generation, $5, $6, ready_slot, ready_generation, queue, shard, lane_seq
				FROM open, target`, t.claimed().args()...))
		}},
	}
}

// Where a materialised lease goes: the release takes the ledger whatever the authority is.
const (
	leaseSlotOfLedger   = `SELECT slot, generation FROM lease_ring_rotations ORDER BY generation DESC LIMIT 1`
	leaseSlotOfResolver = `SELECT slot, generation FROM ring_cursor('lease')`
)

// completeLease is the success of a job that runs under a lease. The lease is found by its attempt, in whatever slot it is:
// the ring may have rotated since the claim.
func completeLease() procedure {
	return of(
		procedure{
			{"lock attempt", lockAttempt},
			{"delete lease", func(t *turn) error {
				rows, err := t.exec(`DELETE FROM leases WHERE job = $1 AND run_lease = $2`, t.claimed().id, t.claimed().lease)
				return t.unlessGone(rows, err)
			}},
			{"close", func(t *turn) error {
				if t.claimed().shape == legacyClaim {
					return nil // there is no claim
				}
				return closeByShape(t)
			}},
		},
		terminal("completed"),
	)
}
