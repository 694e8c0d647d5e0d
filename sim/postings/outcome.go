package postings

import (
	"errors"
	"fmt"
)

// Refusal is a definite rejection by a rule: the envelope does not commit unless it is submitted again.
type Refusal string

func (r Refusal) Error() string { return "refused: " + string(r) }

// The rules that refuse.
const (
	RefusedEmpty     Refusal = "empty"
	RefusedDuplicate Refusal = "duplicate input"
	RefusedMissing   Refusal = "missing input"
	RefusedTaken     Refusal = "input taken"
	RefusedUnknown   Refusal = "unknown account"
	RefusedFrozen    Refusal = "frozen account"
	RefusedClosed    Refusal = "closed account"
	RefusedStale     Refusal = "stale snapshot"
	RefusedUnequal   Refusal = "not conserved"
	RefusedNegative  Refusal = "negative posting"
	RefusedFloor     Refusal = "below the floor"
	RefusedFunds     Refusal = "insufficient funds"
	RefusedLive      Refusal = "live postings"
	RefusedVersion   Refusal = "version conflict"
	RefusedElsewhere Refusal = "resolved by a recoverer"
)

// errCommitted ends a saga early: the transfer is stored already.
var errCommitted = errors.New("the transfer is stored already")

// errWedged is the error of a finalizing saga whose inputs or outputs are in a state that no step of its own leads to.
var errWedged = errors.New("inputs or outputs are not as this saga left them")

// compensationFailed is the error of a saga that could not release what it had reserved.
type compensationFailed struct{ cause, err error }

func (e compensationFailed) Error() string {
	return fmt.Sprintf("compensation failed: %v (after: %v)", e.err, e.cause)
}

// Outcome is how an operation on the ledger ended, as its caller sees it: "committed", "refused: RULE", or "unknown".
type Outcome string

// The outcomes that are not refusals.
const (
	Committed Outcome = "committed"
	Unknown   Outcome = "unknown" // an error that says nothing of the effect
)

// outcomeOf says what the caller may conclude from the error of an operation.
func outcomeOf(err error) Outcome {
	var r Refusal
	switch {
	case err == nil:
		return Committed
	case errors.As(err, &r):
		return Outcome(r.Error())
	}
	return Unknown
}
