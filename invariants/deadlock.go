// Package invariants holds the invariants that are not about one protocol.
package invariants

import (
	"fmt"

	"simrun/sim"
)

// NoDeadlock says that no statement ever fails as the victim of a deadlock.
func NoDeadlock() sim.Invariant {
	return sim.Invariant{
		Name: "NoDeadlock", Kind: sim.Monitored,
		Doc:     "no statement is the victim of a deadlock",
		Monitor: func() sim.Monitor { return noDeadlock{} },
	}
}

type noDeadlock struct{}

func (m noDeadlock) Step(s *sim.Step) (sim.Monitor, string) {
	if s.Reply.Err != nil && s.Reply.Err.Code == "40P01" {
		return m, fmt.Sprintf("%s in %s", s.Name, s.SQL)
	}
	return m, ""
}

func (noDeadlock) Hash() uint64 { return 0 }
