package sim

import (
	"fmt"
	"slices"
	"strings"
)

// OneLine is a statement on one line, cut to at most max characters (0 means not cut). Lines that are comments, as sqlc puts
// them on top of each statement, are left out.
func OneLine(sql string, max int) string {
	if strings.Contains(sql, "--") {
		lines := strings.Split(sql, "\n")
		sql = strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "--") }), "\n")
	}
	sql = strings.Join(strings.Fields(sql), " ")
	if max > 3 && len(sql) > max {
		return strings.ToValidUTF8(sql[:max-3], "") + "..."
	}
	return sql
}

// Line tells the step in one line: its name, its statement with arguments, and what came of it. actors are Trace.Actors.
func (s *Step) Line(actors []string) string {
	var b strings.Builder
	b.WriteString(s.Name)
	if sql := s.Statement(); sql != "" {
		b.WriteString(": " + sql)
	}
	if out := s.Result(actors); out != "" {
		b.WriteString(" -> " + out)
	}
	for _, t := range s.Told() {
		b.WriteString("; " + t)
	}
	return b.String()
}

// Statement is the SQL on one line, with its arguments.
func (s *Step) Statement() string {
	sql := OneLine(s.SQL, 0)
	if len(s.Args) > 0 {
		var args []string
		for _, a := range s.Args {
			args = append(args, fmt.Sprint(a))
		}
		sql += " [" + strings.Join(args, ", ") + "]"
	}
	return sql
}

// Result says what the session got: its rows, its command tag, its error, or for whom it waits. It is the same on every
// backend; what a session waits for (Reply.On) is not.
func (s *Step) Result(actors []string) string {
	r := &s.Reply
	switch {
	case r.Blocked:
		var by []string
		for _, i := range r.By {
			by = append(by, actors[i])
		}
		return "waits for " + strings.Join(by, ", ")
	case s.Kind == StepCrash:
		return "the process died; what its transaction did is rolled back"
	case s.Kind == StepCommitApplied:
		return "the connection was lost; applied as " + results(r)
	case s.Kind == StepCommitDropped, s.Kind == StepConnLost:
		return "the connection was lost; not applied"
	}
	return results(r)
}

func results(r *Reply) string {
	var parts []string
	for res := r.Result; res != nil; res = res.Next {
		for _, n := range res.Notices {
			parts = append(parts, n.Severity+": "+n.Message)
		}
		if len(res.Fields) == 0 {
			parts = append(parts, res.Tag)
			continue
		}
		parts = append(parts, rowsText(res))
	}
	if r.Err != nil {
		parts = append(parts, r.Err.Error())
	}
	return strings.Join(parts, "; ")
}

// rowsMax is how many rows of a result are told.
const rowsMax = 5

func rowsText(res *Result) string {
	if len(res.Rows) == 0 {
		return "no rows"
	}
	var rows []string
	for i, row := range res.Rows {
		if i == rowsMax {
			rows = append(rows, fmt.Sprintf("... %d rows", len(res.Rows)))
			break
		}
		var vals []string
		for _, v := range row {
			if v.Valid {
				vals = append(vals, string(textOf(v)))
			} else {
				vals = append(vals, "NULL")
			}
		}
		rows = append(rows, "("+strings.Join(vals, ", ")+")")
	}
	text := strings.Join(rows, " ")
	if !strings.HasPrefix(res.Tag, "SELECT") {
		text = res.Tag + " " + text
	}
	return text
}

// Told says what the actor told after the step, and how it ended if it did.
func (s *Step) Told() []string {
	var out []string
	for _, e := range s.Events {
		switch e.Kind {
		case EventCall:
			out = append(out, fmt.Sprintf("calls %s(%v)", e.Name, plain(e.Value)))
		case EventReturn:
			out = append(out, fmt.Sprintf("returns %v", e.Value))
		case EventNote:
			out = append(out, fmt.Sprintf("notes %s = %v", e.Name, e.Value))
		case EventWitness:
			out = append(out, "witnesses "+e.Name)
		}
	}
	if s.Done {
		if s.Err != nil {
			out = append(out, "ends with "+s.Err.Error())
		} else {
			out = append(out, "ends")
		}
	}
	return out
}

func plain(v any) any {
	if v == nil {
		return ""
	}
	return v
}
