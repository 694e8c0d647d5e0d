// Package parity looks for divergences between the model and a server: it runs random SQL of several sessions on both in
// lock-step, weighted towards conflicts, and shrinks what it finds to a short script.
package parity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"simrun/sim/spec"
)

// Case is a schema and the statements of some sessions in the order in which they are run.
type Case struct {
	Doc      string   // what it once showed, for people
	Schema   []string // statements, run once
	Seed     []string // statements, run before each run
	Sessions int
	Steps    []Step
}

// Step is a statement of a session. It is left out when the session waits for a lock at that time.
type Step struct {
	Session int
	SQL     string
	// Pick chooses, modulo their number, among the deadlock's victims and the woken sessions that follow from the step.
	Pick int
}

// seedMark separates the schema from the seed in a file.
const seedMark = "-- seed"

// String renders the case as an isolationtester file, with the picks in a comment.
func (c *Case) String() string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(c.Doc), "\n") {
		if line != "" {
			fmt.Fprintf(&b, "# %s\n", line)
		}
	}
	b.WriteString("setup\n{\n")
	for _, s := range c.Schema {
		fmt.Fprintf(&b, "%s;\n", s)
	}
	b.WriteString(seedMark + "\n")
	for _, s := range c.Seed {
		fmt.Fprintf(&b, "%s;\n", s)
	}
	b.WriteString("}\n")
	names := make([]string, len(c.Steps))
	for session := range c.Sessions {
		used := false
		for i, s := range c.Steps {
			if s.Session != session {
				continue
			}
			if !used {
				fmt.Fprintf(&b, "\nsession s%d\n", session)
				used = true
			}
			names[i] = fmt.Sprintf("s%d_%d", session, i)
			fmt.Fprintf(&b, "step %s { %s }\n", names[i], s.SQL)
		}
	}
	picks := make([]string, len(c.Steps))
	for i, s := range c.Steps {
		picks[i] = strconv.Itoa(s.Pick)
	}
	fmt.Fprintf(&b, "\n%s%s\npermutation %s\n", picksMark, strings.Join(picks, " "), strings.Join(names, " "))
	return b.String()
}

const picksMark = "# picks: "

// Parse reads a case: an isolationtester file with one setup, one permutation and no markers.
func Parse(text string) (*Case, error) {
	s, err := spec.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(s.Setups) != 1 || len(s.Permutations) != 1 {
		return nil, fmt.Errorf("a parity case has one setup and one permutation; this one has %d and %d", len(s.Setups), len(s.Permutations))
	}
	c := &Case{Sessions: len(s.Sessions)}
	schema, seed, found := strings.Cut(s.Setups[0], seedMark)
	if !found {
		return nil, fmt.Errorf("there is no line %q in the setup", seedMark)
	}
	c.Schema, c.Seed = statements(schema), statements(seed)
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "#") || strings.HasPrefix(line, picksMark) {
			break
		}
		c.Doc += strings.TrimSpace(line[1:]) + "\n"
	}
	for _, l := range s.Permutations[0] {
		c.Steps = append(c.Steps, Step{Session: l.Session, SQL: s.Sessions[l.Session].Steps[l.Step].SQL})
	}
	i := strings.Index(text, picksMark)
	if i < 0 {
		return c, nil
	}
	line, _, _ := strings.Cut(text[i+len(picksMark):], "\n")
	for i, f := range strings.Fields(line) {
		if i < len(c.Steps) {
			if c.Steps[i].Pick, err = strconv.Atoi(f); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// statements splits at semicolons at the end of a line.
func statements(text string) (list []string) {
	for _, s := range strings.Split(text+"\n", ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func join(statements []string) string {
	var b strings.Builder
	for _, s := range statements {
		b.WriteString(s + ";\n")
	}
	return b.String()
}

// without is a copy of the case without the steps from..to.
func (c *Case) without(from, to int) *Case {
	d := *c
	d.Steps = append(slices.Clone(c.Steps[:from]), c.Steps[to:]...)
	return &d
}
