package storage

import "slices"

// edge is a waits-for edge between two sessions that both wait for one lock: it is soft, as the waiter could be moved
// ahead of the blocker in the queue.
type edge struct {
	waiter, blocker SessionID
	tag             ltag
}

// detector looks for wait cycles as Postgres does (src/backend/storage/lmgr/README, "The Deadlock Detection Algorithm"):
// a cycle with soft edges is no deadlock if the queues can be reordered so that none is left.
type detector struct {
	st          *State
	constraints []edge
	orders      []order // proposed queues
	visited     []SessionID
	path        []SessionID // the last cycle found
}

type order struct {
	tag   ltag
	procs []SessionID
}

// checkDeadlock is run when s has begun to wait. It returns true when s is in a deadlock; when reordering queues avoids one,
// it does so, and wakes whom that frees.
func (st *State) checkDeadlock(s SessionID) bool {
	if len(st.queue) < 2 {
		return false
	}
	d := detector{st: st}
	if d.insoluble(s) {
		return true
	}
	for _, o := range d.orders {
		st.reorder(o)
	}
	for _, o := range d.orders {
		st.wake(o.tag)
	}
	return false
}

// reorder gives the waiters of one lock their places in the queue in another order.
func (st *State) reorder(o order) {
	own(&st.shared, shareQueue, &st.queue)
	n := 0
	for i, id := range st.queue {
		if st.sess[id].wait.tag == o.tag {
			st.queue[i] = o.procs[n]
			n++
		}
	}
}

// Deadlock returns the sessions of a closed wait cycle, each waiting for the next, starting with the lowest, or none.
func (st *State) Deadlock() []SessionID {
	if len(st.queue) < 2 {
		return nil
	}
	for id, s := range st.sess {
		if s.wait.state != waiting {
			continue
		}
		d := detector{st: st}
		if !d.insoluble(SessionID(id)) {
			continue
		}
		d.constraints, d.orders, d.visited = nil, nil, nil
		if _, found := d.cycle(SessionID(id)); !found {
			continue
		}
		low := slices.Index(d.path, slices.Min(d.path))
		return append(slices.Clone(d.path[low:]), d.path[:low]...)
	}
	return nil
}

// insoluble reports whether no reordering of queues frees s; if one does, it is left in d.orders.
func (d *detector) insoluble(s SessionID) bool {
	soft, ok := d.try(s)
	if !ok {
		return true
	}
	if len(soft) == 0 {
		return false
	}
	for _, e := range soft {
		d.constraints = append(d.constraints, e)
		if !d.insoluble(s) {
			return false
		}
		d.constraints = d.constraints[:len(d.constraints)-1]
	}
	return true
}

// try tests the present constraints: ok is false when they cannot be met or leave a cycle without soft edges; otherwise
// it returns the soft edges of a cycle, or none when there is no cycle.
func (d *detector) try(s SessionID) (soft []edge, ok bool) {
	if !d.expand() {
		return nil, false
	}
	for _, e := range d.constraints {
		for _, p := range [2]SessionID{e.waiter, e.blocker} {
			if es, found := d.cycle(p); found {
				if len(es) == 0 {
					return nil, false
				}
				soft = es
			}
		}
	}
	if es, found := d.cycle(s); found {
		if len(es) == 0 {
			return nil, false
		}
		soft = es
	}
	return soft, true
}

// cycle looks for a cycle through s and returns its soft edges.
func (d *detector) cycle(s SessionID) (soft []edge, found bool) {
	d.visited = d.visited[:0]
	d.path = d.path[:0]
	found = d.walk(s, &soft)
	if found {
		slices.Reverse(d.path)
	}
	return soft, found
}

func (d *detector) walk(p SessionID, soft *[]edge) bool {
	for i, v := range d.visited {
		if v == p {
			return i == 0
		}
	}
	d.visited = append(d.visited, p)
	w := &d.st.sess[p].wait
	if w.state != waiting {
		return false
	}
	for _, o := range d.st.sess {
		if o.id != p && d.st.heldModes(o, w.tag)&conflicts[w.mode] != 0 && d.walk(o.id, soft) {
			d.path = append(d.path, p)
			return true
		}
	}
	for _, id := range d.queue(w.tag) {
		if id == p {
			break
		}
		if conflicts[w.mode]&bit(d.st.sess[id].wait.mode) != 0 && d.walk(id, soft) {
			d.path = append(d.path, p)
			*soft = append(*soft, edge{p, id, w.tag})
			return true
		}
	}
	return false
}

// queue returns the wait queue of a lock, as proposed or as it is.
func (d *detector) queue(t ltag) []SessionID {
	for i := range d.orders {
		if d.orders[i].tag == t {
			return d.orders[i].procs
		}
	}
	return d.actual(t)
}

func (d *detector) actual(t ltag) (q []SessionID) {
	for _, id := range d.st.queue {
		if d.st.sess[id].wait.tag == t {
			q = append(q, id)
		}
	}
	return q
}

// expand makes queues that meet the constraints; false when they contradict each other.
func (d *detector) expand() bool {
	d.orders = nil
	for i := len(d.constraints) - 1; i >= 0; i-- {
		t := d.constraints[i].tag
		if slices.ContainsFunc(d.orders, func(o order) bool { return o.tag == t }) {
			continue
		}
		procs, ok := d.sort(t, d.constraints[:i+1])
		if !ok {
			return false
		}
		d.orders = append(d.orders, order{t, procs})
	}
	return true
}

// sort orders the queue of a lock so that each constraint's waiter comes before its blocker, otherwise moving as little
// as possible: from the end, it always takes the last session that need not precede one not placed yet.
func (d *detector) sort(t ltag, cs []edge) ([]SessionID, bool) {
	rest := d.actual(t)
	out := make([]SessionID, len(rest))
	for n := len(rest) - 1; n >= 0; n-- {
		j := len(rest) - 1
		for ; j >= 0; j-- {
			if !slices.ContainsFunc(cs, func(e edge) bool {
				return e.tag == t && e.waiter == rest[j] && slices.Contains(rest, e.blocker)
			}) {
				break
			}
		}
		if j < 0 {
			return nil, false
		}
		out[n] = rest[j]
		rest = slices.Delete(rest, j, j+1)
	}
	return out, true
}
