// Package twophase is two-phase commit as a plain state machine for the scheduler: the specification TwoPhase of Gray and
// Lamport, "Consensus on transaction commit" (2006), which the TLA+ examples also hold. A transaction manager and n resource
// managers agree on commit or abort through messages that are never lost.
package twophase

import (
	"fmt"

	"simrun/scheduler"
)

// Managers is the system with that many resource managers, 15 at most.
type Managers int

// State is a global state. Of each resource manager it has two bits in RM and one each in the masks.
type State struct {
	RM       uint32 // working, prepared, committed or aborted; manager i in bits 2i and 2i+1
	Sent     uint16 // managers whose "prepared" message was sent
	Prepared uint16 // managers whose "prepared" message the transaction manager has
	TM       uint8  // the transaction manager: init, committed or aborted; the message of the same name was then sent
}

const (
	working = iota
	prepared
	committed
	aborted
)

// The kinds of choice.
const (
	tmCommit      int32 = iota // the transaction manager decides
	tmAbort                    // ... to abort
	tmRcvPrepared              // and gets a message; Value is the sender
	rmPrepare                  // a resource manager prepares,
	rmChooseAbort              // aborts alone,
	rmRcvCommit                // or is told
	rmRcvAbort
)

var kinds = [...]string{"TMCommit", "TMAbort", "TMRcvPrepared", "RMPrepare", "RMChooseToAbort", "RMRcvCommitMsg", "RMRcvAbortMsg"}

func (s State) rm(i int32) uint32         { return s.RM >> (2 * i) & 3 }
func (s *State) setRM(i int32, to uint32) { s.RM = s.RM&^(3<<(2*i)) | to<<(2*i) }
func (n Managers) all() uint16            { return 1<<n - 1 }
func (n Managers) choice(rm, kind int32) scheduler.Choice {
	return scheduler.Choice{Actor: rm + 1, Kind: kind} // actor 0 is the transaction manager
}

// Initial is the one state in which all are working.
func (Managers) Initial() []State { return []State{{}} }

// Choices lists the actions that are enabled.
func (n Managers) Choices(s State, buf []scheduler.Choice) []scheduler.Choice {
	if s.TM == working {
		if s.Prepared == n.all() {
			buf = append(buf, scheduler.Choice{Kind: tmCommit})
		}
		buf = append(buf, scheduler.Choice{Kind: tmAbort})
		for i := range int32(n) {
			if (s.Sent&^s.Prepared)>>i&1 == 1 {
				buf = append(buf, scheduler.Choice{Kind: tmRcvPrepared, Value: i})
			}
		}
	}
	for i := range int32(n) {
		rm := s.rm(i)
		if rm == working {
			buf = append(buf, n.choice(i, rmPrepare), n.choice(i, rmChooseAbort))
		}
		if s.TM == committed && rm != committed {
			buf = append(buf, n.choice(i, rmRcvCommit))
		}
		if s.TM == aborted && rm != aborted {
			buf = append(buf, n.choice(i, rmRcvAbort))
		}
	}
	return buf
}

// Apply makes one action.
func (Managers) Apply(s State, c scheduler.Choice) State {
	switch c.Kind {
	case tmCommit:
		s.TM = committed
	case tmAbort:
		s.TM = aborted
	case tmRcvPrepared:
		s.Prepared |= 1 << c.Value
	case rmPrepare:
		s.setRM(c.Actor-1, prepared)
		s.Sent |= 1 << (c.Actor - 1)
	case rmChooseAbort, rmRcvAbort:
		s.setRM(c.Actor-1, aborted)
	case rmRcvCommit:
		s.setRM(c.Actor-1, committed)
	}
	return s
}

// Clone copies the state, which has no pointers.
func (Managers) Clone(s State) State { return s }

// Fingerprint packs the state into 62 bits and permutes them: no two states collide.
func (Managers) Fingerprint(s State) uint64 {
	return scheduler.Mix(uint64(s.RM) | uint64(s.Sent)<<30 | uint64(s.Prepared)<<45 | uint64(s.TM)<<60)
}

// Name names an action as the specification does.
func (Managers) Name(_ State, c scheduler.Choice) string {
	switch {
	case c.Kind == tmRcvPrepared:
		return fmt.Sprintf("%s(%d)", kinds[c.Kind], c.Value)
	case c.Actor == 0:
		return kinds[c.Kind]
	}
	return fmt.Sprintf("%s(%d)", kinds[c.Kind], c.Actor-1)
}

// Violation is a resource manager that aborted while another one committed.
func (n Managers) Violation(s State) (string, string) {
	const low = 0x55555555
	both := s.RM & (s.RM >> 1) & low // 3, aborted
	high := s.RM >> 1 &^ s.RM & low  // 2, committed
	if both != 0 && high != 0 {
		return "TCConsistent", "one resource manager has committed and one has aborted"
	}
	return "", ""
}

// Status of a state without choices: all have decided, or nobody can move.
func (n Managers) Status(s State) scheduler.Status {
	for i := range int32(n) {
		if s.rm(i) < committed {
			return scheduler.Stuck
		}
	}
	return scheduler.Completed
}

// Witnesses sees a commit and an abort.
func (n Managers) Witnesses(s State, buf []string) []string {
	if s.rm(0) == committed {
		return append(buf, "committed")
	}
	return buf
}
