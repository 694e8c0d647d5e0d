package tla

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"simrun/sim"
)

// Tracker follows a run and says what the specification's visible variables are. It is a value: Step returns the next tracker
// and does not change the receiver. Hash covers all that later answers depend on.
type Tracker interface {
	Step(s *sim.Step) (Tracker, error)
	Visible() State
	Hash() uint64
}

// Refinement checks that runs are runs of a specification. The specification's variables that a Tracker tells are visible;
// the others, program counters for instance, are hidden: a run refines the specification when some run of the specification
// shows the same visible states, with steps that change nothing visible in between. The states of the specification that a
// run may be in are followed as a set (the subset construction: Rabin and Scott, "Finite automata and their decision
// problems", 1959).
type Refinement struct {
	Config  Config
	graph   *Graph
	shown   []string // projection of each state on the visible variables
	atomic  int      // how many steps of the specification one step of a run may make at once
	start   Tracker
	initial *stateSet
	visible []string

	mu    sync.Mutex
	sets  map[string]*stateSet
	taken map[int]int // edge -> how often a run took it
}

// stateSet is a set of states of the specification with one projection, closed under steps that change nothing visible.
type stateSet struct {
	states []int
	key    string
	next   map[string]*stateSet // by projection; nil when no step leads there
	via    map[string][]int     // the edges taken
	hash   uint64
}

// NewRefinement prepares the check against the stored graph of the configuration. One step of a run may be up to atomic steps
// of the specification: more than one where a transaction does what the specification does in several. It fails when the graph
// is missing or stale, and when the tracker's first state is no state of the specification.
func NewRefinement(c Config, start Tracker, atomic int) (*Refinement, error) {
	g, err := GraphOf(c)
	if err != nil {
		return nil, err
	}
	r := &Refinement{Config: c, graph: g, start: start, atomic: atomic, sets: map[string]*stateSet{}, taken: map[int]int{}}
	first := start.Visible()
	for name := range first {
		r.visible = append(r.visible, name)
	}
	sort.Strings(r.visible)
	for _, s := range g.States {
		r.shown = append(r.shown, r.project(s))
	}
	if r.initial = r.first(); len(r.initial.states) == 0 {
		return nil, fmt.Errorf("the scenario starts in a state that %s does not have:\n%s", c.Name, r.project(first))
	}
	return r, nil
}

// project is the text of the visible variables of a state.
func (r *Refinement) project(s State) string {
	visible := State{}
	for _, name := range r.visible {
		visible[name] = s[name]
	}
	return visible.Key()
}

// first is the set of initial states with the scenario's first projection; when the scenario starts later than the
// specification, all states with it.
func (r *Refinement) first() *stateSet {
	want := r.project(r.start.Visible())
	var initial, any []int
	for i, shown := range r.shown {
		if shown != want {
			continue
		}
		any = append(any, i)
		if slices.Contains(r.graph.Initial, i) {
			initial = append(initial, i)
		}
	}
	if len(initial) > 0 {
		any = initial
	}
	return r.closed(any)
}

// closed interns the closure of the states under steps that change nothing visible.
func (r *Refinement) closed(states []int) *stateSet {
	in := map[int]bool{}
	todo := append([]int(nil), states...)
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if in[s] {
			continue
		}
		in[s] = true
		for _, e := range r.graph.Out(s) {
			if to := r.graph.Edges[e].To; r.shown[to] == r.shown[s] {
				todo = append(todo, to)
			}
		}
	}
	all := make([]int, 0, len(in))
	for s := range in {
		all = append(all, s)
	}
	sort.Ints(all)
	key := fmt.Sprint(all)
	if set := r.sets[key]; set != nil {
		return set
	}
	set := &stateSet{states: all, key: key, next: map[string]*stateSet{}, via: map[string][]int{}, hash: 14695981039346656037}
	for i := range len(key) {
		set.hash = (set.hash ^ uint64(key[i])) * 1099511628211
	}
	r.sets[key] = set
	return set
}

// move takes a set over one visible step, nil when the specification has none.
func (r *Refinement) move(from *stateSet, to string) *stateSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	set, known := from.next[to]
	if !known {
		var reached []int
		reached, from.via[to] = r.paths(from.states, to)
		if len(reached) > 0 {
			set = r.closed(reached)
		}
		from.next[to] = set
	}
	for _, e := range from.via[to] {
		r.taken[e]++
	}
	return set
}

// paths returns the states with projection to that up to r.atomic visible steps lead to, and the edges on the way there. The
// shortest number of steps that leads there is taken.
func (r *Refinement) paths(from []int, to string) (reached, via []int) {
	layer, seen := from, map[int]bool{}
	came := map[int][]int{} // state -> edges that led there
	for range r.atomic {
		var next []int
		for _, s := range layer {
			for _, e := range r.graph.Out(s) {
				t := r.graph.Edges[e].To
				if r.shown[t] == r.shown[s] {
					continue // closed sets have these already
				}
				came[t] = append(came[t], e)
				if !seen[t] {
					seen[t] = true
					next = append(next, t)
				}
			}
		}
		for _, t := range next {
			if r.shown[t] == to {
				reached = append(reached, t)
			}
		}
		if len(reached) > 0 {
			break
		}
		layer = r.closed(next).states
	}
	counted := map[int]bool{}
	for todo := append([]int(nil), reached...); len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, e := range came[s] {
			if !counted[e] {
				counted[e] = true
				via = append(via, e)
				todo = append(todo, r.graph.Edges[e].From)
			}
		}
	}
	return reached, via
}

// Invariant is the refinement as an invariant of a run: it is broken by the first step that is no step of the specification.
func (r *Refinement) Invariant() sim.Invariant {
	return sim.Invariant{
		Name: "Refines" + r.Config.Spec, Kind: sim.Monitored, NeedsLocks: true,
		Doc:     "every step is a step of " + r.Config.Name + " or changes nothing that it shows",
		Monitor: func() sim.Monitor { return refining{r, r.initial, r.start} },
	}
}

// refining is the monitor of a refinement.
type refining struct {
	r       *Refinement
	set     *stateSet
	tracker Tracker
}

func (m refining) Step(s *sim.Step) (sim.Monitor, string) {
	next, err := m.tracker.Step(s)
	if err != nil {
		return m, fmt.Sprintf("choice %d cannot be mapped to %s: %v", s.Choice, m.r.Config.Name, err)
	}
	before, after := m.r.shown[m.set.states[0]], m.r.project(next.Visible())
	if before == after {
		return refining{m.r, m.set, next}, ""
	}
	set := m.r.move(m.set, after)
	if set == nil {
		return m, fmt.Sprintf("choice %d (%s: %s) is no step of %s:\n%s\nFrom there it allows: %s", s.Choice, s.Name, sim.OneLine(s.SQL, 80),
			m.r.Config.Name, difference(before, after), m.r.allowed(m.set))
	}
	return refining{m.r, set, next}, ""
}

func (m refining) Hash() uint64 { return m.set.hash ^ m.tracker.Hash()*0x9e3779b97f4a7c15 }

// difference shows the variables that a step changed.
func difference(before, after string) string {
	b, a := strings.Split(before, "\n"), strings.Split(after, "\n")
	var out []string
	for i := range b {
		if i < len(a) && a[i] != b[i] {
			out = append(out, "  from "+b[i], "    to "+a[i])
		}
	}
	return strings.Join(out, "\n")
}

// allowed lists the actions that leave a set.
func (r *Refinement) allowed(set *stateSet) string {
	names := map[string]bool{}
	for _, s := range set.states {
		for _, e := range r.graph.Out(s) {
			names[r.graph.Edges[e].Action] = true
		}
	}
	var out []string
	for n := range names {
		out = append(out, n)
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

// ActionCoverage says how much of an action runs have taken.
type ActionCoverage struct {
	Action       string
	Edges, Taken int // visible edges of the graph with this action, and those that some run took
	Times        int // how often runs took them
}

// Coverage returns the actions of the specification, by name. Edges that change nothing visible do not count: no run can be
// seen to take them.
func (r *Refinement) Coverage() []ActionCoverage {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[string]*ActionCoverage{}
	for i, e := range r.graph.Edges {
		c := by[e.Action]
		if c == nil {
			c = &ActionCoverage{Action: e.Action}
			by[e.Action] = c
		}
		if r.shown[e.From] == r.shown[e.To] {
			continue
		}
		c.Edges++
		if n := r.taken[i]; n > 0 {
			c.Taken++
			c.Times += n
		}
	}
	out := make([]ActionCoverage, 0, len(by))
	for _, c := range by {
		out = append(out, *c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Action < out[j].Action })
	return out
}
