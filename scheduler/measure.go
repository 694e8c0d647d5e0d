package scheduler

import "slices"

const measuredRuns = 8

// Measure makes a few random runs, always the same, and returns what they show.
func Measure[S any](sys System[S], limits Limits) *Plan {
	r := NewRunner(sys, Random(), limits)
	p := &Plan{Counts: []int{0}}
	r.Plan = p
	shared := map[uint64]*sharing{}
	var counts []int
	r.OnStep = func(step int, c Choice, s S) {
		a := int(c.Actor) + 1
		for a >= len(counts) {
			counts = append(counts, 0)
		}
		counts[a]++
		if r.feet == nil {
			return
		}
		feet := r.feet.Footprint(s)
		for _, id := range feet.Reads {
			touch(shared, id, a, false)
		}
		for _, id := range feet.Writes {
			touch(shared, id, a, true)
		}
	}
	for seed := range uint64(measuredRuns) {
		clear(counts)
		r.Run(seed)
		p.Steps = max(p.Steps, r.outcome.Steps())
		for len(p.Counts) < len(counts) {
			p.Counts = append(p.Counts, 0)
		}
		for a, n := range counts {
			p.Counts[a] = max(p.Counts[a], n)
		}
	}
	for id, sh := range shared {
		if id != 0 && sh.written && sh.actors() > 1 {
			for a := range sh.counts { // the mean of the runs, rounded up
				sh.counts[a] = (sh.counts[a] + measuredRuns - 1) / measuredRuns
			}
			p.Objects = append(p.Objects, PlanObject{id, sh.counts})
		}
	}
	slices.SortFunc(p.Objects, func(a, b PlanObject) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return p
}

// sharing is who touched an object, and how often over the measured runs.
type sharing struct {
	counts  []int
	written bool
}

func (sh *sharing) actors() int {
	n := 0
	for _, c := range sh.counts {
		if c > 0 {
			n++
		}
	}
	return n
}

func touch(shared map[uint64]*sharing, id uint64, actor int, write bool) {
	sh := shared[id]
	if sh == nil {
		sh = &sharing{}
		shared[id] = sh
	}
	for actor >= len(sh.counts) {
		sh.counts = append(sh.counts, 0)
	}
	sh.counts[actor]++
	sh.written = sh.written || write
}
