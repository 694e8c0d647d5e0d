package rings

import (
	"context"

	"simrun/sim"
)

// rescuer is the leader's sweep for claims that nobody will end: it closes them and hands the jobs over again. To the
// protocol any open claim may be stale, so it takes every open claim it finds.
type rescuer struct {
	p     *program
	ring  ring // the claim ring
	lane  lane
	ticks int
}

// rescueSlots is the order in which one sweep visits the claim slots: the oldest by the ledger first, whatever the authority
// is, then the others.
func rescueSlots(oldest cursor, ok bool, n int) []int {
	var out []int
	if ok {
		out = append(out, oldest.Slot)
	}
	for slot := range n {
		if !ok || slot != oldest.Slot {
			out = append(out, slot)
		}
	}
	return out
}

// sweepSlot is a sweep's work on one claim slot.
func sweepSlot() procedure {
	return procedure{
		{"lock slot", func(t *turn) error {
			return t.do(`SELECT 1 FROM claim_ring_slots WHERE slot = $1 FOR UPDATE`, t.target.Slot)
		}},
		{"find open claims", findStale},
		{"rescue claims", func(t *turn) error {
			for i := range t.stale() {
				if err := t.rescue(&t.stale()[i]); err != nil {
					return err
				}
			}
			return nil
		}},
		{"move rescue cursor", func(t *turn) error {
			if len(t.stale()) == 0 {
				return nil
			}
			last := t.stale()[len(t.stale())-1]
			return t.do(`UPDATE claim_ring_slots SET stale_cursor_job = $1, batch_cursor_seq = $2 WHERE slot = $3`,
				last.id, last.seq, t.target.Slot)
		}},
	}
}

// sweep is what one sweep's steps tell each other.
type sweep struct {
	p     *program
	found []claimed
}

func (t *turn) stale() []claimed { return t.locals.(*sweep).found }

// findStaleSQL finds the open claims of a slot, of both shapes, with the job of each. A claim that was materialised is under
// its lease's heartbeat and none of the sweep's business.
const findStaleSQL = `SELECT x.shape, e.job, e.run_lease, x.ready_slot, x.ready_generation, x.queue, x.shard, x.lane_seq
	FROM (SELECT 0 AS shape, b.ready_slot, b.ready_generation, b.queue, b.shard, b.first_seq AS lane_seq
	      FROM lease_claim_batches b WHERE b.claim_slot = $1
	        AND NOT EXISTS (SELECT 1 FROM lease_claim_closure_batches k
	            WHERE k.claim_slot = b.claim_slot AND k.queue = b.queue AND k.shard = b.shard AND k.first_seq = b.first_seq)
	      UNION ALL
	      SELECT 1, r.ready_slot, r.ready_generation, r.queue, r.shard, r.lane_seq
	      FROM lease_claims r WHERE r.claim_slot = $1
	        AND NOT EXISTS (SELECT 1 FROM lease_claim_closures k
	            WHERE k.claim_slot = r.claim_slot AND k.job = r.job AND k.run_lease = r.run_lease)) x
	JOIN ready_entries e ON e.ready_slot = x.ready_slot AND e.queue = x.queue AND e.shard = x.shard AND e.lane_seq = x.lane_seq
	WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.job = e.job AND l.run_lease = e.run_lease)
	ORDER BY e.job`

func findStale(t *turn) error { return t.findStale(findStaleSQL) }

func (t *turn) findStale(sql string) error {
	rows, err := t.tx.Query(t.ctx, sql, t.target.Slot)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := t.locals.(*sweep)
	found.found = nil
	for rows.Next() {
		s := claimed{claimSlot: t.target.Slot}
		var shape int
		if err := rows.Scan(&shape, &s.id, &s.lease, &s.route.Slot, &s.route.Gen, &s.queue, &s.shard, &s.seq); err != nil {
			return err
		}
		if shape == 1 {
			s.shape = rowClaim
		}
		found.found = append(found.found, s)
	}
	return rows.Err()
}

// rescueClaim closes one claim and enqueues the next attempt of its job.
func rescueClaim() procedure {
	return procedure{
		{"try attempt lock", func(t *turn) error {
			got, err := t.exists(`SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))`, attemptKey(t.claimed().id, t.claimed().lease))
			if err == nil && !got {
				return t.end(Outcome{Kind: Noop, Reason: "attempt taken"})
			}
			return err
		}},
		{"verify open", verifyOpen},
		{"close", closeByShape},
	}
}

// rescue runs the steps for one claim of the sweep. That the claim turns out to be someone else's ends only its own steps.
func (t *turn) rescue(s *claimed) error {
	p := t.locals.(*sweep).p
	sub := &turn{ctx: t.ctx, db: t.db, tx: t.tx, ring: t.ring, locals: s}
	if err := sub.steps(p.rescueClaim); err != nil {
		if err == errEnd {
			return nil
		}
		return err
	}
	next := &turn{ctx: t.ctx, db: t.db, tx: t.tx, ring: queueRing, locals: &job{lane: s.lane, id: s.id, lease: s.job.lease + 1}}
	if err := next.steps(p.reenqueue); err != nil {
		return err
	}
	t.now.N++
	return nil
}

// reenqueue hands a job over again, in the rescue's transaction.
func reenqueue(route procedure) procedure {
	return of(procedure{{"lock lane", lockLane}, {"reserve position", reservePosition}}, route,
		procedure{{"insert ready row", insertReady}, {"insert segment", insertSegment}})
}

// Run sweeps once a tick: one transaction over all slots, or one a slot.
func (a rescuer) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		var top cursor
		err := db.QueryRow(ctx, `SELECT slot, generation FROM claim_ring_rotations ORDER BY generation DESC LIMIT 1`).Scan(&top.Slot, &top.Gen)
		if err != nil {
			if _, err = failed(err); err != nil {
				return err
			}
			continue
		}
		oldest, ok := top.oldest(a.p.slots)
		var all []procedure
		for _, slot := range rescueSlots(oldest, ok, a.p.slots) {
			all = append(all, of(procedure{{"slot", func(t *turn) error { t.target.Slot = slot; return nil }}}, a.p.sweepSlot))
		}
		if !a.p.sweepBySlot {
			all = []procedure{of(all...)}
		}
		for _, steps := range all {
			_, err := operate(ctx, "rescue", "rescue", a.ring, func() (Outcome, error) {
				t := a.p.turn(ctx, db, a.ring, &sweep{p: a.p})
				return t.transact(Outcome{Kind: Done}, steps)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
