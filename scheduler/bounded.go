package scheduler

import "sync/atomic"

// BoundedSystem is a system with a bound on preemptions.
type BoundedSystem[S any] struct {
	inner System[S]
	judge Judge[S]
	most  int32
	cut   *atomic.Bool
}

// Turn is a state of a bounded system: whose turn it is, and how often the turn was taken from an actor that could go on. Both
// belong to the fingerprint, so that search stays sound.
type Turn[S any] struct {
	State       S
	Last        int32 // the actor that moved last; -2 before the first
	Preemptions int32
}

// Bounded returns sys with the paths left out on which the turn is taken more than that many times from an actor that could go
// on: the bound of Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007. A choice of the environment takes no turn.
// The result is no Footprinter: what a step may do now depends on who moved last, so no two steps are independent.
func Bounded[S any](sys System[S], preemptions int) *BoundedSystem[S] {
	b := &BoundedSystem[S]{inner: sys, most: int32(preemptions), cut: new(atomic.Bool)}
	b.judge, _ = sys.(Judge[S])
	return b
}

// Cut reports whether the bound has left a path out.
func (b *BoundedSystem[S]) Cut() bool { return b.cut.Load() }

// Fork returns a BoundedSystem for another worker.
func (b *BoundedSystem[S]) Fork() System[Turn[S]] {
	f := *b
	if g, ok := b.inner.(Forker[S]); ok {
		f.inner = g.Fork()
		f.judge, _ = f.inner.(Judge[S])
	}
	return &f
}

// Initial returns the initial states, in which nobody has the turn.
func (b *BoundedSystem[S]) Initial() []Turn[S] {
	var all []Turn[S]
	for _, s := range b.inner.Initial() {
		all = append(all, Turn[S]{State: s, Last: -2})
	}
	return all
}

// Choices leaves out those that would take the turn once too often.
func (b *BoundedSystem[S]) Choices(t Turn[S], buf []Choice) []Choice {
	from := len(buf)
	buf = b.inner.Choices(t.State, buf)
	if t.Preemptions < b.most || !canMove(buf[from:], t.Last) {
		return buf
	}
	kept := buf[:from]
	for _, c := range buf[from:] {
		if c.Actor == t.Last || c.Actor == Environment {
			kept = append(kept, c)
		}
	}
	if len(kept) < len(buf) {
		b.cut.Store(true)
	}
	return kept
}

func canMove(choices []Choice, actor int32) bool {
	for _, c := range choices {
		if c.Actor == actor {
			return true
		}
	}
	return false
}

// Apply makes the choice and counts a turn that was taken.
func (b *BoundedSystem[S]) Apply(t Turn[S], c Choice) Turn[S] {
	if c.Actor != Environment && c.Actor != t.Last {
		if t.Last >= 0 && canMove(b.inner.Choices(t.State, nil), t.Last) {
			t.Preemptions++
		}
		t.Last = c.Actor
	}
	t.State = b.inner.Apply(t.State, c)
	return t
}

// Clone copies the state.
func (b *BoundedSystem[S]) Clone(t Turn[S]) Turn[S] {
	t.State = b.inner.Clone(t.State)
	return t
}

// Fingerprint covers the state, the turn and the count.
func (b *BoundedSystem[S]) Fingerprint(t Turn[S]) uint64 {
	return mix64(b.inner.Fingerprint(t.State) + mix64(uint64(uint32(t.Last))<<32|uint64(uint32(t.Preemptions))))
}

// Name is that of the system inside.
func (b *BoundedSystem[S]) Name(t Turn[S], c Choice) string { return b.inner.Name(t.State, c) }

// Fair is that of the system inside.
func (b *BoundedSystem[S]) Fair(c Choice) bool {
	if f, ok := b.inner.(Fair); ok {
		return f.Fair(c)
	}
	return c.Actor != Environment
}

// Violation is that of the system inside.
func (b *BoundedSystem[S]) Violation(t Turn[S]) (string, string) {
	if b.judge == nil {
		return "", ""
	}
	return b.judge.Violation(t.State)
}

// Status is that of the system inside.
func (b *BoundedSystem[S]) Status(t Turn[S]) Status {
	if b.judge == nil {
		return Completed
	}
	return b.judge.Status(t.State)
}

// Witnesses are those of the system inside.
func (b *BoundedSystem[S]) Witnesses(t Turn[S], buf []string) []string {
	if b.judge == nil {
		return buf
	}
	return b.judge.Witnesses(t.State, buf)
}
