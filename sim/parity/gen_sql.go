package parity

import (
	"fmt"
	"strings"
)

// where draws a condition on the columns of t, which is named as alias.
func (g *gen) where(alias string) string {
	k, v := alias+"k", alias+"v"
	switch g.r.IntN(12) {
	case 0, 1, 2, 3, 4:
		return k + " = " + g.key()
	case 5:
		return fmt.Sprintf("%s IN (%s, %s)", k, g.key(), g.key())
	case 6:
		return k + " > " + g.key()
	case 7:
		return fmt.Sprintf("%s BETWEEN %d AND %d", v, g.r.IntN(30), 20+g.r.IntN(40))
	case 8:
		return fmt.Sprintf("%s %% 2 = %d", v, g.r.IntN(2))
	case 9:
		o := g.table()
		return fmt.Sprintf("%sEXISTS (SELECT 1 FROM %s x WHERE x.k = %s AND x.v > %d)", g.oneOf("", "NOT "), o.name, k, g.r.IntN(50))
	case 10:
		return fmt.Sprintf("%s = ANY (ARRAY[%s, %s]) AND %s IS NOT NULL", k, g.key(), g.key(), v)
	}
	return fmt.Sprintf("%s < (SELECT max(y.v) FROM %s y)", v, g.table().name)
}

// value draws an integer expression; of is the column that may occur in it, "" for none.
func (g *gen) value(of string) string {
	if of == "" || g.chance(30) {
		return fmt.Sprint(g.r.IntN(70))
	}
	return strings.ReplaceAll(g.oneOf("# + 1", "# + 1", "# * 2", "# - 5", "COALESCE(#, 3)", "CASE WHEN # > 20 THEN 1 ELSE # + 10 END", "greatest(#, 12)", "abs(#) % 50", "NULL", "length(#::text)"), "#", of)
}

// literal draws a value for an extra column.
func (g *gen) literal(typ string) string {
	switch typ {
	case "text":
		return g.oneOf("'a'", "'b''c'", "NULL", "'x' || 1", "upper('q')", "'  pad '")
	case "boolean":
		return g.oneOf("true", "false", "NULL", "1 > 2")
	case "numeric":
		return g.oneOf("1.50", "2", "10 / 3.0", "NULL", "-0.001", "1e3")
	case "bigint":
		return g.oneOf("9000000000", "1", "NULL", "2147483648 * 2")
	case "timestamptz":
		return g.oneOf("now()", "'2026-01-02 03:04:05+00'", "now() + interval '1 day'", "NULL", "clock_timestamp()")
	case "uuid":
		return g.oneOf("'00000000-0000-0000-0000-000000000001'", "NULL", "gen_random_uuid()")
	case "jsonb":
		return g.oneOf("jsonb_build_object('a', 1, 'b', 'x')", "'[1, 2]'", "NULL", "to_jsonb(5)")
	}
	return g.oneOf("ARRAY[1, 2]", "NULL", "ARRAY[]::int[]", "ARRAY[3] || 4")
}

// sets draws what an UPDATE sets.
func (g *gen) sets(t table, alias string) string {
	list := []string{"v = " + g.value(alias+"v")}
	if g.chance(15) {
		list[0] = "k = " + g.oneOf(g.key(), alias+"k + 1", alias+"k")
	}
	if t.unique && g.chance(25) {
		list = append(list, "u = "+g.oneOf(g.key(), "NULL"))
	}
	if t.parent != "" && g.chance(20) {
		list = append(list, "p = "+g.oneOf(g.key(), "NULL"))
	}
	if len(t.extra) > 0 && g.chance(40) {
		c := t.extra[g.r.IntN(len(t.extra))]
		list = append(list, c.name+" = "+g.literal(c.typ))
	}
	return strings.Join(list, ", ")
}

func (g *gen) returning(alias string) string {
	if g.chance(60) {
		return ""
	}
	return " RETURNING " + g.oneOf(alias+"k", alias+"k, "+alias+"v", "*", alias+"v + 1 AS w")
}

func (g *gen) update(t table) string {
	switch o := g.table(); g.r.IntN(10) {
	case 0: // a condition on the other table would make a server's plan begin there
		return fmt.Sprintf("UPDATE %s SET %s FROM %s o WHERE o.k = %s.k AND %s", t.name, g.sets(t, t.name+"."), o.name, t.name, g.where(t.name+".")) + g.returning(t.name+".")
	case 1:
		return fmt.Sprintf("UPDATE %s SET v = (SELECT sum(z.v) FROM %s z WHERE z.k <> %s.k) WHERE %s", t.name, o.name, t.name, g.where("")) + g.returning("")
	case 2:
		return fmt.Sprintf("UPDATE %s SET %s", t.name, g.sets(t, "")) + g.returning("")
	}
	return fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.name, g.sets(t, ""), g.where("")) + g.returning("")
}

func (g *gen) delete(t table) string {
	if g.chance(15) {
		return fmt.Sprintf("DELETE FROM %s USING %s o WHERE o.k = %s.k AND %s", t.name, g.table().name, t.name, g.where(t.name+".")) + g.returning(t.name+".")
	}
	return fmt.Sprintf("DELETE FROM %s WHERE %s", t.name, g.where("")) + g.returning("")
}

func (g *gen) insert(t table) string {
	cols, vals := []string{"k", "v"}, []string{g.key(), g.value("")}
	if t.unique && g.chance(60) {
		cols, vals = append(cols, "u"), append(vals, g.oneOf(g.key(), "NULL"))
	}
	if t.parent != "" && g.chance(70) {
		cols, vals = append(cols, "p"), append(vals, g.oneOf(g.key(), "NULL"))
	}
	if t.parted {
		cols, vals = append(cols, "g"), append(vals, fmt.Sprint(g.r.IntN(3)))
	}
	for _, c := range t.extra {
		if g.chance(50) {
			cols, vals = append(cols, c.name), append(vals, g.literal(c.typ))
		}
	}
	sql := fmt.Sprintf("INSERT INTO %s (%s) ", t.name, strings.Join(cols, ", "))
	switch g.r.IntN(8) {
	case 0:
		sql = fmt.Sprintf("INSERT INTO %s (k, v) SELECT k + %d, v FROM %s WHERE %s", t.name, g.r.IntN(3), g.table().name, g.where(""))
	case 1:
		sql = fmt.Sprintf("INSERT INTO %s (k, v) VALUES (%s, 1), (%s, 2)", t.name, g.key(), g.key())
	default:
		sql += "VALUES (" + strings.Join(vals, ", ") + ")"
	}
	if g.chance(45) {
		target := g.oneOf("", "(k) ")
		if !t.primary {
			target = ""
		}
		if t.unique && g.chance(40) {
			target = "(u) "
		}
		switch {
		case target == "" || g.chance(40):
			sql += " ON CONFLICT " + target + "DO NOTHING"
		default:
			sql += " ON CONFLICT " + target + "DO UPDATE SET v = " + g.oneOf("excluded.v", t.name+".v + 1", "excluded.v + "+t.name+".v")
			if g.chance(25) {
				sql += fmt.Sprintf(" WHERE %s.v > %d", t.name, g.r.IntN(40))
			}
		}
	}
	return sql + g.returning("")
}

func (g *gen) lockingSelect(t table) string {
	strength := g.oneOf("FOR UPDATE", "FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR KEY SHARE")
	tail := strength + g.oneOf("", "", "", " NOWAIT", " SKIP LOCKED", " SKIP LOCKED")
	switch g.r.IntN(6) {
	case 0:
		return fmt.Sprintf("SELECT a.k, b.v FROM %s a JOIN %s b ON a.k = b.k WHERE %s ORDER BY 1, 2 %s", t.name, g.table().name, g.where("a."), strings.Replace(tail, strength, strength+g.oneOf("", " OF a", " OF b"), 1))
	case 1:
		return fmt.Sprintf("SELECT * FROM %s ORDER BY k, v LIMIT %d %s", t.name, 1+g.r.IntN(2), tail)
	}
	return fmt.Sprintf("SELECT k, v FROM %s WHERE %s ORDER BY k, v %s", t.name, g.where(""), tail)
}

func (g *gen) query(t table) string {
	o := g.table()
	switch g.r.IntN(10) {
	case 0:
		return fmt.Sprintf("SELECT count(*), sum(v), min(k), max(v), avg(v) FROM %s", t.name)
	case 1:
		return fmt.Sprintf("SELECT v %% 3 AS m, count(*), array_agg(k ORDER BY k) FROM %s GROUP BY 1 HAVING count(*) > %d ORDER BY 1", t.name, g.r.IntN(2))
	case 2:
		return fmt.Sprintf("SELECT a.k, a.v, b.v FROM %s a LEFT JOIN %s b ON a.k = b.k AND %s ORDER BY 1, 2, 3", t.name, o.name, g.where("b."))
	case 3:
		return fmt.Sprintf("SELECT DISTINCT v %% 4 FROM %s ORDER BY 1 DESC", t.name)
	case 4:
		return fmt.Sprintf("SELECT k FROM %s WHERE %s %s SELECT k FROM %s ORDER BY 1", t.name, g.where(""), g.oneOf("UNION", "UNION ALL", "EXCEPT", "INTERSECT"), o.name)
	case 5:
		return fmt.Sprintf("SELECT k, (SELECT count(*) FROM %s z WHERE z.v < a.v) FROM %s a WHERE %s ORDER BY 1, 2", o.name, t.name, g.where("a."))
	case 6:
		return fmt.Sprintf("SELECT * FROM (SELECT k, v + 1 AS w FROM %s) x WHERE w > %d ORDER BY w DESC, k LIMIT 2", t.name, g.r.IntN(40))
	}
	return fmt.Sprintf("SELECT * FROM %s WHERE %s ORDER BY k, v", t.name, g.where(""))
}

func (g *gen) cte(t table) string {
	o := g.table()
	switch g.r.IntN(4) {
	case 0:
		return fmt.Sprintf("WITH d AS (DELETE FROM %s WHERE %s RETURNING k, v) INSERT INTO %s (k, v) SELECT k, v FROM d%s", t.name, g.where(""), o.name, g.oneOf("", " ON CONFLICT DO NOTHING"))
	case 1:
		return fmt.Sprintf("WITH u AS (UPDATE %s SET v = v + 1 WHERE %s RETURNING k) SELECT count(*) FROM u", t.name, g.where(""))
	case 2:
		return fmt.Sprintf("WITH l AS (SELECT k FROM %s WHERE %s ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE %s SET v = %s.v + 1 FROM l WHERE %s.k = l.k RETURNING %s.k", t.name, g.where(""), t.name, t.name, t.name, t.name)
	}
	return fmt.Sprintf("WITH c AS (SELECT k, v FROM %s) SELECT c.k, o.v FROM c, %s o WHERE o.k = c.k ORDER BY 1, 2", t.name, o.name)
}
