package sql

import "testing"

// TestSchemaChangesShowInFingerprints changes one thing of the catalog after the other: what a new session would find is another
// thing each time, and the same again once it is taken back.
func TestSchemaChangesShowInFingerprints(t *testing.T) {
	const setup = `CREATE ROLE clerk; CREATE ROLE boss;
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
		CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
		CREATE TABLE other (id int PRIMARY KEY);
		CREATE TABLE t (id int PRIMARY KEY, v int, u int);
		CREATE VIEW w AS SELECT id FROM t;`
	for _, change := range []string{
		"CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 2 $$",
		"CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql STABLE AS $$ SELECT 1 $$",
		"ALTER TABLE t DROP COLUMN v",
		"ALTER TABLE t ALTER v SET DEFAULT 7",
		"ALTER TABLE t ALTER v SET NOT NULL",
		"ALTER TABLE t ADD CHECK (v > 0)",
		"ALTER TABLE t ADD FOREIGN KEY (v) REFERENCES other",
		"ALTER TABLE t ADD UNIQUE (v)",
		"CREATE UNIQUE INDEX ON t (u) WHERE v > 0",
		"CREATE TRIGGER note BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()",
		"CREATE OR REPLACE VIEW w AS SELECT id FROM t WHERE id > 0",
		"GRANT SELECT ON t TO clerk",
		"GRANT UPDATE (v) ON t TO clerk",
		"GRANT boss TO clerk",
		"ALTER TABLE t OWNER TO clerk",
	} {
		t.Run(change, func(t *testing.T) {
			d := NewDatabase()
			s := d.Open("")
			do := func(sql string) {
				t.Helper()
				if r := d.Submit(s, sql, nil); r.Err != nil {
					t.Fatalf("%s: %v", sql, r.Err)
				}
			}
			do(setup)
			whole, committed := d.Fingerprint(), d.CommittedFingerprint()
			do("BEGIN")
			do(change)
			if d.CommittedFingerprint() != committed {
				t.Error("it shows before it is committed")
			}
			do("ROLLBACK")
			if d.CommittedFingerprint() != committed || d.Fingerprint() != whole {
				t.Error("it is not gone with its transaction")
			}
			do("BEGIN; " + change + "; COMMIT")
			if d.CommittedFingerprint() == committed || d.Fingerprint() == whole {
				t.Error("it does not show")
			}
		})
	}
}
