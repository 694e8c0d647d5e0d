package invariants

import (
	"fmt"
	"slices"
	"strings"

	"simrun/sim"
)

// LockOrder says that all transactions of a run acquire locks in an order that cannot deadlock, also when this run did not.
// It learns which lock each transaction acquired while it held which others, and looks for a cycle of such edges between
// different actors in which each wanted lock conflicts with the next one's held lock. As in GoodLock (Havelund, "Using
// runtime analysis to guide model checking of Java programs", 2000; Bensalem and Havelund, 2005) a cycle is no finding when two of
// its transactions hold conflicting locks on a third object at those moments, because then they cannot be there together.
// A lock that is only tried for, or waited for under lock_timeout, waits for nobody for long, so it closes no cycle.
// It needs the backend to tell the locks acquired, and holds where there are none.
func LockOrder() sim.Invariant {
	return sim.Invariant{
		Name: "LockOrder", Kind: sim.WholeRun,
		Doc: "the locks of all transactions are acquired in an order that cannot deadlock",
		Run: func(t *sim.Trace) string { return findCycle(lockEdges(t)) }, NeedsLocks: true,
	}
}

// held is a lock that a transaction holds, with the step that acquired it.
type held struct {
	lock *sim.Lock
	step *sim.Step
}

// lockEdge says that a transaction acquired to while it held from, and all of guards (from included).
type lockEdge struct {
	actor    int
	from, to held
	guards   []held
}

// lockEdges learns the edges between contended locks: those that two actors acquired in conflicting modes. Others cannot be
// part of a cycle, and are most.
func lockEdges(t *sim.Trace) []lockEdge {
	contended := contendedObjects(t)
	if len(contended) < 1 {
		return nil
	}
	holds := make([][]held, len(t.Actors))
	var edges []lockEdge
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Actor < 0 {
			continue
		}
		mine := holds[s.Actor]
		for k := range s.Acquired {
			l := &s.Acquired[k]
			if !contended[objectOf(l)] {
				continue
			}
			to := held{l, s}
			if !l.Try && !s.Bounded {
				for _, from := range mine {
					edges = append(edges, lockEdge{s.Actor, from, to, mine})
				}
			}
			mine = append(mine[:len(mine):len(mine)], to)
		}
		if !s.Reply.Blocked && s.Reply.Tx != 'T' {
			mine = nil // the transaction is over, or aborted and holds nothing any more
		}
		holds[s.Actor] = mine
	}
	return edges
}

type object struct{ class, name string }

func objectOf(l *sim.Lock) object { return object{l.Class, l.Object} }

func contendedObjects(t *sim.Trace) map[object]bool {
	type use struct {
		actor int
		lock  *sim.Lock
	}
	uses := map[object][]use{}
	contended := map[object]bool{}
	for i := range t.Steps {
		s := &t.Steps[i]
	next:
		for k := range s.Acquired {
			l := &s.Acquired[k]
			o := objectOf(l)
			if contended[o] {
				continue
			}
			for _, u := range uses[o] {
				if u.actor == s.Actor && u.lock.Mode == l.Mode {
					continue next
				}
				if u.actor != s.Actor && Conflict(u.lock, l) {
					contended[o] = true
					continue next
				}
			}
			uses[o] = append(uses[o], use{s.Actor, l})
		}
	}
	return contended
}

// findCycle describes a cycle of edges, or returns "".
func findCycle(edges []lockEdge) string {
	from := map[object][]*lockEdge{}
	for i := range edges {
		o := objectOf(edges[i].from.lock)
		from[o] = append(from[o], &edges[i])
	}
	var path []*lockEdge
	var extend func() bool
	extend = func() bool {
		last := path[len(path)-1]
		if len(path) > 1 && blocks(path[0], last) {
			return true
		}
		for _, e := range from[objectOf(last.to.lock)] {
			// Each cycle is found from its lowest actor.
			if e.actor <= path[0].actor || !blocks(e, last) || !compatible(path, e) {
				continue
			}
			path = append(path, e)
			if extend() {
				return true
			}
			path = path[:len(path)-1]
		}
		return false
	}
	for i := range edges {
		path = append(path[:0], &edges[i])
		if extend() {
			return describe(path)
		}
	}
	return ""
}

// blocks says that the lock that b wants conflicts with the one that a holds.
func blocks(a, b *lockEdge) bool {
	return objectOf(a.from.lock) == objectOf(b.to.lock) && Conflict(a.from.lock, b.to.lock)
}

// compatible says that e's transaction can be where it is while those of path are where they are: they are other actors, and
// no lock that one holds conflicts with one that another holds.
func compatible(path []*lockEdge, e *lockEdge) bool {
	for _, p := range path {
		if p.actor == e.actor {
			return false
		}
		for _, g := range p.guards {
			for _, h := range e.guards {
				if objectOf(g.lock) == objectOf(h.lock) && Conflict(g.lock, h.lock) {
					return false
				}
			}
		}
	}
	return true
}

func describe(path []*lockEdge) string {
	var b strings.Builder
	b.WriteString("a cycle of locks: ")
	for i, e := range path {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s holds %s (step %d: %s) and takes %s (step %d: %s)", actorOf(e.from.step),
			lockName(e.from.lock), e.from.step.Index, sim.OneLine(e.from.step.SQL, 80),
			lockName(e.to.lock), e.to.step.Index, sim.OneLine(e.to.step.SQL, 80))
	}
	return b.String()
}

func actorOf(s *sim.Step) string { return strings.TrimPrefix(s.Name, "wake ") }

func lockName(l *sim.Lock) string { return l.Object + " " + l.Mode }

// Conflict says that two locks on the same object conflict (Postgres documentation, tables 13.2 and 13.3).
func Conflict(a, b *sim.Lock) bool {
	if a.Class == "row" {
		i, j := slices.Index(rowModes, a.Mode), slices.Index(rowModes, b.Mode)
		return i >= 0 && j >= 0 && rowConflicts[i]&(1<<j) != 0
	}
	i, j := slices.Index(tableModes, a.Mode), slices.Index(tableModes, b.Mode)
	return i >= 0 && j >= 0 && tableConflicts[i]&(1<<j) != 0
}

var rowModes = []string{"FOR KEY SHARE", "FOR SHARE", "FOR NO KEY UPDATE", "FOR UPDATE"}

// rowConflicts has for each row mode the set of those it conflicts with, as bits.
var rowConflicts = []uint8{0b1000, 0b1100, 0b1110, 0b1111}

// tableModes are also the modes of advisory locks: ShareLock and ExclusiveLock.
var tableModes = []string{"AccessShareLock", "RowShareLock", "RowExclusiveLock", "ShareUpdateExclusiveLock", "ShareLock",
	"ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"}

var tableConflicts = []uint8{
	0b10000000, // AccessShare
	0b11000000, // RowShare
	0b11110000, // RowExclusive
	0b11111000, // ShareUpdateExclusive
	0b11101100, // Share
	0b11111100, // ShareRowExclusive
	0b11111110, // Exclusive
	0b11111111, // AccessExclusive
}
