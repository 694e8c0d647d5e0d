package rings

import (
	"fmt"
	"math"
	"time"

	"simrun/invariants/lin"
	"simrun/sim"
)

// cursorRegister is the ring cursor as a sequential object: rotate moves it by one, read returns it. A rotation that says
// it skipped has no effect. The key is the ring, the state is the generation.
func cursorRegister(first map[string]int64) lin.Model {
	return lin.Model{
		Name:      "ring cursor",
		Init:      int64(0), // relative to the start
		Reads:     []string{"read"},
		Functions: []string{"rotate", "read"},
		Step: func(state any, op lin.Operation) (bool, any) {
			gen := state.(int64)
			if op.Outcome != lin.OK {
				return true, gen + 1 // an indeterminate rotation that took effect
			}
			o := op.Output.(Outcome)
			at := o.Gen - first[op.Key]
			if op.F == "read" {
				return at == gen, gen
			}
			return at == gen+1, at
		},
	}
}

// linearizableCursor checks rotate and read operations of each ring with porcupine.
func linearizableCursor(first cursors) sim.Invariant {
	start := map[string]int64{}
	for i, r := range allRings {
		start[r.name] = first.of(i).Gen
	}
	return sim.Invariant{
		Name: "LinearizableCursor", Kind: sim.WholeRun,
		Doc: "rotations and reads of a cursor behave as on one register, the flip notwithstanding",
		Run: func(t *sim.Trace) string {
			report, err := lin.Check(cursorHistory(t.History), cursorRegister(start), lin.Bounds{Timeout: 10 * time.Second})
			switch {
			case err != nil:
				return err.Error()
			case report.Verdict == lin.NotLinearizable:
				return fmt.Sprintf("rotations and reads of the %s ring are not linearizable: at most %d of %d operations can be ordered",
					report.Bad, report.Longest, report.BadOperations)
			}
			return ""
		},
	}
}

// cursorHistory is the rotations that took effect or may have, and the reads that succeeded.
func cursorHistory(history []sim.HistoryOp) []lin.Operation {
	var ops []lin.Operation
	for _, h := range history {
		if h.Name != "rotate" && h.Name != "read" {
			continue
		}
		op := lin.Operation{Process: h.Actor, F: h.Name, Key: h.Input.(string), Output: h.Output, Call: int64(h.Call), Return: int64(h.Return)}
		if h.Indeterminate {
			op.Outcome, op.Return = lin.Indeterminate, math.MaxInt64
		} else if o := h.Output.(Outcome); o.Kind != Rotated && o.Kind != Read {
			continue
		}
		ops = append(ops, op)
	}
	return ops
}
