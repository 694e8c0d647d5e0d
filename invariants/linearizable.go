package invariants

import (
	"fmt"
	"io"
	"math"
	"strings"

	"simrun/invariants/lin"
	"simrun/sim"
)

// Object is a sequential object with the operations of a run that concern it.
type Object struct {
	Model      lin.Model
	Operations []lin.Operation
}

// Linearizable returns the invariant that a run's operations behave as if each took effect at one moment between its call and its
// return (Herlihy and Wing, "Linearizability: a correctness condition for concurrent objects", 1990). The function picks the
// operations out of a history, in its order, and gives the object; an empty Object is not judged.
func Linearizable(inv sim.Invariant, object func(history []sim.HistoryOp) (Object, error)) sim.Invariant {
	check := func(t *sim.Trace) (*lin.Report, Object, error) {
		o, err := object(t.History)
		if err != nil || len(o.Operations) == 0 {
			return nil, o, err
		}
		r, err := lin.Check(o.Operations, o.Model, lin.Bounds{})
		return r, o, err
	}
	inv.Kind = sim.WholeRun
	inv.Run = func(t *sim.Trace) string {
		r, o, err := check(t)
		switch {
		case err != nil:
			return err.Error()
		case r == nil || r.Verdict != lin.NotLinearizable:
			return ""
		}
		var bad []string
		for _, op := range o.Operations {
			if op.Key == r.Bad {
				op.Key = ""
				bad = append(bad, op.String())
			}
		}
		return fmt.Sprintf("%s: no order explains the operations, at most %d of %d fit in one: %s", r.Bad, r.Longest, r.BadOperations, strings.Join(bad, "; "))
	}
	inv.Page = func(t *sim.Trace, w io.Writer) (bool, error) {
		r, _, err := check(t)
		if err != nil || r == nil {
			return false, err
		}
		return r.WriteHTML(w)
	}
	return inv
}

// Operation is an operation of a run's history, of the object with the key. One that never returned is indeterminate.
func Operation(h sim.HistoryOp, key string) lin.Operation {
	op := lin.Operation{Process: h.Actor, F: h.Name, Key: key, Input: h.Input, Output: h.Output, Call: int64(h.Call), Return: int64(h.Return)}
	if h.Indeterminate {
		op.Outcome, op.Return = lin.Indeterminate, math.MaxInt64
	}
	return op
}
