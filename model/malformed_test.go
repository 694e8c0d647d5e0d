package model_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"simrun/model/sql/parser"
	"simrun/sim/postgres/pgtest"
)

// wellFormed are statements to be spoiled.
var wellFormed = []string{
	"SELECT a, b + 1 AS c FROM t WHERE a = 1 AND b IN (2, 3) ORDER BY a DESC NULLS LAST LIMIT 5 FOR UPDATE OF t SKIP LOCKED",
	"INSERT INTO t (a, b) VALUES (1, 'x'), (2, DEFAULT) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b WHERE t.a > 0 RETURNING *",
	"UPDATE t SET a = a + 1, (b, c) = (SELECT 1, 2) FROM u WHERE t.a = u.a RETURNING t.a",
	"DELETE FROM ONLY t USING u WHERE EXISTS (SELECT 1 FROM u x WHERE x.a = t.a)",
	"WITH r AS (DELETE FROM t RETURNING a), s (k) AS (SELECT 1) SELECT * FROM r LEFT JOIN s ON r.a = s.k",
	"SELECT CASE WHEN a IS NULL THEN 'n' ELSE b::text || $1 END, ARRAY[1, 2], (ARRAY[1, 2])[1], CAST(a AS numeric(5, 2)) FROM t",
	"SELECT count(*) FILTER (WHERE a > 1), sum(DISTINCT b) FROM t GROUP BY a HAVING count(*) > 1 UNION ALL SELECT 1, 2",
	"CREATE TABLE z (a int PRIMARY KEY, b text NOT NULL DEFAULT 'x', CHECK (a > 0), FOREIGN KEY (a) REFERENCES t (a) ON DELETE CASCADE)",
	"CREATE UNIQUE INDEX i ON t (a, lower(b)) WHERE a > 0",
	"ALTER TABLE t ADD COLUMN d bigint, DROP CONSTRAINT c, ALTER COLUMN a SET NOT NULL",
	"CREATE TRIGGER g BEFORE INSERT OR UPDATE OF a ON t FOR EACH ROW EXECUTE FUNCTION f()",
	"CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql STABLE AS $$ SELECT x $$",
	"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	"SAVEPOINT a", "ROLLBACK TO SAVEPOINT a", "RELEASE SAVEPOINT a", "COMMIT",
	"SET LOCAL lock_timeout = '10ms'", "LOCK TABLE t, u IN SHARE ROW EXCLUSIVE MODE NOWAIT", "TRUNCATE TABLE t RESTART IDENTITY CASCADE",
	"GRANT SELECT, UPDATE (a) ON t TO r WITH GRANT OPTION", "DROP TABLE IF EXISTS t, u CASCADE", "VACUUM (ANALYZE) t",
	"SELECT 'it''s', E'\\n', \"Quoted\", U&'\\0041', 1.5e3, $tag$ body $tag$, /* note */ x'1F', B'01' -- end",
}

// token matches what the lexer of the test takes for one token.
var token = regexp.MustCompile(`\s+|\$\w*\$|'[^']*'|"[^"]*"|/\*.*?\*/|--.*|[A-Za-z_]\w*|\d+(\.\d+)?|::|\|\||.`)

// spoiled are the variations of a statement: with a token left out, doubled, exchanged with the next, replaced, and cut off.
func spoiled(sql string) (list []string) {
	tokens := token.FindAllString(sql, -1)
	put := func(parts ...string) { list = append(list, strings.Join(parts, "")) }
	for i, tok := range tokens {
		head, tail := strings.Join(tokens[:i], ""), strings.Join(tokens[i+1:], "")
		put(head)
		put(head, tok[:len(tok)/2])
		if strings.TrimSpace(tok) == "" {
			continue
		}
		put(head, tail)
		put(head, tok, " ", tok, tail)
		for _, other := range []string{"SELECT", ")", ",", "'", "@@@", "é", "1x", "\"\""} {
			put(head, other, tail)
		}
	}
	return list
}

// other reports whether the error is one that the model's parser, libpg_query for the grammar of PostgreSQL 17, is known not to
// give: it reads $1x as two tokens, and takes GRANT .. WITH GRANT OPTION of roles, as 16 and later do.
func other(e *pgconn.PgError) bool {
	return e != nil && (strings.HasPrefix(e.Message, "trailing junk after parameter") || e.Message == `syntax error at or near "GRANT"`)
}

// TestMalformed compares the syntax errors of the model with a server's: message, SQLSTATE and position.
func TestMalformed(t *testing.T) {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	compared, failed := 0, 0
	for _, good := range wellFormed {
		for _, sql := range spoiled(good) {
			if strings.Contains(sql, ";") {
				continue
			}
			_, merr := parser.Parse(sql)
			_, serr := conn.Prepare(ctx, "", sql, nil)
			var e *pgconn.PgError
			errors.As(serr, &e)
			syntax := e != nil && e.Code == "42601" && strings.Contains(e.Message, " at or near ") || e != nil && strings.HasPrefix(e.Message, "syntax error")
			if merr == nil && !syntax || other(e) {
				continue
			}
			compared++
			switch {
			case merr == nil:
				t.Errorf("%q: the model takes it; the server: %v", sql, e)
			case e == nil:
				t.Errorf("%q: the server takes it; the model: %v at %d", sql, merr, merr.Position)
			case merr.Code != e.Code || merr.Message != e.Message || merr.Position != int(e.Position):
				t.Errorf("%q:\nmodel:  %s %s at %d\nserver: %s %s at %d", sql, merr.Code, merr.Message, merr.Position, e.Code, e.Message, e.Position)
			default:
				continue
			}
			if failed++; failed > 20 {
				t.Fatal("and more")
			}
		}
	}
	if compared < 3000 {
		t.Errorf("only %d errors were compared", compared)
	}
	t.Logf("%d errors compared", compared)
}
