package scheduler

import (
	"errors"
	"slices"
)

var errChanged = errors.New("a state could not be reached again by the choices that led to it: " +
	"Apply, Choices or Fingerprint depend on something besides the state")

// ancestry returns the fingerprints on the way to fp, that of the initial state first.
func (v *visited) ancestry(fp uint64) []uint64 {
	var path []uint64
	for ; fp != 0; fp = v.parent(fp) {
		path = append(path, fp)
	}
	slices.Reverse(path)
	return path
}

// retrace finds the choices that lead to fp, by trying at each state on the way which choice leads to the next.
func (w *worker[S]) retrace(fp uint64) (Schedule, error) {
	schedule, _, err := w.follow(w.seen.ancestry(fp))
	return schedule, err
}

// follow finds the choices that lead through the states of a path, which begins with an initial state, and returns the last one.
func (w *worker[S]) follow(path []uint64) (schedule Schedule, end S, err error) {
	for i, s := range w.sys.Initial() {
		if normal(w.sys.Fingerprint(s)) == path[0] {
			schedule.Initial = i
			schedule.Choices, schedule.Names, end, err = w.through(s, path[1:])
			return schedule, end, err
		}
	}
	return schedule, end, errChanged
}

// through finds the choices that lead from s through the states of a path. It uses s up.
func (w *worker[S]) through(s S, path []uint64) (choices []Choice, names []string, end S, err error) {
	var enabled []Choice
next:
	for _, want := range path {
		enabled = w.sys.Choices(s, enabled[:0])
		for _, c := range enabled {
			after := w.sys.Apply(w.sys.Clone(s), c)
			if normal(w.sys.Fingerprint(after)) == want {
				choices, names = append(choices, c), append(names, w.sys.Name(s, c))
				s = after
				continue next
			}
		}
		return nil, nil, s, errChanged
	}
	return choices, names, s, nil
}

// derive makes the states of the fingerprints again, in their order. Ways that share a beginning are gone through once.
func (w *worker[S]) derive(fps []uint64) ([]item[S], error) {
	d := derivation[S]{worker: w, children: map[uint64][]uint64{}, wanted: map[uint64]int{}, items: make([]item[S], len(fps))}
	onWay := map[uint64]bool{}
	roots := map[uint64]bool{}
	for i, fp := range fps {
		d.wanted[fp] = i
		for f := fp; !onWay[f]; {
			onWay[f] = true
			parent := w.seen.parent(f)
			if parent == 0 {
				roots[f] = true
				break
			}
			d.children[parent] = append(d.children[parent], f)
			f = parent
		}
	}
	for _, s := range w.sys.Initial() {
		if fp := normal(w.sys.Fingerprint(s)); roots[fp] {
			delete(roots, fp)
			d.visit(s, fp)
		}
	}
	if d.made != len(fps) {
		return nil, errChanged
	}
	return d.items, nil
}

type derivation[S any] struct {
	*worker[S]
	children map[uint64][]uint64 // of each state on a way, those that are still to be reached
	wanted   map[uint64]int
	items    []item[S]
	made     int
}

func (d *derivation[S]) visit(s S, fp uint64) {
	if i, ok := d.wanted[fp]; ok {
		d.items[i] = item[S]{d.sys.Clone(s), fp}
		d.made++
	}
	if len(d.children[fp]) == 0 {
		return
	}
	for _, c := range d.sys.Choices(s, nil) {
		after := d.sys.Apply(d.sys.Clone(s), c)
		if f := normal(d.sys.Fingerprint(after)); d.reach(fp, f) {
			d.visit(after, f)
			if len(d.children[fp]) == 0 {
				return
			}
		}
	}
}

// reach reports whether f is to be reached from fp, and that it now was.
func (d *derivation[S]) reach(fp, f uint64) bool {
	left := d.children[fp]
	for i, c := range left {
		if c == f {
			left[i] = left[len(left)-1]
			d.children[fp] = left[:len(left)-1]
			return true
		}
	}
	return false
}
