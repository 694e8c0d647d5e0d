package invariants

import (
	"fmt"

	"simrun/invariants/lin"
	"simrun/sim"
)

// ClaimedOnce is the invariant that each job is claimed exactly once, as far as a run's operations tell (lin.Jobs). Actors record
// enqueue(job), claim() that returns the job, finish(job) and release(job); a job is anything that fmt prints. A claim or another
// operation that returns nil, or false, did nothing. One that never returned may have claimed any job.
func ClaimedOnce() sim.Invariant {
	return Linearizable(sim.Invariant{
		Name: "ClaimedOnce", Doc: "each job is claimed once before it is finished or released, and finished once",
	}, func(history []sim.HistoryOp) (Object, error) {
		o := Object{Model: lin.Jobs()}
		var unknown []sim.HistoryOp
		seen := map[string]bool{}
		var keys []string
		add := func(h sim.HistoryOp, key string) {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
			op := Operation(h, key)
			op.Input, op.Output = nil, nil
			o.Operations = append(o.Operations, op)
		}
		for _, h := range history {
			switch {
			case h.Name != "enqueue" && h.Name != "claim" && h.Name != "finish" && h.Name != "release":
			case !h.Indeterminate && (h.Output == nil || h.Output == false):
			case h.Name != "claim":
				add(h, fmt.Sprint(h.Input))
			case h.Indeterminate:
				unknown = append(unknown, h)
			default:
				add(h, fmt.Sprint(h.Output))
			}
		}
		for _, h := range unknown {
			for _, key := range keys {
				add(h, key)
			}
		}
		return o, nil
	})
}
