package machines

import "math/bits"

// cursor is RingCursor. A cursor is its generation alone: its slot is always the generation modulo the slots, which is what the
// invariant Lockstep says; none of the actions can break it.
type cursor struct {
	slots, maxGen, startGen, jobs, writers, foldKeeps int

	fullRing                                                                     bool
	reconcile, fence, poisonSlots, busyCheck, stamp, wholeChildGuard, routeFresh bool
}

const (
	maxGens  = 16
	maxSlots = 4
	maxJobs  = 8
	maxWrite = 4
	poison   = int8(-1)
)

// cursorState is its state.
type cursorState struct {
	ledgerAuthority bool
	cols            int8   // generation in the columns
	ledger          uint16 // generations, as bits
	slotGen         [maxSlots]int8
	rows            [maxJobs]uint8 // of each job 0, or 1 and twice its generation, and one more when it is done
	route           [maxWrite]int8 // of each writer 0, or 1 and the generation
	pruned          uint8          // jobs, as bits
}

func newCursor(k *constants) (cursor, error) {
	return cursor{
		slots: max(1, k.int("N", maxSlots)), maxGen: k.int("MaxGen", maxGens-1), startGen: k.int("StartGen", maxGens-1),
		jobs: len(k.set("Jobs", maxJobs)), writers: len(k.set("Writers", maxWrite)), foldKeeps: k.int("FoldKeeps", maxGens),
		fullRing: k.text("StartRows") == "FullRing", reconcile: k.bool("Reconcile"), fence: k.bool("Fence"), poisonSlots: k.bool("PoisonSlots"),
		busyCheck: k.bool("BusyCheck"), stamp: k.bool("Stamp"), wholeChildGuard: k.bool("WholeChildGuard"), routeFresh: k.bool("RouteFresh"),
	}, k.err
}

func rowOf(gen int, done bool) uint8 { return uint8(2*gen) + 1 + uint8(bit(done)) }
func genOf(row uint8) int            { return int(row-1) / 2 }
func isDone(row uint8) bool          { return row&1 == 0 }

func (c cursor) initial() []cursorState {
	s := cursorState{cols: int8(c.startGen), ledger: 1 | 1<<c.startGen}
	for slot := range maxSlots {
		s.slotGen[slot] = -1
		if slot < c.slots && slot <= c.startGen {
			s.slotGen[slot] = int8(c.startGen - (c.startGen-slot)%c.slots)
		}
	}
	if c.fullRing {
		for g := 1; g <= c.startGen; g++ {
			s.rows[g-1] = rowOf(g, g < c.startGen)
		}
	}
	return []cursorState{s}
}

func greatest(ledger uint16) int { return 15 - bits.LeadingZeros16(ledger) }

// at is the generation of the cursor in force.
func (s *cursorState) at() int {
	if s.ledgerAuthority {
		return greatest(s.ledger)
	}
	return int(s.cols)
}

func (c cursor) empty(s *cursorState, slot int) bool {
	for _, row := range s.rows {
		if row != 0 && genOf(row)%c.slots == slot {
			return false
		}
	}
	return true
}

// mayOpen says whether a rotation may go to the generation.
func (c cursor) mayOpen(s *cursorState, gen int) bool {
	return gen <= c.maxGen && (!c.busyCheck || c.empty(s, gen%c.slots))
}

// from is the generations from one to another, as bits.
func from(first, last int) uint16 {
	if first > last {
		return 0
	}
	return uint16(1<<(last+1) - 1<<first)
}

func (c cursor) next(s cursorState, emit func(string, cursorState)) {
	c.rotations(s, emit)
	c.writes(s, emit)
	if !s.ledgerAuthority || c.slots > 0 {
		c.prunes(s, emit)
	}
	if kept := s.ledger &^ from(0, greatest(s.ledger)-c.foldKeeps); kept != s.ledger {
		t := s
		t.ledger = kept
		emit("Fold", t)
	}
}

func (c cursor) rotations(s cursorState, emit func(string, cursorState)) {
	if gen := int(s.cols) + 1; c.mayOpen(&s, gen) {
		if !c.fence || !s.ledgerAuthority {
			t := s
			t.cols, t.slotGen[gen%c.slots] = int8(gen), int8(gen)
			emit("Rotate6", t)
		}
		if !s.ledgerAuthority {
			t := s
			t.cols = int8(gen)
			if c.stamp {
				t.slotGen[gen%c.slots] = int8(gen)
			}
			t.ledger |= from(greatest(s.ledger)+1, gen)
			emit("Rotate7c", t)
		}
	}
	if s.ledgerAuthority {
		if gen := greatest(s.ledger) + 1; c.mayOpen(&s, gen) {
			t := s
			t.ledger |= 1 << gen
			emit("Rotate7l", t)
		}
		return
	}
	t := s
	t.ledgerAuthority, t.cols = true, poison
	if c.reconcile {
		t.ledger |= from(greatest(s.ledger)+1, int(s.cols))
	}
	if c.poisonSlots {
		for slot := range c.slots {
			t.slotGen[slot] = -1
		}
	}
	emit("Flip", t)
}

// unused is the first job that was not handed over, -1 when all were.
func (c cursor) unused(s *cursorState) int {
	for j := range c.jobs {
		if s.rows[j] == 0 && s.pruned>>j&1 == 0 {
			return j
		}
	}
	return -1
}

func (c cursor) writes(s cursorState, emit func(string, cursorState)) {
	job := c.unused(&s)
	for w := range c.writers {
		t := s
		switch routed := int(s.route[w]) - 1; {
		case routed < 0 && job >= 0:
			t.route[w] = int8(s.at() + 1)
			emit("Route", t)
		case routed >= 0 && job >= 0 && (!c.routeFresh || routed == s.at()):
			t.rows[job], t.route[w] = rowOf(routed, false), 0
			emit("Insert", t)
		}
	}
	for j, row := range s.rows {
		if row != 0 && !isDone(row) {
			t := s
			t.rows[j] = row + 1
			emit("Finish", t)
		}
	}
}

// truncate empties a slot that was opened with the generation, if the proofs hold.
func (c cursor) truncate(action string, s cursorState, slot, gen int, emit func(string, cursorState)) {
	t := s
	for j, row := range s.rows {
		if row == 0 || genOf(row)%c.slots != slot {
			continue
		}
		if !isDone(row) && (c.wholeChildGuard || genOf(row) == gen) {
			return
		}
		t.rows[j] = 0
		t.pruned |= uint8(bit(isDone(row)) << j)
	}
	if t.rows != s.rows {
		emit(action, t)
	}
}

func (c cursor) prunes(s cursorState, emit func(string, cursorState)) {
	at := s.at()
	if initialised := min(at+1, c.slots); initialised > 1 {
		oldest := at - (initialised - 1)
		c.truncate("Prune7", s, (at%c.slots+c.slots-(initialised-1))%c.slots, oldest, emit)
	}
	open := -1
	if s.cols >= 0 {
		open = int(s.cols) % c.slots
	}
	least := maxGens
	for slot := range c.slots {
		if slot != open && s.slotGen[slot] >= 0 {
			least = min(least, int(s.slotGen[slot]))
		}
	}
	for slot := range c.slots {
		if slot != open && int(s.slotGen[slot]) == least {
			c.truncate("Prune6", s, slot, least, emit)
		}
	}
}

func (c cursor) invariant(s cursorState) string {
	switch {
	case s.ledger == 0 || int(s.cols) > c.maxGen || greatest(s.ledger) > c.maxGen:
		return "TypeOK"
	case !s.ledgerAuthority && greatest(s.ledger) > int(s.cols):
		return "Shadow"
	case s.ledgerAuthority && s.cols != poison:
		return "Fenced"
	}
	return ""
}

func (c cursor) properties() []string {
	return []string{"NoLoss", "OpenSlotSafe", "NoSkip", "EmptyTarget", "Retention", "OneWay"}
}

func (c cursor) property(s, t cursorState) string {
	was, is := s.at(), t.at()
	for j, row := range s.rows {
		if row == 0 {
			continue
		}
		slot := genOf(row) % c.slots
		switch gone := t.rows[j] == 0; {
		case gone && !isDone(row):
			return "NoLoss"
		case gone && was >= 0 && slot == was%c.slots:
			return "OpenSlotSafe"
		case is != was && is >= 0 && slot == is%c.slots:
			return "EmptyTarget"
		}
	}
	lastRound := s.ledger &^ from(0, greatest(s.ledger)-c.slots)
	switch {
	case is != was && is != was+1:
		return "NoSkip"
	case t.ledger&^s.ledger == 0 && lastRound&^t.ledger != 0:
		return "Retention"
	case s.ledgerAuthority && !t.ledgerAuthority:
		return "OneWay"
	}
	return ""
}

func (c cursor) words(s cursorState) [3]uint64 {
	w := [3]uint64{bit(s.ledgerAuthority) | uint64(s.cols+1)<<1 | uint64(s.ledger)<<6 | uint64(s.pruned)<<22}
	for i, g := range s.slotGen {
		w[0] |= uint64(g+1) << (30 + 5*i)
	}
	for i, r := range s.rows {
		w[1] |= uint64(r) << (8 * i)
	}
	for i, r := range s.route {
		w[2] |= uint64(r) << (8 * i)
	}
	return w
}
