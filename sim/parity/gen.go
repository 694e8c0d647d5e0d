package parity

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A gen draws schemas and statements. Keys are few, so that sessions meet.
type gen struct {
	r      *rand.Rand
	tables []table
	seq    bool
}

type table struct {
	name    string
	primary bool     // k is the primary key
	unique  bool     // u is unique
	extra   []column // more columns
	parent  string   // p references k of this table
	parted  bool     // list-partitioned by g
}

type column struct{ name, typ string }

const keys = 5 // keys are 1..keys

func newGen(seed uint64) *gen { return &gen{r: rand.New(rand.NewPCG(seed, 0x706172697479))} }

func (g *gen) oneOf(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *gen) key() string { return fmt.Sprint(1 + g.r.IntN(keys)) }

var extras = []column{{"s", "text"}, {"b", "boolean"}, {"n", "numeric"}, {"l", "bigint"}, {"at", "timestamptz"}, {"id", "uuid"}, {"js", "jsonb"}, {"arr", "int[]"}}

// schema draws the tables and their rows.
func (g *gen) schema() (schema, seed []string) {
	for i := range 1 + g.r.IntN(3) {
		t := table{name: fmt.Sprintf("t%d", i), primary: g.chance(85), unique: g.chance(35), parted: g.chance(8)}
		cols := []string{"k int", "v int"}
		if g.chance(50) {
			cols[1] += g.oneOf(" DEFAULT 0", " NOT NULL DEFAULT 7", " CHECK (v > -100)", " CHECK (v < 1000)")
		}
		if t.primary {
			cols[0] += " PRIMARY KEY"
		}
		if t.parted {
			t.primary, t.unique = false, false
			cols = []string{"k int", "v int", "g int NOT NULL DEFAULT 1"}
		}
		if t.unique {
			cols = append(cols, "u int "+g.oneOf("UNIQUE", "UNIQUE", "CONSTRAINT "+t.name+"_once UNIQUE"))
		}
		for g.chance(40) {
			c := extras[g.r.IntN(len(extras))]
			if !hasColumn(t.extra, c.name) {
				t.extra = append(t.extra, c)
				cols = append(cols, c.name+" "+c.typ)
			}
		}
		if i > 0 && g.tables[0].primary && g.chance(35) && !t.parted {
			t.parent = g.tables[0].name
			cols = append(cols, "p int REFERENCES "+t.parent+g.oneOf("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE", " ON DELETE RESTRICT"))
		}
		tail := ""
		if t.parted {
			tail = " PARTITION BY LIST (g)"
		}
		schema = append(schema, fmt.Sprintf("CREATE TABLE %s (%s)%s", t.name, strings.Join(cols, ", "), tail))
		if t.parted {
			for n := range 2 {
				schema = append(schema, fmt.Sprintf("CREATE TABLE %s_%d PARTITION OF %s FOR VALUES IN (%d)", t.name, n, t.name, n))
			}
		}
		if g.chance(15) && !t.parted {
			schema = append(schema, fmt.Sprintf("CREATE UNIQUE INDEX %s_part ON %s (v) WHERE k > %d", t.name, t.name, 2+g.r.IntN(3)))
		}
		if g.chance(12) && !t.parted {
			schema = append(schema, g.trigger(t)...)
		}
		g.tables = append(g.tables, t)
		for k := 1; k <= keys; k++ {
			if g.chance(60) {
				row := fmt.Sprintf("INSERT INTO %s (k, v) VALUES (%d, %d)", t.name, k, k*10+g.r.IntN(5))
				if t.parted {
					row = fmt.Sprintf("INSERT INTO %s (k, v, g) VALUES (%d, %d, %d)", t.name, k, k*10, k%2)
				}
				seed = append(seed, row)
			}
		}
	}
	if g.seq = g.chance(30); g.seq {
		schema = append(schema, "CREATE SEQUENCE q")
	}
	return schema, seed
}

func hasColumn(list []column, name string) bool {
	for _, c := range list {
		if c.name == name {
			return true
		}
	}
	return false
}

// trigger draws a row trigger with its function.
func (g *gen) trigger(t table) []string {
	body := g.oneOf(
		"NEW.v := COALESCE(NEW.v, 0) + 1; RETURN NEW;",
		"IF NEW.v > 60 THEN RAISE EXCEPTION 'too much: %', NEW.v USING ERRCODE = '55000'; END IF; RETURN NEW;",
		"IF NEW.k = 3 THEN RETURN NULL; END IF; RETURN NEW;",
		"RAISE NOTICE 'row % now %', NEW.k, NEW.v; RETURN NEW;")
	return []string{
		fmt.Sprintf("CREATE FUNCTION %s_fn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s END $$", t.name, body),
		fmt.Sprintf("CREATE TRIGGER %s_tr BEFORE %s ON %s FOR EACH ROW EXECUTE FUNCTION %s_fn()", t.name, g.oneOf("INSERT OR UPDATE", "UPDATE", "UPDATE OF v", "INSERT"), t.name, t.name),
	}
}

// next draws the next statement of a session, whose transaction stands as tx says.
func (g *gen) next(tx byte) string {
	switch {
	case tx == 'E':
		if g.chance(75) {
			return g.oneOf("ROLLBACK", "ROLLBACK", "COMMIT", "ROLLBACK TO a", "ROLLBACK TO b")
		}
	case tx == 'I':
		if g.chance(55) {
			return "BEGIN" + g.oneOf("", "", "", " ISOLATION LEVEL READ COMMITTED", " ISOLATION LEVEL REPEATABLE READ", " ISOLATION LEVEL REPEATABLE READ",
				" ISOLATION LEVEL SERIALIZABLE", " ISOLATION LEVEL SERIALIZABLE", " ISOLATION LEVEL SERIALIZABLE READ ONLY")
		}
	default:
		if n := g.r.IntN(100); n < 16 {
			return g.oneOf("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")
		} else if n < 24 {
			return g.oneOf("SAVEPOINT a", "SAVEPOINT a", "SAVEPOINT b", "ROLLBACK TO a", "ROLLBACK TO a", "ROLLBACK TO b", "RELEASE a", "RELEASE b")
		}
	}
	return g.statement()
}

func (g *gen) table() table { return g.tables[g.r.IntN(len(g.tables))] }

func (g *gen) statement() string {
	t := g.table()
	switch n := g.r.IntN(100); {
	case n < 22:
		return g.update(t)
	case n < 36:
		return g.insert(t)
	case n < 46:
		return g.delete(t)
	case n < 62:
		return g.lockingSelect(t)
	case n < 76:
		return g.query(t)
	case n < 82:
		return g.cte(t)
	case n < 88:
		return "LOCK TABLE " + t.name + g.oneOf("", " IN ACCESS SHARE MODE", " IN ROW SHARE MODE", " IN ROW EXCLUSIVE MODE", " IN SHARE UPDATE EXCLUSIVE MODE",
			" IN SHARE MODE", " IN SHARE ROW EXCLUSIVE MODE", " IN EXCLUSIVE MODE") + g.oneOf("", "", " NOWAIT")
	case n < 89:
		return "TRUNCATE " + t.name
	case n < 94:
		return g.advisory()
	case n < 96 && g.seq:
		return g.oneOf("SELECT nextval('q')", "SELECT nextval('q')", "SELECT currval('q')", "SELECT setval('q', 10)", "INSERT INTO "+t.name+" (k, v) VALUES (nextval('q'), 1)")
	}
	return g.wrong(t)
}

func (g *gen) advisory() string {
	f := g.oneOf("pg_advisory_xact_lock", "pg_advisory_xact_lock", "pg_advisory_lock", "pg_advisory_unlock", "pg_try_advisory_xact_lock", "pg_try_advisory_lock",
		"pg_advisory_xact_lock_shared", "pg_advisory_lock_shared", "pg_try_advisory_xact_lock_shared")
	args := fmt.Sprint(1 + g.r.IntN(2))
	if g.chance(20) {
		args += ", 1"
	}
	return fmt.Sprintf("SELECT %s(%s)", f, args)
}

// wrong draws a statement that fails.
func (g *gen) wrong(t table) string {
	return g.oneOf(
		"SELECT 1 / (k - k) FROM "+t.name,
		"SELECT nosuch FROM "+t.name,
		"SELECT * FROM nosuch",
		"UPDATE "+t.name+" SET k = 'x'",
		"INSERT INTO "+t.name+" (k, v) VALUES (NULL, NULL)",
		"INSERT INTO "+t.name+" (k, v) VALUES (1, -500)",
		"SELEC 1",
		"SELECT k FROM "+t.name+" WHERE v",
		"SELECT 'x'::int",
		"UPDATE "+t.name+" SET v = 2147483647 + v",
		"SELECT count(*) FROM "+t.name+" FOR UPDATE",
		"SAVEPOINT a",
		"DELETE FROM "+t.name+" WHERE k = (SELECT k FROM "+t.name+")",
	)
}
