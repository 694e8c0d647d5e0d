package sim

import (
	"fmt"
	"time"

	"simrun/scheduler"
)

// Apply is scheduler.System's.
func (s *System) Apply(w *World, c scheduler.Choice) *World {
	w.hand, w.seen = &s.hand, nil
	s.choices++
	w.steps++
	w.template = false
	i, kind := subject(c), StepKind(c.Kind)
	if w.prints {
		w.feet.reads, w.feet.writes = w.feet.reads[:0], w.feet.writes[:0]
	}
	w.touchActor(i)
	switch kind {
	case StepRun:
		w.statement(i, kind)
	case StepWake:
		reply, err := w.db.Resume(i)
		w.took(i, kind, false, reply, err)
	case StepChoose:
		w.chosen = c.Value
		w.tell(i, kind, valueObservation(int64(c.Value)))
	case StepClock:
		w.tick()
	case StepVictim:
		w.yielding = w.cycleYields()
		w.cycle = nil
		w.interrupt(i, kind, "40P01")
	case StepLockTimeout:
		w.cycle = nil
		if w.mayFail(faultLockTimeout) {
			w.used[faultLockTimeout]++
		}
		w.interrupt(i, kind, "55P03")
	case StepStatementTimeout:
		w.cycle = nil
		if w.mayFail(faultStatementTimeout) {
			w.used[faultStatementTimeout]++
		}
		w.interrupt(i, kind, StatementTimeout)
	case StepIdleTimeout:
		w.used[faultIdleTimeout]++
		w.expire(i)
	case StepCancel:
		w.used[faultCancel]++
		if w.actors[i].status == blocked {
			w.interrupt(i, kind, "57014")
		} else {
			w.refuse(i, kind, &Error{Code: "57014", Severity: "ERROR", Message: "canceling statement due to user request"})
		}
	case StepSerialization:
		w.used[faultSerialization]++
		w.refuse(i, kind, &Error{Code: "40001", Severity: "ERROR",
			Message: "could not serialize access due to read/write dependencies among transactions"})
	case StepCrash:
		w.used[faultCrash]++
		w.crash(i)
	case StepCommitApplied:
		w.used[faultCommitUnknown]++
		w.actors[i].lose = true
		w.statement(i, kind)
	case StepCommitDropped:
		w.used[faultCommitUnknown]++
		w.disconnect(i, kind)
	case StepConnLost:
		w.used[faultConnLost]++
		w.disconnect(i, kind)
	default:
		panic(fmt.Sprintf("sim: unknown choice %+v", c))
	}
	w.settle()
	if w.prints && w.changed && len(w.always) > 0 {
		w.feet.write(invariantsObject)
	}
	return w
}

// settle lets woken statements go on, one after the other, until an order has to be chosen.
func (w *World) settle() {
	for w.err == nil && w.broken == "" {
		w.woken = w.db.Woken(nil)
		if len(w.woken) != 1 || w.opts.Lazy {
			break
		}
		i := w.woken[0]
		w.touchActor(i)
		reply, err := w.db.Resume(i)
		w.took(i, StepWake, true, reply, err)
	}
	if w.tangled {
		w.tangled = false
		w.cycle = w.db.Deadlock()
	}
}

// statement submits the actor's request.
func (w *World) statement(i int, kind StepKind) {
	a := &w.actors[i]
	reply, err := w.db.Submit(i, a.at.ask.req)
	w.took(i, kind, false, reply, err)
}

// took takes in a reply to a statement of the actor.
func (w *World) took(i int, kind StepKind, eager bool, reply Reply, err error) {
	a := &w.actors[i]
	w.asked = a.at.ask
	if err != nil {
		w.fail(err)
		return
	}
	w.touchDatabase()
	if w.prints && w.asked != nil && (w.asked.clock || w.clocked) {
		w.feet.read(clockObject)
	}
	w.acquire(i)
	if reply.Blocked {
		a.status = blocked
		if w.watched {
			w.told = 0
			w.watch(i, kind, eager, &reply, nil, false)
		}
		w.tangled = true
		return
	}
	if reply.Err != nil && reply.Err.Code == "0A000" && w.cloner != nil {
		w.fail(&Unsupported{SQL: a.at.ask.req.SQL, Err: reply.Err})
		return
	}
	if reply.Err != nil && reply.Err.Severity == "FATAL" {
		o := replyObservation(reply)
		if a.lose {
			a.lose, o = false, lostObservation
		}
		w.reconnect(i)
		w.observe(i, kind, eager, &reply, &o, false)
		return
	}
	commits := w.commits(a, &reply)
	a.tx = reply.Tx
	if a.lose {
		a.lose = false
		w.reconnect(i)
		w.observe(i, kind, eager, &reply, &lostObservation, commits)
		return
	}
	if b := w.shared(); b != nil && kind != StepCancel && kind != StepSerialization {
		w.observe(i, kind, eager, &reply, &b.last.obs, commits)
		return
	}
	o := replyObservation(reply)
	w.observe(i, kind, eager, &reply, &o, commits)
}

// observe delivers an observation and shows the step to whoever watches. commits says that the committed state may have
// changed.
func (w *World) observe(i int, kind StepKind, eager bool, reply *Reply, o *observation, commits bool) {
	events := w.deliverStep(i, kind, o)
	if w.histories {
		w.touchReturns(i, events)
	}
	if commits {
		before := w.changed
		w.changed = false
		w.look()
		commits = w.changed
		w.changed = w.changed || before
	}
	if w.watched {
		w.watch(i, kind, eager, reply, events, commits)
	}
}

// commits says that the statement that the actor has just completed may have changed the committed state: it ended a
// transaction block, or was a transaction of its own.
func (w *World) commits(a *actor, reply *Reply) bool {
	if reply.Tx != 'I' || a.at.ask.reads {
		return false
	}
	return a.tx == 'T' || a.tx == 'I' && reply.Err == nil
}

// tell delivers an observation that the database has no part in.
func (w *World) tell(i int, kind StepKind, o observation) {
	w.asked = w.actors[i].at.ask
	w.unheard()
	w.observe(i, kind, kind == StepWake, &noReply, &o, false)
}

// noReply is what a step shows that the database has no part in.
var noReply Reply

// unheard prepares a step that has no reply of the database, and no events so far.
func (w *World) unheard() { w.acquired, w.shown, w.told = nil, 0, 0 }

// interrupt ends the actor's wait with an error.
func (w *World) interrupt(i int, kind StepKind, cause string) {
	w.tangled = true // there may be a second cycle
	reply, err := w.db.Interrupt(i, cause)
	if err == nil && reply.Blocked {
		err = fmt.Errorf("sim: the statement of %s still waits after it was interrupted with %s", w.setup.Actors[i].Name, cause)
	}
	w.took(i, kind, false, reply, err)
}

// expire ends the connection of an actor that is idle in a transaction. The actor is told when it uses it again.
func (w *World) expire(i int) {
	w.asked = nil
	w.actors[i].tx = 'I'
	if _, err := w.db.Interrupt(i, IdleTimeout); err != nil {
		w.fail(err)
		return
	}
	w.touchDatabase()
	w.unheard()
	if w.watched {
		w.watch(i, StepIdleTimeout, false, &noReply, nil, false)
	}
}

// refuse fails the actor's statement with an error before it has acted: the database gets a statement that fails, so that
// the transaction is in the state that the error leaves behind.
func (w *World) refuse(i int, kind StepKind, e *Error) {
	sql := "SELECT 1/0"
	if w.actors[i].at.ask.commit {
		sql = "ROLLBACK"
	}
	reply, err := w.db.Submit(i, Request{SQL: sql})
	reply.Result, reply.Err = nil, e
	w.took(i, kind, false, reply, err)
}

// disconnect loses the actor's connection.
func (w *World) disconnect(i int, kind StepKind) {
	w.asked = w.actors[i].at.ask
	w.reconnect(i)
	w.unheard()
	w.observe(i, kind, false, &noReply, &lostObservation, false)
}

// reconnect closes the actor's session, which rolls back, and opens another.
func (w *World) reconnect(i int) {
	w.actors[i].tx = 'I'
	if err := w.db.Open(i, w.setup.Actors[i]); err != nil {
		w.fail(err)
	}
	w.touchDatabase()
}

// crash ends the actor's process, and starts it again when it may.
func (w *World) crash(i int) {
	a := &w.actors[i]
	w.asked = nil
	if int(a.restarts) < w.setup.Actors[i].Restarts {
		a.restarts++
		w.reconnect(i)
		w.unheard()
		w.observe(i, StepCrash, false, &noReply, nil, false)
		return
	}
	a.at = w.graphs[i].start
	w.end(i)
	if w.watched {
		w.unheard()
		w.watch(i, StepCrash, false, &noReply, nil, false)
	}
}

// deliverStep is deliver, or for a crash the start of the new process.
func (w *World) deliverStep(i int, kind StepKind, o *observation) []Event {
	if kind == StepCrash {
		return w.begin(i)
	}
	return w.deliver(i, o)
}

// tick advances the clock to the next sleeper's time; all whose time has come go on.
func (w *World) tick() {
	next := int64(0)
	for i := range w.actors {
		if a := &w.actors[i]; a.status == asleep && (next == 0 || a.wakeAt < next) {
			next = a.wakeAt
		}
	}
	w.now = next
	if err := w.db.SetNow(time.Unix(0, next).UTC()); err != nil {
		w.fail(err)
		return
	}
	if w.prints {
		w.feet.write(clockObject)
	}
	w.changed = w.changed || w.stateful
	w.asked = nil
	if w.watched {
		w.unheard()
		w.watch(-1, StepClock, false, &noReply, nil, false)
	}
	for i := range w.actors {
		if a := &w.actors[i]; a.status == asleep && a.wakeAt <= next {
			w.touchActor(i)
			w.tell(i, StepWake, valueObservation(next))
		}
	}
}

// Unsupported is why a run ended whose SQL the in-memory Postgres does not speak.
type Unsupported struct {
	SQL string
	Err *Error
}

// Error names the construct, as the database does, and the statement.
func (u *Unsupported) Error() string {
	return fmt.Sprintf("the model does not support this statement: %v at character %d of %s", u.Err, u.Err.Position, u.SQL)
}
