package scheduler

import (
	"context"
	"math"
)

// Interleavings counts the schedules of sys without making them: the ways from an initial to a final state, added up over the
// states, each of which it visits once. The count is +Inf when there is a cycle. It stops with ok false when it has visited
// more states than states allows (0: any number) or ctx ends.
func Interleavings[S any](ctx context.Context, sys System[S], states int) (count float64, ok bool) {
	w := ways[S]{ctx: ctx, sys: sys, most: states, known: map[uint64]float64{}}
	w.release, _ = sys.(Releaser[S])
	for _, s := range sys.Initial() {
		count += w.from(s)
	}
	return count, !w.over
}

type ways[S any] struct {
	ctx     context.Context
	sys     System[S]
	release Releaser[S] // nil when sys is none
	most    int
	known   map[uint64]float64 // NaN while a state is being counted
	over    bool
}

func (w *ways[S]) from(s S) float64 {
	fp := w.sys.Fingerprint(s)
	if n, ok := w.known[fp]; ok {
		if math.IsNaN(n) {
			return math.Inf(1)
		}
		return n
	}
	if w.over = w.over || (w.most > 0 && len(w.known) >= w.most) || (len(w.known)%256 == 0 && w.ctx.Err() != nil); w.over {
		return 0
	}
	w.known[fp] = math.NaN()
	choices := w.sys.Choices(s, nil)
	n := 0.0
	if len(choices) == 0 {
		n = 1
	}
	for _, c := range choices {
		after := w.sys.Apply(w.sys.Clone(s), c)
		n += w.from(after)
		if w.release != nil {
			w.release.Release(after)
		}
	}
	w.known[fp] = n
	return n
}
