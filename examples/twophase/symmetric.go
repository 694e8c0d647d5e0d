package twophase

import "simrun/scheduler"

// Symmetric is Managers with interchangeable resource managers: states that differ only in which manager is in which condition
// have one fingerprint, so that a search visits one of them. That is sound because nothing in the specification, its invariant
// included, tells managers apart.
type Symmetric struct{ Managers }

// Fingerprint counts the managers in each condition: five bits for each of the 16, hashed in two words.
func (n Symmetric) Fingerprint(s State) uint64 {
	var counts [2]uint64
	for i := range int32(n.Managers) {
		condition := s.rm(i)<<2 | uint32(s.Sent>>i&1)<<1 | uint32(s.Prepared>>i&1)
		counts[condition>>3] += 1 << (5 * (condition & 7))
	}
	return scheduler.Mix(scheduler.Mix(counts[0]|uint64(s.TM)<<60) + counts[1])
}
