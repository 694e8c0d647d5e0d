package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"simrun/model/storage"
	"simrun/model/types"
)

// mentionsColumn says whether an expression or query names a column of that name.
func mentionsColumn(n *pg.Node, name string) bool {
	found := false
	visitMessages(n.ProtoReflect(), func(m protoreflect.Message) {
		if c, ok := m.Interface().(*pg.ColumnRef); ok {
			names := strs(c.Fields)
			found = found || len(names) > 0 && names[len(names)-1] == name
		}
	})
	return found
}

func (t *alter) addConstraint(cmd *pg.AlterTableCmd) error {
	c := cmd.Def.GetConstraint()
	b := &tableBuilder{rn: t.rn, a: t.a, r: t.r, later: []pendingConstraint{{c, -1}}}
	switch c.Contype {
	case pg.ConstrType_CONSTR_CHECK:
		return t.addCheck(b, c)
	case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
		if c.Indexname != "" {
			return t.constraintOf(c)
		}
		if err := b.keys(); err != nil {
			return err
		}
		for _, ix := range t.r.Indexes {
			if ix.ID == 0 && ix.Primary {
				for _, col := range ix.Cols {
					if err := t.notNullFor(col); err != nil {
						return err
					}
				}
			}
		}
		if err := t.storeNewIndexes(); err != nil {
			return err
		}
		return t.eachPart(func(p *alter) error {
			added := t.r.Indexes[0]
			for _, ix := range t.r.Indexes {
				if c.Conname == ix.Name || c.Conname == "" && ix.ID > added.ID {
					added = ix
				}
			}
			pb := &tableBuilder{rn: t.rn, a: t.a, r: p.r}
			pb.copyIndexes(&Relation{Indexes: []Index{added}}, layoutPlaces(t.r, p.r))
			p.r.Indexes[len(p.r.Indexes)-1].ID = 0
			return p.storeNewIndexes()
		})
	case pg.ConstrType_CONSTR_FOREIGN:
		return b.foreignKeys(func(fk *ForeignKey) error { return t.validateForeignKey(fk) })
	}
	return t.a.unsupported(c.Location, c.Contype.String())
}

// notNullFor sets NOT NULL on a column that becomes part of a primary key.
func (t *alter) notNullFor(col int) error {
	return t.scan(func(vals []types.Value) error {
		if col >= len(vals) || !vals[col].Valid {
			e := types.Errorf("23502", "column %q of relation %q contains null values", t.r.Columns[col].Name, t.r.Name)
			e.Schema, e.Table, e.Column = t.r.Schema, t.r.Name, t.r.Columns[col].Name
			return e
		}
		return nil
	})
}

// constraintOf makes a constraint of an index that is there (ADD .. USING INDEX).
func (t *alter) constraintOf(c *pg.Constraint) error {
	for i := range t.r.Indexes {
		ix := &t.r.Indexes[i]
		if ix.Name != c.Indexname {
			continue
		}
		if !ix.Unique || ix.Pred != nil || ix.Exprs != nil {
			return types.Errorf("42809", "%q is not a unique index", c.Indexname)
		}
		if c.Conname != "" && c.Conname != ix.Name {
			t.rn.notice("00000", "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \""+ix.Name+"\" to \""+c.Conname+"\"")
			if err := t.rn.renameIndex(t.r, ix, c.Conname); err != nil {
				return err
			}
		}
		ix.Constraint, ix.Primary = true, c.Contype == pg.ConstrType_CONSTR_PRIMARY
		if ix.Primary {
			for _, col := range ix.Cols {
				if err := t.notNullFor(col); err != nil {
					return err
				}
				t.r.Columns[col].NotNull = true
			}
		}
		return t.store()
	}
	return types.Errorf("42704", "index %q does not exist", c.Indexname)
}

func (t *alter) addCheck(b *tableBuilder, c *pg.Constraint) error {
	had := map[string]bool{}
	for _, x := range t.r.Checks {
		had[x.Name] = true
	}
	if err := b.keys(); err != nil {
		return err
	}
	var added Check
	for _, x := range t.r.Checks {
		if !had[x.Name] {
			added = x
		}
	}
	if !c.SkipValidation {
		if err := t.validateCheck(added); err != nil {
			return err
		}
	}
	if err := t.rn.replace(t.r); err != nil {
		return err
	}
	return t.eachPart(func(p *alter) error {
		if !c.SkipValidation {
			if err := p.validateCheck(added); err != nil {
				return err
			}
		}
		p.r.Checks = append(p.r.Checks, added)
		return p.rn.replace(p.r)
	})
}

// validateCheck tests a new check on the rows that are there.
func (t *alter) validateCheck(c Check) error {
	if t.r.Kind != KindTable {
		return nil
	}
	a := &analyzer{cat: t.a.cat, sql: c.Text}
	e, err := a.tableExpr(t.r, a.newRel(), c.Expr, c.Text)
	if err == nil {
		e, err = a.boolean(e, "CHECK")
	}
	if err != nil {
		return err
	}
	ok := e.compile(&a.shape)
	f := a.newFrame()
	f.run = t.rn
	return t.scan(func(vals []types.Value) error {
		f.rows[0] = vals
		v, err := ok(f)
		if err != nil {
			return err
		}
		if v.Valid && !v.True() {
			e := types.Errorf("23514", "check constraint %q of relation %q is violated by some row", c.Name, t.r.Name)
			e.Schema, e.Table, e.Constraint = t.r.Schema, t.r.Name, c.Name
			return e
		}
		return nil
	})
}

// validateForeignKey looks up the key of every row that is there.
func (t *alter) validateForeignKey(fk *ForeignKey) error {
	tables := []string{fk.Table}
	if r, ok := t.a.cat.byQName(fk.Table); ok {
		for _, p := range r.Parts {
			tables = append(tables, p.Table)
		}
	}
	for _, q := range tables {
		r, err := t.rn.change(t.a, q)
		if err != nil {
			return err
		}
		if r.Kind != KindTable {
			continue
		}
		for i := range r.FKs {
			if r.FKs[i].Name != fk.Name {
				continue
			}
			check := newFKCheck(r, &r.FKs[i])
			u := &alter{rn: t.rn, a: t.a, r: r}
			var keys [][]types.Value
			err := u.scan(func(vals []types.Value) error {
				if key := pick(vals, r.FKs[i].Cols); allValid(key) {
					keys = append(keys, key)
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, key := range keys {
				if err := check.check(t.rn, key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t *alter) removeForeignKey(fk ForeignKey) error {
	kept := t.r.FKs[:0]
	for _, x := range t.r.FKs {
		if x.Name != fk.Name {
			kept = append(kept, x)
		}
	}
	t.r.FKs = kept
	if err := t.rn.replace(t.r); err != nil {
		return err
	}
	if ref, ok := t.a.cat.byQName(fk.Ref); ok && fk.Ref != t.r.QName() {
		if err := t.rn.lock(ref, storage.AccessExclusive); err != nil {
			return err
		}
	}
	if err := t.rn.forgetReference(t.a, fk); err != nil {
		return err
	}
	r, err := t.rn.change(t.a, t.r.QName())
	t.r = r
	return err
}

func (t *alter) dropConstraint(cmd *pg.AlterTableCmd) error {
	name := cmd.Name
	for _, fk := range t.r.FKs {
		if fk.Name == name {
			return t.removeForeignKey(fk)
		}
	}
	for i, c := range t.r.Checks {
		if c.Name == name {
			t.r.Checks = append(t.r.Checks[:i], t.r.Checks[i+1:]...)
			if err := t.rn.replace(t.r); err != nil {
				return err
			}
			return t.eachPart(func(p *alter) error { return p.dropConstraint(cmd) })
		}
	}
	for i := range t.r.Indexes {
		ix := t.r.Indexes[i]
		if ix.Name != name || !ix.Constraint {
			continue
		}
		var found []string
		for _, fk := range t.r.RefFKs {
			if sameCols(fk.RefCols, ix.Cols) {
				found = append(found, "constraint "+fk.Name+" on table "+baseName(fk.Table)+" depends on index "+ix.Name)
			}
		}
		if len(found) > 0 && cmd.Behavior != pg.DropBehavior_DROP_CASCADE {
			return types.Errorf("2BP01", "cannot drop constraint %s on table %s because other objects depend on it", name, t.r.Name).
				WithDetail("%s", strings.Join(found, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		for _, fk := range append([]ForeignKey(nil), t.r.RefFKs...) {
			if sameCols(fk.RefCols, ix.Cols) {
				if err := t.rn.dropForeignKey(t.a, fk); err != nil {
					return err
				}
			}
		}
		r, err := t.rn.change(t.a, t.r.QName())
		if err != nil {
			return err
		}
		t.r = r
		t.r.Indexes = append(t.r.Indexes[:i], t.r.Indexes[i+1:]...)
		if err := t.rn.x.Drop(classRelation, t.r.Schema+"."+ix.Name); err != nil {
			return err
		}
		if err := t.rn.x.DropHeap(ix.ID); err != nil {
			return err
		}
		return t.store()
	}
	e := types.Errorf("42704", "constraint %q of relation %q does not exist", name, t.r.Name)
	if cmd.MissingOk {
		return t.rn.skip(e)
	}
	return e
}

// sameCols compares two keys as sets.
func sameCols(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		found := false
		for _, y := range b {
			found = found || x == y
		}
		if !found {
			return false
		}
	}
	return true
}
