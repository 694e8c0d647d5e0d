package sql

import (
	"slices"

	"simrun/model/types"
)

// interruptions are the errors that come from outside of a session, by cause.
var interruptions = map[string]struct{ code, message string }{
	"40P01":             {"40P01", "deadlock detected"},
	"55P03":             {"55P03", "canceling statement due to lock timeout"},
	"57014":             {"57014", "canceling statement due to user request"},
	"statement_timeout": {"57014", "canceling statement due to statement timeout"},
	"57P01":             {"57P01", "terminating connection due to administrator command"},
	"25P03":             {"25P03", "terminating connection due to idle-in-transaction timeout"},
}

// interruption is the error of a cause.
func interruption(cause string) *types.Error {
	e, ok := interruptions[cause]
	if !ok {
		e.code, e.message = cause, "canceling statement due to user request"
	}
	err := types.NewError(e.code, e.message)
	switch e.code {
	case "40P01":
		err.Hint = "See server log for query details."
	case "57P01", "25P03":
		err.Severity = "FATAL"
	}
	return err
}

// Interrupt makes the wait of a blocked session fail with an error, which a PL/pgSQL block may catch; the statement then goes
// on to its end or to its next wait. A session that is not blocked can only be terminated, with a FATAL error that its next
// request is told; the reply is empty then.
func (d *Database) Interrupt(i int, cause string) Reply {
	s := d.session(i)
	d.startStep()
	err := interruption(cause)
	switch {
	case s.req != nil:
		s.signal = ""
		d.st.Interrupt(s.id, err)
		return d.resume(s)
	case err.Severity == "FATAL":
		d.terminate(s, err)
		return Reply{}
	}
	return Reply{Err: types.NewError("XX000", "the session is not blocked"), Tx: d.txByte(s)}
}

// terminate ends the server process of an idle session: its transaction is rolled back and its locks are freed.
func (d *Database) terminate(s *session, err *types.Error) {
	if s.gone != nil {
		return
	}
	d.rollback(s)
	d.st.ReleaseAll(s.id)
	s.settings = settings{}
	s.gone = err
}

// signal is a call of pg_cancel_backend or pg_terminate_backend on another session.
type signal struct {
	session   int
	terminate bool
}

// Signal is pg_cancel_backend and pg_terminate_backend. A statement that runs again after a wait gets the answers it had.
func (rn *run) Signal(pid int32, terminate bool) (bool, error) {
	r := rn.req
	if rn.signalAt < len(r.signals) {
		rn.signalAt++
		return r.signals[rn.signalAt-1], nil
	}
	ok, err := rn.send(int(pid-1), terminate)
	if err != nil {
		return false, err
	}
	if !ok {
		rn.notices = append(rn.notices, &types.Error{Severity: "WARNING", Code: "01000",
			Message: "PID " + types.NewInt4(pid).Text() + " is not a PostgreSQL backend process"})
	}
	r.signals = append(r.signals[:len(r.signals):len(r.signals)], ok)
	rn.signalAt++
	return ok, nil
}

// version16 is from when on errors about the rights to signal have other words.
const version16 = 160000

// send signals session i: false when there is no such process. A session that signals itself fails at once; what comes over
// others is seen when the statement has ended or waits.
func (rn *run) send(i int, terminate bool) (bool, error) {
	d := rn.d
	d.st.TouchEverything()
	if !d.IsOpen(i) || d.sess[i].gone != nil {
		return false, nil
	}
	if !d.isSuperuser(rn.s, rn.s.user()) { // every session is one of the superuser, whatever role is set in it
		what, thing := "cancel", "superuser query"
		if terminate {
			what, thing = "terminate", "superuser process"
		}
		message := "must be a superuser to " + what + " " + thing
		if d.st.Version() >= version16 {
			message = "permission denied to " + what + " " + thing[len("superuser "):]
		}
		return false, types.NewError("42501", message)
	}
	if d.sess[i] == rn.s {
		if terminate {
			return false, interruption("57P01")
		}
		return false, interruption("57014")
	}
	d.signals = append(d.signals, signal{i, terminate})
	return true, nil
}

// deliver brings the signals of a statement to the sessions: a blocked one sees it when it goes on, an idle one is terminated, and
// has nothing to cancel.
func (d *Database) deliver() {
	if len(d.signals) == 0 {
		return
	}
	for _, sig := range d.signals {
		if !d.IsOpen(sig.session) {
			continue
		}
		s := d.session(sig.session)
		switch {
		case s.req != nil && sig.terminate:
			s.signal = "57P01"
		case s.req != nil && s.signal == "":
			s.signal = "57014"
		case s.req == nil && sig.terminate:
			d.terminate(s, interruption("57P01"))
		}
	}
	d.signals = nil
}

// signalled appends the blocked sessions that go on because they were signalled, by their numbers, to those that were woken.
func (d *Database) signalled(buf []int) []int {
	for i, s := range d.sess {
		if s != nil && s.signal != "" && !slices.Contains(buf, i) {
			buf = append(buf, i)
		}
	}
	return buf
}
