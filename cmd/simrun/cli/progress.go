package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// teller writes how far something is on standard error: on a terminal one line that it writes anew each second, elsewhere a line every
// ten seconds.
type teller struct {
	w        io.Writer
	terminal bool
	last     time.Duration
	width    int // of the line on the terminal
}

func (a *app) teller() *teller {
	f, ok := a.errs.(*os.File)
	return &teller{w: a.errs, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// tell writes line when it is time to; elapsed is how long the work has taken.
func (t *teller) tell(elapsed time.Duration, line string) {
	every := 10 * time.Second
	if t.terminal {
		every = time.Second
	}
	if elapsed-t.last < every {
		return
	}
	t.last = elapsed
	if !t.terminal {
		fmt.Fprintln(t.w, line)
		return
	}
	fmt.Fprintf(t.w, "\r%-*s", t.width, line)
	t.width = len(line)
}

// done clears the terminal's line.
func (t *teller) done() {
	if t.width > 0 {
		fmt.Fprintf(t.w, "\r%*s\r", t.width, "")
		t.width = 0
	}
}

// rate is a line about n of something, of so many in all; of is 0 when that is not known.
func rate(what string, n, of uint64, elapsed time.Duration) string {
	perSecond := float64(n) / elapsed.Seconds()
	line := fmt.Sprintf("%d %s, %.0f %s/s", n, what, perSecond, what)
	if of > n && perSecond > 0 {
		line += fmt.Sprintf(", %v left", time.Duration(float64(of-n)/perSecond*float64(time.Second)).Round(time.Second))
	}
	return line
}
