package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// Hunt says how a mutant is looked for: in campaigns whose seeds are far apart, so that the number of runs to the first
// failure is measured several times.
type Hunt struct {
	Scenarios []string // where the mutant is; that in which it is found with the fewest runs, by powers of ten, counts
	Mutant    sim.Mutant
	Runs      uint64        // of each campaign at most
	Campaigns int           // at least 1
	Strategy  string        // as scheduler.ParseStrategy reads it
	Workers   int           // 0 means 1
	Open      replay.Opener // the model, to look
	Again     replay.Opener // where the failing run is made again; nil for nowhere
	Context   context.Context
}

// apart is what the first seeds of a hunt's campaigns differ by.
const apart = 1_000_000

// Quarry is what came of a hunt.
type Quarry struct {
	Found     bool          // every campaign found it
	Scenario  string        // in which
	Mutants   []string      // the mutant, and for a masked one its pair
	Invariant string        // that broke in the first campaign
	First     []uint64      // runs to the first failure, for each campaign, in rising order; Hunt.Runs + 1 where there was none
	Alone     uint64        // of a masked mutant: runs that it survived alone, and runs of its pair that did not break Invariant
	File      *replay.File  // the shrunk failing run
	Steps     int           // of the run before it was shrunk
	Drift     *replay.Drift // what differed on Again
	Why       string        // why Found is false, or a masked mutant is none
}

// OK says that the mutant is what its scenario says of it, and that its run is the same elsewhere.
func (q *Quarry) OK() bool { return q.Found && q.Why == "" && q.Drift == nil }

// Median is the middle one of the runs to the first failure.
func (q *Quarry) Median() uint64 { return q.First[len(q.First)/2] }

// Most is the greatest of them.
func (q *Quarry) Most() uint64 { return q.First[len(q.First)-1] }

// Run looks for the mutant in each of the scenarios with few runs, then with more.
func (h Hunt) Run() (*Quarry, error) {
	if len(h.Scenarios) == 0 {
		return nil, errors.New("no scenario to look for " + h.Mutant.Name + " in")
	}
	for runs := min(1000, h.Runs); ; runs = min(10*runs, h.Runs) {
		for i, name := range h.Scenarios {
			r, _, err := h.campaign(name, h.mutants(), 1, runs, h.Mutant.Breaks)
			if err != nil {
				return nil, fmt.Errorf("%s in %s: %w", h.Mutant.Name, name, err)
			}
			if r.Failed || runs == h.Runs && i == len(h.Scenarios)-1 {
				return h.in(name)
			}
		}
	}
}

// mutants is the mutant, and for a masked one its pair.
func (h Hunt) mutants() []string {
	if h.Mutant.Masked {
		return []string{h.Mutant.Name, h.Mutant.Pair}
	}
	return []string{h.Mutant.Name}
}

// in looks for the mutant in a scenario.
func (h Hunt) in(scenario string) (*Quarry, error) {
	q := &Quarry{Scenario: scenario, Mutants: h.mutants(), Found: true}
	var failing *replay.Spec
	for k := range max(h.Campaigns, 1) {
		r, spec, err := h.campaign(scenario, q.Mutants, 1+uint64(k)*apart, h.Runs, h.Mutant.Breaks)
		if err != nil {
			return nil, err
		}
		n := h.Runs + 1
		if r.Failed {
			n = r.Seed - spec.Seed + 1
			if failing == nil {
				spec.Seed = r.Seed
				failing, q.Invariant = &spec, r.Violation.Invariant
			}
		} else {
			q.Found = false
			q.Why = fmt.Sprintf("%d runs from seed %d broke none of %v", r.Runs, spec.Seed, h.Mutant.Breaks)
		}
		q.First = append(q.First, n)
		if q.Why != "" {
			break
		}
	}
	slices.Sort(q.First)
	if q.Found && h.Mutant.Masked {
		if err := h.masked(q); err != nil {
			return nil, err
		}
	}
	if failing == nil {
		return q, nil
	}
	return q, h.again(q, *failing)
}

// masked shows that the pair is needed, with ten times the runs that the longest campaign took: alone the mutant breaks
// nothing, and alone its pair does not break what the two break together.
func (h Hunt) masked(q *Quarry) error {
	runs := min(max(10*q.Most(), 1000), h.Runs)
	for _, alone := range []struct {
		mutant string
		only   []string
	}{{h.Mutant.Name, nil}, {h.Mutant.Pair, []string{q.Invariant}}} {
		r, _, err := h.campaign(q.Scenario, []string{alone.mutant}, 1, runs, alone.only)
		if err != nil {
			return err
		}
		if r.Failed {
			q.Why = fmt.Sprintf("%s breaks %s alone, at seed %d", alone.mutant, r.Violation.Invariant, r.Seed)
		}
		q.Alone += r.Runs
	}
	return nil
}

// again makes the failing run once more, shrinks it, and makes the shrunk run on another backend.
func (h Hunt) again(q *Quarry, spec replay.Spec) error {
	run, err := replay.Once(spec, h.Open)
	if err != nil {
		return err
	}
	file := replay.NewFile(run, "")
	q.Steps = len(file.Steps)
	if q.File, _, err = replay.Shrink(h.Context, file, "", scheduler.ShrinkOptions{}); err != nil {
		return err
	}
	if h.Again != nil {
		if _, q.Drift, err = q.File.Again(h.Again); err != nil {
			return fmt.Errorf("made again: %w", err)
		}
	}
	return nil
}

// campaign makes runs of a scenario with mutants until one breaks one of only, or anything when only is nil.
func (h Hunt) campaign(scenario string, mutants []string, seed, runs uint64, only []string) (*Report, replay.Spec, error) {
	in, _, err := sim.Instance{Scenario: scenario, Mutants: mutants}.Resolve()
	if err != nil {
		return nil, replay.Spec{}, err
	}
	spec := replay.Spec{Instance: in, Seed: seed, Strategy: h.Strategy}
	r, err := Campaign{Spec: spec, Runs: runs, Workers: h.Workers, Open: h.Open, Only: only, Context: h.Context}.Run()
	return r, spec, err
}

// Twin makes the runs of a hunt's first campaign without any mutant.
func (h Hunt) Twin(scenario string, runs uint64) (*Report, error) {
	r, _, err := h.campaign(scenario, nil, 1, runs, nil)
	return r, err
}
