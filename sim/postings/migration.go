package postings

import (
	"context"
	"fmt"

	"simrun/sim"
)

// Migration 004 turns the mutable status column into index tables, forward only, in one transaction: active and reserved rows
// are copied by status, with their reservations, and postings is rebuilt without the two columns. A row that is pending
// without a reservation becomes spent, silently.
//
// As released it takes no lock before it copies: each copy has its own snapshot, and only DROP TABLE waits for others. What a
// saga changes between the two copies is copied twice or not at all. The repaired text locks the table first.
func migration004(lock bool) []string {
	var out []string
	if lock {
		out = append(out, `LOCK TABLE postings IN ACCESS EXCLUSIVE MODE`)
	}
	const columns = `transfer_id, idx, owner, subaccount, asset, value`
	return append(out,
		`CREATE TABLE active_postings (transfer_id text NOT NULL, idx smallint NOT NULL, owner bigint NOT NULL, subaccount bigint NOT NULL,
    asset integer NOT NULL, value text NOT NULL, PRIMARY KEY (transfer_id, idx))`,
		`CREATE TABLE reserved_postings (transfer_id text NOT NULL, idx smallint NOT NULL, owner bigint NOT NULL, subaccount bigint NOT NULL,
    asset integer NOT NULL, value text NOT NULL, reservation bigint NOT NULL, PRIMARY KEY (transfer_id, idx))`,
		`INSERT INTO active_postings SELECT `+columns+` FROM postings WHERE status = 0`,
		`INSERT INTO reserved_postings SELECT `+columns+`, reservation FROM postings WHERE status = 1 AND reservation IS NOT NULL`,
		`CREATE INDEX active_postings_owner ON active_postings (owner, subaccount, asset)`,
		`CREATE INDEX reserved_postings_owner ON reserved_postings (owner, subaccount, asset)`,
		`DROP INDEX postings_owner_status`,
		`CREATE TABLE postings_new (transfer_id text NOT NULL, idx smallint NOT NULL, owner bigint NOT NULL, subaccount bigint NOT NULL,
    asset integer NOT NULL, value text NOT NULL, PRIMARY KEY (transfer_id, idx))`,
		`INSERT INTO postings_new SELECT `+columns+` FROM postings`,
		`DROP TABLE postings`,
		`ALTER TABLE postings_new RENAME TO postings`,
		`CREATE INDEX postings_owner ON postings (owner, subaccount, asset)`,
		`GRANT SELECT, INSERT ON postings TO ledger_commit`,
		`GRANT SELECT, INSERT, DELETE ON active_postings, reserved_postings TO ledger_commit`,
		`INSERT INTO _migrations (name) VALUES ('004')`,
	)
}

// migrated is the encoding of a database that migration 004 runs in: it is what the migrations table says.
const migrated encoding = "migrated"

const schemaMigrations = `CREATE TABLE _migrations (name text NOT NULL PRIMARY KEY);
GRANT SELECT ON _migrations TO ledger_commit;
`

// migrator runs the statements in one transaction, or each in its own, as before 41ce95c.
func migrator(statements []string, atomic bool) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		run := func(db session) error {
			for _, sql := range statements {
				if _, err := db.Exec(ctx, sql); err != nil {
					return fmt.Errorf("migration 004: %w", err)
				}
			}
			return nil
		}
		var err error
		if atomic {
			err = inTx(ctx, db, run)
		} else {
			err = run(db)
		}
		if err == nil {
			sim.Witness(ctx, "migrated")
		}
		return err
	})
}

// redeployed is a worker of the old program that is replaced by one of the new program: when the old one meets a table that
// is not as it knows it (42703, 42P01), its process is stopped, and the new one recovers what it left and goes on.
func redeployed(before, after process, env Envelope) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		w := before
		done := false
		if err := db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM _migrations WHERE name = '004')`).Scan(&done); err != nil {
			return err
		}
		if done {
			w = after
		}
		ids := w.idSource(ctx)
		if w.commit(ctx, db, ids, env) != Unknown {
			return nil
		}
		sim.Witness(ctx, "redeployed")
		after.recoverSelf(ctx, db, ids)
		return nil
	})
}

func init() {
	register("postings/migration",
		"migration 004 runs while sagas of the old program are under way; they are recovered by the new program",
		variantRepaired, faultParams(0, 0, 0), buildMigration)
}

// buildMigration: the variant is that of the migration; the sagas around it are the mended ones, on either encoding.
func buildMigration(w *world) {
	before, after := w.p.migrates(mutableStatus), w.p.migrates(indexTables)
	w.open.account(alice, noOverdraft, 0)
	w.open.account(bob, noOverdraft, 0)
	p, q := w.open.posting(alice, usd, 60), w.open.posting(alice, usd, 40)
	both := payment("pay 100", alice, bob, p, 100)
	both.Consumes = append(both.Consumes, q)
	for i, env := range []Envelope{payment("pay 60", alice, bob, p, 60), both} {
		old, new := w.process(), w.process()
		old.p, new.p = before, after
		w.add(fmt.Sprintf("saga-%d", i+1), redeployed(old, new, env))
	}
	w.exempt = []int{len(w.actors)}
	w.actors = append(w.actors, sim.ActorSpec{Name: "migrator", Run: migrator(migration004(w.cfg.Variant == variantRepaired && !w.p.migrateApart), !w.p.migrateApart)})
	w.witnesses = []string{"committed", "migrated", "redeployed"}
	w.enc = migrated
}

// migrates is the mended program on one side of the migration.
func (p *program) migrates(enc encoding) *program {
	variant := variantMended
	if enc == mutableStatus {
		variant = variantStatus
	}
	q, err := newProgram(variant)
	if err != nil {
		panic(err) // both are variants
	}
	mend(q)
	return q
}
