package postgres

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"simrun/sim"
)

// Pair is the model and the server in lock-step. The model goes first and predicts whether a request completes or waits, and
// for whom, so that the server's answer is awaited and not guessed; then the two answers are compared. The first difference
// ends the run with a *sim.Divergence.
type Pair struct {
	model   sim.Backend
	seeded  sim.Cloner // the model after the seed, which runs begin with copies of; nil when it resets itself
	server  *Backend
	locks   bool     // compare the session's locks after each step
	last    []string // of each session: its request, for messages
	tracks  bool     // the model was told to tell which locks it acquires
	failure error
	calls   []call // of the run, to do them again
	redone  int    // how often that was needed since the pair was made

	asked     map[string]*sim.Result // answers of Query in the committed state of this fingerprint
	committed uint64
}

// NewPair makes the setup on the model and on the server. compareLocks compares a session's locks with pg_locks after each of its
// steps too.
func (s *Server) NewPair(setup *sim.Setup, compareLocks bool) (sim.Backend, error) {
	model, err := sim.NewModel(setup)
	if err != nil {
		return nil, err
	}
	if m, ok := model.(interface{ ServerVersion(int) }); ok {
		m.ServerVersion(s.version)
	}
	server, err := s.NewBackend(setup)
	if err != nil {
		return nil, err
	}
	return PairOf(model, server, compareLocks), nil
}

// PairOf puts a model and a server that hold the same setup in lock-step.
func PairOf(model sim.Backend, server *Backend, compareLocks bool) *Pair {
	p := &Pair{model: model, server: server, locks: compareLocks}
	if c, ok := model.(sim.Cloner); ok {
		p.seeded, p.model = c, c.Clone()
	}
	return p
}

// Gated says whether the server's backends are held while they wait, see Server.Gated.
func (p *Pair) Gated() bool { return p.server.Gated() }

// Open starts a session on both.
func (p *Pair) Open(session int, spec sim.ActorSpec) error {
	for len(p.last) <= session {
		p.last = append(p.last, "")
	}
	merr := p.model.Open(session, spec)
	_, serr := p.ask(call{session: session, do: func(b *Backend) (sim.Reply, error) { return sim.Reply{}, b.Open(session, spec) }}, sim.Reply{})
	return p.both("open", session, merr, serr)
}

// Close ends the session on both.
func (p *Pair) Close(session int) error {
	merr := p.model.Close(session)
	_, serr := p.ask(call{session: session, do: func(b *Backend) (sim.Reply, error) { return sim.Reply{}, b.Close(session) }}, sim.Reply{})
	return p.both("close", session, merr, serr)
}

// both wants that two calls without an answer fail or succeed alike; a failure of both is the model's.
func (p *Pair) both(what string, session int, model, server error) error {
	if (model == nil) == (server == nil) {
		return model
	}
	return p.diverge(fmt.Sprintf("%s of session %d", what, session), "outcome", errorText(model), errorText(server))
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

func (p *Pair) diverge(step, what, model, server string) error {
	if p.failure == nil {
		if !p.Gated() {
			what += " (sessions that one step frees race each other on a server that simrun did not start)"
		}
		p.failure = &sim.Divergence{Step: step, What: what, Model: model, Server: server}
	}
	return p.failure
}

// Submit starts a request on both.
func (p *Pair) Submit(session int, req sim.Request) (sim.Reply, error) {
	if p.failure != nil {
		return sim.Reply{}, p.failure
	}
	model, err := p.model.Submit(session, req)
	if err != nil {
		return model, err
	}
	p.last[session] = describe(session, req)
	if err := p.refused(session, model); err != nil {
		return model, err
	}
	expect := predicted(model)
	server, err := p.ask(call{session: session, do: func(b *Backend) (sim.Reply, error) { return b.submit(session, req, expect) }}, model)
	if err != nil {
		return model, err
	}
	return model, p.compare(session, model, server)
}

// Resume lets a woken session go on, on both.
func (p *Pair) Resume(session int) (sim.Reply, error) {
	if p.failure != nil {
		return sim.Reply{}, p.failure
	}
	model, err := p.model.Resume(session)
	if err != nil {
		return model, err
	}
	if err := p.refused(session, model); err != nil {
		return model, err
	}
	expect := predicted(model)
	server, err := p.ask(call{session: session, do: func(b *Backend) (sim.Reply, error) { return b.resume(session, expect) }}, model)
	if err != nil {
		return model, err
	}
	return model, p.compare(session, model, server)
}

// refused ends the run when the model does not support a statement, which is no divergence.
func (p *Pair) refused(session int, r sim.Reply) error {
	if r.Err != nil && r.Err.Code == "0A000" && strings.HasSuffix(r.Err.Message, Refusal) {
		p.failure = &sim.Unsupported{SQL: p.last[session], Err: r.Err}
		return p.failure
	}
	return nil
}

// Refusal is how the messages end by which the model says that it does not support something. SQL that no Postgres supports
// has the same SQLSTATE, 0A000.
const Refusal = " not supported by the model"

// Interrupt ends the blocked statement of a session, on both.
func (p *Pair) Interrupt(session int, sqlstate string) (sim.Reply, error) {
	if p.failure != nil {
		return sim.Reply{}, p.failure
	}
	model, err := p.model.Interrupt(session, sqlstate)
	if err != nil {
		return model, err
	}
	end := call{session: session, do: func(b *Backend) (sim.Reply, error) { return b.Interrupt(session, sqlstate) }, victim: sqlstate == "40P01"}
	server, err := p.ask(end, model)
	if err != nil {
		return model, err
	}
	return model, p.compare(session, model, server)
}

func predicted(r sim.Reply) expectation {
	if r.Blocked {
		return expectWait
	}
	return expectAnswer
}

// describe is a request in words.
func describe(session int, req sim.Request) string {
	text := fmt.Sprintf("session %d: %s", session, strings.TrimSpace(req.SQL))
	if len(req.Args) > 0 {
		text += fmt.Sprintf(" with %v", req.Args)
	}
	return text
}

// compare wants that both gave the same answer and stand the same afterwards.
func (p *Pair) compare(session int, model, server sim.Reply) error {
	step := p.last[session]
	if model.Blocked != server.Blocked {
		return p.diverge(step, "outcome", Summary(model), Summary(server))
	}
	if model.Blocked {
		return p.compareWaits(session, model, server)
	}
	if what, m, s := differ(model, server, strings.Contains(strings.ToLower(step), "order by")); what != "" {
		return p.diverge(step, what, m, s)
	}
	if p.locks && (model.Err == nil || model.Err.Severity != "FATAL") {
		return p.compareLocks(session)
	}
	return nil
}

// compareWaits compares for whom the two wait.
func (p *Pair) compareWaits(session int, model, server sim.Reply) error {
	if closed := p.model.Deadlock(); len(closed) > 0 && len(p.server.Deadlock()) == 0 {
		return p.diverge(p.last[session], "deadlock", fmt.Sprint("sessions ", closed), "none")
	}
	if !slices.Equal(model.By, server.By) {
		return p.diverge(p.last[session], "holders", Summary(model), Summary(server))
	}
	return nil
}

// Woken appends the blocked sessions whose wait is over, in the model's order.
func (p *Pair) Woken(buf []int) []int {
	if p.failure != nil {
		return buf
	}
	n := len(buf)
	buf = p.model.Woken(buf)
	if !p.Gated() {
		return buf // freed sessions went on at once, and others may be freed by them
	}
	model, server := slices.Sorted(slices.Values(buf[n:])), p.server.Woken(nil)
	if !slices.Equal(model, server) {
		_ = p.diverge("the last step", "woken sessions", fmt.Sprint(model), fmt.Sprint(server))
		return buf[:n]
	}
	return buf
}

// Deadlock returns the sessions of a closed wait cycle. Each blocked reply was compared in this respect.
func (p *Pair) Deadlock() []int { return p.model.Deadlock() }

// SetNow sets the simulated time of both.
func (p *Pair) SetNow(t time.Time) error {
	merr := p.model.SetNow(t)
	_, serr := p.ask(call{do: func(b *Backend) (sim.Reply, error) { return sim.Reply{}, b.SetNow(t) }}, sim.Reply{})
	return p.both("setting the clock", -1, merr, serr)
}

// Query runs a read-only query on both, once for each committed state: invariants ask the same again and again. While an actor
// has a table locked against readers, the answer is the model's alone.
func (p *Pair) Query(sql string) (*sim.Result, error) {
	if p.failure != nil {
		return nil, p.failure
	}
	if c, ok := p.model.(sim.Cloner); ok {
		if now := c.CommittedFingerprint(); now != p.committed || p.asked == nil {
			p.committed, p.asked = now, map[string]*sim.Result{}
		}
		if r := p.asked[sql]; r != nil {
			return r, nil
		}
	}
	model, merr := p.model.Query(sql)
	server, serr := p.server.Query(sql)
	m, s := sim.Reply{Result: model, Err: databaseError(merr)}, sim.Reply{Result: server, Err: databaseError(serr)}
	if serr != nil && s.Err == nil {
		return nil, serr
	}
	if merr != nil && m.Err == nil {
		return nil, merr
	}
	if s.Err != nil && s.Err.Code == "55P03" {
		return model, merr
	}
	if what, ms, ss := differ(m, s, false); what != "" {
		return nil, p.diverge("query "+sql, what, ms, ss)
	}
	if merr == nil && p.asked != nil {
		p.asked[sql] = model
	}
	return model, merr
}

// Reset takes both back to the seed.
func (p *Pair) Reset() error {
	p.failure, p.asked, p.calls = nil, nil, nil
	p.server.patience = deadlockTimeout
	if p.seeded != nil {
		p.model = p.seeded.Clone()
		if p.tracks {
			p.Track(true)
		}
		return p.server.Reset()
	}
	return p.both("reset", -1, p.model.Reset(), p.server.Reset())
}

// Shutdown frees both.
func (p *Pair) Shutdown() error {
	merr := p.model.Shutdown()
	if err := p.server.Shutdown(); err != nil {
		return err
	}
	return merr
}

// Track and Acquired are the model's.
func (p *Pair) Track(on bool) {
	if t, ok := p.model.(sim.LockTracker); ok {
		t.Track(on)
		p.tracks = on
	}
}

// Acquired returns the locks that the session acquired in its last step, as the model tells them.
func (p *Pair) Acquired(session int) []sim.Lock {
	if t, ok := p.model.(sim.LockTracker); ok {
		return t.Acquired(session)
	}
	return nil
}

var (
	_ sim.Backend     = (*Pair)(nil)
	_ sim.LockTracker = (*Pair)(nil)
)
