package rings

import "strings"

// ring is one of the three rings: its name and the partitioned tables that are truncated together, child by child.
type ring struct {
	name     string
	key      string // the partition column
	families []string
}

// The three rings with all their families.
var (
	queueRing = ring{"queue", "ready_slot", []string{
		"ready_entries", "ready_claim_attempt_batches", "done_entries", "ready_tombstones", "ready_segments",
		"receipt_completion_batches", "queue_terminal_count_deltas",
	}}
	leaseRing = ring{"lease", "lease_slot", []string{"leases"}}
	claimRing = ring{"claim", "claim_slot", []string{
		"lease_claims", "lease_claim_batches", "lease_claim_closures", "lease_claim_closure_batches",
	}}
)

// allRings is the order in which every transaction that touches several rings takes them.
var allRings = []ring{queueRing, leaseRing, claimRing}

// children returns the partitions of slot, in the order of the families.
func (r ring) children(slot int) []string {
	names := make([]string, len(r.families))
	for i, family := range r.families {
		names[i] = child(family, slot)
	}
	return names
}

// child names the partition of family for slot.
func child(family string, slot int) string { return family + "_" + itoa(slot) }

// childList is the children of slot as a table list of LOCK TABLE or TRUNCATE.
func (r ring) childList(slot int) string { return strings.Join(r.children(slot), ", ") }

// cursor is the position of a ring: the open slot and its generation. Poison is (-1, -1).
type cursor struct {
	Slot int
	Gen  int64
}

// next is where a rotation of a ring with n slots moves the cursor.
func (c cursor) next(n int) cursor { return cursor{(c.Slot + 1) % n, c.Gen + 1} }

// oldest is the sealed slot that was opened longest ago, the target of a prune. ok is false when no slot is sealed,
// which is also how poison reads. On a ring that has been round once, oldest and next are the same slot.
func (c cursor) oldest(n int) (target cursor, ok bool) {
	initialised := min(c.Gen+1, int64(n))
	if initialised <= 1 {
		return cursor{}, false
	}
	back := initialised - 1
	slot := (int64(c.Slot) - back) % int64(n)
	if slot < 0 {
		slot += int64(n)
	}
	return cursor{int(slot), c.Gen - back}, true
}

// lastOpen is the generation under which slot was last open, or -1 when it never was.
func (c cursor) lastOpen(slot, n int) int64 {
	back := (c.Slot - slot) % n
	if back < 0 {
		back += n
	}
	return max(c.Gen-int64(back), -1)
}

// poisoned is what the flip leaves in the columns.
func (c cursor) poisoned() bool { return c == cursor{-1, -1} }
