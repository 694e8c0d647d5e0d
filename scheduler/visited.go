package scheduler

import "math/bits"

const (
	partBits   = 6
	parts      = 1 << partBits // of the visited set and of all that is ordered by it; fixed, so that results do not depend on the machine
	slotsFirst = 1 << 7
	loadMost   = 0.7 // of a part, before it grows
	growth     = 1.6
)

// visited is the set of states seen, as fingerprints with that of the state from which each was first reached (0 for an
// initial state). It has parts by the top bits; a part belongs to one worker while states are added and is read by all while
// states are expanded, so nothing in it is locked or atomic.
type visited struct {
	parts [parts]part
}

// part is an open-addressing table with linear probing. A fingerprint's slot goes with its order among all fingerprints, so
// a table grows by one pass over the old one and the new one. The key 0 is an empty slot.
type part struct {
	keys    []uint64
	parents []uint64
	n       int
	room    int // how many more may come before it grows
}

// normal maps the fingerprint 0, which is the empty key, to another.
func normal(fp uint64) uint64 {
	if fp == 0 {
		return 1
	}
	return fp
}

func partOf(fp uint64) int { return int(fp >> (64 - partBits)) }

func (p *part) slot(fp uint64) int {
	hi, _ := bits.Mul64(fp<<partBits, uint64(len(p.keys)))
	return int(hi)
}

// find returns the slot of fp, or the empty one where it would go, looking from slot i on.
func (p *part) find(fp uint64, i int) (slot int, found bool) {
	keys := p.keys
	for {
		switch keys[i] {
		case fp:
			return i, true
		case 0:
			return i, false
		}
		if i++; i == len(keys) {
			i = 0
		}
	}
}

// reserve makes room for n more fingerprints, so that their slots stay where they are while they are added.
func (p *part) reserve(n int) {
	for p.room < n {
		p.grow()
	}
}

// add puts fp, whose slot is given, into the set with its parent and reports whether it was new. There is room for it.
func (p *part) add(fp, parent uint64, slot int) bool {
	i, found := p.find(fp, slot)
	if found {
		return false
	}
	p.keys[i], p.parents[i] = fp, parent
	p.n++
	p.room--
	return true
}

func (p *part) grow() {
	old := *p
	size := max(slotsFirst, int(float64(len(old.keys))*growth))
	p.keys, p.parents = make([]uint64, size), make([]uint64, size)
	p.room = int(float64(size)*loadMost) - p.n
	for i, fp := range old.keys {
		if fp != 0 {
			j, _ := p.find(fp, p.slot(fp))
			p.keys[j], p.parents[j] = fp, old.parents[i]
		}
	}
}

// parent returns the fingerprint of the state from which fp was first reached.
func (v *visited) parent(fp uint64) uint64 {
	p := &v.parts[partOf(fp)]
	i, found := p.find(fp, p.slot(fp))
	if !found {
		panic("scheduler: a state was reached that was never visited: a fingerprint is not a function of its state")
	}
	return p.parents[i]
}

func (v *visited) add(fp, parent uint64) bool {
	p := &v.parts[partOf(fp)]
	p.reserve(1)
	return p.add(fp, parent, p.slot(fp))
}

func (v *visited) len() int {
	n := 0
	for i := range v.parts {
		n += v.parts[i].n
	}
	return n
}

// bytes returns the memory that the tables take.
func (v *visited) bytes() int64 {
	n := 0
	for i := range v.parts {
		n += len(v.parts[i].keys)
	}
	return int64(n) * 16
}

func newVisited() *visited {
	v := &visited{}
	for i := range v.parts {
		v.parts[i].grow()
	}
	return v
}
