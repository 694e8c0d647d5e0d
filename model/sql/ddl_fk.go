package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/builtin"
	"simrun/model/storage"
	"simrun/model/types"
)

// foreignKeys makes the foreign keys that were waiting for the table. When validate is given the rows that are there are
// checked with it.
func (b *tableBuilder) foreignKeys(validate func(fk *ForeignKey) error) error {
	for _, p := range b.later {
		if p.c.Contype != pg.ConstrType_CONSTR_FOREIGN {
			continue
		}
		fk, err := b.foreignKey(p)
		if err != nil {
			return err
		}
		r, err := b.rn.change(b.a, b.r.QName())
		if err != nil {
			return err
		}
		r.FKs = append(r.FKs, *fk)
		if err := b.rn.replace(r); err != nil {
			return err
		}
		b.r = r
		if err := b.rn.referTo(b.a, r, *fk); err != nil {
			return err
		}
		for _, part := range r.Parts {
			leaf, err := b.rn.change(b.a, part.Table)
			if err != nil {
				return err
			}
			places := layoutPlaces(r, leaf)
			lfk := *fk
			lfk.Table, lfk.Cols = leaf.QName(), nil
			for _, c := range fk.Cols {
				lfk.Cols = append(lfk.Cols, places[c])
			}
			leaf.FKs = append(leaf.FKs, lfk)
			if err := b.rn.replace(leaf); err != nil {
				return err
			}
		}
		if validate != nil && !p.c.SkipValidation {
			if err := validate(fk); err != nil {
				return err
			}
		}
	}
	return nil
}

// referTo notes at the referenced table that child refers to it.
func (rn *run) referTo(a *analyzer, child *Relation, fk ForeignKey) error {
	ref, err := rn.change(a, fk.Ref)
	if err != nil {
		return err
	}
	ref.RefFKs = append(ref.RefFKs, fk)
	return rn.replace(ref)
}

// forgetReference undoes referTo.
func (rn *run) forgetReference(a *analyzer, fk ForeignKey) error {
	ref, err := rn.change(a, fk.Ref)
	if err != nil {
		return err
	}
	kept := ref.RefFKs[:0]
	for _, x := range ref.RefFKs {
		if x.Name != fk.Name || x.Table != fk.Table {
			kept = append(kept, x)
		}
	}
	ref.RefFKs = kept
	return rn.replace(ref)
}

// dropForeignKey drops a constraint from the referencing table and from the referenced one.
func (rn *run) dropForeignKey(a *analyzer, fk ForeignKey) error {
	child, err := rn.change(a, fk.Table)
	if err != nil {
		return err
	}
	if err := rn.lock(child, storage.AccessExclusive); err != nil {
		return err
	}
	kept := child.FKs[:0]
	for _, x := range child.FKs {
		if x.Name != fk.Name {
			kept = append(kept, x)
		}
	}
	child.FKs = kept
	if err := rn.replace(child); err != nil {
		return err
	}
	return rn.forgetReference(a, fk)
}

// foreignKey reads a FOREIGN KEY constraint and locks the referenced table.
func (b *tableBuilder) foreignKey(p pendingConstraint) (*ForeignKey, error) {
	a, r, c := b.a, b.r, p.c
	if c.Initdeferred {
		return nil, a.unsupported(c.Location, "INITIALLY DEFERRED")
	}
	if c.FkMatchtype == "f" {
		return nil, a.unsupported(c.Location, "MATCH FULL")
	}
	ref := r
	if c.Pktable.Relname != r.Name || c.Pktable.Schemaname != "" && c.Pktable.Schemaname != r.Schema {
		var err error
		if ref, err = a.cat.relation(c.Pktable.Schemaname, c.Pktable.Relname); err != nil {
			return nil, a.at(err, -1)
		}
		if ref.Kind != KindTable && ref.Kind != KindPartitioned {
			return nil, types.Errorf("42809", "referenced relation %q is not a table", ref.Name)
		}
		if err := b.rn.lock(ref, storage.ShareRowExclusive); err != nil {
			return nil, err
		}
		if !b.rn.d.granted(b.rn.s, b.rn.s.user(), ref, 'x') {
			return nil, types.Errorf("42501", "permission denied for table %s", ref.Name)
		}
	}
	if ref.Kind == KindPartitioned { // its check would miss a reference that commits while the DELETE of the row waits
		return nil, a.unsupported(c.Location, "a foreign key that references a partitioned table")
	}
	fk := &ForeignKey{Name: c.Conname, Table: r.QName(), Ref: ref.QName(), OnUpdate: action(c.FkUpdAction), OnDelete: action(c.FkDelAction),
		Deferrable: c.Deferrable}
	names := strs(c.FkAttrs)
	if p.col >= 0 {
		names = []string{r.Columns[p.col].Name}
	}
	for _, n := range names {
		i := r.Col(n)
		if i < 0 {
			return nil, types.Errorf("42703", "column %q referenced in foreign key constraint does not exist", n)
		}
		fk.Cols = append(fk.Cols, i)
	}
	if err := fk.findKey(ref, strs(c.PkAttrs)); err != nil {
		return nil, err
	}
	if len(fk.Cols) != len(fk.RefCols) {
		return nil, types.NewError("42830", "number of referencing and referenced columns for foreign key disagree")
	}
	if fk.Name == "" {
		wanted := objectName(r.Name, strings.Join(names, "_"), "fkey")
		fk.Name = wanted
		for i := 1; r.hasConstraint(fk.Name); i++ {
			fk.Name = wanted + itoa(i)
		}
	} else if r.hasConstraint(fk.Name) {
		return nil, types.Errorf("42710", "constraint %q for relation %q already exists", fk.Name, r.Name)
	}
	for i := range fk.Cols {
		from, to := &r.Columns[fk.Cols[i]], &ref.Columns[fk.RefCols[i]]
		if _, err := builtin.FindOperator("=", to.Type, from.Type, false); err != nil {
			return nil, types.Errorf("42804", "foreign key constraint %q cannot be implemented", fk.Name).
				WithDetail("Key columns %q and %q are of incompatible types: %s and %s.", from.Name, to.Name, from.Type, to.Type)
		}
	}
	return fk, nil
}

func action(s string) FKAction {
	if s == "" {
		return NoAction
	}
	return FKAction(s[0])
}

// findKey finds the referenced key: the primary key, or the unique index over the named columns.
func (fk *ForeignKey) findKey(ref *Relation, names []string) error {
	if len(names) == 0 {
		for i := range ref.Indexes {
			if ref.Indexes[i].Primary {
				fk.RefCols = ref.Indexes[i].Cols
				return nil
			}
		}
		return types.Errorf("42704", "there is no primary key for referenced table %q", ref.Name)
	}
	set := map[int]bool{}
	for _, n := range names {
		i := ref.Col(n)
		if i < 0 {
			return types.Errorf("42703", "column %q referenced in foreign key constraint does not exist", n)
		}
		fk.RefCols = append(fk.RefCols, i)
		set[i] = true
	}
	for i := range ref.Indexes {
		ix := &ref.Indexes[i]
		fits := ix.Unique && ix.Pred == nil && ix.Exprs == nil && len(ix.Cols) == len(names)
		for _, c := range ix.Cols {
			fits = fits && set[c]
		}
		if fits {
			return nil
		}
	}
	return types.Errorf("42830", "there is no unique constraint matching given keys for referenced table %q", ref.Name)
}
