package sim

import (
	"errors"
	"fmt"
	"time"

	"simrun/model/types"
)

// ErrCrashed is what an actor ended with that crashed and does not start again.
var ErrCrashed = errors.New("crashed")

// World is the state of a run: a database, its actors and all that invariants remember.
type World struct {
	*plan
	*hand
	db     Backend
	spot   shared // what db is when databases are shared
	actors []actor
	now    int64 // nanoseconds since 1970
	used   [faultKinds]uint8
	done   int // actors that are no daemons and have ended
	steps  int // choices made; no part of the fingerprint

	template bool // an initial world, which runs begin with clones of

	cycle []int  // a closed wait cycle: nothing else moves before a victim is chosen; never changed in place
	woken []int  // sessions whose wait is over and that have not gone on; never changed in place
	panel *panel // the monitors; nil when there are none

	committed uint64 // CommittedFingerprint, when the backend has it
	changed   bool   // the state invariants have to be looked at again
	fatal     bool   // the step itself broke it, not the state that it led to
	broken    string // invariant that is violated; detail says why
	detail    string
	err       error // the run cannot go on

	// Of the last choice only.
	seen []string // witnesses
	feet *feet    // footprint; nil when nobody asks for it

	trace *recorder // nil when nothing is recorded
}

// hand is what a System needs while it makes a choice, and forgets after it. Worlds have the one of the System that made
// their last choice.
type hand struct {
	step     Step     // what monitors and the trace see
	asked    *pending // the request that the present step is about; nil when it is about none
	chosen   int32    // the value of a StepChoose
	yielding bool     // the present step is a deadlock's victim, and another of its cycle had a short lock_timeout
	tangled  bool     // a wait began or ended otherwise than by a wake-up: there may be a cycle
	acquired []Lock   // locks that the present step's statement acquired
	shown    uint64   // hash of what a Step shows of the reply, when databases are shared
	told     uint64   // hash of the events of the present step
	unread   bool     // a table was locked against the reader of an invariant
}

type actorStatus uint8

const (
	ready   actorStatus = iota // its request can be made
	blocked                    // its statement waits in the database
	asleep                     // until wakeAt
	ended                      // done, or crashed for good
)

type actor struct {
	at       *node // the graph's start when it crashed for good
	facts    *facts
	wakeAt   int64
	status   actorStatus
	tx       byte // as Reply.Tx
	restarts uint8
	lose     bool // the connection will be lost when the blocked statement completes
}

// err is what an actor that has ended has returned.
func (a *actor) err() error {
	switch {
	case a.status != ended:
		return nil
	case a.at.done:
		return a.at.err
	}
	return ErrCrashed
}

// Err says why the run could not go on; nil when it could. A violation is no such reason.
func (w *World) Err() error { return w.err }

func (w *World) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// breaks takes in a violation that the present step made, as a monitor or an actor's panic tells.
func (w *World) breaks(invariant, detail string) {
	if w.broken == "" {
		w.broken, w.detail, w.fatal = invariant, detail, true
	}
}

// begin starts the actor's code, in its first process or after a crash.
func (w *World) begin(i int) (events []Event) {
	a := &w.actors[i]
	*a = actor{at: w.graphs[i].start, tx: 'I', restarts: a.restarts, facts: a.facts}
	if a.facts == nil {
		a.facts = w.graphs[i].nothing
	}
	return w.deliver(i, &startObservation)
}

// deliver gives an observation to an actor, answers what needs no choice, and leaves it at its next request.
func (w *World) deliver(i int, o *observation) (events []Event) {
	a := &w.actors[i]
	w.told = 0
	for {
		e := a.at.answer(o)
		if e.err != nil {
			w.fail(e.err)
			return events
		}
		if len(e.events) > 0 {
			w.hear(a, e)
			if len(events) == 0 {
				events = e.events
			} else {
				events = append(append([]Event(nil), events...), e.events...)
			}
		}
		a.at = e.to
		if a.at.done {
			w.end(i)
			return events
		}
		a.status = ready
		switch ask := a.at.ask; ask.kind {
		case askNow:
			v := valueObservation(w.now)
			o = &v
			w.readClock()
			continue
		case askAttempt:
			v := valueObservation(int64(a.restarts))
			o = &v
			continue
		case askSleep:
			a.status, a.wakeAt = asleep, w.now+int64(ask.sleep)
			w.readClock()
		}
		return events
	}
}

// hear takes in what an actor told.
func (w *World) hear(a *actor, e *edge) {
	w.told = mix(w.told, e.full)
	if len(e.witnesses) > 0 {
		if len(w.seen) == 0 {
			w.seen = e.witnesses
		} else {
			w.seen = append(w.seen[:len(w.seen):len(w.seen)], e.witnesses...)
		}
	}
	if e.notes {
		w.changed = w.changed || w.stateful
		a.facts = a.facts.with(e)
	}
}

// end is the end of an actor: its connection is closed.
func (w *World) end(i int) {
	w.actors[i].status = ended
	err := w.actors[i].err()
	if !w.setup.Actors[i].Daemon {
		w.done++
	}
	w.changed = w.changed || w.stateful
	var p *PanicError
	if errors.As(err, &p) {
		w.breaks("no-panic", fmt.Sprintf("%s: %v\n%s", w.setup.Actors[i].Name, p, p.Stack))
	}
	if err := w.db.Close(i); err != nil {
		w.fail(err)
	}
	w.touchDatabase()
	w.touchEnd(i)
}

// look learns whether the committed state has changed. A backend that cannot tell has changed it.
func (w *World) look() {
	c, ok := w.db.(Cloner)
	if !ok {
		w.changed = true
		return
	}
	if now := c.CommittedFingerprint(); now != w.committed {
		w.committed, w.changed = now, true
	}
}

// Query is View's.
func (w *World) Query(sql string) (*Result, error) {
	r, err := w.db.Query(sql)
	var e *types.Error
	if err != nil && errors.As(err, &e) && e.Code == "55P03" {
		w.unread = true
	}
	return r, err
}

// Now is View's.
func (w *World) Now() time.Time { return time.Unix(0, w.now).UTC() }

// Done is View's.
func (w *World) Done(name string) (bool, error) {
	i := w.index(name)
	return w.actors[i].status == ended, w.actors[i].err()
}

// Fact is View's.
func (w *World) Fact(name, key string) (any, bool) {
	return w.actors[w.index(name)].facts.get(key)
}

// Facts is View's.
func (w *World) Facts(key string, see func(actor string, value any)) {
	for i := range w.actors {
		if value, ok := w.actors[i].facts.get(key); ok {
			see(w.setup.Actors[i].Name, value)
		}
	}
}

// Memo is View's.
func (w *World) Memo(key any, make func() any) any {
	if w.cloner == nil {
		return make()
	}
	return w.memos.get(key, w.committed, make)
}

func (w *World) index(name string) int {
	for i := range w.setup.Actors {
		if w.setup.Actors[i].Name == name {
			return i
		}
	}
	panic("sim: no actor is named " + name)
}
