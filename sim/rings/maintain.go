package rings

import (
	"context"

	"simrun/sim"
)

// maintainer is the leader's maintenance of a ring: each tick it rotates, and then prunes unless there is reason not to. Its
// memory is its own and is lost with its process.
type maintainer struct {
	p     *program
	ring  ring
	ticks int
}

// backoffCap bounds how many ticks a prune is put off: 2 to its power.
const backoffCap = 5

// memory is what a maintainer remembers between ticks.
type memory struct {
	pruned cursor // slot and generation of the last prune
	any    bool   // there was one
	level  int    // of the backoff
	wait   int    // ticks until the next prune
}

// suppressed says whether a prune after an idle skip at c would only truncate again what was truncated last.
func (m memory) suppressed(c cursor, n int) bool {
	target, ok := c.oldest(n)
	return ok && m.any && target == m.pruned
}

// after is the memory after a prune's outcome: a slot in use doubles the wait, success resets it.
func (m memory) after(o Outcome) memory {
	switch o.Kind {
	case SkippedActive, Blocked:
		m.wait = 1 << m.level
		m.level = min(m.level+1, backoffCap)
	case Pruned:
		m.pruned, m.any = cursor{o.Slot, o.Gen}, true
		m.level, m.wait = 0, 0
	}
	return m
}

// Run maintains the ring once a tick.
func (a maintainer) Run(ctx context.Context, db sim.DB) error {
	var m memory
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick, m.pruned.Slot, m.pruned.Gen, m.any, m.level, m.wait)
		o, err := operate(ctx, "rotate-0.7", "rotate", a.ring, func() (Outcome, error) { return a.p.rotate(ctx, db, a.ring) })
		if err != nil {
			return err
		}
		if m.wait > 0 {
			m.wait--
			continue
		}
		if o.Kind == SkippedIdle && a.p.suppressed(m, cursor{o.Slot, o.Gen}, a.p.slots) {
			sim.Witness(ctx, "maintain: prune suppressed")
			continue
		}
		if o, err = a.p.prune(ctx, db, a.ring, false); err != nil {
			return err
		}
		m = a.p.after(m, o)
	}
	return nil
}
