// Package invariants holds the invariants that are not about one protocol.
package invariants

import (
	"fmt"

	"simrun/sim"
)

// NoDeadlock says that no statement ever fails as the victim of a deadlock. A cycle in which a wait has a lock_timeout shorter
// than deadlock_timeout is none: that wait gives up with 55P03, and the others go on. (A server looks for the cycle once in a
// wait, deadlock_timeout after it began, and so may still find it when that falls into the short wait. Whoever waits shortly has
// chosen that, and the victim of such a moment is no finding here; what the protocol makes of it is for the other invariants.)
func NoDeadlock() sim.Invariant {
	return sim.Invariant{
		Name: "NoDeadlock", Kind: sim.Monitored,
		Doc:     "no statement is the victim of a deadlock, but for cycles that a lock_timeout ends",
		Monitor: func() sim.Monitor { return noDeadlock{} },
	}
}

type noDeadlock struct{}

func (m noDeadlock) Step(s *sim.Step) (sim.Monitor, string) {
	if s.Reply.Err != nil && s.Reply.Err.Code == "40P01" && !s.Yielding {
		return m, fmt.Sprintf("%s in %s", s.Name, s.SQL)
	}
	return m, ""
}

func (noDeadlock) Hash() uint64 { return 0 }
