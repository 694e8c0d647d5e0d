package spec

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// State is how the request of a connection stands.
type State uint8

// The states.
const (
	Answered State = iota // the answer is complete
	Stuck                 // it waits for a lock that a session of the test holds or is queued for
)

// Conn is the connection of a session, or the control connection.
type Conn interface {
	// Send starts a request in the simple protocol. A connection that is gone gives an error.
	Send(sql string) error
	// Await waits until the request is answered, or, if mayStop, until it waits for a lock. It gives notices to the function
	// that Backend.Connect got, as they come.
	Await(mayStop bool) (State, error)
	// Answer returns the answer, once.
	Answer() Answer
	// Notified returns the notifications that came since it was asked last, as isolationtester prints them after
	// "<session>: NOTIFY ".
	Notified() []string
}

// Answer is all that a request gave.
type Answer struct {
	Results []*Table // nil for a command without rows
	Err     string   // as libpq prints it, with a newline at the end: "ERROR:  division by zero\n"; "" for none
}

// Backend is where a Spec runs.
type Backend interface {
	// Connect opens the control connection, whose session name is "control connection", and one for each session, in that order.
	// The notices of session i are given to notice, ready to be printed after "<session>: ".
	Connect(sessions []string, notice func(session int, text string)) ([]Conn, error)
}

// Runner runs a Spec and prints what isolationtester prints.
type Runner struct {
	Spec     *Spec
	Backend  Backend
	Out, Err io.Writer

	conns    []Conn // 0 is the control connection, i+1 that of session i
	noticed  []int  // notices that each session ever got
	sessions []active
}

// active is the step that a session is busy with.
type active struct {
	launch *Launch
	goals  []int // of each marker with notices: the count to be reached
}

// Timeout is how long a step may take before it is cancelled: $PGISOLATIONTIMEOUT seconds, 300 by default.
func Timeout() time.Duration {
	if n, err := strconv.Atoi(os.Getenv("PGISOLATIONTIMEOUT")); err == nil {
		return time.Duration(n) * time.Second
	}
	return 300 * time.Second
}

// ErrFailed says that isolationtester would exit with status 1; what it would say has been written to Err.
var ErrFailed = errors.New("the test could not be run to its end")

// Run runs all permutations.
func (r *Runner) Run() error {
	for _, name := range r.Spec.Unused {
		fmt.Fprintf(r.Err, "unused step name: %s\n", name)
	}
	fmt.Fprintf(r.Out, "Parsed test spec with %d sessions\n", len(r.Spec.Sessions))
	names := []string{"control connection"}
	for _, s := range r.Spec.Sessions {
		names = append(names, s.Name)
	}
	r.noticed = make([]int, len(r.Spec.Sessions))
	var err error
	r.conns, err = r.Backend.Connect(names, func(session int, text string) {
		r.noticed[session]++
		fmt.Fprintf(r.Out, "%s: %s", r.Spec.Sessions[session].Name, text)
	})
	if err != nil {
		return err
	}
	r.Spec.Each(func(p Permutation) bool {
		err = r.permutation(p)
		return err == nil
	})
	return err
}

func (r *Runner) fail(format string, args ...any) error {
	fmt.Fprintf(r.Err, format, args...)
	return ErrFailed
}

// permutation runs setups, steps and teardowns of one permutation.
func (r *Runner) permutation(p Permutation) error {
	var names strings.Builder
	for _, l := range p {
		names.WriteString(" " + l.Name)
	}
	fmt.Fprintf(r.Out, "\nstarting permutation:%s\n", names.String())
	for _, sql := range r.Spec.Setups {
		if msg, err := r.whole(0, sql); err != nil {
			return err
		} else if msg != "" {
			return r.fail("setup failed: %s", msg)
		}
	}
	for i, s := range r.Spec.Sessions {
		if s.Setup == "" {
			continue
		}
		if msg, err := r.whole(i+1, s.Setup); err != nil {
			return err
		} else if msg != "" {
			return r.fail("setup of session %s failed: %s", s.Name, msg)
		}
	}
	if err := r.steps(p); err != nil {
		return err
	}
	for i, s := range r.Spec.Sessions {
		if s.Teardown == "" {
			continue
		}
		if msg, err := r.whole(i+1, s.Teardown); err != nil {
			return err
		} else if msg != "" {
			fmt.Fprintf(r.Err, "teardown of session %s failed: %s", s.Name, msg)
		}
	}
	if r.Spec.Teardown == "" {
		return nil
	}
	msg, err := r.whole(0, r.Spec.Teardown)
	if msg != "" {
		fmt.Fprintf(r.Err, "teardown failed: %s", msg)
	}
	return err
}

// whole runs a setup or teardown to its end and prints its last result. It returns the error message.
func (r *Runner) whole(conn int, sql string) (string, error) {
	c := r.conns[conn]
	if err := c.Send(sql); err != nil {
		return "", err
	}
	if _, err := c.Await(false); err != nil {
		return "", err
	}
	a := c.Answer()
	if a.Err == "" && len(a.Results) > 0 {
		if t := a.Results[len(a.Results)-1]; t != nil {
			t.print(r.Out)
		}
	}
	return a.Err, nil
}

// steps launches the steps in their order and reports them as they complete.
func (r *Runner) steps(p Permutation) error {
	r.sessions = make([]active, len(r.Spec.Sessions))
	var waiting []*Launch
	for i := range p {
		l := &p[i]
		limit := time.Now().Add(2 * Timeout())
		for r.sessions[l.Session].launch != nil { // it waited so far; now it has to complete
			old := r.sessions[l.Session].launch
			if time.Now().After(limit) {
				return r.fail("step %s timed out after %d seconds\n", old.Name, int(2*Timeout()/time.Second))
			}
			still, err := r.try(old, true, false)
			if err != nil {
				return err
			}
			if !still {
				waiting = without(waiting, old)
			}
			if waiting, err = r.tryAll(waiting, true); err != nil {
				return err
			}
		}
		sql := r.Spec.Sessions[l.Session].Steps[l.Step].SQL
		var refused *Refused
		if err := r.conns[l.Session+1].Send(sql); errors.As(err, &refused) {
			return err
		} else if err != nil {
			return r.fail("failed to send query for step %s: %s\n", l.Name, err)
		}
		a := active{launch: l, goals: make([]int, len(l.Markers))}
		for k, m := range l.Markers {
			if m.Notices > 0 {
				a.goals[k] = r.noticed[m.OtherSession] + m.Notices
			}
		}
		r.sessions[l.Session] = a
		mustWait, err := r.try(l, false, true)
		if err != nil {
			return err
		}
		if waiting, err = r.tryAll(waiting, true); err != nil {
			return err
		}
		if mustWait {
			waiting = append(waiting, l)
		}
	}
	waiting, err := r.tryAll(waiting, false)
	if err == nil && len(waiting) > 0 {
		return r.fail("failed to complete permutation due to mutually-blocking steps\n")
	}
	return err
}

func without(list []*Launch, l *Launch) []*Launch {
	for i := range list {
		if list[i] == l {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// tryAll tries the waiting steps in their order and returns those that still wait. It goes over them again while markers may
// have come true.
func (r *Runner) tryAll(waiting []*Launch, mayStop bool) ([]*Launch, error) {
	for {
		var left []*Launch
		again, marked := false, false
		before := r.notices()
		for _, l := range waiting {
			still, err := r.try(l, true, mayStop)
			if err != nil {
				return nil, err
			}
			if !still {
				again = true
				continue
			}
			left = append(left, l)
			marked = marked || len(l.Markers) > 0
		}
		again = again || r.notices() != before
		waiting = left
		if !again || !marked {
			return waiting, nil
		}
	}
}

func (r *Runner) notices() (sum int) {
	for _, n := range r.noticed {
		sum += n
	}
	return sum
}

// try sees whether a step has completed and reports it: on the first try as waiting or complete, on a retry only when it
// completes. It returns whether the step still waits.
func (r *Runner) try(l *Launch, retry, mayStop bool) (waits bool, err error) {
	sql := r.Spec.Sessions[l.Session].Steps[l.Step].SQL
	reportWaiting := func() (bool, error) {
		if !retry {
			fmt.Fprintf(r.Out, "step %s: %s <waiting ...>\n", l.Name, sql)
		}
		return true, nil
	}
	if !retry {
		for _, m := range l.Markers {
			if m.Star {
				return reportWaiting()
			}
		}
	}
	c := r.conns[l.Session+1]
	state, err := c.Await(mayStop)
	var late *Overtime
	for errors.As(err, &late) {
		if late.Last {
			return false, r.fail("step %s timed out after %d seconds\n", l.Name, late.Seconds)
		}
		fmt.Fprintf(r.Out, "isolationtester: canceling step %s after %d seconds\n", l.Name, late.Seconds)
		state, err = c.Await(mayStop)
	}
	if err != nil {
		return false, err
	}
	if state == Stuck || r.marked(l) {
		return reportWaiting()
	}
	if retry {
		fmt.Fprintf(r.Out, "step %s: <... completed>\n", l.Name)
	} else {
		fmt.Fprintf(r.Out, "step %s: %s\n", l.Name, sql)
	}
	a := c.Answer()
	for _, t := range a.Results {
		if t != nil {
			t.print(r.Out)
		}
	}
	io.WriteString(r.Out, a.Err)
	for _, n := range c.Notified() {
		fmt.Fprintf(r.Out, "%s: NOTIFY %s\n", r.Spec.Sessions[l.Session].Name, n)
	}
	r.sessions[l.Session] = active{}
	return false, nil
}

// marked says whether a marker of the step keeps it from being reported as complete.
func (r *Runner) marked(l *Launch) bool {
	for k, m := range l.Markers {
		switch {
		case m.Star:
		case m.Notices > 0:
			if r.noticed[m.OtherSession] < r.sessions[l.Session].goals[k] {
				return true
			}
		default:
			if other := r.sessions[m.OtherSession].launch; other != nil && other.Name == m.Other {
				return true
			}
		}
	}
	return false
}

// Overtime is the error of Await when an answer took too long. The first time the request has been cancelled, and the next
// Await goes on waiting for its end.
type Overtime struct {
	Seconds int  // that the step has taken
	Last    bool // it was cancelled before, to no avail
}

func (o *Overtime) Error() string { return fmt.Sprintf("no answer after %d seconds", o.Seconds) }
