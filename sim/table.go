package sim

import (
	"sync"
	"sync/atomic"
)

// keyed is what a table holds: entries that are never changed once they are in.
type keyed interface{ tableKey() uint64 }

// table is a table that is read without a lock and only grows. The zero table is empty. The first entries lie in the table itself,
// with their keys, as most tables have few and a large search spends much of its time on fetching memory; the others are in an
// open-addressing table.
type table[E any, P interface {
	*E
	keyed
}] struct {
	few   [fewEntries]slot[E]
	slots atomic.Pointer[[]atomic.Pointer[E]]
	mu    sync.Mutex // held by writers
	used  int
}

const fewEntries = 4

// slot is a place for an entry. It is filled once, the key first: whoever sees the entry sees the key.
type slot[E any] struct {
	key   atomic.Uint64
	entry atomic.Pointer[E]
}

func (t *table[E, P]) find(key uint64) *E {
	for i := range t.few {
		s := &t.few[i]
		e := s.entry.Load()
		if e == nil || s.key.Load() == key {
			return e
		}
	}
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
	key := P(e).tableKey()
	if known := t.find(key); known != nil {
		return known
	}
	t.used++
	if t.used <= fewEntries {
		s := &t.few[t.used-1]
		s.key.Store(key)
		s.entry.Store(e)
		return e
	}
	slots := t.slots.Load()
	if slots != nil && (t.used-fewEntries)*4 <= len(*slots)*3 {
		place(*slots, key, e)
		return e
	}
	grown := make([]atomic.Pointer[E], fewEntries)
	if slots != nil {
		grown = make([]atomic.Pointer[E], 2*len(*slots))
		for i := range *slots {
			if old := (*slots)[i].Load(); old != nil {
				place(grown, P(old).tableKey(), old)
			}
		}
	}
	place(grown, key, e)
	t.slots.Store(&grown)
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
