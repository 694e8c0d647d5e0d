package scheduler

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Reduction says which schedules a depth-first search leaves out because another one is equivalent: it has the same steps, and
// the same order of those that depend on each other.
type Reduction uint8

const (
	// ReduceNone explores every schedule.
	ReduceNone Reduction = iota
	// ReduceSleep leaves out what sleep sets tell it to (Godefroid 1996): no two whole schedules are equivalent, yet many are
	// begun in vain.
	ReduceSleep
	// ReduceDPOR also begins few in vain: dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005) with sleep sets.
	ReduceDPOR
)

// ExploreOptions say how to explore.
type ExploreOptions[S any] struct {
	Reduction  Reduction
	Steps      int           // most steps of a schedule; 0 means 10,000
	Schedules  int           // most schedules; 0 means no bound
	Time       time.Duration // 0 means no bound
	AllowStuck bool          // a Stuck end is no violation

	// OnEnd, when set, is called with each whole schedule and its last state, neither of which it may keep. A violation that it
	// returns ends the search.
	OnEnd func(initial int, choices []Choice, s S) Violation
}

// Exploration is what a depth-first search found.
type Exploration struct {
	Verdict   Verdict
	BoundsHit []string
	Violation Violation
	Schedule  Schedule // that led to it
	Schedules int      // whole ones; under reduction, the classes of equivalent schedules
	Vain      int      // begun, and left when every way on turned out to be equivalent to one explored before
	Steps     int      // made
	Depth     int      // of the longest
	Completed int
	Stuck     int
	Witnesses []string // seen at least once, sorted
	Elapsed   time.Duration
}

// Explore makes the schedules of sys depth-first, without a memory of states: all of them or, under reduction, at least one of
// each class of equivalent ones. Reduction keeps all final states, and the violations in states on the way if the system's
// footprints cover what its invariants see (Footprint says how).
func Explore[S any](ctx context.Context, sys System[S], opt ExploreOptions[S]) (*Exploration, error) {
	if opt.Steps == 0 {
		opt.Steps = stepsDefault
	}
	e := &explorer[S]{sys: sys, opt: opt, ctx: ctx, started: time.Now(), result: &Exploration{}}
	e.judge, _ = sys.(Judge[S])
	e.feet = footprinter(sys)
	e.waiter, _ = sys.(Waiter[S])
	e.release, _ = sys.(Releaser[S])
	e.fair, _ = sys.(Fair)
	if opt.Reduction != ReduceNone && e.feet == nil {
		return nil, errors.New("reduction needs footprints, and this system has none")
	}
	for i, s := range sys.Initial() {
		e.initial, e.path = i, e.path[:0]
		if e.judged(s) {
			e.visit(s, 0, nil)
		}
		if e.over {
			break
		}
	}
	slices.Sort(e.result.Witnesses)
	e.result.Elapsed = time.Since(e.started)
	return e.result, nil
}

type explorer[S any] struct {
	sys     System[S]
	judge   Judge[S]       // nil when sys is none
	feet    Footprinter[S] // nil when sys is none
	waiter  Waiter[S]      // nil when sys is none
	release Releaser[S]    // nil when sys is none
	fair    Fair           // nil when sys is none
	opt     ExploreOptions[S]
	ctx     context.Context
	started time.Time
	initial int
	nodes   []*node // the present schedule; nodes are reused
	path    []Choice
	names   []string
	waits   []Wait
	choices []Choice // scratch
	covered bitset   // scratch
	over    bool
	result  *Exploration
}

// node is a state of the present schedule and the step that is being explored from it.
type node struct {
	choices []Choice
	todo    []bool   // by choice: to be explored
	done    []bool   // by choice: was explored, or is
	sleep   []asleep // choices that need not be explored: equivalent schedules were
	step    asleep   // the step
	before  bitset   // the steps that happened before it, in the order that dependence makes
	same    int      // the last step before it by its actor, -1 if there is none
}

// asleep is a choice with what it touches.
type asleep struct {
	choice Choice
	feet   Footprint
}

// set takes a copy of feet, and has every step read the object that stands for its actor.
func (a *asleep) set(c Choice, feet Footprint) {
	a.choice = c
	a.feet = Footprint{append(slices.Clone(feet.Reads), actorObject(c.Actor)), slices.Clone(feet.Writes)}
}

// actorObject is the object that a step writes which stops the actor.
func actorObject(actor int32) uint64 { return mix64(0x6163746f72 + uint64(uint32(actor))) }

// visit explores the schedules that go on from s, the state after depth steps.
func (e *explorer[S]) visit(s S, depth int, sleep []asleep) {
	n := e.node(depth)
	n.choices = e.sys.Choices(s, n.choices[:0])
	n.sleep = append(n.sleep[:0], sleep...)
	if len(n.choices) == 0 {
		e.end(s, depth)
		return
	}
	if depth == e.opt.Steps {
		e.hit(BoundSteps)
		return
	}
	n.todo, n.done = clearedTo(n.todo, len(n.choices)), clearedTo(n.done, len(n.choices))
	first := n.first()
	if first < 0 {
		e.raceWaits(s, depth)
		e.result.Vain++
		return
	}
	for i, c := range n.choices {
		// A choice that need never be made may be in no schedule below the others, and then it races with no step there.
		n.todo[i] = e.opt.Reduction != ReduceDPOR || c.Actor == n.choices[first].Actor || e.optional(c)
	}
	for i := n.next(); i >= 0 && !e.over; i = n.next() {
		n.done[i] = true
		c := n.choices[i]
		after := e.sys.Apply(e.sys.Clone(s), c)
		e.result.Steps++
		e.path = append(e.path[:depth], c)
		if e.judge != nil {
			e.witness(after)
		}
		var below []asleep
		if e.opt.Reduction != ReduceNone {
			n.step.set(c, e.feet.Footprint(after))
			e.stops(n, after)
		}
		if e.opt.Reduction != ReduceNone {
			for _, a := range n.sleep {
				if a.choice.Actor != c.Actor && !Dependent(a.feet, n.step.feet) {
					below = append(below, a)
				}
			}
		}
		if e.opt.Reduction == ReduceDPOR {
			e.order(depth)
			e.race(depth)
		}
		if e.judged(after) {
			e.visit(after, depth+1, below)
		}
		if e.release != nil {
			e.release.Release(after)
		}
		if e.opt.Reduction != ReduceNone {
			n.sleep = append(n.sleep, n.step)
			n.step = asleep{}
		}
		e.mayGoOn()
	}
}

// optional reports whether a choice need never be made.
func (e *explorer[S]) optional(c Choice) bool {
	if e.fair != nil {
		return !e.fair.Fair(c)
	}
	return c.Actor == Environment
}

// stops adds to what the step of n touches the actors that can no longer move after it. They depend on it, whatever they would
// touch; that they move first is to be explored here, because they may not move again. An actor that waits for what the step wrote
// need not be added: its wait shows that it depends.
func (e *explorer[S]) stops(n *node, after S) {
	e.choices = e.sys.Choices(after, e.choices[:0])
	e.waits = e.waits[:0]
	if e.waiter != nil {
		e.waits = e.waiter.Waits(after, e.waits)
	}
	last := int32(-2)
	for _, c := range n.choices {
		if c.Actor == last || c.Actor == n.step.choice.Actor || canMove(e.choices, c.Actor) {
			continue
		}
		last = c.Actor
		shown := slices.ContainsFunc(e.waits, func(w Wait) bool {
			return w.Actor == c.Actor && overlap(w.Reads, n.step.feet.Writes)
		})
		if shown {
			continue
		}
		n.step.feet.Writes = append(n.step.feet.Writes, actorObject(c.Actor))
		for i := range n.choices {
			n.todo[i] = n.todo[i] || n.choices[i].Actor == c.Actor
		}
	}
}

func (e *explorer[S]) node(depth int) *node {
	if depth == len(e.nodes) {
		e.nodes = append(e.nodes, &node{})
	}
	return e.nodes[depth]
}

func clearedTo(b []bool, n int) []bool {
	b = slices.Grow(b[:0], n)[:n]
	clear(b)
	return b
}

func (n *node) asleep(c Choice) bool {
	for i := range n.sleep {
		if n.sleep[i].choice == c {
			return true
		}
	}
	return false
}

// first returns the first choice that is not asleep, -1 when all are.
func (n *node) first() int {
	return slices.IndexFunc(n.choices, func(c Choice) bool { return !n.asleep(c) })
}

// allTodo reports whether all choices of an actor are to be explored; of the environment's, faults may be alone.
func (n *node) allTodo(actor int32) bool {
	for i, c := range n.choices {
		if c.Actor == actor && !n.todo[i] {
			return false
		}
	}
	return true
}

// next returns the next choice to explore, -1 when there is none.
func (n *node) next() int {
	for i, c := range n.choices {
		if n.todo[i] && !n.done[i] && !n.asleep(c) {
			return i
		}
	}
	return -1
}

// order finds which steps happened before the one at depth: those that it depends on, and those before them.
func (e *explorer[S]) order(depth int) {
	n := e.nodes[depth]
	n.before = n.before.cleared(depth)
	n.same = -1
	for i := depth - 1; i >= 0; i-- {
		o := e.nodes[i]
		same := o.step.choice.Actor == n.step.choice.Actor
		if same && n.same < 0 {
			n.same = i
		}
		if !n.before.has(i) && (same || Dependent(o.step.feet, n.step.feet)) {
			n.before.add(i)
			n.before.addAll(o.before)
		}
	}
}

// race finds the steps before depth that race with the step at depth, or with the wait in its place: they depend on each other
// and nothing between them orders them. It sees to it that a schedule with the other order is explored (the source sets of
// Abdulla, Aronis, Jonsson and Sagonas, POPL 2014). Where the actor could not move when the earlier step was made, a guard may
// make the other order impossible; then the steps before that one may race with it too.
func (e *explorer[S]) race(depth int) {
	n := e.nodes[depth]
	e.covered = e.covered.cleared(depth)
	for i := depth - 1; i >= 0; i-- {
		o := e.nodes[i]
		if o.step.choice.Actor == n.step.choice.Actor || e.covered.has(i) || (n.same >= 0 && e.nodes[n.same].before.has(i)) ||
			!Dependent(o.step.feet, n.step.feet) {
			continue
		}
		if e.reorder(i, depth) {
			e.covered.addAll(o.before)
		}
	}
}

// reorder sees to it that in place of step i a step is explored that begins a schedule in which the step at depth comes before
// i. It reports whether the actor of that step could move where i was made.
func (e *explorer[S]) reorder(i, depth int) bool {
	o, n := e.nodes[i], e.nodes[depth]
	pick := int32(-2)
	// Without i and what happened after it because of it, the steps up to depth can be made from here. One that needs none
	// of the others may be the first.
	for j := depth; j > i; j-- {
		m := e.nodes[j]
		if j < depth && m.before.has(i) || e.needsAfter(j, i) {
			continue
		}
		switch a := m.step.choice.Actor; {
		case !canMove(o.choices, a):
		case o.allTodo(a):
			return canMove(o.choices, n.step.choice.Actor)
		case pick == -2:
			pick = a
		}
	}
	for k, c := range o.choices {
		if c.Actor == pick {
			o.todo[k] = true
		}
	}
	return canMove(o.choices, n.step.choice.Actor)
}

// needsAfter reports whether step j needs a step after i that does not itself need i.
func (e *explorer[S]) needsAfter(j, i int) bool {
	before := e.nodes[j].before
	for k := i + 1; k < j; k++ {
		if before.has(k) && !e.nodes[k].before.has(i) {
			return true
		}
	}
	return false
}

// raceWaits treats the waits at the end of a schedule as steps that race with those made.
func (e *explorer[S]) raceWaits(s S, depth int) {
	if e.opt.Reduction != ReduceDPOR || e.waiter == nil {
		return
	}
	e.waits = e.waiter.Waits(s, e.waits[:0])
	for _, w := range e.waits {
		e.node(depth).step.set(Choice{Actor: w.Actor}, Footprint{Reads: w.Reads})
		e.order(depth)
		e.race(depth)
	}
}

// end counts a whole schedule.
func (e *explorer[S]) end(s S, depth int) {
	e.raceWaits(s, depth)
	r := e.result
	r.Schedules++
	r.Depth = max(r.Depth, depth)
	status := Completed
	if e.judge != nil {
		status = e.judge.Status(s)
	}
	switch status {
	case Completed:
		r.Completed++
	case Stuck:
		r.Stuck++
		if !e.opt.AllowStuck {
			e.violate(Violation{Deadlock, stuckDetail})
		}
	default:
		panic("scheduler: a state without choices has status running")
	}
	if e.opt.OnEnd != nil && !e.over {
		if v := e.opt.OnEnd(e.initial, e.path[:depth], s); v.Invariant != "" {
			e.violate(v)
		}
	}
	if e.opt.Schedules > 0 && r.Schedules >= e.opt.Schedules && !e.over {
		e.hit(BoundSchedules)
		e.over = true
	}
}

// judged reports whether s breaks no invariant.
func (e *explorer[S]) judged(s S) bool {
	if e.judge == nil {
		return true
	}
	invariant, detail := e.judge.Violation(s)
	if invariant != "" {
		e.violate(Violation{invariant, detail})
	}
	return invariant == ""
}

func (e *explorer[S]) violate(v Violation) {
	e.over = true
	choices := slices.Clone(e.path)
	e.result.Verdict, e.result.Violation = Violated, v
	e.result.Schedule = Schedule{e.initial, choices, NamesOf(e.sys, e.sys.Initial()[e.initial], choices)}
}

func (e *explorer[S]) witness(s S) {
	e.names = e.judge.Witnesses(s, e.names[:0])
	for _, n := range e.names {
		if !slices.Contains(e.result.Witnesses, n) {
			e.result.Witnesses = append(e.result.Witnesses, n)
		}
	}
}

func (e *explorer[S]) mayGoOn() {
	if e.over || e.result.Steps%256 != 0 {
		return
	}
	switch {
	case e.ctx.Err() != nil:
		e.hit(BoundContext)
		e.over = true
	case e.opt.Time > 0 && time.Since(e.started) > e.opt.Time:
		e.hit(BoundTime)
		e.over = true
	}
}

func (e *explorer[S]) hit(bound string) {
	if e.result.Verdict == Held {
		e.result.Verdict = HeldWithinBounds
	}
	if !slices.Contains(e.result.BoundsHit, bound) {
		e.result.BoundsHit = append(e.result.BoundsHit, bound)
	}
}

// bitset is a set of step numbers.
type bitset []uint64

// cleared returns an empty set with room for numbers below n.
func (b bitset) cleared(n int) bitset {
	words := n/64 + 1
	b = slices.Grow(b[:0], words)[:words]
	clear(b)
	return b
}

func (b bitset) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 == 1 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) addAll(o bitset) {
	for i, w := range o {
		b[i] |= w
	}
}
