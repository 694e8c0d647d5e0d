package rings

import (
	"context"
	"time"

	"simrun/sim"
)

// flip moves the authority from the columns to the ledgers, for all three rings in one transaction.
type flip struct {
	p     *program
	force bool // skip the gate over the live runtimes
	times int
	pause time.Duration // between the times
}

// flipAuthority is its transaction. Its ring steps run once a ring, in the order of allRings.
func flipAuthority(force bool, p *program) procedure {
	return of(
		procedure{{"find authority table", func(t *turn) error {
			found, err := t.exists(`SELECT to_regclass('ring_cursor_authority') IS NOT NULL`)
			if err == nil && !found {
				return t.refuse(Outcome{Kind: Refused, Reason: "no queue storage"})
			}
			return err
		}}},
		p.flipLocks,
		procedure{{"read authority", func(t *turn) error {
			err := t.row(`SELECT authority FROM ring_cursor_authority WHERE singleton`).Scan(&t.mode)
			if err == nil && t.mode == ledger && !p.flipAgain {
				return t.end(Outcome{Kind: AlreadyLedger})
			}
			return err
		}}},
		unless(force, p.flipGate),
		unless(force && p.forceSkips, p.flipRings),
		p.flipSwitch,
	)
}

// flipLocks takes the three singletons, so that the flip waits for every rotator in flight.
func flipLocks() procedure {
	return eachRing("lock singleton", func(t *turn) error {
		return t.do(`SELECT 1 FROM {ring}_ring_state WHERE singleton FOR UPDATE`)
	})
}

// flipGate refuses while a runtime that was seen lately is not known to be aware of the flip.
func flipGate(statusSQL string) procedure {
	return procedure{{"count blocking runtimes", func(t *turn) error {
		status, err := t.authorityStatus(statusSQL)
		if err == nil && status.blocking > 0 {
			return t.refuse(Outcome{Kind: Refused, Reason: "blocking runtimes"})
		}
		return err
	}}}
}

// flipRings reconciles and verifies each ledger against the final columns.
func flipRings() procedure {
	return eachRing("reconcile", func(t *turn) error {
		if err := t.row(`SELECT current_slot, generation, slot_count FROM {ring}_ring_state WHERE singleton`).
			Scan(&t.cur.Slot, &t.cur.Gen, &t.n); err != nil {
			return err
		}
		if t.cur.Gen < 0 || t.cur.Slot < 0 || t.cur.Slot >= t.n || int64(t.cur.Slot) != t.cur.Gen%int64(t.n) {
			return t.refuse(Outcome{Kind: Refused, Reason: "invalid columns"})
		}
		var last int64
		if err := t.row(`SELECT coalesce(max(generation), -1) FROM {ring}_ring_rotations`).Scan(&last); err != nil {
			return err
		}
		if last > t.cur.Gen {
			return t.refuse(Outcome{Kind: Refused, Reason: "ledger ahead"})
		}
		if err := t.backfill(t.cur.Gen); err != nil {
			return err
		}
		if err := t.cursorRow(&t.ledgerMax, `SELECT slot, generation FROM {ring}_ring_rotations ORDER BY generation DESC LIMIT 1`); err != nil {
			return err
		}
		if t.ledgerMax != t.cur {
			return t.refuse(Outcome{Kind: Refused, Reason: "ledger differs"})
		}
		return nil
	})
}

// flipSwitch poisons what old binaries read, and moves the authority. The order matters: the fence trigger must still see
// the authority of the columns when they are poisoned.
func flipSwitch() procedure {
	return of(
		eachRing("poison columns", func(t *turn) error {
			return t.do(`UPDATE {ring}_ring_state SET current_slot = -1, generation = -1 WHERE singleton`)
		}),
		eachRing("poison slots", func(t *turn) error {
			return t.do(`UPDATE {ring}_ring_slots SET generation = -1`)
		}),
		procedure{{"set authority", func(t *turn) error {
			return t.do(`UPDATE ring_cursor_authority SET authority = 'ledger', flipped_at = clock_timestamp() WHERE singleton`)
		}}},
	)
}

// Run flips as often as it is told; all but the first must find the work done.
func (a flip) Run(ctx context.Context, db sim.DB) error {
	for i := range a.times {
		sim.Checkpoint(ctx, i)
		if i > 0 {
			if err := sim.Sleep(ctx, a.pause); err != nil {
				return err
			}
		}
		if _, err := a.p.flip(ctx, db, a.force); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) flip(ctx context.Context, db sim.DB, force bool) (Outcome, error) {
	sim.Note(ctx, noteForced, force)
	return operate(ctx, "flip", "flip", ring{}, func() (Outcome, error) {
		t := p.turn(ctx, db, ring{}, nil)
		return t.transact(Outcome{Kind: Flipped}, flipAuthority(force, p))
	})
}

// authorityStatus is what the flip's gate and the auto-flip look at.
type authorityStatus struct {
	live     int // runtimes seen lately
	blocking int // those of them that are not known to be aware of the flip
}

// statusSQL counts them. The freshness window is well above the 10 s at which a runtime publishes its row.
const statusSQL = `SELECT count(*), count(*) FILTER (WHERE semver_rank(binary_version) IS NULL
		OR semver_rank(binary_version) < semver_rank(ring_authority_min_flip_version()))
	FROM runtime_instances WHERE last_seen_at > now() - interval '90 seconds'`

func (t *turn) authorityStatus(sql string) (authorityStatus, error) {
	var s authorityStatus
	err := t.row(sql).Scan(&s.live, &s.blocking)
	return s, err
}

// eachRing makes a step for each ring, in their order; run's statements are about the turn's ring.
func eachRing(name string, run func(t *turn) error) procedure {
	var p procedure
	for _, r := range allRings {
		p = append(p, step{name + " " + r.name, func(t *turn) error {
			t.ring = r
			return run(t)
		}})
	}
	return p
}

// unless is p, or nothing.
func unless(skip bool, p procedure) procedure {
	if skip {
		return nil
	}
	return p
}
