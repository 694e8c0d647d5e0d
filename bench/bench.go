// Package bench measures rates in pairs, so that anybody can repeat the figures of docs/performance.md.
package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Options say how to measure.
type Options struct {
	Rounds   int           // how often each member of a group is measured
	Per      time.Duration // how long one measurement takes
	Postgres string        // the server, as postgres.Open takes it; "none" leaves it out
	Note     func(format string, args ...any)
}

// Group is a set of members that are measured in turns. What is compared is in one group.
type Group struct {
	Name, Doc string
	// Open makes the members. close frees what they hold.
	Open func(ctx context.Context, o Options) (members []Member, close func(), err error)
}

// Member is one thing that is measured.
type Member struct {
	Name, Unit string // what is counted, a second
	// Run works for about the duration, or once through something of a fixed size, and returns how many units that were. Only
	// the time inside counts.
	Run func(ctx context.Context, per time.Duration) (units int, took time.Duration, err error)
}

// Result is what was measured of a member.
type Result struct {
	Group   string    `json:"group"`
	Name    string    `json:"name"`
	Unit    string    `json:"unit"` // rates are of these, a second
	Median  float64   `json:"median"`
	Lowest  float64   `json:"lowest"`
	Highest float64   `json:"highest"`
	Ratio   float64   `json:"ratio"` // median over the rounds of the rate divided by that of the group's first member with this unit
	Rates   []float64 `json:"rates"` // of each round
}

// Groups lists what can be measured.
func Groups() []Group {
	return []Group{kinds, statements, runs, search, twoPhase}
}

// Measure measures the members of a group in turns.
func Measure(ctx context.Context, g Group, o Options) ([]Result, error) {
	members, done, err := g.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	results := make([]Result, len(members))
	for round := range o.Rounds {
		for i, m := range members {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			units, took, err := m.Run(ctx, o.Per)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			r := &results[i]
			r.Group, r.Name, r.Unit = g.Name, m.Name, m.Unit
			r.Rates = append(r.Rates, float64(units)/took.Seconds())
		}
		if o.Note != nil {
			o.Note("%s: round %d of %d", g.Name, round+1, o.Rounds)
		}
	}
	for i := range results {
		r := &results[i]
		r.Median, r.Lowest, r.Highest = median(r.Rates), slices.Min(r.Rates), slices.Max(r.Rates)
		first := slices.IndexFunc(members, func(m Member) bool { return m.Unit == r.Unit })
		var ratios []float64
		for round, rate := range r.Rates {
			ratios = append(ratios, rate/results[first].Rates[round])
		}
		r.Ratio = median(ratios)
	}
	return results, nil
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	if n := len(xs); n%2 == 0 {
		return (xs[n/2-1] + xs[n/2]) / 2
	}
	return xs[len(xs)/2]
}

// loop calls do, which makes so many units, until per is over.
func loop(ctx context.Context, per time.Duration, units int, do func() error) (int, time.Duration, error) {
	begun := time.Now()
	for n := 0; ; {
		if err := do(); err != nil {
			return 0, 0, err
		}
		n += units
		if took := time.Since(begun); took >= per || ctx.Err() != nil {
			return n, took, ctx.Err()
		}
	}
}
