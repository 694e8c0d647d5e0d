package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"simrun/model/types"
	"simrun/sim"
)

// A resetter takes the database back to its seed after a run.
//
// Rows are deleted rather than truncated, which is ten times as fast (TRUNCATE makes and removes files), without foreign keys
// and triggers, which are most of the price of DELETE. But then row versions pile up, and where a page is full a new version may go before an old
// one, while the order of a scan must be that of insertion for locks to be taken in a fixed order. So every now and then, and when
// tables have outgrown a page, they are truncated.
type resetter struct {
	delete   string // deletes all rows and resets sequences
	truncate string
	count    int
	grown    bool // a table had more than a page after the last reset
}

// truncateEvery is after how many resets the tables are truncated in any case.
const truncateEvery = 10

// prepare makes the schema and reads what a reset has to do.
func (b *Backend) prepare() error {
	w, err := b.dial(-1)
	if err != nil {
		return err
	}
	b.control = &session{w: w}
	b.now = sim.Epoch
	if err := w.Run(virtualSchema); err != nil {
		return fmt.Errorf("schema simrun: %w", err)
	}
	if err := b.makeSchema(); err != nil {
		return fmt.Errorf("schema of the scenario: %w", err)
	}
	if err := b.survey(); err != nil {
		return err
	}
	rows, err := w.Rows("SELECT COALESCE(bool_or(pg_catalog.pg_relation_size(oid) > 0), false) FROM pg_catalog.pg_class WHERE relkind = 'r' AND oid >= 16384")
	if err != nil {
		return err
	}
	b.altered = rows[0][0] == "t" // a schema that has rows of its own is not what deleting all rows gives back
	return b.seed()
}

// createRole matches the statement that makes a role, which belongs to the whole server.
var createRole = regexp.MustCompile(`(?i)\bcreate\s+(role|user|group)\s+("(?:[^"]|"")+"|\w+)`)

// makeSchema runs the scenario's schema. A role that exists already, because the same text ran in another database, is
// altered instead of made.
func (b *Backend) makeSchema() error {
	sql := b.setup.Schema
	for range 100 {
		err := b.control.w.Run(sql)
		var e *types.Error
		if !errors.As(err, &e) || e.Code != "42710" || !strings.HasPrefix(e.Message, "role ") {
			return err
		}
		role := strings.TrimSuffix(strings.TrimPrefix(e.Message, `role "`), `" already exists`)
		changed := createRole.ReplaceAllStringFunc(sql, func(stmt string) string {
			m := createRole.FindStringSubmatch(stmt)
			if !strings.EqualFold(strings.Trim(m[2], `"`), role) {
				return stmt
			}
			return "ALTER " + m[1] + " " + m[2]
		})
		if changed == sql {
			return err
		}
		sql = changed
	}
	return errors.New("too many roles exist already")
}

// survey lists the tables and sequences that a run may change.
func (b *Backend) survey() error {
	tables, err := b.control.w.Rows(`SELECT format('%I.%I', n.nspname, c.relname), c.relkind = 'S', COALESCE(s.start_value, 0)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_sequences s ON s.schemaname = n.nspname AND s.sequencename = c.relname
		WHERE c.relkind IN ('r', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1`)
	if err != nil {
		return err
	}
	var del, names, seqs []string
	for _, t := range tables {
		if t[1] == "t" {
			seqs = append(seqs, fmt.Sprintf("pg_catalog.setval(%s, %s, false)", literal(t[0]), t[2]))
			continue
		}
		del = append(del, "DELETE FROM "+t[0])
		names = append(names, t[0])
	}
	b.resets = resetter{}
	restart := ""
	if len(seqs) > 0 {
		restart = "SELECT " + strings.Join(seqs, ", ") + ";"
	}
	if len(names) > 0 {
		b.resets.delete = "SET session_replication_role = replica; " + strings.Join(del, "; ") + "; SET session_replication_role = origin;"
		b.resets.truncate = "TRUNCATE " + strings.Join(names, ", ") + ";"
	}
	b.resets.delete += restart
	b.resets.truncate += restart
	return nil
}

// impatient has Query not wait for an actor that has locked a table against readers: it would wait for ever, since the actor goes on
// only after the query.
const impatient = "SET lock_timeout = 1;"

// sizes asks whether a table has more than one page.
const sizes = `SELECT COALESCE(bool_or(pg_catalog.pg_relation_size(oid) > 8192), false) FROM pg_catalog.pg_class
	WHERE relkind = 'r' AND oid >= 16384;`

func (b *Backend) seed() error {
	rows, err := b.control.w.Rows(b.control.clockSettings(b.now) + "BEGIN;" + b.setup.Seed + ";COMMIT;" + impatient + sizes)
	if err != nil {
		return fmt.Errorf("seed of the scenario: %w", err)
	}
	b.resets.grown = rows[len(rows)-1][0] == "t"
	b.clean = true
	return nil
}

// Reset takes the database back to the state after Setup.Schema and Setup.Seed.
func (b *Backend) Reset() error {
	if b.err != nil {
		return b.err
	}
	b.now = sim.Epoch
	if b.clean {
		return nil
	}
	for i := range b.sessions {
		if err := b.Close(i); err != nil {
			return err
		}
	}
	if b.altered {
		return b.remake()
	}
	clean := b.resets.delete
	b.resets.count++
	if b.resets.grown || b.resets.count%truncateEvery == 0 {
		clean = b.resets.truncate
	}
	if clean != "" {
		if err := b.control.w.Run("SET lock_timeout = 0;" + clean); err != nil {
			return fmt.Errorf("reset: %w", err)
		}
	}
	return b.seed()
}

// remake makes the database anew, because a run has changed the schema.
func (b *Backend) remake() error {
	if err := b.remove(); err != nil {
		return err
	}
	name, err := b.server.CreateDatabase()
	if err != nil {
		return err
	}
	b.database, b.altered = name, false
	clear(b.byPID)
	return b.prepare()
}
