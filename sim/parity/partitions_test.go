package parity

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"simrun/sim/postgres/pgtest"
)

// partitionGen draws statements over partitioned tables whose conditions rule partitions out in many ways.
type partitionGen struct{ r *rand.Rand }

func (g partitionGen) one(list ...string) string { return list[g.r.IntN(len(list))] }

// cond draws a condition on the alias x, which may compare it with the aliases of other tables.
func (g partitionGen) cond(x string, others ...string) string {
	if len(others) > 0 && g.r.IntN(100) < 60 {
		o := others[g.r.IntN(len(others))]
		return g.one(x+".slot = "+o+".slot", x+".slot = "+o+".slot", o+".slot = "+x+".slot", x+".slot = "+o+".k", x+".k = "+o+".k", x+".k = "+o+".slot",
			x+".slot < "+o+".slot")
	}
	c := fmt.Sprint(g.r.IntN(5))
	return g.one(x+".slot = "+c, x+".slot = "+c, x+".slot = "+c, c+" = "+x+".slot", x+".k = "+c, x+".slot IN (0, "+c+")", x+".slot <> "+c, x+".slot < "+c,
		x+".slot >= "+c, x+".slot = ANY (ARRAY[1, "+c+"])", "NOT "+x+".slot = "+c, x+".slot IS NOT NULL", x+".slot IS NULL", "("+x+".slot = "+c+" OR "+x+".slot = 2)",
		"("+x+".slot = "+c+" OR "+x+".k = 2)", x+".slot = "+c+" + 0", x+".slot BETWEEN 1 AND "+c, x+".slot = 1 + (random() > 2)::int", x+".slot NOT IN (1, "+c+")",
		x+".slot + 0 = "+c, x+".slot::bigint = "+c, "NOT ("+x+".slot = "+c+" OR "+x+".slot > 2)", x+".slot = (SELECT "+c+")", x+".k = "+x+".slot",
		x+".slot = current_setting('lock_timeout')::int", x+".slot <> ALL (ARRAY[0, "+c+"])")
}

func (g partitionGen) conds(x string, others ...string) string {
	list := []string{g.cond(x, others...)}
	for g.r.IntN(100) < 45 {
		list = append(list, g.cond(x, others...))
	}
	if g.r.IntN(100) < 30 {
		list = append(list, g.sub(x, 1))
	}
	return strings.Join(list, " AND ")
}

// sub draws a condition that is a subquery.
func (g partitionGen) sub(x string, depth int) string {
	y := fmt.Sprintf("y%d", g.r.IntN(1000))
	t := g.one("a", "b", "c")
	inner := g.cond(y, x) + " AND " + g.cond(y, x)
	if depth > 0 && g.r.IntN(100) < 25 {
		inner += " AND " + g.sub(y, depth-1)
	}
	switch g.r.IntN(6) {
	case 0:
		return fmt.Sprintf("%s.slot IN (SELECT %s.slot FROM %s %s WHERE %s)", x, y, t, y, g.cond(y))
	case 1:
		return fmt.Sprintf("%s.slot IN (SELECT %s.slot FROM %s %s GROUP BY %s.slot)", x, y, t, y, y)
	case 2:
		return fmt.Sprintf("%s.slot NOT IN (SELECT %s.slot FROM %s %s WHERE %s)", x, y, t, y, g.cond(y))
	case 3:
		return fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s %s WHERE %s)", t, y, inner)
	case 4:
		return fmt.Sprintf("EXISTS (SELECT 1 FROM %s %s WHERE %s%s)", t, y, inner, g.one("", "", " LIMIT 1", " OFFSET 1", " GROUP BY "+y+".k"))
	}
	return fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s %s JOIN d ON d.k = %s.k WHERE %s AND %s)", t, y, y, inner, "d.slot = "+y+".slot")
}

func (g partitionGen) from(alias string) string {
	t := g.one("a", "b", "c", "d", "a", "b")
	switch g.r.IntN(8) {
	case 0:
		return fmt.Sprintf("(SELECT slot, k FROM %s) %s", t, alias)
	case 1:
		return fmt.Sprintf("(SELECT slot, count(*)::int AS k FROM %s GROUP BY slot) %s", t, alias)
	case 2:
		return fmt.Sprintf("(SELECT z.slot, z.k FROM %s z WHERE %s) %s", t, g.conds("z"), alias)
	case 3:
		return fmt.Sprintf("(SELECT DISTINCT slot, k FROM %s ORDER BY 1%s) %s", t, g.one("", " LIMIT 3"), alias)
	}
	return t + " " + alias
}

func (g partitionGen) statement() string {
	switch g.r.IntN(10) {
	case 0:
		return "SELECT 1 FROM " + g.from("x") + " WHERE " + g.conds("x")
	case 1:
		return "UPDATE a SET k = a.k + 1 WHERE " + g.conds("a")
	case 2:
		return "DELETE FROM b USING " + g.from("x") + " WHERE " + g.conds("b", "x") + " AND " + g.conds("x", "b")
	case 3:
		return fmt.Sprintf("WITH w AS %s(SELECT * FROM a%s) SELECT 1 FROM w, %s WHERE %s AND %s", g.one("", "MATERIALIZED ", "NOT MATERIALIZED "), g.one("", " WHERE slot = 1"),
			g.from("x"), g.cond("w"), g.conds("x", "w"))
	case 4:
		return "SELECT 1 FROM seen x, " + g.from("y") + " WHERE " + g.conds("y", "x") + " AND " + g.cond("x")
	}
	var b strings.Builder
	aliases := []string{"y", "z"}[:1+g.r.IntN(2)] // all are used, as a server leaves out a joined table that gives nothing
	b.WriteString("SELECT x.slot, " + strings.Join(aliases, ".slot, ") + ".slot FROM " + g.from("x"))
	seen := []string{"x"}
	for _, alias := range aliases {
		b.WriteString(g.one(" JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ") + g.from(alias) + " ON " + g.cond(alias, seen...))
		if g.r.IntN(100) < 40 {
			b.WriteString(" AND " + g.cond(alias))
		}
		seen = append(seen, alias)
	}
	b.WriteString(" WHERE " + g.conds(seen[g.r.IntN(len(seen))], seen[0]) + g.one("", " AND "+g.cond(seen[g.r.IntN(len(seen))])))
	return b.String()
}

// TestPartitionsRuledOut compares the partitions that statements lock.
func TestPartitionsRuledOut(t *testing.T) {
	c := &Case{Sessions: 1, Schema: []string{"CREATE TABLE d (slot int, k int)"}}
	for _, name := range []string{"a", "b", "c"} {
		c.Schema = append(c.Schema, fmt.Sprintf("CREATE TABLE %s (slot int, k int) PARTITION BY LIST (slot)", name),
			fmt.Sprintf("CREATE TABLE %s_0 PARTITION OF %s FOR VALUES IN (0)", name, name), fmt.Sprintf("CREATE TABLE %s_1 PARTITION OF %s FOR VALUES IN (1)", name, name))
	}
	c.Schema = append(c.Schema, "CREATE TABLE b_2 PARTITION OF b FOR VALUES IN (2, 3)", "CREATE TABLE b_n PARTITION OF b FOR VALUES IN (NULL)",
		"CREATE TABLE c_d PARTITION OF c DEFAULT", "CREATE VIEW seen AS SELECT slot, k FROM b WHERE k >= 0")
	n := 300
	if os.Getenv("SIMRUN_LONG") != "" {
		n = 1200
	}
	g := partitionGen{rand.New(rand.NewPCG(2, 0))}
	for range n {
		for _, sql := range []string{"BEGIN", g.statement(), "ROLLBACK"} {
			c.Steps = append(c.Steps, Step{SQL: sql})
		}
	}
	d, refused, err := Run(pgtest.Start(t), c, true)
	switch {
	case err != nil:
		t.Fatal(err)
	case d != nil:
		t.Error(d)
	case refused != "":
		t.Error("the model refuses:", refused)
	}
}
