package postgres

import (
	"context"

	"golang.org/x/sys/unix"
)

// hold stops the backend of a session that waits for a lock. The signal is pending before the backend can wake up, so it
// does nothing more until it is let go; what it waits for may be granted to it meanwhile.
func (b *Backend) hold(s *session) {
	if b.server.Gated() && !s.held {
		if s.held = unix.Kill(s.w.PID, unix.SIGSTOP) == nil; s.held {
			b.server.held.Add(1)
		}
	}
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
