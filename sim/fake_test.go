package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"simrun/model/types"
)

// fake is a database of integer registers with locks, for tests of the world alone. Its statements: "begin", "commit",
// "rollback", "savepoint x", "get k", "set k v", "add k n", "lock k", "select 1/0", "fail CODE". A register that a transaction
// has locked or written is locked until its end; others wait in order.
type fake struct {
	committed map[string]int
	sessions  []fakeSession
	now       time.Time
}

type fakeSession struct {
	open   bool
	tx     byte
	writes map[string]int
	locks  []string
	wants  string // the register it waits for
	sql    string
}

func newFake(regs map[string]int) *fake { return &fake{committed: maps.Clone(regs)} }

func (f *fake) Clone() Backend {
	c := &fake{committed: maps.Clone(f.committed), sessions: slices.Clone(f.sessions), now: f.now}
	for i := range c.sessions {
		c.sessions[i].writes = maps.Clone(c.sessions[i].writes)
		c.sessions[i].locks = slices.Clone(c.sessions[i].locks)
	}
	return c
}

func (f *fake) Fingerprint() uint64 {
	return hashString(0, fmt.Sprint(f.committed, f.sessions))
}

func (f *fake) CommittedFingerprint() uint64 { return hashString(0, fmt.Sprint(f.committed)) }

func (f *fake) Open(i int, _ ActorSpec) error {
	for len(f.sessions) <= i {
		f.sessions = append(f.sessions, fakeSession{})
	}
	f.sessions[i] = fakeSession{open: true, tx: 'I'}
	return nil
}

func (f *fake) Close(i int) error { f.sessions[i] = fakeSession{tx: 'I'}; return nil }

func (f *fake) owner(reg string) int {
	for i := range f.sessions {
		if slices.Contains(f.sessions[i].locks, reg) {
			return i
		}
	}
	return -1
}

func (f *fake) Submit(i int, req Request) (Reply, error) {
	s := &f.sessions[i]
	if !s.open || s.wants != "" {
		return Reply{}, fmt.Errorf("fake: session %d cannot take %q", i, req.SQL)
	}
	s.sql = req.SQL
	return f.run(i)
}

// run runs the session's statement, which stays its own as long as it waits.
func (f *fake) run(i int) (r Reply, _ error) {
	s := &f.sessions[i]
	s.wants = ""
	defer func() {
		if !r.Blocked {
			s.sql = ""
		}
	}()
	w := strings.Fields(s.sql)
	ok := func(tag string) (Reply, error) { return Reply{Result: &Result{Tag: tag}, Tx: s.tx}, nil }
	bad := func(code, msg string) (Reply, error) {
		if s.tx == 'T' {
			s.tx, s.writes, s.locks = 'E', nil, nil
		}
		return Reply{Err: types.NewError(code, msg), Tx: s.tx}, nil
	}
	verb := strings.ToLower(w[0])
	if s.tx == 'E' && verb != "rollback" && verb != "commit" {
		return bad("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	}
	switch verb {
	case "begin":
		s.tx, s.writes = 'T', map[string]int{}
		return ok("BEGIN")
	case "commit", "rollback":
		tag := "ROLLBACK"
		if verb == "commit" && s.tx == 'T' {
			tag = "COMMIT"
			maps.Copy(f.committed, s.writes)
		}
		s.tx, s.writes, s.locks = 'I', nil, nil
		return ok(tag)
	case "savepoint":
		return ok("SAVEPOINT")
	case "release":
		return ok("RELEASE")
	case "set", "add", "lock":
		if o := f.owner(w[1]); o >= 0 && o != i {
			s.wants = w[1]
			return Reply{Blocked: true, By: []int{o}, On: w[1]}, nil
		}
		n := 0
		if verb != "lock" {
			fmt.Sscan(w[2], &n)
		}
		if verb == "add" {
			n += f.read(i, w[1])
		}
		switch {
		case s.tx == 'T':
			if !slices.Contains(s.locks, w[1]) {
				s.locks = append(s.locks, w[1])
			}
			if verb != "lock" {
				s.writes[w[1]] = n
			}
		case verb != "lock":
			f.committed[w[1]] = n
		}
		return ok("UPDATE 1")
	case "get":
		if w[1] == "nothing" {
			return Reply{Result: &Result{Tag: "SELECT 0", Fields: []Field{{Name: "v", Type: types.Of(types.Int4)}}}, Tx: s.tx}, nil
		}
		return Reply{Tx: s.tx, Result: &Result{Tag: "SELECT 1", Fields: []Field{{Name: "v", Type: types.Of(types.Int4)}},
			Rows: [][]types.Value{{types.NewInt4(int32(f.read(i, w[1])))}}}}, nil
	case "select":
		return bad("22012", "division by zero")
	case "fail":
		return bad(w[1], "told to fail")
	}
	return bad("42601", `syntax error at or near "`+w[0]+`"`)
}

func (f *fake) read(i int, reg string) int {
	if v, ok := f.sessions[i].writes[reg]; ok {
		return v
	}
	return f.committed[reg]
}

func (f *fake) Woken(buf []int) []int {
	for i := range f.sessions {
		if s := &f.sessions[i]; s.wants != "" && f.owner(s.wants) < 0 {
			buf = append(buf, i)
		}
	}
	return buf
}

func (f *fake) Resume(i int) (Reply, error) { return f.run(i) }

func (f *fake) Deadlock() []int {
	for i := range f.sessions {
		var path []int
		for j := i; j >= 0 && f.sessions[j].wants != ""; j = f.owner(f.sessions[j].wants) {
			if slices.Contains(path, j) {
				slices.Sort(path)
				return path
			}
			path = append(path, j)
		}
	}
	return nil
}

func (f *fake) Interrupt(i int, code string) (Reply, error) {
	s := &f.sessions[i]
	s.wants, s.sql = "", "fail "+code
	return f.run(i)
}

func (f *fake) SetNow(t time.Time) error { f.now = t; return nil }

// Query answers "k": its committed value, as one row when it is negative.
func (f *fake) Query(sql string) (*Result, error) {
	res := &Result{Fields: []Field{{Name: sql, Type: types.Of(types.Int4)}}}
	if v, ok := f.committed[sql]; !ok {
		return nil, fmt.Errorf("no register %q", sql)
	} else if v < 0 {
		res.Rows = append(res.Rows, []types.Value{types.NewInt4(int32(v))})
	}
	return res, nil
}

func (f *fake) Reset() error    { return fmt.Errorf("fake: not needed") }
func (f *fake) Shutdown() error { return nil }
