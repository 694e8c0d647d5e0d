package rings

import (
	"fmt"
	"strings"
)

// start is the committed state that a scenario's runs begin with.
type start struct {
	layout
	authority string // "columns" or "ledger"
	cur       cursor // of all three rings
	extra     string // further rows
}

// text is the start as SQL.
func (s start) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO ring_cursor_authority (authority) VALUES ('%s');\n", s.authority)
	for _, r := range s.rings() {
		columnsCursor := s.cur
		if s.authority == ledger {
			columnsCursor = cursor{-1, -1}
		}
		fmt.Fprintf(&b, "INSERT INTO %s_ring_state (slot_count, current_slot, generation) VALUES (%d, %d, %d);\n",
			r.name, s.slots, columnsCursor.Slot, columnsCursor.Gen)
		// After an upgrade the ledger holds its genesis and the row of the columns, and nothing between; after the flip,
		// one round.
		rows := []int64{0}
		if s.cur.Gen > 0 {
			rows = append(rows, s.cur.Gen)
		}
		if s.authority == ledger {
			rows = nil
			for gen := max(0, s.cur.Gen-int64(s.slots)+1); gen <= s.cur.Gen; gen++ {
				rows = append(rows, gen)
			}
		}
		for _, gen := range rows {
			fmt.Fprintf(&b, "INSERT INTO %s_ring_rotations (generation, slot) VALUES (%d, %d);\n", r.name, gen, gen%int64(s.slots))
		}
		for slot := range s.slots {
			fmt.Fprintf(&b, "INSERT INTO %s_ring_slots (slot, generation) VALUES (%d, %d);\n", r.name, slot, s.stamp(r, slot))
		}
	}
	b.WriteString(s.extra)
	return b.String()
}

// stamp is the generation that the slot row holds at the start.
func (s start) stamp(r ring, slot int) int64 {
	switch {
	case s.authority == ledger:
		return -1
	case r.name == queueRing.name:
		return s.cur.lastOpen(slot, s.slots)
	case slot == 0:
		return 0
	}
	return -1
}

// cursors is the start as the monitors see it.
func (s start) cursors() cursors {
	c := cursors{authority: s.authority}
	for i, r := range s.rings() {
		c.rings[i] = ringCursor{ring: r.name, n: s.slots, columns: s.cur, ledger: s.cur}
		if s.authority == ledger {
			c.rings[i].columns = cursor{-1, -1}
		}
	}
	return c
}
