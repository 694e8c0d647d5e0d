package invariants

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"simrun/fuzz"
	"simrun/replay"
	"simrun/sim"
	"simrun/sim/simtest"
)

// queue is two workers over one or two jobs; the variant says how they claim.
var queue = &sim.Scenario{
	Name: "invariants/queue", Variants: []string{"locked", "racy"},
	Build: func(cfg sim.Config) (*sim.Setup, error) {
		next := "SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 1"
		if cfg.Variant == "locked" {
			next += " FOR UPDATE SKIP LOCKED"
		}
		worker := sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
			op := sim.Op(ctx, "claim", nil)
			id, err := claim(ctx, db, next)
			if errors.Is(err, pgx.ErrNoRows) {
				op.Return(nil)
				return nil
			}
			if err != nil {
				return err
			}
			op.Return(id)
			op = sim.Op(ctx, "finish", id)
			tag, err := db.Exec(ctx, "UPDATE jobs SET state = 'done' WHERE id = $1 AND state = 'running'", id)
			if err != nil {
				return err
			}
			op.Return(tag.RowsAffected() == 1)
			return nil
		})
		return &sim.Setup{
			Schema:     "CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL)",
			Seed:       "INSERT INTO jobs VALUES (1, 'ready'), (2, 'ready')",
			Actors:     []sim.ActorSpec{{Name: "ann", Run: worker}, {Name: "bob", Run: worker}},
			Faults:     sim.Faults{Crash: 1},
			Invariants: []sim.Invariant{ClaimedOnce()},
		}, nil
	},
}

func claim(ctx context.Context, db sim.DB, next string) (id int, err error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	if err := tx.QueryRow(ctx, next).Scan(&id); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, "UPDATE jobs SET state = 'running' WHERE id = $1", id); err != nil {
		return 0, err
	}
	return id, tx.Commit(ctx)
}

func TestClaimedOnceHolds(t *testing.T) { simtest.Check(t, queue, simtest.Runs(300)) }

// TestClaimedOnceFindsTheRace runs schedules of the racy variant until both workers have claimed a job.
func TestClaimedOnceFindsTheRace(t *testing.T) {
	spec := replay.Spec{Instance: sim.Instance{Variant: "racy"}.Of(queue), Seed: 1, Strategy: "random"}
	r, err := fuzz.Campaign{Spec: spec, Runs: 1000, Open: sim.NewModel}.Run()
	if err != nil || r.Violation.Invariant != "ClaimedOnce" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestClaimedOnceFires judges histories written by hand.
func TestClaimedOnceFires(t *testing.T) {
	op := func(actor int, name string, in, out any, call, ret int) sim.HistoryOp {
		return sim.HistoryOp{Actor: actor, Name: name, Input: in, Output: out, Call: call, Return: ret}
	}
	lost := func(actor int, name string, in any, call int) sim.HistoryOp {
		return sim.HistoryOp{Actor: actor, Name: name, Input: in, Call: call, Indeterminate: true}
	}
	for _, c := range []struct {
		name    string
		history []sim.HistoryOp
		fires   bool
	}{
		{"claimed twice", []sim.HistoryOp{op(0, "claim", nil, 7, 0, 3), op(1, "claim", nil, 7, 1, 4)}, true},
		{"claimed again after its release", []sim.HistoryOp{op(0, "claim", nil, 7, 0, 1), op(0, "release", 7, true, 2, 3), op(1, "claim", nil, 7, 4, 5)}, false},
		{"a release that did nothing", []sim.HistoryOp{op(0, "claim", nil, 7, 0, 1), op(0, "release", 7, false, 2, 3), op(1, "claim", nil, 7, 4, 5)}, true},
		{"claimed before it is there", []sim.HistoryOp{op(0, "claim", nil, 7, 0, 1), op(1, "enqueue", 7, true, 2, 3)}, true},
		{"claimed while it is made", []sim.HistoryOp{op(0, "claim", nil, 7, 1, 2), op(1, "enqueue", 7, true, 0, 3)}, false},
		{"finished twice", []sim.HistoryOp{op(0, "claim", nil, 7, 0, 1), op(0, "finish", 7, true, 2, 3), op(1, "finish", 7, true, 2, 3)}, true},
		{"finished by the claim that a crash hid", []sim.HistoryOp{lost(0, "claim", nil, 0), op(1, "finish", 7, true, 2, 3)}, false},
		{"finished without a claim", []sim.HistoryOp{op(1, "finish", 7, true, 2, 3)}, true},
		{"an empty queue", []sim.HistoryOp{op(0, "claim", nil, nil, 0, 1), op(1, "claim", nil, nil, 0, 1)}, false},
	} {
		why := ClaimedOnce().Run(&sim.Trace{History: c.history})
		if (why != "") != c.fires {
			t.Errorf("%s: %q", c.name, why)
		}
		if c.fires && !strings.Contains(why, "7: no order explains the operations") {
			t.Errorf("%s: %q does not name the job", c.name, why)
		}
		var page strings.Builder
		if shown, err := ClaimedOnce().Page(&sim.Trace{History: c.history}, &page); err != nil || shown != (page.Len() > 0) || c.fires && !shown {
			t.Errorf("%s: a page is shown: %v, %d bytes, %v", c.name, shown, page.Len(), err)
		}
	}
}
