package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// Schema is the catalog's payload for a schema.
type Schema struct {
	Name  string
	Owner string
	ACL   []Grant
}

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_ViewStmt) (*Compiled, error) {
		s := n.ViewStmt
		if s.View.Relpersistence == "t" {
			return nil, a.unsupported(s.View.Location, "a temporary view")
		}
		return a.utility("CREATE VIEW", func(rn *run, a *analyzer) error { return rn.createView(a, s) }), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_CreateSchemaStmt) (*Compiled, error) {
		s := n.CreateSchemaStmt
		if len(s.SchemaElts) > 0 {
			return nil, a.unsupported(-1, "CREATE SCHEMA with elements")
		}
		return a.utility("CREATE SCHEMA", func(rn *run, a *analyzer) error {
			name, owner := s.Schemaname, rn.s.user()
			if s.Authrole != nil {
				var err error
				if owner, err = rn.roleName(a, s.Authrole); err != nil {
					return err
				}
				if name == "" {
					name = owner
				}
			}
			if a.cat.schemaExists(name) {
				if e := duplicate("schema", name); !s.IfNotExists {
					return e
				} else {
					return rn.skip(e)
				}
			}
			if role := rn.s.user(); !rn.d.isSuperuser(rn.s, role) {
				return types.NewError("42501", "permission denied for database "+rn.Database())
			}
			err := rn.x.Define(classSchema, name, &Schema{Name: name, Owner: owner})
			return takenMeanwhile(err, "Key (nspname)=("+name+") already exists.")
		}), nil
	})
}

func (rn *run) createView(a *analyzer, s *pg.ViewStmt) error {
	schema, err := a.cat.creationSchema(s.View.Schemaname)
	if err != nil {
		return a.at(err, s.View.Location)
	}
	if err := rn.mayCreateIn(schema); err != nil {
		return err
	}
	sub := &analyzer{cat: a.cat, sql: a.sql}
	q := sub.newQuery(nil)
	p, err := q.selectPlan(s.Query.GetSelectStmt())
	if err == nil {
		err = q.settlePlan(p)
	}
	if err != nil {
		return err
	}
	v := &Relation{Schema: schema, Name: s.View.Relname, Kind: KindView, Owner: rn.s.user(), View: &View{Query: s.Query, Text: a.sql}}
	names := strs(s.Aliases)
	seen := map[string]bool{}
	for i, c := range p.cols {
		name := c.name
		if i < len(names) {
			name = names[i]
		}
		if seen[name] {
			return types.Errorf("42701", "column %q specified more than once", name)
		}
		seen[name] = true
		v.Columns = append(v.Columns, Column{Name: name, Type: c.t, Typmod: -1})
	}
	if len(names) > len(p.cols) {
		return types.NewError("42601", "CREATE VIEW specifies more column names than columns")
	}
	for _, l := range sub.locks { // the query is analysed under the locks of a reader
		if err := rn.lock(l.rel, l.mode); err != nil {
			return err
		}
	}
	old := a.cat.lookup(schema, v.Name)
	if old == nil {
		v.ID = rn.x.NewRelation(v.QName())
		return rn.define(v)
	}
	if !s.Replace {
		return duplicate("relation", v.Name)
	}
	if old.Kind != KindView {
		return types.Errorf("42809", "%q is not a view", v.Name)
	}
	if err := rn.owns(old.Owner, "view", v.Name); err != nil {
		return err
	}
	if err := rn.lock(old, storage.AccessExclusive); err != nil {
		return err
	}
	if len(v.Columns) < len(old.Columns) {
		return types.NewError("42P16", "cannot drop columns from view")
	}
	for i := range old.Columns {
		switch o, n := &old.Columns[i], &v.Columns[i]; {
		case o.Name != n.Name:
			return types.Errorf("42P16", "cannot change name of view column %q to %q", o.Name, n.Name).
				WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
		case o.Type != n.Type:
			return types.Errorf("42P16", "cannot change data type of view column %q from %s to %s", o.Name, o.Type, n.Type)
		}
	}
	v.ID, v.OID, v.Owner, v.ACL = old.ID, old.OID, old.Owner, old.ACL
	return rn.replace(v)
}
