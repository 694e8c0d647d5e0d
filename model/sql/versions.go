package sql

import (
	"simrun/model/storage"
	"simrun/model/types"
)

// RowVersion is a version of a row that lies in a table, committed or not.
type RowVersion struct {
	Table        string // the table or partition that it lies in
	ID           uint64 // its place there: a new version has a new one, which is greater
	Values       []types.Value
	Maker, Ender int   // the session whose open transaction has made it, and has updated or deleted it; -1 when none
	Dead         bool  // a committed transaction has updated or deleted it; it is kept for an old snapshot
	Seen, Hidden []int // the sessions in a transaction whose next command would see it, and those whose would not
}

// Versions lists the row versions of a table, those of a partitioned one by partition. The name may be qualified. There are no
// columns when no such table has been committed.
func (d *Database) Versions(table string) (columns []string, versions []RowVersion) {
	schema, name, err := splitName(table)
	if err != nil {
		return nil, nil
	}
	c := d.Clone()
	r := c.catalog(c.sess[c.Open(superuser)]).lookup(schema, name)
	if r == nil {
		return nil, nil
	}
	for i := range r.Columns {
		if !r.Columns[i].Dropped {
			columns = append(columns, r.Columns[i].Name)
		}
	}
	if len(r.Parts) == 0 {
		return columns, d.versionsOf(r, columns)
	}
	for _, p := range r.Parts {
		_, of := d.Versions(p.Table)
		versions = append(versions, of...)
	}
	return columns, versions
}

func (d *Database) versionsOf(r *Relation, columns []string) []RowVersion {
	var out []RowVersion
	for _, v := range d.st.Versions(r.ID) {
		o := RowVersion{Table: r.Name, ID: uint64(v.TID), Maker: int(v.Maker), Ender: int(v.Ender), Dead: v.Dead, Seen: numbers(v.Seen), Hidden: numbers(v.Hidden)}
		for _, name := range columns {
			k := r.Col(name)
			if k < 0 || k >= len(v.Row.Vals) { // a column added since
				o.Values = append(o.Values, types.Value{})
				continue
			}
			o.Values = append(o.Values, v.Row.Vals[k])
		}
		out = append(out, o)
	}
	return out
}

func numbers(ids []storage.SessionID) []int {
	var out []int
	for _, id := range ids {
		out = append(out, int(id))
	}
	return out
}
