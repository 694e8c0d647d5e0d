package sim

import (
	"context"
	"time"
)

// The functions of this file are the only things, beside its session, that an actor may observe or tell. ctx is the one that
// Run got, or one derived from it. Outside of a run (the same code in production, or on a plain pgx connection in a test)
// they are what they look like: Now is the wall clock, Sleep sleeps, Choose takes 0, and the others do nothing.

// runKey is the context key of the coroutine that an actor runs in.
type runKey struct{}

func coroutineOf(ctx context.Context) *coroutine {
	co, _ := ctx.Value(runKey{}).(*coroutine)
	return co
}

// Now returns the simulated time. It is the time that now() and clock_timestamp() give to the session at this step.
func Now(ctx context.Context) time.Time {
	co := coroutineOf(ctx)
	if co == nil {
		return time.Now()
	}
	return time.Unix(0, co.ask(&pending{kind: askNow}).value).UTC()
}

// Sleep returns when the clock has advanced by d, or at once when d is not positive. Advancing the clock is a choice of the
// schedule, so that everything that others can do meanwhile is tried. The error is that of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	co := coroutineOf(ctx)
	switch {
	case d <= 0:
		return nil
	case co != nil:
		co.ask(&pending{kind: askSleep, sleep: d})
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Choose returns a value 0..n-1 that the schedule chooses; name says in the schedule what is chosen. It is a step. It panics
// when n is not positive.
func Choose(ctx context.Context, name string, n int) int {
	if n <= 0 {
		panic("sim.Choose: nothing to choose from: n must be at least 1")
	}
	co := coroutineOf(ctx)
	if co == nil || n == 1 {
		return 0
	}
	return int(co.ask(&pending{kind: askChoose, name: name, n: n}).value)
}

// Attempt returns how often the actor has been started again after a crash: 0 in its first process.
func Attempt(ctx context.Context) int {
	co := coroutineOf(ctx)
	if co == nil {
		return 0
	}
	return int(co.ask(&pending{kind: askAttempt}).value)
}

// Operation is an operation of the history that has been called and not yet returned.
type Operation struct {
	co *coroutine
	id int
}

// Op opens an operation of the history: name with its input is called when the actor's next step runs. An operation that
// is never returned, because its actor crashed, is indeterminate: it may have taken effect or not.
func Op(ctx context.Context, name string, input any) *Operation {
	co := coroutineOf(ctx)
	if co == nil {
		return &Operation{}
	}
	co.ops++
	co.emit(Event{Kind: EventCall, Op: co.ops, Name: name, Value: input})
	return &Operation{co: co, id: co.ops}
}

// Return closes the operation with its output. An operation that is known not to have taken effect is returned with an
// output that says so, by the model that will judge the history.
func (o *Operation) Return(output any) {
	if o.co != nil {
		o.co.emit(Event{Kind: EventReturn, Op: o.id, Value: output})
	}
}

// Witness says that something worth seeing has happened. A witness that a whole search never saw is reported.
func Witness(ctx context.Context, name string) {
	if co := coroutineOf(ctx); co != nil {
		co.emit(Event{Kind: EventWitness, Name: name})
	}
}

// Note tells a fact to invariants and monitors. Monitors see each Note; a View has the last value that each actor gave for
// the key. The value must be a plain value (no pointers), because it is part of the state.
func Note(ctx context.Context, key string, value any) {
	if co := coroutineOf(ctx); co != nil {
		co.emit(Event{Kind: EventNote, Name: key, Value: value})
	}
}

// Checkpoint says that what the actor does next depends on locals only, and not on what it observed before: a loop that
// begins with a Checkpoint lets a search forget earlier rounds. No transaction may be open, and an operation
// that has not returned by then never does. The locals must be plain values (no pointers).
func Checkpoint(ctx context.Context, locals ...any) {
	if co := coroutineOf(ctx); co != nil {
		co.checkpoint(locals)
	}
}
