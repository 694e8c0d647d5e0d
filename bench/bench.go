// Package bench measures rates in pairs, so that anybody can repeat the figures of docs/performance.md.
package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
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
	Busy    float64   `json:"busy"`  // median of the processor time that this process used, by the time that passed
	Rates   []float64 `json:"rates"` // of each round
	busy    []float64
}

// Groups lists what can be measured.
func Groups() []Group {
	return []Group{kinds, statements, runs, search, twoPhase}
}

// Long lists what takes very long, and is measured only when it is named.
func Long() []Group { return []Group{growth} }

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
			begun, used := time.Now(), processorTime()
			units, took, err := m.Run(ctx, o.Per)
			busy := (processorTime() - used).Seconds() / time.Since(begun).Seconds()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			r := &results[i]
			r.Group, r.Name, r.Unit = g.Name, m.Name, m.Unit
			r.Rates = append(r.Rates, float64(units)/took.Seconds())
			r.busy = append(r.busy, busy)
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
		r.Ratio, r.Busy = median(ratios), median(r.busy)
	}
	return results, nil
}

// processorTime is what all threads of this process have used.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
