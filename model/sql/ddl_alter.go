package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_AlterTableStmt) (*Compiled, error) {
		s := n.AlterTableStmt
		for _, cn := range s.Cmds {
			cmd := cn.GetAlterTableCmd()
			if _, ok := alterations[cmd.Subtype]; !ok {
				return nil, a.unsupported(s.Relation.Location, "ALTER TABLE "+strings.TrimPrefix(cmd.Subtype.String(), "AT_"))
			}
		}
		tag := "ALTER " + strings.TrimPrefix(s.Objtype.String(), "OBJECT_")
		return a.utility(tag, func(rn *run, a *analyzer) error { return rn.alterTable(a, s) }), nil
	})
}

// alteration is one kind of ALTER TABLE command: the lock that it needs, and what it does to the (copied) relation. do sees to
// the catalog itself where it needs more than that the relation is stored.
type alteration struct {
	lock storage.TableLock
	do   func(t *alter, cmd *pg.AlterTableCmd) error
}

// alter is an ALTER TABLE in progress.
type alter struct {
	rn *run
	a  *analyzer
	r  *Relation
}

var alterations map[pg.AlterTableType]alteration

func init() {
	nothing := func(*alter, *pg.AlterTableCmd) error { return nil }
	alterations = map[pg.AlterTableType]alteration{
		pg.AlterTableType_AT_AddColumn:          {storage.AccessExclusive, (*alter).addColumn},
		pg.AlterTableType_AT_DropColumn:         {storage.AccessExclusive, (*alter).dropColumn},
		pg.AlterTableType_AT_ColumnDefault:      {storage.AccessExclusive, (*alter).columnDefault},
		pg.AlterTableType_AT_SetNotNull:         {storage.AccessExclusive, (*alter).setNotNull},
		pg.AlterTableType_AT_DropNotNull:        {storage.AccessExclusive, (*alter).dropNotNull},
		pg.AlterTableType_AT_AlterColumnType:    {storage.AccessExclusive, (*alter).columnType},
		pg.AlterTableType_AT_AddConstraint:      {storage.AccessExclusive, (*alter).addConstraint},
		pg.AlterTableType_AT_DropConstraint:     {storage.AccessExclusive, (*alter).dropConstraint},
		pg.AlterTableType_AT_ValidateConstraint: {storage.ShareUpdateExclusive, nothing},
		pg.AlterTableType_AT_EnableTrig:         {storage.ShareRowExclusive, func(t *alter, c *pg.AlterTableCmd) error { return t.enableTrigger(c.Name, true) }},
		pg.AlterTableType_AT_DisableTrig:        {storage.ShareRowExclusive, func(t *alter, c *pg.AlterTableCmd) error { return t.enableTrigger(c.Name, false) }},
		pg.AlterTableType_AT_ChangeOwner:        {storage.AccessExclusive, (*alter).changeOwner},
		pg.AlterTableType_AT_AttachPartition: {storage.ShareUpdateExclusive, func(t *alter, c *pg.AlterTableCmd) error {
			return t.rn.attachExisting(t.a, t.r, c.Def.GetPartitionCmd())
		}},
		pg.AlterTableType_AT_DetachPartition: {storage.AccessExclusive, func(t *alter, c *pg.AlterTableCmd) error { return t.rn.detach(t.a, t.r, c.Def.GetPartitionCmd()) }},
		pg.AlterTableType_AT_SetRelOptions:   {storage.ShareUpdateExclusive, nothing},
		pg.AlterTableType_AT_ResetRelOptions: {storage.ShareUpdateExclusive, nothing},
		pg.AlterTableType_AT_SetStatistics:   {storage.ShareUpdateExclusive, nothing},
		pg.AlterTableType_AT_ReplicaIdentity: {storage.AccessExclusive, nothing},
		pg.AlterTableType_AT_SetStorage:      {storage.AccessExclusive, nothing},
	}
}

func (rn *run) alterTable(a *analyzer, s *pg.AlterTableStmt) error {
	if s.MissingOk && a.cat.lookup(s.Relation.Schemaname, s.Relation.Relname) == nil {
		return rn.skip(types.Errorf("42P01", "relation %q does not exist", s.Relation.Relname))
	}
	mode := storage.AccessShare
	for _, cn := range s.Cmds {
		cmd := cn.GetAlterTableCmd()
		lock := alterations[cmd.Subtype].lock
		if cmd.Subtype == pg.AlterTableType_AT_AddConstraint && cmd.Def.GetConstraint().GetContype() == pg.ConstrType_CONSTR_FOREIGN {
			lock = storage.ShareRowExclusive
		}
		mode = max(mode, lock)
	}
	kinds := "rp"
	switch s.Objtype {
	case pg.ObjectType_OBJECT_SEQUENCE:
		kinds = "S"
	case pg.ObjectType_OBJECT_VIEW:
		kinds = "v"
	case pg.ObjectType_OBJECT_INDEX:
		kinds = "i"
	default:
		kinds = "rpvSi"
	}
	r, err := rn.open(a, s.Relation, mode, kinds)
	if err != nil {
		return err
	}
	for _, p := range r.Parts { // most commands go on to the partitions
		if leaf, ok := a.cat.byQName(p.Table); ok && mode >= storage.ShareRowExclusive {
			if err := rn.lock(leaf, mode); err != nil {
				return err
			}
		}
	}
	for _, cn := range s.Cmds {
		cmd := cn.GetAlterTableCmd()
		t := &alter{rn: rn, a: a}
		if t.r, err = rn.change(a, r.QName()); err != nil {
			return err
		}
		if err := alterations[cmd.Subtype].do(t, cmd); err != nil {
			return err
		}
	}
	return nil
}

// eachPart does the same to the partitions as to the table.
func (t *alter) eachPart(do func(p *alter) error) error {
	for _, p := range t.r.Parts {
		leaf, err := t.rn.change(t.a, p.Table)
		if err != nil {
			return err
		}
		if err := do(&alter{rn: t.rn, a: t.a, r: leaf}); err != nil {
			return err
		}
	}
	return nil
}

func (t *alter) store() error { return t.rn.reindex(t.a, t.r) }

// col finds a column or fails with 42703.
func (t *alter) col(name string) (int, error) {
	if i := t.r.Col(name); i >= 0 {
		return i, nil
	}
	return -1, types.Errorf("42703", "column %q of relation %q does not exist", name, t.r.Name)
}

func (t *alter) addColumn(cmd *pg.AlterTableCmd) error {
	d := cmd.Def.GetColumnDef()
	if t.r.Col(d.Colname) >= 0 {
		e := types.Errorf("42701", "column %q of relation %q already exists", d.Colname, t.r.Name)
		if cmd.MissingOk {
			return t.rn.skip(e)
		}
		return e
	}
	b := &tableBuilder{rn: t.rn, a: t.a, r: t.r}
	if err := b.column(d); err != nil {
		return err
	}
	at := len(t.r.Columns) - 1
	if err := b.keys(); err != nil {
		return err
	}
	added := t.r.Columns[at]
	if err := t.fill(at); err != nil {
		return err
	}
	if err := t.storeNewIndexes(); err != nil {
		return err
	}
	if err := b.foreignKeys(func(fk *ForeignKey) error { return t.validateForeignKey(fk) }); err != nil {
		return err
	}
	return t.eachPart(func(p *alter) error {
		p.r.Columns = append(p.r.Columns, added)
		if err := p.fill(len(p.r.Columns) - 1); err != nil {
			return err
		}
		return p.store()
	})
}

// storeNewIndexes enters the indexes that have no identity yet, and stores the table.
func (t *alter) storeNewIndexes() error {
	for i := range t.r.Indexes {
		if t.r.Indexes[i].ID == 0 {
			if err := t.rn.defineIndex(t.r, &t.r.Indexes[i]); err != nil {
				return err
			}
		}
	}
	return t.store()
}

// fill gives the rows that are there the default of a new column.
func (t *alter) fill(at int) error {
	c := &t.r.Columns[at]
	if t.r.Kind != KindTable {
		return nil
	}
	fn, a, err := t.filler(c)
	if err != nil {
		return err
	}
	if fn == nil && !c.NotNull {
		return nil
	}
	return t.rewrite(func(f *frame, vals []types.Value) error {
		for len(vals) <= at {
			return types.NewError("XX000", "short row")
		}
		if fn != nil {
			v, err := fn(f)
			if err != nil {
				return err
			}
			vals[at] = v
		}
		if c.NotNull && !vals[at].Valid {
			e := types.Errorf("23502", "column %q of relation %q contains null values", c.Name, t.r.Name)
			e.Schema, e.Table, e.Column = t.r.Schema, t.r.Name, c.Name
			return e
		}
		return nil
	}, a)
}

// filler is the expression that fills a new column, nil when that is NULL.
func (t *alter) filler(c *Column) (evalFn, *analyzer, error) {
	a := &analyzer{cat: t.a.cat, sql: t.a.sql}
	a.newRel()
	if c.Default == nil && c.Sequence == "" {
		return nil, a, nil
	}
	if c.Generated {
		e, err := a.tableExpr(t.r, 0, c.Default, c.DefaultQ)
		if err == nil {
			e, err = a.coerce(e, c.Type, c.Typmod, assignment)
		}
		if err != nil {
			return nil, a, err
		}
		return e.compile(&a.shape), a, nil
	}
	e, err := a.defaultExpr(c)
	if err != nil {
		return nil, a, err
	}
	return e.compile(&a.shape), a, nil
}

// rewrite changes every row of the table; the row is in relation 0 of the frame while change computes. a owns the frame.
func (t *alter) rewrite(change func(f *frame, vals []types.Value) error, a *analyzer) error {
	f := a.newFrame()
	f.run = t.rn
	width := len(t.r.Columns)
	return t.rn.x.Rewrite(t.r.ID, func(row *storage.Row) (*storage.Row, error) {
		vals := make([]types.Value, width)
		for i := range vals {
			vals[i] = types.Null(t.r.Columns[i].Type)
		}
		copy(vals, row.Vals)
		f.rows[0] = vals
		if err := change(f, vals); err != nil {
			return nil, err
		}
		return &storage.Row{Vals: vals}, nil
	})
}

// scan looks at every row of the table.
func (t *alter) scan(look func(vals []types.Value) error) error {
	t.rn.x.CommandCounterIncrement()
	return t.rn.x.Scan(t.rn.x.NewSnapshot(), t.r.ID, func(_ storage.TID, row *storage.Row) (bool, error) { return true, look(row.Vals) })
}

func (t *alter) dropColumn(cmd *pg.AlterTableCmd) error {
	at := t.r.Col(cmd.Name)
	if at < 0 {
		e := types.Errorf("42703", "column %q of relation %q does not exist", cmd.Name, t.r.Name)
		if cmd.MissingOk {
			return t.rn.skip(e)
		}
		return e
	}
	for _, k := range t.r.PartKey {
		if k == at {
			return types.Errorf("42P16", "cannot drop column %q because it is part of the partition key of relation %q", cmd.Name, t.r.Name)
		}
	}
	cascade := cmd.Behavior == pg.DropBehavior_DROP_CASCADE
	if err := t.columnDependents(at, cascade); err != nil {
		return err
	}
	if err := t.forget(at, cascade); err != nil {
		return err
	}
	name := cmd.Name
	return t.eachPart(func(p *alter) error { return p.forget(p.r.Col(name), cascade) })
}

// columnDependents refuses to drop a column that views, triggers or foreign keys of other tables use, or drops those too.
func (t *alter) columnDependents(at int, cascade bool) error {
	name := t.r.Columns[at].Name
	var found []string
	d := &dropper{rn: t.rn, a: t.a, cascade: cascade, dropping: map[string]bool{}}
	var views []*Relation
	for _, v := range d.viewsOn(t.r) {
		if mentionsColumn(v.View.Query, name) {
			found = append(found, "view "+v.Name+" depends on column "+name+" of table "+t.r.Name)
			views = append(views, v)
		}
	}
	var triggers []string
	for _, tr := range t.r.Triggers {
		uses := false
		for _, c := range tr.UpdateOf {
			uses = uses || c == at
		}
		if uses || tr.When != nil && mentionsColumn(tr.When, name) {
			found = append(found, "trigger "+tr.Name+" on table "+t.r.Name+" depends on column "+name+" of table "+t.r.Name)
			triggers = append(triggers, tr.Name)
		}
	}
	var fks []ForeignKey
	for _, fk := range t.r.RefFKs {
		if fk.Table == t.r.QName() {
			continue
		}
		for _, c := range fk.RefCols {
			if c == at {
				found = append(found, "constraint "+fk.Name+" on table "+baseName(fk.Table)+" depends on column "+name+" of table "+t.r.Name)
				fks = append(fks, fk)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	if !cascade {
		return types.Errorf("2BP01", "cannot drop column %s of table %s because other objects depend on it", name, t.r.Name).
			WithDetail("%s", strings.Join(found, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	for _, v := range views {
		d.dropping[v.QName()] = true
		d.reports = append(d.reports, "view "+v.Name)
		if err := d.relation(v); err != nil {
			return err
		}
	}
	for _, tr := range triggers {
		d.reports = append(d.reports, "trigger "+tr+" on table "+t.r.Name)
		if err := t.rn.removeTrigger(t.a, t.r.QName(), tr); err != nil {
			return err
		}
	}
	for _, fk := range fks {
		d.reports = append(d.reports, "constraint "+fk.Name+" on table "+baseName(fk.Table))
		if err := t.rn.dropForeignKey(t.a, fk); err != nil {
			return err
		}
	}
	r, err := t.rn.change(t.a, t.r.QName())
	if err != nil {
		return err
	}
	t.r = r
	return d.tellCascade()
}

// forget drops a column with the indexes, checks and foreign keys over it.
func (t *alter) forget(at int, _ bool) error {
	if at < 0 {
		return nil
	}
	r := t.r
	uses := func(cols []int) bool {
		for _, c := range cols {
			if c == at {
				return true
			}
		}
		return false
	}
	kept := r.Indexes[:0]
	for _, ix := range r.Indexes {
		mentioned := uses(ix.Cols) || ix.Pred != nil && uses(columnsIn(r, ix.Pred))
		for _, e := range ix.Exprs {
			mentioned = mentioned || e != nil && uses(columnsIn(r, e))
		}
		if !mentioned {
			kept = append(kept, ix)
			continue
		}
		if err := t.rn.x.Drop(classRelation, r.Schema+"."+ix.Name); err != nil {
			return err
		}
		if err := t.rn.x.DropHeap(ix.ID); err != nil {
			return err
		}
	}
	r.Indexes = kept
	checks := r.Checks[:0]
	for _, c := range r.Checks {
		if !uses(columnsIn(r, c.Expr)) {
			checks = append(checks, c)
		}
	}
	r.Checks = checks
	for _, fk := range append([]ForeignKey(nil), r.FKs...) {
		if uses(fk.Cols) {
			if err := t.removeForeignKey(fk); err != nil {
				return err
			}
		}
	}
	c := &r.Columns[at]
	if seq, ok := t.a.cat.byQName(c.Sequence); ok && seq.OwnedBy == r.QName() {
		if err := t.rn.x.Drop(classRelation, seq.QName()); err != nil {
			return err
		}
		if err := t.rn.x.DropHeap(seq.ID); err != nil {
			return err
		}
	}
	*c = Column{Name: "........pg.dropped." + itoa(at+1) + "........", Type: c.Type, Typmod: -1, Dropped: true}
	return t.store()
}

func (t *alter) columnDefault(cmd *pg.AlterTableCmd) error {
	at, err := t.col(cmd.Name)
	if err != nil {
		return err
	}
	c := &t.r.Columns[at]
	switch {
	case c.Identity != 0:
		return types.Errorf("42601", "column %q of relation %q is an identity column", c.Name, t.r.Name)
	case c.Generated:
		return types.Errorf("42601", "column %q of relation %q is a generated column", c.Name, t.r.Name)
	}
	if cmd.Def == nil {
		c.Default, c.DefaultQ = nil, ""
		if c.Sequence != "" {
			c.Sequence = ""
		}
	} else if err := t.a.setDefault(c, cmd.Def); err != nil {
		return err
	}
	changed := *c
	if err := t.rn.replace(t.r); err != nil {
		return err
	}
	return t.eachPart(func(p *alter) error {
		pc := &p.r.Columns[p.r.Col(changed.Name)]
		pc.Default, pc.DefaultQ, pc.Sequence = changed.Default, changed.DefaultQ, changed.Sequence
		return p.rn.replace(p.r)
	})
}

func (t *alter) setNotNull(cmd *pg.AlterTableCmd) error {
	at, err := t.col(cmd.Name)
	if err != nil {
		return err
	}
	if t.r.Kind == KindTable {
		err := t.scan(func(vals []types.Value) error {
			if at >= len(vals) || !vals[at].Valid {
				e := types.Errorf("23502", "column %q of relation %q contains null values", cmd.Name, t.r.Name)
				e.Schema, e.Table, e.Column = t.r.Schema, t.r.Name, cmd.Name
				return e
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.r.Columns[at].NotNull = true
	if err := t.rn.replace(t.r); err != nil {
		return err
	}
	return t.eachPart(func(p *alter) error { return p.setNotNull(cmd) })
}

func (t *alter) dropNotNull(cmd *pg.AlterTableCmd) error {
	at, err := t.col(cmd.Name)
	if err != nil {
		return err
	}
	for i := range t.r.Indexes {
		if t.r.Indexes[i].Primary {
			for _, c := range t.r.Indexes[i].Cols {
				if c == at {
					return types.Errorf("42P16", "column %q is in a primary key", cmd.Name)
				}
			}
		}
	}
	if t.r.Columns[at].Identity != 0 {
		return types.Errorf("42601", "column %q of relation %q is an identity column", cmd.Name, t.r.Name)
	}
	t.r.Columns[at].NotNull = false
	if err := t.rn.replace(t.r); err != nil {
		return err
	}
	return t.eachPart(func(p *alter) error { return p.dropNotNull(cmd) })
}

// columnType is ALTER COLUMN .. TYPE, with or without USING.
func (t *alter) columnType(cmd *pg.AlterTableCmd) error {
	at, err := t.col(cmd.Name)
	if err != nil {
		return err
	}
	if len(t.r.Parts) > 0 || t.r.Parent != "" {
		return t.a.unsupported(-1, "ALTER COLUMN TYPE of a partitioned table")
	}
	d := cmd.Def.GetColumnDef()
	typ, typmod, err := t.a.typeName(d.TypeName)
	if err != nil {
		return err
	}
	c := &t.r.Columns[at]
	a := &analyzer{cat: t.a.cat, sql: t.a.sql}
	rel := a.newRel()
	var e expr = &varExpr{at: -1, rel: rel, col: at, t: c.Type, typmod: c.Typmod, name: c.Name}
	ctx := types.Assignment
	if d.RawDefault != nil {
		if e, err = a.tableExpr(t.r, rel, d.RawDefault, t.a.sql); err != nil {
			return err
		}
	}
	if e, err = a.coerce(e, typ, typmod, ctx); err != nil {
		if err == error(errNoCast) {
			return types.Errorf("42804", "column %q cannot be cast automatically to type %s", c.Name, typ).
				WithHint("You might need to specify \"USING %s::%s\".", quoteIdent(c.Name), types.FormatType(typ, types.Mod(typmod)))
		}
		return err
	}
	fn := e.compile(&a.shape)
	if c.Default != nil {
		saved := *c
		saved.Type, saved.Typmod = typ, typmod
		b := &analyzer{cat: t.a.cat, sql: c.DefaultQ}
		if err := b.setDefault(&saved, c.Default); err != nil {
			return types.Errorf("42804", "default for column %q cannot be cast automatically to type %s", c.Name, typ)
		}
	}
	err = t.rewrite(func(f *frame, vals []types.Value) error {
		v, err := fn(f)
		vals[at] = v
		return err
	}, a)
	if err != nil {
		return err
	}
	c.Type, c.Typmod = typ, typmod
	return t.store()
}

func (t *alter) enableTrigger(name string, on bool) error {
	if !t.r.hasTrigger(name) {
		return types.Errorf("42704", "trigger %q for table %q does not exist", name, t.r.Name)
	}
	for i := range t.r.Triggers {
		if t.r.Triggers[i].Name == name {
			t.r.Triggers[i].Disabled = !on
		}
	}
	if err := t.rn.replace(t.r); err != nil {
		return err
	}
	return t.eachPart(func(p *alter) error { return p.enableTrigger(name, on) })
}

func (t *alter) changeOwner(cmd *pg.AlterTableCmd) error {
	owner, err := t.rn.roleName(t.a, cmd.Newowner)
	if err != nil {
		return err
	}
	t.r.Owner = owner
	return t.rn.replace(t.r)
}
