package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// writer stores rows in a table: it computes what the table adds to a row and checks what the table demands of it.
type writer struct {
	table     *Relation
	rel       int // relation of the frame in which a new row sits while it is checked
	notNull   []int
	checks    []checkFn
	generated []genFn
	leaves    []*writer                     // of a partitioned table, by partition
	bound     func(vals []types.Value) bool // of a partition: whether a row belongs into it
	layout    []int                         // root column of each leaf column, nil: the same
	hooks     *hooks                        // triggers and foreign keys, nil: none
	lockCols  []int                         // columns that the statement sets, for the strength of row locks
}

// setCols notes the columns that the statement sets.
func (w *writer) setCols(sets []setCol) {
	for _, s := range sets {
		w.lockCols = append(w.lockCols, s.col)
	}
	for _, lw := range w.leaves {
		lw.setCols(sets)
	}
}

type checkFn struct {
	name string
	ok   evalFn
}

type genFn struct {
	col int
	fn  evalFn
}

// newWriter analyses a table's constraints for a statement that writes to it.
func (a *analyzer) newWriter(r *Relation) (*writer, error) {
	w := &writer{table: r, rel: a.newRel()}
	for i := range r.Columns {
		if r.Columns[i].NotNull && !r.Columns[i].Dropped {
			w.notNull = append(w.notNull, i)
		}
	}
	for _, c := range r.Checks {
		e, err := a.tableExpr(r, w.rel, c.Expr, c.Text)
		if err != nil {
			return nil, err
		}
		if e, err = a.boolean(e, "CHECK"); err != nil {
			return nil, err
		}
		w.checks = append(w.checks, checkFn{name: c.Name, ok: e.compile(&a.shape)})
	}
	for i := range r.Columns {
		c := &r.Columns[i]
		if c.Generated && !c.Dropped {
			e, err := a.tableExpr(r, w.rel, c.Default, c.DefaultQ)
			if err != nil {
				return nil, err
			}
			if e, err = a.coerce(e, c.Type, c.Typmod, assignment); err != nil {
				return nil, err
			}
			w.generated = append(w.generated, genFn{i, e.compile(&a.shape)})
		}
	}
	for _, p := range r.Parts {
		leaf, ok := a.cat.byQName(p.Table)
		if !ok {
			return nil, types.Errorf("XX000", "partition %q is not in the catalog", p.Table)
		}
		lw, err := a.newWriter(leaf)
		if err != nil {
			return nil, err
		}
		lw.layout = layoutMap(leaf, r)
		w.leaves = append(w.leaves, lw)
	}
	w.bound = a.boundOf(r)
	var err error
	if w.hooks, err = a.newHooks(r); w.hooks != nil {
		w.hooks.w = w
	}
	return w, err
}

// tableExpr analyses an expression over the columns of one table, kept with its own text.
func (a *analyzer) tableExpr(r *Relation, rel int, n *pg.Node, text string) (expr, error) {
	saved := a.sql
	a.sql = text
	defer func() { a.sql = saved }()
	q := a.newQuery(nil)
	it := &nsItem{name: r.Name, rel: rel, table: r}
	for i := range r.Columns {
		c := &r.Columns[i]
		if !c.Dropped {
			it.cols = append(it.cols, nsCol{name: c.Name, e: &varExpr{at: -1, rel: rel, col: i, t: c.Type, typmod: c.Typmod, name: c.Name}})
		}
	}
	q.items = []*nsItem{it}
	return q.expr(n)
}

// defaultExpr is the expression that fills a column an INSERT does not name.
func (a *analyzer) defaultExpr(c *Column) (expr, error) {
	if c.Sequence != "" && c.Default == nil {
		seq, ok := a.cat.byQName(c.Sequence)
		if !ok {
			return nil, types.Errorf("XX000", "sequence %q is not in the catalog", c.Sequence)
		}
		return a.nextvalOf(seq, c)
	}
	if c.Default == nil || c.Generated {
		return &constExpr{at: -1, v: types.Null(c.Type)}, nil
	}
	saved := a.sql
	a.sql = c.DefaultQ
	defer func() { a.sql = saved }()
	e, err := a.newQuery(nil).expr(c.Default)
	if err != nil {
		return nil, err
	}
	return a.assign(e, c)
}

// nextvalOf draws a value of an identity column's sequence, without a look at privileges.
func (a *analyzer) nextvalOf(seq *Relation, c *Column) (expr, error) {
	a.volatile = true
	id := seq.ID
	fn := &callable{name: "nextval", ret: types.Type{Kind: types.Int8}, volatile: 'v',
		eval: func(f *frame, _ []types.Value) (types.Value, error) {
			n, err := f.run.x.Nextval(id)
			return types.NewInt8(n), err
		}}
	return a.coerce(&callExpr{at: -1, fn: fn}, c.Type, c.Typmod, assignment)
}

// assign coerces an expression to a column's type, as INSERT and UPDATE do.
func (a *analyzer) assign(e expr, c *Column) (expr, error) {
	out, err := a.coerce(e, c.Type, c.Typmod, assignment)
	if err == error(errNoCast) {
		return nil, a.errorf(e.loc(), "42804", "column %q is of type %s but expression is of type %s",
			c.Name, c.Type, e.typ()).WithHint("You will need to rewrite or cast the expression.")
	}
	return out, err
}

// route finds the partition for a row and gives the row in the partition's layout.
func (w *writer) route(vals []types.Value) (*writer, []types.Value, error) {
	if w.table.Kind != KindPartitioned {
		return w, vals, nil
	}
	key := vals[w.table.PartKey[0]]
	def := -1
	for i := range w.table.Parts {
		if w.table.Parts[i].Default {
			def = i
		} else if holdsValue(&w.table.Parts[i], key) {
			return w.leaf(i, vals)
		}
	}
	if def >= 0 {
		return w.leaf(def, vals)
	}
	name := w.table.Columns[w.table.PartKey[0]].Name
	text := key.Text()
	if !key.Valid {
		text = "null"
	}
	err := types.Errorf("23514", "no partition of relation %q found for row", w.table.Name).
		WithDetail("Partition key of the failing row contains (%s) = (%s).", name, text)
	err.Table = w.table.Name
	return nil, nil, err
}

func (w *writer) leaf(i int, vals []types.Value) (*writer, []types.Value, error) {
	lw := w.leaves[i]
	if lw.layout != nil {
		vals = remap(vals, lw.layout)
	}
	return lw, vals, nil
}

// check completes a row with generated columns and checks NOT NULL and CHECK constraints, in Postgres's order.
func (w *writer) check(f *frame, vals []types.Value) error {
	if w.generated == nil && w.notNull == nil && w.checks == nil && w.bound == nil {
		return nil
	}
	f.rows[w.rel] = vals
	for _, g := range w.generated {
		v, err := g.fn(f)
		if err != nil {
			return err
		}
		vals[g.col] = v
	}
	for _, c := range w.notNull {
		if !vals[c].Valid {
			err := types.Errorf("23502", "null value in column %q of relation %q violates not-null constraint",
				w.table.Columns[c].Name, w.table.Name).WithDetail("Failing row contains %s.", w.rowText(vals))
			err.Schema, err.Table, err.Column = w.table.Schema, w.table.Name, w.table.Columns[c].Name
			return err
		}
	}
	for _, c := range w.checks {
		v, err := c.ok(f)
		if err != nil {
			return err
		}
		if v.Valid && v.N == 0 {
			err := types.Errorf("23514", "new row for relation %q violates check constraint %q", w.table.Name, c.name).
				WithDetail("Failing row contains %s.", w.rowText(vals))
			err.Schema, err.Table, err.Constraint = w.table.Schema, w.table.Name, c.name
			return err
		}
	}
	if w.bound != nil && !w.bound(vals) {
		err := types.Errorf("23514", "new row for relation %q violates partition constraint", w.table.Name).
			WithDetail("Failing row contains %s.", w.rowText(vals))
		err.Schema, err.Table = w.table.Schema, w.table.Name
		return err
	}
	return nil
}

// rowText is a row as error details print it (ExecBuildSlotValueDescription).
func (w *writer) rowText(vals []types.Value) string {
	var b strings.Builder
	b.WriteByte('(')
	first := true
	for i, v := range vals {
		if i < len(w.table.Columns) && w.table.Columns[i].Dropped {
			continue
		}
		if !first {
			b.WriteString(", ")
		}
		first = false
		if !v.Valid {
			b.WriteString("null")
			continue
		}
		text := v.Text()
		if len(text) > 64 {
			b.WriteString(text[:64] + "...")
		} else {
			b.WriteString(text)
		}
	}
	b.WriteByte(')')
	return b.String()
}

// uniqueError adds what only the SQL front knows to an error of a unique index.
func (w *writer) uniqueError(err error) error {
	if e, ok := err.(*types.Error); ok && e.Code == "23505" && e.Table == "" {
		c := *e
		c.Schema, c.Table = w.table.Schema, w.table.Name
		return &c
	}
	return err
}
