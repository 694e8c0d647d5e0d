package spec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	pg "github.com/pganalyze/pg_query_go/v6"

	grammar "simrun/model/sql/parser"
	"simrun/sim"
)

// ScenarioName is the scenario that runs a .spec file: sim.Instance.Text is the file, and the parameter "selection" which of its
// selections of steps runs, from 1 on.
const ScenarioName = "spec"

func init() {
	sim.Register(&sim.Scenario{
		Name: ScenarioName, Variants: []string{"file"}, FromText: true,
		Doc:    "an isolationtester file, explored by simrun spec FILE --all",
		Params: []sim.Param{{Name: SelectionParam, Doc: "which selection of steps, counted from 1", Default: 1, Min: 1, Max: 1000}},
		Build: func(cfg sim.Config) (*sim.Setup, error) {
			s, err := Parse(cfg.Text)
			if err != nil {
				return nil, err
			}
			all, err := s.Selections()
			if err != nil {
				return nil, err
			}
			n := cfg.Params[SelectionParam]
			if n > len(all) {
				return nil, fmt.Errorf("the file has %d selections of steps; there is no selection %d", len(all), n)
			}
			return all[n-1].setup()
		},
	})
}

// SelectionParam is the parameter that says which selection runs.
const SelectionParam = "selection"

// Selection is the steps of each session that are interleaved, and the queries that judge the end.
type Selection struct {
	Spec   *Spec
	Steps  [][]Step // of each session
	Checks []Step
}

// Selections are the selections of steps that the listed permutations make, each once, or all steps when no permutation is listed.
// Steps that are checks belong to none.
func (s *Spec) Selections() ([]*Selection, error) {
	var checks []Step
	for _, name := range s.Checks {
		step, found := s.step(name)
		if !found {
			return nil, fmt.Errorf("there is no step %q to check", name)
		}
		checks = append(checks, step)
	}
	if len(s.Permutations) == 0 {
		all := &Selection{Spec: s, Steps: make([][]Step, len(s.Sessions)), Checks: checks}
		for i, sess := range s.Sessions {
			for _, step := range sess.Steps {
				if !slices.Contains(s.Checks, step.Name) {
					all.Steps[i] = append(all.Steps[i], step)
				}
			}
		}
		return []*Selection{all}, nil
	}
	var list []*Selection
	known := map[string]bool{}
	for _, p := range s.Permutations {
		sel := &Selection{Spec: s, Steps: make([][]Step, len(s.Sessions)), Checks: checks}
		for _, l := range p {
			if !slices.Contains(s.Checks, l.Name) {
				sel.Steps[l.Session] = append(sel.Steps[l.Session], s.Sessions[l.Session].Steps[l.Step])
			}
		}
		if key := sel.String(); !known[key] {
			known[key] = true
			list = append(list, sel)
		}
	}
	return list, nil
}

func (s *Spec) step(name string) (Step, bool) {
	for _, sess := range s.Sessions {
		for _, step := range sess.Steps {
			if step.Name == name {
				return step, true
			}
		}
	}
	return Step{}, false
}

// String lists the steps of each session that has any: "a: a1 a2; b: b1 b2".
func (sel *Selection) String() string {
	var parts []string
	for i, steps := range sel.Steps {
		if len(steps) == 0 {
			continue
		}
		part := sel.Spec.Sessions[i].Name + ":"
		for _, s := range steps {
			part += " " + s.Name
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// The actors beside the sessions: one runs the part of the setup that cannot be a schema or rows, one reads the tables at the end.
const (
	setupActor = "(setup)"
	finalActor = "(final)"
)

// setup makes the scenario: an actor for each session, which runs its setup, its steps and, when all are done, its teardown. The
// main teardown is left out: the database is dropped.
func (sel *Selection) setup() (*sim.Setup, error) {
	p := parseSetups(sel.Spec.Setups)
	out := &sim.Setup{Schema: p.schema, Seed: p.seed}
	if len(p.rest) > 0 {
		out.Actors = append(out.Actors, sim.ActorSpec{Name: setupActor, Run: script(p.rest)})
	}
	steps := 0
	for i, sess := range sel.Spec.Sessions {
		if len(sel.Steps[i]) == 0 && sess.Setup == "" {
			continue
		}
		if sess.Name == setupActor || sess.Name == finalActor {
			return nil, fmt.Errorf("a session cannot be named %s", sess.Name)
		}
		a := sessionActor{before: sess.Setup, after: sess.Teardown}
		for _, s := range sel.Steps[i] {
			a.steps = append(a.steps, s.SQL)
			low := strings.ToLower(s.SQL + sess.Setup)
			if strings.Contains(low, "lock_timeout") {
				out.Faults.LockTimeout++
			}
			if strings.Contains(low, "statement_timeout") {
				out.Faults.StatementTimeout++
			}
			if strings.Contains(low, "idle_in_transaction_session_timeout") {
				out.Faults.IdleTimeout++
			}
		}
		steps += len(a.steps)
		out.Actors = append(out.Actors, sim.ActorSpec{Name: sess.Name, Run: a})
	}
	if steps == 0 {
		return nil, errors.New("the file has no step to run")
	}
	var reads script
	for _, t := range p.tables {
		reads = append(reads, "SELECT * FROM "+t)
	}
	out.Actors = append(out.Actors, sim.ActorSpec{Name: finalActor, Run: final(reads)})
	for _, c := range sel.Checks {
		out.Invariants = append(out.Invariants, sim.Invariant{Name: c.Name, Kind: sim.Quiescent, SQL: c.SQL})
	}
	return out, nil
}

// sessionActor is a session. It sleeps before its teardown, so that the clock, which moves when all sessions sleep, lets them end
// together: until then the locks of a transaction that is left open are held.
type sessionActor struct {
	before, after string
	steps         []string
}

func (a sessionActor) Run(ctx context.Context, db sim.DB) error {
	if err := (script{a.before}).Run(ctx, db); err != nil {
		return err
	}
	if err := script(a.steps).Run(ctx, db); err != nil {
		return err
	}
	if err := sim.Sleep(ctx, time.Nanosecond); err != nil {
		return err
	}
	return script{a.after}.Run(ctx, db)
}

// script runs statements one after the other, whatever each comes to.
type script []string

func (s script) Run(ctx context.Context, db sim.DB) error {
	for _, sql := range s {
		if sql == "" {
			continue
		}
		var failed *pgconn.PgError
		if _, err := db.Exec(ctx, sql); err != nil && !errors.As(err, &failed) {
			return err
		}
	}
	return nil
}

// final reads the tables when all sessions have ended.
type final script

func (f final) Run(ctx context.Context, db sim.DB) error {
	if err := sim.Sleep(ctx, time.Hour); err != nil {
		return err
	}
	return script(f).Run(ctx, db)
}

// setupParts are the setup blocks of a file, taken apart so that a server need not make its schema anew for each run.
type setupParts struct {
	schema string   // statements that make objects: those before the first that makes rows, and those that stand alone
	seed   string   // the others, when they make rows only
	rest   []string // otherwise the others, each block a request
	tables []string // that the setup makes, without partitions
}

func parseSetups(blocks []string) (p setupParts) {
	type statement struct {
		block int
		sql   string
		node  *pg.Node
	}
	var all []statement
	for i, block := range blocks {
		stmts, err := grammar.Parse(block)
		if err != nil { // let the database say it
			return setupParts{rest: blocks}
		}
		for _, s := range stmts {
			end := len(block)
			if s.StmtLen > 0 {
				end = int(s.StmtLocation + s.StmtLen)
			}
			all = append(all, statement{i, strings.TrimSpace(block[s.StmtLocation:end]) + ";\n", s.Stmt})
			if t := tableMade(s.Stmt); t != nil {
				p.tables = append(p.tables, qualified(t))
			}
		}
	}
	var rest []statement
	for _, s := range all {
		if len(rest) == 0 && makesObjects(s.node) || standsAlone(s.node) {
			p.schema += s.sql
		} else {
			rest = append(rest, s)
		}
	}
	if !slices.ContainsFunc(rest, func(s statement) bool { return !makesRows(s.node) }) {
		for _, s := range rest {
			p.seed += s.sql
		}
		return p
	}
	last := -1
	for _, s := range rest {
		if s.block == last {
			p.rest[len(p.rest)-1] += s.sql
			continue
		}
		last = s.block
		p.rest = append(p.rest, s.sql)
	}
	return p
}

func tableMade(n *pg.Node) *pg.RangeVar {
	if c := n.GetCreateStmt(); c != nil && c.Partbound == nil {
		return c.Relation
	}
	if c := n.GetCreateTableAsStmt(); c != nil && c.Objtype == pg.ObjectType_OBJECT_TABLE {
		return c.Into.Rel
	}
	return nil
}

func qualified(t *pg.RangeVar) string {
	name := quoteName(t.Relname)
	if t.Schemaname != "" {
		name = quoteName(t.Schemaname) + "." + name
	}
	return name
}

// quoteName quotes an identifier that the grammar does not read as the same name without.
func quoteName(name string) string {
	tree, err := grammar.Parse("TABLE " + name)
	if err == nil && len(tree) == 1 {
		if from := tree[0].Stmt.GetSelectStmt().GetFromClause(); len(from) == 1 && from[0].GetRangeVar().GetRelname() == name {
			return name
		}
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func makesRows(n *pg.Node) bool {
	return n.GetInsertStmt() != nil || n.GetUpdateStmt() != nil || n.GetDeleteStmt() != nil || n.GetSelectStmt() != nil && n.GetSelectStmt().IntoClause == nil
}

// standsAlone says that the statement makes an object that earlier statements that make rows cannot have met.
func standsAlone(n *pg.Node) bool {
	if c := n.GetCreateStmt(); c != nil {
		return c.Partbound == nil && len(c.InhRelations) == 0
	}
	return n.GetCreateFunctionStmt() != nil || n.GetCreateSeqStmt() != nil || n.GetCreateSchemaStmt() != nil
}

// makesObjects says that the statement may be part of a schema: it makes no rows, and can run in a transaction with others.
func makesObjects(n *pg.Node) bool {
	switch {
	case makesRows(n), n.GetCreateTableAsStmt() != nil, n.GetVacuumStmt() != nil, n.GetTransactionStmt() != nil, n.GetDoStmt() != nil,
		n.GetCallStmt() != nil, n.GetCopyStmt() != nil, n.GetExecuteStmt() != nil, n.GetIndexStmt() != nil && n.GetIndexStmt().Concurrent:
		return false
	}
	return true
}
