package rings

import (
	"testing"
	"time"

	"simrun/model"
	"simrun/sim"
)

// committed is a View of an in-memory Postgres, for invariants that are asked outside of a run.
type committed struct{ db *model.DB }

func (v committed) Query(sql string) (*sim.Result, error) {
	res, err := v.db.Query(sql)
	if err != nil {
		return nil, err
	}
	return res, nil
}
func (v committed) Now() time.Time                  { return time.Time{} }
func (v committed) Done(string) (bool, error)       { return false, nil }
func (v committed) Fact(string, string) (any, bool) { return nil, false }
func (v committed) Facts(string, func(string, any)) {}
func (v committed) Memo(_ any, make func() any) any { return make() }

// fixture is a scenario's database with a session of the superuser.
type fixture struct {
	t       *testing.T
	db      *model.DB
	session int
	setup   *sim.Setup
}

func newFixture(t *testing.T, scenario string) *fixture {
	t.Helper()
	f := &fixture{t: t, db: model.New(), setup: setupOf(t, scenario, repaired)}
	f.db.SetNow(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	f.session = f.db.Open("")
	f.exec(f.setup.Schema)
	f.exec(f.setup.Seed)
	return f
}

func (f *fixture) exec(sql string) {
	f.t.Helper()
	if rep := f.db.Submit(f.session, sql, nil); rep.Err != nil || rep.Blocked {
		f.t.Fatalf("%v in %s", rep.Err, sql)
	}
}

func (f *fixture) invariant(name string) sim.Invariant {
	f.t.Helper()
	for _, inv := range f.setup.Invariants {
		if inv.Name == name {
			return inv
		}
	}
	f.t.Fatalf("%v has no invariant %s", f.setup.Actors[0].Name, name)
	return sim.Invariant{}
}

// TestSQLInvariantsFire breaks each SQL invariant by hand; before, it holds.
func TestSQLInvariantsFire(t *testing.T) {
	for _, c := range []struct{ scenario, invariant, breakIt string }{
		{"rings/prune", "Lockstep", `INSERT INTO queue_ring_rotations VALUES (7, 0)`},
		{"rings/prune", "Fence", `UPDATE queue_ring_slots SET generation = 3`},
		{"rings/prune", "Contiguous", `INSERT INTO queue_ring_rotations VALUES (9, 1)`},
		{"rings/prune", "NoLoss", `DELETE FROM ready_entries WHERE job = 2`},
		{"rings/prune", "ExactCounts", `DELETE FROM receipt_completion_batches`},
		{"rings/prune", "CountersMatch", `INSERT INTO queue_terminal_live_counts VALUES (0, 'q', 1, 0)`},
		{"rings/prune", "ClaimOnce", `SELECT setval('claim_q_0', 2)`},
		{"rings/prune", "FinishedOnce", `INSERT INTO app_effects VALUES (1, 2, false)`},
		{"rings/prune", "ProofSound", `INSERT INTO lease_claim_closures VALUES (0, 5, 1)`},
		{"rings/prune", "OneGeneration", `INSERT INTO ready_tombstones VALUES (1, 9, 'q', 0, 1)`},
		{"rings/mixed", "Stamped", `UPDATE queue_ring_slots SET generation = 0`},
		{"rings/trim", "Retention", `DELETE FROM lease_ring_rotations WHERE generation = 1`},
		{"rings/reclaim", "Reclaim", `INSERT INTO ready_tombstones VALUES (1, 5, 'q', 0, 77)`},
	} {
		t.Run(c.invariant, func(t *testing.T) {
			f := newFixture(t, c.scenario)
			inv := f.invariant(c.invariant)
			res, err := f.db.Query(inv.SQL)
			if err != nil || len(res.Rows) != 0 && c.invariant != "Reclaim" { // its start has rows to reclaim
				t.Fatalf("at the start: %v, %v", res, err)
			}
			before := len(res.Rows)
			f.exec(c.breakIt)
			if res, err = f.db.Query(inv.SQL); err != nil || len(res.Rows) <= before {
				t.Errorf("%s did not fire: %v, %v", c.invariant, res, err)
			}
		})
	}
}

// play feeds steps to an invariant's monitor and returns the first violation and the index of its step.
func play(inv sim.Invariant, steps []*sim.Step) (at int, bad string) {
	m := inv.Monitor()
	for i, s := range steps {
		if m, bad = m.Step(s); bad != "" {
			return i, bad
		}
	}
	return -1, ""
}

// TestCursorWatchersFire changes the committed cursors step by step; the last change breaks the invariant, those before do not.
func TestCursorWatchersFire(t *testing.T) {
	for _, c := range []struct {
		scenario, invariant string
		changes             []string
	}{
		{"rings/prune", "MixedFleet/data", []string{`DROP TRIGGER reject_compat_cursor ON queue_ring_state`,
			`UPDATE queue_ring_state SET current_slot = 0, generation = 0`}},
		{"rings/prune", "SingleAdvance", []string{`INSERT INTO queue_ring_rotations VALUES (3, 1)`,
			`DELETE FROM queue_ring_rotations WHERE generation = 3`, `INSERT INTO queue_ring_rotations VALUES (3, 1)`}},
		{"rings/prune", "NoSkip", []string{`INSERT INTO queue_ring_rotations VALUES (3, 1)`, `INSERT INTO queue_ring_rotations VALUES (5, 1)`}},
		{"rings/prune", "OneWay", []string{`UPDATE ring_cursor_authority SET authority = 'columns'`}},
		{"rings/flip", "Shadow", []string{`UPDATE queue_ring_state SET current_slot = 2, generation = 2`, `INSERT INTO queue_ring_rotations VALUES (3, 3)`}},
		{"rings/prune", "EmptyTarget", []string{`INSERT INTO queue_ring_rotations VALUES (3, 1)`}},
		{"rings/expand", "ExpandFaithful", []string{`CREATE TABLE unrelated ()`}},
	} {
		t.Run(c.invariant, func(t *testing.T) {
			f := newFixture(t, c.scenario)
			m := f.invariant(c.invariant).Monitor()
			for i, sql := range c.changes {
				f.exec(sql)
				s := &sim.Step{Actor: 0, SQL: sql, Committed: committed{f.db}, Changed: true}
				if c.invariant == "ExpandFaithful" { // says that it has migrated, and has not
					s.Events = told(noteOutcome, Outcome{Kind: Done, Reason: reasonExpanded})
				}
				var bad string
				m, bad = m.Step(s)
				if last := i == len(c.changes)-1; (bad != "") != last {
					t.Errorf("after %s: %q", sql, bad)
				}
			}
		})
	}
}

// told is a fact as a step carries it.
func told(key string, value any) []sim.Event {
	return []sim.Event{{Kind: sim.EventNote, Name: key, Value: value}}
}

// TestMonitorsFire feeds each monitor a run in small; the last step breaks the invariant, those before do not.
func TestMonitorsFire(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1_900_000_000+int64(seconds), 0).UTC() }
	micro := func(seconds int) int64 { return at(seconds).UnixMicro() }
	reply := func(tx byte) sim.Reply { return sim.Reply{Tx: tx} }
	outcome := func(actor int, o Outcome) *sim.Step {
		return &sim.Step{Actor: actor, Events: told(noteOutcome, o), Reply: reply('I'), Now: at(60)}
	}
	holds := func(actor int, ring, mode string) *sim.Step {
		return &sim.Step{Actor: actor, Events: told(noteHold, hold{ring, mode}), Reply: reply('T')}
	}
	wrote := func(actor int, sql, tag string) *sim.Step {
		return &sim.Step{Actor: actor, SQL: sql, Reply: sim.Reply{Tx: 'T', Result: &sim.Result{Tag: tag}}}
	}
	refusedStep := &sim.Step{Actor: 1, SQL: "SELECT pg_try_advisory_xact_lock(hashtextextended('ring_rotation:queue', 0))",
		Reply: sim.Reply{Tx: 'T', Result: newFixtureResult(t)}}
	for _, c := range []struct {
		scenario, invariant string
		steps               []*sim.Step
	}{
		{"rings/flip", "MixedFleet", []*sim.Step{holds(0, "queue", columns), {Actor: 0, Reply: reply('I')}, holds(0, "queue", columns), holds(1, "lease", ledger)}},
		{"rings/flip", "AwareNeverBreaks", []*sim.Step{outcome(0, Outcome{Kind: Failed, Reason: "55000", Old: true}), outcome(0, Outcome{Kind: Failed, Reason: "55000"})}},
		{"rings/flip", "SingleReport", []*sim.Step{outcome(0, Outcome{Kind: Rotated, Ring: "queue", Gen: 3}),
			outcome(1, Outcome{Kind: Rotated, Ring: "lease", Gen: 3}), outcome(1, Outcome{Kind: Rotated, Ring: "queue", Gen: 3})}},
		{"rings/flip", "SerializerHeld", []*sim.Step{holds(0, "queue", ledger), refusedStep, outcome(1, Outcome{Kind: SkippedBusy, Ring: "queue", Reason: reasonSerializer}),
			{Actor: 0, Reply: reply('I')}, refusedStep, outcome(1, Outcome{Kind: SkippedBusy, Ring: "queue", Reason: reasonSerializer})}},
		{"rings/flip", "Idempotent", []*sim.Step{outcome(0, Outcome{Kind: AlreadyLedger}), outcome(0, Outcome{Kind: Refused, Reason: "invalid columns"})}},
		{"rings/flip", "Understood", []*sim.Step{outcome(0, Outcome{Kind: Failed, Reason: "40001"}), outcome(0, Outcome{Kind: Failed, Reason: "42601"})}},
		{"rings/prune", "BoundedWait", []*sim.Step{{SQL: "LOCK TABLE ready_entries_0", Bounded: true, Reply: sim.Reply{Blocked: true}},
			{SQL: "LOCK TABLE ready_entries_0", Reply: sim.Reply{Blocked: true}}}},
		{"rings/lease", "LeaseFound", []*sim.Step{outcome(0, Outcome{Kind: Done}), outcome(0, Outcome{Kind: Noop, Reason: reasonGone})}},
		{"rings/fold", "StandDown", []*sim.Step{
			{Actor: 1, Events: told(notePin, micro(0)), Reply: reply('T'), Now: at(0)},
			{Actor: 0, Events: told(noteFold, micro(1)), Reply: reply('I'), Now: at(1)}, outcome(0, Outcome{Kind: Done, N: 1}), // young
			{Actor: 0, Events: told(noteFold, micro(50)), Reply: reply('I'), Now: at(50)}, outcome(0, Outcome{Kind: Done, N: 1})}},
		{"rings/fold", "FoldProgress", []*sim.Step{
			{Actor: 1, Reply: reply('T')}, {Actor: 0, Events: told(noteFold, micro(1)), Reply: reply('I'), Now: at(1)}, outcome(0, Outcome{Kind: SkippedPinned}),
			{Actor: 1, Reply: reply('I')}, {Actor: 0, Events: told(noteFold, micro(2)), Reply: reply('I'), Now: at(2)}, outcome(0, Outcome{Kind: SkippedPinned})}},
		{"rings/fold", "FoldProgress", []*sim.Step{ // a transaction that began long ago pins, although its snapshot is young
			{Actor: 1, Reply: reply('T'), Now: at(0)}, {Actor: 1, Events: told(notePin, micro(20)), Reply: reply('T'), Now: at(20)},
			{Actor: 0, Events: told(noteFold, micro(20)), Reply: reply('I'), Now: at(20)}, outcome(0, Outcome{Kind: SkippedPinned}),
			{Actor: 1, Reply: reply('I'), Now: at(21)}, {Actor: 0, Events: told(noteFold, micro(21)), Reply: reply('I'), Now: at(21)}, outcome(0, Outcome{Kind: SkippedPinned})}},
		{"rings/autoflip", "AutoStable", []*sim.Step{
			{Actor: 0, Events: told(noteFleet, fleetSeen{micro(0), true}), Now: at(0)}, {Actor: 0, Events: told(noteFleet, fleetSeen{At: -1}), Now: at(60)},
			outcome(0, Outcome{Kind: Flipped})}},
		{"rings/prune", "QuietLedger", []*sim.Step{
			wrote(0, "UPDATE queue_ring_state SET current_slot = $1 WHERE singleton", "UPDATE 1"), // under the columns' discipline
			holds(0, "queue", ledger),
			wrote(0, "UPDATE queue_ring_slots SET generation = $1 WHERE slot = $2", "UPDATE 0"),
			wrote(0, "UPDATE claim_ring_slots SET batch_cursor_seq = 0 WHERE slot = $1", "UPDATE 1"),
			wrote(0, "INSERT INTO queue_ring_rotations (generation, slot) VALUES ($1, $2) ON CONFLICT (generation) DO NOTHING", "INSERT 0 1"),
			{Actor: 0, Reply: reply('I')},
			wrote(0, "DELETE FROM lease_ring_rotations WHERE generation < 3", "DELETE 2"), // a fold
			holds(1, "queue", ledger),
			wrote(1, "UPDATE queue_ring_slots SET generation = $1 WHERE slot = $2", "UPDATE 1")}},
		{"rings/prune", "QuietLedger", []*sim.Step{holds(1, "queue", ledger),
			wrote(1, "INSERT INTO queue_terminal_rollups AS r (queue) VALUES ($1) ON CONFLICT (queue) DO UPDATE SET queue = $1", "INSERT 0 1")}},
		{"rings/fold", "ExactReads", []*sim.Step{
			{Actor: 3, Events: []sim.Event{{Kind: sim.EventCall, Name: "count"}}}, outcome(3, Outcome{Kind: Counted, N: 4}),
			{Actor: 3, Events: []sim.Event{{Kind: sim.EventCall, Name: "count"}}}, outcome(3, Outcome{Kind: Counted, N: 5})}},
	} {
		t.Run(c.invariant, func(t *testing.T) {
			f := newFixture(t, c.scenario)
			if i, bad := play(f.invariant(c.invariant), c.steps); i != len(c.steps)-1 {
				t.Errorf("fired at step %d of %d: %q", i, len(c.steps), bad)
			}
		})
	}
}

// newFixtureResult is a result of one row with false in it.
func newFixtureResult(t *testing.T) *sim.Result {
	t.Helper()
	db := model.New()
	res, err := db.Query("SELECT false")
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestCommittedMonitorsFire is about the monitors that look at outcomes next to committed data.
func TestCommittedMonitorsFire(t *testing.T) {
	for _, c := range []struct {
		scenario, invariant, prepare string
		steps                        func(v sim.View) []*sim.Step
	}{
		{"rings/prune", "OpenSlotSafe", "", func(v sim.View) []*sim.Step {
			return []*sim.Step{{Committed: v, Events: told(noteOutcome, Outcome{Kind: Pruned, Ring: "queue", Slot: 1})},
				{Committed: v, Events: told(noteOutcome, Outcome{Kind: Pruned, Ring: "queue", Slot: 0})}}
		}},
		{"rings/prune", "Loud", "", func(v sim.View) []*sim.Step {
			return []*sim.Step{{Committed: v, Events: told(noteOutcome, Outcome{Kind: Noop, Old: true})},
				{Committed: v, Events: told(noteOutcome, Outcome{Kind: Pruned, Ring: "queue", Old: true})}}
		}},
		{"rings/gate", "Gate", `INSERT INTO runtime_instances VALUES ('old', '0.6.2', true, '2030-01-01 00:00:00+00', NULL)`, func(v sim.View) []*sim.Step {
			gate := func(seconds int) *sim.Step {
				return &sim.Step{Committed: v, Actor: 4, SQL: statusSQL, Now: time.Date(2030, 1, 1, 0, 0, seconds, 0, time.UTC)}
			}
			flipped := &sim.Step{Actor: 4, Events: told(noteOutcome, Outcome{Kind: Flipped})}
			return []*sim.Step{gate(100), flipped, gate(30), flipped}
		}},
		{"rings/prune", "RouteFresh", `INSERT INTO queue_ring_rotations VALUES (3, 1)`, func(v sim.View) []*sim.Step { // from (0, 2)
			step := func(actor int, sql string, args ...any) *sim.Step {
				return &sim.Step{Actor: actor, SQL: sql, Args: args, Reply: sim.Reply{Tx: 'T', Result: &sim.Result{}}}
			}
			const insert = "INSERT INTO ready_entries (ready_slot, ready_generation) VALUES ($1, $2)"
			return []*sim.Step{step(0, "begin"), {Actor: 1, SQL: "commit", Committed: v, Reply: sim.Reply{Tx: 'I'}},
				step(0, insert, 0, int64(2)), step(0, insert, 1, int64(3)), // before the rotation, after it: its transaction began before
				step(1, "begin"), step(1, insert, 1, int64(3)), step(1, insert, 0, int64(2))} // not so this one's
		}},
		{"rings/prune", "RouteFresh", "", func(v sim.View) []*sim.Step {
			return []*sim.Step{{Actor: 0, SQL: "INSERT INTO ready_entries (ready_slot, ready_generation) VALUES ($1, $2)", Args: []any{1, int64(2)},
				Reply: sim.Reply{Tx: 'I', Result: &sim.Result{}}}}
		}},
		{"rings/expand", "Floor", `INSERT INTO runtime_instances VALUES ('ancient', '0.6.1', true, now())`, func(v sim.View) []*sim.Step {
			return []*sim.Step{{Committed: v, Events: told(noteOutcome, Outcome{Kind: Refused})},
				{Committed: v, Events: told(noteOutcome, Outcome{Kind: Done, Reason: reasonExpanded})}}
		}},
	} {
		t.Run(c.invariant, func(t *testing.T) {
			f := newFixture(t, c.scenario)
			if c.prepare != "" {
				f.exec(c.prepare)
			}
			steps := c.steps(committed{f.db})
			if i, bad := play(f.invariant(c.invariant), steps); i != len(steps)-1 {
				t.Errorf("fired at step %d of %d: %q", i, len(steps), bad)
			}
		})
	}
}

// TestLinearizableCursorFires: a read that began after a rotation returned sees the cursor of before.
func TestLinearizableCursorFires(t *testing.T) {
	inv := linearizableCursor(start{layout: small(4), authority: columns, cur: cursor{1, 1}}.cursors())
	rotate := sim.HistoryOp{Actor: 0, Name: "rotate", Input: "queue", Output: Outcome{Kind: Rotated, Slot: 2, Gen: 2}, Call: 0, Return: 5}
	read := func(gen int64, call, ret int) sim.HistoryOp {
		return sim.HistoryOp{Actor: 1, Name: "read", Input: "queue", Output: Outcome{Kind: Read, Slot: int(gen), Gen: gen}, Call: call, Return: ret}
	}
	if bad := inv.Run(&sim.Trace{History: []sim.HistoryOp{rotate, read(1, 2, 7), read(2, 8, 9)}}); bad != "" {
		t.Error(bad)
	}
	if bad := inv.Run(&sim.Trace{History: []sim.HistoryOp{rotate, read(1, 6, 7)}}); bad == "" {
		t.Error("a stale read passed")
	}
}
