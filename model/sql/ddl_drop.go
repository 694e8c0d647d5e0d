package sql

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_DropStmt) (*Compiled, error) {
		s := n.DropStmt
		drop, ok := drops[s.RemoveType]
		if !ok || s.Concurrent {
			return nil, a.unsupported(-1, "DROP "+strings.TrimPrefix(s.RemoveType.String(), "OBJECT_"))
		}
		return a.utility("DROP "+drop.word, func(rn *run, a *analyzer) error {
			d := &dropper{rn: rn, a: a, cascade: s.Behavior == pg.DropBehavior_DROP_CASCADE, dropping: map[string]bool{}, missingOK: s.MissingOk}
			return drop.do(d, s.Objects)
		}), nil
	})
}

// drops says how each kind of object is dropped.
var drops = map[pg.ObjectType]struct {
	word string
	do   func(d *dropper, objects []*pg.Node) error
}{
	pg.ObjectType_OBJECT_TABLE:     {"TABLE", func(d *dropper, o []*pg.Node) error { return d.relations(o, "rp") }},
	pg.ObjectType_OBJECT_VIEW:      {"VIEW", func(d *dropper, o []*pg.Node) error { return d.relations(o, "v") }},
	pg.ObjectType_OBJECT_INDEX:     {"INDEX", func(d *dropper, o []*pg.Node) error { return d.relations(o, "i") }},
	pg.ObjectType_OBJECT_SEQUENCE:  {"SEQUENCE", func(d *dropper, o []*pg.Node) error { return d.relations(o, "S") }},
	pg.ObjectType_OBJECT_SCHEMA:    {"SCHEMA", (*dropper).schemas},
	pg.ObjectType_OBJECT_FUNCTION:  {"FUNCTION", (*dropper).functions},
	pg.ObjectType_OBJECT_PROCEDURE: {"PROCEDURE", (*dropper).functions},
	pg.ObjectType_OBJECT_ROUTINE:   {"ROUTINE", (*dropper).functions},
	pg.ObjectType_OBJECT_TRIGGER:   {"TRIGGER", (*dropper).triggers},
}

// dropper drops objects and, with CASCADE, what depends on them.
type dropper struct {
	rn        *run
	a         *analyzer
	cascade   bool
	missingOK bool
	dropping  map[string]bool // qualified names of relations that go in this statement
	reports   []string        // dependent objects that CASCADE takes along
}

// relations drops tables, views, indexes or sequences.
func (d *dropper) relations(objects []*pg.Node, kinds string) error {
	var rels []*Relation
	for _, on := range objects {
		names := strs(on.GetList().Items)
		name, schema := names[len(names)-1], ""
		if len(names) > 1 {
			schema = names[len(names)-2]
		}
		r := d.a.cat.lookup(schema, name)
		if r == nil {
			if schema != "" && !d.a.cat.schemaExists(schema) && !d.missingOK {
				return types.Errorf("3F000", "schema %q does not exist", schema)
			}
			full := strings.Join(names, ".")
			e := types.Errorf("42P01", "%s %q does not exist", objectWord(RelKind(kinds[0])), full)
			if kinds == "i" {
				e.Code = "42704"
			}
			if !d.missingOK {
				return e
			}
			if err := d.rn.skip(e); err != nil {
				return err
			}
			continue
		}
		if !strings.ContainsRune(kinds, rune(r.Kind)) {
			word := objectWord(RelKind(kinds[0]))
			article := "a"
			if word == "index" {
				article = "an"
			}
			return types.Errorf("42809", "%q is not %s %s", r.Name, article, word).
				WithHint("Use DROP %s to remove %s.", strings.ToUpper(objectWord(r.Kind)), articled(objectWord(r.Kind)))
		}
		if err := d.rn.owns(r.Owner, objectWord(r.Kind), r.Name); err != nil {
			return err
		}
		if kinds == "i" { // the table is locked before its index
			if t, ok := d.a.cat.byQName(r.IndexOf); ok {
				if err := d.rn.lock(t, storage.AccessExclusive); err != nil {
					return err
				}
			}
		}
		if err := d.rn.lock(r, storage.AccessExclusive); err != nil {
			return err
		}
		rels = append(rels, r)
		d.dropping[r.QName()] = true
	}
	return d.all(rels)
}

func articled(word string) string {
	if word == "index" {
		return "an index"
	}
	return "a " + word
}

// all drops relations that are locked, with their partitions.
func (d *dropper) all(rels []*Relation) error {
	for i := 0; i < len(rels); i++ {
		for _, p := range rels[i].Parts {
			if leaf, ok := d.a.cat.byQName(p.Table); ok && !d.dropping[p.Table] {
				if err := d.rn.lock(leaf, storage.AccessExclusive); err != nil {
					return err
				}
				d.dropping[p.Table] = true
				rels = append(rels, leaf)
			}
		}
	}
	for _, r := range rels {
		if err := d.dependents(r); err != nil {
			return err
		}
	}
	if err := d.tellCascade(); err != nil {
		return err
	}
	for _, r := range rels {
		if err := d.relation(r); err != nil {
			return err
		}
	}
	return nil
}

// dependents deals with what depends on a relation: views, foreign keys, defaults that use a sequence.
func (d *dropper) dependents(r *Relation) error {
	kind := objectWord(r.Kind)
	var found []string
	var undo []func() error
	if r.Kind == KindTable || r.Kind == KindPartitioned || r.Kind == KindView {
		for _, v := range d.viewsOn(r) {
			if d.dropping[v.QName()] {
				continue
			}
			found = append(found, "view "+v.Name+" depends on "+kind+" "+r.Name)
			undo = append(undo, func() error {
				d.dropping[v.QName()] = true
				if err := d.rn.lock(v, storage.AccessExclusive); err != nil {
					return err
				}
				d.reports = append(d.reports, "view "+v.Name)
				if err := d.dependents(v); err != nil {
					return err
				}
				return d.relation(v)
			})
		}
	}
	for _, fk := range r.RefFKs {
		if d.dropping[fk.Table] {
			continue
		}
		found = append(found, "constraint "+fk.Name+" on table "+baseName(fk.Table)+" depends on "+kind+" "+r.Name)
		undo = append(undo, func() error {
			d.reports = append(d.reports, "constraint "+fk.Name+" on table "+baseName(fk.Table))
			return d.rn.dropForeignKey(d.a, fk)
		})
	}
	if r.Kind == KindSequence {
		d.a.cat.d.st.List(d.a.cat.id, classRelation, func(_ string, p any) bool {
			t := p.(*Relation)
			if d.dropping[t.QName()] {
				return true
			}
			for i := range t.Columns {
				if c := &t.Columns[i]; c.Sequence == r.QName() && !c.Dropped {
					found = append(found, "default value for column "+c.Name+" of table "+t.Name+" depends on sequence "+r.Name)
					undo = append(undo, func() error {
						d.reports = append(d.reports, "default value for column "+c.Name+" of table "+t.Name)
						changed, err := d.rn.change(d.a, t.QName())
						if err != nil {
							return err
						}
						changed.Columns[i].Sequence, changed.Columns[i].Default = "", nil
						return d.rn.replace(changed)
					})
				}
			}
			return true
		})
	}
	if r.Kind == KindIndex {
		if t, ok := d.a.cat.byQName(r.IndexOf); ok {
			for i := range t.Indexes {
				if t.Indexes[i].Name == r.Name && t.Indexes[i].Constraint {
					return types.Errorf("2BP01", "cannot drop index %s because constraint %s on table %s requires it", r.Name, r.Name, t.Name).
						WithHint("You can drop constraint %s on table %s instead.", r.Name, t.Name)
				}
			}
		}
	}
	if len(found) > 0 && !d.cascade {
		return types.Errorf("2BP01", "cannot drop %s %s because other objects depend on it", kind, r.Name).
			WithDetail("%s", strings.Join(found, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	for _, f := range undo {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// tellCascade is the notice about what CASCADE takes along.
func (d *dropper) tellCascade() error {
	switch len(d.reports) {
	case 0:
	case 1:
		d.rn.notice("00000", "drop cascades to "+d.reports[0])
	default:
		d.rn.notice("00000", fmt.Sprintf("drop cascades to %d other objects", len(d.reports)))
		d.rn.notices[len(d.rn.notices)-1].Detail = "drop cascades to " + strings.Join(d.reports, "\ndrop cascades to ")
	}
	d.reports = nil
	return nil
}

// viewsOn are the views that read a relation.
func (d *dropper) viewsOn(r *Relation) []*Relation {
	var views []*Relation
	d.a.cat.d.st.List(d.a.cat.id, classRelation, func(_ string, p any) bool {
		if v := p.(*Relation); v.Kind == KindView && d.a.relationsIn(v.View.Query)[r.QName()] {
			views = append(views, v)
		}
		return true
	})
	return views
}

// relation takes one relation out of the catalog, with its indexes, its sequences, and the foreign keys that it has.
func (d *dropper) relation(r *Relation) error {
	rn := d.rn
	if r.Kind == KindIndex {
		return rn.dropIndex(d.a, r)
	}
	r, err := rn.change(d.a, r.QName())
	if err != nil {
		return err
	}
	for _, fk := range r.FKs {
		if fk.Ref == r.QName() || d.dropping[fk.Ref] {
			continue
		}
		if err := rn.forgetReference(d.a, fk); err != nil {
			return err
		}
	}
	for i := range r.Indexes {
		if err := rn.x.Drop(classRelation, r.Schema+"."+r.Indexes[i].Name); err != nil {
			return err
		}
		if err := rn.x.DropHeap(r.Indexes[i].ID); err != nil {
			return err
		}
	}
	for i := range r.Columns {
		if seq, ok := d.a.cat.byQName(r.Columns[i].Sequence); ok && seq.OwnedBy == r.QName() && !d.dropping[seq.QName()] {
			if err := rn.x.Drop(classRelation, seq.QName()); err != nil {
				return err
			}
			if err := rn.x.DropHeap(seq.ID); err != nil {
				return err
			}
		}
	}
	if r.Parent != "" && !d.dropping[r.Parent] {
		parent, err := rn.change(d.a, r.Parent)
		if err != nil {
			return err
		}
		if err := rn.lock(parent, storage.AccessExclusive); err != nil {
			return err
		}
		kept := parent.Parts[:0]
		for _, p := range parent.Parts {
			if p.Table != r.QName() {
				kept = append(kept, p)
			}
		}
		parent.Parts = kept
		if err := rn.replace(parent); err != nil {
			return err
		}
	}
	if err := rn.x.Drop(classRelation, r.QName()); err != nil {
		return err
	}
	return rn.x.DropHeap(r.ID)
}

// dropIndex takes an index from its table.
func (rn *run) dropIndex(a *analyzer, ix *Relation) error {
	t, err := rn.change(a, ix.IndexOf)
	if err != nil {
		return err
	}
	kept := t.Indexes[:0]
	for _, x := range t.Indexes {
		if x.Name != ix.Name {
			kept = append(kept, x)
		}
	}
	t.Indexes = kept
	if err := rn.x.Drop(classRelation, ix.QName()); err != nil {
		return err
	}
	if err := rn.x.DropHeap(ix.ID); err != nil {
		return err
	}
	return rn.reindex(a, t)
}

func (d *dropper) triggers(objects []*pg.Node) error {
	for _, on := range objects {
		names := strs(on.GetList().Items)
		trigger, table, schema := names[len(names)-1], names[len(names)-2], ""
		if len(names) > 2 {
			schema = names[len(names)-3]
		}
		r := d.a.cat.lookup(schema, table)
		if r == nil {
			e := types.Errorf("42P01", "relation %q does not exist", table)
			if !d.missingOK {
				return e
			}
			if err := d.rn.skip(e); err != nil {
				return err
			}
			continue
		}
		if err := d.rn.owns(r.Owner, "relation", r.Name); err != nil {
			return err
		}
		if err := d.rn.lock(r, storage.AccessExclusive); err != nil {
			return err
		}
		if !r.hasTrigger(trigger) {
			e := types.Errorf("42704", "trigger %q for table %q does not exist", trigger, r.Name)
			if !d.missingOK {
				return e
			}
			e.Message = fmt.Sprintf("trigger %q for relation %q does not exist", trigger, r.Name)
			if err := d.rn.skip(e); err != nil {
				return err
			}
			continue
		}
		if err := d.rn.removeTrigger(d.a, r.QName(), trigger); err != nil {
			return err
		}
		for _, p := range r.Parts {
			if err := d.rn.removeTrigger(d.a, p.Table, trigger); err != nil {
				return err
			}
		}
	}
	return nil
}

func (rn *run) removeTrigger(a *analyzer, qname, trigger string) error {
	r, err := rn.change(a, qname)
	if err != nil {
		return err
	}
	kept := r.Triggers[:0]
	for _, t := range r.Triggers {
		if t.Name != trigger {
			kept = append(kept, t)
		}
	}
	r.Triggers = kept
	return rn.replace(r)
}

func (d *dropper) schemas(objects []*pg.Node) error {
	for _, on := range objects {
		name := on.GetString_().GetSval()
		p, ok := d.a.cat.find(classSchema, name)
		if !ok {
			e := types.Errorf("3F000", "schema %q does not exist", name)
			if !d.missingOK {
				return e
			}
			if err := d.rn.skip(e); err != nil {
				return err
			}
			continue
		}
		if err := d.rn.owns(p.(*Schema).Owner, "schema", name); err != nil {
			return err
		}
		var rels []*Relation
		var inside []string
		d.a.cat.d.st.List(d.a.cat.id, classRelation, func(_ string, p any) bool {
			if r := p.(*Relation); r.Schema == name && r.Kind != KindIndex && r.OwnedBy == "" {
				rels = append(rels, r)
				if r.Parent == "" {
					inside = append(inside, objectWord(r.Kind)+" "+r.QName())
				}
			}
			return true
		})
		var fns []*Function
		d.a.cat.d.st.List(d.a.cat.id, classFunction, func(_ string, p any) bool {
			if f := p.(*Function); f.Schema == name {
				fns = append(fns, f)
				inside = append(inside, "function "+f.signature())
			}
			return true
		})
		if len(inside) > 0 && !d.cascade {
			return types.Errorf("2BP01", "cannot drop schema %s because other objects depend on it", name).
				WithDetail("%s", strings.Join(inside, " depends on schema "+name+"\n")+" depends on schema "+name).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		d.reports = append(d.reports, inside...)
		for _, r := range rels {
			if err := d.rn.lock(r, storage.AccessExclusive); err != nil {
				return err
			}
			d.dropping[r.QName()] = true
		}
		if err := d.all(rels); err != nil {
			return err
		}
		for _, f := range fns {
			if err := d.rn.x.Drop(classFunction, f.key()); err != nil {
				return err
			}
		}
		if err := d.rn.x.Drop(classSchema, name); err != nil {
			return err
		}
	}
	return nil
}

func (d *dropper) functions(objects []*pg.Node) error {
	for _, on := range objects {
		o := on.GetObjectWithArgs()
		f, err := d.a.functionOf(o)
		if err != nil {
			e, ok := err.(*types.Error)
			if !ok || !d.missingOK {
				return err
			}
			if !o.ArgsUnspecified { // the notice spells the types as the grammar does
				var names []string
				for _, an := range o.Objargs {
					names = append(names, strings.Join(strs(an.GetTypeName().GetNames()), "."))
				}
				e.Message = "function " + strings.Join(strs(o.Objname), ".") + "(" + strings.Join(names, ",") + ") does not exist"
			}
			if err := d.rn.skip(e); err != nil {
				return err
			}
			continue
		}
		if err := d.rn.owns(f.Owner, "function", f.Name); err != nil {
			return err
		}
		var found []string
		var tables []*Relation
		d.a.cat.d.st.List(d.a.cat.id, classRelation, func(_ string, p any) bool {
			r := p.(*Relation)
			for _, t := range r.Triggers {
				if t.Function == f.Schema+"."+f.Name {
					found = append(found, "trigger "+t.Name+" on table "+r.Name)
					tables = append(tables, r)
				}
			}
			return true
		})
		if len(found) > 0 {
			if !d.cascade {
				what := " depends on function " + f.signature()
				return types.Errorf("2BP01", "cannot drop function %s because other objects depend on it", f.signature()).
					WithDetail("%s", strings.Join(found, what+"\n")+what).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
			}
			d.reports = append(d.reports, found...)
			for _, r := range tables {
				for _, t := range r.Triggers {
					if t.Function == f.Schema+"."+f.Name {
						if err := d.rn.removeTrigger(d.a, r.QName(), t.Name); err != nil {
							return err
						}
					}
				}
			}
			if err := d.tellCascade(); err != nil {
				return err
			}
		}
		if err := d.rn.x.Drop(classFunction, f.key()); err != nil {
			return err
		}
	}
	return nil
}
