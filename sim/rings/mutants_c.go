package rings

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"simrun/sim"
)

// Group C: prune.
var mutantsC = []mutant{
	{sim.Mutant{Name: "prune-without-serializer", ID: "C1", Breaks: []string{"OpenSlotSafe", "NoLoss", "ExactCounts"},
		Doc: "Prune computes its target without holding the ring's serializer."},
		[]string{"rotation"}, func(p *program) { p.pruneTarget = of(withoutSerializer(gate()), readCursor(), pickOldest()) }},
	{sim.Mutant{Name: "no-recheck-under-lock", ID: "C2", Breaks: []string{"NoLoss"},
		Doc: "Prune asks whether the slot is needed before it waits for the children's lock, and not again."},
		[]string{"late"}, func(p *program) { p.queueGatesLocked = nil }},
	{sim.Mutant{Name: "recheck-of-leases-only", ID: "C3", Breaks: []string{"NoLoss"},
		Doc: "Under the lock prune repeats one of its three gates."},
		[]string{"late"}, func(p *program) { p.queueGatesLocked = p.queueGatesLocked.without("pending ready", "unclosed claims") }},
	{sim.Mutant{Name: "shard-ignored", ID: "C4", Breaks: []string{"NoLoss", "ExactCounts"},
		Doc: "Prune compares positions with the cursor of any lane of the queue."},
		[]string{"lanes"}, func(p *program) {
			const anyShard = `SELECT EXISTS (SELECT 1 FROM ready_entries_{slot} e WHERE e.lane_seq >
				(SELECT max(coalesce(pg_sequence_last_value(h.seq_name::regclass), 0)) FROM queue_claim_heads h WHERE h.queue = e.queue))`
			gate := func(t *turn) error { return pendingReady(t, anyShard) }
			p.queueGates = p.queueGates.with("pending ready", gate)
			p.queueGatesLocked = p.queueGatesLocked.with("pending ready", gate)
		}},
	{sim.Mutant{Name: "open-claims-ignored", ID: "C7", Breaks: []string{"NoLoss", "ExactCounts"},
		Doc: "Queue prune does not ask for claims that are open."},
		[]string{"prune"}, func(p *program) {
			p.queueGates = p.queueGates.without("unclosed claims")
			p.queueGatesLocked = p.queueGatesLocked.without("unclosed claims")
		}},
	{sim.Mutant{Name: "closure-without-attempt-lock", ID: "C8", Breaks: []string{"ProofSound", "FinishedOnce", "ExactCounts"},
		Doc: "A rescue closes a claim without the attempt's lock and without looking whether it is open still."},
		[]string{"claim"}, func(p *program) { p.rescueClaim = p.rescueClaim.without("try attempt lock", "verify open") }},
	{sim.Mutant{Name: "closure-in-wrong-shape", ID: "C9", Breaks: []string{"ProofSound", "ExactCounts"},
		Doc: "A rescue closes a compact claim by an explicit closure; the sums of queue prune never balance."},
		[]string{"claim"}, func(p *program) { p.rescueClaim = p.rescueClaim.with("close", closeExplicitly) }},
	{sim.Mutant{Name: "closures-survive-truncate", ID: "C10", Breaks: []string{"ProofSound"},
		Doc: "Claim prune truncates the claims and keeps the closures."},
		[]string{"claim"}, func(p *program) {
			p.emptyClaimSlot = p.emptyClaimSlot.with("truncate", func(t *turn) error {
				t.now.Slot, t.now.Gen = t.target.Slot, t.target.Gen
				return t.do(`TRUNCATE lease_claims_{slot}, lease_claim_batches_{slot}`)
			})
		}},
	{sim.Mutant{Name: "no-lock-timeout", ID: "C11", Breaks: []string{"BoundedWait", "LockOrder", "NoDeadlock"},
		Doc: "Prune waits for its children without a limit, and everybody queues behind it."},
		[]string{"prune"}, func(p *program) { p.lockChildren = p.lockChildren.without("set lock timeout") }},
	{sim.Mutant{Name: "children-before-singleton", ID: "C13", Breaks: []string{"NoDeadlock", "LockOrder", "BoundedWait"},
		Doc: "Prune locks the children first and the serializer afterwards."},
		[]string{"rotation"}, func(p *program) {
			g := gate()
			p.pruneTarget = of(procedure{g[1]}, readCursor(), pickOldest()[:1],
				procedure{{"lock children early", func(t *turn) error { return t.do(`LOCK TABLE {children} IN ACCESS EXCLUSIVE MODE`) }}},
				procedure{g[0], g[2]}, pickOldest()[1:])
		}},
	{sim.Mutant{Name: "counts-after-commit", ID: "C15", Breaks: []string{"ExactCounts"},
		Doc: "Prune records the counts of a slot in another transaction than that which truncates it."},
		[]string{"prune", "fold"}, func(p *program) { p.emptyQueueSlot = p.emptyQueueSlot.after("truncate", commitHere) }},
	{sim.Mutant{Name: "counts-from-counters", ID: "C16", Breaks: []string{"ExactCounts"},
		Doc: "Prune takes the counters' word instead of counting the rows."},
		[]string{"prune", "rotation"}, func(p *program) {
			p.emptyQueueSlot = p.emptyQueueSlot.with("count terminal rows", func(t *turn) error {
				return countTerminal(t, `SELECT l.queue, l.completed, l.failed FROM queue_terminal_live_counts l
					WHERE l.ready_slot = {slot} AND $1::text IS NOT NULL ORDER BY l.queue`)
			})
		}},
	{sim.Mutant{Name: "carried-rows-counted", ID: "C18", Breaks: []string{"ExactCounts"},
		Doc: "Prune counts the rows that it carries forward as pruned too."},
		[]string{"retain"}, func(p *program) {
			p.emptyQueueSlot = p.emptyQueueSlot.with("count terminal rows", func(t *turn) error {
				return countTerminal(t, strings.Replace(countSQL, "AND NOT "+carried, "AND $1::text IS NOT NULL", 1))
			})
		}},
	{sim.Mutant{Name: "carried-rows-not-in-counters", ID: "C18b", Breaks: []string{"CountersMatch"},
		Doc: "Prune appends no count delta for the rows that it carries forward."},
		[]string{"retain"}, func(p *program) { p.emptyQueueSlot = p.emptyQueueSlot.without("carry count deltas") }},
	{sim.Mutant{Name: "live-counts-survive", ID: "C19", Breaks: []string{"CountersMatch"},
		Doc: "Prune leaves the live counts of the slot, which the next generation inherits."},
		[]string{"retain"}, func(p *program) { p.emptyQueueSlot = p.emptyQueueSlot.without("drop live counts") }},
	{sim.Mutant{Name: "oldest-off-by-one", ID: "C20", Breaks: []string{"OpenSlotSafe", "NoLoss", "ExactCounts"},
		Doc: "Prune goes one slot too far back, which on a full ring is the open one."},
		[]string{"retain", "prune"}, func(p *program) {
			p.pruneTarget = p.pruneTarget.with("pick oldest", func(t *turn) error {
				target, ok := t.cur.oldest(t.n)
				if !ok {
					return t.end(Outcome{Kind: Noop})
				}
				t.target = cursor{(target.Slot + t.n - 1) % t.n, target.Gen - 1}
				return nil
			})
		}},
	{sim.Mutant{Name: "lock-error-swallowed", ID: "C23", Breaks: []string{"NoLoss"},
		Doc: "Prune takes a lock timeout for success and goes on to truncate."},
		[]string{"late"}, func(p *program) {
			p.lockChildren = p.lockChildren.with("lock children", func(t *turn) error {
				if err := t.do(`SAVEPOINT lock_phase`); err != nil {
					return err
				}
				err := t.do(`LOCK TABLE {children} IN ACCESS EXCLUSIVE MODE`)
				var pg *pgconn.PgError
				if errors.As(err, &pg) && pg.Code == "55P03" {
					return t.do(`ROLLBACK TO SAVEPOINT lock_phase`)
				}
				return err
			})
		}},
}
