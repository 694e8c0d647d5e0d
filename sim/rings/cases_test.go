package rings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// The cases here are those that the system's own tests check: a few actors one after the other, and what the database says then.

// raw is an actor that plays a foreign program: statements, each a transaction of its own. It keeps the command tags and SQLSTATEs.
type raw struct {
	sql  []string
	tags *[]string
}

// Run runs the statements.
func (a raw) Run(ctx context.Context, db sim.DB) error {
	for _, sql := range a.sql {
		tag, err := db.Exec(ctx, sql)
		if err != nil {
			o, lost := failed(err)
			if lost != nil {
				return lost
			}
			*a.tags = append(*a.tags, o.Reason)
			continue
		}
		*a.tags = append(*a.tags, tag.String())
	}
	return nil
}

// rows asks for rows of text.
func (g *game) rows(sql string) []string {
	g.t.Helper()
	res, err := g.w.Query(sql)
	if err != nil {
		g.t.Fatalf("%v in %s", err, sql)
	}
	out := []string{}
	for _, row := range res.Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, v.Text())
		}
		out = append(out, strings.Join(cells, " "))
	}
	return out
}

func (g *game) wantRows(sql string, want ...string) {
	g.t.Helper()
	if got := g.rows(sql); !slices.Equal(got, want) {
		g.t.Errorf("%s: %q, want %q", sql, got, want)
	}
}

// inOrder plays the actors one after the other. Foreign programs break invariants, so none is asked.
func inOrder(t *testing.T, setup *sim.Setup, actors ...sim.Actor) *game {
	t.Helper()
	setup.Actors, setup.Invariants, setup.Faults = nil, nil, sim.Faults{}
	for i, a := range actors {
		setup.Actors = append(setup.Actors, sim.ActorSpec{Name: fmt.Sprintf("a%d", i), Run: a})
	}
	g := newGame(t, setup)
	for i := range actors {
		g.ends(fmt.Sprintf("a%d", i))
	}
	return g
}

const ledgerSQL = `SELECT generation, slot FROM queue_ring_rotations ORDER BY generation`

// busy is a world of four slots whose queue ring holds a job in its open slot.
func busy(p *program, authority string, cur cursor) *world {
	w := newWorld(p, 4, authority, cur)
	w.ready(queueQ, 1, 1, cur)
	w.at(queueQ, 1, 0)
	return w
}

func TestCaseAppendIsACompareAndSwap(t *testing.T) {
	var tags []string
	const append1 = `INSERT INTO queue_ring_rotations VALUES (1, %d) ON CONFLICT (generation) DO NOTHING`
	g := inOrder(t, newWorld(newProgram(repaired), 4, ledger, cursor{0, 0}).setup(),
		raw{[]string{fmt.Sprintf(append1, 1), fmt.Sprintf(append1, 2)}, &tags})
	if want := []string{"INSERT 0 1", "INSERT 0 0"}; !slices.Equal(tags, want) {
		t.Errorf("%q", tags)
	}
	g.wantRows(`SELECT slot, generation FROM ring_cursor('queue')`, "1 1")
	g.wantRows(ledgerSQL, "0 0", "1 1")
}

func TestCaseCompatRotationReconciles(t *testing.T) {
	var tags []string
	p := newProgram(repaired)
	g := inOrder(t, busy(p, columns, cursor{0, 0}).setup(), rotator{p, queueRing, 1})
	g.want("a0", "Rotated queue (1,1)")
	g.wantRows(`SELECT current_slot, generation FROM queue_ring_state`, "1 1")
	g.wantRows(ledgerSQL, "0 0", "1 1")

	p = newProgram(repaired)
	g = inOrder(t, busy(p, columns, cursor{0, 0}).setup(),
		raw{[]string{`UPDATE queue_ring_state SET current_slot = 2, generation = 2`}, &tags}, rotator{p, queueRing, 1})
	g.want("a1", "Rotated queue (3,3)")
	g.wantRows(`SELECT current_slot, generation FROM queue_ring_state`, "3 3")
	g.wantRows(ledgerSQL, "0 0", "1 1", "2 2", "3 3")
}

func TestCaseFlipReconcilesAndFences(t *testing.T) {
	var tags, late []string
	p := newProgram(repaired)
	g := inOrder(t, busy(p, columns, cursor{0, 0}).setup(), rotator{p, queueRing, 1},
		raw{[]string{`UPDATE queue_ring_state SET current_slot = 3, generation = 3`, `UPDATE lease_ring_state SET current_slot = 3, generation = 3`,
			`UPDATE claim_ring_state SET current_slot = 2, generation = 2`}, &tags},
		flip{p: p, times: 2}, raw{[]string{`UPDATE queue_ring_state SET current_slot = 0, generation = 0`}, &late},
		worker{p: p, ring: queueRing, lane: queueQ, ticks: 1})
	g.want("a2", "Flipped", "AlreadyLedger")
	if !slices.Equal(late, []string{"55000"}) {
		t.Errorf("an old rotation after the flip: %q", late)
	}
	g.wantRows(ledgerSQL, "0 0", "1 1", "2 2", "3 3")
	g.wantRows(`SELECT (SELECT count(*) FROM lease_ring_rotations), (SELECT count(*) FROM claim_ring_rotations)`, "4 3")
	for _, r := range allRings {
		g.wantRows(`SELECT current_slot, generation FROM `+r.name+`_ring_state`, "-1 -1")
	}
	g.wantRows(`SELECT slot FROM queue_ring_slots WHERE generation >= 0`)
	g.want("a4", "Done queue", "Done queue") // claimed and completed
}

func TestCaseFlipGate(t *testing.T) {
	for _, c := range []struct {
		name, runtimes string
		force          bool
		want           string
	}{
		{"unaware", `('old', '0.6.2', true, now(), NULL)`, false, "Refused blocking runtimes"},
		{"unreadable", `('odd', '0.7.0', true, now(), 'next')`, false, "Refused blocking runtimes"},
		{"too old", `('old', '0.6.9', true, now(), '0.6.9')`, false, "Refused blocking runtimes"},
		{"forced", `('old', '0.6.2', true, now(), NULL)`, true, "Flipped"},
		{"stale", `('old', '0.6.2', true, now() - interval '10 minutes', NULL), ('new', '0.7.0', true, now(), '0.7.0')`, false, "Flipped"},
		{"before its release", `('new', '0.7.0-rc1', true, now(), '0.7.0-rc1')`, false, "Flipped"},
		{"nobody", `('gone', '0.6.2', false, now() - interval '1 day', NULL)`, false, "Flipped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgram(repaired)
			w := busy(p, columns, cursor{1, 1})
			w.from.extra += "INSERT INTO runtime_instances VALUES " + c.runtimes + ";\n"
			inOrder(t, w.setup(), flip{p: p, times: 1, force: c.force}).want("a0", c.want)
		})
	}
}

func TestCaseExpandAndInverseSeed(t *testing.T) {
	var tags []string
	p := newProgram(repaired)
	l, at := small(4), cursor{3, 19}
	p.slots = 4
	old := func() *sim.Setup {
		return &sim.Setup{Schema: p.schema.oldText(l, true), Seed: oldRings(l, at) + oldRow(at)}
	}
	drop := []string{}
	for _, r := range allRings {
		drop = append(drop, "DROP TRIGGER reject_compat_cursor ON "+r.name+"_ring_state", "ALTER TABLE "+r.name+"_ring_state DROP COLUMN current_slot, DROP COLUMN generation")
	}
	for name, actors := range map[string][]sim.Actor{
		"a live schema":             {expander{p, 1}},
		"its own result":            {expander{p, 2}},
		"columns that were dropped": {expander{p, 1}, raw{drop, &tags}, expander{p, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := inOrder(t, old(), actors...)
			g.wantRows(`SELECT authority FROM ring_cursor_authority`, "columns")
			for _, r := range allRings {
				g.wantRows(`SELECT current_slot, generation FROM `+r.name+`_ring_state`, "3 19")
				g.wantRows(`SELECT slot, generation FROM `+r.name+`_ring_rotations ORDER BY generation DESC LIMIT 1`, "3 19")
				g.wantRows(`SELECT slot, generation FROM ring_cursor('`+r.name+`')`, "3 19")
			}
		})
	}
	t.Run("no schema", func(t *testing.T) {
		g := inOrder(t, &sim.Setup{Schema: p.schema.oldText(l, false), Seed: oldRow(cursor{0, 0})}, expander{p, 1})
		g.wantRows(`SELECT authority FROM ring_cursor_authority`, "ledger")
		for _, r := range allRings {
			g.wantRows(`SELECT slot, generation FROM ring_cursor('`+r.name+`')`, "0 0")
			g.wantRows(`SELECT current_slot, generation FROM `+r.name+`_ring_state`, "-1 -1")
		}
	})
	t.Run("a runtime before 0.6.2", func(t *testing.T) {
		setup := old()
		setup.Seed += "INSERT INTO runtime_instances VALUES ('ancient', '0.6.1', true, now());\n"
		g := inOrder(t, setup, expander{p, 1})
		g.want("a0", "Refused runtime too old")
		g.wantRows(`SELECT to_regclass('ring_cursor_authority') IS NULL`, "t")
	})
}

func TestCaseDrainedRingIdles(t *testing.T) {
	p := newProgram(repaired)
	w := busy(p, ledger, cursor{0, 0})
	leader := maintainer{p, queueRing, 3}
	g := inOrder(t, w.setup(), rotator{p, queueRing, 1}, pruner{p: p, ring: queueRing, ticks: 1}, worker{p: p, ring: queueRing, lane: queueQ, ticks: 1},
		leader, enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 1}, rotator{p, queueRing, 1})
	g.want("a0", "Rotated queue (1,1)")
	g.want("a1", "SkippedActive queue (0,0) queue.pending_ready")
	// The sealed slot keeps the ring turning until it is reclaimed; then the ring idles, and prune is not repeated.
	g.want("a3", "Rotated queue (2,2)", "Pruned queue (0,0)", "SkippedIdle queue (2,2)", "SkippedIdle queue (2,2)")
	g.want("a5", "Rotated queue (3,3)")
}

// settledTables is what a run of an operator's program might change.
var settledTables = []string{"queue_ring_state", "lease_ring_state", "claim_ring_state", "queue_ring_slots", "lease_ring_slots", "claim_ring_slots",
	"queue_ring_rotations", "lease_ring_rotations", "claim_ring_rotations", "ring_cursor_authority", "runtime_instances"}

// changedBy says what in the settled tables a second run of the actor changes.
func changedBy(t *testing.T, setup *sim.Setup, actor sim.Actor, tables ...string) (changed []string) {
	t.Helper()
	setup.Actors = []sim.ActorSpec{{Name: "first", Run: actor}, {Name: "second", Run: actor}}
	setup.Invariants, setup.Faults = nil, sim.Faults{}
	g := newGame(t, setup)
	g.ends("first")
	tables = append(tables, settledTables...)
	dump := map[string][]string{}
	for _, table := range tables {
		dump[table] = g.rows("SELECT * FROM " + table + " ORDER BY 1")
	}
	g.ends("second")
	for _, table := range tables {
		if now := g.rows("SELECT * FROM " + table + " ORDER BY 1"); !slices.Equal(now, dump[table]) {
			changed = append(changed, table)
		}
	}
	return changed
}

// TestRunAgainChangesNothing is I-27: on a settled state the installer, the flip, the folds and the contract change nothing.
func TestRunAgainChangesNothing(t *testing.T) {
	p := newProgram(repaired)
	p.slots = 4
	l := small(4)
	oldAt := func(at cursor) *sim.Setup {
		return &sim.Setup{Schema: p.schema.oldText(l, true), Seed: oldRings(l, at) + oldRow(at)}
	}
	newAt := func(authority string) *sim.Setup { return newWorld(p, 4, authority, cursor{1, 5}).setup() }
	long := newWorld(p, 2, ledger, cursor{0, 2})
	long.from.extra += "INSERT INTO queue_ring_rotations SELECT g, (g % 2)::integer FROM generate_series(3, 9) AS g;\nINSERT INTO queue_terminal_rollup_deltas VALUES ('q', 2, 1);\n"
	for _, c := range []struct {
		name   string
		setup  *sim.Setup
		actor  sim.Actor
		tables []string
	}{
		{"expand", oldAt(cursor{3, 19}), expander{p, 1}, nil},
		{"install", &sim.Setup{Schema: p.schema.oldText(l, false), Seed: oldRow(cursor{0, 0})}, expander{p, 1}, nil},
		{"expand after the flip", newAt(ledger), expander{p, 1}, nil},
		{"flip", newAt(columns), flip{p: p, times: 1}, nil},
		{"forced flip", newAt(columns), flip{p: p, times: 1, force: true}, nil},
		{"contract", newAt(ledger), contractor{p: p, times: 1}, nil},
		{"folds", long.setup(), folder{p: p, ticks: 1, ledgers: true, deltas: true}, []string{"queue_terminal_rollups", "queue_terminal_rollup_deltas"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if changed := changedBy(t, c.setup, c.actor, c.tables...); changed != nil {
				t.Errorf("the second run changed %q", changed)
			}
		})
	}
	// The other way round: a fold that trims the cursor is seen to change something.
	t.Run("trims the cursor", func(t *testing.T) {
		p, err := programOf("", sim.Config{Variant: repaired, Mutants: []string{"D6"}})
		if err != nil {
			t.Fatal(err)
		}
		if changed := changedBy(t, long.setup(), folder{p: p, ticks: 1, ledgers: true}); !slices.Contains(changed, "queue_ring_rotations") {
			t.Errorf("the second run changed %q", changed)
		}
	})
}

// TestIdleSkipWritesNothing: 25 ticks of three rings on an empty store leave row versions, ledgers and dead rows as they are, and
// a leader on a frozen cursor truncates once.
func TestIdleSkipWritesNothing(t *testing.T) {
	p := newProgram(repaired)
	setup := newWorld(p, 2, ledger, cursor{0, 2}).setup()
	db := onServer(t, setup)()
	ctx := context.Background()
	versions := func() (out string) {
		for _, r := range allRings {
			var s string
			if err := db.QueryRow(ctx, `SELECT s.ctid::text || ' ' || s.xmin::text || ' ' || (SELECT count(*) FROM `+r.name+`_ring_rotations)::text || ' '
				|| (SELECT max(generation) FROM `+r.name+`_ring_rotations)::text || ' ' || pg_stat_get_dead_tuples('`+r.name+`_ring_state'::regclass)::text
				FROM `+r.name+`_ring_state s`).Scan(&s); err != nil {
				t.Fatal(err)
			}
			out += s + "; "
		}
		return out
	}
	before := versions()
	for range 25 {
		for _, r := range allRings {
			if o, err := p.rotate(ctx, db, r); err != nil || o.Kind != SkippedIdle {
				t.Fatalf("%s: %v, %v", r.name, o, err)
			}
		}
	}
	if _, err := db.Exec(ctx, `SELECT pg_stat_force_next_flush()`); err != nil {
		t.Fatal(err)
	}
	if after := versions(); after != before {
		t.Errorf("%s became %s", before, after)
	}
	files := map[uint32]bool{}
	leader := leaderTicks{p: p, db: db}
	for range 6 {
		leader.tick(t, ctx)
		var file uint32
		if err := db.QueryRow(ctx, `SELECT relfilenode FROM pg_class WHERE relname = 'ready_entries_1'`).Scan(&file); err != nil {
			t.Fatal(err)
		}
		files[file] = true
	}
	if len(files) != 1 {
		t.Errorf("%d files of one child after the first tick", len(files))
	}
}

// leaderTicks is a maintainer whose ticks a test makes.
type leaderTicks struct {
	p  *program
	db *pgx.Conn
	m  memory
}

func (l *leaderTicks) tick(t *testing.T, ctx context.Context) {
	t.Helper()
	o, err := l.p.rotate(ctx, l.db, queueRing)
	if err != nil {
		t.Fatal(err)
	}
	if o.Kind == SkippedIdle && l.p.suppressed(l.m, cursor{o.Slot, o.Gen}, l.p.slots) {
		return
	}
	if o, err = l.p.prune(ctx, l.db, queueRing, false); err != nil {
		t.Fatal(err)
	}
	l.m = l.p.after(l.m, o)
}
