package rings

import (
	"context"

	"simrun/sim"
)

// enqueuer hands jobs over in the application's own transactions, one job each.
type enqueuer struct {
	p     *program
	how   procedure // how it reads the cursor: oldRoute, binaryRoute or databaseRoute
	old   bool      // a 0.6.2 binary
	ring  ring
	lane  lane
	first int64 // its jobs are first, first+1, ...
	jobs  int
}

// lane is a shard of a queue.
type lane struct {
	queue string
	shard int
}

// seq is the name of the lane's sequence for enqueueing or claiming.
func (l lane) seq(what string) string { return what + "_" + l.queue + "_" + itoa(l.shard) }

// job is what an enqueuer's and a worker's steps share.
type job struct {
	lane
	id    int64
	lease int   // attempt number, run_lease
	seq   int64 // position in the lane
	route cursor
}

func (t *turn) job() *job { return t.locals.(*job) }

// enqueue is the enqueuer's transaction, once the application has begun it. The lane's advisory lock is held to the commit:
// positions become visible in the order in which they were handed out.
func enqueue() procedure {
	return procedure{
		{"application row", func(t *turn) error {
			return t.do(`INSERT INTO app_jobs (job, queue) VALUES ($1, $2)`, t.job().id, t.job().queue)
		}},
		{"lock lane", lockLane},
		{"reserve position", reservePosition},
		{"route", nil}, // how the binary reads the cursor
		{"insert ready row", insertReady},
		{"insert segment", insertSegment},
	}
}

func lockLane(t *turn) error {
	j := t.job()
	return t.do(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "enqueue:"+j.queue+":"+itoa(j.shard))
}

func reservePosition(t *turn) error {
	return t.row(`SELECT nextval($1::text::regclass)`, t.job().lane.seq("enqueue")).Scan(&t.job().seq)
}

func insertReady(t *turn) error {
	j := t.job()
	return t.do(`INSERT INTO ready_entries (ready_slot, ready_generation, queue, shard, lane_seq, job, run_lease)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, j.route.Slot, j.route.Gen, j.queue, j.shard, j.seq, j.id, j.lease)
}

func insertSegment(t *turn) error {
	j := t.job()
	return t.do(`INSERT INTO ready_segments (ready_slot, ready_generation, queue, shard, first_seq, last_seq)
		VALUES ($1, $2, $3, $4, $5, $5)`, j.route.Slot, j.route.Gen, j.queue, j.shard, j.seq)
}

// oldRoute is the cursor as the 0.6.2 binary reads it, without a lock.
func oldRoute() procedure {
	return procedure{{"read columns", func(t *turn) error {
		return t.cursorRow(&t.job().route, `SELECT current_slot, generation FROM queue_ring_state WHERE singleton`)
	}}}
}

// binaryRoute is the cursor as the 0.7 binary reads it: the authority, then the cursor, in two statements.
func binaryRoute() procedure {
	return procedure{
		{"read authority", func(t *turn) error {
			return t.row(`SELECT authority FROM ring_cursor_authority WHERE singleton`).Scan(&t.mode)
		}},
		{"read cursor", func(t *turn) error {
			if t.mode == ledger {
				return t.cursorRow(&t.job().route, `SELECT slot, generation FROM queue_ring_rotations ORDER BY generation DESC LIMIT 1`)
			}
			return t.cursorRow(&t.job().route, `SELECT current_slot, generation FROM queue_ring_state WHERE singleton`)
		}},
	}
}

// databaseRoute is the cursor as the SQL producer reads it: the resolver's, under one snapshot.
func databaseRoute() procedure {
	return procedure{{"resolve cursor", func(t *turn) error {
		return t.cursorRow(&t.job().route, `SELECT slot, generation FROM ring_cursor('queue')`)
	}}}
}

// confirmRoute makes sure, after the insert, that the slot still belongs to the generation that the row carries. The row's
// lock on the child keeps the slot from being truncated, so it cannot be reopened until the commit either.
func confirmRoute() procedure {
	return procedure{{"confirm route", func(t *turn) error {
		if err := t.row(`SELECT c.slot, c.generation, s.slot_count FROM ring_cursor('queue') c, queue_ring_state s`).
			Scan(&t.cur.Slot, &t.cur.Gen, &t.n); err != nil {
			return err
		}
		if route := t.job().route; t.cur.lastOpen(route.Slot, t.n) != route.Gen {
			return t.refuse(Outcome{Kind: Refused, Reason: "slot was reused"})
		}
		return nil
	}}}
}

// instead is p with the named step replaced by the steps of with.
func (p procedure) instead(name string, with procedure) procedure {
	i := p.index(name)
	return of(p[:i], with, p[i+1:])
}

// Run enqueues the jobs one after the other; a job that was refused is handed over again.
func (a enqueuer) Run(ctx context.Context, db sim.DB) error {
	name, steps := "enqueue-0.7", of(a.p.enqueue.instead("route", a.how), a.p.confirmRoute)
	if a.old {
		name = "enqueue-0.6"
	}
	for i := range a.jobs {
		for retry := true; retry; {
			sim.Checkpoint(ctx, i, retry)
			o, err := operate(ctx, name, "enqueue", a.ring, func() (Outcome, error) {
				t := a.p.turn(ctx, db, a.ring, &job{lane: a.lane, id: a.first + int64(i), lease: 1})
				return t.transact(Outcome{Kind: Done}, steps)
			})
			if err != nil {
				return err
			}
			retry = o.Kind == Refused
		}
	}
	return nil
}
