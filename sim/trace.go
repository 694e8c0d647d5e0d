package sim

import "time"

// EventKind says what an actor told.
type EventKind uint8

// The kinds of events.
const (
	EventCall    EventKind = iota + 1 // an operation was called: Op, Name, Value is its input
	EventReturn                       // it returned: Op, Value is its output
	EventWitness                      // Name was witnessed
	EventNote                         // fact Name has now Value
)

// Event is what an actor told between two steps.
type Event struct {
	Kind  EventKind
	Op    int // number of the operation in its actor since that started
	Name  string
	Value any
}

// StepKind says what a step is. The values are the kinds of scheduler choices. Digests in failure files depend on them: new ones come last.
type StepKind int32

// The kinds of steps.
const (
	StepRun              StepKind = iota // the actor's next request
	StepWake                             // a woken session goes on
	StepVictim                           // the session loses a deadlock: 40P01
	StepLockTimeout                      // a blocked statement gives up: 55P03
	StepCrash                            // the actor's process dies between two statements
	StepCommitApplied                    // COMMIT is applied, its answer is lost with the connection
	StepCommitDropped                    // the connection is lost before COMMIT is applied
	StepConnLost                         // the connection is lost before the server acts on the statement
	StepCancel                           // the statement is cancelled: 57014
	StepSerialization                    // the statement fails with 40001
	StepClock                            // the clock advances to the next sleeper's time
	StepChoose                           // a value for Choose
	StepStatementTimeout                 // a blocked statement has taken too long: 57014
	StepIdleTimeout                      // the connection ends idle in a transaction: 25P03 for the next statement

	stepKinds = int(iota)
)

// Step is one step of a run: a choice and all that came of it in one session. A choice that wakes another session, which
// then goes on at once, is followed by that session's own Step with Kind StepWake and Eager set.
type Step struct {
	Index  int    // from 0, counting every Step
	Choice int    // index of the choice that made it; an eager wake-up has that of the step that woke it
	Name   string // name of the choice, e.g. "rotator-0.7/1", "wake lease-2"
	Kind   StepKind
	Eager  bool
	Actor  int // -1 for the clock
	Now    time.Time

	SQL   string // "" when the step is not about a statement
	Args  []any
	Reply Reply // what the session got; Blocked with By and On when it waits

	// Events are what the actor told before its next request, after this step.
	Events []Event
	// Done is true when the actor ended with this step; Err is what it returned.
	Done bool
	Err  error
	// Changed is true when the committed state may have changed; then Committed reads it, for monitors only: it is nil in
	// a trace, where it would show later states.
	Changed   bool
	Committed View
	// Versions lists row versions as they are after the step, for Setup.Observe, on a backend that can.
	Versions RowVersions
	// Acquired are the locks that the session acquired in this step, in order, when the backend tells them.
	Acquired []Lock
	// Bounded is true when a lock_timeout or statement_timeout below a second was set for the statement: its waits end by themselves, and before
	// the server looks for a deadlock.
	Bounded bool
	// Yielding is true when the step is a deadlock's victim and another wait of the cycle was Bounded. On a server that wait
	// gives up and there is no victim, unless the victim's deadlock_timeout falls into the moment that it lasts.
	Yielding bool
	// Digest covers all of the above, but for the numbers. It is filled in by Trace.Clone.
	Digest uint64
}

// Trace is a run: its steps and its history.
type Trace struct {
	Actors  []string // names by index
	Steps   []Step
	History []HistoryOp
	Final   View // the state at the end
	Cut     bool // MaxSteps was reached
}

// Choices returns the names of the choices: the schedule.
func (t *Trace) Choices() []string {
	var out []string
	for i := range t.Steps {
		if !t.Steps[i].Eager {
			out = append(out, t.Steps[i].Name)
		}
	}
	return out
}

// Waits calls f for each statement that blocked, with how many choices were made from the one that blocked it to the one with which
// its wait ended (an eager wake-up belongs to the choice that woke it). A wait that the end of the run cut short counts to there.
func (t *Trace) Waits(f func(choices int)) {
	since := make([]int, len(t.Actors)) // the choice that blocked the actor, plus one
	last := 0
	for i := range t.Steps {
		s := &t.Steps[i]
		last = s.Choice
		if s.Actor < 0 {
			continue
		}
		if was := since[s.Actor]; was > 0 {
			f(s.Choice - (was - 1))
			since[s.Actor] = 0
		}
		if s.Reply.Blocked {
			since[s.Actor] = s.Choice + 1
		}
	}
	for _, was := range since {
		if was > 0 {
			f(last - (was - 1))
		}
	}
}

// Notes calls f with each fact that an actor told, in order.
func (t *Trace) Notes(f func(step, actor int, key string, value any)) {
	for i := range t.Steps {
		s := &t.Steps[i]
		for _, e := range s.Events {
			if e.Kind == EventNote {
				f(i, s.Actor, e.Name, e.Value)
			}
		}
	}
}

// HistoryOp is one operation of a history. Times are in half steps: an operation that was called with step i and returned
// after step j spans 2i..2j+1.
type HistoryOp struct {
	Actor         int
	Name          string
	Input, Output any
	Call          int
	Return        int  // meaningless when Indeterminate
	Indeterminate bool // never returned: it may have taken effect or not, at any time after Call
}
