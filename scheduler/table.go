package scheduler

// table returns n zeroes.
func table(n int) []uint64 { return make([]uint64, n) }
