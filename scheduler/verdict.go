package scheduler

import (
	"fmt"
	"time"
)

// Bounds limit a search; 0 means no bound. A bound that was hit is named in the result, with what raises it.
type Bounds struct {
	Depth    int           // steps from an initial state
	States   int           // distinct states
	Memory   int64         // bytes, for states and queue; the queue spills to disk before the bound is hit
	Time     time.Duration // of this call
	Switches int           // most preemptions on a path plus one, so that 1 means none: see Bounded
}

// Options say how to search.
type Options struct {
	Bounds
	Workers    int      // 0 means one
	AllowStuck bool     // a Stuck state is no violation
	Fairness   Fairness // look for cycles without progress when every state has been visited
	Dir        string   // where the queue spills to; "" means the system's folder for temporary files
	Checkpoint string   // file to write when the context ends or a bound of time, states or memory is hit, and to remove when all is done
	Resume     bool     // go on from Checkpoint if it exists
	Identity   string   // what is searched: a checkpoint of another is refused

	// OnProgress, when set, is told how far the search is, about every ProgressEvery (0 means a second).
	OnProgress    func(Progress)
	ProgressEvery time.Duration

	segment int // for tests: states in a full segment, all of which go to disk
}

// Fairness says which endless runs count as violations of progress.
type Fairness uint8

const (
	// FairnessNone looks for no cycles.
	FairnessNone Fairness = iota
	// FairChoices assumes that a fair choice that is possible again and again is made again and again (strong fairness, the
	// strongest of all): what it reports is a state from which no fair choices lead to an end.
	FairChoices
	// FairActors assumes only that an actor that can always move moves at last (weak fairness of each actor): it also reports
	// cycles that go on for ever only because every actor waits or moves now and then.
	FairActors
)

// Progress is how far a search is.
type Progress struct {
	States      int
	Transitions int
	Depth       int
	Queue       int     // states that wait to be expanded
	Rate        float64 // distinct states a second since the last report
	Elapsed     time.Duration
	Left        time.Duration // until a bound of time or states is hit at this rate; 0 when neither is set
	Memory      int64         // bytes
}

// Verdict is what a search came to.
type Verdict uint8

const (
	// Held means that every reachable state was visited and none broke an invariant.
	Held Verdict = iota
	// HeldWithinBounds means that none broke an invariant of those that the bounds let be visited.
	HeldWithinBounds
	// Violated means that one did.
	Violated
)

// String says it in words.
func (v Verdict) String() string {
	switch v {
	case Held:
		return "held"
	case HeldWithinBounds:
		return "held within bounds"
	case Violated:
		return "violated"
	}
	return "unknown"
}

// The names of what can end a search early.
const (
	BoundDepth     = "depth"
	BoundStates    = "states"
	BoundMemory    = "memory"
	BoundTime      = "time"
	BoundSwitches  = "switches"
	BoundSteps     = "steps" // of a schedule
	BoundSchedules = "schedules"
	BoundContext   = "interrupt" // the context ended
)

// Schedule is a way to a state.
type Schedule struct {
	Initial int // index of the initial state
	Choices []Choice
	Names   []string // of the choices
}

// Result is what a search found.
type Result struct {
	Verdict     Verdict
	BoundsHit   []string // names of the bounds that were hit, in order of the constants
	Violation   Violation
	Schedule    Schedule // the shortest way to the violation; for a cycle, to its first state
	Cycle       []string // for a violation of progress that is a cycle: the choices around it
	States      int      // distinct states visited
	Transitions int      // steps made, from all of them
	Depth       int      // steps from an initial state to the farthest state
	Levels      []int    // distinct states by depth
	Queue       int      // states not expanded, when a bound or a violation ended the search
	Completed   int      // final states by status
	Stuck       int
	Witnesses   []string // seen at least once, sorted
	Collision   float64  // the probability, at most, that two states had one fingerprint, so that one was not visited
	Spilled     int64    // bytes of the queue that went to disk
	Elapsed     time.Duration
}

// Rate returns the distinct states a second.
func (r *Result) Rate() float64 { return float64(r.States) / max(r.Elapsed.Seconds(), 1e-9) }

// String is the verdict in a line.
func (r *Result) String() string {
	s := r.Verdict.String()
	if r.Verdict == Violated {
		s += ": " + r.Violation.Invariant
	}
	return fmt.Sprintf("%s; %d distinct states, %d transitions, depth %d, %d left in the queue, %.0f states/s, collision probability below %.1g",
		s, r.States, r.Transitions, r.Depth, r.Queue, r.Rate(), max(r.Collision, 1e-19))
}

// collision bounds the probability that among n fingerprints that behave like random numbers two are equal.
func collision(n int) float64 { return min(1, float64(n)*float64(n-1)/0x1p65) }
