package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// indexSpecs describes a table's indexes to storage.
func (a *analyzer) indexSpecs(r *Relation) ([]storage.IndexSpec, error) {
	specs := make([]storage.IndexSpec, len(r.Indexes))
	for i := range r.Indexes {
		ix := &r.Indexes[i]
		s := storage.IndexSpec{Name: ix.Name, Unique: ix.Unique, NullsNotDistinct: ix.NullsSame, Detail: r.keyDetail(ix)}
		if ix.Pred == nil && ix.Exprs == nil {
			s.Cols = ix.Cols
		} else {
			s.Partial = true
			key, used, err := a.indexKey(r, ix)
			if err != nil {
				return nil, err
			}
			s.Key, s.UsedCols = key, used
		}
		specs[i] = s
	}
	return specs, nil
}

// keyDetail words the DETAIL of a unique violation.
func (r *Relation) keyDetail(ix *Index) func(key []types.Value) string {
	var names []string
	for i, c := range ix.Cols {
		if c >= 0 {
			names = append(names, r.Columns[c].Name)
		} else {
			names = append(names, exprText(ix.Exprs[i], ix.Text))
		}
	}
	head := "Key (" + strings.Join(names, ", ") + ")=("
	return func(key []types.Value) string {
		var b strings.Builder
		b.WriteString(head)
		for i, v := range key {
			if i > 0 {
				b.WriteString(", ")
			}
			if v.Valid {
				b.WriteString(v.Text())
			} else {
				b.WriteString("null")
			}
		}
		b.WriteString(") already exists.")
		return b.String()
	}
}

// indexKey compiles the key of an expression or partial index. The expressions are immutable, so a frame of their own is all
// they need.
func (a *analyzer) indexKey(r *Relation, ix *Index) (func(*storage.Row) ([]types.Value, bool), []int, error) {
	sub := &analyzer{cat: a.cat, sql: ix.Text}
	rel := sub.newRel()
	used := map[int]bool{}
	note := func(e expr) {
		walk(e, func(x expr) bool {
			if v, ok := x.(*varExpr); ok {
				used[v.col] = true
			}
			return true
		})
	}
	var pred qual
	if ix.Pred != nil {
		e, err := sub.tableExpr(r, rel, ix.Pred, ix.Text)
		if err == nil {
			e, err = sub.boolean(e, "WHERE")
		}
		if err != nil {
			return nil, nil, err
		}
		if isVolatile(e) {
			return nil, nil, types.NewError("42P17", "functions in index predicate must be marked IMMUTABLE")
		}
		note(e)
		pred = compileQual(e, &sub.shape)
	}
	keys := make([]evalFn, len(ix.Cols))
	for i, c := range ix.Cols {
		if c >= 0 {
			used[c] = true
			v := &varExpr{rel: rel, col: c, t: r.Columns[c].Type}
			keys[i] = v.compile(&sub.shape)
			continue
		}
		e, err := sub.tableExpr(r, rel, ix.Exprs[i], ix.Text)
		if err == nil {
			e, err = sub.settle(e)
		}
		if err != nil {
			return nil, nil, err
		}
		if isVolatile(e) {
			return nil, nil, types.NewError("42P17", "functions in index expression must be marked IMMUTABLE")
		}
		note(e)
		keys[i] = e.compile(&sub.shape)
	}
	var spare spares
	key := func(row *storage.Row) ([]types.Value, bool) {
		f := spare.get()
		if f == nil {
			f = sub.newFrame()
		}
		defer spare.put(f)
		f.rows[rel] = row.Vals
		if ok, err := pred.holds(f); !ok || err != nil {
			return nil, false
		}
		out := make([]types.Value, len(keys))
		for i, k := range keys {
			v, err := k(f)
			if err != nil {
				return nil, false
			}
			out[i] = v
		}
		return out, true
	}
	var cols []int
	for i := range r.Columns {
		if used[i] {
			cols = append(cols, i)
		}
	}
	return key, cols, nil
}

// exprText prints an index expression as error details do.
func exprText(n *pg.Node, text string) string {
	if fc := n.GetFuncCall(); fc != nil {
		names := strs(fc.Funcname)
		var args []string
		for _, an := range fc.Args {
			args = append(args, exprText(an, text))
		}
		return names[len(names)-1] + "(" + strings.Join(args, ", ") + ")"
	}
	if ref := n.GetColumnRef(); ref != nil {
		return strings.Join(strs(ref.Fields), ".")
	}
	return "(expression)"
}
