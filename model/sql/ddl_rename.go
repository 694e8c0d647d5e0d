package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_RenameStmt) (*Compiled, error) {
		s := n.RenameStmt
		kind := s.RenameType
		if kind == pg.ObjectType_OBJECT_COLUMN || kind == pg.ObjectType_OBJECT_TABCONSTRAINT {
			kind = s.RelationType
		}
		if kind == pg.ObjectType_OBJECT_TABCONSTRAINT {
			kind = pg.ObjectType_OBJECT_TABLE
		}
		do, ok := renames[s.RenameType]
		if !ok {
			return nil, a.unsupported(-1, "ALTER "+strings.TrimPrefix(s.RenameType.String(), "OBJECT_")+" RENAME")
		}
		return a.utility("ALTER "+strings.TrimPrefix(kind.String(), "OBJECT_"), func(rn *run, a *analyzer) error { return do(rn, a, s) }), nil
	})
}

var renames = map[pg.ObjectType]func(rn *run, a *analyzer, s *pg.RenameStmt) error{
	pg.ObjectType_OBJECT_TABLE:         (*run).renameRelation,
	pg.ObjectType_OBJECT_VIEW:          (*run).renameRelation,
	pg.ObjectType_OBJECT_SEQUENCE:      (*run).renameRelation,
	pg.ObjectType_OBJECT_INDEX:         (*run).renameRelation,
	pg.ObjectType_OBJECT_COLUMN:        (*run).renameColumn,
	pg.ObjectType_OBJECT_TABCONSTRAINT: (*run).renameConstraint,
}

func (rn *run) renameMissing(a *analyzer, s *pg.RenameStmt) bool {
	return s.MissingOk && a.cat.lookup(s.Relation.Schemaname, s.Relation.Relname) == nil
}

// renameRelation renames a table, view, sequence or index. What refers to it by name in the catalog follows.
func (rn *run) renameRelation(a *analyzer, s *pg.RenameStmt) error {
	if rn.renameMissing(a, s) {
		return rn.skip(types.Errorf("42P01", "relation %q does not exist", s.Relation.Relname))
	}
	r, err := rn.open(a, s.Relation, storage.AccessExclusive, "rpvSi")
	if err != nil {
		return err
	}
	if a.cat.lookup(r.Schema, s.Newname) != nil {
		return duplicate("relation", s.Newname)
	}
	old, now := r.QName(), r.Schema+"."+s.Newname
	if r.Kind == KindIndex {
		t, err := rn.change(a, r.IndexOf)
		if err != nil {
			return err
		}
		for i := range t.Indexes {
			if t.Indexes[i].Name == r.Name {
				if err := rn.renameIndex(t, &t.Indexes[i], s.Newname); err != nil {
					return err
				}
			}
		}
		return rn.reindex(a, t)
	}
	var users []*Relation
	rn.d.st.List(rn.s.id, classRelation, func(_ string, p any) bool {
		if u := p.(*Relation); u.QName() != old && u.refersTo(old) {
			users = append(users, u)
		}
		return true
	})
	for _, v := range (&dropper{rn: rn, a: a}).viewsOn(r) {
		return a.unsupported(-1, "renaming a relation that view "+v.Name+" reads")
	}
	for _, u := range users {
		c, err := rn.change(a, u.QName())
		if err != nil {
			return err
		}
		c.renamed(old, now)
		if err := rn.replace(c); err != nil {
			return err
		}
	}
	if err := rn.x.Drop(classRelation, old); err != nil {
		return err
	}
	r.Name = s.Newname
	r.renamed(old, now)
	if err := rn.x.Define(classRelation, now, r); err != nil {
		return err
	}
	if r.Kind == KindTable || r.Kind == KindPartitioned {
		return rn.reindex(a, r)
	}
	return nil
}

// refersTo says whether a catalog entry names another relation.
func (r *Relation) refersTo(q string) bool {
	c := *r
	c.Columns = append([]Column(nil), r.Columns...)
	c.FKs = append([]ForeignKey(nil), r.FKs...)
	c.RefFKs = append([]ForeignKey(nil), r.RefFKs...)
	c.Parts = append([]Partition(nil), r.Parts...)
	return c.renamed(q, q+"?")
}

// renamed puts a new name for an old one wherever the entry refers to it.
func (r *Relation) renamed(old, now string) (found bool) {
	set := func(p *string) {
		if *p == old {
			*p, found = now, true
		}
	}
	for i := range r.Columns {
		set(&r.Columns[i].Sequence)
	}
	for i := range r.FKs {
		set(&r.FKs[i].Table)
		set(&r.FKs[i].Ref)
	}
	for i := range r.RefFKs {
		set(&r.RefFKs[i].Table)
		set(&r.RefFKs[i].Ref)
	}
	for i := range r.Parts {
		set(&r.Parts[i].Table)
	}
	set(&r.Parent)
	set(&r.IndexOf)
	set(&r.OwnedBy)
	return found
}

// renameIndex renames an index in the catalog; the caller stores the table.
func (rn *run) renameIndex(t *Relation, ix *Index, name string) error {
	if err := rn.x.Drop(classRelation, t.Schema+"."+ix.Name); err != nil {
		return err
	}
	ix.Name = name
	return rn.x.Define(classRelation, t.Schema+"."+name,
		&Relation{Schema: t.Schema, Name: name, Kind: KindIndex, ID: ix.ID, OID: ix.OID, Owner: t.Owner, IndexOf: t.QName()})
}

func (rn *run) renameConstraint(a *analyzer, s *pg.RenameStmt) error {
	r, err := rn.open(a, s.Relation, storage.AccessExclusive, "rp")
	if err != nil {
		return err
	}
	if r.hasConstraint(s.Newname) {
		return types.Errorf("42710", "constraint %q for relation %q already exists", s.Newname, r.Name)
	}
	for i := range r.Checks {
		if r.Checks[i].Name == s.Subname {
			r.Checks[i].Name = s.Newname
			return rn.replace(r)
		}
	}
	for i := range r.Indexes {
		if r.Indexes[i].Constraint && r.Indexes[i].Name == s.Subname {
			if err := rn.renameIndex(r, &r.Indexes[i], s.Newname); err != nil {
				return err
			}
			return rn.reindex(a, r)
		}
	}
	for i := range r.FKs {
		if r.FKs[i].Name != s.Subname {
			continue
		}
		r.FKs[i].Name = s.Newname
		if err := rn.replace(r); err != nil {
			return err
		}
		ref, err := rn.change(a, r.FKs[i].Ref)
		if err != nil {
			return err
		}
		for j := range ref.RefFKs {
			if ref.RefFKs[j].Name == s.Subname && ref.RefFKs[j].Table == r.QName() {
				ref.RefFKs[j].Name = s.Newname
			}
		}
		return rn.replace(ref)
	}
	return types.Errorf("42704", "constraint %q for table %q does not exist", s.Subname, r.Name)
}

// renameColumn renames a column; the expressions that are kept as trees follow.
func (rn *run) renameColumn(a *analyzer, s *pg.RenameStmt) error {
	if rn.renameMissing(a, s) {
		return rn.skip(types.Errorf("42P01", "relation %q does not exist", s.Relation.Relname))
	}
	r, err := rn.open(a, s.Relation, storage.AccessExclusive, "rpv")
	if err != nil {
		return err
	}
	if r.Parent != "" {
		return types.Errorf("42P16", "cannot rename inherited column %q", s.Subname)
	}
	for _, v := range (&dropper{rn: rn, a: a}).viewsOn(r) {
		if mentionsColumn(v.View.Query, s.Subname) {
			return a.unsupported(-1, "renaming a column that view "+v.Name+" reads")
		}
	}
	tables := []string{r.QName()}
	for _, p := range r.Parts {
		tables = append(tables, p.Table)
	}
	for _, q := range tables {
		c, err := rn.change(a, q)
		if err != nil {
			return err
		}
		at := c.Col(s.Subname)
		if at < 0 {
			return types.Errorf("42703", "column %q does not exist", s.Subname)
		}
		if c.Col(s.Newname) >= 0 {
			return types.Errorf("42701", "column %q of relation %q already exists", s.Newname, c.Name)
		}
		c.Columns[at].Name = s.Newname
		follow := func(n *pg.Node) *pg.Node { return renamedColumn(n, s.Subname, s.Newname) }
		for i := range c.Columns {
			if c.Columns[i].Generated {
				c.Columns[i].Default = follow(c.Columns[i].Default)
			}
		}
		for i := range c.Checks {
			c.Checks[i].Expr = follow(c.Checks[i].Expr)
		}
		for i := range c.Indexes {
			ix := &c.Indexes[i]
			ix.Pred = follow(ix.Pred)
			ix.Exprs = append([]*pg.Node(nil), ix.Exprs...)
			for j := range ix.Exprs {
				ix.Exprs[j] = follow(ix.Exprs[j])
			}
			if len(ix.Exprs) == 0 {
				ix.Exprs = nil
			}
		}
		for i := range c.Triggers {
			c.Triggers[i].When = follow(c.Triggers[i].When)
		}
		if c.Kind == KindView {
			return rn.replace(c)
		}
		if err := rn.reindex(a, c); err != nil {
			return err
		}
	}
	return nil
}

// renamedColumn is a copy of an expression with another name for a column.
func renamedColumn(n *pg.Node, old, now string) *pg.Node {
	if n == nil || !mentionsColumn(n, old) {
		return n
	}
	c := proto.Clone(n).(*pg.Node)
	visitMessages(c.ProtoReflect(), func(m protoreflect.Message) {
		if ref, ok := m.Interface().(*pg.ColumnRef); ok && len(ref.Fields) > 0 {
			if s := ref.Fields[len(ref.Fields)-1].GetString_(); s != nil && s.Sval == old {
				s.Sval = now
			}
		}
	})
	return c
}
