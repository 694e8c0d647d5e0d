package postgres

import (
	"fmt"
	"slices"
	"time"

	"simrun/sim"
)

// A backend looks for deadlocks when deadlock_timeout has passed since it began to wait, and is to be stopped before that (see
// hold), since whom a deadlock ends is the schedule's choice. On a machine that is busy it may come first all the same. The model
// tells: it has a deadlock where the server has none any more. Then the run so far is done once more on the server, with a
// deadlock_timeout that is longer.

// maxPatience is the longest deadlock_timeout that is tried.
const maxPatience = 8 * time.Second

// call is something that was asked of the server in a run, with what the model answered.
type call struct {
	session int
	do      func(*Backend) (sim.Reply, error)
	victim  bool // it ends the statement of a deadlock's victim
	blocked bool
	failed  string // SQLSTATE
	soft    bool   // it closed a cycle that a look for deadlocks opens again by changing the order of a queue
}

// ask asks something of the server that the model has answered.
func (p *Pair) ask(c call, model sim.Reply) (sim.Reply, error) {
	c.blocked, c.failed = model.Blocked, codeOf(model)
	r, err := c.do(p.server)
	if err == nil && c.blocked && r.Blocked && (len(p.model.Deadlock()) == 0 || !slices.Equal(r.By, model.By)) && slices.Contains(p.server.Deadlock(), c.session) {
		// As all backends that wait are held before they look, one is let go to do it.
		c.soft = true
		r, err = p.server.rearrange(c.session)
	}
	p.calls = append(p.calls, c)
	for err == nil && p.hasty(c, r) && p.server.patience < maxPatience {
		r, err = p.redo()
	}
	return r, err
}

func codeOf(r sim.Reply) string {
	if r.Err == nil {
		return ""
	}
	return r.Err.Code
}

// hasty reports whether a backend has looked for deadlocks before it was let.
func (p *Pair) hasty(c call, r sim.Reply) bool {
	switch {
	case !p.Gated():
		return false
	case c.victim:
		return c.failed == "40P01" && codeOf(r) != c.failed
	}
	return c.blocked && len(p.model.Deadlock()) > 0 && (!r.Blocked || len(p.server.Deadlock()) == 0)
}

// redo does the run anew on the server, more patiently, and returns the answer to the last call.
func (p *Pair) redo() (r sim.Reply, err error) {
	p.server.patience *= 4
	p.redone++
	if err := p.server.Reset(); err != nil {
		return r, err
	}
	for i, c := range p.calls {
		if r, err = c.do(p.server); err == nil && c.soft {
			r, err = p.server.rearrange(c.session)
		}
		if err != nil {
			return r, err
		}
		if i < len(p.calls)-1 && (r.Blocked != c.blocked || codeOf(r) != c.failed) && p.server.patience < maxPatience {
			return p.redo()
		}
	}
	return r, nil
}

// rearrange lets a backend look for a deadlock that it breaks by changing the order of a queue: then it waits for others, or goes on.
func (b *Backend) rearrange(index int) (sim.Reply, error) {
	s := b.session(index)
	before, err := b.blockers(s)
	if err != nil {
		return sim.Reply{}, err
	}
	b.letGo(s)
	for begun := time.Now(); time.Since(begun) < hopeless; {
		done, err := s.proceed(time.Millisecond)
		if err != nil {
			return sim.Reply{}, err
		}
		if done {
			return b.answered(s), nil
		}
		now, err := b.blockers(s)
		if err != nil {
			return sim.Reply{}, err
		}
		looked := time.Since(begun) > 2*b.patience && !slices.Contains(b.Deadlock(), index) // another one was moved up
		if looked || !slices.Equal(before[0], now[0]) {
			r, err := b.resume(index, expectNothing)
			s.looked = looked && r.Blocked
			return r, err
		}
	}
	return sim.Reply{}, fmt.Errorf("session %d does not look for deadlocks", index)
}
