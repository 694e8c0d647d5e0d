package reports

import (
	"fmt"
	"math"

	"simrun/invariants/lin"
)

// OperationsPlot draws the operations of a history over time: one row a process, from call to return. Operations without an
// answer, and those that failed, are series of their own.
func OperationsPlot(ops []lin.Operation, command string) Plot {
	last := int64(0)
	for _, op := range ops {
		last = max(last, op.Call+1)
		if op.Return != math.MaxInt64 {
			last = max(last, op.Return)
		}
	}
	series := map[lin.Outcome]*Series{
		lin.OK: {Name: "returned"}, lin.Failed: {Name: "failed"}, lin.Indeterminate: {Name: "never returned"},
	}
	for _, op := range ops {
		s := series[op.Outcome]
		y := float64(op.Process)
		s.Points = append(s.Points, Point{float64(op.Call), y}, Point{float64(min(op.Return, last)), y}, Point{math.NaN(), math.NaN()})
	}
	return Plot{
		Title: fmt.Sprintf("%d operations", len(ops)), X: "time (events)", Y: "process", Caption: command,
		Series: []Series{*series[lin.OK], *series[lin.Failed], *series[lin.Indeterminate]},
	}
}
