package scheduler

import (
	"fmt"
	"slices"
)

// edge is one step between states, kept for the search for cycles. Choices of unfair kinds are kept too: a state whose only way
// out is one of them makes no progress by itself.
type edge struct {
	from, to uint64
	actor    int32
	fair     bool
}

const edgeFinal int32 = -2 // actor of the mark (from = to) that a final state leaves

const edgeChunk = 1 << 16

// edges holds edges in the order in which they were found.
type edges struct {
	chunks [][]edge
	n      int
}

func (e *edges) append(more []edge) {
	e.n += len(more)
	for len(more) > 0 {
		last := len(e.chunks) - 1
		if last < 0 || len(e.chunks[last]) == edgeChunk {
			e.chunks = append(e.chunks, make([]edge, 0, edgeChunk))
			last++
		}
		n := min(edgeChunk-len(e.chunks[last]), len(more))
		e.chunks[last] = append(e.chunks[last], more[:n]...)
		more = more[n:]
	}
}

func (w *worker[S]) edge(from, to uint64, c Choice) edge {
	fair := c.Actor != Environment
	if w.fair != nil {
		fair = w.fair.Fair(c)
	}
	return edge{from, to, c.Actor, fair}
}

// graph is the states and the fair steps between them, by number: a state's number is its slot in the visited set.
type graph struct {
	seen    *visited
	bases   [parts + 1]int
	heads   []uint32 // by number: where its steps begin in targets; one more at the end
	targets []uint32
	actors  []int32  // that make these steps
	enabled []uint64 // by number: the actors with a fair choice, bit actor+1
	final   []bool
}

func (g *graph) number(fp uint64) uint32 {
	p := &g.seen.parts[partOf(fp)]
	i, found := p.find(fp, p.slot(fp))
	if !found {
		panic("scheduler: a step leads to a state that was not visited")
	}
	return uint32(g.bases[partOf(fp)] + i)
}

// fingerprint returns that of the state of a number, 0 for an empty slot.
func (g *graph) fingerprint(n uint32) uint64 {
	p := 0
	for g.bases[p+1] <= int(n) {
		p++
	}
	return g.seen.parts[p].keys[int(n)-g.bases[p]]
}

func makeGraph(seen *visited, all *edges) *graph {
	g := &graph{seen: seen}
	for p := range seen.parts {
		g.bases[p+1] = g.bases[p] + len(seen.parts[p].keys)
	}
	n := g.bases[parts]
	g.heads = make([]uint32, n+1)
	g.enabled, g.final = make([]uint64, n), make([]bool, n)
	each := func(do func(from uint32, e edge)) {
		for _, c := range all.chunks {
			for _, e := range c {
				do(g.number(e.from), e)
			}
		}
	}
	each(func(from uint32, e edge) {
		switch {
		case e.actor == edgeFinal:
			g.final[from] = true
		case e.fair:
			g.heads[from+1]++
			g.enabled[from] |= actorBit(e.actor)
		}
	})
	for i := range n {
		g.heads[i+1] += g.heads[i]
	}
	g.targets, g.actors = make([]uint32, g.heads[n]), make([]int32, g.heads[n])
	fill := make([]uint32, n)
	each(func(from uint32, e edge) {
		if e.fair && e.actor != edgeFinal {
			at := g.heads[from] + fill[from]
			g.targets[at], g.actors[at] = g.number(e.to), e.actor
			fill[from]++
		}
	})
	return g
}

func actorBit(actor int32) uint64 { return 1 << (uint32(actor+1) & 63) }

func (g *graph) steps(n uint32) []uint32 { return g.targets[g.heads[n]:g.heads[n+1]] }

// components numbers the strongly connected components of the fair steps (Tarjan 1972, without recursion). A component is -1
// where there is no state.
func (g *graph) components() (component []int32, count int) {
	n := len(g.final)
	component = make([]int32, n)
	index, low := make([]uint32, n), make([]uint32, n) // index 0: not seen yet
	type frame struct {
		node uint32
		next int // of its steps
	}
	var frames []frame
	var stack []uint32
	clock := uint32(0)
	enter := func(v uint32) {
		clock++
		index[v], low[v] = clock, clock
		stack = append(stack, v)
		frames = append(frames, frame{node: v})
	}
	for i := range component {
		component[i] = -1
	}
	for root := range uint32(n) {
		if index[root] != 0 || g.fingerprint(root) == 0 {
			continue
		}
		enter(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			v := f.node
			if steps := g.steps(v); f.next < len(steps) {
				to := steps[f.next]
				f.next++
				if index[to] == 0 {
					enter(to)
				} else if component[to] < 0 {
					low[v] = min(low[v], index[to])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				up := frames[len(frames)-1].node
				low[up] = min(low[up], low[v])
			}
			if low[v] == index[v] {
				for top := uint32(n); top != v; {
					top = stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					component[top] = int32(count)
				}
				count++
			}
		}
	}
	return component, count
}

// findCycle looks for runs that go on for ever, or wait for what need never happen, under the fairness asked for.
func (s *search[S]) findCycle() error {
	g := makeGraph(s.seen, &s.edges)
	component, count := g.components()
	bad := g.bad(component, count, s.opt.Fairness)
	best, bestDepth := uint32(0), -1
	for v := range component {
		if c := component[v]; c >= 0 && bad[c] {
			fp := g.fingerprint(uint32(v))
			if parent := s.seen.parent(fp); parent != 0 && component[g.number(parent)] == c {
				continue // not where it is entered
			}
			depth := len(s.seen.ancestry(fp))
			if bestDepth < 0 || depth < bestDepth || (depth == bestDepth && fp < g.fingerprint(best)) {
				best, bestDepth = uint32(v), depth
			}
		}
	}
	if bestDepth < 0 {
		return nil
	}
	detail := "only choices that need never be made are left"
	if cycle := g.cycle(best, component, s.opt.Fairness); len(cycle) > 0 {
		names, err := s.workers[0].nameCycle(g.fingerprint(best), cycle)
		if err != nil {
			return err
		}
		s.result.Cycle = names
		detail = fmt.Sprintf("the run can go on for ever through %d steps, and %s", len(cycle), fairnessTexts[s.opt.Fairness])
	}
	s.found = &finding{g.fingerprint(best), Violation{Livelock, detail}}
	return nil
}

var fairnessTexts = map[Fairness]string{
	FairChoices: "no fair choices lead from there to an end",
	FairActors:  "every actor moves or waits on the way",
}

// bad says for each component whether a run can stay in it for ever under the fairness.
func (g *graph) bad(component []int32, count int, fairness Fairness) []bool {
	always := make([]uint64, count) // actors that can move in every state of it
	moves := make([]uint64, count)  // actors that move inside
	leaves, final := make([]bool, count), make([]bool, count)
	for c := range always {
		always[c] = ^uint64(0)
	}
	for v, c := range component {
		if c < 0 {
			continue
		}
		always[c] &= g.enabled[v]
		final[c] = final[c] || g.final[v]
		for i := g.heads[v]; i < g.heads[v+1]; i++ {
			if component[g.targets[i]] == c {
				moves[c] |= actorBit(g.actors[i])
			} else {
				leaves[c] = true
			}
		}
	}
	bad := make([]bool, count)
	for c := range bad {
		bad[c] = !final[c] && !leaves[c]
		if fairness == FairActors && !final[c] && moves[c] != 0 {
			bad[c] = always[c]&^moves[c] == 0
		}
	}
	return bad
}

// cycle returns the states of a closed walk from v, without v itself at its beginning. Under FairActors the walk has for each
// actor a step that it makes or a state in which it cannot move.
func (g *graph) cycle(v uint32, component []int32, fairness Fairness) []uint64 {
	var walk []uint64
	at, inside := v, component[v]
	goTo := func(goal func(n uint32) bool) bool {
		way, ok := g.way(at, component, goal)
		if ok {
			for _, n := range way {
				walk = append(walk, g.fingerprint(n))
				at = n
			}
		}
		return ok
	}
	if fairness == FairActors {
		for a := Environment; a < 62; a++ {
			bit := actorBit(a)
			if goTo(func(n uint32) bool { return g.enabled[n]&bit == 0 }) {
				continue
			}
			var to uint32
			goTo(func(n uint32) bool {
				for i := g.heads[n]; i < g.heads[n+1]; i++ {
					if g.actors[i] == a && component[g.targets[i]] == inside {
						to = g.targets[i]
						return true
					}
				}
				return false
			})
			walk, at = append(walk, g.fingerprint(to)), to
		}
	}
	if len(walk) > 0 && at == v {
		return walk
	}
	if len(walk) > 0 && goTo(func(n uint32) bool { return n == v }) {
		return walk
	}
	for i := g.heads[at]; i < g.heads[at+1]; i++ { // the shortest way round from v itself
		to := g.targets[i]
		if component[to] != inside {
			continue
		}
		if way, ok := g.way(to, component, func(n uint32) bool { return n == v }); ok && (walk == nil || len(way)+1 < len(walk)) {
			walk = append(walk[:0], g.fingerprint(to))
			for _, n := range way {
				walk = append(walk, g.fingerprint(n))
			}
		}
	}
	return walk
}

// way returns the shortest way from v, without v, to a state of its component that is a goal; empty when v is one.
func (g *graph) way(v uint32, component []int32, goal func(n uint32) bool) ([]uint32, bool) {
	from := map[uint32]uint32{v: v}
	queue := []uint32{v}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if goal(n) {
			var way []uint32
			for ; n != v; n = from[n] {
				way = append(way, n)
			}
			slices.Reverse(way)
			return way, true
		}
		for _, to := range g.steps(n) {
			if _, known := from[to]; !known && component[to] == component[v] {
				from[to] = n
				queue = append(queue, to)
			}
		}
	}
	return nil, false
}

// nameCycle names the choices of a closed walk from the state fp.
func (w *worker[S]) nameCycle(fp uint64, walk []uint64) ([]string, error) {
	_, s, err := w.follow(w.seen.ancestry(fp))
	if err != nil {
		return nil, err
	}
	_, names, _, err := w.through(s, walk)
	return names, err
}
