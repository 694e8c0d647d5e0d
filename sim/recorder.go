package sim

import "slices"

// recorder writes the trace of a run. Its memory is used again by the next run of its System.
type recorder struct {
	Trace
	locks []Lock   // what Steps[i].Acquired are parts of
	open  []openOp // operations that have not returned
}

type openOp struct {
	actor, op int
	at        int // index in History
	waits     bool
}

// record returns the recorder for a new run.
func (s *System) record(w *World) *recorder {
	r := s.recorder
	if r == nil {
		r = &recorder{}
		for _, a := range s.setup.Actors {
			r.Actors = append(r.Actors, a.Name)
		}
		s.recorder = r
	}
	r.Steps, r.History, r.locks, r.open = r.Steps[:0], r.History[:0], r.locks[:0], r.open[:0]
	r.Final, r.Cut = w, false
	return r
}

// Trace returns the recorded trace, nil when nothing is recorded. It is good until the System starts another run; Clone
// keeps it.
func (w *World) Trace() *Trace {
	if !w.recording() {
		return nil
	}
	t := w.trace.Trace
	t.History = nil
	for _, op := range w.trace.History {
		if op.Call >= 0 { // an operation whose first step never ran has not been called
			t.History = append(t.History, op)
		}
	}
	return &t
}

// Clone returns a copy that later runs do not touch, with the digests of its steps.
func (t *Trace) Clone() *Trace {
	c := *t
	c.Steps = append([]Step(nil), t.Steps...)
	for i := range c.Steps {
		c.Steps[i].Acquired = append([]Lock(nil), c.Steps[i].Acquired...)
		c.Steps[i].Digest = c.Steps[i].digest()
	}
	c.History = append([]HistoryOp(nil), t.History...)
	c.Final = nil
	return &c
}

// recording says that the recorder is still this world's: another run takes it.
func (w *World) recording() bool { return w.trace != nil && w.trace.Final == View(w) }

// watch makes the Step of what just happened, for monitors and for the trace.
func (w *World) watch(i int, kind StepKind, eager bool, reply *Reply, events []Event, changed bool) {
	recording := w.recording()
	var key uint64
	if w.panels != nil && w.panel != nil {
		key = w.stepKey(i, kind, eager, changed)
		if !recording {
			if e := w.panel.after.find(key); e != nil {
				w.turn(e)
				return
			}
		}
	}
	s := &w.step
	*s = Step{Choice: w.steps - 1, Kind: kind, Eager: eager, Actor: i, Now: w.Now(), Reply: *reply, Events: events, Changed: changed}
	if i >= 0 {
		s.Name = w.names[i][kind]
		a := &w.actors[i]
		s.Done, s.Err = a.status == ended, a.err()
	} else {
		s.Name = "clock"
	}
	s.Yielding = kind == StepVictim && w.yielding
	switch {
	case w.asked == nil:
	case w.asked.kind == askSQL:
		s.SQL, s.Args, s.Bounded, s.Acquired = w.asked.req.SQL, w.asked.req.Args, w.asked.bounded(), w.acquired
	case kind == StepChoose:
		s.Name = w.chooseName(i, w.asked, w.chosen)
	}
	if recording {
		w.trace.add(s)
	}
	if changed {
		s.Committed = w
	}
	switch {
	case w.panel == nil:
	case key == 0:
		w.judgeStep(s)
	default:
		e := w.panel.after.find(key)
		if e == nil {
			e = w.panels.step(w.panel, key, s)
		}
		w.turn(e)
	}
	if recording && w.setup.Observe != nil {
		s.Versions, _ = w.db.(RowVersions)
		w.setup.Observe(s)
	}
}

// acquire takes in the locks that the actor's statement has just acquired.
func (w *World) acquire(i int) {
	w.acquired = nil
	b := w.shared()
	if b != nil {
		w.shown = b.last.shown
	}
	switch recording := w.recording(); {
	case !w.tracks || !recording && !w.lockMonitors:
	case b != nil:
		w.acquired = b.last.locks
	case recording:
		w.acquired = w.trace.lock(w.db.(LockTracker).Acquired(i))
	default:
		w.acquired = append([]Lock(nil), w.db.(LockTracker).Acquired(i)...)
	}
}

// lock keeps locks for the run.
func (r *recorder) lock(locks []Lock) []Lock {
	from := len(r.locks)
	r.locks = append(r.locks, locks...)
	return r.locks[from:len(r.locks):len(r.locks)]
}

func (r *recorder) add(s *Step) {
	s.Index = len(r.Steps)
	r.Steps = append(r.Steps, *s)
	r.history(s)
}

// history takes in the operations that the step called and returned. An operation is called with the actor's first step
// after Op, since what the actor does by itself before that concerns nobody.
func (r *recorder) history(s *Step) {
	for i := range r.open {
		if o := &r.open[i]; o.waits && o.actor == s.Actor {
			o.waits = false
			r.History[o.at].Call = 2 * s.Index
		}
	}
	if s.Kind == StepCrash {
		r.forget(s.Actor)
	}
	r.told(s.Actor, s.Index, s.Events)
	if s.Done {
		r.forget(s.Actor)
	}
}

// told takes in events; step is the one after which they were told, -1 at the start.
func (r *recorder) told(actor, step int, events []Event) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case EventCall:
			// A Checkpoint numbers operations anew: one of this number that never returned does not any more.
			r.open = slices.DeleteFunc(r.open, func(o openOp) bool { return o.actor == actor && o.op == e.Op })
			r.open = append(r.open, openOp{actor: actor, op: e.Op, at: len(r.History), waits: true})
			r.History = append(r.History, HistoryOp{Actor: actor, Name: e.Name, Input: e.Value, Call: -1, Indeterminate: true})
		case EventReturn:
			for k, o := range r.open {
				if o.actor != actor || o.op != e.Op {
					continue
				}
				h := &r.History[o.at]
				h.Output, h.Return, h.Indeterminate = e.Value, 2*step+1, false
				if o.waits {
					h.Call = h.Return
				}
				r.open = append(r.open[:k], r.open[k+1:]...)
				break
			}
		}
	}
}

// forget drops the open operations of an actor whose process is no more: they stay indeterminate.
func (r *recorder) forget(actor int) {
	kept := r.open[:0]
	for _, o := range r.open {
		if o.actor != actor {
			kept = append(kept, o)
		}
	}
	r.open = kept
}

// digest covers everything that a reader of the trace can see, but for the step's own number.
func (s *Step) digest() uint64 {
	h := mix(mix(51, uint64(s.Kind)), uint64(s.Actor+1)|b2u(s.Eager)<<32|b2u(s.Done)<<33|b2u(s.Reply.Blocked)<<34)
	h = mix(h, uint64(s.Now.UnixNano()))
	h = hashString(h, s.SQL)
	for _, a := range s.Args {
		h = hashAny(h, a)
	}
	h = mix(h, hashReply(&s.Reply))
	for _, by := range s.Reply.By {
		h = mix(h, uint64(by))
	}
	for _, e := range s.Events {
		h = hashAny(hashString(mix(h, uint64(e.Kind)), e.Name), e.Value)
	}
	if s.Err != nil {
		h = hashString(h, s.Err.Error())
	}
	return h
}
