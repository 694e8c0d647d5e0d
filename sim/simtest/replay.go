package simtest

import (
	"testing"

	"simrun/sim"
)

// Replay makes the run of a failure file again and fails when an invariant is still violated. A file that no longer applies,
// because code or SQL has changed, is told in the test's log. The variant, mutants and bounds are the file's.
func Replay(t testing.TB, s *sim.Scenario, path string, opts ...Option) {
	t.Helper()
	newTest(t, s, opts).again(path)
}
