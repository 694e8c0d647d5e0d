package rings

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"simrun/sim"
)

// pruner truncates the oldest sealed slot of a ring.
type pruner struct {
	p     *program
	ring  ring
	old   bool // a 0.6.2 binary
	ticks int
}

// pruning is what the steps of a queue prune tell each other.
type pruning struct {
	retain string // interval: failed rows younger than it are carried forward; "" carries none
	counts []queueCount
}

// queueCount is how many terminal jobs of a queue a prune takes away.
type queueCount struct {
	queue             string
	completed, failed int64
}

func (t *turn) pruning() *pruning { return t.locals.(*pruning) }

// oldPickQueue is how 0.6.2 finds its target: by the generations of the slot rows.
func oldPickQueue() procedure {
	return procedure{
		{"lock cursor", func(t *turn) error {
			err := t.row(`SELECT current_slot, generation, slot_count FROM queue_ring_state WHERE singleton FOR UPDATE`).
				Scan(&t.cur.Slot, &t.cur.Gen, &t.n)
			if err == nil {
				t.noteOldHold()
			}
			return err
		}},
		{"lock slot", func(t *turn) error {
			rows, err := t.tx.Query(t.ctx, `SELECT slot, generation FROM queue_ring_slots WHERE generation >= 0 AND slot <> $1
				ORDER BY generation LIMIT 1 FOR UPDATE`, t.cur.Slot)
			if err != nil {
				return err
			}
			defer rows.Close()
			if !rows.Next() {
				if rows.Err() != nil {
					return rows.Err()
				}
				return t.end(Outcome{Kind: Noop})
			}
			return rows.Scan(&t.target.Slot, &t.target.Gen)
		}},
	}
}

// noteOldHold tells that an old binary holds the serializer, and what it reads there.
func (t *turn) noteOldHold() {
	mode := columns
	if t.cur.poisoned() {
		mode = "poison"
	}
	sim.Note(t.ctx, noteHold, hold{t.name, mode})
}

// pickOldest is how 0.7 finds the target of any prune, after the gate and the cursor: by arithmetic. On a ring that has been
// round once it is the slot that the next rotation opens, so the serializer must be held.
func pickOldest() procedure {
	return procedure{
		{"pick oldest", func(t *turn) error {
			var ok bool
			if t.target, ok = t.cur.oldest(t.n); !ok {
				return t.end(Outcome{Kind: Noop})
			}
			return nil
		}},
		{"lock slot", func(t *turn) error {
			return t.do(`SELECT 1 FROM {ring}_ring_slots WHERE slot = $1 FOR UPDATE`, t.target.Slot)
		}},
	}
}

// skip ends the turn because the target is still needed.
func (t *turn) skip(reason string) error {
	return t.end(Outcome{Kind: SkippedActive, Slot: t.target.Slot, Gen: t.target.Gen, Reason: reason})
}

// queueGates are the three reasons to leave a queue slot alone, in their order. They run before the children are locked, to
// spare the lock, and again under it, to be right.
func queueGates() procedure {
	return procedure{
		{"active leases", func(t *turn) error {
			needed, err := t.exists(`SELECT EXISTS (SELECT 1 FROM leases WHERE ready_slot = $1 AND ready_generation = $2)`,
				t.target.Slot, t.target.Gen)
			if err == nil && needed {
				return t.skip("queue.active_leases")
			}
			return err
		}},
		{"pending ready", func(t *turn) error { return pendingReady(t, pendingSQL, t.target.Gen) }},
		{"unclosed claims", func(t *turn) error {
			open, err := t.exists(unclosedSQL, t.target.Slot, t.target.Gen)
			if err == nil && open {
				return t.skip("queue.unclosed_claim_refs")
			}
			return err
		}},
	}
}

// pendingSQL says whether the child holds ready rows of the generation that the cursor of their lane has not passed. A row
// that was taken back (tombstone) is pending until the cursor passes it.
const pendingSQL = `SELECT EXISTS (SELECT 1 FROM queue_claim_heads h, ready_entries_{slot} e
	WHERE e.queue = h.queue AND e.shard = h.shard AND e.ready_generation = $1
	  AND e.lane_seq > coalesce(pg_sequence_last_value(h.seq_name::regclass), 0))`

// pendingOfAnySQL does not look at the generation: a row that a slow writer routed a lap ago is pending too.
const pendingOfAnySQL = `SELECT EXISTS (SELECT 1 FROM queue_claim_heads h, ready_entries_{slot} e
	WHERE e.queue = h.queue AND e.shard = h.shard
	  AND e.lane_seq > coalesce(pg_sequence_last_value(h.seq_name::regclass), 0))`

func pendingReady(t *turn, sql string, args ...any) error {
	pending, err := t.exists(sql, args...)
	if err == nil && pending {
		return t.skip("queue.pending_ready")
	}
	return err
}

// unclosedSQL says whether fewer closures than claims refer to the slot and generation.
const unclosedSQL = `SELECT
	(SELECT count(*) FROM lease_claims c WHERE c.ready_slot = $1 AND c.ready_generation = $2)
	+ (SELECT coalesce(sum(b.claimed_count), 0) FROM lease_claim_batches b WHERE b.ready_slot = $1 AND b.ready_generation = $2)
	<> (SELECT count(*) FROM lease_claim_closures k JOIN lease_claims c
	      ON c.claim_slot = k.claim_slot AND c.job = k.job AND c.run_lease = k.run_lease
	    WHERE c.ready_slot = $1 AND c.ready_generation = $2)
	+ (SELECT coalesce(sum(k.closed_count), 0) FROM lease_claim_closure_batches k WHERE k.ready_slot = $1 AND k.ready_generation = $2)`

// lockChildren takes the children of the target, for a short while only: a reader in the way makes the prune give up, lest
// everyone queue behind it.
func lockChildren() procedure {
	return procedure{
		{"set lock timeout", func(t *turn) error { return t.do(`SELECT set_config('lock_timeout', '10ms', true)`) }},
		{"lock children", func(t *turn) error { return t.lockOrBlocked(`LOCK TABLE {children} IN ACCESS EXCLUSIVE MODE`) }},
	}
}

// lockOrBlocked runs a bounded wait; when it gives up the turn rolls back as Blocked.
func (t *turn) lockOrBlocked(sql string) error {
	err := t.do(sql)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "55P03" {
		return t.refuse(Outcome{Kind: Blocked, Slot: t.target.Slot, Gen: t.target.Gen})
	}
	return err
}

// carried is the condition on done_entries for rows that a prune carries forward.
const carried = `(d.state = 'failed' AND d.finalized_at > now() - $1::interval)`

// emptyQueueSlot moves the facts of the target elsewhere and truncates it.
func emptyQueueSlot() procedure {
	return procedure{
		{"carry failed rows", func(t *turn) error {
			if t.pruning().retain == "" {
				return nil
			}
			return t.do(`INSERT INTO done_entries (ready_slot, ready_generation, queue, shard, lane_seq, job, state, finalized_at)
				SELECT $2, $3, d.queue, d.shard, d.lane_seq, d.job, d.state, d.finalized_at
				FROM done_entries_{slot} d WHERE `+carried, t.pruning().retain, t.cur.Slot, t.cur.Gen)
		}},
		{"carry count deltas", func(t *turn) error {
			if t.pruning().retain == "" {
				return nil
			}
			return t.do(`INSERT INTO queue_terminal_count_deltas (ready_slot, ready_generation, queue, completed_delta, failed_delta)
				SELECT $2, $3, d.queue, 0, count(*) FROM done_entries_{slot} d WHERE `+carried+` GROUP BY d.queue ORDER BY d.queue`,
				t.pruning().retain, t.cur.Slot, t.cur.Gen)
		}},
		{"count terminal rows", func(t *turn) error { return countTerminal(t, countSQL) }},
		{"truncate", func(t *turn) error {
			t.now.Slot, t.now.Gen = t.target.Slot, t.target.Gen
			return t.do(`TRUNCATE {children}`)
		}},
		{"record counts", recordDeltas},
		{"drop live counts", func(t *turn) error {
			return t.do(`DELETE FROM queue_terminal_live_counts WHERE ready_slot = $1`, t.target.Slot)
		}},
	}
}

// countSQL counts the terminal rows of the whole child by queue, whatever their generation, without those carried.
const countSQL = `SELECT x.queue, coalesce(sum(x.completed), 0)::bigint, coalesce(sum(x.failed), 0)::bigint
	FROM (SELECT d.queue, CASE WHEN d.state = 'completed' THEN 1 ELSE 0 END AS completed,
	             CASE WHEN d.state = 'failed' AND NOT ` + carried + ` THEN 1 ELSE 0 END AS failed
	      FROM done_entries_{slot} d
	      UNION ALL
	      SELECT b.queue, b.completed_count, 0 FROM receipt_completion_batches_{slot} b) x
	GROUP BY x.queue ORDER BY x.queue`

func countTerminal(t *turn, sql string) error {
	retain := t.pruning().retain
	if retain == "" {
		retain = "0 seconds"
	}
	rows, err := t.tx.Query(t.ctx, t.sql(sql), retain)
	if err != nil {
		return err
	}
	defer rows.Close()
	t.pruning().counts = nil
	for rows.Next() {
		var c queueCount
		if err := rows.Scan(&c.queue, &c.completed, &c.failed); err != nil {
			return err
		}
		if c.completed != 0 || c.failed != 0 {
			t.pruning().counts = append(t.pruning().counts, c)
		}
	}
	return rows.Err()
}

// recordDeltas appends what was counted for a later fold, as 0.7 does.
func recordDeltas(t *turn) error {
	for _, c := range t.pruning().counts {
		if err := t.do(`INSERT INTO queue_terminal_rollup_deltas (queue, completed_delta, failed_delta) VALUES ($1, $2, $3)`,
			c.queue, c.completed, c.failed); err != nil {
			return err
		}
	}
	return nil
}

// recordRollups adds what was counted to the rollups, as 0.6.2 does.
func recordRollups(t *turn) error {
	for _, c := range t.pruning().counts {
		if err := t.do(`INSERT INTO queue_terminal_rollups AS r (queue, pruned_completed_count, pruned_failed_count) VALUES ($1, $2, $3)
			ON CONFLICT (queue) DO UPDATE SET pruned_completed_count = r.pruned_completed_count + EXCLUDED.pruned_completed_count,
				pruned_failed_count = r.pruned_failed_count + EXCLUDED.pruned_failed_count`, c.queue, c.completed, c.failed); err != nil {
			return err
		}
	}
	return nil
}

// prune runs one tick of a pruner on a ring.
func (p *program) prune(ctx context.Context, db sim.DB, r ring, old bool) (Outcome, error) {
	name := "prune-0.7"
	if old {
		name = "prune-0.6"
	}
	return operate(ctx, name+" "+r.name, "prune", r, func() (Outcome, error) {
		t := p.turn(ctx, db, r, &pruning{retain: p.retain})
		return t.transact(Outcome{Kind: Pruned}, p.pruneOf(r, old))
	})
}

// pruneOf is the prune of a ring.
func (p *program) pruneOf(r ring, old bool) procedure {
	switch {
	case r.name == leaseRing.name && old:
		return of(p.oldPickLease, p.lockChildren, p.emptyLeaseSlot)
	case r.name == leaseRing.name:
		return of(p.pruneTarget, p.lockChildren, p.emptyLeaseSlot)
	case r.name == claimRing.name && old:
		return of(p.oldPickLease, p.claimProof, p.lockChildren, p.claimTargetSealed, p.claimProofLocked, p.oldEmptyClaimSlot)
	case r.name == claimRing.name:
		return of(p.pruneTarget, p.claimProof, p.lockChildren, p.claimTargetSealed, p.claimProofLocked, p.emptyClaimSlot)
	case old:
		return of(p.oldPickQueue, p.queueGates, p.lockChildren, p.queueGatesLocked, p.emptyQueueSlot.with("record counts", recordRollups))
	}
	return of(p.pruneTarget, p.queueGates, p.lockChildren, p.queueGatesLocked, p.emptyQueueSlot)
}

// Run prunes once a tick.
func (a pruner) Run(ctx context.Context, db sim.DB) error {
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		if _, err := a.p.prune(ctx, db, a.ring, a.old); err != nil {
			return err
		}
	}
	return nil
}
