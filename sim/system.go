package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"simrun/scheduler"
)

// Epoch is the simulated time at which every run begins.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Options say how a System runs.
type Options struct {
	// Lazy makes every wake-up a choice of its own, so that others may run between the end of a wait and what the woken
	// statement does next. Otherwise a woken statement goes on at once, and only the order of several is a choice.
	Lazy bool
	// Record keeps the trace of each run, which WholeRun invariants need. Copies of a world record nothing.
	Record bool
	// Locks has the trace tell the locks that each step acquired, when the backend can, also when no invariant needs them.
	Locks bool
	// Share keeps the databases and the steps between them, for all worlds: for searches, and for runs of small scenarios. It
	// has no effect on a backend that cannot be copied.
	Share bool
	// Footprints has Footprint tell what a step touched, when the backend can; otherwise each step conflicts with all others.
	Footprints bool
	// Symmetry gives worlds that differ only in which of several actors of one Kind is in which condition one fingerprint: for
	// searches on the model, of setups without monitors.
	Symmetry bool
	// AtEnds leaves out the invariants that are judged on the way (Always, Monitored), and footprints do not order steps for their
	// sake: for those who judge them otherwise, as a search through all states does.
	AtEnds bool
}

// System makes the worlds of a setup on a backend: it is a scheduler.System. A System is used by one goroutine; Fork gives
// another one its own. What actors did at each control state is shared by all forks.
type System struct {
	*plan
	free     []*World  // released, to be used again
	begun    []*World  // the initial worlds, with which runs begin
	choices  int       // made since databases were last shared anew
	recorder *recorder // of the last recorded run
	hand     hand
}

// plan is what all forks of a System share. It is not changed after NewSystem, but for the caches, which are safe to share.
type plan struct {
	setup        *Setup
	opts         Options
	backend      Backend // of a Cloner the state that runs begin with; otherwise the one that runs share
	cloner       Cloner  // the same, or nil
	pristine     Cloner  // the database that cloner shares at first; nil when it shares none
	sharedMax    int64
	graphs       []*graph
	required     int  // actors that are no daemons
	tracks       bool // the backend tells acquired locks
	prints       bool // the backend tells footprints
	daemons      bool // there is a daemon
	histories    bool // ... and they order steps for invariants that are judged on histories
	monitored    []int
	always       []int
	quiescent    []int
	wholeRun     []int
	stateful     bool                // an Always or Quiescent invariant reads more than committed data
	watched      bool                // someone wants the Steps
	clocked      bool                // the schema asks for the time
	needLocks    bool                // a WholeRun invariant reads the acquired locks
	lockMonitors bool                // a monitor reads the acquired locks
	names        [][stepKinds]string // of each actor's choices, but for StepChoose
	budgets      [faultKinds]uint8
	kinds        [][]int // with Options.Symmetry: the actors of each kind of which there are several
	panels       *panels // of worlds that share them; nil when each has its own
	verdicts     verdicts
	memos        memos
}

var (
	_ scheduler.System[*World]      = (*System)(nil)
	_ scheduler.Judge[*World]       = (*System)(nil)
	_ scheduler.Footprinter[*World] = (*System)(nil)
	_ scheduler.Tracker             = (*System)(nil)
	_ scheduler.Forker[*World]      = (*System)(nil)
	_ scheduler.Releaser[*World]    = (*System)(nil)
	_ scheduler.Fair                = (*System)(nil)
)

// NewSystem prepares the worlds of setup. backend has the setup's schema and seed; the System owns it from now on.
func NewSystem(setup *Setup, backend Backend, opts Options) (*System, error) {
	p := &plan{setup: setup, opts: opts, backend: backend}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.cloner, _ = backend.(Cloner)
	for i := range setup.Actors {
		p.graphs = append(p.graphs, newGraph(&setup.Actors[i], opts.Symmetry))
		if !setup.Actors[i].Daemon {
			p.required++
		}
		p.daemons = p.daemons || setup.Actors[i].Daemon
	}
	if t, ok := backend.(LockTracker); ok && (opts.Record && (opts.Locks || p.needLocks) || p.lockMonitors) {
		t.Track(true)
		p.tracks = true
	}
	if f, ok := backend.(Footprinter); ok && opts.Footprints {
		f.TrackFootprints(true)
		p.prints, p.histories = true, len(p.wholeRun) > 0
	}
	for _, a := range setup.Actors {
		var names [stepKinds]string
		for k := range names {
			names[k] = kindNames[k] + a.Name
		}
		p.names = append(p.names, names)
	}
	for k := range p.budgets {
		p.budgets[k] = uint8(min(setup.Faults.budget(fault(k)), math.MaxUint8))
	}
	if opts.Symmetry {
		var err error
		if p.kinds, err = p.kindsOf(); err != nil {
			return nil, err
		}
	}
	p.verdicts.init()
	p.memos.init()
	s := &System{plan: p}
	if p.cloner != nil {
		if err := p.open(backend); err != nil {
			return nil, err
		}
		if opts.Share {
			p.pristine, p.sharedMax = p.cloner, sharedMax
			p.share()
		}
	}
	return s, nil
}

// share has worlds share the databases that they come to from now on.
func (p *plan) share() {
	p.cloner = share(p.pristine.Clone().(Cloner), p.setup.Actors, p.tracks, p.prints)
	p.backend, p.panels = p.cloner, &panels{plan: p}
}

// unshare gives each world a database of its own again.
func (p *plan) unshare() {
	p.cloner, p.backend, p.pristine, p.panels = p.pristine, p.pristine, nil, nil
}

func (p *plan) check() error {
	names := map[string]bool{}
	for _, a := range p.setup.Actors {
		if a.Name == "" || a.Run == nil || names[a.Name] {
			return fmt.Errorf("sim: actor %q needs a name of its own and a Run function", a.Name)
		}
		names[a.Name] = true
	}
	for i, inv := range p.setup.Invariants {
		given := 0
		for _, set := range []bool{inv.SQL != "", inv.Check != nil, inv.Monitor != nil, inv.Run != nil} {
			if set {
				given++
			}
		}
		state := inv.SQL != "" || inv.Check != nil
		if p.opts.AtEnds && (inv.Kind == Always || inv.Kind == Monitored) {
			continue
		}
		switch {
		case given != 1:
			return fmt.Errorf("sim: invariant %s needs exactly one of SQL, Check, Monitor and Run", inv.Name)
		case inv.Kind == Always && state:
			p.always = append(p.always, i)
		case inv.Kind == Quiescent && state:
			p.quiescent = append(p.quiescent, i)
		case inv.Kind == Monitored && inv.Monitor != nil:
			p.monitored = append(p.monitored, i)
		case inv.Kind == WholeRun && inv.Run != nil:
			p.wholeRun = append(p.wholeRun, i)
		default:
			return fmt.Errorf("sim: invariant %s is of a kind that does not go with what it is given", inv.Name)
		}
		p.stateful = p.stateful || inv.Check != nil
		p.needLocks = p.needLocks || inv.NeedsLocks
		p.lockMonitors = p.lockMonitors || inv.NeedsLocks && inv.Kind == Monitored
	}
	p.clocked = asksTime(p.setup.Schema)
	p.watched = p.opts.Record || len(p.monitored) > 0
	return nil
}

// open starts the session of each actor.
func (p *plan) open(db Backend) error {
	if err := db.SetNow(Epoch); err != nil {
		return err
	}
	for i, a := range p.setup.Actors {
		if err := db.Open(i, a); err != nil {
			return fmt.Errorf("session of %s: %w", a.Name, err)
		}
	}
	return nil
}

// Setup returns what the worlds are made of.
func (s *System) Setup() *Setup { return s.setup }

// Fork is scheduler.Forker's.
func (s *System) Fork() scheduler.System[*World] { return &System{plan: s.plan} }

// Initial is scheduler.System's: one world, in which each actor stands before its first request.
func (s *System) Initial() []*World {
	w := s.start()
	w.template = true
	s.begun = append(s.begun, w)
	return []*World{w}
}

// ControlStates returns how many control states the actors have been seen in.
func (s *System) ControlStates() int {
	n := int64(0)
	for _, g := range s.graphs {
		n += g.size.Load()
	}
	return int(n)
}

// Close ends the coroutines of actors that stand somewhere and wait for a run to come by. Worlds must not be used any more. The backend
// is not the System's to shut down.
func (s *System) Close() {
	for _, g := range s.graphs {
		g.stop()
	}
}

// controlMax is how many control states of an actor are kept from run to run.
const controlMax = 1 << 17

// sharedMax is how many requests of shared databases are kept from run to run: some 100 MB at most.
const sharedMax = 1 << 16

// Trim forgets what actors and shared databases have too much of: control states, and requests. When few of the requests had been
// made before, databases are no longer shared, as keeping them costs more than it saves. Worlds that exist stay valid; to be called
// between runs, by the one who runs them all.
func (s *System) Trim() {
	trimmed := false
	for i, g := range s.graphs {
		if g.size.Load() > controlMax || g.sets() > controlMax {
			g.stop()
			s.graphs[i] = newGraph(g.spec, s.opts.Symmetry)
			trimmed = true
		}
	}
	if s.pristine != nil && s.cloner.(*shared).graph.made.Load() > s.sharedMax {
		if int64(s.choices) < 2*s.sharedMax {
			s.unshare()
		} else {
			s.share()
		}
		s.choices, trimmed = 0, true
	}
	if !trimmed {
		return
	}
	for _, w := range s.begun { // they hold on to what was forgotten
		first := s.start()
		*w = *first
		w.template = true
		if s.cloner != nil {
			w.copyDB(first.db.(Cloner))
		}
	}
}

// start makes a world at the beginning of a run. A backend that cannot be copied is reset.
func (s *System) start() *World {
	w := s.blank()
	*w = World{plan: s.plan, hand: &s.hand, actors: w.actors, feet: w.feet}
	clear(w.actors)
	w.now = Epoch.UnixNano()
	w.changed = true
	if s.cloner != nil {
		w.copyDB(s.cloner)
	} else {
		w.db = s.backend
		if err := w.db.Reset(); err != nil {
			w.fail(err)
			return w
		}
		if err := s.open(w.db); err != nil {
			w.fail(err)
			return w
		}
	}
	w.panel = s.firstPanel()
	if s.opts.Record {
		w.trace = s.record(w)
	}
	for i := range w.actors {
		events := w.begin(i)
		if w.trace != nil {
			w.trace.told(i, -1, events)
		}
	}
	w.look()
	return w
}

// blank returns a world of the right shape, with anything in it.
func (s *System) blank() *World {
	if n := len(s.free); n > 0 {
		w := s.free[n-1]
		s.free = s.free[:n-1]
		return w
	}
	box := new(worldBox)
	w := &box.World
	if n := len(s.setup.Actors); n <= len(box.room) {
		w.actors = box.room[:n:n]
	} else {
		w.actors = make([]actor, n)
	}
	if s.prints {
		w.feet = &feet{}
	}
	return w
}

// worldBox is a World with room for its actors.
type worldBox struct {
	World
	room [6]actor
}

// copyDB gives the world a copy of a database.
func (w *World) copyDB(db Cloner) {
	if b, ok := db.(*shared); ok {
		w.spot = *b
		w.db = &w.spot
		return
	}
	w.db = db.Clone()
}

// shared returns the world's database if it is a shared one, else nil.
func (w *World) shared() *shared {
	if w.spot.graph == nil {
		return nil
	}
	return &w.spot
}

// Clone is scheduler.System's. A clone of an initial world begins a run, with a trace when runs are recorded; other clones have
// none. On a backend that cannot be copied only an initial world can be cloned: the backend is reset.
func (s *System) Clone(w *World) *World {
	switch {
	case w.template && (s.opts.Record || s.cloner == nil):
		return s.start()
	case s.cloner == nil:
		panic("sim: a world on this backend cannot be copied")
	}
	c := s.blank()
	actors, feet := c.actors, c.feet
	*c = *w
	c.actors, c.feet = actors, feet
	copy(c.actors, w.actors)
	c.seen, c.trace, c.template = nil, nil, false
	if s.panels == nil && c.panel != nil {
		c.panel = &panel{monitors: slices.Clone(w.panel.monitors)}
	}
	c.copyDB(w.db.(Cloner))
	return c
}

// freeMax bounds how many released worlds are kept.
const freeMax = 1 << 12

// Release is scheduler.Releaser's.
func (s *System) Release(w *World) {
	if s.cloner == nil || len(s.free) >= freeMax {
		return
	}
	w.db, w.spot, w.panel, w.trace = nil, shared{}, nil, nil
	s.free = append(s.free, w)
}

// Fingerprint is scheduler.System's: the database, the actors' control states, the clock, monitors, facts and budgets.
func (s *System) Fingerprint(w *World) uint64 {
	var h uint64
	if s.kinds != nil {
		h = mix(s.symmetric(w), uint64(w.now))
	} else {
		h = mix(w.db.(Cloner).Fingerprint(), uint64(w.now))
		for i := range w.actors {
			h = w.actors[i].hash(h)
		}
	}
	if w.panel != nil {
		for k := range w.panel.monitors {
			h = mix(h, w.panel.hash(k))
		}
	}
	for _, n := range w.used {
		h = h*31 + uint64(n)
	}
	if w.err != nil || w.fatal {
		h = hashString(mix(h, 61), w.broken) // a step that ends the run, seen from other steps to the same data
	}
	return scheduler.Mix(h)
}

// hash folds an actor into h, but for its session.
func (a *actor) hash(h uint64) uint64 {
	h = mix(h, a.at.hash)
	h = mix(h, uint64(a.status)|uint64(a.restarts)<<8|b2u(a.lose)<<16)
	if a.status == asleep {
		h = mix(h, uint64(a.wakeAt))
	}
	if a.facts.hash != 0 {
		h = mix(h, a.facts.hash)
	}
	return h
}

// Fair is scheduler.Fair's: faults may never happen.
func (s *System) Fair(c scheduler.Choice) bool {
	switch StepKind(c.Kind) {
	case StepRun, StepWake, StepVictim, StepClock, StepChoose:
		return true
	}
	return false
}
