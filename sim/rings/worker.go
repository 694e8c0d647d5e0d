package rings

import (
	"context"

	"simrun/sim"
)

// worker claims jobs of a lane and ends them: a claimer, and then a completer, closer or materialiser of what it claimed.
type worker struct {
	p     *program
	ring  ring // the queue ring
	lane  lane
	shape claimShape
	end   ending
	ticks int
}

// claimShape is which table a claim goes to.
type claimShape uint8

// The shapes of a claim.
const (
	compactClaim claimShape = iota // a batch in the claim ring
	rowClaim                       // a row in the claim ring
	legacyClaim                    // a lease in the lease ring, no claim at all
)

// ending is what the worker does with a job that it claimed.
type ending uint8

// The endings.
const (
	complete    ending = iota // success
	fail                      // non-success
	materialise               // to a lease, and then success
	abandon                   // nothing: the process is gone
)

// claimed is a job in a worker's hands.
type claimed struct {
	job
	shape     claimShape
	claimSlot int
	got       bool
}

func (t *turn) claimed() *claimed { return t.locals.(*claimed) }

// claim is the claimer's transaction: claim_ready_runtime, which both versions share. No ring is locked.
func claim() procedure {
	return procedure{
		{"lock lane", func(t *turn) error {
			c := t.claimed()
			rows, err := t.exec(`SELECT 1 FROM queue_claim_heads WHERE queue = $1 AND shard = $2 FOR UPDATE SKIP LOCKED`, c.queue, c.shard)
			if err == nil && rows == 0 {
				return t.end(Outcome{Kind: Noop, Reason: "lane taken"})
			}
			return err
		}},
		{"read lane cursor", func(t *turn) error {
			c := t.claimed()
			return t.row(`SELECT coalesce(pg_sequence_last_value(seq_name::regclass), 0) + 1 FROM queue_claim_heads
				WHERE queue = $1 AND shard = $2`, c.queue, c.shard).Scan(&c.seq)
		}},
		// Positions below the first segment were handed out to transactions that rolled back.
		{"find segment", func(t *turn) error {
			c := t.claimed()
			rows, err := t.tx.Query(t.ctx, `SELECT ready_slot, ready_generation, greatest(first_seq, $3) FROM ready_segments
				WHERE queue = $1 AND shard = $2 AND last_seq >= $3 ORDER BY first_seq LIMIT 1`, c.queue, c.shard, c.seq)
			if err != nil {
				return err
			}
			defer rows.Close()
			if !rows.Next() {
				if rows.Err() != nil {
					return rows.Err()
				}
				return t.end(Outcome{Kind: Noop, Reason: "nothing ready"})
			}
			return rows.Scan(&c.route.Slot, &c.route.Gen, &c.seq)
		}},
		{"spent evidence", func(t *turn) error {
			c := t.claimed()
			spent, err := t.exists(spentSQL, c.route.Slot, c.queue, c.shard, c.seq)
			if err == nil && spent {
				return t.end(Outcome{Kind: SkippedActive, Reason: "head spent"})
			}
			return err
		}},
		{"claim rows", claimRows},
	}
}

// spentSQL says whether a lane position has committed evidence of having been claimed or taken back.
const spentSQL = `SELECT EXISTS (SELECT 1 FROM ready_claim_attempt_batches a
		WHERE a.ready_slot = $1 AND a.queue = $2 AND a.shard = $3 AND $4 BETWEEN a.first_seq AND a.last_seq)
	OR EXISTS (SELECT 1 FROM ready_tombstones x
		WHERE x.ready_slot = $1 AND x.queue = $2 AND x.shard = $3 AND x.lane_seq = $4)`

// claimSQL reads the cursors once, takes the ready row, leaves the evidence in the ready row's slot and the claim in the
// open claim slot (or the lease in the open lease slot), in one statement. %s is where the claim goes.
const claimSQL = `WITH cursors AS MATERIALIZED (
		SELECT c.slot AS claim_slot, l.slot AS lease_slot, l.generation AS lease_generation
		FROM ring_cursor('claim') c, ring_cursor('lease') l),
	picked AS (
		SELECT e.ready_slot, e.ready_generation, e.queue, e.shard, e.lane_seq, e.job, e.run_lease FROM ready_entries e
		WHERE e.ready_slot = $1 AND e.ready_generation = $2 AND e.queue = $3 AND e.shard = $4 AND e.lane_seq = $5),
	evidence AS (
		INSERT INTO ready_claim_attempt_batches (ready_slot, ready_generation, queue, shard, first_seq, last_seq)
		SELECT ready_slot, ready_generation, queue, shard, lane_seq, lane_seq FROM picked),
	claimed AS (`

// The three ends of claimSQL, by shape.
var claimInto = [...]string{
	compactClaim: `
		INSERT INTO lease_claim_batches (claim_slot, ready_slot, ready_generation, queue, shard, first_seq, claimed_count)
		SELECT claim_slot, ready_slot, ready_generation, queue, shard, lane_seq, 1 FROM picked, cursors)
	SELECT job, run_lease, claim_slot FROM picked, cursors`,
	rowClaim: `
		INSERT INTO lease_claims (claim_slot, job, run_lease, ready_slot, ready_generation, queue, shard, lane_seq)
		SELECT claim_slot, job, run_lease, ready_slot, ready_generation, queue, shard, lane_seq FROM picked, cursors)
	SELECT job, run_lease, claim_slot FROM picked, cursors`,
	legacyClaim: `
		INSERT INTO leases (lease_slot, lease_generation, job, run_lease, ready_slot, ready_generation, queue, shard, lane_seq)
		SELECT lease_slot, lease_generation, job, run_lease, ready_slot, ready_generation, queue, shard, lane_seq FROM picked, cursors)
	SELECT job, run_lease, lease_slot FROM picked, cursors`,
}

func claimRows(t *turn) error { return claimWith(t, claimSQL+claimInto[t.claimed().shape]) }

func claimWith(t *turn, sql string) error {
	c := t.claimed()
	rows, err := t.tx.Query(t.ctx, sql, c.route.Slot, c.route.Gen, c.queue, c.shard, c.seq)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if rows.Err() != nil {
			return rows.Err()
		}
		return t.end(Outcome{Kind: Noop, Reason: "row gone"})
	}
	c.got = true
	if err := rows.Scan(&c.id, &c.lease, &c.claimSlot); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// advanceLane moves the lane's cursor past a position, after the commit and outside of any transaction. It may be lost; the
// evidence of a later claim repairs it.
func advanceLane(ctx context.Context, db sim.DB, l lane, seq int64) error {
	_, err := db.Exec(ctx, `SELECT setval(seq_name::regclass, $3) FROM queue_claim_heads
		WHERE queue = $1 AND shard = $2 AND coalesce(pg_sequence_last_value(seq_name::regclass), 0) < $3`, l.queue, l.shard, seq)
	if err != nil {
		_, err = failed(err)
	}
	return err
}

// Run claims once a tick, and ends what it claimed.
func (a worker) Run(ctx context.Context, db sim.DB) error {
	if sim.Attempt(ctx) > 0 && a.end == abandon {
		return nil
	}
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		c := &claimed{job: job{lane: a.lane}, shape: a.shape}
		o, err := operate(ctx, "claim", "claim", a.ring, func() (Outcome, error) {
			t := a.p.turn(ctx, db, a.ring, c)
			return t.transact(Outcome{Kind: Done}, a.p.claim)
		})
		if err != nil {
			return err
		}
		if o.Kind == Done || o.Reason == "head spent" {
			if err := a.p.advanceLane(ctx, db, a.lane, c.seq); err != nil {
				return err
			}
		}
		if o.Kind == Done && c.got && a.end != abandon {
			if err := a.p.finish(ctx, db, a.ring, c, a.end); err != nil {
				return err
			}
		}
	}
	return nil
}
