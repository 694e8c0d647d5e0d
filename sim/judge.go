package sim

import (
	"fmt"
	"strings"
	"sync"

	"simrun/scheduler"
)

// CouldNotRun is the name under which a state is reported whose run cannot go on; World.Err says why.
const CouldNotRun = "could-not-run"

// complete says that every actor that is no daemon has ended.
func (w *World) complete() bool { return w.done == w.required && w.required > 0 }

// Status is scheduler.Judge's.
func (s *System) Status(w *World) scheduler.Status {
	if w.complete() {
		return scheduler.Completed
	}
	return scheduler.Stuck
}

// Witnesses is scheduler.Judge's.
func (s *System) Witnesses(w *World, buf []string) []string { return append(buf, w.seen...) }

// Violation is scheduler.Judge's: what a monitor found in the step that led here, then the state's own invariants, and at the
// end of a run those of the end and, when the run is recorded, of the whole run.
func (s *System) Violation(w *World) (invariant, detail string) {
	if w.err == nil && w.broken == "" && w.changed {
		w.changed = false
		w.judge(s.always, 0)
	}
	if w.err == nil && w.broken == "" && w.complete() {
		w.judge(s.quiescent, 1)
		s.JudgeRun(w)
	}
	if w.err != nil {
		return CouldNotRun, w.err.Error()
	}
	return w.broken, w.detail
}

// JudgeRun checks the WholeRun invariants on the recorded trace of a run that is over or was cut. It is called by Violation
// for a run in which every actor ended.
func (s *System) JudgeRun(w *World) (invariant, detail string) {
	if w.recording() && w.broken == "" && w.err == nil && len(s.wholeRun) > 0 {
		t := w.Trace()
		for _, i := range s.wholeRun {
			if why := s.setup.Invariants[i].Run(t); why != "" {
				w.broken, w.detail = s.setup.Invariants[i].Name, why
				break
			}
		}
	}
	return w.broken, w.detail
}

// judge checks invariants on the present state. Verdicts are kept by all that the invariants can read.
func (w *World) judge(which []int, salt uint64) {
	if len(which) == 0 {
		return
	}
	var key uint64
	if w.cloner != nil {
		key = w.reads64(salt)
		if v, ok := w.verdicts.get(key); ok {
			if v != nil {
				w.broken, w.detail = v.invariant, v.detail
			}
			return
		}
	}
	var found *verdict
	for _, i := range which {
		inv := &w.setup.Invariants[i]
		w.unread = false
		detail, err := w.check(inv)
		if w.unread {
			w.postpone(inv)
			continue
		}
		if err != nil {
			w.fail(fmt.Errorf("invariant %s: %w", inv.Name, err))
			return
		}
		if detail != "" {
			found = &verdict{inv.Name, detail}
			w.broken, w.detail = inv.Name, detail
			break
		}
	}
	if w.cloner != nil && w.err == nil {
		w.verdicts.put(key, found)
	}
}

// postpone leaves an invariant that cannot be read now to the next state: on a server alone, while somebody has a table locked
// against readers.
func (w *World) postpone(inv *Invariant) {
	w.changed = true
	if inv.Kind == Quiescent {
		w.fail(fmt.Errorf("invariant %s: at the end of the run a daemon has a table locked against readers (55P03), so that nobody can say "+
			"whether it holds; with --backend both the model can", inv.Name))
	}
}

// reads64 is a hash of all that state invariants can read.
func (w *World) reads64(salt uint64) uint64 {
	if w.stateful {
		return mix(w.readable(), salt)
	}
	return mix(w.committed, salt)
}

// readable is a hash of all that a View shows.
func (w *World) readable() uint64 {
	h := mix(w.committed, uint64(w.now))
	for i := range w.actors {
		a := &w.actors[i]
		h = mix(h, a.facts.hash)
		if a.status == ended {
			h = mix(h, 43)
			if err := a.err(); err != nil {
				h = hashString(h, err.Error())
			}
		}
	}
	return h
}

func (w *World) check(inv *Invariant) (string, error) {
	if inv.Check != nil {
		return inv.Check(w), nil
	}
	res, err := w.Query(inv.SQL)
	if err != nil {
		return "", err
	}
	return violating(res), nil
}

// violating says which rows an invariant's query returned: the first in full, and how many there are.
func violating(res *Result) string {
	if len(res.Rows) == 0 {
		return ""
	}
	var b strings.Builder
	for i, v := range res.Rows[0] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(res.Fields[i].Name + " = ")
		if v.Valid {
			b.Write(textOf(v))
		} else {
			b.WriteString("NULL")
		}
	}
	if n := len(res.Rows) - 1; n > 0 {
		fmt.Fprintf(&b, " (and %d more)", n)
	}
	return b.String()
}

// verdict is a violation; a nil verdict is none.
type verdict struct{ invariant, detail string }

// cacheMax bounds the caches of verdicts and memos; a full one is emptied.
const cacheMax = 1 << 18

type verdicts struct {
	mu sync.RWMutex
	m  map[uint64]*verdict
}

func (c *verdicts) init() { c.m = map[uint64]*verdict{} }

func (c *verdicts) get(key uint64) (*verdict, bool) {
	c.mu.RLock()
	v, ok := c.m[key]
	c.mu.RUnlock()
	return v, ok
}

func (c *verdicts) put(key uint64, v *verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= cacheMax {
		clear(c.m)
	}
	c.m[key] = v
}

type memoKey struct {
	key       any
	committed uint64
}

type memos struct {
	mu sync.RWMutex
	m  map[memoKey]any
}

func (c *memos) init() { c.m = map[memoKey]any{} }

func (c *memos) get(key any, committed uint64, make func() any) any {
	k := memoKey{key, committed}
	c.mu.RLock()
	v, ok := c.m[k]
	c.mu.RUnlock()
	if ok {
		return v
	}
	v = make()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= cacheMax/8 {
		clear(c.m)
	}
	c.m[k] = v
	return v
}
