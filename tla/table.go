package tla

import (
	"fmt"
	"slices"
	"strings"
)

// CoverageTable is the coverage of walked mappings in Markdown, by specification: how many steps of which scenario may have
// been which action, why some were none, and which statements were no action.
func CoverageTable(mappings []Mapping, walked []*Walked) string {
	var b strings.Builder
	var specs []string
	for _, m := range mappings {
		if spec, _, _ := strings.Cut(m.Name, "/"); !slices.Contains(specs, spec) {
			specs = append(specs, spec)
		}
	}
	for _, spec := range specs {
		var ms []Mapping
		var ws []*Walked
		for i, m := range mappings {
			if strings.HasPrefix(m.Name, spec+"/") {
				ms, ws = append(ms, m), append(ws, walked[i])
			}
		}
		specTable(&b, spec, ms, ws)
	}
	return b.String()
}

// note is something to say of several scenarios of a specification.
type note struct {
	what, why string
	in        []string
}

// add says it of a scenario too.
func add(notes []note, what, why, in string) []note {
	for i := range notes {
		if notes[i].what == what && notes[i].why == why {
			notes[i].in = append(notes[i].in, in)
			return notes
		}
	}
	return append(notes, note{what, why, []string{in}})
}

func specTable(b *strings.Builder, spec string, ms []Mapping, ws []*Walked) {
	fmt.Fprintf(b, "### %s\n\n| action |", spec)
	short := func(m Mapping) string { return strings.TrimPrefix(m.Name, spec+"/") }
	for i, m := range ms {
		how := fmt.Sprintf("%d runs", ws[i].Runs)
		if ws[i].States > 0 {
			how = fmt.Sprintf("%d states", ws[i].States)
			if ws[i].Complete {
				how = "all " + how
			}
		}
		fmt.Fprintf(b, " %s (%s) |", short(m), how)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(ms)) + "\n")
	var never, outside []note
	for _, action := range actionsOf(ws) {
		fmt.Fprintf(b, "| %s |", action)
		for i, m := range ms {
			c, known := coverageOf(ws[i], action)
			switch {
			case !known:
				b.WriteString(" none |")
			case c.Edges == 0 && c.Times == 0:
				b.WriteString(" hidden |")
			case c.Times == 0:
				b.WriteString(" - |")
				never = add(never, action, m.Why[action], short(m))
			default:
				fmt.Fprintf(b, " %d |", c.Times)
			}
		}
		b.WriteString("\n")
	}
	for i, m := range ms {
		for _, s := range ws[i].Stutters {
			outside = add(outside, s.Statement, Outside(spec, s.Statement), short(m))
		}
	}
	list := func(title string, notes []note, quote string) {
		if len(notes) == 0 {
			return
		}
		fmt.Fprintf(b, "\n%s\n\n", title)
		for _, n := range notes {
			fmt.Fprintf(b, "* %s%s%s (%s): %s\n", quote, n.what, quote, strings.Join(n.in, ", "), n.why)
		}
	}
	list("Actions that no step takes:", never, "")
	list("Steps that change data and are no action:", outside, "`")
	b.WriteString("\n")
}

// actionsOf lists the actions of all graphs, by name.
func actionsOf(ws []*Walked) []string {
	var out []string
	for _, w := range ws {
		for _, c := range w.Coverage {
			out = append(out, c.Action)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func coverageOf(w *Walked, action string) (c ActionCoverage, known bool) {
	for _, c := range w.Coverage {
		if c.Action == action {
			return c, true
		}
	}
	return c, false
}

// Outside says why a step that changes data is no action of a specification; "" when nothing is known about it.
func Outside(spec, step string) string {
	for _, o := range outside[spec] {
		if strings.Contains(step, o[0]) {
			return o[1]
		}
	}
	return ""
}
