package tla

import (
	"sort"
	"strings"
)

// ActionCoverage says how much of an action runs have taken.
type ActionCoverage struct {
	Action string `json:"action"`
	Edges  int    `json:"edges"` // visible edges of the graph with this action
	Taken  int    `json:"taken"` // those that some run may have taken: with hidden variables a step can be several
	Times  int    `json:"times"` // steps of runs that may have been this action
}

// Coverage returns the actions of the specification, by name. Edges that change nothing visible do not count: no run can be
// seen to take them.
func (r *Refinement) Coverage() []ActionCoverage {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[string]*ActionCoverage{}
	for i, e := range r.graph.Edges {
		c := by[e.Action]
		if c == nil {
			c = &ActionCoverage{Action: e.Action}
			by[e.Action] = c
		}
		if r.shown[e.From] == r.shown[e.To] {
			continue
		}
		c.Edges++
		if r.taken[i] > 0 {
			c.Taken++
		}
	}
	out := make([]ActionCoverage, 0, len(by))
	for _, c := range by {
		c.Times = r.times[c.Action]
		out = append(out, *c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Action < out[j].Action })
	return out
}

// Untaken is what the specification can do that no run has done: an action between two visible states.
type Untaken struct {
	Action string `json:"action"`
	Change string `json:"change"` // what it changes, and from what
	Edges  int    `json:"edges"`  // edges that show this
}

// Untaken lists the visible edges that no run took, those that look alike as one, in the order of their actions.
func (r *Refinement) Untaken() []Untaken {
	r.mu.Lock()
	defer r.mu.Unlock()
	type key struct{ action, change string }
	alike, taken := map[key]int{}, map[key]bool{}
	for i, e := range r.graph.Edges {
		if r.shown[e.From] == r.shown[e.To] {
			continue
		}
		k := key{e.Action, difference(r.shown[e.From], r.shown[e.To])}
		alike[k]++
		taken[k] = taken[k] || r.taken[i] > 0
	}
	var out []Untaken
	for k, n := range alike {
		if !taken[k] {
			out = append(out, Untaken{k.action, k.change, n})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Action != out[j].Action {
			return out[i].Action < out[j].Action
		}
		return out[i].Change < out[j].Change
	})
	return out
}

// Stutter is a statement that changed committed data and nothing that the specification shows.
type Stutter struct {
	Statement string `json:"statement"` // the first 100 characters
	Times     int    `json:"times"`
}

// Stutters lists the statements that matched no action although they changed data, by text. Statements that only read are
// not counted.
func (r *Refinement) Stutters() []Stutter {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Stutter
	for text, n := range r.stutters {
		out = append(out, Stutter{text, n})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Statement < out[j].Statement })
	return out
}

// difference shows the variables that a step changed; of a function only the arguments whose values changed.
func difference(before, after string) string {
	b, a := strings.Split(before, "\n"), strings.Split(after, "\n")
	var out []string
	for i := range b {
		if i < len(a) && a[i] != b[i] {
			out = append(out, changed(b[i], a[i])...)
		}
	}
	return strings.Join(out, "\n")
}

// changed shows the change of one variable, given as NAME = VALUE.
func changed(before, after string) []string {
	name, was, _ := strings.Cut(before, " = ")
	_, is, _ := strings.Cut(after, " = ")
	old, new := arguments(was), arguments(is)
	if len(old) == 0 || len(old) != len(new) {
		return []string{"  " + name + ": " + was + " -> " + is}
	}
	var out []string
	for i := range old {
		if old[i] == new[i] {
			continue
		}
		arg, from, _ := strings.Cut(old[i], " :> ")
		other, to, _ := strings.Cut(new[i], " :> ")
		if arg != other {
			return []string{"  " + name + ": " + was + " -> " + is}
		}
		out = append(out, "  "+name+"["+arg+"]: "+from+" -> "+to)
	}
	return out
}

// arguments splits the text of a function (a :> x @@ b :> y) into its pairs; it returns none for any other value.
func arguments(value string) []string {
	inner, ok := strings.CutPrefix(value, "(")
	if !ok {
		return nil
	}
	inner = strings.TrimSuffix(inner, ")")
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '(', '{', '<':
			depth++
		case ')', '}':
			depth--
		case '>':
			if i == 0 || inner[i-1] != ':' {
				depth--
			}
		case '@':
			if depth == 0 && strings.HasPrefix(inner[i:], "@@ ") {
				out = append(out, strings.TrimSpace(inner[from:i]))
				i += 2
				from = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(inner[from:]))
}
