package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_IndexStmt) (*Compiled, error) {
		s := n.IndexStmt
		switch {
		case s.Concurrent:
			return nil, a.unsupported(s.Relation.Location, "CREATE INDEX CONCURRENTLY")
		case s.AccessMethod != "btree" && s.AccessMethod != "hash":
			return nil, a.unsupported(s.Relation.Location, "access method "+s.AccessMethod)
		}
		return a.utility("CREATE INDEX", func(rn *run, a *analyzer) error { return rn.createIndex(a, s) }), nil
	})
}

func (rn *run) createIndex(a *analyzer, s *pg.IndexStmt) error {
	r, err := rn.open(a, s.Relation, storage.ShareLock, "rp")
	if err != nil {
		return err
	}
	ix, err := a.indexOf(s, r)
	if err != nil {
		return err
	}
	if a.cat.lookup(r.Schema, ix.Name) != nil {
		if e := duplicate("relation", ix.Name); !s.IfNotExists {
			return e
		} else {
			return rn.skip(e)
		}
	}
	return rn.addIndex(a, r, ix)
}

// addIndex builds an index over the rows that are there; a partitioned table's also on its partitions.
func (rn *run) addIndex(a *analyzer, r *Relation, ix *Index) error {
	if err := partitionKeyCovered(r, ix); err != nil {
		return err
	}
	r.Indexes = append(r.Indexes, *ix)
	if err := rn.defineIndex(r, &r.Indexes[len(r.Indexes)-1]); err != nil {
		return err
	}
	if err := rn.reindex(a, r); err != nil {
		return err
	}
	for _, p := range r.Parts {
		leaf, err := rn.change(a, p.Table)
		if err != nil {
			return err
		}
		if err := rn.lock(leaf, storage.ShareLock); err != nil {
			return err
		}
		b := &tableBuilder{rn: rn, a: a, r: leaf}
		b.copyIndexes(&Relation{Indexes: []Index{*ix}}, layoutPlaces(r, leaf))
		added := leaf.Indexes[len(leaf.Indexes)-1]
		leaf.Indexes = leaf.Indexes[:len(leaf.Indexes)-1]
		if err := rn.addIndex(a, leaf, &added); err != nil {
			return err
		}
	}
	return nil
}

// reindex tells storage of a table's indexes after a change, and stores the table's new catalog entry.
func (rn *run) reindex(a *analyzer, r *Relation) error {
	specs, err := a.indexSpecs(r)
	if err != nil {
		return err
	}
	if err := rn.x.AlterHeap(r.ID, r.Name, specs); err != nil {
		if e, ok := err.(*types.Error); ok && e.Code == "23505" {
			c := *e
			c.Schema, c.Table, c.Detail = r.Schema, r.Name, rn.duplicateKey(r, specs, e.Constraint)
			return &c
		}
		return err
	}
	return rn.replace(r)
}

// duplicateKey words the DETAIL of a unique index that cannot be built: the first key that is there twice.
func (rn *run) duplicateKey(r *Relation, specs []storage.IndexSpec, name string) (detail string) {
	for i := range specs {
		spec := &specs[i]
		if spec.Name != name {
			continue
		}
		seen := map[string]bool{}
		rn.x.CommandCounterIncrement()
		_ = rn.x.Scan(rn.x.NewSnapshot(), r.ID, func(_ storage.TID, row *storage.Row) (bool, error) {
			key, in := pick(row.Vals, spec.Cols), true
			if spec.Key != nil {
				key, in = spec.Key(row)
			}
			if !in || !allValid(key) && !spec.NullsNotDistinct {
				return true, nil
			}
			text := spec.Detail(key)
			if seen[text] {
				detail = strings.Replace(text, "already exists.", "is duplicated.", 1)
			}
			seen[text] = true
			return detail == "", nil
		})
	}
	return detail
}

// layoutPlaces maps the columns of one table to those of the same names in another.
func layoutPlaces(from, to *Relation) map[int]int {
	m := map[int]int{}
	for i := range from.Columns {
		if !from.Columns[i].Dropped {
			m[i] = to.Col(from.Columns[i].Name)
		}
	}
	return m
}

// indexOf reads what CREATE INDEX says.
func (a *analyzer) indexOf(s *pg.IndexStmt, r *Relation) (*Index, error) {
	ix := &Index{Name: s.Idxname, Unique: s.Unique, Pred: s.WhereClause, Text: a.sql, NullsSame: s.NullsNotDistinct}
	var parts []string
	for i, pn := range s.IndexParams {
		e := pn.GetIndexElem()
		if e.Expr == nil {
			c := r.Col(e.Name)
			if c < 0 {
				return nil, types.Errorf("42703", "column %q does not exist", e.Name)
			}
			ix.Cols = append(ix.Cols, c)
			parts = append(parts, e.Name)
			continue
		}
		if ix.Exprs == nil {
			ix.Exprs = make([]*pg.Node, len(s.IndexParams))
		}
		ix.Exprs[i] = e.Expr
		ix.Cols = append(ix.Cols, -1)
		part := "expr"
		if fc := e.Expr.GetFuncCall(); fc != nil {
			names := strs(fc.Funcname)
			part = names[len(names)-1]
		}
		parts = append(parts, part)
	}
	if ix.Name == "" {
		ix.Name = a.freeName(r.Schema, objectName(r.Name, strings.Join(parts, "_"), "idx"), nil)
	}
	return ix, nil
}
