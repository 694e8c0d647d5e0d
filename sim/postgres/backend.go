package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"simrun/sim"
	"simrun/sim/postgres/wire"
)

// Backend is a real server as a sim.Backend: one connection for each session, which lasts over all runs, in a database of
// its own.
//
// A server orders the sessions that one COMMIT frees as it likes, and picks as a deadlock's victim whoever looks first. So
// that a run can be repeated, a backend that waits for a lock is stopped with SIGSTOP (it sleeps, and holds nothing that
// others need but its locks) until Resume lets it go on; deadlocks are found only by the session that Interrupt lets go. On a
// server that simrun did not start this is not possible, and Gated says no: then freed sessions go on at once.
type Backend struct {
	server   *Server
	setup    *sim.Setup
	asks     asking // what the schema may ask about sessions, for all statements
	database string
	control  *session // asks who waits for whom, runs invariants, resets
	sessions []*session
	byPID    map[int]int // index of the session by its backend's process id
	now      time.Time
	ddl      int  // counts statements that changed the schema
	altered  bool // deleting all rows does not give back what the schema made
	resets   resetter
	clean    bool          // nothing was opened since the seed was made
	err      error         // that ended the backend: the connection or the protocol failed
	patience time.Duration // deadlock_timeout of sessions opened from now on, see redo.go
}

// expectation is what a caller that knows better says about the answer to a request; it saves asking.
type expectation uint8

const (
	expectNothing expectation = iota
	expectAnswer              // it completes
	expectWait                // it blocks
)

// Limits of waiting for an answer, before the lock table is asked.
const (
	unasked    = 150 * time.Microsecond // nothing is known: most statements are done by then
	believed   = 3 * time.Second        // an answer is expected: asking is only to find out why there is none
	hopeless   = 60 * time.Second       // neither an answer nor a wait for a lock
	impatience = 5 * time.Millisecond   // of asking without a pause
)

// NewBackend makes a backend on a database of the server with the setup's schema and seed: on one that a backend with the same
// schema has left, or on a new one.
func (s *Server) NewBackend(setup *sim.Setup) (*Backend, error) {
	if b, err := s.unpark(setup); b != nil || err != nil {
		return b, err
	}
	name, err := s.CreateDatabase()
	if err != nil {
		return nil, err
	}
	b := &Backend{server: s, setup: setup, asks: asksOf(setup.Schema), database: name, byPID: map[int]int{}, patience: deadlockTimeout}
	if err := b.prepare(); err != nil {
		return nil, errors.Join(err, b.remove())
	}
	return b, nil
}

// Gated says whether the backend decides the order in which freed sessions go on, see Server.Gated.
func (b *Backend) Gated() bool { return b.server.Gated() }

func (b *Backend) dial(index int) (*wire.Conn, error) {
	params := map[string]string{}
	for k, v := range sessionSettings {
		params[k] = v
	}
	if b.server.version >= 180000 {
		params["enable_self_join_elimination"] = "off" // the model reads a table as often as it is named
	}
	params["simrun.pid"] = strconv.Itoa(index + 1)
	params["application_name"] = "simrun/" + strconv.Itoa(index+1)
	if index < 0 {
		params["application_name"] = "simrun, control" // out of sight of pg_stat_activity
	}
	return wire.Dial(b.server.ctx, b.server.connConfig(b.database, params))
}

// Open starts a session for an actor.
func (b *Backend) Open(index int, spec sim.ActorSpec) error {
	for len(b.sessions) <= index {
		b.sessions = append(b.sessions, nil)
	}
	if s := b.sessions[index]; s != nil && s.open {
		if err := b.Close(index); err != nil {
			return err
		}
	}
	s := b.sessions[index]
	if s == nil {
		w, err := b.dial(index)
		if err != nil {
			return err
		}
		s = &session{w: w, index: index, prepared: map[string]*statement{}}
		b.sessions[index] = s
		b.byPID[w.PID] = index
	}
	s.open = true
	b.clean = false
	var sql strings.Builder
	if s.parked {
		s.parked = false
		sql.WriteString("RESET application_name;")
	}
	if b.patience != deadlockTimeout {
		fmt.Fprintf(&sql, "SET deadlock_timeout = %d;", b.patience.Milliseconds())
	}
	for _, kv := range spec.Settings {
		fmt.Fprintf(&sql, "SELECT simrun.set_config(%s, %s, false);", literal(kv[0]), literal(kv[1]))
	}
	if spec.Role != "" {
		fmt.Fprintf(&sql, "SET ROLE %s;", identifier(spec.Role))
	}
	if sql.Len() == 0 {
		return nil
	}
	if err := s.w.Run(sql.String()); err != nil {
		return fmt.Errorf("settings of actor %s: %w", spec.Name, err)
	}
	return nil
}

// cleanup takes a session back to what it was after connecting, with nothing held.
const cleanup = "RESET SESSION AUTHORIZATION; RESET ALL; CLOSE ALL; UNLISTEN *; SELECT pg_catalog.pg_advisory_unlock_all();" +
	" DISCARD SEQUENCES; DISCARD TEMP"

// Close ends the session as a lost connection does. The connection itself, unless it has ended, is kept for the next Open.
func (b *Backend) Close(index int) error {
	s := b.session(index)
	if s == nil || !s.open {
		return nil
	}
	s.open, s.signalled = false, false
	if s.busy {
		if err := b.abandon(s); err != nil {
			return err
		}
	}
	if s.gone != nil {
		s.w.Close()
		delete(b.byPID, s.w.PID)
		b.sessions[index] = nil
		return nil
	}
	sql := cleanup
	if s.w.Tx != 'I' {
		sql = "ROLLBACK;" + cleanup
	}
	s.clock, s.txnClock, s.clockTx, s.starts = time.Time{}, time.Time{}, false, ""
	return s.w.Run(sql)
}

// abandon cancels the request in flight and waits until the server has dropped it.
func (b *Backend) abandon(s *session) error {
	if err := b.interrupt(s); err != nil {
		return err
	}
	for deadline := time.Now().Add(hopeless); ; {
		done, err := s.proceed(100 * time.Millisecond)
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("session %d does not end its statement", s.index)
		}
	}
}

func (b *Backend) session(index int) *session {
	if index < 0 || index >= len(b.sessions) {
		return nil
	}
	return b.sessions[index]
}

// Submit starts a request in an idle session.
func (b *Backend) Submit(index int, req sim.Request) (sim.Reply, error) {
	return b.submit(index, req, expectNothing)
}

func (b *Backend) submit(index int, req sim.Request, expect expectation) (sim.Reply, error) {
	s := b.session(index)
	switch {
	case s == nil || !s.open:
		return sim.Reply{}, fmt.Errorf("session %d is not open", index)
	case s.busy:
		return sim.Reply{}, fmt.Errorf("session %d has a request already", index)
	case s.gone != nil:
		return sim.Reply{Err: s.gone}, nil
	}
	if s.ddl != b.ddl {
		clear(s.prepared)
		s.ddl = b.ddl
	}
	if err := s.start(req, s.clockSettings(b.now)+b.processSettings(s, req.SQL)); err != nil {
		return sim.Reply{}, err
	}
	return b.await(s, expect)
}

// await waits until the session's request is answered or waits for a lock.
func (b *Backend) await(s *session, expect expectation) (sim.Reply, error) {
	limit := unasked
	switch expect {
	case expectAnswer:
		limit = believed
	case expectWait:
		limit = 0
	}
	begun := time.Now()
	for {
		done, err := s.proceed(limit)
		if err != nil {
			return sim.Reply{}, err
		}
		if err := b.deliver(s); err != nil {
			return sim.Reply{}, err
		}
		if done {
			return b.answered(s), nil
		}
		by, err := b.blockers(s)
		if err != nil {
			return sim.Reply{}, err
		}
		if len(by[0]) > 0 {
			held, err := b.hold(s)
			if err != nil {
				return sim.Reply{}, err
			}
			if s.waits = held; held {
				return sim.Reply{Blocked: true, By: by[0], On: "a lock"}, nil
			}
		}
		waited := time.Since(begun)
		switch {
		case waited > hopeless:
			return sim.Reply{}, fmt.Errorf("session %d neither answers nor waits for a lock: %s", s.index, s.req.SQL)
		case waited > impatience:
			limit = time.Millisecond
		default:
			limit = 0
		}
	}
}

func (b *Backend) answered(s *session) sim.Reply {
	s.settle()
	if changesSchema(s.ans.first) {
		b.ddl++
		b.altered = true
	}
	return s.reply()
}

// blockers returns, for each of the sessions, which sessions it waits for: those that hold a lock in its way, and those that
// are before it in the queue for one. The list of a session that does not wait is empty.
func (b *Backend) blockers(sessions ...*session) ([][]int, error) {
	var sql strings.Builder
	sql.WriteString("SELECT ")
	for i, s := range sessions {
		if i > 0 {
			sql.WriteString(", ")
		}
		fmt.Fprintf(&sql, "pg_catalog.pg_blocking_pids(%d) || pg_catalog.pg_safe_snapshot_blocking_pids(%d)", s.w.PID, s.w.PID)
	}
	rows, err := b.control.w.Rows(sql.String())
	if err != nil {
		return nil, err
	}
	lists := make([][]int, len(sessions))
	for i, text := range rows[0] {
		for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
			pid, _ := strconv.Atoi(f)
			if other, ours := b.byPID[pid]; ours {
				lists[i] = append(lists[i], other)
			}
		}
		slices.Sort(lists[i])
		lists[i] = slices.Compact(lists[i])
	}
	return lists, nil
}

func (b *Backend) waiting() []*session {
	var list []*session
	for _, s := range b.sessions {
		if s != nil && s.waits {
			list = append(list, s)
		}
	}
	return list
}

// Woken appends the sessions whose wait is over, in the order of their numbers.
func (b *Backend) Woken(buf []int) []int {
	waiting := b.waiting()
	if len(waiting) == 0 || b.err != nil {
		return buf
	}
	lists, err := b.blockers(waiting...)
	if err != nil {
		b.err = err
		return buf
	}
	for i, s := range waiting {
		if len(lists[i]) == 0 || s.signalled {
			buf = append(buf, s.index)
		}
	}
	return buf
}

// Resume lets a woken session go on.
func (b *Backend) Resume(index int) (sim.Reply, error) { return b.resume(index, expectNothing) }

func (b *Backend) resume(index int, expect expectation) (sim.Reply, error) {
	s := b.session(index)
	if s == nil || !s.waits {
		return sim.Reply{}, fmt.Errorf("session %d does not wait", index)
	}
	if s.held {
		s.began = time.Now()
	}
	s.waits, s.signalled, s.looked = false, false, false
	b.letGo(s)
	return b.await(s, expect)
}

// Deadlock returns the sessions of a closed wait cycle, sorted, or none. Whether the server can break it by changing the
// order of a queue only Interrupt shows: then the victim waits on, in the new order.
func (b *Backend) Deadlock() []int {
	waiting := b.waiting()
	if len(waiting) < 2 || b.err != nil {
		return nil
	}
	lists, err := b.blockers(waiting...)
	if err != nil {
		b.err = err
		return nil
	}
	edges := map[int][]int{}
	for i, s := range waiting {
		edges[s.index] = lists[i]
	}
	return cycle(edges)
}

// cycle returns the nodes of the first cycle found from the smallest node on, sorted.
func cycle(edges map[int][]int) []int {
	var path []int
	done := map[int]bool{}
	var visit func(n int) []int
	visit = func(n int) []int {
		if i := slices.Index(path, n); i >= 0 {
			found := slices.Clone(path[i:])
			slices.Sort(found)
			return found
		}
		if done[n] {
			return nil
		}
		path = append(path, n)
		for _, next := range edges[n] {
			if found := visit(next); found != nil {
				return found
			}
		}
		path = path[:len(path)-1]
		done[n] = true
		return nil
	}
	var nodes []int
	for n := range edges {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes)
	for _, n := range nodes {
		if found := visit(n); found != nil {
			return found
		}
	}
	return nil
}

// Interrupt ends the blocked statement of a session, or for sim.IdleTimeout the connection of an idle one. A deadlock's victim is
// let go and finds the deadlock itself; the other errors are those of a cancelled statement, and of a terminated backend, under
// the cause asked for, since the server's own timers are off; so is a deadlock of a victim that has looked for one before.
func (b *Backend) Interrupt(index int, cause string) (sim.Reply, error) {
	s := b.session(index)
	if s != nil && s.open && !s.busy && cause == sim.IdleTimeout {
		return sim.Reply{}, b.expire(s)
	}
	if s == nil || !s.waits {
		return sim.Reply{}, fmt.Errorf("session %d does not wait", index)
	}
	if cause != "40P01" || s.looked {
		s.failed = cause
		if err := b.interrupt(s); err != nil {
			return sim.Reply{}, err
		}
		s.waits, s.signalled = false, false
		return b.await(s, expectAnswer)
	}
	b.letGo(s)
	// Once its timeout is over, counted from when it began to wait, the backend looks for the deadlock and fails, or breaks it by
	// changing the order of a queue and waits on.
	for begun := time.Now(); ; {
		done, err := s.proceed(b.patience)
		if err != nil {
			return sim.Reply{}, err
		}
		if done {
			return b.answered(s), nil
		}
		if time.Since(begun) > 2*b.patience && !slices.Contains(b.Deadlock(), index) || time.Since(begun) > hopeless {
			return b.resume(index, expectNothing)
		}
	}
}

// SetNow sets the simulated time. Sessions are told with their next statement.
func (b *Backend) SetNow(t time.Time) error {
	b.now = t
	return nil
}

// Query runs a read-only query on committed data. While an actor has a table locked against readers it fails with 55P03.
func (b *Backend) Query(sql string) (*sim.Result, error) {
	s := b.control
	if err := s.start(sim.Request{SQL: sql}, s.clockSettings(b.now)); err != nil {
		return nil, err
	}
	if _, err := s.proceed(-1); err != nil {
		return nil, err
	}
	if s.ans.err != nil {
		return nil, s.ans.err
	}
	return s.ans.first, b.err
}

// Shutdown ends the sessions. The database is kept for another backend with the same schema, or dropped.
func (b *Backend) Shutdown() error {
	if b.park() {
		return nil
	}
	return b.remove()
}

// remove closes the connections and drops the database.
func (b *Backend) remove() error {
	b.disconnect()
	return b.server.DropDatabase(b.database)
}

func (b *Backend) disconnect() {
	for _, s := range b.sessions {
		if s != nil {
			b.letGo(s)
			s.w.Close()
		}
	}
	b.sessions = nil
	if b.control != nil {
		b.control.w.Close()
		b.control = nil
	}
}

// literal and identifier quote for SQL.
func literal(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), `\`, `\\`) + "'"
}

func identifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

var _ sim.Backend = (*Backend)(nil)
