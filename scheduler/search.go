package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Search visits the reachable states of sys breadth-first, each once, and returns the shortest way to a violation or that
// none was found. The result, but for times, does not depend on the number of workers.
//
// It goes in rounds. In a round the workers first take blocks of the queue, make every choice of every state in them and
// keep the states that the visited set does not have, which they only read. Then they take the parts of the visited set,
// each for itself, and add what was kept in the order of the queue. Both the queue and the set therefore grow in an order
// that no race can change.
func Search[S any](ctx context.Context, sys System[S], opt Options) (*Result, error) {
	if opt.Switches > 0 {
		inner := opt
		inner.Switches = 0
		bounded := Bounded(sys, opt.Switches-1)
		r, err := visitAll(ctx, System[Turn[S]](bounded), inner)
		if err == nil && bounded.Cut() {
			r.hit(BoundSwitches)
		}
		return r, err
	}
	return visitAll(ctx, sys, opt)
}

func visitAll[S any](ctx context.Context, sys System[S], opt Options) (*Result, error) {
	s := &search[S]{opt: opt, started: time.Now(), seen: newVisited(), result: &Result{}}
	s.queue.full = cmp.Or(opt.segment, segmentItems)
	s.makeWorkers(sys)
	defer s.queue.close()
	if opt.Memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(opt.Memory))
	}
	resumed, err := s.resume()
	if err != nil {
		return nil, err
	}
	if !resumed {
		s.begin()
	}
	for s.found == nil && s.queue.length() > 0 && s.mayGoOn(ctx) {
		if err := s.round(); err != nil {
			return nil, err
		}
	}
	return s.finish()
}

const (
	roundItems = 16384 // states expanded in a round, about; fixed, so that results do not depend on the machine
	batchItems = 64    // fingerprints looked up together, so that their cache misses overlap
)

type search[S any] struct {
	opt     Options
	workers []*worker[S]
	seen    *visited
	queue   queue[S]
	edges   edges
	blocks  []*block[S] // of the present round
	depth   int         // of the states that are being expanded
	cut     bool        // the bound of depth has left a state unexpanded
	found   *finding    // the first violation
	started time.Time
	told    time.Time // when progress was last told, with the states of then
	toldOf  int
	result  *Result
}

// finding is a violation in a state.
type finding struct {
	fp        uint64
	violation Violation
}

// worker is what one goroutine owns.
type worker[S any] struct {
	*search[S]
	sys       System[S]
	judge     Judge[S]    // nil when sys is none
	release   Releaser[S] // nil when sys is none
	codec     Codec[S]    // nil when sys is none
	fair      Fair        // nil when sys is none
	spill     *spill
	choices   []Choice
	batch     []candidate[S]
	slots     [2 * batchItems]int
	firsts    [2 * batchItems]uint64
	names     []string // scratch
	witnesses []string // seen, in order of appearance
}

// candidate is a state that was reached from the state parent.
type candidate[S any] struct {
	fp, parent uint64
	state      S
}

// block is a part of the queue while it is expanded, and what comes of it.
type block[S any] struct {
	segment     *segment[S]
	out         [parts][]candidate[S] // the states that may be new, by the part they belong to
	transitions int
	completed   int
	stuck       int
	cut         bool
	found       *finding
	edges       []edge
	err         error
}

func (s *search[S]) makeWorkers(sys System[S]) {
	for range max(s.opt.Workers, 1) {
		w := &worker[S]{search: s, sys: sys, spill: &spill{dir: s.opt.Dir}}
		if f, ok := sys.(Forker[S]); ok && len(s.workers) > 0 {
			w.sys = f.Fork()
		}
		w.judge, _ = w.sys.(Judge[S])
		w.release, _ = w.sys.(Releaser[S])
		w.codec, _ = w.sys.(Codec[S])
		w.fair, _ = w.sys.(Fair)
		s.workers = append(s.workers, w)
		s.queue.spills = append(s.queue.spills, w.spill)
	}
}

// begin visits the initial states.
func (s *search[S]) begin() {
	w := s.workers[0]
	for _, state := range w.sys.Initial() {
		fp := normal(w.sys.Fingerprint(state))
		if s.seen.add(fp, 0) {
			w.admit(state, fp, &s.found)
		}
	}
	s.queue.advance()
}

// round expands some states of the queue and visits what comes of them.
func (s *search[S]) round() error {
	segments := s.queue.take(roundItems)
	for len(s.blocks) < len(segments) {
		s.blocks = append(s.blocks, &block[S]{})
	}
	blocks := s.blocks[:len(segments)]
	for i, b := range blocks {
		b.segment = segments[i]
	}
	leaf := s.opt.Depth > 0 && s.depth >= s.opt.Depth
	s.parallel(len(blocks), func(w *worker[S], i int) { w.expand(blocks[i], leaf) })
	var founds [parts]*finding
	s.parallel(parts, func(w *worker[S], p int) { founds[p] = w.insert(blocks, p) })
	for _, b := range blocks {
		if b.err != nil {
			return b.err
		}
		s.result.Transitions += b.transitions
		s.result.Completed += b.completed
		s.result.Stuck += b.stuck
		s.cut = s.cut || b.cut
		s.edges.append(b.edges)
		s.found = firstFinding(s.found, b.found)
		s.queue.recycle(b.segment)
	}
	if s.found == nil { // a state that is stuck is a step nearer than those that were reached in this round
		for _, f := range founds {
			s.found = firstFinding(s.found, f)
		}
	}
	if s.queue.exhausted() {
		s.result.Levels = append(s.result.Levels, s.queue.expanded)
		s.depth++
		s.queue.advance()
	}
	return s.spillError()
}

// firstFinding picks one of the findings of a round: any fixed order will do.
func firstFinding(a, b *finding) *finding {
	if a == nil || (b != nil && b.fp < a.fp) {
		return b
	}
	return a
}

// parallel calls do for 0 to n-1, from all workers. A panic in one is thrown again here.
func (s *search[S]) parallel(n int, do func(w *worker[S], i int)) {
	if len(s.workers) == 1 || n == 1 {
		for i := range n {
			do(s.workers[0], i)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	var failure atomic.Pointer[string]
	for _, w := range s.workers[:min(len(s.workers), n)] {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					text := fmt.Sprintf("%v\n%s", p, debug.Stack())
					failure.CompareAndSwap(nil, &text)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n && failure.Load() == nil; i = int(next.Add(1)) - 1 {
				do(w, i)
			}
		})
	}
	wait.Wait()
	if f := failure.Load(); f != nil {
		panic("scheduler: a worker panicked: " + *f)
	}
}

// expand makes every choice of every state of the block. At the bound of depth it only looks whether there are any.
func (w *worker[S]) expand(b *block[S], leaf bool) {
	b.transitions, b.completed, b.stuck, b.cut, b.found, b.err = 0, 0, 0, false, nil, nil
	b.edges = b.edges[:0]
	for p := range b.out {
		b.out[p] = b.out[p][:0]
	}
	if b.err = w.load(b.segment); b.err != nil {
		return
	}
	items := b.segment.items
	for i := range items {
		it := &items[i]
		w.choices = w.sys.Choices(it.state, w.choices[:0])
		switch {
		case len(w.choices) == 0:
			w.final(b, it)
		case leaf:
			b.cut = true
		default:
			w.successors(b, it)
			continue
		}
		if w.release != nil {
			w.release.Release(it.state)
		}
	}
	w.lookUp(b)
	clear(items) // what the states hold can go
}

func (w *worker[S]) successors(b *block[S], it *item[S]) {
	last := len(w.choices) - 1
	b.transitions += len(w.choices)
	for i, c := range w.choices {
		s := it.state
		if i != last { // the last choice may use the state up
			s = w.sys.Clone(s)
		}
		s = w.sys.Apply(s, c)
		if w.judge != nil {
			w.witness(s)
		}
		fp := normal(w.sys.Fingerprint(s))
		w.batch = append(w.batch, candidate[S]{fp, it.fp, s})
		if w.opt.Fairness != FairnessNone {
			b.edges = append(b.edges, w.edge(it.fp, fp, c))
		}
		if len(w.batch) == batchItems {
			w.lookUp(b)
		}
	}
}

// lookUp moves the states of the batch that are not in the visited set to the block's output. First it loads the slot of
// each, so that the cache misses overlap; then it looks.
func (w *worker[S]) lookUp(b *block[S]) {
	batch := w.batch
	for i := range batch {
		p := &w.seen.parts[partOf(batch[i].fp)]
		slot := p.slot(batch[i].fp)
		w.slots[i], w.firsts[i] = slot, p.keys[slot]
	}
	for i := range batch {
		c := &batch[i]
		first := w.firsts[i]
		found := first == c.fp
		if !found && first != 0 {
			_, found = w.seen.parts[partOf(c.fp)].find(c.fp, w.slots[i])
		}
		if !found {
			p := partOf(c.fp)
			b.out[p] = append(b.out[p], *c)
		} else if w.release != nil {
			w.release.Release(c.state)
		}
	}
	w.batch = batch[:0]
}

// final counts a state without choices.
func (w *worker[S]) final(b *block[S], it *item[S]) {
	status := Completed
	if w.judge != nil {
		status = w.judge.Status(it.state)
	}
	switch status {
	case Completed:
		b.completed++
	case Stuck:
		b.stuck++
		if !w.opt.AllowStuck {
			b.found = firstFinding(b.found, &finding{it.fp, Violation{Deadlock, stuckDetail}})
		}
	default:
		panic("scheduler: a state without choices has status running")
	}
	if w.opt.Fairness != FairnessNone {
		b.edges = append(b.edges, edge{from: it.fp, to: it.fp, actor: edgeFinal})
	}
}

// insert visits the states of part p that the blocks have put out, in their order, and returns the first violation.
func (w *worker[S]) insert(blocks []*block[S], p int) *finding {
	var found *finding
	table := &w.seen.parts[p]
	for _, b := range blocks {
		for out := b.out[p]; len(out) > 0; out = out[min(batchItems, len(out)):] {
			w.insertBatch(table, out[:min(batchItems, len(out))], &found)
		}
		clear(b.out[p])
	}
	return found
}

func (w *worker[S]) insertBatch(table *part, out []candidate[S], found **finding) {
	table.reserve(len(out))
	for i := range out {
		w.slots[i] = table.slot(out[i].fp)
		w.firsts[i] = table.keys[w.slots[i]] + table.parents[w.slots[i]] // only to have both at hand
	}
	for i := range out {
		c := &out[i]
		if table.add(c.fp, c.parent, w.slots[i]) {
			w.admit(c.state, c.fp, found)
		} else if w.release != nil {
			w.release.Release(c.state)
		}
	}
}

// admit judges a new state and puts it into the queue.
func (w *worker[S]) admit(s S, fp uint64, found **finding) {
	if w.judge != nil {
		if invariant, detail := w.judge.Violation(s); invariant != "" {
			*found = firstFinding(*found, &finding{fp, Violation{invariant, detail}})
		}
	}
	if full := w.queue.push(partOf(fp), item[S]{s, fp}); full != nil && w.queue.spilling {
		w.store(full)
	}
}

func (w *worker[S]) witness(s S) {
	w.names = w.judge.Witnesses(s, w.names[:0])
	for _, n := range w.names {
		if !slices.Contains(w.witnesses, n) {
			w.witnesses = append(w.witnesses, n)
		}
	}
}

// mayGoOn looks at the bounds and the context, and tells how far the search is.
func (s *search[S]) mayGoOn(ctx context.Context) bool {
	elapsed, states, memory := time.Since(s.started), s.seen.len(), s.memory()
	s.queue.spilling = s.opt.segment > 0 || (s.opt.Memory > 0 && memory > s.opt.Memory*6/10)
	switch {
	case ctx.Err() != nil:
		s.result.hit(BoundContext)
	case s.opt.States > 0 && states >= s.opt.States:
		s.result.hit(BoundStates)
	case s.opt.Time > 0 && elapsed >= s.opt.Time:
		s.result.hit(BoundTime)
	case s.opt.Memory > 0 && memory > s.opt.Memory*19/20:
		s.result.hit(BoundMemory)
	default:
		s.tell(elapsed, states, memory)
		return true
	}
	return false
}

func (s *search[S]) tell(elapsed time.Duration, states int, memory int64) {
	if s.opt.OnProgress == nil {
		return
	}
	now := time.Now()
	if s.told.IsZero() {
		s.told = s.started
	}
	every := s.opt.ProgressEvery
	if every == 0 {
		every = time.Second
	}
	since := now.Sub(s.told)
	if since < every {
		return
	}
	p := Progress{States: states, Transitions: s.result.Transitions, Depth: s.depth, Queue: s.queue.length(),
		Rate: float64(states-s.toldOf) / since.Seconds(), Elapsed: elapsed, Memory: memory}
	if s.opt.Time > 0 {
		p.Left = s.opt.Time - elapsed
	}
	if s.opt.States > 0 && p.Rate > 0 {
		left := time.Duration(float64(s.opt.States-states) / p.Rate * float64(time.Second))
		if p.Left == 0 || left < p.Left {
			p.Left = left
		}
	}
	s.told, s.toldOf = now, states
	s.opt.OnProgress(p)
}

// finish makes the result.
func (s *search[S]) finish() (*Result, error) {
	r := s.result
	r.States, r.Depth, r.Queue = s.seen.len(), s.depth, s.queue.length()
	if r.Queue == 0 && len(r.Levels) > 0 {
		r.Depth = len(r.Levels) - 1
	}
	r.Collision = collision(r.States)
	for _, w := range s.workers {
		r.Spilled += w.spill.written
		r.Witnesses = append(r.Witnesses, w.witnesses...)
	}
	slices.Sort(r.Witnesses)
	r.Witnesses = slices.Compact(r.Witnesses)
	if s.cut {
		r.hit(BoundDepth)
	}
	if s.found == nil && len(r.BoundsHit) == 0 && s.opt.Fairness != FairnessNone {
		if err := s.findCycle(); err != nil {
			return nil, err
		}
	}
	if s.found != nil {
		r.Verdict, r.Violation = Violated, s.found.violation
		schedule, err := s.workers[0].retrace(s.found.fp)
		if err != nil {
			return nil, err
		}
		r.Schedule = schedule
	}
	r.Elapsed = time.Since(s.started)
	return r, s.saveOrRemove()
}

// hit notes that a bound was hit: nothing was violated, but not everything was visited either.
func (r *Result) hit(bound string) {
	if r.Verdict == Held {
		r.Verdict = HeldWithinBounds
	}
	order := []string{BoundDepth, BoundStates, BoundMemory, BoundTime, BoundSwitches, BoundContext}
	r.BoundsHit = append(r.BoundsHit, bound)
	slices.SortFunc(r.BoundsHit, func(a, b string) int {
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
}
