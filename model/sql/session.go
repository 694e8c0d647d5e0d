package sql

import (
	"sync"

	"simrun/model/storage"
	"simrun/model/types"
)

// session is the SQL side of a session: settings, savepoints and the request in progress. Copied before it is changed when
// a clone shares it.
type session struct {
	owner uint64
	id    storage.SessionID
	login string // the role that opened the session
	settings
	txSettings settings // at the start of the transaction, for rollback
	saved      []savepoint
	txStart    int64 // simulated time of BEGIN
	explicit   bool  // in a transaction block
	readOnly   bool
	ranAny     bool            // the transaction has run a statement with a snapshot
	req        *request        // blocked, nil otherwise
	signal     string          // cause with which the blocked request ends when it goes on, "" when nobody has signalled
	gone       *types.Error    // why there is no server process any more; the next request is told
	activity   [][]types.Value // pg_stat_activity, as the transaction has read it first
	query      string          // of the last request
	asked      int64           // simulated time at which it came
}

// savepoint remembers the settings at a SAVEPOINT.
type savepoint struct {
	name string
	settings
}

// request is what a session was asked and has not answered yet. It is immutable once the session blocks.
type request struct {
	stmts    []*statement
	args     []any
	extended bool
	at       int     // statement in progress
	first    *Result // results of the statements before it
	last     *Result
	before   settings          // of the session before the statement in progress
	started  int64             // when the request came
	clock    []int64           // what clock_timestamp() has answered in the statement in progress
	signals  []bool            // what pg_cancel_backend and pg_terminate_backend have
	views    [][][]types.Value // what system views have answered
}

func newSession(d *Database, id storage.SessionID) *session {
	return &session{owner: d.owner, id: id, login: superuser}
}

// superuser is the role that owns the database.
const superuser = "postgres"

func (s *session) fingerprint(h uint64) uint64 {
	if s.login != superuser {
		h = types.HashString(h, s.login)
	}
	h = s.settings.hash(h)
	flags := uint64(0)
	if s.explicit {
		flags |= 1
		h = s.txSettings.hash(h)
		h = mixHash(h, uint64(s.txStart))
	}
	if s.readOnly {
		flags |= 2
	}
	if s.activity != nil {
		h = hashRows(h, s.activity)
	}
	if s.gone != nil {
		h = types.HashString(h, s.gone.Code)
	}
	for i := range s.saved {
		h = types.HashString(h, s.saved[i].name)
		h = s.saved[i].settings.hash(h)
	}
	if r := s.req; r != nil {
		h = mixHash(h, uint64(r.at)+7)
		h = types.HashString(h, r.stmts[r.at].sql)
		h = hashArgs(h, r.args)
		h = mixHash(h, uint64(r.started))
		h = types.HashString(h, s.signal)
		for _, ok := range r.signals {
			h = types.Hash(h, types.NewBool(ok))
		}
		for _, at := range r.clock {
			h = mixHash(h, uint64(at))
		}
		for _, view := range r.views {
			h = hashRows(h, view)
		}
		for _, res := range []*Result{r.first, r.last} {
			if res != nil {
				h = hashRows(h, res.Rows)
			}
		}
	}
	return mixHash(h, flags)
}

func hashRows(h uint64, rows [][]types.Value) uint64 {
	h = mixHash(h, uint64(len(rows)))
	for _, row := range rows {
		for _, v := range row {
			h = types.Hash(h, v)
		}
	}
	return h
}

// Submit starts a request. Without args it is a simple query, possibly of several statements in one transaction; with args
// (also empty ones) it is one statement of the extended protocol.
func (d *Database) Submit(i int, sql string, args []any) Reply {
	return d.submit(i, parseText(sql), args, args != nil)
}

func (d *Database) submit(i int, t *text, args []any, extended bool) Reply {
	s := d.session(i)
	d.startStep()
	if s.gone != nil {
		return d.failed(s, s.gone)
	}
	if t.err != nil {
		return d.failed(s, t.err)
	}
	if extended && len(t.stmts) > 1 {
		return d.failed(s, types.NewError("42601", "cannot insert multiple commands into a prepared statement"))
	}
	if len(t.stmts) == 0 {
		return Reply{Result: &Result{}, Tx: d.txByte(s)}
	}
	s.query, s.asked = t.stmts[0].sql, d.now
	r := requests.Get().(*request)
	*r = request{stmts: t.stmts, args: args, extended: extended, started: d.now}
	return d.advance(s, r, nil)
}

// Resume lets a woken session go on.
func (d *Database) Resume(i int) Reply {
	s := d.session(i)
	d.startStep()
	if s.req == nil {
		return Reply{Err: types.NewError("XX000", "the session is not blocked"), Tx: d.txByte(s)}
	}
	if s.signal != "" {
		d.st.Interrupt(s.id, interruption(s.signal))
		s.signal = ""
	}
	return d.resume(s)
}

func (d *Database) resume(s *session) Reply {
	r := requests.Get().(*request)
	*r = *s.req
	s.req = nil
	s.settings = r.before
	return d.advance(s, r, d.st.Rerun(s.id))
}

// requests has requests for the next use.
var requests = sync.Pool{New: func() any { return new(request) }}

// advance runs the statements of a request until it is answered or blocks. x is the statement to run again after a wait.
func (d *Database) advance(s *session, r *request, x *storage.Exec) Reply {
	rep := d.answer(s, r, x)
	if s.req != r {
		*r = request{}
		requests.Put(r)
	}
	return rep
}

func (d *Database) answer(s *session, r *request, x *storage.Exec) Reply {
	for ; r.at < len(r.stmts); r.at++ {
		if x == nil {
			r.before, r.clock, r.views, r.signals = s.settings, nil, nil, nil
		}
		res, err := d.statement(s, r, x)
		x = nil
		d.deliver()
		if err == storage.ErrWait {
			s.req = r
			return d.blocked(s)
		}
		if err != nil {
			rep := d.failed(s, asError(err))
			rep.Result = r.first
			return rep
		}
		if len(r.stmts) > 1 {
			own := *res // results without rows may be those of others too
			res = &own
		}
		if r.last == nil {
			r.first = res
		} else {
			r.last.Next = res
		}
		r.last = res
	}
	if !s.explicit && d.st.InTx(s.id) != storage.Idle {
		if err := d.commit(s); err != nil {
			rep := d.failed(s, asError(err))
			return rep
		}
	}
	return Reply{Result: r.first, Tx: d.txByte(s)}
}

func asError(err error) *types.Error {
	if e, ok := err.(*types.Error); ok {
		return e
	}
	return types.NewError("XX000", err.Error())
}

func (d *Database) blocked(s *session) Reply {
	return Reply{Blocked: true, By: d.BlockedBy(int(s.id)), On: d.waitText(s.id)}
}

// failed answers with an error and does to the transaction what an error does.
func (d *Database) failed(s *session, err *types.Error) Reply {
	s.req, s.signal = nil, ""
	switch d.st.InTx(s.id) {
	case storage.Active:
		if err.Code == "" && s.explicit {
			break // the client's own error
		}
		d.st.Fail(s.id)
		s.settings = s.txSettings
		if n := len(s.saved); n > 0 {
			s.settings = s.saved[n-1].settings
		}
		if !s.explicit {
			s.endTx()
		}
	case storage.Failed:
	}
	if err.Severity == "FATAL" {
		d.Close(int(s.id))
		return Reply{Err: err}
	}
	return Reply{Err: err, Tx: d.txByte(s)}
}

func (d *Database) txByte(s *session) byte {
	switch {
	case d.st.InTx(s.id) == storage.Failed:
		return 'E'
	case s.explicit:
		return 'T'
	}
	return 'I'
}

// TxState is 'I', 'T' or 'E', as ReadyForQuery has it.
func (d *Database) TxState(i int) byte { return d.txByte(d.sess[i]) }

// begin starts a transaction, explicit or of a request.
func (d *Database) begin(s *session, explicit bool) {
	s.txSettings, s.txStart, s.explicit, s.ranAny = s.settings, d.now, explicit, false
	o := storage.TxOptions{Implicit: !explicit}
	if len(s.current()) > 0 {
		o.Isolation = isolationOf(s.get("default_transaction_isolation"))
		o.ReadOnly = s.get("default_transaction_read_only") == "on"
	}
	s.readOnly = o.ReadOnly
	d.st.Begin(s.id, o)
}

// endTx forgets what belongs to a transaction.
func (s *session) endTx() {
	s.explicit, s.readOnly, s.ranAny, s.activity = false, false, false, nil
	s.saved = s.saved[:0]
	s.txSettings = settings{}
}

// commit ends the transaction; SET LOCAL values go.
func (d *Database) commit(s *session) error {
	if err := d.st.Commit(s.id); err != nil {
		s.settings = s.txSettings
		s.endTx()
		return err
	}
	s.settings.endLocal()
	s.endTx()
	return nil
}

func (d *Database) rollback(s *session) {
	if d.st.InTx(s.id) != storage.Idle {
		d.st.Abort(s.id)
		s.settings = s.txSettings
	}
	s.endTx()
}

// statement runs one statement of a request, from its start or again after a wait.
func (d *Database) statement(s *session, r *request, x *storage.Exec) (*Result, error) {
	st := r.stmts[r.at]
	if x == nil && d.st.InTx(s.id) == storage.Failed && !exitStatement(st.raw) {
		return nil, types.NewError("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	}
	if d.st.InTx(s.id) == storage.Idle {
		d.begin(s, false)
	}
	c, err := d.compiled(s, st, r.extended)
	if err != nil {
		return nil, err
	}
	if c.control != nil {
		return c.control(d, s)
	}
	if x == nil {
		x = d.st.NewExec(s.id)
	}
	res, err := d.execute(s, r, c, x)
	if failed := x.Err(); failed != nil {
		err = failed // a dangerous structure of SERIALIZABLE that a read has completed, before whatever came then
	}
	if e, ok := err.(*types.Error); err == nil || ok && e.Code == "" {
		x.End()
	}
	return res, err
}
