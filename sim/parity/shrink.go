package parity

import (
	"simrun/sim"
	"simrun/sim/postgres"
)

// Shrink makes a diverging case smaller as long as it still diverges in the same way, and returns it with its divergence. It
// tries at most budget runs.
func Shrink(server *postgres.Server, c *Case, first *sim.Divergence, compareLocks bool, budget int) (*Case, *sim.Divergence) {
	return shrink(func(setup *sim.Setup) (sim.Backend, error) { return server.NewPair(setup, compareLocks) }, c, first, budget)
}

func shrink(pair func(*sim.Setup) (sim.Backend, error), c *Case, first *sim.Divergence, budget int) (*Case, *sim.Divergence) {
	// Making a database is most of the price of a run, so that the steps are removed in one.
	steps, err := pair(&sim.Setup{Schema: join(c.Schema), Seed: join(c.Seed)})
	if err != nil {
		return c, first
	}
	fixed := true // the schema and seed are those of the case
	same := func(try *Case) *sim.Divergence {
		if budget--; budget < 0 {
			return nil
		}
		var d *sim.Divergence
		var err error
		if fixed {
			d, _, err = runOn(steps, try)
		} else {
			d, _, err = runAnew(pair, try)
		}
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
	for i := range best.Steps {
		if best.Steps[i].Pick != 0 {
			try := best.without(0, 0)
			try.Steps[i].Pick = 0
			keep(try)
		}
	}
	fixed = false
	if err := steps.Shutdown(); err != nil {
		return best, found
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
	return best, found
}

func remove(list []string, i int) []string {
	return append(append([]string(nil), list[:i]...), list[i+1:]...)
}
