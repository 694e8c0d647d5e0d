// Package wire is a connection to a PostgreSQL server whose messages can be awaited for a limited time.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sys/unix"
)

// Conn is one connection to the server, whose messages can be awaited for a limited time without losing any. That is what
// pgconn cannot do, and what a blocked session needs: its request stays in flight while others go on.
//
// It reads and writes the socket by system calls of the calling thread: a round trip through Go's network poller takes half as
// long again. It is for one goroutine at a time.
type Conn struct {
	PID                int  // process id of the backend
	Tx                 byte // as the last ReadyForQuery said: 'I' idle, 'T' in a transaction block, 'E' in a failed one
	*pgproto3.Frontend      // to send messages; Flush ends with ErrLost when the connection is gone
	sock               *socket
	config             *pgconn.Config
	secret             []byte
}

// ErrNotYet says that no whole message has come in the time given.
var ErrNotYet = errors.New("no message yet")

// ErrLost says that the connection is gone.
var ErrLost = errors.New("the connection to the server is lost")

// Dial opens a connection. When ctx is done, what waits on it or begins to wait ends with ErrLost.
func Dial(ctx context.Context, config *pgconn.Config) (*Conn, error) {
	pc, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	h, err := pc.Hijack()
	if err != nil {
		return nil, err
	}
	s := &socket{ctx: ctx, conn: h.Conn, fd: -1}
	if sc, ok := h.Conn.(syscall.Conn); ok && h.TLSConfig == nil {
		if raw, err := sc.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { s.fd = int(fd) })
		}
	}
	return &Conn{PID: int(h.PID), secret: h.SecretKey, Tx: h.TxStatus, Frontend: pgproto3.NewFrontend(s, s), sock: s, config: config}, nil
}

// Outlive lets the connection be used after its context is done.
func (w *Conn) Outlive() { w.sock.ctx = context.WithoutCancel(w.sock.ctx) }

// Receive returns the next message; its memory is good until the next call. A negative limit waits for ever. Messages that
// belong to no request are dealt with here.
func (w *Conn) Receive(limit time.Duration) (pgproto3.BackendMessage, error) {
	w.sock.limit = limit
	for {
		msg, err := w.Frontend.Receive()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, ErrNotYet
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrLost, err)
		}
		switch m := msg.(type) {
		case *pgproto3.ReadyForQuery:
			w.Tx = m.TxStatus
		case *pgproto3.ParameterStatus:
			continue
		}
		return msg, nil
	}
}

// Cancel asks the server to cancel what the backend is doing, over a connection of its own.
func (w *Conn) Cancel(ctx context.Context) error {
	conn, err := w.config.DialFunc(ctx, network(w.config), address(w.config))
	if err != nil {
		return err
	}
	defer conn.Close()
	buf, err := (&pgproto3.CancelRequest{ProcessID: uint32(w.PID), SecretKey: w.secret}).Encode(nil)
	if err != nil {
		return err
	}
	if _, err = conn.Write(buf); err != nil {
		return err
	}
	_, _ = io.ReadAll(conn) // the server closes it when the signal is sent
	return nil
}

func network(c *pgconn.Config) string {
	n, _ := pgconn.NetworkAddress(c.Host, c.Port)
	return n
}

func address(c *pgconn.Config) string {
	_, a := pgconn.NetworkAddress(c.Host, c.Port)
	return a
}

// Flush sends what was buffered.
func (w *Conn) Flush() error {
	if err := w.Frontend.Flush(); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return nil
}

// Close ends the connection in order; the backend rolls back and exits soon after.
func (w *Conn) Close() {
	w.Frontend.Send(&pgproto3.Terminate{})
	_ = w.Frontend.Flush()
	_ = w.sock.conn.Close()
}

// attention is after how long a wait notices that its context is done.
const attention = 100 * time.Millisecond

// A socket reads with a time limit. It keeps net.Conn, whose collection would close the file descriptor.
type socket struct {
	ctx   context.Context
	conn  net.Conn
	fd    int           // -1: encrypted, so only conn may read
	limit time.Duration // of the next Read; negative is none
}

func (s *socket) Read(p []byte) (int, error) {
	if s.fd < 0 {
		var deadline time.Time
		if s.limit >= 0 {
			deadline = time.Now().Add(max(s.limit, time.Millisecond))
		}
		_ = s.conn.SetReadDeadline(deadline)
		defer context.AfterFunc(s.ctx, func() { _ = s.conn.SetReadDeadline(time.Now()) })()
		n, err := s.conn.Read(p)
		if n == 0 && err != nil && s.ctx.Err() != nil {
			err = s.ctx.Err()
		}
		return n, err
	}
	rest := s.limit
	for {
		n, err := unix.Read(s.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			if err := s.ctx.Err(); err != nil {
				return 0, err
			}
			if rest == 0 {
				return 0, os.ErrDeadlineExceeded
			}
			slice := rest
			if slice < 0 || slice > attention {
				slice = attention
			}
			ready, err := poll(s.fd, unix.POLLIN, slice)
			if err != nil {
				return 0, err
			}
			if !ready && rest > 0 {
				rest -= slice
			}
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (s *socket) Write(p []byte) (int, error) {
	if s.fd < 0 {
		return s.conn.Write(p)
	}
	written := 0
	for written < len(p) {
		n, err := unix.Write(s.fd, p[written:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if _, err := poll(s.fd, unix.POLLOUT, -1); err != nil {
				return written, err
			}
		case err != nil:
			return written, err
		default:
			written += n
		}
	}
	return written, nil
}

// poll waits until the file descriptor is ready. Its limit is exact to some 50 us, where Go's timers round up to 1 ms.
func poll(fd int, events int16, limit time.Duration) (bool, error) {
	var ts *unix.Timespec
	if limit >= 0 {
		t := unix.NsecToTimespec(int64(limit))
		ts = &t
	}
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Ppoll(fds, ts, nil)
		if err == unix.EINTR {
			continue
		}
		return n > 0, err
	}
}
