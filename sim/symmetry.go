package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// Actors of one kind are interchangeable: a world and the same with the roles of two of them exchanged have the same future, but for
// names. With Options.Symmetry both have one fingerprint (Ip and Dill, "Better Verification Through Symmetry", 1996): that of the world
// whose actors of each kind stand in the order of what they have observed. Of actors that have observed the same every order is tried,
// and the lowest fingerprint taken: they may hold different places in a queue. Beyond maxOrders an order is left as it is; then some
// symmetric worlds keep several fingerprints, which costs time only.

// relabeler is a Cloner that can tell its fingerprint with other numbers for its sessions.
type relabeler interface {
	FingerprintAs(as []int) uint64
}

// maxSymmetric is how many actors a setup with interchangeable ones may have.
const maxSymmetric = 16

// maxOrders is how many orders are tried for one fingerprint.
const maxOrders = 24

// kindsOf groups the actors that are interchangeable, and says why they cannot be.
func (p *plan) kindsOf() ([][]int, error) {
	if _, ok := p.cloner.(relabeler); !ok || len(p.setup.Actors) > maxSymmetric {
		return nil, fmt.Errorf("sim: symmetry needs the model, and %d actors at most", maxSymmetric)
	}
	if len(p.monitored) > 0 {
		return nil, fmt.Errorf("sim: no symmetry: the monitor of invariant %s tells actors apart", p.setup.Invariants[p.monitored[0]].Name)
	}
	byKind := map[string]int{}
	var kinds [][]int
	for i, a := range p.setup.Actors {
		if a.Kind == "" {
			continue
		}
		k, known := byKind[a.Kind]
		if !known {
			k = len(kinds)
			byKind[a.Kind], kinds = k, append(kinds, nil)
		}
		kinds[k] = append(kinds[k], i)
		if b := p.setup.Actors[kinds[k][0]]; a.Role != b.Role || a.Daemon != b.Daemon || a.Restarts != b.Restarts || !slices.Equal(a.Settings, b.Settings) {
			return nil, fmt.Errorf("sim: actors %s and %s are of kind %s and differ in role, settings, restarts or as daemons", b.Name, a.Name, a.Kind)
		}
	}
	kinds = slices.DeleteFunc(kinds, func(k []int) bool { return len(k) < 2 })
	if len(kinds) == 0 {
		return nil, fmt.Errorf("sim: no symmetry: no two actors are of one kind")
	}
	return kinds, nil
}

// symmetric is the part of the fingerprint that depends on which actor is which.
func (s *System) symmetric(w *World) uint64 {
	as, seen := make([]int, len(w.actors)), make([]uint64, len(w.actors))
	for i := range as {
		as[i], seen[i] = i, w.actors[i].hash(0)
	}
	var ties [][]int // actors that have observed the same
	orders := 1
	for _, kind := range s.kinds {
		sorted := slices.Clone(kind)
		slices.SortStableFunc(sorted, func(i, j int) int { return cmp.Compare(seen[i], seen[j]) })
		for k, i := range sorted {
			as[i] = kind[k]
		}
		for from := 0; from < len(sorted); {
			to := from + 1
			for ; to < len(sorted) && seen[sorted[from]] == seen[sorted[to]]; to++ {
				orders *= to - from + 1
			}
			if to-from > 1 {
				ties = append(ties, sorted[from:to])
			}
			from = to
		}
	}
	if orders > maxOrders {
		ties = nil
	}
	h := w.lowest(as, ties)
	for place := range as {
		h = w.actors[slices.Index(as, place)].hash(h)
	}
	return h
}

// lowest is the lowest fingerprint of the database under all orders of the ties.
func (w *World) lowest(as []int, ties [][]int) uint64 {
	if len(ties) == 0 {
		return w.db.(relabeler).FingerprintAs(as)
	}
	tie, low := ties[0], ^uint64(0)
	var permute func(k int)
	permute = func(k int) {
		if k == len(tie) {
			low = min(low, w.lowest(as, ties[1:]))
			return
		}
		for j := k; j < len(tie); j++ {
			as[tie[k]], as[tie[j]] = as[tie[j]], as[tie[k]]
			permute(k + 1)
			as[tie[k]], as[tie[j]] = as[tie[j]], as[tie[k]]
		}
	}
	permute(0)
	return low
}
