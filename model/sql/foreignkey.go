package sql

import (
	"strings"
	"sync"

	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

// Foreign keys are kept by statements like those of Postgres's own referential-integrity triggers: they run at the end of the
// statement, see what has committed by then, and lock what they find with FOR KEY SHARE. In REPEATABLE READ the look-up of a
// referenced row sees no more than the transaction does (ri_PerformCheck in ri_triggers.c).

// riQuery is such a statement, compiled when it is first needed.
type riQuery struct {
	text   string
	latest bool // it sees what has committed by now in REPEATABLE READ too
	params []types.Type
	once   sync.Once
	c      *Compiled
	err    error
}

func (q *riQuery) run(rn *run, args []types.Value, row func([]types.Value) (bool, error)) (int64, error) {
	q.once.Do(func() {
		stmts, perr := parser.Parse(q.text)
		if perr != nil {
			q.err = perr
			return
		}
		q.c, q.err = compileInner(rn.d.catalog(rn.s), q.text, stmts[0].Stmt, innerArgs{params: append([]types.Type(nil), q.params...)})
		if q.err == nil {
			q.c.privs = nil // runs with the rights of the table's owner
			q.c.latest = q.latest
		}
	})
	if q.err != nil {
		return 0, inward(q.err)
	}
	n, err := rn.runInner(q.c, args, storage.Snapshot{}, row)
	return n, inward(err)
}

// exists says whether the statement finds a row.
func (q *riQuery) exists(rn *run, args []types.Value) (bool, error) {
	found := false
	_, err := q.run(rn, args, func([]types.Value) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}

// from names a table in such a statement; of a partitioned one with its partitions.
func from(qname string, partitioned bool) string {
	schema, name, _ := splitQName(qname)
	t := quoteIdent(schema) + "." + quoteIdent(name)
	if partitioned {
		return t
	}
	return "ONLY " + t
}

// match is the condition "col = $1 AND ...".
func match(cols []string, first int) string {
	var parts []string
	for i, c := range cols {
		parts = append(parts, quoteIdent(c)+" = $"+itoa(first+i))
	}
	return strings.Join(parts, " AND ")
}

func pick(vals []types.Value, cols []int) []types.Value {
	out := make([]types.Value, len(cols))
	for i, c := range cols {
		if c < len(vals) {
			out[i] = vals[c]
		}
	}
	return out
}

func allValid(vals []types.Value) bool {
	for _, v := range vals {
		if !v.Valid {
			return false
		}
	}
	return true
}

func sameKey(a, b []types.Value) bool {
	for i := range a {
		if !types.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// keyText is "(a, b)=(1, 2)".
func keyText(names []string, vals []types.Value) string {
	var texts []string
	for _, v := range vals {
		texts = append(texts, v.Text())
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(texts, ", ") + ")"
}

// fkCheck is a foreign key seen from the referencing table.
type fkCheck struct {
	table *Relation
	fk    *ForeignKey
	names []string
	once  sync.Once
	query *riQuery
	err   error
}

func newFKCheck(r *Relation, fk *ForeignKey) *fkCheck {
	c := &fkCheck{table: r, fk: fk}
	for _, i := range fk.Cols {
		c.names = append(c.names, r.Columns[i].Name)
	}
	return c
}

// queueChecks queues the look-up of the referenced rows. Of an UPDATE only when it changed the key, or a row that its own
// transaction has made, whose first check finds the row gone (RI_FKey_fk_upd_check_required).
func (h *hooks) queueChecks(rn *run, old, new []types.Value, madeHere bool) {
	for _, c := range h.checks {
		key := pick(new, c.fk.Cols)
		switch {
		case allValid(key):
			if old == nil || madeHere || !sameKey(pick(old, c.fk.Cols), key) {
				rn.after = append(rn.after, func() error { return c.check(rn, key) })
			}
		case old == nil: // a server opens the referenced table before it sees that there is nothing to look up
			rn.after = append(rn.after, func() error { return passTable(rn, c.fk.Ref) })
		}
	}
}

// passTable waits as a check does that opens a table and has nothing to look up in it.
func passTable(rn *run, qname string) error {
	r, ok := rn.d.catalog(rn.s).byQName(qname)
	if !ok {
		return types.Errorf("42P01", "relation %q does not exist", baseName(qname))
	}
	return rn.x.PassTable(r.ID, storage.RowShare)
}

func (c *fkCheck) check(rn *run, key []types.Value) error {
	c.once.Do(func() {
		ref, ok := rn.d.catalog(rn.s).byQName(c.fk.Ref)
		if !ok {
			c.err = types.Errorf("42P01", "relation %q does not exist", baseName(c.fk.Ref))
			return
		}
		var names []string
		for _, i := range c.fk.RefCols {
			names = append(names, ref.Columns[i].Name)
		}
		c.query = &riQuery{text: "SELECT 1 FROM " + from(c.fk.Ref, ref.Kind == KindPartitioned) + " x WHERE " + match(names, 1) + " FOR KEY SHARE OF x",
			latest: ref.Kind == KindPartitioned}
		for _, i := range c.fk.Cols {
			c.query.params = append(c.query.params, c.table.Columns[i].Type)
		}
	})
	if c.err != nil {
		return c.err
	}
	found, err := c.query.exists(rn, key)
	if found || err != nil {
		return err
	}
	e := types.Errorf("23503", "insert or update on table %q violates foreign key constraint %q", c.table.Name, c.fk.Name).
		WithDetail("Key %s is not present in table %q.", keyText(c.names, key), baseName(c.fk.Ref))
	e.Schema, e.Table, e.Constraint = c.table.Schema, c.table.Name, c.fk.Name
	return e
}

// fkAction is a foreign key seen from the referenced table.
type fkAction struct {
	table   *Relation
	fk      *ForeignKey
	names   []string
	mu      sync.Mutex
	queries map[string]*riQuery
}

func newFKAction(r *Relation, fk *ForeignKey) *fkAction {
	g := &fkAction{table: r, fk: fk, queries: map[string]*riQuery{}}
	for _, i := range fk.RefCols {
		g.names = append(g.names, r.Columns[i].Name)
	}
	return g
}

// query gives one of the foreign key's statements by name. set makes the text from the referencing table's columns.
func (g *fkAction) query(rn *run, name string, text func(child *Relation, cols []string) string, keys int) (*riQuery, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.queries[name]; q != nil {
		return q, nil
	}
	child, ok := rn.d.catalog(rn.s).byQName(g.fk.Table)
	if !ok {
		return nil, types.Errorf("42P01", "relation %q does not exist", baseName(g.fk.Table))
	}
	var cols []string
	for _, i := range g.fk.Cols {
		cols = append(cols, child.Columns[i].Name)
	}
	q := &riQuery{text: text(child, cols), latest: true}
	for range keys {
		for _, i := range g.fk.RefCols {
			q.params = append(q.params, g.table.Columns[i].Type)
		}
	}
	g.queries[name] = q
	return q, nil
}

// queueActions queues what the foreign keys that refer to the table want done when a key goes.
func (h *hooks) queueActions(rn *run, op byte, old, new []types.Value) {
	for _, g := range h.guards {
		key := pick(old, g.fk.RefCols)
		if !allValid(key) {
			continue
		}
		var newKey []types.Value
		if op == 'u' {
			if newKey = pick(new, g.fk.RefCols); sameKey(key, newKey) {
				continue
			}
		}
		rn.after = append(rn.after, func() error { return g.act(rn, op, key, newKey) })
	}
}

func (g *fkAction) act(rn *run, op byte, key, newKey []types.Value) error {
	do := g.fk.OnDelete
	if op == 'u' {
		do = g.fk.OnUpdate
	}
	childFrom := func(child *Relation) string { return from(g.fk.Table, child.Kind == KindPartitioned) }
	switch do {
	case NoAction, Restrict:
		if do == NoAction { // another row may have the key by now; a server opens the referencing table before it looks
			if err := passTable(rn, g.fk.Table); err != nil {
				return err
			}
			q, err := g.query(rn, "self", func(*Relation, []string) string {
				return "SELECT 1 FROM " + from(g.fk.Ref, g.table.Kind == KindPartitioned) + " x WHERE " + match(g.names, 1) + " FOR KEY SHARE OF x"
			}, 1)
			if err != nil {
				return err
			}
			if found, err := q.exists(rn, key); found || err != nil {
				return err
			}
		}
		q, err := g.query(rn, "find", func(child *Relation, cols []string) string {
			return "SELECT 1 FROM " + childFrom(child) + " x WHERE " + match(cols, 1) + " FOR KEY SHARE OF x"
		}, 1)
		if err != nil {
			return err
		}
		found, err := q.exists(rn, key)
		if err != nil || !found {
			return err
		}
		if do == Restrict && rn.d.st.Version() >= version18 {
			return g.restricted(key)
		}
		return g.violated(key)
	case Cascade:
		if op == 'd' {
			q, err := g.query(rn, "delete", func(child *Relation, cols []string) string {
				return "DELETE FROM " + childFrom(child) + " WHERE " + match(cols, 1)
			}, 1)
			if err != nil {
				return err
			}
			_, err = q.run(rn, key, nil)
			return err
		}
		q, err := g.query(rn, "update", func(child *Relation, cols []string) string {
			var sets []string
			for i, c := range cols {
				sets = append(sets, quoteIdent(c)+" = $"+itoa(i+1))
			}
			return "UPDATE " + childFrom(child) + " SET " + strings.Join(sets, ", ") + " WHERE " + match(cols, len(cols)+1)
		}, 2)
		if err != nil {
			return err
		}
		_, err = q.run(rn, append(append([]types.Value{}, newKey...), key...), nil)
		return err
	case SetNull, SetDefault:
		value := "NULL"
		if do == SetDefault {
			value = "DEFAULT"
		}
		q, err := g.query(rn, value, func(child *Relation, cols []string) string {
			var sets []string
			for _, c := range cols {
				sets = append(sets, quoteIdent(c)+" = "+value)
			}
			return "UPDATE " + childFrom(child) + " SET " + strings.Join(sets, ", ") + " WHERE " + match(cols, 1)
		}, 1)
		if err != nil {
			return err
		}
		if _, err := q.run(rn, key, nil); err != nil || do != SetDefault {
			return err
		}
		find, err := g.query(rn, "find", func(child *Relation, cols []string) string {
			return "SELECT 1 FROM " + childFrom(child) + " x WHERE " + match(cols, 1) + " FOR KEY SHARE OF x"
		}, 1)
		if err != nil {
			return err
		}
		if found, err := find.exists(rn, key); err != nil || !found {
			return err
		}
		return g.violated(key)
	}
	return nil
}

// version18 is the first that tells RESTRICT from NO ACTION.
const version18 = 180000

func (g *fkAction) restricted(key []types.Value) error {
	schema, child, _ := splitQName(g.fk.Table)
	e := types.Errorf("23001", "update or delete on table %q violates RESTRICT setting of foreign key constraint %q on table %q", g.table.Name, g.fk.Name, child).
		WithDetail("Key %s is referenced from table %q.", keyText(g.names, key), child)
	e.Schema, e.Table, e.Constraint = schema, child, g.fk.Name
	return e
}

func (g *fkAction) violated(key []types.Value) error {
	schema, child, _ := splitQName(g.fk.Table)
	e := types.Errorf("23503", "update or delete on table %q violates foreign key constraint %q on table %q", g.table.Name, g.fk.Name, child).
		WithDetail("Key %s is still referenced from table %q.", keyText(g.names, key), child)
	e.Schema, e.Table, e.Constraint = schema, child, g.fk.Name
	return e
}
