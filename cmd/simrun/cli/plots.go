package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"simrun/fuzz"
	"simrun/reports"
)

// rates are how fast a campaign went, a point for each interval.
type rates struct {
	points []reports.Point
	at     time.Duration
	runs   uint64
}

// add takes in that so many runs were made by then. Intervals too short to say anything are left out, unless there is no other.
func (r *rates) add(at time.Duration, runs uint64) {
	if interval := at - r.at; interval >= time.Second/2 || len(r.points) == 0 && interval > 0 {
		r.points = append(r.points, reports.Point{X: at.Seconds(), Y: float64(runs-r.runs) / interval.Seconds()})
		r.at, r.runs = at, runs
	}
}

// command is the command line as the user wrote it, for captions.
func command() string { return strings.Join(append([]string{"simrun"}, os.Args[1:]...), " ") }

// plotCampaign draws what a campaign measured, each as an SVG file in dir. A plot without data is left out.
func plotCampaign(dir, scenario string, r *fuzz.Report, rates rates) error {
	plots := map[string]reports.Plot{
		"rate.svg": {Title: "Rate of runs of " + scenario, X: "time (s)", Y: "runs a second", Series: []reports.Series{{Name: "runs/s", Points: rates.points}}},
	}
	if c := r.Coverage; c != nil {
		states, orderings := reports.Series{Name: "distinct states"}, reports.Series{Name: "distinct orderings"}
		for _, p := range c.Curve {
			states.Points = append(states.Points, reports.Point{X: float64(p.Runs), Y: float64(p.States)})
			orderings.Points = append(orderings.Points, reports.Point{X: float64(p.Runs), Y: float64(p.Orderings)})
		}
		plots["coverage.svg"] = reports.Plot{Title: "What runs of " + scenario + " reach", X: "runs", Y: "distinct, seen by then", LogX: true, LogY: true,
			Series: []reports.Series{states, orderings}}
	}
	if len(r.Waits) > 0 {
		waits := reports.Series{Name: "waits", Marks: true}
		for _, choices := range slices.Sorted(maps.Keys(r.Waits)) {
			waits.Points = append(waits.Points, reports.Point{X: float64(choices), Y: float64(r.Waits[choices])})
		}
		plots["waits.svg"] = reports.Plot{Title: "How long statements of " + scenario + " wait", X: "length of the wait (choices made meanwhile)", Y: "waits", LogY: true,
			Series: []reports.Series{waits}}
	}
	for _, name := range slices.Sorted(maps.Keys(plots)) {
		p := plots[name]
		p.Caption = command()
		if err := p.Write(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
