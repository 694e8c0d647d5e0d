package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"simrun/model"
	"simrun/sim"
	"simrun/sim/postgres"
)

// Emit writes a recorded run as a .spec file that isolationtester runs: a session for each connection of an actor, its statements with
// literal parameters, and one permutation, with markers where the order of reports would depend on time. The sessions plan as the
// model does and, when the scenario asks for time or chance, get them from the simulation. At the end what is still open is rolled
// back, and the queries of the invariants that are SQL are made, the violated one alone when broken names it. doc is put on top.
//
// What is the server's own a file cannot fix: the order in which it lets several sessions go on that one statement has freed (a
// comment names such places), and the numbers of its transactions and processes.
func Emit(setup *sim.Setup, t *sim.Trace, broken, doc string) (string, error) {
	e := &emitter{setup: setup, trace: t, db: model.New(), actors: make([]emitted, len(setup.Actors)), names: map[string]bool{}}
	e.db.Open("")
	if r := e.db.Submit(0, setup.Schema+"\n;"+setup.Seed, nil); r.Err != nil {
		e.db = nil // the types of parameters are not known then
	}
	e.virtual = virtual.MatchString(setup.Schema + setup.Seed)
	for i := range t.Steps {
		e.virtual = e.virtual || virtual.MatchString(t.Steps[i].SQL)
	}
	for i := range t.Steps {
		if err := e.step(i); err != nil {
			return "", fmt.Errorf("step %d: %w", i, err)
		}
	}
	// What is open does not matter to invariants, which see what is committed, but its locks may keep their queries waiting; a waiting
	// statement that is a transaction of its own, once let go, would change what they see.
	alone := slices.ContainsFunc(e.actors, func(a emitted) bool { return a.waits != nil && a.tx == 'I' })
	if !alone {
		e.release()
	}
	if err := e.judge(broken); err != nil {
		return "", err
	}
	e.release()
	return e.file(doc)
}

// virtual matches SQL that asks for what the simulation answers.
var virtual = regexp.MustCompile(`(?i)\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|gen_random_uuid)\b`)

type emitter struct {
	setup    *sim.Setup
	trace    *sim.Trace
	db       *model.DB // with the schema, for the types of parameters; nil when the model does not take it
	virtual  bool
	actors   []emitted
	sessions []*emitSession
	names    map[string]bool // of steps
	launches []string        // with markers
	comments []string
	last     *launch // of the launch that may have closed a deadlock
	sync     int     // the actor, plus one, whose statement ends by itself, before anyone but it goes on
}

// emitted is where an actor stands.
type emitted struct {
	session   *emitSession // nil before its first statement and after it lost its connection
	serial    int          // of its sessions
	tx        byte
	waits     *launch // the blocked statement
	by        []int   // for whom
	clock     time.Time
	clockTx   bool // the clock was set in the open transaction
	advisory  bool // session locks may be held
	temporary bool
}

type emitSession struct {
	name, setup string
	steps       []Step
	victim      bool // is the victim of a deadlock
	patient     bool // takes part in a deadlock without being the victim
}

type launch struct {
	at      int // in emitter.launches
	actor   int
	session *emitSession
	name    string
}

// open is the session of the actor.
func (e *emitter) open(i int) *emitSession {
	a := &e.actors[i]
	if a.session != nil {
		return a.session
	}
	spec := e.setup.Actors[i]
	a.serial++
	s := &emitSession{name: spec.Name}
	if a.serial > 1 {
		s.name = fmt.Sprintf("%s #%d", spec.Name, a.serial)
	}
	var b strings.Builder
	for _, kv := range postgres.PlanSettings() {
		fmt.Fprintf(&b, "SET %s = %s; ", kv[0], kv[1])
	}
	if e.virtual {
		fmt.Fprintf(&b, "\n  SET search_path = public, simrun, pg_catalog; SET TimeZone = UTC; %s", clockSQL(sim.Epoch, true))
	}
	for _, kv := range spec.Settings {
		fmt.Fprintf(&b, "\n  SELECT pg_catalog.set_config(%s, %s, false);", quoteText(kv[0]), quoteText(kv[1]))
	}
	if spec.Role != "" {
		fmt.Fprintf(&b, "\n  SET ROLE %s;", quoteName(spec.Role))
	}
	s.setup = b.String()
	e.sessions = append(e.sessions, s)
	a.session, a.tx, a.clock, a.clockTx, a.advisory, a.temporary = s, 'I', sim.Epoch, false, false, false
	return s
}

func clockSQL(now time.Time, txn bool) string {
	text := quoteText(now.UTC().Format("2006-01-02 15:04:05.999999+00"))
	sql := "SET simrun.now = " + text + ";"
	if txn {
		sql += " SET simrun.txn = " + text + ";"
	}
	return sql
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// launch adds a step of the actor to the permutation.
func (e *emitter) launch(i int, what, sql string) *launch {
	if e.sync > 0 && e.sync-1 != i {
		victim := e.sync - 1
		e.sync = 0
		// Only the next step of its own session waits for a statement that ends by itself.
		e.launch(victim, "sync", "SELECT 'goes on' AS session;")
	}
	e.sync = 0
	s := e.open(i)
	base := notName.ReplaceAllString(s.name, "_")
	if base == "" || digit(base[0]) {
		base = "s" + base
	}
	if what != "" {
		base += "_" + what
	}
	name := base
	for n := len(s.steps) + 1; what == "" || e.names[name]; n++ {
		if name = fmt.Sprintf("%s_%d", base, n); !e.names[name] {
			break
		}
	}
	e.names[name] = true
	s.steps = append(s.steps, Step{Name: name, SQL: sql})
	e.launches = append(e.launches, name)
	return &launch{at: len(e.launches) - 1, actor: i, session: s, name: name}
}

// mark puts a marker behind a launch that has none.
func (e *emitter) mark(l *launch, marker string) {
	if e.launches[l.at] == l.name {
		e.launches[l.at] += "(" + marker + ")"
	}
}

func (e *emitter) step(k int) error {
	s := &e.trace.Steps[k]
	if s.Actor < 0 {
		return nil
	}
	a := &e.actors[s.Actor]
	switch s.Kind {
	case sim.StepRun, sim.StepCommitApplied:
		if s.SQL == "" {
			break
		}
		if e := s.Reply.Err; e != nil && e.Severity == "FATAL" && e.Code == sim.IdleTimeout {
			break // its transaction ended when the connection did; isolationtester's stays
		}
		if signals.MatchString(s.SQL) {
			return fmt.Errorf("%s signals a session, which isolationtester's do not survive: %s", s.Name, sim.OneLine(s.SQL, 60))
		}
		if err := e.statement(s); err != nil {
			return err
		}
	case sim.StepWake:
		if s.SQL != "" && !s.Eager {
			e.comments = append(e.comments, fmt.Sprintf("%s goes on first in this run; a server may choose another of the sessions that were freed with it", e.open(s.Actor).name))
		}
	case sim.StepVictim:
		if a.waits == nil || e.last == nil {
			return fmt.Errorf("%s is the victim of a deadlock, and does not wait", s.Name)
		}
		e.deadlock(a.waits)
	case sim.StepLockTimeout, sim.StepStatementTimeout:
		e.mark(a.waits, "*")
		e.sync = s.Actor + 1
	case sim.StepCancel, sim.StepSerialization:
		e.refuse(s)
	case sim.StepCommitDropped, sim.StepConnLost, sim.StepCrash, sim.StepIdleTimeout:
		e.lose(s.Actor)
	}
	if s.SQL != "" && a.session != nil {
		if s.Reply.Blocked {
			a.by = s.Reply.By
		} else {
			a.waits, a.tx = nil, s.Reply.Tx
			if a.tx == 0 {
				a.tx = 'I'
			}
			if a.tx == 'I' && a.clockTx {
				a.clock, a.clockTx = time.Time{}, false
			}
		}
	}
	if s.Kind == sim.StepCommitApplied && !s.Reply.Blocked || s.Done {
		e.lose(s.Actor)
	}
	return nil
}

// signals matches calls of the functions that signal a session.
var signals = regexp.MustCompile(`(?i)\bpg_(cancel|terminate)_backend\b`)

// statement launches the actor's statement, after telling its session the time when that has moved on.
func (e *emitter) statement(s *sim.Step) error {
	e.open(s.Actor)
	a := &e.actors[s.Actor]
	if e.virtual && a.tx != 'E' && !a.clock.Equal(s.Now) {
		e.launch(s.Actor, "clock", clockSQL(s.Now, a.tx == 'I'))
		a.clock, a.clockTx = s.Now, a.tx == 'T'
	}
	var args []string
	for i, arg := range s.Args {
		text, err := e.literal(s, i, arg)
		if err != nil {
			return err
		}
		args = append(args, text)
	}
	sql, err := inline(s.SQL, args)
	if err != nil {
		return err
	}
	lower := strings.ToLower(sql)
	a.advisory = a.advisory || strings.Contains(lower, "advisory_lock")
	a.temporary = a.temporary || strings.Contains(lower, "temp")
	l := e.launch(s.Actor, "", strings.TrimSpace(sql))
	e.last = l
	if s.Reply.Blocked {
		a.waits = l
	}
	return nil
}

// deadlock fixes the victim: it looks for the deadlock when the cycle has closed, the others much later.
func (e *emitter) deadlock(victim *launch) {
	victim.session.victim = true
	for i := range e.actors {
		if w := e.actors[i].waits; w != nil && w != victim {
			w.session.patient = true
		}
	}
	if e.last == victim {
		e.mark(victim, "*")
	} else {
		e.mark(e.last, victim.name)
	}
	e.sync = victim.actor + 1
}

// refuse makes a statement fail that the schedule lets fail.
func (e *emitter) refuse(s *sim.Step) {
	a := &e.actors[s.Actor]
	code, message := "57014", "canceling statement due to user request"
	if s.Kind == sim.StepSerialization {
		code, message = "40001", "could not serialize access due to read/write dependencies among transactions"
	}
	switch {
	case a.waits != nil:
		e.control("cancel", fmt.Sprintf("SELECT pg_cancel_backend(pid) FROM pg_catalog.pg_stat_activity WHERE application_name LIKE %s;",
			quoteText("%/"+a.session.name)))
		e.mark(a.waits, "*")
		e.sync = s.Actor + 1
	case s.Reply.Tx == 'I' && a.tx != 'I':
		e.launch(s.Actor, "fails", "ROLLBACK;")
	default:
		e.launch(s.Actor, "fails", fmt.Sprintf("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '%s' USING MESSAGE = '%s'; END $$;", code, message))
	}
}

// lose ends the actor's connection, in so far as others can tell. The session itself stays, since isolationtester keeps it.
func (e *emitter) lose(i int) {
	a := &e.actors[i]
	if a.session == nil {
		return
	}
	if a.tx != 'I' {
		e.launch(i, "rollback", "ROLLBACK;")
	}
	if a.advisory {
		e.launch(i, "unlock", "SELECT pg_advisory_unlock_all();")
	}
	if a.temporary {
		e.launch(i, "discard", "DISCARD TEMP;")
	}
	a.session, a.tx = nil, 'I'
}
