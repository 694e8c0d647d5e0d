package scheduler

import (
	"fmt"
	"math"
)

// Coverage counts the distinct states and orderings that runs reach, and estimates from those seen once or twice how many
// are still unseen. A run is one sample; what it reaches twice counts once. An ordering is a class of equivalent schedules:
// which steps came before which among those that conflict.
type Coverage struct {
	States    Species // by fingerprint
	Orderings Species // one a run; stays empty for a System that is no Footprinter
	Curve     []Point // how both grew: a point after each run of a number that doubles, quarters in between

	runs     int
	touched  map[uint64]access // how each object was last touched in this run
	ordering uint64            // sum of the hashes of the steps of this run
	barrier  uint64            // hash of the last step that conflicts with everything
	stepped  bool
}

// Point is one point of the saturation curve.
type Point struct {
	Runs      int
	States    int
	Orderings int
}

// NewCoverage returns an empty Coverage.
func NewCoverage() *Coverage { return &Coverage{touched: map[uint64]access{}} }

// access is the history of one object within a run, as hashes that do not depend on the order of steps that do not conflict.
type access struct {
	write uint64 // of the last write and all before it
	reads uint64 // sum over the reads since
}

func (c *Coverage) begin() {
	c.runs++
	c.ordering, c.barrier, c.stepped = 0, 0, false
	clear(c.touched)
}

// state counts a state and reports whether no run has reached it before.
func (c *Coverage) state(fingerprint uint64) bool { return c.States.add(fingerprint, c.runs) }

// step takes a step into the ordering of the run: its hash covers the choice, and the histories of all that it touches.
func (c *Coverage) step(ch Choice, feet Footprint) {
	c.stepped = true
	actor := actorObject(ch.Actor)
	h := mix64(uint64(uint32(ch.Actor))<<32|uint64(uint32(ch.Kind))) + mix64(uint64(uint32(ch.Value))^0x76616c)
	own := c.touched[actor]
	h = mix64(h ^ own.write ^ c.barrier)
	var sum uint64
	for _, id := range feet.Reads {
		sum += mix64(id ^ mix64(c.touched[id].write))
	}
	for _, id := range feet.Writes {
		a := c.touched[id]
		sum += mix64(id ^ mix64(a.write^mix64(a.reads)^1))
	}
	h = mix64(h ^ sum)
	for _, id := range feet.Reads {
		a := c.touched[id]
		a.reads += h
		c.touched[id] = a
	}
	for _, id := range feet.Writes {
		c.touched[id] = access{write: h}
	}
	c.touched[actor] = access{write: h}
	if holds(feet.Writes, 0) {
		h = mix64(h ^ c.ordering)
		c.barrier = h
	}
	c.ordering += mix64(h)
}

// end closes a run and returns 1 if its ordering is new.
func (c *Coverage) end() int {
	novel := 0
	if c.stepped && c.Orderings.add(c.ordering, c.runs) {
		novel = 1
	}
	c.States.samples, c.Orderings.samples = c.runs, c.runs
	if milestone(c.runs) {
		c.Curve = append(c.Curve, Point{c.runs, c.States.Distinct, c.Orderings.Distinct})
	}
	return novel
}

// Merge adds what other has counted, over other runs than those of c, such as another worker's. The curve gets a point.
func (c *Coverage) Merge(other *Coverage) {
	c.runs += other.runs
	c.States.merge(&other.States, c.runs)
	c.Orderings.merge(&other.Orderings, c.runs)
	c.Curve = append(c.Curve, Point{c.runs, c.States.Distinct, c.Orderings.Distinct})
}

// milestone reports whether n is 2^k, or a quarter, a half or three quarters on the way to the next.
func milestone(n int) bool {
	for n > 7 {
		if n&1 != 0 {
			return false
		}
		n >>= 1
	}
	return true
}

// Species counts distinct things over samples that each show some of them.
type Species struct {
	Distinct int // seen at least once
	Once     int // seen in exactly one sample
	Twice    int // seen in exactly two

	samples int
	seen    map[uint64]sighting
}

type sighting struct {
	last  int   // the last sample that showed it
	times uint8 // up to 3
}

// add counts the thing for a sample and reports whether it is new.
func (s *Species) add(id uint64, sample int) bool {
	was := s.seen[id]
	if was.last == sample {
		return false
	}
	switch was.times {
	case 0:
		if s.seen == nil {
			s.seen = map[uint64]sighting{}
		}
		s.Distinct++
		s.Once++
	case 1:
		s.Once--
		s.Twice++
	case 2:
		s.Twice--
	}
	s.seen[id] = sighting{sample, min(was.times+1, 3)}
	return was.times == 0
}

// merge adds what other has counted, over other samples than those of s.
func (s *Species) merge(other *Species, samples int) {
	s.samples = samples
	if s.seen == nil {
		s.seen = map[uint64]sighting{}
	}
	for id, o := range other.seen {
		s.seen[id] = sighting{0, min(s.seen[id].times+o.times, 3)} // no sample has the number 0
	}
	s.Distinct, s.Once, s.Twice = len(s.seen), 0, 0
	for _, x := range s.seen {
		switch x.times {
		case 1:
			s.Once++
		case 2:
			s.Twice++
		}
	}
}

// Unseen is Chao's estimate, a lower bound, of how many things no sample has shown: (m-1)/m * f1(f1-1) / (2(f2+1)), where f1
// things were seen in one of m samples and f2 in two (Chao 1984 for single finds, 1987 for samples that show several).
func (s *Species) Unseen() float64 {
	if s.samples == 0 {
		return math.Inf(1)
	}
	f1, f2, m := float64(s.Once), float64(s.Twice), float64(s.samples)
	return (m - 1) / m * f1 * (f1 - 1) / (2 * (f2 + 1))
}

// NextNew is the estimate of Good and Turing (Good 1953) of how many new things the next sample shows: f1/m. For things of
// which each sample shows one it is the probability that the next one is new.
func (s *Species) NextNew() float64 {
	if s.samples == 0 {
		return 1
	}
	return float64(s.Once) / float64(s.samples)
}

// Expect is the estimate of how many new things that many more samples show (Colwell and others 2012, with Chao's estimate for
// what is unseen): f0 * (1 - (1 - f1/(m*f0 + f1))^more).
func (s *Species) Expect(more int) float64 {
	f0, f1 := s.Unseen(), float64(s.Once)
	if s.samples == 0 || f1 == 0 {
		return 0
	}
	if f0 == 0 { // a single find: Good and Turing's rate is all there is
		return min(f1, float64(more)*s.NextNew())
	}
	return f0 * (1 - math.Pow(1-f1/(float64(s.samples)*f0+f1), float64(more)))
}

// Meaning says what the numbers mean in a line.
func (s *Species) Meaning(of string) string {
	switch {
	case s.samples == 0 || s.Distinct == 0:
		return "no " + of + " counted"
	case s.Once == 0:
		return fmt.Sprintf("%d distinct %s, none seen only once: more runs of this kind will hardly show new ones", s.Distinct, of)
	}
	return fmt.Sprintf("%d distinct %s seen, about %.0f or more not yet; %d more runs would show about %.0f new ones",
		s.Distinct, of, math.Ceil(s.Unseen()), s.samples, math.Ceil(s.Expect(s.samples)))
}
