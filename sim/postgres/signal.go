package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"simrun/model/types"
	"simrun/sim"
	"simrun/sim/postgres/wire"
)

// The functions simrun.pg_cancel_backend and simrun.pg_terminate_backend tell what they have done by a message to the session that
// called them, which is kept from it. A backend that waits for a lock is held (see hold): it sees the signal when Resume lets it go
// on. An idle one exits at once, and has freed its locks when it closes the connection.

// signal is what a statement has done to a session.
type signal struct {
	session   int
	terminate bool
}

// signalOf reads such a message: "cancel 1", "terminate 2", by the number that pg_backend_pid() gives.
func signalOf(e *types.Error) (signal, bool) {
	if e.Code != "SIMSG" {
		return signal{}, false
	}
	what, pid, _ := strings.Cut(e.Message, " ")
	n, err := strconv.Atoi(pid)
	return signal{n - 1, what == "terminate"}, err == nil
}

// deliver does what the signals ask for that the session's statement has sent so far.
func (b *Backend) deliver(s *session) error {
	signals := s.ans.signals
	s.ans.signals = nil
	for _, sig := range signals {
		other := b.session(sig.session)
		if other == nil || !other.open || other.gone != nil {
			continue
		}
		other.killed = other.killed || sig.terminate && other.waits
		other.signalled = other.waits
		if !other.busy && sig.terminate {
			if err := other.exited(); err != nil {
				return err
			}
		}
	}
	return nil
}

// exited waits until the backend of a terminated session is gone, which is when it has closed the connection.
func (s *session) exited() error {
	for {
		msg, err := s.w.Receive(hopeless)
		switch {
		case errors.Is(err, wire.ErrNotYet):
			return fmt.Errorf("session %d was terminated and does not exit", s.index)
		case err != nil && s.gone == nil:
			return err
		case err != nil:
			return nil
		}
		if m, ok := msg.(*pgproto3.ErrorResponse); ok {
			s.gone = wire.ErrorOf(m)
		}
	}
}

// expire ends an idle session's connection as idle_in_transaction_session_timeout does.
func (b *Backend) expire(s *session) error {
	if s.gone != nil {
		return nil
	}
	if err := b.control.w.Run(fmt.Sprintf("SELECT pg_catalog.pg_terminate_backend(%d)", s.w.PID)); err != nil {
		return err
	}
	if err := s.exited(); err != nil {
		return err
	}
	e := interruptions[sim.IdleTimeout]
	s.gone = &types.Error{Severity: "FATAL", Code: e.code, Message: e.message}
	return nil
}
