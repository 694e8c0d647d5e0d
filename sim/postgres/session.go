package postgres

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"simrun/model/types"
	"simrun/sim"
	"simrun/sim/postgres/wire"
)

// A session is an actor's connection, with the request that is in flight on it. The connection outlives the runs: a new one
// costs 20 to 30 ms.
type session struct {
	w      *wire.Conn
	index  int
	open   bool
	parked bool      // not shown in pg_stat_activity
	busy   bool      // a request is in flight
	waits  bool      // ... and it waits for a lock
	held   bool      // ... and its backend is stopped with SIGSTOP
	began  time.Time // not later than that wait
	failed string    // cause that a cancel request stands for, "" otherwise

	looked    bool         // it has looked for a deadlock in this wait, and does so once only
	signalled bool         // its statement waits, and goes on because somebody has signalled it
	killed    bool         // pg_terminate_backend was called on it: the connection is about to end
	gone      *types.Error // why the connection has ended

	prepared map[string]*statement
	serial   int // names of prepared statements are never used twice
	ddl      int // Backend.ddl when prepared was last emptied

	clock, txnClock time.Time // that the session's settings say; zero when unknown
	starts          string    // statement that tells the open transaction when others began, see processSettings
	clockTx         bool      // the settings were changed in the open transaction, whose end may undo it

	stage stage
	skip  int // answers to settings that were sent ahead
	req   sim.Request
	stmt  *statement
	ans   answer
}

type stage uint8

const (
	simple    stage = iota // a Query message was sent
	preparing              // Parse and Describe were sent
	executing              // Bind, Execute and Sync were sent, or Sync after an error
)

// A statement is prepared on the server; its types are those of the server's analysis.
type statement struct {
	name   string
	params []types.Type
	fields []sim.Field
}

// An answer collects the messages of a reply.
type answer struct {
	first, last *sim.Result
	fields      []sim.Field
	rows        [][]types.Value
	notices     []*types.Error
	signals     []signal
	err         *types.Error
}

// maxPrepared bounds the statements that a session keeps prepared.
const maxPrepared = 500

// start sends a request. Settings to be made before it go in the same packet.
func (s *session) start(req sim.Request, settings string) error {
	s.busy, s.req, s.ans, s.skip, s.failed, s.killed, s.looked = true, req, answer{}, 0, "", false, false
	s.began = time.Now()
	if settings != "" && s.w.Tx != 'E' {
		s.w.SendQuery(&pgproto3.Query{String: settings})
		s.skip++
	}
	if req.Args == nil {
		s.stage = simple
		s.w.SendQuery(&pgproto3.Query{String: virtualTimeouts(req.SQL)})
		return s.w.Flush()
	}
	if s.stmt = s.prepared[req.SQL]; s.stmt != nil {
		return s.execute()
	}
	if len(s.prepared) >= maxPrepared && s.w.Tx != 'E' {
		s.w.SendQuery(&pgproto3.Query{String: "DEALLOCATE ALL"})
		s.skip++
		clear(s.prepared)
	}
	s.stage = preparing
	s.serial++
	s.stmt = &statement{name: fmt.Sprintf("s%d", s.serial)}
	s.w.SendParse(&pgproto3.Parse{Name: s.stmt.name, Query: virtualTimeouts(req.SQL)})
	s.w.SendDescribe(&pgproto3.Describe{ObjectType: 'S', Name: s.stmt.name})
	// Flush, not Sync: the locks that analysis took are kept, and a wait has its one place in the queue.
	s.w.Send(&pgproto3.Flush{})
	return s.w.Flush()
}

// execute binds the arguments to the prepared statement and executes it.
func (s *session) execute() error {
	s.stage = executing
	if len(s.req.Args) != len(s.stmt.params) {
		return s.giveUp(fmt.Errorf("expected %d arguments, got %d", len(s.stmt.params), len(s.req.Args)))
	}
	params := make([][]byte, len(s.req.Args))
	for i, arg := range s.req.Args {
		var err error
		if params[i], err = encode(arg, s.stmt.params[i]); err != nil {
			return s.giveUp(err)
		}
	}
	s.ans.fields = s.stmt.fields
	s.w.SendBind(&pgproto3.Bind{PreparedStatement: s.stmt.name, Parameters: params})
	s.w.SendExecute(&pgproto3.Execute{})
	s.w.SendSync(&pgproto3.Sync{})
	return s.w.Flush()
}

// giveUp ends a request that cannot be sent, as pgx does: with an error of the client, which leaves the transaction as it is.
func (s *session) giveUp(err error) error {
	s.ans.err = &types.Error{Severity: "ERROR", Message: err.Error()}
	s.w.SendSync(&pgproto3.Sync{})
	return s.w.Flush()
}

// encode is the text form of an argument, nil for NULL. Strings go as they are, so that the server judges them.
func encode(arg any, t types.Type) ([]byte, error) {
	if str, ok := arg.(string); ok {
		return []byte(str), nil
	}
	v, err := types.FromGo(arg, t)
	if err != nil || !v.Valid {
		return nil, err
	}
	return []byte(v.Text()), nil
}

// proceed reads what has come of the answer, waiting at most limit for each message (negative: for ever). It returns
// whether the answer is complete.
func (s *session) proceed(limit time.Duration) (done bool, err error) {
	for {
		msg, err := s.w.Receive(limit)
		if err == wire.ErrNotYet {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if s.skip > 0 {
			switch m := msg.(type) {
			case *pgproto3.ReadyForQuery:
				s.skip--
			case *pgproto3.ErrorResponse:
				return false, fmt.Errorf("setting the session's clock: %w", wire.ErrorOf(m))
			}
			continue
		}
		switch m := msg.(type) {
		case *pgproto3.ReadyForQuery:
			s.busy, s.waits = false, false
			return true, nil
		case *pgproto3.ErrorResponse:
			s.ans.err = wire.ErrorOf(m)
			if m.Severity == "FATAL" && (s.killed || slices.Contains(s.ans.signals, signal{s.index, true})) {
				s.busy, s.waits, s.gone = false, false, s.ans.err
				return true, s.exited()
			}
			if m.Severity == "FATAL" || m.Severity == "PANIC" {
				return false, fmt.Errorf("%w: %w", wire.ErrLost, s.ans.err)
			}
			if s.stage == preparing {
				s.stage = executing
				s.w.SendSync(&pgproto3.Sync{})
				if err := s.w.Flush(); err != nil {
					return false, err
				}
			}
		case *pgproto3.ParameterDescription:
			s.stmt.params = make([]types.Type, len(m.ParameterOIDs))
			for i, oid := range m.ParameterOIDs {
				s.stmt.params[i] = typeOf(oid)
			}
		case *pgproto3.RowDescription:
			fields := make([]sim.Field, len(m.Fields))
			for i, f := range m.Fields {
				fields[i] = sim.Field{Name: string(f.Name), Type: typeOf(f.DataTypeOID)}
			}
			s.ans.fields = fields
			if s.stage == preparing {
				s.stmt.fields = fields
				if err := s.described(); err != nil {
					return false, err
				}
			}
		case *pgproto3.NoData:
			if s.stage == preparing {
				if err := s.described(); err != nil {
					return false, err
				}
			}
		case *pgproto3.CopyInResponse, *pgproto3.CopyBothResponse:
			s.w.Send(&pgproto3.CopyFail{Message: "COPY is not supported here"})
			if err := s.w.Flush(); err != nil {
				return false, err
			}
		default:
			if err := s.ans.add(msg); err != nil {
				return false, err
			}
		}
	}
}

func (s *session) described() error {
	s.prepared[s.req.SQL] = s.stmt
	return s.execute()
}

// add takes in a message that is part of a result.
func (a *answer) add(msg pgproto3.BackendMessage) error {
	switch m := msg.(type) {
	case *pgproto3.DataRow:
		row := make([]types.Value, len(m.Values))
		for i, v := range m.Values {
			var err error
			if row[i], err = decode(v, a.fields[i].Type); err != nil {
				return fmt.Errorf("column %s: %w", a.fields[i].Name, err)
			}
		}
		a.rows = append(a.rows, row)
	case *pgproto3.CommandComplete:
		a.finish(string(m.CommandTag))
	case *pgproto3.EmptyQueryResponse:
		a.finish("")
	case *pgproto3.NoticeResponse:
		e := wire.ErrorOf((*pgproto3.ErrorResponse)(m))
		if sig, ok := signalOf(e); ok {
			a.signals = append(a.signals, sig)
			break
		}
		a.notices = append(a.notices, e)
	}
	return nil
}

func (a *answer) finish(tag string) {
	r := &sim.Result{Tag: tag, Fields: a.fields, Rows: a.rows, Notices: a.notices}
	if a.first == nil {
		a.first = r
	} else {
		a.last.Next = r
	}
	a.last = r
	a.fields, a.rows, a.notices = nil, nil, nil
}

// reply is the answer, once it is complete.
func (s *session) reply() sim.Reply {
	if s.ans.err != nil && s.failed != "" && s.ans.err.Code == "57014" {
		e := interruptions[s.failed]
		s.ans.err = &types.Error{Code: e.code, Severity: "ERROR", Message: e.message}
	}
	if s.gone != nil {
		return sim.Reply{Result: s.ans.first, Err: s.gone}
	}
	return sim.Reply{Result: s.ans.first, Err: s.ans.err, Tx: s.w.Tx}
}

// typeOf is the type with the number; types that the model does not have are text, as they are on the wire.
func typeOf(oid uint32) types.Type {
	t, ok := types.FromOID(oid)
	if !ok {
		return types.Of(types.Text)
	}
	switch t.Kind {
	case types.Regclass, types.Regtype, types.Record, types.Unknown: // their text is no value by itself
		return types.Of(types.Text)
	case types.Array:
		if t.Elem == types.Record || t.Elem == types.Regclass || t.Elem == types.Regtype {
			return types.Of(types.Text)
		}
	}
	return t
}

func decode(text []byte, t types.Type) (types.Value, error) {
	if text == nil {
		return types.Null(t), nil
	}
	if t.Kind == types.Void {
		return types.Value{T: t, Valid: true}, nil
	}
	return types.Parse(string(text), t)
}

// changesSchema says whether a command tag is of a statement that can change what prepared statements and the reset of the
// database rely on.
func changesSchema(r *sim.Result) bool {
	for ; r != nil; r = r.Next {
		verb, _, _ := strings.Cut(r.Tag, " ")
		switch verb {
		case "CREATE", "ALTER", "DROP", "GRANT", "REVOKE", "REASSIGN", "COMMENT", "CLUSTER":
			return true
		}
	}
	return false
}
