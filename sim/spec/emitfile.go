package spec

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	grammar "simrun/model/sql/parser"
	"simrun/model/types"
	"simrun/sim"
	"simrun/sim/postgres"
)

// literal writes an argument of the step's statement.
func (e *emitter) literal(s *sim.Step, i int, arg any) (string, error) {
	var t types.Type
	if e.db != nil {
		if list, err := e.db.ParamTypes(0, s.SQL); err == nil && i < len(list) {
			t = list[i]
		}
	}
	return literal(arg, t)
}

// controlName is the session that is no actor's: it cancels statements and asks invariants.
const controlName = "simrun"

// control launches a step of that session.
func (e *emitter) control(what, sql string) {
	at := slices.IndexFunc(e.sessions, func(s *emitSession) bool { return s.name == controlName })
	if at < 0 {
		at = len(e.sessions)
		s := &emitSession{name: controlName}
		if e.virtual {
			s.setup = "SET search_path = public, simrun, pg_catalog; SET TimeZone = UTC; " + clockSQL(sim.Epoch, true)
		}
		e.sessions = append(e.sessions, s)
	}
	s := e.sessions[at]
	name := what
	for n := 2; e.names[name]; n++ {
		name = fmt.Sprintf("%s_%d", what, n)
	}
	e.names[name] = true
	s.steps = append(s.steps, Step{Name: name, SQL: sql})
	e.launches = append(e.launches, name)
}

// judge asks the invariants at the end.
func (e *emitter) judge(broken string) error {
	if e.sync > 0 {
		e.launch(e.sync-1, "sync", "SELECT 'goes on' AS session;")
	}
	if n := len(e.trace.Steps); e.virtual && n > 0 {
		e.control("clock", clockSQL(e.trace.Steps[n-1].Now, true))
	}
	known := slices.ContainsFunc(e.setup.Invariants, func(i sim.Invariant) bool { return i.Name == broken && i.SQL != "" })
	for _, inv := range e.setup.Invariants {
		if inv.SQL == "" || known && inv.Name != broken {
			continue
		}
		sql, err := inline(inv.SQL, nil)
		if err != nil {
			return fmt.Errorf("invariant %s: %w", inv.Name, err)
		}
		e.control(notName.ReplaceAllString(inv.Name, "_"), strings.TrimSpace(sql))
	}
	return nil
}

// release rolls back what is still open, the sessions that others wait for first: isolationtester waits for every step.
func (e *emitter) release() {
	for again := true; again; {
		again = false
		for i := range e.actors {
			a := &e.actors[i]
			held := a.waits != nil && slices.ContainsFunc(a.by, func(j int) bool { return e.actors[j].session != nil })
			if a.session != nil && !held {
				if a.waits != nil && a.tx == 'I' {
					a.waits = nil // a statement alone: it ends by itself
				}
				e.lose(i)
				again = true
			}
		}
	}
}

// onlyOurs drops what has a meaning only where simrun has the connections.
const onlyOurs = "DROP VIEW simrun.pg_stat_activity; DROP FUNCTION simrun.pg_backend_pid(); DROP FUNCTION simrun.set_config(text, text, boolean);"

// file writes it all down.
func (e *emitter) file(doc string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(doc) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(line))
	}
	for _, line := range e.comments {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	block := func(word, sql string) error {
		text, err := inline(sql, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n{\n%s\n}\n", word, strings.Trim(text, "\n"))
		return nil
	}
	clock := ""
	if e.virtual {
		if err := block("setup", postgres.VirtualSchema()+onlyOurs); err != nil {
			return "", err
		}
		clock = "SET search_path = public, simrun, pg_catalog; SET TimeZone = UTC; " + clockSQL(sim.Epoch, true) + "\n"
	}
	for _, sql := range []string{clock + e.setup.Schema, e.setup.Seed} {
		if strings.TrimSpace(sql) == "" {
			continue
		}
		if err := block("setup", sql); err != nil {
			return "", err
		}
	}
	if drops := e.drops(); drops != "" {
		if err := block("teardown", drops); err != nil {
			return "", err
		}
	}
	for _, s := range e.sessions {
		fmt.Fprintf(&b, "\nsession \"%s\"\n", strings.ReplaceAll(s.name, `"`, `""`))
		setup := s.setup
		switch { // before SET ROLE: it takes a superuser
		case s.victim:
			setup = "SET deadlock_timeout = '500ms'; " + setup
		case s.patient:
			setup = "SET deadlock_timeout = '100s'; " + setup
		}
		if setup != "" {
			fmt.Fprintf(&b, "setup\n{\n  %s\n}\n", strings.TrimSpace(setup))
		}
		for _, step := range s.steps {
			fmt.Fprintf(&b, "step %s\t{ %s }\n", step.Name, step.SQL)
		}
	}
	b.WriteString("\npermutation")
	for _, l := range e.launches {
		b.WriteString(" " + l)
	}
	b.WriteString("\n")
	return b.String(), nil
}

// drops are the statements that drop what the schema made, the last first.
func (e *emitter) drops() string {
	stmts, err := grammar.Parse(e.setup.Schema)
	if err != nil {
		return ""
	}
	var drops []string
	for _, s := range stmts {
		if drop := dropOf(s.Stmt); drop != "" && !slices.Contains(drops, drop) {
			drops = append(drops, drop)
		}
	}
	if e.virtual {
		drops = append(drops, "DROP SCHEMA simrun CASCADE;")
	}
	slices.Reverse(drops)
	return strings.Join(drops, "\n")
}

func dropOf(n *pg.Node) string {
	if c := n.GetCreateStmt(); c != nil {
		return "DROP TABLE IF EXISTS " + qualified(c.Relation) + " CASCADE;"
	}
	if c := n.GetCreateTableAsStmt(); c != nil {
		return "DROP TABLE IF EXISTS " + qualified(c.Into.Rel) + " CASCADE;"
	}
	if c := n.GetViewStmt(); c != nil {
		return "DROP VIEW IF EXISTS " + qualified(c.View) + " CASCADE;"
	}
	if c := n.GetCreateSeqStmt(); c != nil {
		return "DROP SEQUENCE IF EXISTS " + qualified(c.Sequence) + " CASCADE;"
	}
	if c := n.GetCreateFunctionStmt(); c != nil {
		var parts []string
		for _, p := range c.Funcname {
			parts = append(parts, quoteName(p.GetString_().GetSval()))
		}
		return "DROP ROUTINE IF EXISTS " + strings.Join(parts, ".") + " CASCADE;"
	}
	if c := n.GetCreateSchemaStmt(); c != nil {
		return "DROP SCHEMA IF EXISTS " + quoteName(c.Schemaname) + " CASCADE;"
	}
	if c := n.GetCreateRoleStmt(); c != nil {
		return "DROP OWNED BY " + quoteName(c.Role) + "; DROP ROLE " + quoteName(c.Role) + ";"
	}
	return ""
}
