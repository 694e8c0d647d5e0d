package simtest

import (
	"fmt"
	"regexp"
	"strings"

	"simrun/replay"
	"simrun/reports"
)

// describe shows a run: what broke, and the timeline.
func describe(run *replay.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "VIOLATED: %s: %s\n", run.Violation.Invariant, run.Violation.Detail)
	for _, inv := range run.Setup.Invariants {
		if inv.Name == run.Violation.Invariant && inv.Doc != "" {
			fmt.Fprintf(&b, "(%s)\n", inv.Doc)
		}
	}
	fmt.Fprintf(&b, "in %d choices of %s:\n\n", len(run.Choices), run.Flags())
	_ = reports.Timeline(&b, run.Trace) // writing to memory cannot fail
	return b.String()
}

// where says how to see the failure of a file again.
func (x *test) where(path string) string {
	return fmt.Sprintf("failure file: %s\nreproduce: go test -run '%s' . (in the package's folder; it runs the file first)", path, pattern(x.Name()))
}

// pattern is the argument of -run that picks the test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
