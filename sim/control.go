package sim

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// An actor is a deterministic function of what it has observed. Its control state is therefore a node of a tree: the
// observations since it started (or since its last Checkpoint) lead to the node, and the node has the request that the actor
// makes there. The Go code runs once for each node; all runs and all states of a search share the nodes.
//
// Nodes are found by hashes of 64 bits within one parent, so a collision needs two answers to one request that agree in them.

// node is a control state of an actor. It is immutable but for the answers seen so far.
type node struct {
	graph  *graph
	hash   uint64 // of the observations that lead here
	ask    *pending
	done   bool // Run has returned err
	err    error
	parent *node // how it was first reached; nil for the root
	obs    observation
	at     int  // number of observations since the start
	calls  bool // the actor's next step is the call of an operation

	answers table[edge, *edge]
	live    atomic.Pointer[coroutine] // a coroutine that stands here, if one does
}

// edge is what an actor did between an observation and its next request.
type edge struct {
	obs    uint64
	to     *node
	events []Event
	hash   uint64 // of the events
	full   uint64 // the same with the numbers of operations
	err    error  // the actor broke its contract

	notes     bool // the events hold notes
	witnesses []string
}

func (e *edge) tableKey() uint64 { return e.obs }

// liveMax is how many coroutines may stand at the nodes of one actor; more would cost memory only.
const liveMax = 2048

// graph holds the control states of one actor.
type graph struct {
	spec  *ActorSpec
	name  string       // that hashes are made of
	start *node        // before the actor's first line; its one answer is obsStart
	size  atomic.Int64 // nodes

	nothing *facts // what an actor has told at first

	mu    sync.Mutex
	marks map[uint64]*node  // nodes reached through a Checkpoint, by hash
	facts map[uint64]*facts // by hash

	parked sync.Mutex
	ring   []*node // where coroutines were left, oldest first from next
	next   int
}

// newGraph begins the graph of an actor; those of one kind have equal hashes when asked for.
func newGraph(spec *ActorSpec, byKind bool) *graph {
	g := &graph{spec: spec, name: spec.Name, marks: map[uint64]*node{}, facts: map[uint64]*facts{}}
	if byKind && spec.Kind != "" {
		g.name = "kind " + spec.Kind
	}
	g.nothing = g.factsOf(nil)
	g.start = &node{graph: g, hash: hashString(31, g.name)}
	return g
}

// answer returns what the actor does when it observes o at n.
func (n *node) answer(o *observation) *edge {
	if e := n.answers.find(o.hash); e != nil {
		return e
	}
	return n.graph.explore(n, *o)
}

// explore runs the actor's code.
func (g *graph) explore(n *node, o observation) *edge {
	n.answers.mu.Lock()
	defer n.answers.mu.Unlock()
	if e := n.answers.find(o.hash); e != nil {
		return e
	}
	co := n.live.Swap(nil)
	if co == nil {
		var err error
		if co, err = g.rerun(n); err != nil {
			return &edge{obs: o.hash, err: err}
		}
	}
	e := &edge{obs: o.hash}
	ask := co.resume(&o)
	for _, ev := range co.events {
		e.hash = hashAny(hashString(mix(e.hash, uint64(ev.Kind)), ev.Name), ev.Value)
		e.full = mix(mix(e.full, e.hash), uint64(ev.Op))
		switch ev.Kind {
		case EventNote:
			e.notes = true
		case EventWitness:
			e.witnesses = append(e.witnesses, ev.Name)
		}
	}
	e.events = co.events
	e.to, e.err = g.intern(n, o, co, ask)
	return n.answers.put(e)
}

// intern returns the node that the coroutine stands at.
func (g *graph) intern(n *node, o observation, co *coroutine, ask *pending) (*node, error) {
	hash := mix(n.hash, o.hash)
	if co.checkpointed {
		hash = mix(mix(31, co.mark), hashString(0, g.name))
		g.mu.Lock()
		defer g.mu.Unlock()
		if known := g.marks[hash]; known != nil {
			co.stop()
			if !known.ask.same(ask) {
				return known, fmt.Errorf("actor %s: after a Checkpoint with the same locals it once asked for %v and once for %v: "+
					"what it does depends on more than the locals", g.spec.Name, known.ask, ask)
			}
			return known, nil
		}
	}
	to := &node{graph: g, hash: hash, ask: ask, parent: n, obs: o, at: n.at + 1}
	// What an actor does by itself before that step, asking the time for one, concerns nobody.
	to.calls = n.calls && (n.ask.kind == askNow || n.ask.kind == askAttempt) ||
		slices.ContainsFunc(co.events, func(e Event) bool { return e.Kind == EventCall })
	if ask == nil {
		to.done, to.err = true, co.err
		to.hash = endHash(g.name, co.err)
	} else {
		g.keep(to, co)
	}
	if co.checkpointed {
		g.marks[hash] = to
	}
	g.size.Add(1)
	return to, nil
}

// endHash is the hash of an actor's end: what it observed before no longer matters.
func endHash(name string, err error) uint64 {
	h := hashString(32, name)
	if err != nil {
		h = hashString(h, err.Error())
	}
	return h
}

// keep leaves a coroutine at a node, so that its next observation need not run the actor from its start. The oldest one
// makes room.
func (g *graph) keep(n *node, co *coroutine) {
	n.live.Store(co)
	g.parked.Lock()
	defer g.parked.Unlock()
	if len(g.ring) < liveMax {
		g.ring = append(g.ring, n)
		return
	}
	if old := g.ring[g.next].live.Swap(nil); old != nil {
		old.stop()
	}
	g.ring[g.next] = n
	g.next = (g.next + 1) % liveMax
}

// stop ends the coroutines that were left at nodes. Each holds a goroutine, which nothing collects. The nodes stay good: the actor is
// run from its start when one is asked for again.
func (g *graph) stop() {
	g.parked.Lock()
	defer g.parked.Unlock()
	for _, n := range g.ring {
		if co := n.live.Swap(nil); co != nil {
			co.stop()
		}
	}
	g.ring, g.next = nil, 0
}

// rerun makes a coroutine that stands at n, by running the actor from its start with the observations that led there.
func (g *graph) rerun(n *node) (*coroutine, error) {
	path := make([]*node, 0, n.at)
	for m := n; m.parent != nil; m = m.parent {
		path = append(path, m)
	}
	co := newCoroutine(g.spec)
	for i := len(path) - 1; i >= 0; i-- {
		m := path[i]
		if ask := co.resume(&m.obs); !ask.same(m.ask) {
			co.stop()
			return nil, fmt.Errorf("actor %s is not a function of what it observes: with the same %d observations it once asked for %v and once for %v",
				g.spec.Name, m.at, m.ask, ask)
		}
	}
	return co, nil
}
