package rings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"simrun/sim"
)

// Kind says what came of a turn of an actor.
type Kind string

// The kinds of outcome, named as the system names them.
const (
	Rotated       Kind = "Rotated"       // the cursor moved to (Slot, Gen)
	SkippedBusy   Kind = "SkippedBusy"   // the next slot holds rows, the serializer is taken, or the race is lost
	SkippedIdle   Kind = "SkippedIdle"   // the whole ring is empty; the cursor stays at (Slot, Gen)
	Pruned        Kind = "Pruned"        // the children of Slot were truncated
	Blocked       Kind = "Blocked"       // the children could not be locked in time
	SkippedActive Kind = "SkippedActive" // the slot is still needed, Reason says by what
	SkippedPinned Kind = "SkippedPinned" // somebody pins the horizon
	Noop          Kind = "Noop"          // there was nothing to do
	Flipped       Kind = "Flipped"       // the authority moved to the ledger
	AlreadyLedger Kind = "AlreadyLedger" // it was there before
	Refused       Kind = "Refused"       // a gate refused, Reason says which
	Done          Kind = "Done"          // did what it is for
	Read          Kind = "Read"          // read (Slot, Gen)
	Counted       Kind = "Counted"       // counted N terminal jobs of the queue in Reason
	Failed        Kind = "Failed"        // the database raised the SQLSTATE in Reason
)

// Outcome is what came of one turn of an actor.
type Outcome struct {
	Kind   Kind
	Ring   string
	Slot   int
	Gen    int64
	Reason string
	Old    bool  // by a 0.6.2 binary
	N      int64 // how many rows it was about: folded, claimed, ...
}

// String is the outcome as the timeline shows it, e.g. "Rotated queue (2,6)".
func (o Outcome) String() string {
	s := string(o.Kind)
	if o.Ring != "" {
		s += " " + o.Ring
	}
	switch o.Kind {
	case Rotated, SkippedIdle, Pruned, Read, SkippedActive, Blocked, SkippedBusy:
		s += fmt.Sprintf(" (%d,%d)", o.Slot, o.Gen)
	}
	if o.Reason != "" {
		s += " " + o.Reason
	}
	return s
}

// witness is the name under which an outcome of an actor kind is witnessed, e.g. "rotate-0.7: SkippedBusy".
func witness(actor string, o Outcome) string {
	s := actor + ": " + string(o.Kind)
	if o.Reason != "" {
		s += " " + o.Reason
	}
	return s
}

// operate runs one turn as an operation of the history, tells its outcome to invariants, and witnesses it.
func operate(ctx context.Context, actor, name string, r ring, turn func() (Outcome, error)) (Outcome, error) {
	op := sim.Op(ctx, name, r.name)
	o, err := turn()
	if errors.Is(err, io.ErrUnexpectedEOF) { // the connection is lost, and with it the answer; a pool gives a new one
		return Outcome{}, nil
	}
	if err != nil {
		return o, err
	}
	o.Ring, o.Old = r.name, strings.Contains(actor, "0.6")
	op.Return(o)
	sim.Note(ctx, noteOutcome, o)
	sim.Witness(ctx, witness(actor, o))
	return o, nil
}

// The keys of the facts that actors tell.
const (
	noteOutcome = "outcome" // Outcome of the last turn
	noteHold    = "hold"    // hold: the serializer is held, under which discipline
	noteFold    = "fold"    // a fold begins: simulated time in microseconds
	noteForced  = "forced"  // a flip that skips its gate begins
	noteFleet   = "fleet"   // fleetSeen: the leader looked at the fleet, or (At -1) begins an auto-flip
	notePin     = "pin"     // since when the actor pins the horizon, in microseconds of simulated time; negative when by a write, 0 when it does not
)

// reasonSerializer is the reason of a turn that skips because the ring's advisory lock is taken.
const reasonSerializer = "serializer"

// hold is the fact that a ring transaction has its serializer and has chosen a discipline. It lasts until the transaction ends.
type hold struct {
	Ring string
	Mode string // "columns", "ledger", or "poison" for an old rotator that reads (-1, -1)
}
