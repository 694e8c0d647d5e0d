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

func TestDecades(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want        string
	}{{0, 3.5, "1 10 100 1000"}, {2.4, 4.1, "1000 10000"}, {1.1, 1.9, "20 50"}, {-1, 0, "0.1 1"}} {
		var labels []string
		for _, tick := range (decades{}).Ticks(c.least, c.most) {
			if tick.Value < c.least || tick.Value > c.most {
				t.Errorf("a mark at %v outside of %v to %v", tick.Value, c.least, c.most)
			}
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.least, c.most, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	if got := wrap("simrun fuzz --scenario x --runs 10", 12); got != "simrun fuzz\n--scenario x\n--runs 10" {
		t.Errorf("%q", got)
	}
}
