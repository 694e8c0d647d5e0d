package scheduler

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a system given by its graph: states are numbers, 0 the initial one.
type drawn struct {
	steps  [][]drawnStep // by state
	unfair int32         // kind of the choices that are not fair
}

type drawnStep struct {
	actor, kind int32
	to          int
}

func (d *drawn) Initial() []int { return []int{0} }
func (d *drawn) Choices(s int, buf []Choice) []Choice {
	for i, st := range d.steps[s] {
		buf = append(buf, Choice{st.actor, st.kind, int32(i)})
	}
	return buf
}
func (d *drawn) Apply(s int, c Choice) int { return d.steps[s][c.Value].to }
func (d *drawn) Clone(s int) int           { return s }
func (d *drawn) Fingerprint(s int) uint64  { return Mix(uint64(s) + 1) }
func (d *drawn) Name(s int, c Choice) string {
	return strconv.Itoa(s) + ">" + strconv.Itoa(d.Apply(s, c))
}
func (d *drawn) Fair(c Choice) bool { return c.Kind != d.unfair }

// reach is the transitive closure of the fair steps.
func (d *drawn) reach() [][]bool {
	r := make([][]bool, len(d.steps))
	for s := range r {
		r[s] = make([]bool, len(d.steps))
		for _, st := range d.steps[s] {
			if st.kind != d.unfair {
				r[s][st.to] = true
			}
		}
	}
	for k := range r {
		for i := range r {
			for j := range r {
				r[i][j] = r[i][j] || r[i][k] && r[k][j]
			}
		}
	}
	return r
}

// reachable says which states any steps lead to.
func (d *drawn) reachable() []bool {
	seen := make([]bool, len(d.steps))
	var visit func(s int)
	visit = func(s int) {
		if !seen[s] {
			seen[s] = true
			for _, st := range d.steps[s] {
				visit(st.to)
			}
		}
	}
	visit(0)
	return seen
}

// stuckFor says by definition whether a run can make no progress for ever.
func (d *drawn) stuckFor(fairness Fairness) bool {
	reach, reachable := d.reach(), d.reachable()
	for s := range d.steps {
		if !reachable[s] || len(d.steps[s]) == 0 {
			continue
		}
		ends := false // a final state can be reached by fair steps
		for e := range d.steps {
			ends = ends || reach[s][e] && len(d.steps[e]) == 0
		}
		if !ends {
			return true
		}
		if fairness != FairActors || !reach[s][s] {
			continue
		}
		fair := true
		for a := int32(0); a < 3; a++ {
			moves, waits := false, false
			for v := range d.steps {
				if v != s && !(reach[s][v] && reach[v][s]) {
					continue
				}
				can := false
				for _, st := range d.steps[v] {
					if st.kind != d.unfair && st.actor == a {
						can = true
						moves = moves || (st.to == s || reach[st.to][s]) && (reach[s][st.to])
					}
				}
				waits = waits || !can
			}
			fair = fair && (moves || waits)
		}
		if fair {
			return true
		}
	}
	return false
}

func TestCyclesWithoutProgress(t *testing.T) {
	found := map[Fairness]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "states")
		d := &drawn{steps: make([][]drawnStep, n), unfair: 1}
		for s := range d.steps {
			d.steps[s] = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) drawnStep {
				kind := int32(0)
				if rapid.IntRange(0, 5).Draw(t, "unfair") == 0 {
					kind = 1
				}
				return drawnStep{int32(rapid.IntRange(0, 2).Draw(t, "actor")), kind, rapid.IntRange(0, n-1).Draw(t, "to")}
			}), 0, 4).Draw(t, "steps")
		}
		for _, fairness := range []Fairness{FairChoices, FairActors} {
			want := d.stuckFor(fairness)
			r := mustSearch(t, System[int](d), Options{Fairness: fairness})
			if (r.Violation.Invariant == Livelock) != want {
				t.Fatalf("fairness %d: %v, want a violation: %v", fairness, r, want)
			}
			if !want {
				continue
			}
			found[fairness]++
			s := 0
			for _, c := range r.Schedule.Choices {
				s = d.Apply(s, c)
			}
			at := s
			for _, name := range r.Cycle {
				var from, to int
				from, to = split(name)
				if from != at {
					t.Fatalf("the cycle %v from %d is broken at %s", r.Cycle, s, name)
				}
				at = to
			}
			if at != s {
				t.Fatalf("the cycle %v does not lead back to %d", r.Cycle, s)
			}
		}
	})
	if found[FairActors] < found[FairChoices] || found[FairChoices] == 0 {
		t.Errorf("found %v: the weaker assumption must leave more violations", found)
	}
}

func split(name string) (from, to int) {
	for i := range name {
		if name[i] == '>' {
			from, _ = strconv.Atoi(name[:i])
			to, _ = strconv.Atoi(name[i+1:])
		}
	}
	return from, to
}

func TestLivelockOfTwoPolitePartners(t *testing.T) {
	// Each of two actors gives way as soon as both want: 0 both wait, 1 or 2 one wants, 3 both want; 4 done.
	d := &drawn{unfair: 9, steps: [][]drawnStep{
		0: {{0, 0, 1}, {1, 0, 2}},
		1: {{0, 0, 4}, {1, 0, 3}},
		2: {{1, 0, 4}, {0, 0, 3}},
		3: {{0, 0, 2}, {1, 0, 1}},
		4: {},
	}}
	if r := mustSearch(t, System[int](d), Options{Fairness: FairChoices}); r.Verdict != Held {
		t.Errorf("with fair choices: %v, want held: an end is always near", r)
	}
	r := mustSearch(t, System[int](d), Options{Fairness: FairActors})
	if r.Violation.Invariant != Livelock || len(r.Cycle) < 2 {
		t.Errorf("with fair actors: %v, cycle %v, want a livelock", r, r.Cycle)
	}
}
