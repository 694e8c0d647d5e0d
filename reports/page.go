package reports

import (
	"fmt"
	"sort"
	"strings"

	"simrun/sim"
)

// Page is what the HTML report of one run shows. Build makes it from a run.
type Page struct {
	Title     string // e.g. "rings/flip (seed, mutant no-trigger)"
	Invariant string // violated invariant, "" when the run held
	Detail    string
	Doc       string // what the invariant says
	Reproduce string // command line that makes the run again
	Actors    []string
	Steps     []PageStep
	Spans     []Span
	Tables    []Table
	Edges     []LockEdge
	History   []PageOp
	// Linearizability is porcupine's page, whole, or "" when the run has none.
	Linearizability string `json:"-"`
	Other           string // name of the second backend whose results stand beside the first's, or ""
}

// PageStep is one step.
type PageStep struct {
	Index   int
	Actor   int // -1 for the environment
	Name    string
	SQL     string
	Args    []string
	Result  string
	Fields  []string
	Rows    [][]string
	Error   bool
	Blocked bool
	Told    []string
	Locks   []string // acquired in this step
	Held    []string // held by the actor after this step
	Tx      string   // "", "in transaction", "failed transaction"
	Other   string   // what the second backend answered, "" when it was the same
	Culprit bool     // the step that completed the violation
}

// Span is a wait: the actor waits from step From until step To.
type Span struct {
	Actor, From, To int
	By              []int
	On              string
}

// Table is a table's committed rows over the run.
type Table struct {
	Name     string
	Columns  []string
	Versions []TableVersion
}

// TableVersion is what a table held from a step on.
type TableVersion struct {
	From int // index of the step after which these rows were committed; -1 for the rows before the first
	Rows [][]string
	New  []bool // rows that the version before did not have
}

// LockEdge says that a transaction took lock To while it held lock From.
type LockEdge struct {
	From, To string
	By       []string // "actor, step n"
}

// PageOp is one operation of the history.
type PageOp struct {
	Actor, Call, Return int // Return is -1 for an indeterminate operation
	Text                string
}

// Recorder takes down the committed rows of tables as a run goes on. Add its Invariant to a setup before the run.
type Recorder struct {
	tables []string
	seen   map[string]*Table
	err    error
}

// NewRecorder records the named tables.
func NewRecorder(tables []string) *Recorder {
	r := &Recorder{tables: tables, seen: map[string]*Table{}}
	for _, t := range tables {
		r.seen[t] = &Table{Name: t}
	}
	return r
}

// Invariant is a monitor that never complains.
func (r *Recorder) Invariant() sim.Invariant {
	return sim.Invariant{Name: "report", Kind: sim.Monitored, Monitor: func() sim.Monitor { return recorderMonitor{r} }}
}

type recorderMonitor struct{ r *Recorder }

// Step takes down the tables when the committed state may have changed.
func (m recorderMonitor) Step(s *sim.Step) (sim.Monitor, string) {
	if s.Changed && s.Committed != nil {
		m.r.take(s.Index, s.Committed)
	}
	return m, ""
}

// Hash is constant: a recorder has no bearing on the run.
func (recorderMonitor) Hash() uint64 { return 0 }

func (r *Recorder) take(step int, v sim.View) {
	for _, name := range r.tables {
		res, err := v.Query("SELECT * FROM " + name)
		if err != nil {
			r.err = fmt.Errorf("reading table %s for the report: %w", name, err)
			continue
		}
		r.seen[name].add(step, res)
	}
}

func (t *Table) add(step int, res *sim.Result) {
	var rows [][]string
	for _, row := range res.Rows {
		rows = append(rows, texts(row))
	}
	sort.Slice(rows, func(i, j int) bool { return strings.Join(rows[i], "\x00") < strings.Join(rows[j], "\x00") })
	t.Columns = t.Columns[:0]
	for _, f := range res.Fields {
		t.Columns = append(t.Columns, f.Name)
	}
	old := map[string]int{}
	if n := len(t.Versions); n > 0 {
		last := t.Versions[n-1].Rows
		for _, row := range last {
			old[strings.Join(row, "\x00")]++
		}
		if equalRows(last, rows) {
			return
		}
	}
	v := TableVersion{From: step, Rows: rows, New: make([]bool, len(rows))}
	for i, row := range rows {
		key := strings.Join(row, "\x00")
		v.New[i] = old[key] == 0 && len(t.Versions) > 0
		if old[key] > 0 {
			old[key]--
		}
	}
	t.Versions = append(t.Versions, v)
}

func equalRows(a, b [][]string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if strings.Join(a[i], "\x00") != strings.Join(b[i], "\x00") {
			return false
		}
	}
	return true
}

// BuildPage makes the page of a recorded run. Tables come from the recorder, which may be nil. It fails when the recorder
// could not read a table.
func BuildPage(t *sim.Trace, r *Recorder) (*Page, error) {
	p := &Page{Actors: t.Actors}
	held := make([][]string, len(t.Actors))
	waiting := make(map[int]int) // actor -> index of its span
	edges := map[[2]string]map[string]bool{}
	for i := range t.Steps {
		s := &t.Steps[i]
		ps := PageStep{Index: s.Index, Actor: s.Actor, Name: s.Name, SQL: s.SQL, Result: s.Result(t.Actors), Error: s.Reply.Err != nil, Blocked: s.Reply.Blocked, Told: s.Told()}
		for _, a := range s.Args {
			ps.Args = append(ps.Args, fmt.Sprint(a))
		}
		if res := s.Reply.Result; res != nil && len(res.Rows) > 0 {
			for _, f := range res.Fields {
				ps.Fields = append(ps.Fields, f.Name)
			}
			for _, row := range res.Rows {
				ps.Rows = append(ps.Rows, texts(row))
			}
		}
		if s.Actor >= 0 {
			if span, ok := waiting[s.Actor]; ok && !s.Reply.Blocked {
				p.Spans[span].To = s.Index
				delete(waiting, s.Actor)
			}
			if s.Reply.Blocked {
				if span, ok := waiting[s.Actor]; ok { // woken, and blocked again
					p.Spans[span].To = s.Index
				}
				waiting[s.Actor] = len(p.Spans)
				p.Spans = append(p.Spans, Span{Actor: s.Actor, From: s.Index, To: t.Steps[len(t.Steps)-1].Index, By: s.Reply.By, On: s.Reply.On})
			}
			by := fmt.Sprintf("%s, step %d", t.Actors[s.Actor], s.Index)
			for _, l := range s.Acquired {
				name := l.Object + " " + l.Mode
				ps.Locks = append(ps.Locks, name)
				for _, h := range held[s.Actor] {
					if edges[[2]string{h, name}] == nil {
						edges[[2]string{h, name}] = map[string]bool{}
					}
					edges[[2]string{h, name}][by] = true
				}
				held[s.Actor] = append(held[s.Actor], name)
			}
			switch s.Reply.Tx {
			case 'T':
				ps.Tx = "in transaction"
			case 'E':
				ps.Tx = "failed transaction"
			}
			// The end of a transaction frees its locks, and so does the error that makes it fail.
			if s.Done || !s.Reply.Blocked && s.Reply.Tx != 'T' {
				held[s.Actor] = nil
			}
			ps.Held = append([]string(nil), held[s.Actor]...)
		}
		p.Steps = append(p.Steps, ps)
	}
	p.Edges = sortedEdges(edges)
	for _, op := range t.History {
		po := PageOp{Actor: op.Actor, Call: op.Call, Return: op.Return, Text: fmt.Sprintf("%s(%v) → %v", op.Name, plainText(op.Input), plainText(op.Output))}
		if op.Indeterminate {
			po.Return, po.Text = -1, fmt.Sprintf("%s(%v) → ?", op.Name, plainText(op.Input))
		}
		p.History = append(p.History, po)
	}
	if r != nil {
		if r.err != nil {
			return nil, r.err
		}
		for _, name := range r.tables {
			if len(r.seen[name].Versions) > 0 {
				p.Tables = append(p.Tables, *r.seen[name])
			}
		}
	}
	return p, nil
}

// Beside puts a second backend's results of the same schedule beside the first's, where they differ.
func (p *Page) Beside(name string, t *sim.Trace) {
	p.Other = name
	for i := range p.Steps {
		other := "(no such step)"
		if i < len(t.Steps) {
			other = t.Steps[i].Result(t.Actors)
		}
		if other != p.Steps[i].Result {
			p.Steps[i].Other = other
		}
	}
}

func sortedEdges(edges map[[2]string]map[string]bool) []LockEdge {
	var out []LockEdge
	for e, by := range edges {
		if e[0] == e[1] {
			continue
		}
		le := LockEdge{From: e[0], To: e[1]}
		for b := range by {
			le.By = append(le.By, b)
		}
		sort.Strings(le.By)
		out = append(out, le)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].From != out[j].From {
			return out[i].From < out[j].From
		}
		return out[i].To < out[j].To
	})
	return out
}

func plainText(v any) any {
	if v == nil {
		return ""
	}
	return v
}
