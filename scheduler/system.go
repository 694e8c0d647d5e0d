// Package scheduler explores the schedules of concurrent systems: it makes choices by a strategy, or searches all of them.
// It knows neither SQL nor Postgres; a plain Go state machine can be checked with it too.
package scheduler

// Choice is one decision: which actor moves and how. Choices are small comparable values; their names, which failure files
// record, come from System.Name.
type Choice struct {
	Actor int32 // the actor that moves; -1 for a choice of the environment
	Kind  int32 // meaning is the system's: a step, a fault, a wake-up, a victim, a clock advance
	Value int32 // parameter of the kind, 0 when it has none
}

// System is what is explored. S is its state: a small struct for plain state machines, a pointer for a world with a database.
//
// The four rules that make search sound: Choices is a function of the state and returns choices in a fixed order; Apply is
// deterministic; Apply may use up the state it is given, so a caller that needs it again clones first; two states with equal
// Fingerprint are treated as one.
type System[S any] interface {
	// Initial returns the initial states, at least one.
	Initial() []S
	// Choices appends the enabled choices of s to buf and returns it. None means that s is final.
	Choices(s S, buf []Choice) []Choice
	// Apply makes choice c, which is enabled in s, and returns the next state. It may use up s.
	Apply(s S, c Choice) S
	// Clone returns a copy of s that shares nothing that Apply changes.
	Clone(s S) S
	// Fingerprint returns a hash of s, well mixed in all 64 bits, equal for states that behave alike.
	Fingerprint(s S) uint64
	// Name returns the stable name of choice c in s, unique among the choices enabled there.
	Name(s S, c Choice) string
}

// Footprint is what one step touched, as hashed object ids: rows, predicates, locks, counters. Two steps are dependent when
// one writes an object that the other reads or writes. An object of 0 in Writes conflicts with everything.
type Footprint struct {
	Reads  []uint64
	Writes []uint64
}

// Footprinter is a System that can say what a step touched; partial-order reduction and POS use it.
type Footprinter[S any] interface {
	// Footprint returns what the step that led to s touched. It is called right after Apply returned s.
	Footprint(s S) Footprint
}

// Status says what a state without choices, or any state, is.
type Status uint8

const (
	// Running has choices left.
	Running Status = iota
	// Completed is final, with every actor done.
	Completed
	// Stuck is final with some actor not done: a deadlock, or a wait that nothing will end.
	Stuck
)

// Judge is a System that judges its states. Violation is asked once for each new state.
type Judge[S any] interface {
	// Violation returns the name of the invariant that s breaks and why, or "" when it breaks none.
	Violation(s S) (invariant, detail string)
	// Status classifies s.
	Status(s S) Status
	// Witnesses appends the names of the witnesses that the step which led to s has seen.
	Witnesses(s S, buf []string) []string
}
