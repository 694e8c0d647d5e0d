package reports

import (
	"fmt"
	"sort"

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

// TableVersion is what lay in a table from a step on: on the model all row versions, elsewhere the committed rows.
type TableVersion struct {
	From int // index of the step after which it was so; -1 for what was there before the first
	Rows [][]string
	New  []bool // rows that were not there before
	// By says who wrote each row, and Seen which open transactions see it; both are nil where row versions are not known.
	By, Seen []string
	Gone     []bool // row versions that have been updated or deleted, perhaps by a transaction in progress
}

// LockEdge says that a transaction took lock To while it held lock From.
type LockEdge struct {
	From, To string
	By       []string // "actor, step n"
}

// PageOp is one operation of the history.
type PageOp struct {
	Actor, Call, Return int // indexes of steps; Return is -1 for an indeterminate operation
	Text                string
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
		po := PageOp{Actor: op.Actor, Call: op.Call / 2, Return: op.Return / 2, Text: fmt.Sprintf("%s(%v) → %v", op.Name, plainText(op.Input), plainText(op.Output))}
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
