package reports

import (
	"math"
	"path/filepath"
	"testing"

	"simrun/invariants/lin"
)

func TestOperationsPlot(t *testing.T) {
	ops := []lin.Operation{
		{Process: 0, F: "write", Call: 0, Return: 3, Outcome: lin.OK}, {Process: 0, F: "read", Call: 5, Return: 6, Outcome: lin.OK},
		{Process: 1, F: "write", Call: 1, Return: math.MaxInt64, Outcome: lin.Indeterminate},
	}
	p := OperationsPlot(ops, "simrun lin x")
	if got := len(stretches(p.points(p.Series[0]))); got != 2 {
		t.Errorf("%d stretches for two operations", got)
	}
	if end := p.Series[2].Points[1].X; end != 6 {
		t.Errorf("an operation that never returned is drawn to %v, want the end of the history, 6", end)
	}
	if err := p.Write(filepath.Join(t.TempDir(), "x.svg")); err != nil {
		t.Error(err)
	}
}
