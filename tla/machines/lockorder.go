package machines

import "slices"

// lockOrder is RingLockOrder.
type lockOrder struct {
	actors    []lockActor
	flipLocks uint8 // rings

	sampleFirst, childFirst, advisoryOnly bool
}

type lockActor struct {
	kind kindOfActor
	ring uint8
}

type kindOfActor uint8

const (
	rotator6 kindOfActor = iota
	rotator7
	rotator7b
	pruner7
)

// What an actor holds of its ring, and the mode that it works in. Of the flip the bits are the singletons of the three rings,
// and from bit 3 on their slots.
const (
	hasState uint8 = 1 << iota
	hasAdvisory
	hasSlot
	hasChild
	modeShift = 4
)

const (
	modeNone uint8 = iota << modeShift
	modeColumns
	modeLedger
	modePoison
	modeMask = 3 << modeShift
	locks    = hasState | hasAdvisory | hasSlot | hasChild
)

var ringNames = []string{"queue", "lease", "claim"}

// lockState is its state.
type lockState struct {
	ledger bool
	flip   uint8
	actor  [12]uint8
}

func newLockOrder(k *constants) (lockOrder, error) {
	o := lockOrder{sampleFirst: k.bool("SampleFirst"), childFirst: k.bool("ChildFirst"), advisoryOnly: k.bool("AdvisoryOnly")}
	for kind, name := range []string{"Rotators6", "Rotators7", "Rotators7b", "Pruners7"} {
		for _, ring := range k.set(name, len(ringNames)) {
			o.actors = append(o.actors, lockActor{kindOfActor(kind), uint8(slices.Index(ringNames, ring))})
		}
	}
	for _, ring := range k.set("FlipLocks", len(ringNames)) {
		o.flipLocks |= 1 << slices.Index(ringNames, ring)
	}
	return o, k.err
}

func (o lockOrder) initial() []lockState { return []lockState{{}} }

func (a lockActor) seven() bool                   { return a.kind != rotator6 }
func (a lockActor) rotates() bool                 { return a.kind != pruner7 }
func (o lockOrder) needsState(a lockActor) bool   { return !(o.advisoryOnly && a.seven()) }
func (o lockOrder) samplesFirst(a lockActor) bool { return o.sampleFirst && a.seven() }

// passed says that actor i is past its gate.
func (o lockOrder) passed(s *lockState, i int) bool {
	a, h := o.actors[i], s.actor[i]
	return h&modeMask != modeNone && (!o.needsState(a) || h&hasState != 0) &&
		(!a.seven() || h&modeMask != modeLedger && !o.advisoryOnly || h&hasAdvisory != 0)
}

// conflicts says whether another than i (-1 is the flip) holds the resource of the ring in a conflicting mode.
func (o lockOrder) conflicts(s *lockState, i int, resource, ring uint8, shared bool) bool {
	for j, b := range o.actors {
		if j != i && b.ring == ring && s.actor[j]&resource != 0 && (!shared || !b.rotates()) {
			return true
		}
	}
	return i >= 0 && s.flip&flipBit(resource, ring) != 0
}

// flipBit is the flip's bit for a resource of a ring; 0 for those that it never takes.
func flipBit(resource, ring uint8) uint8 {
	switch resource {
	case hasState:
		return 1 << ring
	case hasSlot:
		return 8 << ring
	}
	return 0
}

func (o lockOrder) authority(s *lockState) uint8 {
	if s.ledger {
		return modeLedger
	}
	return modeColumns
}

func (o lockOrder) next(s lockState, emit func(string, lockState)) {
	for i, a := range o.actors {
		h := s.actor[i]
		mode := h & modeMask
		set := func(action string, to uint8) {
			t := s
			t.actor[i] = to
			emit(action, t)
		}
		take := func(action string, resource uint8, shared bool, to uint8) {
			if h&resource == 0 && !o.conflicts(&s, i, resource, a.ring, shared) {
				set(action, to|resource)
			}
		}
		if o.needsState(a) && (mode != modeNone) == o.samplesFirst(a) && !(o.childFirst && a.kind == pruner7 && h&hasChild == 0) {
			to := h
			if a.kind == rotator6 {
				to = h&^modeMask | modeColumns
				if s.ledger {
					to = h&^modeMask | modePoison
				}
			}
			take("LockState", hasState, false, to)
		}
		if a.seven() && mode == modeNone && (!o.needsState(a) || o.sampleFirst || h&hasState != 0) {
			set("Sample", h|o.authority(&s))
		}
		if a.seven() && (mode == modeLedger || o.advisoryOnly && mode != modeNone) && (!o.needsState(a) || h&hasState != 0) {
			take("TryAdvisory", hasAdvisory, false, h)
		}
		passed := o.passed(&s, i)
		if a.rotates() && passed {
			take("Probe", hasChild, true, h)
		}
		if passed && (!a.rotates() || mode == modeColumns && h&hasChild != 0) && (a.kind != rotator6 || a.ring == 0) {
			take("LockSlot", hasSlot, false, h)
		}
		if a.kind == pruner7 && (o.childFirst && h&locks == 0 || !o.childFirst && passed && h&hasSlot != 0) {
			take("LockChild", hasChild, false, h)
		}
		if h != 0 {
			set("Finish", 0)
		}
	}
	o.nextOfFlip(s, emit)
}

func (o lockOrder) nextOfFlip(s lockState, emit func(string, lockState)) {
	all := s.flip&o.flipLocks == o.flipLocks
	for ring := uint8(0); ring < 3; ring++ {
		before := uint8(1)<<ring - 1
		t := s
		if o.flipLocks>>ring&1 == 1 && s.flip&before&o.flipLocks == before&o.flipLocks && s.flip>>ring&1 == 0 && !o.conflicts(&s, -1, hasState, ring, false) {
			t.flip |= 1 << ring
			emit("FlipLock", t)
		}
		t = s
		if all && !s.ledger && s.flip>>3&before == before && s.flip>>3>>ring&1 == 0 && !o.conflicts(&s, -1, hasSlot, ring, false) {
			t.flip |= 8 << ring
			emit("FlipSlot", t)
		}
	}
	t := s
	t.flip = 0
	if s.flip != 0 {
		emit("FlipLeave", t)
	}
	if all && s.flip>>3 == 7 {
		t.ledger = true
		emit("FlipCommit", t)
	}
}

func (o lockOrder) invariant(s lockState) string {
	in := modeColumns
	if s.ledger {
		in = modeLedger
	}
	for i, a := range o.actors {
		for _, resource := range []uint8{hasState, hasAdvisory, hasSlot, hasChild} {
			if s.actor[i]&resource != 0 && o.conflicts(&s, i, resource, a.ring, resource == hasChild && a.rotates()) {
				return "LockCompatibility"
			}
		}
		if !o.passed(&s, i) {
			continue
		}
		mode := s.actor[i] & modeMask
		for j := range i {
			if !o.passed(&s, j) {
				continue
			}
			if other := s.actor[j] & modeMask; mode != modePoison && other != modePoison && mode != other {
				return "MixedFleet"
			}
			if o.actors[j].ring == a.ring {
				return "OneAtATime"
			}
		}
		want := in
		if a.kind == rotator6 && s.ledger {
			want = modePoison
		}
		if mode != want {
			return "ModeInForce"
		}
	}
	if o.deadlocked(&s) {
		return "NoDeadlock"
	}
	return ""
}

// deadlocked says whether an actor waits, directly or through at most three others, for itself.
func (o lockOrder) deadlocked(s *lockState) bool {
	flip := len(o.actors)
	var waits [13]uint16 // for whom, as bits
	for i, a := range o.actors {
		if resource := o.wants(s, i); resource != 0 {
			waits[i] = o.holders(s, i, resource, a.ring, resource == hasChild && a.rotates())
		}
	}
	all := s.flip&o.flipLocks == o.flipLocks
	for ring := uint8(0); ring < 3; ring++ {
		before := uint8(1)<<ring - 1
		if o.flipLocks>>ring&1 == 1 && s.flip>>ring&1 == 0 && s.flip&before&o.flipLocks == before&o.flipLocks {
			waits[flip] |= o.holders(s, flip, hasState, ring, false)
		}
		if all && s.flip>>3>>ring&1 == 0 && s.flip>>3&before == before {
			waits[flip] |= o.holders(s, flip, hasSlot, ring, false)
		}
	}
	for i := range flip + 1 {
		reached := waits[i]
		for range 3 {
			for j := range flip + 1 {
				if reached>>j&1 == 1 {
					reached |= waits[j]
				}
			}
		}
		if reached>>i&1 == 1 {
			return true
		}
	}
	return false
}

// wants is the resource that the actor would wait for if it took its next step now, 0 for none.
func (o lockOrder) wants(s *lockState, i int) uint8 {
	a, h := o.actors[i], s.actor[i]
	needs := func(resources ...uint8) uint8 {
		for _, r := range resources {
			if h&r == 0 {
				return r
			}
		}
		return 0
	}
	switch {
	case a.kind == pruner7 && o.childFirst:
		if r := needs(hasChild, hasState); r != 0 {
			return r
		}
		if o.passed(s, i) {
			return needs(hasSlot)
		}
		return 0
	case o.needsState(a) && h&hasState == 0:
		return hasState
	case !o.passed(s, i):
		return 0
	case a.kind == pruner7:
		return needs(hasSlot, hasChild)
	case h&modeMask == modeColumns && (a.kind != rotator6 || a.ring == 0):
		return needs(hasChild, hasSlot)
	}
	return needs(hasChild)
}

// holders is who else holds a resource in a mode that conflicts.
func (o lockOrder) holders(s *lockState, i int, resource, ring uint8, shared bool) uint16 {
	var who uint16
	for j, b := range o.actors {
		if j != i && b.ring == ring && s.actor[j]&resource != 0 && (!shared || !b.rotates()) {
			who |= 1 << j
		}
	}
	if flip := len(o.actors); i != flip && s.flip&flipBit(resource, ring) != 0 {
		who |= 1 << flip
	}
	return who
}

func (o lockOrder) properties() []string { return []string{"OneWay"} }

func (o lockOrder) property(s, t lockState) string {
	if s.ledger && !t.ledger {
		return "OneWay"
	}
	return ""
}

func (o lockOrder) words(s lockState) [3]uint64 {
	w := [3]uint64{bit(s.ledger) | uint64(s.flip)<<1}
	for i, h := range s.actor {
		w[1+i/8] |= uint64(h) << (8 * (i % 8))
	}
	return w
}
