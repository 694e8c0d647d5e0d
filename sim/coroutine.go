package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// askKind is what an actor asks its world for.
type askKind uint8

const (
	askSQL     askKind = iota // execute a statement
	askSleep                  // be woken when the clock has advanced by sleep
	askChoose                 // a value below n
	askNow                    // the time; answered at once
	askAttempt                // how often the actor has been restarted; answered at once
)

// pending is what an actor waits for. It is made once for each control state and not changed afterwards.
type pending struct {
	kind  askKind
	req   Request
	sleep time.Duration
	name  string
	n     int

	// What the session knows when it asks; faults are offered by it.
	commit           bool    // the statement is the COMMIT of a transaction block
	plain            bool    // the statement neither begins nor ends a transaction nor sets anything
	auto             bool    // the statement is a transaction of its own
	reads            bool    // the statement is a plain SELECT of its own transaction, without function calls
	repeatable       bool    // REPEATABLE READ or SERIALIZABLE
	lockTimeout      timeout // lock_timeout
	statementTimeout timeout // statement_timeout
	clock            bool    // the statement asks for the time
	idleTimeout      bool    // the session is in a transaction with idle_in_transaction_session_timeout set
}

// bounded says that a wait of the statement is over before the server looks for a deadlock.
func (p *pending) bounded() bool {
	return p.lockTimeout == timeoutShort || p.statementTimeout == timeoutShort
}

// same says that two requests of an actor are equal, as they must be when it has observed the same.
func (p *pending) same(q *pending) bool {
	if p == nil || q == nil {
		return p == q
	}
	if p.kind != q.kind || p.req.SQL != q.req.SQL || p.sleep != q.sleep || p.name != q.name || p.n != q.n ||
		len(p.req.Args) != len(q.req.Args) {
		return false
	}
	for i, a := range p.req.Args {
		if hashAny(0, a) != hashAny(0, q.req.Args[i]) {
			return false
		}
	}
	return true
}

func (p *pending) String() string {
	switch {
	case p == nil:
		return "the end of the actor"
	case p.kind == askSQL:
		return fmt.Sprintf("%q %v", p.req.SQL, p.req.Args)
	case p.kind == askSleep:
		return "Sleep(" + p.sleep.String() + ")"
	case p.kind == askChoose:
		return fmt.Sprintf("Choose(%q, %d)", p.name, p.n)
	}
	return "Now or Attempt"
}

// obsKind is what kind of answer an actor observes.
type obsKind uint8

const (
	obsStart obsKind = iota
	obsReply         // reply
	obsLost          // the connection was lost
	obsValue         // value: the time, a chosen value, a number of restarts
)

// observation is the answer to a pending.
type observation struct {
	kind  obsKind
	value int64
	reply Reply
	hash  uint64
}

func replyObservation(r Reply) observation {
	return observation{kind: obsReply, reply: r, hash: hashReply(&r)}
}

func valueObservation(v int64) observation {
	return observation{kind: obsValue, value: v, hash: mix(21, uint64(v))}
}

var (
	startObservation = observation{kind: obsStart, hash: 20}
	lostObservation  = observation{kind: obsLost, hash: 22}
)

// coroutine runs the Go code of an actor, up to one request at a time.
type coroutine struct {
	next   func() (*pending, bool)
	stop   func()
	yield  func(*pending) bool
	answer *observation

	events []Event // told since the last request
	ops    int     // operations opened
	idles  bool    // what the next pending says of idleTimeout

	// checkpointed is set when the actor passed a Checkpoint since the last request; mark is the hash of the locals.
	checkpointed bool
	mark         uint64

	stopped bool
	err     error // what Run returned
}

// errStopped unwinds an actor whose coroutine is no longer needed; its deferred calls see it as the session's error.
var errStopped = errors.New("the actor was stopped")

// PanicError is what an actor that panicked ends with.
type PanicError struct {
	Value any
	Stack string
}

// Error gives the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

func newCoroutine(spec *ActorSpec) *coroutine {
	co := &coroutine{}
	co.next, co.stop = iter.Pull(func(yield func(*pending) bool) {
		co.yield = yield
		co.err = co.run(spec)
	})
	return co
}

func (co *coroutine) run(spec *ActorSpec) (err error) {
	defer func() {
		if v := recover(); v != nil && v != errStopped {
			err = &PanicError{Value: v, Stack: string(debug.Stack())}
		}
	}()
	return spec.Run.Run(context.WithValue(context.Background(), runKey{}, co), newSession(co, spec))
}

// resume gives the actor an answer and runs it to its next request; nil is its end.
func (co *coroutine) resume(o *observation) *pending {
	co.answer, co.events, co.checkpointed = o, nil, false
	p, ok := co.next()
	if !ok {
		return nil
	}
	return p
}

// ask is called by the actor's side: it gives the request to the world and returns the answer.
func (co *coroutine) ask(p *pending) *observation {
	if co.stopped {
		panic(errStopped)
	}
	p.idleTimeout = co.idles
	if !co.yield(p) {
		co.stopped = true
		panic(errStopped)
	}
	return co.answer
}

func (co *coroutine) emit(e Event) {
	if !co.stopped {
		co.events = append(co.events, e)
	}
}

func (co *coroutine) checkpoint(locals []any) {
	h := mix(23, uint64(len(locals)))
	for _, v := range locals {
		h = hashAny(h, v)
	}
	co.checkpointed, co.mark, co.ops = true, h, 0
}
