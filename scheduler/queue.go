package scheduler

import (
	"runtime/metrics"
	"unsafe"
)

const segmentItems = 512 // states in a full segment

// item is a state in the queue.
type item[S any] struct {
	state S
	fp    uint64
}

// segment is a piece of the queue: states in memory, or where they are on disk.
type segment[S any] struct {
	items []item[S]
	disk  extent // when items is empty
}

// queue holds the states of the present depth that are not yet expanded, and those of the next depth that were reached. A part
// of the next depth is filled by one worker at a time.
type queue[S any] struct {
	now  []*segment[S]
	at   int // in now: those before were taken
	next [parts]struct {
		full []*segment[S]
		open *segment[S]
		n    int
		free []*segment[S]
	}
	waiting  int  // states in now
	expanded int  // states of the present depth
	full     int  // states in a full segment
	spilling bool // new full segments go to disk
	spills   []*spill
}

// length returns the number of states in the queue.
func (q *queue[S]) length() int {
	n := q.waiting
	for i := range q.next {
		n += q.next[i].n
	}
	return n
}

// push adds a state to the next depth. It returns the segment that it filled, if it did.
func (q *queue[S]) push(part int, it item[S]) (full *segment[S]) {
	p := &q.next[part]
	if p.open == nil {
		if n := len(p.free); n > 0 {
			p.open, p.free = p.free[n-1], p.free[:n-1]
		} else {
			p.open = &segment[S]{}
		}
	}
	p.open.items = append(p.open.items, it)
	p.n++
	if len(p.open.items) < q.full {
		return nil
	}
	full = p.open
	p.full = append(p.full, full)
	p.open = nil
	return full
}

// take removes segments of the present depth, with about that many states.
func (q *queue[S]) take(items int) []*segment[S] {
	from, states := q.at, 0
	for q.at < len(q.now) && states < items {
		states += q.now[q.at].len()
		q.at++
	}
	q.waiting -= states
	return q.now[from:q.at]
}

// exhausted reports whether the present depth is.
func (q *queue[S]) exhausted() bool { return q.at == len(q.now) }

// advance makes the next depth the present one.
func (q *queue[S]) advance() {
	q.now, q.at = q.now[:0], 0
	for i := range q.next {
		p := &q.next[i]
		q.now = append(q.now, p.full...)
		if p.open != nil {
			q.now = append(q.now, p.open)
			p.open = nil
		}
		q.waiting += p.n
		p.full, p.n = p.full[:0], 0
	}
	q.expanded = q.waiting
	for _, s := range q.spills {
		s.turn()
	}
}

// recycle keeps the memory of a segment that was expanded.
func (q *queue[S]) recycle(s *segment[S]) {
	least := &q.next[0]
	for i := range q.next { // spread them: every part fills at the same pace
		if len(q.next[i].free) < len(least.free) {
			least = &q.next[i]
		}
	}
	s.items, s.disk = s.items[:0], extent{}
	if len(least.free) < 16 {
		least.free = append(least.free, s)
	}
}

func (q *queue[S]) close() {
	for _, s := range q.spills {
		s.close()
	}
}

func (s *segment[S]) len() int {
	if s.disk.states > 0 {
		return s.disk.states
	}
	return len(s.items)
}

// memory returns the bytes that the search takes: what it can count itself or, when that is more, what the collector found alive.
func (s *search[S]) memory() int64 {
	own := s.seen.bytes() + int64(s.edges.n)*int64(unsafe.Sizeof(edge{}))
	inMemory := int64(0)
	for _, seg := range s.queue.now[s.queue.at:] {
		inMemory += int64(cap(seg.items))
	}
	for i := range s.queue.next {
		for _, seg := range s.queue.next[i].full {
			inMemory += int64(cap(seg.items))
		}
	}
	own += inMemory * int64(unsafe.Sizeof(item[S]{}))
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return max(own, int64(sample[0].Value.Uint64()))
}
