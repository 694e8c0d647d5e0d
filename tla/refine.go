package tla

import (
	"errors"
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
// problems", 1959). It may be used by several workers at once.
type Refinement struct {
	Config  Config
	graph   *Graph
	shown   []string // projection of each state on the visible variables
	atomic  int      // how many steps of the specification one step of a run may make at once
	start   Tracker
	initial *stateSet
	visible []string

	mu       sync.Mutex
	sets     map[string]*stateSet
	taken    map[int]int    // edge -> how often a run may have taken it
	times    map[string]int // action -> steps that may have been one
	stutters map[string]int // statement -> how often it changed data that the specification does not show
}

// stateSet is a set of states of the specification with one projection, closed under steps that change nothing visible.
type stateSet struct {
	states []int
	shown  string
	next   map[target]*stateSet // nil when no step leads there
	via    map[target][]int     // the edges taken
	acts   map[target][]string  // their actions
	hash   uint64
}

// target is where a step of a run leads: a projection, by at most so many visible steps of the specification.
type target struct {
	shown string
	steps int
}

// NewRefinement prepares the check against the stored graph of the configuration. One step of a run may be up to atomic steps
// of the specification: more than one where a transaction does what the specification does in several. It fails when the graph
// is missing or stale, and when the tracker's first state is no state of the specification.
func NewRefinement(c Config, start Tracker, atomic int) (*Refinement, error) {
	g, err := GraphOf(c)
	if err != nil {
		return nil, err
	}
	r := &Refinement{Config: c, graph: g, start: start, atomic: atomic, sets: map[string]*stateSet{}, taken: map[int]int{}, times: map[string]int{}, stutters: map[string]int{}}
	first := start.Visible()
	for name := range first {
		r.visible = append(r.visible, name)
	}
	sort.Strings(r.visible)
	r.shown = g.projected(r.visible)
	if r.initial = r.first(); len(r.initial.states) == 0 {
		return nil, fmt.Errorf("the scenario starts in a state that %s does not have:\n%s", c.Name, first.Key())
	}
	return r, nil
}

// first is the set of initial states with the scenario's first projection; when the scenario starts later than the
// specification, all states with it.
func (r *Refinement) first() *stateSet {
	want := r.start.Visible().Key()
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
	set := &stateSet{states: all, next: map[target]*stateSet{}, via: map[target][]int{}, acts: map[target][]string{}, hash: hashOf(key)}
	if len(all) > 0 {
		set.shown = r.shown[all[0]]
	}
	r.sets[key] = set
	return set
}

// move takes a set over one step of a run, nil when the specification has none.
func (r *Refinement) move(from *stateSet, to target) *stateSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	set, known := from.next[to]
	if !known {
		var reached []int
		reached, from.via[to] = r.paths(from.states, to)
		from.acts[to] = r.actions(from.via[to])
		if len(reached) > 0 {
			set = r.closed(reached)
		}
		from.next[to] = set
	}
	for _, e := range from.via[to] {
		r.taken[e]++
	}
	for _, a := range from.acts[to] {
		r.times[a]++
	}
	return set
}

// actions lists the actions of edges, each once, by name.
func (r *Refinement) actions(edges []int) []string {
	var out []string
	for _, e := range edges {
		out = append(out, r.graph.Edges[e].Action)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// paths returns the states that the target names and the edges on the way there. The shortest number of steps that leads there
// is taken.
func (r *Refinement) paths(from []int, to target) (reached, via []int) {
	layer, seen := from, map[int]bool{}
	came := map[int][]int{} // state -> edges that led there
	for range to.steps {
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
			if r.shown[t] == to.shown {
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

// stutter counts a statement that changed committed data and nothing that the specification shows.
func (r *Refinement) stutter(s *sim.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stutters[statement(s)]++
}

// statement is the statement of a step in a line; of a commit it is whose, alike actors being one.
func statement(s *sim.Step) string {
	name, _, _ := strings.Cut(s.Name, "/")
	switch s.SQL {
	case "":
		return name
	case "commit":
		return "commit of " + strings.TrimPrefix(name, "wake ")
	}
	return sim.OneLine(s.SQL, 80)
}

// Invariant is the refinement as an invariant of a run: it is broken by the first step that is no step of the specification.
func (r *Refinement) Invariant() sim.Invariant {
	return sim.Invariant{
		Name: "Refines" + r.Config.Spec, Kind: sim.Monitored,
		Doc:     "every step is a step of " + r.Config.Name + " or changes nothing that it shows",
		Monitor: func() sim.Monitor { return refining{r: r, set: r.initial, tracker: r.start} },
	}
}

// refining is the monitor of a refinement. While an actor has a table locked against readers a server does not show the
// committed data; the next step that can be seen then is that many steps of the run at once.
type refining struct {
	r       *Refinement
	set     *stateSet
	tracker Tracker
	unseen  int
}

func (m refining) Step(s *sim.Step) (sim.Monitor, string) {
	next, err := m.tracker.Step(s)
	var locked *sim.Error
	if errors.As(err, &locked) && locked.Code == "55P03" {
		m.unseen++
		return m, ""
	} else if err != nil {
		return m, fmt.Sprintf("%s cannot be mapped to %s: %v", told(s), m.r.Config.Name, err)
	}
	before, after := m.set.shown, next.Visible().Key()
	if before == after {
		if s.Changed {
			m.r.stutter(s)
			m.unseen = 0
		}
		m.tracker = next
		return m, ""
	}
	set := m.r.move(m.set, target{after, m.r.atomic * (1 + m.unseen)})
	if set == nil {
		return m, fmt.Sprintf("%s is no step of %s:\n%s\nfrom there it allows: %s", told(s), m.r.Config.Name, difference(before, after), m.r.allowed(m.set))
	}
	return refining{r: m.r, set: set, tracker: next}, ""
}

// told says which step it is: its choice, its actor and its statement.
func told(s *sim.Step) string {
	if s.SQL == "" {
		return fmt.Sprintf("choice %d (%s)", s.Choice, s.Name)
	}
	return fmt.Sprintf("choice %d (%s: %s)", s.Choice, s.Name, sim.OneLine(s.SQL, 80))
}

func (m refining) Hash() uint64 {
	return m.set.hash + uint64(m.unseen) ^ m.tracker.Hash()*0x9e3779b97f4a7c15
}

// allowed lists the actions that leave a set.
func (r *Refinement) allowed(set *stateSet) string {
	var edges []int
	for _, s := range set.states {
		for _, e := range r.graph.Out(s) {
			if r.shown[r.graph.Edges[e].To] != set.shown {
				edges = append(edges, e)
			}
		}
	}
	return strings.Join(r.actions(edges), ", ")
}
