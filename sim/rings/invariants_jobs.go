package rings

import (
	"fmt"
	"strings"

	"simrun/sim"
)

// Parts of the queries over jobs. The application's tables say what must be accounted for.
const (
	// unspentReady is a ready row that nobody has claimed or taken back.
	unspentReady = `ready_entries e
	WHERE NOT EXISTS (SELECT 1 FROM ready_claim_attempt_batches a
	      WHERE a.ready_slot = e.ready_slot AND a.queue = e.queue AND a.shard = e.shard AND e.lane_seq BETWEEN a.first_seq AND a.last_seq)
	  AND NOT EXISTS (SELECT 1 FROM ready_tombstones x
	      WHERE x.ready_slot = e.ready_slot AND x.queue = e.queue AND x.shard = e.shard AND x.lane_seq = e.lane_seq)`
	// openBatches and openRows are the claims of either shape that are not closed.
	openBatches = `lease_claim_batches b
	WHERE NOT EXISTS (SELECT 1 FROM lease_claim_closure_batches k
	      WHERE k.claim_slot = b.claim_slot AND k.queue = b.queue AND k.shard = b.shard AND k.first_seq = b.first_seq)`
	openRows = `lease_claims c
	WHERE NOT EXISTS (SELECT 1 FROM lease_claim_closures k
	      WHERE k.claim_slot = c.claim_slot AND k.job = c.job AND k.run_lease = c.run_lease)`
	// bareLeases are the leases that were claimed without a receipt.
	bareLeases = `leases l
	WHERE NOT EXISTS (SELECT 1 FROM lease_claim_batches b WHERE b.queue = l.queue AND b.shard = l.shard AND b.first_seq = l.lane_seq)
	  AND NOT EXISTS (SELECT 1 FROM lease_claims c WHERE c.job = l.job AND c.run_lease = l.run_lease)`
)

// noLossSQL finds jobs that the application handed over, that did not finish, and that are nowhere any more.
const noLossSQL = `SELECT j.job FROM app_jobs j
	WHERE NOT EXISTS (SELECT 1 FROM app_effects f WHERE f.job = j.job)
	  AND NOT EXISTS (SELECT 1 FROM ` + unspentReady + ` AND e.job = j.job)
	  AND NOT EXISTS (SELECT 1 FROM ` + openRows + ` AND c.job = j.job)
	  AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.job = j.job)
	  AND NOT EXISTS (SELECT 1 FROM ready_entries e WHERE e.job = j.job AND EXISTS (SELECT 1 FROM ` + openBatches + `
	      AND b.ready_slot = e.ready_slot AND b.queue = e.queue AND b.shard = e.shard AND b.first_seq = e.lane_seq))`

// exactCountsSQL finds queues whose jobs do not add up.
const exactCountsSQL = `SELECT x.queue, sum(x.n) AS surplus FROM (
	SELECT j.queue, -1 AS n FROM app_jobs j
	UNION ALL SELECT e.queue, 1 FROM ` + unspentReady + `
	UNION ALL SELECT b.queue, 1 FROM ` + openBatches + `
	UNION ALL SELECT c.queue, 1 FROM ` + openRows + `
	UNION ALL SELECT l.queue, 1 FROM ` + bareLeases + `
	UNION ALL SELECT d.queue, 1 FROM done_entries d
	UNION ALL SELECT b.queue, b.completed_count FROM receipt_completion_batches b
	UNION ALL SELECT r.queue, r.pruned_completed_count + r.pruned_failed_count FROM queue_terminal_rollups r
	UNION ALL SELECT d.queue, d.completed_delta + d.failed_delta FROM queue_terminal_rollup_deltas d) x
	GROUP BY x.queue HAVING sum(x.n) <> 0`

// countersSQL finds slots whose counters do not say what their rows say.
const countersSQL = `SELECT x.ready_slot, x.queue, sum(x.completed) AS completed, sum(x.failed) AS failed FROM (
	SELECT d.ready_slot, d.queue, CASE WHEN d.state = 'completed' THEN 1 ELSE 0 END AS completed,
	       CASE WHEN d.state = 'failed' THEN 1 ELSE 0 END AS failed FROM done_entries d
	UNION ALL SELECT l.ready_slot, l.queue, -l.completed, -l.failed FROM queue_terminal_live_counts l
	UNION ALL SELECT d.ready_slot, d.queue, -d.completed_delta, -d.failed_delta FROM queue_terminal_count_deltas d) x
	GROUP BY x.ready_slot, x.queue HAVING sum(x.completed) <> 0 OR sum(x.failed) <> 0`

// claimOnceSQL finds attempts with two open claims, jobs that finished twice, and cursors that passed a row nobody has claimed.
const claimOnceSQL = `SELECT 'claimed twice' AS what, c.queue, c.shard, c.lane_seq FROM ` + openRows + `
	  AND EXISTS (SELECT 1 FROM lease_claims d WHERE d.job = c.job AND d.run_lease = c.run_lease AND d.claim_slot <> c.claim_slot
	      AND NOT EXISTS (SELECT 1 FROM lease_claim_closures k WHERE k.claim_slot = d.claim_slot AND k.job = d.job AND k.run_lease = d.run_lease))
	UNION ALL
	SELECT 'claimed twice', b.queue, b.shard, b.first_seq FROM ` + openBatches + `
	  AND EXISTS (SELECT 1 FROM lease_claim_batches d WHERE d.queue = b.queue AND d.shard = b.shard AND d.first_seq = b.first_seq
	      AND d.claim_slot <> b.claim_slot AND NOT EXISTS (SELECT 1 FROM lease_claim_closure_batches k
	          WHERE k.claim_slot = d.claim_slot AND k.queue = d.queue AND k.shard = d.shard AND k.first_seq = d.first_seq))
	UNION ALL
	SELECT 'passed unclaimed', e.queue, e.shard, e.lane_seq FROM ` + unspentReady + `
	  AND EXISTS (SELECT 1 FROM queue_claim_heads h WHERE h.queue = e.queue AND h.shard = e.shard
	      AND e.lane_seq <= coalesce(pg_sequence_last_value(h.seq_name::regclass), 0))`

const finishedOnceSQL = `SELECT f.job, count(*) FROM app_effects f GROUP BY f.job HAVING count(*) > 1`

// proofSQL finds what makes the count proofs of prune lie: claims with two closures, and closures without a claim.
const proofSQL = `SELECT 'closed twice' AS what, k.claim_slot, k.queue, k.shard, k.first_seq FROM lease_claim_closure_batches k
	GROUP BY k.claim_slot, k.queue, k.shard, k.first_seq HAVING count(*) > 1
	UNION ALL
	SELECT 'closed without claim', k.claim_slot, k.queue, k.shard, k.first_seq FROM lease_claim_closure_batches k
	WHERE NOT EXISTS (SELECT 1 FROM lease_claim_batches b
	    WHERE b.claim_slot = k.claim_slot AND b.queue = k.queue AND b.shard = k.shard AND b.first_seq = k.first_seq)
	UNION ALL
	SELECT 'closed without claim', k.claim_slot, '', k.run_lease, k.job FROM lease_claim_closures k
	WHERE NOT EXISTS (SELECT 1 FROM lease_claims c WHERE c.claim_slot = k.claim_slot AND c.job = k.job AND c.run_lease = k.run_lease)`

// stampedSQL finds an open queue slot whose row does not say so.
const stampedSQL = `SELECT q.slot, q.generation, s.generation AS open_as FROM queue_ring_state s, queue_ring_slots q, ring_cursor_authority a
	WHERE a.authority = 'columns' AND q.slot = s.current_slot AND q.generation <> s.generation`

// oneGenerationSQL finds rows of another generation than the one under which their slot was last open, and rows routed where
// no cursor ever was.
func oneGenerationSQL() string {
	var parts []string
	for _, family := range queueRing.families {
		parts = append(parts, strings.ReplaceAll(`
SELECT '{family}' AS family, x.ready_slot AS slot, x.ready_generation AS generation
FROM {family} x, ring_cursor('queue') c, queue_ring_state s
WHERE x.ready_generation <> c.generation - ((c.slot - x.ready_slot + s.slot_count) % s.slot_count)`, "{family}", family))
	}
	parts = append(parts, `
SELECT 'leases', x.lease_slot, x.lease_generation
FROM leases x, ring_cursor('lease') c, lease_ring_state s
WHERE x.lease_generation <> c.generation - ((c.slot - x.lease_slot + s.slot_count) % s.slot_count)`)
	return strings.Join(parts, "\nUNION ALL")
}

// jobInvariants is what must hold of jobs where all families are there. finished is how many jobs of queue q have finished at
// the start.
func jobInvariants(first cursors, finished int64) []sim.Invariant {
	return []sim.Invariant{
		{Name: "NoLoss", ID: "I-7", Doc: "a job that was accepted has finished, or is ready, claimed or leased", SQL: noLossSQL},
		{Name: "ExactCounts", ID: "I-13", Doc: "ready + running + live terminal + rollups + deltas is the number of jobs accepted", SQL: exactCountsSQL},
		{Name: "CountersMatch", ID: "I-13", Doc: "live counts and their deltas say what the terminal rows say, slot by slot", SQL: countersSQL},
		{Name: "ClaimOnce", ID: "I-25", Doc: "an attempt has one open claim at most, and no cursor passes an unclaimed row", SQL: claimOnceSQL},
		{Name: "FinishedOnce", ID: "I-25", Doc: "a job finishes at most once", SQL: finishedOnceSQL},
		{Name: "ProofSound", ID: "I-24", Doc: "closures and claims correspond one to one, so that the count proofs of prune are proofs", SQL: proofSQL},
		{Name: "OneGeneration", ID: "I-8", Doc: "a slot holds rows only of the generation under which it was last open", SQL: oneGenerationSQL()},
		{Name: "Stamped", ID: "I-6", Doc: "before the flip the open queue slot carries its generation, by which a 0.6.2 prune spares it", SQL: stampedSQL},
		routeFresh(first),
		watchEmptyTarget(first),
		{Name: "OpenSlotSafe", ID: "I-6", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &acting{&first, openSlotTruncated} },
			Doc: "no prune truncates the slot that is open"},
		{Name: "ExactReads", ID: "I-13", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &reads{finished: finished} },
			Doc: "a reader counts no fewer jobs than have finished at any time while it reads, and no more"},
		noOutcome("LeaseFound", "I-26", "a worker finds its lease wherever the ring has turned", func(_ *sim.Step, o Outcome) string {
			if o.Reason == reasonGone {
				return "a worker did not find its own lease"
			}
			return ""
		}),
		{Name: "Loud", ID: "I-19", Kind: sim.Monitored, Monitor: func() sim.Monitor { return &acting{&first, silentOld} },
			Doc: "after the flip an old binary neither rotates nor prunes"},
	}
}

// watchEmptyTarget is I-9: the slot that a rotation opens is empty.
func watchEmptyTarget(first cursors) sim.Invariant {
	return watch("EmptyTarget", "I-9", "the slot that a rotation opens holds no committed rows", first,
		func(w *watcher, s *sim.Step, now *cursors) string {
			for i := range now.rings {
				is := now.of(i)
				if is == w.last.of(i) || is.Slot < 0 {
					continue
				}
				for _, table := range allRings[i].children(is.Slot) {
					res, err := s.Committed.Query(`SELECT EXISTS (SELECT 1 FROM ` + table + `)`)
					if err == nil && res.Rows[0][0].N != 0 {
						return fmt.Sprintf("the %s ring moved to %v, and %s holds rows", now.rings[i].ring, is, table)
					}
				}
			}
			return ""
		})
}

// acting is a monitor of outcomes next to the cursors that are committed when they are told.
type acting struct {
	last  *cursors
	judge func(o Outcome, now *cursors) string
}

// Step is sim.Monitor's.
func (a *acting) Step(s *sim.Step) (sim.Monitor, string) {
	next := a
	if s.Committed != nil {
		if c := readCursors(s.Committed); c != nil && *c != *a.last {
			next = &acting{c, a.judge}
		}
	}
	for o := range outcomes(s) {
		if bad := a.judge(o, next.last); bad != "" {
			return next, bad
		}
	}
	return next, ""
}

// Hash is sim.Monitor's.
func (a *acting) Hash() uint64 { return (&watcher{last: a.last}).Hash() }

// openSlotTruncated says that a prune reported a slot which is the open one.
func openSlotTruncated(o Outcome, now *cursors) string {
	for i := range allRings {
		if o.Kind == Pruned && allRings[i].name == o.Ring && now.of(i).Slot == o.Slot {
			return fmt.Sprintf("pruned slot %d of the %s ring, which is open at %v", o.Slot, o.Ring, now.of(i))
		}
	}
	return ""
}

// silentOld says that an old binary rotated or pruned under the ledger's authority.
func silentOld(o Outcome, now *cursors) string {
	if o.Old && (o.Kind == Rotated || o.Kind == Pruned) && now.authority == ledger {
		return fmt.Sprintf("an old binary acted after the flip: %v", o)
	}
	return ""
}

// reads is the monitor of ExactReads: how many jobs of queue q have finished, and the fewest and most while each reader reads.
type reads struct {
	finished int64
	low      [maxActors]int64
	high     [maxActors]int64
	reading  [maxActors]bool
}

const finishedSQL = `SELECT count(*) FROM app_effects f JOIN app_jobs j ON j.job = f.job WHERE j.queue = 'q'`

// Step is sim.Monitor's.
func (r *reads) Step(s *sim.Step) (sim.Monitor, string) {
	next := *r
	if s.Committed != nil {
		if res, err := s.Committed.Query(finishedSQL); err == nil {
			next.finished = res.Rows[0][0].N
		}
		for i := range next.reading {
			if next.reading[i] {
				next.low[i], next.high[i] = min(next.low[i], next.finished), max(next.high[i], next.finished)
			}
		}
	}
	bad := ""
	for _, e := range s.Events {
		switch {
		case e.Kind == sim.EventCall && e.Name == "count":
			next.low[s.Actor], next.high[s.Actor], next.reading[s.Actor] = next.finished, next.finished, true
		case e.Kind == sim.EventNote && e.Name == noteOutcome && next.reading[s.Actor]:
			o, _ := e.Value.(Outcome)
			if o.Kind == Counted && (o.N < next.low[s.Actor] || o.N > next.high[s.Actor]) {
				bad = fmt.Sprintf("counted %d finished jobs while there were %d to %d", o.N, next.low[s.Actor], next.high[s.Actor])
			}
			next.low[s.Actor], next.high[s.Actor], next.reading[s.Actor] = 0, 0, false
		}
	}
	if next == *r {
		return r, bad
	}
	return &next, bad
}

// Hash is sim.Monitor's.
func (r *reads) Hash() uint64 {
	h := uint64(r.finished)
	for i := range r.low {
		h = (h ^ uint64(r.low[i])<<20 ^ uint64(r.high[i])<<1 ^ uint64(b2i(r.reading[i]))) * 0x9e3779b97f4a7c15
		h ^= h >> 31
	}
	return h
}
