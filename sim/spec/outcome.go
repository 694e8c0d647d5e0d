package spec

import (
	"fmt"
	"slices"
	"strings"

	"simrun/sim"
)

// outcome is what a run came to: what each step of each session got, and what the tables hold at the end.
type outcome struct {
	sessions [][]stepResult
	tables   []string // "name: (1, a) (2, b)", rows sorted; of a stuck run none
	stuck    []string // the steps that wait for ever
	order    []string // the steps in the order of their launches, and what the schedule did to sessions
	setupErr string   // of a setup that failed
	broken   string   // the check that is violated; detail says how
	detail   string
}

// stepResult is what a step got.
type stepResult struct {
	name, text string
	code       string // SQLSTATE, "" for none
	tx         byte   // as sim.Reply.Tx, after the step
}

// again are the SQLSTATEs that ask the client to try the transaction again: what it read does not count.
func again(code string) bool {
	return strings.HasPrefix(code, "40") || code == "55P03" || code == "57014"
}

// outcomeOf reads a recorded run of the selection.
func outcomeOf(sel *Selection, setup *sim.Setup, t *sim.Trace) *outcome {
	o := &outcome{sessions: make([][]stepResult, len(setup.Actors))}
	type progress struct {
		setupDone bool
		steps     []Step
	}
	at := make([]progress, len(setup.Actors))
	for i, a := range setup.Actors {
		if s, ok := a.Run.(sessionActor); ok {
			at[i] = progress{setupDone: s.before == "", steps: sel.stepsOf(a.Name)}
		}
	}
	waiting := map[int]string{}
	for k := range t.Steps {
		s := &t.Steps[k]
		if s.Actor < 0 || s.SQL == "" {
			continue
		}
		p := &at[s.Actor]
		switch _, session := setup.Actors[s.Actor].Run.(sessionActor); {
		case !session && t.Actors[s.Actor] == finalActor:
			o.tables = append(o.tables, strings.TrimPrefix(s.SQL, "SELECT * FROM ")+": "+tableText(&s.Reply))
			continue
		case !session || !p.setupDone:
			p.setupDone = true
			if s.Reply.Blocked {
				o.setupErr = "it waits for a lock"
			} else if s.Reply.Err != nil {
				o.setupErr = s.Reply.Err.Error()
			}
			if o.setupErr != "" {
				o.setupErr = fmt.Sprintf("the setup of %s: %s", t.Actors[s.Actor], o.setupErr)
			}
			continue
		}
		if s.Kind == sim.StepRun {
			if len(p.steps) == 0 { // its teardown
				continue
			}
			o.order = append(o.order, p.steps[0].Name)
			waiting[s.Actor] = p.steps[0].Name
			p.steps = p.steps[1:]
		} else if !s.Eager {
			o.order = append(o.order, "("+s.Name+")")
		}
		name, launched := waiting[s.Actor]
		if s.Reply.Blocked || !launched {
			continue
		}
		delete(waiting, s.Actor)
		r := stepResult{name: name, text: replyText(&s.Reply), tx: s.Reply.Tx}
		if s.Reply.Err != nil {
			r.code = s.Reply.Err.Code
		}
		o.sessions[s.Actor] = append(o.sessions[s.Actor], r)
	}
	for i := range setup.Actors {
		if name, waits := waiting[i]; waits {
			o.stuck = append(o.stuck, name)
		}
	}
	if len(o.stuck) > 0 {
		o.tables = nil
	}
	return o
}

// stepsOf are the steps of the session.
func (sel *Selection) stepsOf(session string) []Step {
	for i, s := range sel.Spec.Sessions {
		if s.Name == session {
			return sel.Steps[i]
		}
	}
	return nil
}

// replyText is a reply in full: notices, rows in their order, tags, the error.
func replyText(r *sim.Reply) string {
	var parts []string
	for res := r.Result; res != nil; res = res.Next {
		for _, n := range res.Notices {
			parts = append(parts, n.Severity+": "+n.Message)
		}
		if len(res.Fields) == 0 {
			parts = append(parts, res.Tag)
			continue
		}
		parts = append(parts, strings.Join(rowTexts(res), " "))
	}
	if r.Err != nil {
		parts = append(parts, r.Err.Error())
	}
	return strings.Join(parts, "; ")
}

func rowTexts(res *sim.Result) []string {
	if len(res.Rows) == 0 {
		return []string{"no rows"}
	}
	rows := make([]string, len(res.Rows))
	for i, row := range res.Rows {
		cells := make([]string, len(row))
		for k, v := range row {
			if cells[k] = "NULL"; v.Valid {
				cells[k] = v.Text()
			}
		}
		rows[i] = "(" + strings.Join(cells, ", ") + ")"
	}
	return rows
}

// tableText is what a table holds; the order of its rows says nothing.
func tableText(r *sim.Reply) string {
	if r.Err != nil {
		return r.Err.Error()
	}
	if r.Result == nil || len(r.Result.Rows) == 0 {
		return "empty"
	}
	rows := rowTexts(r.Result)
	slices.Sort(rows)
	return strings.Join(rows, " ")
}

// state is what a run leaves behind: outcomes of one state are shown together.
func (o *outcome) state() string {
	if len(o.stuck) > 0 {
		return "steps wait for ever: " + strings.Join(o.stuck, ", ")
	}
	if len(o.tables) == 0 {
		return "there are no tables"
	}
	return strings.Join(o.tables, "\n")
}

// mask marks the steps of each session whose transaction failed for a reason that asks for another try and was rolled back. A
// transaction that went on from a savepoint is not among them.
func (o *outcome) mask() [][]bool {
	masks := make([][]bool, len(o.sessions))
	for i, steps := range o.sessions {
		masks[i] = make([]bool, len(steps))
		begin := 0 // of the present transaction
		for k, s := range steps {
			if k > 0 && steps[k-1].tx == 'I' {
				begin = k
			}
			if !again(s.code) || masks[i][k] {
				continue
			}
			end := k
			for end < len(steps)-1 && steps[end].tx == 'E' {
				end++
			}
			if steps[end].tx == 'T' {
				continue
			}
			for j := begin; j <= end; j++ {
				masks[i][j] = true
			}
		}
	}
	return masks
}

// key tells outcomes apart, the masked steps aside.
func (o *outcome) key(mask [][]bool) string {
	var b strings.Builder
	for i, steps := range o.sessions {
		fmt.Fprintf(&b, "session %d\n", i)
		for k, s := range steps {
			if mask == nil || k >= len(mask[i]) || !mask[i][k] {
				fmt.Fprintf(&b, "%s -> %s\n", s.name, s.text)
			}
		}
	}
	b.WriteString(o.state())
	return b.String()
}
