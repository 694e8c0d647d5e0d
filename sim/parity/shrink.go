package parity

import (
	"simrun/sim"
	"simrun/sim/postgres"
)

// Shrink makes a diverging case smaller as long as it still diverges in the same way, and returns it with its divergence. It
// tries at most budget runs.
func Shrink(server *postgres.Server, c *Case, first *sim.Divergence, compareLocks bool, budget int) (*Case, *sim.Divergence) {
	same := func(try *Case) *sim.Divergence {
		if budget--; budget < 0 {
			return nil
		}
		d, _, err := Run(server, try, compareLocks)
		if err != nil || d == nil || d.What != first.What {
			return nil
		}
		return d
	}
	best, found := c, first
	keep := func(try *Case) bool {
		d := same(try)
		if d != nil {
			best, found = try, d
		}
		return d != nil
	}
	// Steps: halves, quarters, ... from the end, so that what follows the divergence goes first; then single ones until none can go.
	for size := max(1, len(best.Steps)/2); ; size /= 2 {
		for again := true; again && budget > 0; {
			again = false
			for to := len(best.Steps); to > 0; to -= size {
				if to > len(best.Steps) {
					to = len(best.Steps)
				}
				if keep(best.without(max(0, to-size), to)) && size == 1 {
					again = true
				}
			}
		}
		if size <= 1 {
			break
		}
	}
	for i := len(best.Seed) - 1; i >= 0; i-- {
		try := *best
		try.Seed = remove(best.Seed, i)
		keep(&try)
	}
	for i := len(best.Schema) - 1; i >= 0; i-- {
		try := *best
		try.Schema = remove(best.Schema, i)
		keep(&try)
	}
	for i := range best.Steps {
		if best.Steps[i].Pick != 0 {
			try := best.without(0, 0)
			try.Steps[i].Pick = 0
			keep(try)
		}
	}
	return best, found
}

func remove(list []string, i int) []string {
	return append(append([]string(nil), list[:i]...), list[i+1:]...)
}
