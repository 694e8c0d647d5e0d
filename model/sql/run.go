package sql

import (
	"simrun/model/storage"
	"simrun/model/types"
)

// run is a statement in execution. It implements builtin.Env.
type run struct {
	d        *Database
	s        *session
	x        *storage.Exec
	snap     storage.Snapshot
	req      *request
	clockAt  int // how many times clock_timestamp() has been asked
	viewAt   int // how many times a system view has been read
	signalAt int // how many signals have been sent
	notices  []*types.Error
	after    []func() error // AFTER triggers and foreign-key checks, for the end of the statement
	depth    int            // of function and trigger calls
}

// affecting is a node that changes rows.
type affecting interface{ affected(f *frame) int64 }

func (c *Compiled) frame() *frame {
	if f := c.spare.get(); f != nil {
		return f
	}
	f := c.newFrame()
	f.run = new(run)
	return f
}

// execute runs a statement from its start.
func (d *Database) execute(s *session, r *request, c *Compiled, x *storage.Exec) (*Result, error) {
	f := c.frame()
	rn := f.run
	*rn = run{d: d, s: s, x: x, req: r, after: rn.after[:0]}
	f.gen++
	res, err := d.executeFrame(f, r, c)
	*rn = run{after: rn.after[:0]}
	if err == nil {
		c.spare.put(f)
	}
	return res, err
}

func (d *Database) executeFrame(f *frame, r *request, c *Compiled) (*Result, error) {
	rn := f.run
	s, x := rn.s, rn.x
	if c.fail == nil {
		if err := c.bind(f, r); err != nil {
			return nil, err
		}
	}
	if c.util != nil {
		if err := c.allowed(s); err != nil {
			return nil, err
		}
	}
	if c.snapshot && d.st.TxOptions(s.id).Isolation != storage.ReadCommitted {
		rn.snap = x.Snapshot() // before the relation locks, as parse analysis needs one
		s.ranAny = true
	}
	for i := range c.locks {
		if _, err := x.LockTable(c.locks[i].rel.ID, c.locks[i].mode, storage.Wait); err != nil {
			return nil, err
		}
	}
	if c.fail != nil {
		return nil, c.fail
	}
	if err := c.allowed(s); err != nil {
		return nil, err
	}
	if len(c.privs) > 0 {
		if err := d.checkPrivileges(s, c.privs); err != nil {
			return nil, err
		}
	}
	if c.util != nil {
		res, err := c.util(rn)
		if err == nil {
			err = rn.finish()
		}
		if res != nil {
			res.Notices = append(res.Notices, rn.notices...)
		}
		return res, err
	}
	for _, start := range c.starts {
		if err := start(f); err != nil {
			return nil, err
		}
	}
	rn.snap = x.Snapshot()
	s.ranAny = true
	return c.runPlan(f)
}

// allowed refuses a statement that writes or locks rows in a read-only transaction.
func (c *Compiled) allowed(s *session) error {
	if c.writes && s.readOnly {
		return types.Errorf("25006", "cannot execute %s in a read-only transaction", c.name)
	}
	return nil
}

func firstWord(s string) string {
	for i := range s {
		if s[i] == ' ' {
			return s[:i]
		}
	}
	return s
}

// runPlan runs a plan to its end.
func (c *Compiled) runPlan(f *frame) (*Result, error) {
	rn, p := f.run, c.plan
	n := len(p.outs)
	var res *Result // once there is a row
	if err := p.root.open(f); err != nil {
		return nil, err
	}
	for {
		ok, err := p.root.next(f)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		var buf []types.Value
		if res == nil {
			res, buf = newResult(n)
			res.Fields = c.fields
		} else {
			buf = make([]types.Value, 0, n)
		}
		row, err := p.row(f, buf)
		if err != nil {
			return nil, err
		}
		res.Rows = append(res.Rows, row)
	}
	// Data-modifying WITH queries that were not read to their end, the last first (es_auxmodifytables).
	for i := len(c.dml) - 1; i >= 0; i-- {
		if err := c.dml[i].finish(f); err != nil {
			return nil, err
		}
	}
	if err := rn.finish(); err != nil {
		return nil, err
	}
	count := int64(0)
	if a, ok := p.root.(affecting); ok {
		count = a.affected(f)
	} else if res != nil {
		count = int64(len(res.Rows))
	}
	if res == nil {
		if rn.notices == nil && count < int64(len(c.empty)) {
			return c.emptyResult(count), nil
		}
		res = &Result{Fields: c.fields}
	}
	res.Tag = tagOf(c.tag, count)
	res.Notices = rn.notices
	return res, nil
}

// emptyResult is a result without rows, which all that have the same share.
func (c *Compiled) emptyResult(count int64) *Result {
	if res := c.empty[count].Load(); res != nil {
		return res
	}
	res := &Result{Fields: c.fields, Tag: tagOf(c.tag, count)}
	c.empty[count].Store(res)
	return res
}

// newResult makes a result with room for a row of n values in the same piece of memory, as most results have no more.
func newResult(n int) (*Result, []types.Value) {
	switch n {
	case 1:
		r := new(oneRow[[1]types.Value])
		r.Rows = r.rows[:0]
		return &r.Result, r.vals[:0]
	case 2:
		r := new(oneRow[[2]types.Value])
		r.Rows = r.rows[:0]
		return &r.Result, r.vals[:0]
	case 3:
		r := new(oneRow[[3]types.Value])
		r.Rows = r.rows[:0]
		return &r.Result, r.vals[:0]
	}
	return &Result{}, make([]types.Value, 0, n)
}

type oneRow[V any] struct {
	Result
	rows [1][]types.Value
	vals V
}

// finish runs what waits for the end of the statement.
func (rn *run) finish() error {
	for i := 0; i < len(rn.after); i++ {
		if err := rn.after[i](); err != nil {
			return err
		}
	}
	rn.after = rn.after[:0]
	return nil
}

// smallTags keeps the most frequent tags, so that a statement need not build its own.
var smallTags = func() map[string][]string {
	m := map[string][]string{}
	for _, t := range []string{"SELECT", "INSERT 0", "UPDATE", "DELETE"} {
		for i := range 16 {
			m[t] = append(m[t], t+" "+itoa(i))
		}
	}
	return m
}()

func tagOf(tag string, n int64) string {
	if list := smallTags[tag]; n < int64(len(list)) {
		return list[n]
	}
	return tag + " " + types.NewInt8(n).Text()
}

// bind encodes the arguments of a request for the parameter types.
func (c *Compiled) bind(f *frame, r *request) error {
	if len(r.args) != len(c.params) {
		return clientError("expected %d arguments, got %d", len(c.params), len(r.args))
	}
	f.params = f.params[:0]
	for i, arg := range r.args {
		if name, ok := arg.(string); ok && c.params[i].Kind == types.Regclass {
			v, err := f.run.regclass(name)
			if err != nil {
				return err
			}
			f.params = append(f.params, v)
			continue
		}
		v, err := encode(arg, c.params[i])
		if err != nil {
			return err
		}
		f.params = append(f.params, v)
	}
	return nil
}

// clientError is an error that pgx finds before it sends anything: it has no SQLSTATE, and the transaction does not notice.
func clientError(format string, args ...any) *types.Error {
	e := types.Errorf("", format, args...)
	return e
}

// encode makes the value that a client sends for an argument.
func encode(arg any, t types.Type) (types.Value, error) {
	switch v := arg.(type) {
	case nil:
		return types.Null(t), nil
	case int64:
		if t.Kind == types.Int8 {
			return types.NewInt8(v), nil
		}
	case string:
		if t.Kind == types.Text {
			return types.NewText(v), nil
		}
	case types.Value:
		if v.T == t {
			return v, nil
		}
		if !v.Valid {
			return types.Null(t), nil
		}
		return types.Parse(v.Text(), t)
	}
	return types.FromGo(arg, t)
}

func hashArgs(h uint64, args []any) uint64 {
	for _, a := range args {
		if v, err := encode(a, types.Type{Kind: types.Text}); err == nil {
			h = types.Fingerprint(h, v)
			continue
		}
		switch v := a.(type) {
		case int:
			h = mixHash(h, uint64(v))
		case int32:
			h = mixHash(h, uint64(v))
		case int64:
			h = mixHash(h, uint64(v))
		case bool:
			if v {
				h = mixHash(h, 1)
			}
		case types.Value:
			h = types.Fingerprint(h, v)
		}
	}
	return h
}

// warn adds a warning to the result.
func (rn *run) warn(code, message string) {
	e := types.NewError(code, message)
	e.Severity = "WARNING"
	rn.notices = append(rn.notices, e)
}

func (rn *run) notice(code, message string) {
	e := types.NewError(code, message)
	e.Severity = "NOTICE"
	rn.notices = append(rn.notices, e)
}
