package sim

import (
	"sync"
	"sync/atomic"
)

// keyed is what a table holds: entries that are never changed once they are in.
type keyed interface{ tableKey() uint64 }

// table is an open-addressing table that is read without a lock and only grows. The zero table is empty.
type table[E any, P interface {
	*E
	keyed
}] struct {
	slots atomic.Pointer[[]atomic.Pointer[E]]
	mu    sync.Mutex // held by writers
	used  int
}

func (t *table[E, P]) find(key uint64) *E {
	slots := t.slots.Load()
	if slots == nil {
		return nil
	}
	mask := uint64(len(*slots) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		e := (*slots)[i].Load()
		if e == nil || P(e).tableKey() == key {
			return e
		}
	}
}

// add puts e in, and returns the entry that the table has for its key: another one when that was first.
func (t *table[E, P]) add(e *E) *E {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(e)
}

// put is add for one who holds mu.
func (t *table[E, P]) put(e *E) *E {
	if known := t.find(P(e).tableKey()); known != nil {
		return known
	}
	slots := t.slots.Load()
	switch {
	case slots == nil:
		s := make([]atomic.Pointer[E], 2)
		slots = &s
	case (t.used+1)*4 > len(*slots)*3:
		s := make([]atomic.Pointer[E], 2*len(*slots))
		for i := range *slots {
			if old := (*slots)[i].Load(); old != nil {
				place(s, P(old).tableKey(), old)
			}
		}
		slots = &s
	default:
		t.used++
		place(*slots, P(e).tableKey(), e)
		return e
	}
	t.used++
	place(*slots, P(e).tableKey(), e)
	t.slots.Store(slots)
	return e
}

func place[E any](slots []atomic.Pointer[E], key uint64, e *E) {
	mask := uint64(len(slots) - 1)
	i := key & mask
	for slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].Store(e)
}
