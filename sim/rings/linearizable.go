package rings

import (
	"simrun/invariants"
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
	return invariants.Linearizable(sim.Invariant{
		Name: "LinearizableCursor",
		Doc:  "rotations and reads of a cursor behave as on one register, the flip notwithstanding",
	}, func(history []sim.HistoryOp) (invariants.Object, error) {
		return invariants.Object{Model: cursorRegister(start), Operations: cursorOperations(history)}, nil
	})
}

// cursorOperations is the rotations that took effect or may have, and the reads that succeeded; the key is the ring.
func cursorOperations(history []sim.HistoryOp) []lin.Operation {
	var ops []lin.Operation
	for _, h := range history {
		if h.Name != "rotate" && h.Name != "read" {
			continue
		}
		if o, ok := h.Output.(Outcome); !h.Indeterminate && ok && o.Kind != Rotated && o.Kind != Read {
			continue
		}
		op := invariants.Operation(h, h.Input.(string))
		op.Input = nil
		ops = append(ops, op)
	}
	return ops
}
