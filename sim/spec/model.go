package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"simrun/model/types"
	"simrun/sim"
	"simrun/sim/postgres"
)

// Model runs specs on the in-memory Postgres; each file begins with an empty database.
//
// A session that another one frees goes on at once, as on a server. A deadlock lasts until somebody waits for the end of a step, as
// if no time passed before: the victim is the session whose deadlock_timeout would be over first, if all began to wait at short
// intervals.
type Model struct {
	db     sim.Backend
	conns  []*modelConn
	notice func(session int, text string)
	waits  int // counts waits, to know who began to wait first
}

// Connect makes the database and its sessions: that of the control connection first.
func (m *Model) Connect(sessions []string, notice func(session int, text string)) ([]Conn, error) {
	db, err := sim.NewModel(&sim.Setup{})
	if err != nil {
		return nil, err
	}
	if p, ok := db.(interface{ SequentialScans(on bool) }); ok {
		p.SequentialScans(false) // isolationtester leaves the planner free
	}
	m.db, m.notice = db, notice
	m.conns = make([]*modelConn, len(sessions))
	list := make([]Conn, len(sessions))
	for i, name := range sessions {
		if err := db.Open(i, sim.ActorSpec{Name: name}); err != nil {
			return nil, err
		}
		m.conns[i] = &modelConn{model: m, index: i, timeout: 1000}
		list[i] = m.conns[i]
	}
	return list, nil
}

type modelConn struct {
	model   *Model
	index   int
	reply   sim.Reply
	blocked bool
	began   int      // when it began to wait, as a count
	timeout int      // deadlock_timeout, in milliseconds
	notices []string // that came and were not looked at
}

var deadlockTimeout = regexp.MustCompile(`(?i)deadlock_timeout\s*(?:=|to)\s*'?(\d+)\s*(ms|s|min)?`)

func (c *modelConn) Send(sql string) error {
	if m := deadlockTimeout.FindStringSubmatch(sql); m != nil {
		c.timeout, _ = strconv.Atoi(m[1])
		c.timeout *= map[string]int{"": 1, "ms": 1, "s": 1000, "min": 60000}[strings.ToLower(m[2])]
	}
	r, err := c.model.db.Submit(c.index, sim.Request{SQL: sql})
	if err != nil {
		return err
	}
	if err := c.got(r); err != nil {
		return err
	}
	return c.model.settle()
}

func (c *modelConn) got(r sim.Reply) error {
	if what, refused := refusedBy(r.Err); refused {
		return &Refused{Construct: what}
	}
	c.reply, c.blocked = r, r.Blocked
	if r.Blocked {
		c.model.waits++
		c.began = c.model.waits
	}
	for res := r.Result; res != nil; res = res.Next {
		for _, n := range res.Notices {
			c.notices = append(c.notices, modelNotice(n))
		}
	}
	return nil
}

// refusedBy says which construct the model refuses with the error, if it does.
func refusedBy(e *types.Error) (construct string, refused bool) {
	if e == nil || e.Code != "0A000" || !strings.HasSuffix(e.Message, postgres.Refusal) {
		return "", false
	}
	what := strings.TrimSuffix(e.Message, postgres.Refusal)
	return strings.TrimSuffix(strings.TrimSuffix(what, " is"), " are"), true
}

func modelNotice(n *types.Error) string {
	text := n.Severity + ":  " + n.Message + "\n"
	if n.Detail != "" {
		text += "DETAIL:  " + n.Detail + "\n"
	}
	if n.Hint != "" {
		text += "HINT:  " + n.Hint + "\n"
	}
	return text
}

// untangle breaks deadlocks.
func (m *Model) untangle() error {
	for {
		cycle := m.db.Deadlock()
		if len(cycle) == 0 {
			return nil
		}
		victim := m.conns[slices.MinFunc(cycle, func(a, b int) int { return m.patience(a) - m.patience(b) })]
		r, err := m.db.Interrupt(victim.index, "40P01")
		if err != nil {
			return err
		}
		if err := victim.got(r); err != nil {
			return err
		}
		if err := m.settle(); err != nil {
			return err
		}
	}
}

// settle lets freed sessions go on, until nothing moves.
func (m *Model) settle() error {
	for {
		woken := m.db.Woken(nil)
		if len(woken) == 0 {
			return nil
		}
		r, err := m.db.Resume(woken[0])
		if err != nil {
			return err
		}
		if err := m.conns[woken[0]].got(r); err != nil {
			return err
		}
	}
}

// patience orders sessions by when they would look for a deadlock.
func (m *Model) patience(session int) int { return m.conns[session].timeout + m.conns[session].began }

func (c *modelConn) Await(mayStop bool) (State, error) {
	if c.blocked && !mayStop {
		if err := c.model.untangle(); err != nil {
			return 0, err
		}
	}
	for _, text := range c.notices {
		if c.index > 0 {
			c.model.notice(c.index-1, text)
		}
	}
	c.notices = nil
	switch {
	case !c.blocked:
		return Answered, nil
	case mayStop:
		return Stuck, nil
	}
	return 0, fmt.Errorf("session %d waits for ever", c.index)
}

func (c *modelConn) Answer() Answer {
	var a Answer
	for res := c.reply.Result; res != nil; res = res.Next {
		if len(res.Fields) == 0 {
			a.Results = append(a.Results, nil)
			continue
		}
		t := &Table{}
		for _, f := range res.Fields {
			t.Names = append(t.Names, f.Name)
		}
		for _, row := range res.Rows {
			cells := make([]string, len(row))
			for i, v := range row {
				if v.Valid {
					cells[i] = regressText(v)
				}
			}
			t.Rows = append(t.Rows, cells)
		}
		a.Results = append(a.Results, t)
	}
	if e := c.reply.Err; e != nil {
		a.Err = e.Severity + ":  " + e.Message + "\n"
	}
	return a
}

// regressText is the text of a value with the date style of pg_isolation_regress, which the model, always at ISO, lacks.
func regressText(v types.Value) string {
	text := v.Text()
	if v.T.Kind == types.Date && len(text) == len("2006-01-02") {
		return text[5:] + "-" + text[:4]
	}
	return text
}

// Notified returns nothing: the model has no NOTIFY.
func (c *modelConn) Notified() []string { return nil }
