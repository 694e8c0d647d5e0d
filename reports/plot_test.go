package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() Plot {
	return Plot{
		Title: "Dead tuples under a pinned horizon", X: "simulated time (s)", Y: "dead tuples", Caption: "simrun run --scenario x",
		Series: []Series{
			{Name: "columns", Points: []Point{{0, 0}, {1, 3}, {2, 6}}},
			{Name: "ledger", Points: []Point{{0, 0}, {2, 0}}, Steps: true},
			{Name: "marks", Points: []Point{{1, 1}}, Marks: true},
		},
	}
}

func TestPlotSameBytes(t *testing.T) {
	dir := t.TempDir()
	for _, ext := range []string{".svg", ".png"} {
		a, b := filepath.Join(dir, "a"+ext), filepath.Join(dir, "b"+ext)
		for _, path := range []string{a, b} {
			if err := sample().Write(path); err != nil {
				t.Fatal(err)
			}
		}
		first, _ := os.ReadFile(a)
		second, _ := os.ReadFile(b)
		if len(first) < 1000 || !bytes.Equal(first, second) {
			t.Errorf("%s: %d and %d bytes, equal %v", ext, len(first), len(second), bytes.Equal(first, second))
		}
	}
	svg, _ := os.ReadFile(filepath.Join(dir, "a.svg"))
	for _, want := range []string{"simulated time (s)", "simrun run --scenario x", "columns"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the SVG does not say %q", want)
		}
	}
}

func TestPlotRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := sample().Write(filepath.Join(dir, "a.gif")); err == nil || !strings.Contains(err.Error(), ".gif") {
		t.Errorf("unknown extension: %v", err)
	}
	empty := sample()
	empty.LogY, empty.Series = true, []Series{{Name: "zero", Points: []Point{{1, 0}}}}
	if err := empty.Write(filepath.Join(dir, "a.svg")); err == nil || !strings.Contains(err.Error(), "no points") {
		t.Errorf("nothing to draw: %v", err)
	}
}
