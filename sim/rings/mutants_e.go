package rings

import (
	"context"
	"strings"

	"simrun/sim"
)

// Group E: claims, leases and receipts.
var mutantsE = []mutant{
	{sim.Mutant{Name: "no-spent-evidence", ID: "E3", Breaks: []string{"ClaimOnce", "ExactCounts", "FinishedOnce"},
		Doc: "A claim leaves no evidence and asks for none, so that a cursor advance that was lost claims the job again."},
		[]string{"claim"}, func(p *program) {
			p.claim = p.claim.without("spent evidence").with("claim rows", func(t *turn) error {
				sql := claimSQL + claimInto[t.claimed().shape]
				i, j := strings.Index(sql, "evidence AS ("), strings.Index(sql, "claimed AS (")
				return claimWith(t, sql[:i]+sql[j:])
			})
		}},
	{sim.Mutant{Name: "lane-advanced-before-commit", ID: "E4", Breaks: []string{"ClaimOnce", "NoLoss"},
		Doc: "The lane's cursor is advanced inside the claim's transaction; a rollback leaves the job behind it."},
		[]string{"prune", "claim"}, func(p *program) {
			p.claim = p.claim.after("spent evidence", step{"advance lane early", func(t *turn) error {
				c := t.claimed()
				return t.do(`SELECT setval(seq_name::regclass, $3) FROM queue_claim_heads
					WHERE queue = $1 AND shard = $2 AND coalesce(pg_sequence_last_value(seq_name::regclass), 0) < $3`, c.queue, c.shard, c.seq)
			}})
			p.advanceLane = func(context.Context, sim.DB, lane, int64) error { return nil }
		}},
	{sim.Mutant{Name: "lane-lock-released-early", ID: "E5", Breaks: []string{"ClaimOnce"},
		Doc: "Producers do not hold the lane's lock to the commit, so that positions become visible out of order."},
		[]string{"lanes"}, func(p *program) { p.enqueue = p.enqueue.without("lock lane") }},
	{sim.Mutant{Name: "close-without-attempt-lock", ID: "E6", Breaks: []string{"ProofSound", "FinishedOnce", "ExactCounts"},
		Doc: "A rescue decides that a claim is open without the attempt's lock, while it is being materialised."},
		[]string{"claim"}, func(p *program) { p.rescueClaim = p.rescueClaim.without("try attempt lock") }},
	{sim.Mutant{Name: "rescue-of-materialised-claim", ID: "E7", Breaks: []string{"ProofSound", "FinishedOnce", "ExactCounts"},
		Doc: "A sweep takes claims that run under a lease for stale."},
		[]string{"claim"}, func(p *program) {
			p.sweepSlot = p.sweepSlot.with("find open claims", func(t *turn) error {
				return t.findStale(strings.Replace(findStaleSQL, "WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.job = e.job AND l.run_lease = e.run_lease)", "", 1))
			})
			p.rescueClaim = p.rescueClaim.with("verify open", func(t *turn) error {
				open, err := t.exists(`SELECT EXISTS (`+openSQL+`)`, t.claimed().args()...)
				if err == nil && !open {
					return t.end(Outcome{Kind: Noop, Reason: "stale"})
				}
				return err
			})
		}},
	{sim.Mutant{Name: "lease-by-slot-of-claim", ID: "E8", Breaks: []string{"LeaseFound"},
		Doc: "A worker looks for its lease in the slot that was open when it claimed."},
		[]string{"lease"}, func(p *program) {
			p.completeLease = p.completeLease.with("delete lease", func(t *turn) error {
				c := t.claimed()
				rows, err := t.exec(`DELETE FROM leases WHERE lease_slot = $3 AND job = $1 AND run_lease = $2`, c.id, c.lease, c.claimSlot)
				return t.unlessGone(rows, err)
			})
		}},
}
