package scheduler

import (
	"context"
	"testing"
)

// BenchmarkRun is the cost of a step of the run loop, with a system that costs next to nothing.
func BenchmarkRun(b *testing.B) {
	for _, s := range allStrategies(b) {
		b.Run(s.Name(), func(b *testing.B) {
			r := NewRunner(System[uint64](counters{4, 200}), s, Limits{})
			r.Run(0)
			steps, seed := 0, uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				seed++
				steps += r.Run(seed).Steps()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
		})
	}
}

// BenchmarkSearch is the cost of a distinct state from 10^4 to 10^7 of them, four steps to each.
func BenchmarkSearch(b *testing.B) {
	for _, c := range []struct {
		name  string
		limit int
	}{{"1e4", 9}, {"1e5", 17}, {"1e6", 31}, {"1e7", 55}} {
		for _, workers := range []int{1, 2} {
			b.Run(c.name+"/"+string(rune('0'+workers)), func(b *testing.B) {
				for b.Loop() {
					r := mustSearch(b, System[uint64](counters{4, c.limit}), Options{Workers: workers})
					b.ReportMetric(float64(r.Elapsed.Nanoseconds())/float64(r.States), "ns/state")
				}
			})
		}
	}
}

// BenchmarkExplore is the cost of a class of schedules.
func BenchmarkExplore(b *testing.B) {
	p := coverProgram()
	p.limit = 0
	for b.Loop() {
		e, err := Explore(context.Background(), System[*progState](p), ExploreOptions[*progState]{Reduction: ReduceDPOR, Schedules: 10_000})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(e.Elapsed.Nanoseconds())/float64(e.Steps), "ns/step")
	}
}
