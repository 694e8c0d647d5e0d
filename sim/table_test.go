package sim

import (
	"sync"
	"testing"
)

type numbered struct{ key uint64 }

func (n *numbered) tableKey() uint64 { return n.key }

// A table has what was put in, once a key, from its first entry on, also while it is read.
func TestTable(t *testing.T) {
	var table table[numbered, *numbered]
	if table.find(1) != nil {
		t.Error("an empty table has an entry")
	}
	var wg sync.WaitGroup
	first := make([]*numbered, 200)
	for k := range first {
		key := uint64(k) << 32 // all in one place of a small table
		if key == 0 {
			key = 7
		}
		first[k] = table.add(&numbered{key})
		wg.Go(func() {
			if again := table.add(&numbered{key}); again != first[k] || table.find(key) != first[k] {
				t.Errorf("key %d has two entries", key)
			}
			if table.find(key+1) != nil {
				t.Errorf("key %d was not put in", key+1)
			}
		})
	}
	wg.Wait()
	for k, e := range first {
		if table.find(e.key) != e {
			t.Errorf("entry %d is gone", k)
		}
	}
	if table.used != len(first) {
		t.Errorf("%d entries, want %d", table.used, len(first))
	}
}
