package rings

import (
	"context"
	"strings"
	"time"

	"simrun/sim"
)

// expander is migration v043: it makes and seeds the ledgers next to the columns. It runs on a 0.6 schema, and again on its
// own result.
type expander struct {
	p     *program
	times int
}

// reasonExpanded tells a migration's outcome from others.
const reasonExpanded = "expanded"

// expanding is what the steps of an expansion tell each other.
type expanding struct {
	fresh bool // no queue storage was there before
}

func (t *turn) expanding() *expanding { return t.locals.(*expanding) }

// expandFloor refuses while a runtime older than 0.6.2 is about; the lock keeps one from registering before the commit.
func expandFloor() procedure {
	return procedure{
		{"lock migration", func(t *turn) error {
			return t.do(`SELECT pg_advisory_xact_lock(hashtextextended('queue_storage.migrate', 0))`)
		}},
		{"lock runtimes", func(t *turn) error { return t.do(`LOCK TABLE runtime_instances IN SHARE MODE`) }},
		{"check floor", func(t *turn) error {
			old, err := t.exists(`SELECT EXISTS (SELECT 1 FROM runtime_instances
				WHERE last_seen_at > now() - interval '90 seconds' AND coalesce(semver_rank(version), 0) < semver_rank('0.6.2'))`)
			if err == nil && old {
				return t.refuse(Outcome{Kind: Refused, Reason: "runtime too old"})
			}
			return err
		}},
	}
}

// expandRing is the installer for one ring.
func expandRing() procedure {
	return procedure{
		{"create state", func(t *turn) error {
			return t.do(`CREATE TABLE IF NOT EXISTS {ring}_ring_state (
				singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), slot_count integer NOT NULL)`)
		}},
		{"create ledger", func(t *turn) error {
			return t.do(`CREATE TABLE IF NOT EXISTS {ring}_ring_rotations (generation bigint PRIMARY KEY, slot integer NOT NULL)`)
		}},
		{"add slot column", func(t *turn) error {
			return t.do(`ALTER TABLE {ring}_ring_state ADD COLUMN IF NOT EXISTS current_slot integer`)
		}},
		{"add generation column", func(t *turn) error {
			return t.do(`ALTER TABLE {ring}_ring_state ADD COLUMN IF NOT EXISTS generation bigint`)
		}},
		{"seed state", func(t *turn) error {
			return t.do(`INSERT INTO {ring}_ring_state (slot_count, current_slot, generation) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING`, t.n)
		}},
		{"seed genesis", func(t *turn) error {
			return t.do(`INSERT INTO {ring}_ring_rotations (generation, slot)
				SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM {ring}_ring_rotations)`)
		}},
		{"inverse seed", func(t *turn) error {
			return t.do(`UPDATE {ring}_ring_state s SET current_slot = r.slot, generation = r.generation
				FROM (SELECT slot, generation FROM {ring}_ring_rotations ORDER BY generation DESC LIMIT 1) r
				WHERE s.generation IS NULL OR s.current_slot IS NULL`)
		}},
		{"forward seed", func(t *turn) error {
			return t.do(`INSERT INTO {ring}_ring_rotations (generation, slot)
				SELECT s.generation, s.current_slot FROM {ring}_ring_state s WHERE s.generation >= 0 ON CONFLICT (generation) DO NOTHING`)
		}},
		{"create slots", func(t *turn) error {
			return t.do(`CREATE TABLE IF NOT EXISTS {ring}_ring_slots (slot integer PRIMARY KEY, generation bigint NOT NULL DEFAULT -1)`)
		}},
	}
}

// expandAuthority gives the authority its first value, and fences the columns.
func expandAuthority() procedure {
	return procedure{
		{"create authority", func(t *turn) error {
			return t.do(`CREATE TABLE IF NOT EXISTS ring_cursor_authority (
				singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
				authority text NOT NULL CHECK (authority IN ('columns', 'ledger')), flipped_at timestamptz)`)
		}},
		{"seed authority", func(t *turn) error {
			authority := columns
			if t.expanding().fresh {
				authority = ledger
			}
			return t.do(`INSERT INTO ring_cursor_authority (authority) VALUES ($1) ON CONFLICT DO NOTHING`, authority)
		}},
	}
}

// expandPoison poisons the columns of a fresh install: no old binary may trust them.
func expandPoison() procedure {
	return eachRing("poison fresh columns", func(t *turn) error {
		if !t.expanding().fresh {
			return nil
		}
		return t.do(`UPDATE {ring}_ring_state SET current_slot = -1, generation = -1 WHERE singleton`)
	})
}

// expandCode makes the resolver and the fence.
func expandCode(s schema) procedure {
	return procedure{
		{"create resolver", func(t *turn) error {
			return t.do(strings.Replace(s.ringCursor, "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
		}},
		{"create fence", func(t *turn) error {
			if s.fence == "" {
				return nil
			}
			fence := strings.Replace(s.fence, "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
			for _, statement := range splitFence(strings.ReplaceAll(fence, "CREATE TRIGGER", "CREATE OR REPLACE TRIGGER")) {
				if err := t.do(statement); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// splitFence cuts the fence's text into its statements: the function ends with $$; and triggers follow.
func splitFence(text string) []string {
	i := strings.Index(text, "$$;\n") + len("$$;\n")
	parts := []string{text[:i]}
	for _, part := range strings.SplitAfter(text[i:], ";\n") {
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// expandSlots seeds the slot rows.
func expandSlots() procedure {
	return eachRing("seed slots", func(t *turn) error {
		return t.do(`INSERT INTO {ring}_ring_slots (slot) SELECT g FROM generate_series(0, $1::integer - 1) AS g ON CONFLICT DO NOTHING`, t.n)
	})
}

// Backoff of a migration that lost a deadlock.
const (
	expandRetries = 5
	expandBackoff = 50 * time.Millisecond
)

// expand is the whole migration, one transaction.
func (p *program) expand() procedure {
	probe := procedure{{"find queue state", func(t *turn) error {
		t.n = p.slots
		found, err := t.exists(`SELECT to_regclass('queue_ring_state') IS NOT NULL`)
		t.expanding().fresh = !found
		return err
	}}}
	version := procedure{
		{"add binary version", func(t *turn) error {
			return t.do(`ALTER TABLE runtime_instances ADD COLUMN IF NOT EXISTS binary_version text`)
		}},
	}
	var rings procedure
	for _, r := range allRings {
		rings = append(rings, step{"install " + r.name, func(t *turn) error {
			t.ring = r
			return t.steps(p.expandRing)
		}})
	}
	if p.authorityFirst {
		return of(p.expandFloor, version, probe, p.expandAuthority, rings, p.expandPoison, expandCode(p.schema), p.expandSlots)
	}
	return of(p.expandFloor, version, probe, rings, p.expandAuthority, p.expandPoison, expandCode(p.schema), p.expandSlots)
}

// Run migrates as often as it is told.
func (a expander) Run(ctx context.Context, db sim.DB) error {
	for i := range a.times {
		for try := range expandRetries {
			sim.Checkpoint(ctx, i, try)
			o, err := operate(ctx, "expand", "expand", ring{}, func() (Outcome, error) {
				return a.p.turn(ctx, db, ring{}, &expanding{}).transact(Outcome{Kind: Done, Reason: reasonExpanded}, a.p.expand())
			})
			if err != nil {
				return err
			}
			if o.Kind != Failed || o.Reason != "40P01" {
				break
			}
			if err := sim.Sleep(ctx, expandBackoff<<try); err != nil {
				return err
			}
		}
	}
	return nil
}
