package sim

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A panel is the monitors of a world as one state. When databases are shared, panels are too, and never changed: a panel
// remembers what it became with each step that it has seen, so that monitors run once for each step that is new to them.
// Steps are told apart by a hash of all that a Step shows. Otherwise each world has a panel of its own.
type panel struct {
	monitors []Monitor
	hashes   []uint64 // of each; nil when the panel is one world's own
	after    table[panelEdge, *panelEdge]
}

// hash is the hash of monitor k.
func (m *panel) hash(k int) uint64 {
	if m.hashes != nil {
		return m.hashes[k]
	}
	return m.monitors[k].Hash()
}

// panelEdge is what a panel becomes with a step.
type panelEdge struct {
	key   uint64
	to    *panel
	first int // the first monitor that finds something, -1 when none does
	why   string
}

func (e *panelEdge) tableKey() uint64 { return e.key }

// panels has the panels that worlds share, by their hashes.
type panels struct {
	plan  *plan
	first atomic.Pointer[panel] // where runs begin
	mu    sync.Mutex
	known map[uint64]*panel
	edges int
}

// panelMax bounds the edges that are kept; when there are more, all is forgotten. Worlds keep the panels that they have.
const panelMax = 1 << 20

// newPanel makes the monitors of a run.
func (p *plan) newPanel() *panel {
	out := &panel{monitors: make([]Monitor, len(p.monitored))}
	for k, i := range p.monitored {
		out.monitors[k] = p.setup.Invariants[i].Monitor()
	}
	return out
}

// firstPanel returns the monitors that a run begins with, nil when the setup has none.
func (p *plan) firstPanel() *panel {
	switch {
	case len(p.monitored) == 0:
		return nil
	case p.panels == nil:
		return p.newPanel()
	}
	if first := p.panels.first.Load(); first != nil {
		return first
	}
	first := p.panels.intern(p.newPanel())
	p.panels.first.Store(first)
	return first
}

// judge shows a step to the monitors of a world of its own.
func (w *World) judgeStep(s *Step) {
	for k, m := range w.panel.monitors {
		w.unread = false
		next, why := m.Step(s)
		w.panel.monitors[k] = next
		if w.prints {
			w.touchMonitor(k, m.Hash() != next.Hash())
		}
		if why != "" && !w.unread {
			w.breaks(w.setup.Invariants[w.monitored[k]].Name, why)
		}
	}
}

// turn takes in what came of showing a step to the monitors.
func (w *World) turn(e *panelEdge) {
	if w.prints {
		for k, h := range w.panel.hashes {
			w.touchMonitor(k, h != e.to.hashes[k])
		}
	}
	w.panel = e.to
	if e.first >= 0 {
		w.breaks(w.setup.Invariants[w.monitored[e.first]].Name, e.why)
	}
}

// step shows a step, which has the key, to the monitors of m, and keeps what comes of it.
func (c *panels) step(m *panel, key uint64, s *Step) *panelEdge {
	next := &panel{monitors: slices.Clone(m.monitors)}
	e := &panelEdge{key: key, first: -1}
	for k := range next.monitors {
		var why string
		if next.monitors[k], why = m.monitors[k].Step(s); why != "" && e.first < 0 {
			e.first, e.why = k, why
		}
	}
	e.to = c.intern(next)
	known := m.after.add(e)
	if known == e {
		c.count()
	}
	return known
}

// count takes in that an edge was made.
func (c *panels) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.edges++; c.edges > panelMax {
		c.edges, c.known = 0, nil
		c.first.Store(nil)
	}
}

// intern returns the one panel that has the hashes of m.
func (c *panels) intern(m *panel) *panel {
	h := uint64(0)
	m.hashes = make([]uint64, len(m.monitors))
	for k := range m.monitors {
		m.hashes[k] = m.monitors[k].Hash()
		h = mix(h, m.hashes[k])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[h]; known != nil {
		return known
	}
	if c.known == nil {
		c.known = map[uint64]*panel{}
	}
	c.known[h] = m
	return m
}

// stepKey is a hash of all that the Step of what just happened shows, but for numbers of steps.
func (w *World) stepKey(i int, kind StepKind, eager, changed bool) uint64 {
	h := mix(uint64(kind)|uint64(i+1)<<8|b2u(eager)<<40|b2u(changed)<<41|b2u(w.yielding && kind == StepVictim)<<42, uint64(w.now))
	h = mix(mix(h, w.shown), w.told)
	switch asked := w.asked; {
	case asked == nil:
	case asked.kind == askSQL:
		h = mix(h, asked.req.hash^uint64(asked.lockTimeout)^uint64(asked.statementTimeout)<<2)
	case kind == StepChoose:
		h = hashString(mix(h, uint64(w.chosen)), asked.name)
	}
	if i >= 0 && w.actors[i].status == ended {
		h = mix(h, w.actors[i].at.hash)
	}
	if changed {
		h = mix(h, w.readable()) // Committed is a View
	}
	return max(h, 1)
}
