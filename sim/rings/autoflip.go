package rings

import (
	"context"
	"time"

	"simrun/sim"
)

// leader is the maintenance leader's auto-flip: it holds the leader's session lock, looks at the fleet on each tick, and
// flips once the fleet has been known to be aware for long enough. The clock is in the process: it starts anew with a new
// leader.
type leader struct {
	p     *program
	ticks int
}

// The leader's times and its lock, which both versions share.
const (
	leaderTick   = 30 * time.Second
	stablePeriod = 600 * time.Second
	leaderKey    = int64(0x4157415f4d41494e)
)

// watchAuthority is what a tick reads before it decides.
func watchAuthority(statusSQL string) procedure {
	return procedure{
		{"read authority", func(t *turn) error {
			return t.row(`SELECT authority FROM ring_cursor_authority WHERE singleton`).Scan(&t.mode)
		}},
		{"read fleet", func(t *turn) (err error) {
			*t.locals.(*authorityStatus), err = t.authorityStatus(statusSQL)
			return err
		}},
	}
}

// fleetSeen is the fact that the leader looked at the fleet.
type fleetSeen struct {
	At    int64 // microseconds of simulated time
	Ready bool
}

// ready says whether a fleet in this state may be flipped without asking.
func (s authorityStatus) ready() bool { return s.live > 0 && s.blocking == 0 }

// Run leads for some ticks, when it can get the leader's lock.
func (a leader) Run(ctx context.Context, db sim.DB) error {
	var since time.Time // since when the fleet has been seen to be ready; zero when it is not
	leads := false
	for tick := range a.ticks {
		sim.Checkpoint(ctx, tick, since, leads)
		if !leads {
			if err := db.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, leaderKey).Scan(&leads); err != nil {
				if _, err = failed(err); err != nil {
					return err
				}
			}
		}
		if leads {
			var status authorityStatus
			t := a.p.turn(ctx, db, ring{}, &status)
			o, err := t.transact(Outcome{Kind: Done}, a.p.watchAuthority)
			if err != nil {
				return err
			}
			now := sim.Now(ctx)
			sim.Note(ctx, noteFleet, fleetSeen{now.UnixMicro(), t.mode == columns && o.Kind == Done && status.ready()})
			switch {
			case o.Kind != Done || t.mode == ledger:
				since = time.Time{}
			case !a.p.fleetReady(status):
				since = time.Time{}
			case since.IsZero():
				since = now
			case now.Sub(since) >= stablePeriod:
				sim.Note(ctx, noteFleet, fleetSeen{At: -1}) // what follows is an auto-flip
				o, err := a.p.flip(ctx, db, false)
				if err != nil {
					return err
				}
				if o.Kind == Refused {
					since = time.Time{}
				}
				sim.Witness(ctx, "auto-flip: "+string(o.Kind))
			}
		}
		if err := sim.Sleep(ctx, leaderTick); err != nil {
			return err
		}
	}
	return nil
}

// runtime publishes a row for a live process every few seconds, for some beats.
type runtime struct {
	id      string
	old     bool // 0.6.2: its upsert does not name binary_version
	beats   int
	every   time.Duration
	version string // of a 0.7 binary
}

// beatSQL and oldBeatSQL publish the row of a runtime.
const (
	beatSQL = `INSERT INTO runtime_instances (instance_id, version, healthy, last_seen_at, binary_version) VALUES ($1, $2, true, now(), $2)
		ON CONFLICT (instance_id) DO UPDATE SET version = EXCLUDED.version, healthy = true, last_seen_at = EXCLUDED.last_seen_at,
			binary_version = EXCLUDED.binary_version`
	oldBeatSQL = `INSERT INTO runtime_instances (instance_id, version, healthy, last_seen_at) VALUES ($1, $2, true, now())
		ON CONFLICT (instance_id) DO UPDATE SET version = EXCLUDED.version, healthy = true, last_seen_at = EXCLUDED.last_seen_at`
)

// Run beats.
func (a runtime) Run(ctx context.Context, db sim.DB) error {
	sql := beatSQL
	if a.old {
		sql = oldBeatSQL
	}
	for beat := range a.beats {
		sim.Checkpoint(ctx, beat)
		if _, err := db.Exec(ctx, sql, a.id, a.version); err != nil {
			if _, err = failed(err); err != nil {
				return err
			}
		}
		if err := sim.Sleep(ctx, a.every); err != nil {
			return err
		}
	}
	return nil
}
