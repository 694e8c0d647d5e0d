// Package fuzz makes many seeded runs of a scenario, by several workers, and stops at the first seed that breaks an invariant.
package fuzz

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// Campaign says which runs to make.
type Campaign struct {
	replay.Spec                 // Seed is the first seed
	Stride      uint64          // from one seed to the next; 0 means 1
	Runs        uint64          // how many; 0 means until Time is over
	Time        time.Duration   // 0 means until Runs are made
	Workers     int             // 0 means 1
	Open        replay.Opener   // called once for each worker, and for each seed when seeds draw their setups
	DoubleCheck bool            // make each run twice and compare
	Only        []string        // the invariants whose violation ends the campaign; a run that breaks another just ends. nil means all
	Measure     bool            // count distinct states and orderings, by one worker, on the model
	Waits       bool            // count how long statements wait
	Context     context.Context // nil means until done; when it ends, the campaign ends with its error
	Progress    func(Progress)
}

// Progress is how far a campaign is.
type Progress struct {
	Runs, Of uint64 // Of is 0 when only time bounds the campaign
	Steps    uint64
	Elapsed  time.Duration
}

// Report is what came of a campaign.
type Report struct {
	Runs      uint64 // runs made; with several workers a few seeds beyond a failing one may be among them
	Steps     uint64
	Elapsed   time.Duration
	Failed    bool // the run of FailedSeed broke an invariant: the lowest seed of all that did
	Seed      uint64
	Violation scheduler.Violation
	Choices   []string            // of that run, when the strategy learns: its seed alone does not make it again
	Differs   *replay.Difference  // with DoubleCheck: two runs of Seed were not the same
	Digest    uint64              // with DoubleCheck: of all runs, in no order; see replay.Run's
	Witnesses map[string]uint64   // in how many runs each was seen
	Unseen    []string            // witnesses that the scenario names and that no run saw
	Cut       uint64              // runs that reached the limit of steps
	Coverage  *scheduler.Coverage // with Measure
	Waits     map[int]uint64      // with Waits: how many waits ended so many choices after they began
}

// fuzzer is a campaign under way.
type fuzzer struct {
	Campaign
	next     atomic.Uint64 // the next seed, counted from 0
	last     atomic.Uint64 // no seed beyond this one: lowered by failures
	runs     atomic.Uint64
	steps    atomic.Uint64
	deadline time.Time
	started  time.Time
	learns   bool // the strategy does

	mu     sync.Mutex
	report Report
	err    error
}

// Run makes the campaign. The error says why it could not.
func (c Campaign) Run() (*Report, error) {
	setup, drawn, err := c.Build(c.Seed)
	if err != nil {
		return nil, err
	}
	f := &fuzzer{Campaign: c, started: time.Now()}
	f.report.Witnesses, f.report.Waits = map[string]uint64{}, map[int]uint64{}
	f.last.Store(^uint64(0))
	if c.Runs > 0 {
		f.last.Store(c.Runs - 1)
	}
	if c.Time > 0 {
		f.deadline = f.started.Add(c.Time)
	}
	strategy, err := scheduler.ParseStrategy(c.Strategy)
	if err != nil {
		return nil, err
	}
	workers := max(c.Workers, 1)
	if c.Measure {
		workers = 1 // the curve must not depend on a race
		f.report.Coverage = scheduler.NewCoverage()
	}
	if f.learns = scheduler.Learns(strategy); f.learns {
		if c.DoubleCheck {
			return nil, fmt.Errorf("strategy %s learns from run to run, so that no run of it can be made twice", strategy.Name())
		}
		workers = 1 // what it has learned must not depend on a race
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			if err := f.work(drawn); err != nil {
				f.fail(err)
			}
		})
	}
	stop := f.tell()
	wg.Wait()
	stop()
	if f.err != nil {
		return nil, f.err
	}
	r := &f.report
	r.Runs, r.Steps, r.Elapsed = f.runs.Load(), f.steps.Load(), time.Since(f.started)
	for _, name := range setup.Witnesses {
		if r.Witnesses[name] == 0 {
			r.Unseen = append(r.Unseen, name)
		}
	}
	return r, nil
}

// seed is the campaign's seed of that index.
func (f *fuzzer) seed(i uint64) uint64 { return f.Seed + i*max(f.Stride, 1) }

// tell reports progress now and then, until stop is called.
func (f *fuzzer) tell() (stop func()) {
	if f.Progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				f.Progress(Progress{f.runs.Load(), f.Runs, f.steps.Load(), time.Since(f.started)})
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

func (f *fuzzer) fail(err error) {
	f.last.Store(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// failed takes in a failing seed, counted from 0: seeds before it are still run, so that the lowest one is reported.
func (f *fuzzer) failed(i uint64, v scheduler.Violation, d *replay.Difference, choices []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := &f.report; !r.Failed && r.Differs == nil || f.seed(i) < r.Seed {
		r.Failed, r.Seed, r.Violation, r.Differs, r.Choices = d == nil, f.seed(i), v, d, choices
		f.last.Store(min(f.last.Load(), i))
	}
}

// work makes runs until there are no more.
func (f *fuzzer) work(drawn bool) error {
	w := &worker{fuzzer: f, seen: map[string]uint64{}, waits: map[int]uint64{}}
	defer w.close()
	for {
		i := f.next.Add(1) - 1
		if i > f.last.Load() || !f.deadline.IsZero() && time.Now().After(f.deadline) {
			w.finish()
			return nil
		}
		if f.Context != nil && f.Context.Err() != nil {
			return f.Context.Err()
		}
		if w.maker == nil || drawn {
			if err := w.open(f.seed(i), drawn); err != nil {
				return err
			}
		}
		if err := w.run(i); err != nil {
			return err
		}
	}
}

// worker is what one goroutine owns.
type worker struct {
	*fuzzer
	maker    *replay.Maker
	strategy scheduler.Strategy
	seen     map[string]uint64
	waits    map[int]uint64
	cut      uint64
	digest   uint64
}

func (w *worker) close() {
	if w.maker != nil {
		_ = w.maker.Close()
		w.maker = nil
	}
}

func (w *worker) open(seed uint64, drawn bool) error {
	w.close()
	setup, _, err := w.Build(seed)
	if err != nil {
		return err
	}
	if w.strategy == nil {
		if w.strategy, err = scheduler.ParseStrategy(w.Strategy); err != nil {
			return err
		}
	}
	record := slices.ContainsFunc(setup.Invariants, func(i sim.Invariant) bool { return i.Kind == sim.WholeRun }) || w.DoubleCheck || w.Waits
	// Runs of one setup have most of their steps in common. With DoubleCheck each makes its own, to be compared.
	share := !drawn && !w.DoubleCheck
	w.maker, err = replay.NewMaker(setup, w.strategy, w.Open, sim.Options{Record: record, Lazy: w.Lazy, Footprints: w.Measure, Share: share})
	if err == nil && w.Measure {
		if !w.maker.System.TracksFootprints() {
			return fmt.Errorf("what runs reach can be measured on the model only")
		}
		w.maker.Runner.Coverage = w.report.Coverage
	}
	return err
}

func (w *worker) run(i uint64) error {
	seed := w.seed(i)
	o, world, err := w.maker.Run(seed)
	if err == nil {
		err = world.Err()
	}
	if err == nil {
		err = o.Err
	}
	if err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	if o.LimitHit {
		w.cut++
	}
	w.runs.Add(1)
	w.steps.Add(uint64(o.Steps()))
	for _, name := range o.Witnesses {
		w.seen[name]++
	}
	if w.Waits {
		world.Trace().Waits(func(choices int) { w.waits[choices]++ })
	}
	violation := o.Violation
	var differs *replay.Difference
	if w.DoubleCheck {
		if differs, err = w.again(seed, o, world); err != nil {
			return fmt.Errorf("seed %d, made again: %w", seed, err)
		}
	}
	switch {
	case differs != nil:
		w.failed(i, violation, differs, nil)
	case violation.Invariant != "" && (w.Only == nil || slices.Contains(w.Only, violation.Invariant)):
		var choices []string
		if w.learns {
			choices = w.maker.Names(o)
		}
		w.failed(i, violation, nil, choices)
	}
	w.maker.System.Trim()
	return nil
}

// again makes the run of the seed once more and compares.
func (w *worker) again(seed uint64, o *scheduler.Outcome, world *sim.World) (*replay.Difference, error) {
	first := &replay.Run{Trace: world.Trace().Clone(), Violation: o.Violation}
	o, world, err := w.maker.Run(seed)
	if err == nil {
		err = world.Err()
	}
	if err != nil {
		return nil, err
	}
	w.digest += scheduler.Mix(first.Digest() ^ seed)
	return replay.Compare(first, &replay.Run{Trace: world.Trace().Clone(), Violation: o.Violation}), nil
}

// finish adds what the worker has seen to the report.
func (w *worker) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, n := range w.seen {
		w.report.Witnesses[name] += n
	}
	for choices, n := range w.waits {
		w.report.Waits[choices] += n
	}
	w.report.Cut += w.cut
	w.report.Digest += w.digest
}
