package spec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"simrun/sim/postgres/wire"
)

// Server runs specs on a real server, in a database that may be left changed. Sessions have the settings that
// pg_isolation_regress gives them; all else is the server's.
type Server struct {
	// URL is the connection string of the database.
	URL string

	control *serverConn
	conns   []*serverConn
	pids    string        // of all sessions, as an array
	usual   time.Duration // that a request takes which does not wait, on average
}

// regressSettings are those of pg_isolation_regress, by its environment and by ALTER DATABASE.
var regressSettings = map[string]string{
	"TimeZone": "PST8PDT", "DateStyle": "Postgres, MDY", "IntervalStyle": "postgres_verbose", "lc_messages": "C", "lc_monetary": "C",
	"lc_numeric": "C", "lc_time": "C", "bytea_output": "hex", "timezone_abbreviations": "Default", "client_encoding": "UTF8",
}

// Waiting for an answer: first quietly for some times what answers usually take, since most steps are quick and asking takes a
// processor from them, then by asking whether the session is blocked, with a breath in between that doubles up to a pause.
const (
	quietLeast = 400 * time.Microsecond
	quietMost  = 10 * time.Millisecond
	quietTimes = 4
	breath     = 50 * time.Microsecond
	pause      = 2 * time.Millisecond
)

// Connect opens the connections, the old ones being closed first.
func (s *Server) Connect(sessions []string, notice func(session int, text string)) ([]Conn, error) {
	s.Close()
	config, err := pgconn.ParseConfig(s.URL)
	if err != nil {
		return nil, err
	}
	s.conns = make([]*serverConn, len(sessions))
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	for i, name := range sessions {
		c := config.Copy()
		maps.Copy(c.RuntimeParams, regressSettings)
		c.RuntimeParams["application_name"] = "isolation/" + name
		wg.Go(func() {
			var w *wire.Conn
			if w, errs[i] = wire.Dial(context.Background(), c); errs[i] == nil {
				s.conns[i] = &serverConn{server: s, w: w}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Close()
		return nil, err
	}
	list := make([]Conn, len(s.conns))
	pids := make([]string, 0, len(s.conns))
	for i, c := range s.conns {
		list[i] = c
		if i > 0 {
			c.notice = func(text string) { notice(i-1, text) }
			c.name = sessions[i]
			pids = append(pids, fmt.Sprint(c.w.PID))
		}
	}
	s.control = s.conns[0]
	s.pids = "{" + strings.Join(pids, ",") + "}"
	return list, nil
}

// Close ends the connections.
func (s *Server) Close() {
	for _, c := range s.conns {
		if c != nil {
			c.w.Close()
		}
	}
	s.conns = nil
}

// blocked asks the server whether the session waits for another one of the test.
func (s *Server) blocked(c *serverConn) (bool, error) {
	rows, err := s.control.w.Rows(fmt.Sprintf("SELECT pg_catalog.pg_isolation_test_session_is_blocked(%d, '%s')", c.w.PID, s.pids))
	if err != nil {
		return false, err
	}
	return rows[0][0] == "t", nil
}

type serverConn struct {
	server *Server
	w      *wire.Conn
	name   string
	notice func(text string) // nil drops notices

	busy      bool // the answer is not complete
	stuck     bool // it has waited for a lock
	lost      bool
	cancelled bool
	since     time.Time
	answer    Answer
	table     *Table
	notified  []string
}

func (c *serverConn) Send(sql string) error {
	if c.lost {
		return errors.New("no connection to the server")
	}
	c.busy, c.stuck, c.cancelled, c.answer, c.table = true, false, false, Answer{}, nil
	c.since = time.Now()
	c.w.SendQuery(&pgproto3.Query{String: sql})
	return c.w.Flush()
}

func (c *serverConn) Await(mayStop bool) (State, error) {
	limit := min(max(quietLeast, quietTimes*c.server.usual), quietMost)
	if !mayStop {
		limit = pause
	}
	for next := breath; ; next = min(2*next, pause) {
		if err := c.read(limit); err != nil {
			return 0, err
		}
		if !c.busy {
			return Answered, nil
		}
		if mayStop {
			blocked, err := c.server.blocked(c)
			if err != nil {
				return 0, err
			}
			if blocked {
				// What the session sent before it blocked may still be in the socket, and so may an answer that came meanwhile.
				if err := c.read(0); err != nil || !c.busy {
					return Answered, err
				}
				c.stuck = true
				return Stuck, nil
			}
			limit = next
		}
		if c == c.server.control {
			continue // setups and teardowns may take for ever
		}
		switch took := time.Since(c.since); {
		case took > 2*Timeout():
			return 0, &Overtime{Seconds: int(took / time.Second), Last: true}
		case took > Timeout() && !c.cancelled:
			c.cancelled = true
			if err := c.w.Cancel(context.Background()); err != nil {
				return 0, err
			}
			return 0, &Overtime{Seconds: int(took / time.Second)}
		}
	}
}

// read takes in what has come, waiting at most limit for each message.
func (c *serverConn) read(limit time.Duration) error {
	for c.busy {
		msg, err := c.w.Receive(limit)
		switch {
		case errors.Is(err, wire.ErrNotYet):
			return nil
		case errors.Is(err, wire.ErrLost):
			c.lost, c.busy = true, false
			c.answer.Err += "server closed the connection unexpectedly\n" +
				"\tThis probably means the server terminated abnormally\n\tbefore or while processing the request.\n\n"
			return nil
		case err != nil:
			return err
		}
		switch m := msg.(type) {
		case *pgproto3.RowDescription:
			c.table = &Table{}
			for _, f := range m.Fields {
				c.table.Names = append(c.table.Names, string(f.Name))
			}
		case *pgproto3.DataRow:
			row := make([]string, len(m.Values))
			for i, v := range m.Values {
				row[i] = string(v)
			}
			c.table.Rows = append(c.table.Rows, row)
		case *pgproto3.CommandComplete, *pgproto3.EmptyQueryResponse:
			c.answer.Results = append(c.answer.Results, c.table)
			c.table = nil
		case *pgproto3.ErrorResponse:
			c.answer.Err = m.Severity + ":  " + m.Message + "\n"
		case *pgproto3.NoticeResponse:
			if c.notice != nil {
				c.notice(noticeText(m))
			}
		case *pgproto3.NotificationResponse:
			c.notified = append(c.notified, fmt.Sprintf("%q with payload %q from %s", m.Channel, m.Payload, c.server.nameOf(int(m.PID))))
		case *pgproto3.CopyInResponse, *pgproto3.CopyOutResponse, *pgproto3.CopyBothResponse:
			return errors.New("COPY between client and server is not supported in a spec")
		case *pgproto3.ReadyForQuery:
			c.busy = false
			if !c.stuck {
				c.server.usual += (time.Since(c.since) - c.server.usual) / 8
			}
		}
	}
	return nil
}

// noticeText is a notice as libpq prints it.
func noticeText(m *pgproto3.NoticeResponse) string {
	text := m.Severity + ":  " + m.Message + "\n"
	if m.Detail != "" {
		text += "DETAIL:  " + m.Detail + "\n"
	}
	if m.Hint != "" {
		text += "HINT:  " + m.Hint + "\n"
	}
	return text
}

func (s *Server) nameOf(pid int) string {
	for _, c := range s.conns {
		if c.w.PID == pid && c.name != "" {
			return c.name
		}
	}
	return fmt.Sprintf("PID %d", pid)
}

func (c *serverConn) Answer() Answer { return c.answer }

func (c *serverConn) Notified() []string {
	list := c.notified
	c.notified = nil
	return list
}
