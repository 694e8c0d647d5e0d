package rings

import (
	"context"

	"simrun/sim"
)

// counter reads the exact counts of a queue while the others work. What it must find is in the invariants.
type counter struct {
	p     *program
	kind  counterKind
	queue string
	ticks int
}

// counterKind is one of the readers of counts.
type counterKind uint8

// The kinds of reader.
const (
	exactCounter    counterKind = iota // one statement in READ COMMITTED: exact
	splitCounter                       // the pruned counts in a second statement
	oldCounter                         // 0.6.2: knows nothing of the deltas
	snapshotCounter                    // the exact statement in a REPEATABLE READ transaction that began before
)

// terminalSQL is the number of finished jobs of a queue, the live ones from the rows.
const terminalSQL = `
	(SELECT count(*) FROM done_entries d WHERE d.queue = $1)
	+ (SELECT coalesce(sum(b.completed_count), 0) FROM receipt_completion_batches b WHERE b.queue = $1)`

// prunedSQL is the number of finished jobs that were pruned: rollups, and deltas that no fold has moved yet.
const (
	rollupsSQL = `(SELECT coalesce(sum(r.pruned_completed_count + r.pruned_failed_count), 0) FROM queue_terminal_rollups r WHERE r.queue = $1)`
	deltasSQL  = `(SELECT coalesce(sum(d.completed_delta + d.failed_delta), 0) FROM queue_terminal_rollup_deltas d WHERE d.queue = $1)`
	prunedSQL  = rollupsSQL + ` + ` + deltasSQL
)

// countsOf is the text of each reader; the exact ones are one statement.
type countsOf struct {
	exact  string
	live   string // first of two statements
	pruned string // second of two
	old    string
	how    counterKind // how the exact reader reads
}

func newCounts() countsOf {
	return countsOf{
		exact:  `SELECT (` + terminalSQL + ` + ` + prunedSQL + `)::bigint`,
		live:   `SELECT (` + terminalSQL + `)::bigint`,
		pruned: `SELECT (` + prunedSQL + `)::bigint`,
		old:    `SELECT (` + terminalSQL + ` + ` + rollupsSQL + `)::bigint`,
	}
}

// Run counts once a tick. The result is told as the operation's N; a count can only grow, and never beyond what was accepted.
func (a counter) Run(ctx context.Context, db sim.DB) error {
	names := [...]string{exactCounter: "count", splitCounter: "count split", oldCounter: "count-0.6", snapshotCounter: "count snapshot"}
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick)
		_, err := operate(ctx, names[a.kind], "count", ring{}, func() (Outcome, error) { return a.count(ctx, db) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (a counter) count(ctx context.Context, db sim.DB) (Outcome, error) {
	o := Outcome{Kind: Counted, Reason: a.queue}
	sqls := []string{a.p.counts.exact}
	kind := a.kind
	if kind == exactCounter {
		kind = a.p.counts.how
	}
	switch kind {
	case splitCounter:
		sqls = []string{a.p.counts.live, a.p.counts.pruned}
	case oldCounter:
		sqls = []string{a.p.counts.old}
	case snapshotCounter:
		t := a.p.turn(ctx, db, ring{}, nil)
		return t.transactWith(snapshotRead, o, procedure{
			{"take snapshot", func(t *turn) error { return t.do(`SELECT 1 FROM ring_cursor_authority`) }},
			{"count", func(t *turn) error { return t.row(sqls[0], a.queue).Scan(&t.now.N) }},
		})
	}
	for _, sql := range sqls {
		var n int64
		if err := db.QueryRow(ctx, sql, a.queue).Scan(&n); err != nil {
			return failed(err)
		}
		o.N += n
	}
	return o, nil
}
