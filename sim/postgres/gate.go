package postgres

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// hold stops the backend of a session that waits for a lock. The signal is pending before the backend can wake up, so it
// does nothing more until it is let go; what it waits for may be granted to it meanwhile.
//
// A backend that looks for a deadlock has the whole lock table locked: stopped there it would stop all others too. On a busy machine
// its deadlock_timeout may be over by now. Then it is asked for what the backend waits, and when that is no lock hold says no, and
// the backend goes on.
func (b *Backend) hold(s *session) (done bool, err error) {
	if !b.server.Gated() || s.held {
		return true, nil
	}
	if s.held = unix.Kill(s.w.PID, unix.SIGSTOP) == nil; !s.held {
		return true, nil
	}
	b.server.held.Add(1)
	if time.Since(s.began) < b.patience/2 {
		return true, nil
	}
	// This takes no lock of the lock table.
	rows, err := b.control.w.Rows(fmt.Sprintf("SELECT wait_event_type = 'Lock' OR wait_event = 'SafeSnapshot' FROM pg_catalog.pg_stat_get_activity(%d)", s.w.PID))
	if err == nil && len(rows) == 1 && rows[0][0] == "t" {
		return true, nil
	}
	b.letGo(s)
	return false, err
}

// letGo continues a held backend.
func (b *Backend) letGo(s *session) {
	if s.held {
		_ = unix.Kill(s.w.PID, unix.SIGCONT)
		s.held = false
		b.server.held.Add(-1)
	}
}

// interrupt cancels what the session's backend is doing. SIGINT is what a cancel request makes the server send; sent to a
// held backend it is the first thing that it sees when it goes on.
func (b *Backend) interrupt(s *session) error {
	if !b.server.Gated() {
		return s.w.Cancel(context.Background())
	}
	err := unix.Kill(s.w.PID, unix.SIGINT)
	b.letGo(s)
	return err
}
