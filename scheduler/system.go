// Package scheduler explores the schedules of concurrent systems: it makes choices by a strategy, or searches all of them.
// It knows neither SQL nor Postgres; a plain Go state machine can be checked with it too.
//
// A system is what implements System. Run makes one run under a Strategy, Search visits every state breadth-first,
// Explore visits every schedule, or one of each class of equivalent schedules, depth-first, and Shrink makes a failing
// schedule small. docs/search.md says how they work and what their verdicts mean.
package scheduler

// Choice is one decision: which actor moves and how. Choices are small comparable values; their names, which failure files
// record, come from System.Name.
type Choice struct {
	Actor int32 // the actor that moves, numbered from 0; -1 (Environment) for a choice of the environment
	Kind  int32 // meaning is the system's: a step, a fault, a wake-up, a victim, a clock advance
	Value int32 // parameter of the kind, 0 when it has none
}

// Environment is the Actor of a choice that belongs to no actor: a fault, a clock advance, a victim.
const Environment int32 = -1

// System is what is explored. S is its state: a small struct for plain state machines, a pointer for a world with a database.
//
// The four rules that make search sound: Choices is a function of the state and returns choices in a fixed order; Apply is
// deterministic; Apply may use up the state it is given, so a caller that needs it again clones first; two states with equal
// Fingerprint are treated as one (so symmetry of identical actors is the system's to give: hash their parts in sorted order).
//
// Several workers call the methods at once, each on states of its own. A System that keeps scratch memory implements Forker.
type System[S any] interface {
	// Initial returns the initial states, at least one; each call returns states that share nothing that Apply changes.
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
// one writes an object that the other reads or writes, or when one actor made both. An object of 0 in Writes conflicts with
// everything. A step that wakes, kills or lets go on another actor writes an object that stands for that actor, which every
// step of that actor reads. A system that judges states in the middle of a run adds an object for each invariant, written by
// every step that can change what the invariant sees: reduction then keeps the order of those steps.
type Footprint struct {
	Reads  []uint64
	Writes []uint64
}

// Footprinter is a System that can say what a step touched; partial-order reduction, POS and SURW use it.
type Footprinter[S any] interface {
	// Footprint returns what the step that led to s touched. It is called right after Apply returned s; the slices are good
	// until the next call on s.
	Footprint(s S) Footprint
}

// Tracker is a Footprinter whose footprints can be switched off. When they are, it is treated as none.
type Tracker interface {
	TracksFootprints() bool
}

func footprinter[S any](sys System[S]) Footprinter[S] {
	if t, ok := sys.(Tracker); ok && !t.TracksFootprints() {
		return nil
	}
	f, _ := sys.(Footprinter[S])
	return f
}

// Wait is an actor that has a next step which is not enabled, and what has to change for it to be: the objects that its
// guard reads.
type Wait struct {
	Actor int32
	Reads []uint64
}

// Waiter is a Footprinter whose steps have guards, that is, an actor can be not enabled although nothing that it did itself
// blocks it (a plain state machine with an awaited condition). Reduction needs to know what it waits for. A system in which
// an attempt that blocks is itself a step, as a SQL statement is, has no need of it.
type Waiter[S any] interface {
	// Waits appends the actors that wait in s to buf.
	Waits(s S, buf []Wait) []Wait
}

// Forecaster is a Footprinter that can say what an enabled choice would touch without making it. Without it, strategies that
// look ahead make the step on a clone.
type Forecaster[S any] interface {
	// Forecast returns what choice c, enabled in s, would touch; the slices are good until the next call on s.
	Forecast(s S, c Choice) Footprint
}

// Forker is a System with scratch memory of its own. Search calls Fork once for each worker; forks may share caches that
// are safe to share, and their states are interchangeable.
type Forker[S any] interface {
	Fork() System[S]
}

// Releaser is a System that reuses the memory of states that search has dropped.
type Releaser[S any] interface {
	// Release gives s back; nobody uses it again.
	Release(s S)
}

// Codec is a System whose states can be written down. Search then spills its queue to disk in this form; without it, a spilled
// state is made again by running the choices that led to it.
type Codec[S any] interface {
	// Encode appends s to buf.
	Encode(s S, buf []byte) []byte
	// Decode returns the state that Encode wrote, and the rest of buf.
	Decode(buf []byte) (S, []byte, error)
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

// String returns the status in lower case.
func (s Status) String() string {
	switch s {
	case Running:
		return "running"
	case Completed:
		return "completed"
	case Stuck:
		return "stuck"
	}
	return "unknown"
}

// Judge is a System that judges its states. A final state of a System that is no Judge counts as Completed.
type Judge[S any] interface {
	// Violation returns the name of the invariant that s breaks and why, or "" when it breaks none. Search asks once for each
	// new state, a run after each step.
	Violation(s S) (invariant, detail string)
	// Status classifies s. It is asked of final states only.
	Status(s S) Status
	// Witnesses appends the names of the witnesses that the step which led to s has seen. It is asked right after each Apply,
	// also when the step led to a known state. Most steps see none: it should then cost nothing.
	Witnesses(s S, buf []string) []string
}

// Fair is a System that says which choices are fair: a fair choice that stays possible is made at last, an unfair one (a
// fault) may never be. Without it, the choices of actors are fair and those of the environment are not.
type Fair interface {
	Fair(c Choice) bool
}

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant string // its name; Deadlock and Livelock are those that search itself finds
	Detail    string // why, in a line
}

const (
	// Deadlock is the name of the violation that a Stuck state is.
	Deadlock = "no-deadlock"
	// Livelock is the name of the violation that a cycle without progress is.
	Livelock = "progress"
)
