package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"simrun/sim"
)

// Timeline writes a run as text: a column for each actor with what it did, and beside it the statement, what came of it, and
// what the actor told. In a column, ":" is a session that waits and "|" one with an open transaction.
func Timeline(w io.Writer, t *sim.Trace) error {
	out := bufio.NewWriter(w)
	tl := timeline{out: out, trace: t, open: make([]bool, len(t.Actors)), waits: make([]bool, len(t.Actors))}
	for _, name := range t.Actors {
		tl.widths = append(tl.widths, max(len(name), 8))
	}
	fmt.Fprintf(out, "%5s", "step")
	for i, name := range t.Actors {
		fmt.Fprintf(out, "  %-*s", tl.widths[i], name)
	}
	fmt.Fprintln(out)
	for i := range t.Steps {
		tl.step(&t.Steps[i])
	}
	if t.Cut {
		fmt.Fprintf(out, "%5s  the run was cut here: it had reached its limit of steps\n", "")
	}
	return out.Flush()
}

type timeline struct {
	out         *bufio.Writer
	trace       *sim.Trace
	widths      []int
	open, waits []bool
}

func (tl *timeline) step(s *sim.Step) {
	if s.Actor >= 0 {
		tl.waits[s.Actor] = s.Reply.Blocked
		if !s.Reply.Blocked {
			tl.open[s.Actor] = s.Reply.Tx == 'T' || s.Reply.Tx == 'E'
		}
	}
	number := fmt.Sprint(s.Choice)
	if s.Eager {
		number = "+"
	}
	detail := s.Statement()
	if res := s.Result(tl.trace.Actors); res != "" {
		if detail != "" {
			detail += "  -> "
		}
		detail += res
	}
	if s.Reply.Blocked && s.Reply.On != "" {
		detail += " (" + s.Reply.On + ")"
	}
	tl.row(number, s.Actor, deed(s), detail)
	for _, told := range s.Told() {
		tl.row("", -1, "", "  "+told)
	}
	if s.Done {
		tl.open[s.Actor], tl.waits[s.Actor] = false, false
	}
}

// row writes one line of the table.
func (tl *timeline) row(number string, actor int, deed, detail string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%5s", number)
	for i := range tl.trace.Actors {
		cell := ""
		switch {
		case i == actor:
			cell = deed
		case tl.waits[i]:
			cell = ":"
		case tl.open[i]:
			cell = "|"
		}
		fmt.Fprintf(&b, "  %-*s", tl.widths[i], cell)
	}
	fmt.Fprintf(&b, "  %s", detail)
	fmt.Fprintln(tl.out, strings.TrimRight(b.String(), " "))
}

// deed is what the actor did, in a word or two of at most eight characters.
func deed(s *sim.Step) string {
	switch s.Kind {
	case sim.StepWake:
		return "wakes"
	case sim.StepVictim:
		return "deadlock"
	case sim.StepLockTimeout, sim.StepStatementTimeout:
		return "gives up"
	case sim.StepCrash:
		return "CRASH"
	case sim.StepCommitApplied, sim.StepCommitDropped, sim.StepConnLost, sim.StepIdleTimeout:
		return "LOST"
	case sim.StepCancel:
		return "CANCEL"
	case sim.StepSerialization:
		return "40001"
	case sim.StepChoose:
		return "chooses"
	}
	word, _, _ := strings.Cut(strings.TrimSpace(sim.OneLine(s.SQL, 0)), " ")
	word = strings.ToLower(strings.Trim(word, "(;"))
	switch {
	case s.Reply.Err != nil:
		return "ERROR"
	case s.Reply.Blocked:
		return "waits"
	case len(word) > 8:
		return word[:8]
	}
	return word
}
