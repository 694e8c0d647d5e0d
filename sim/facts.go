package sim

// facts are the last values that an actor told, by key: a set that is never changed. An actor's graph has each set once.
type facts struct {
	graph *graph
	list  []fact
	hash  uint64 // the sum of its facts' hashes: the order in which keys were told does not matter; 0 for none
	after table[factsEdge, *factsEdge]
}

type fact struct {
	key   string
	value any
	hash  uint64
}

// factsEdge is what a set becomes by the events with the hash.
type factsEdge struct {
	events uint64
	to     *facts
}

func (e *factsEdge) tableKey() uint64 { return e.events }

func (f *facts) get(key string) (value any, ok bool) {
	for i := range f.list {
		if f.list[i].key == key {
			return f.list[i].value, true
		}
	}
	return nil, false
}

// with returns the set after the notes of an edge.
func (f *facts) with(e *edge) *facts {
	if known := f.after.find(e.hash); known != nil {
		return known.to
	}
	list := append([]fact(nil), f.list...)
notes:
	for i := range e.events {
		ev := &e.events[i]
		if ev.Kind != EventNote {
			continue
		}
		told := fact{ev.Name, ev.Value, hashAny(hashString(41, ev.Name), ev.Value)}
		for k := range list {
			if list[k].key == told.key {
				list[k] = told
				continue notes
			}
		}
		list = append(list, told)
	}
	return f.after.add(&factsEdge{e.hash, f.graph.factsOf(list)}).to
}

// factsOf returns the graph's set of these facts.
func (g *graph) factsOf(list []fact) *facts {
	hash := uint64(0)
	for i := range list {
		hash += list[i].hash
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.facts[hash]; f != nil {
		return f
	}
	f := &facts{graph: g, list: list, hash: hash}
	g.facts[hash] = f
	return f
}

// sets returns how many sets of facts the graph has.
func (g *graph) sets() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.facts))
}
