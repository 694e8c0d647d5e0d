package cli

import (
	"strings"
	"testing"
	"time"
)

// TestProgress checks how often and in which form progress is told.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		want     string
	}{
		{false, "10 runs, 1 runs/s, 1m30s left\n20 runs, 1 runs/s, 1m20s left\n"},
		{true, "\r2 runs, 1 runs/s, 1m38s left\r3 runs, 1 runs/s, 1m37s left\r                            \r"},
	} {
		var b strings.Builder
		p := &teller{w: &b, terminal: c.terminal}
		seconds := []int{2, 5, 10, 11, 20}
		if c.terminal {
			seconds = []int{0, 2, 3}
		}
		for _, s := range seconds {
			elapsed := time.Duration(s)*time.Second + time.Millisecond
			p.tell(elapsed, rate("runs", uint64(s), 100, elapsed))
		}
		p.done()
		if b.String() != c.want {
			t.Errorf("terminal %v: %q, want %q", c.terminal, b.String(), c.want)
		}
	}
}
