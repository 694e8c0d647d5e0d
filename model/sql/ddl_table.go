package sql

import (
	"math"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_CreateStmt) (*Compiled, error) {
		s := n.CreateStmt
		switch {
		case s.Relation.Relpersistence == "t":
			return nil, a.unsupported(s.Relation.Location, "a temporary table")
		case s.OfTypename != nil:
			return nil, a.unsupported(s.Relation.Location, "a typed table")
		case len(s.InhRelations) > 0 && s.Partbound == nil:
			return nil, a.unsupported(s.Relation.Location, "INHERITS")
		}
		return a.utility("CREATE TABLE", func(rn *run, a *analyzer) error {
			b := &tableBuilder{rn: rn, a: a}
			return b.create(s)
		}), nil
	})
}

// tableBuilder makes a new table, or adds to one.
type tableBuilder struct {
	rn *run
	a  *analyzer
	r  *Relation
	// constraints that are looked at when all columns are known, with the column they stand at
	later []pendingConstraint
}

type pendingConstraint struct {
	c   *pg.Constraint
	col int // -1: a table constraint
}

func (b *tableBuilder) create(s *pg.CreateStmt) error {
	rn, a := b.rn, b.a
	schema, err := a.cat.creationSchema(s.Relation.Schemaname)
	if err != nil {
		return a.at(err, s.Relation.Location)
	}
	if err := rn.mayCreateIn(schema); err != nil {
		return a.at(err, s.Relation.Location)
	}
	if a.cat.lookup(schema, s.Relation.Relname) != nil {
		e := duplicate("relation", s.Relation.Relname)
		if s.IfNotExists {
			return rn.skip(e)
		}
		return e
	}
	b.r = &Relation{Schema: schema, Name: s.Relation.Relname, Kind: KindTable, Owner: rn.s.user()}
	var parent *Relation
	if s.Partbound != nil {
		if parent, err = b.inheritFrom(s.InhRelations[0].GetRangeVar()); err != nil {
			return err
		}
	}
	for _, el := range s.TableElts {
		switch x := el.Node.(type) {
		case *pg.Node_ColumnDef:
			if parent != nil {
				return a.unsupported(x.ColumnDef.Location, "a column option in PARTITION OF")
			}
			if err := b.column(x.ColumnDef); err != nil {
				return err
			}
		case *pg.Node_Constraint:
			b.later = append(b.later, pendingConstraint{x.Constraint, -1})
		case *pg.Node_TableLikeClause:
			if err := b.like(x.TableLikeClause); err != nil {
				return err
			}
		default:
			return a.unsupported(nodeLocation(el), nodeName(el.Node))
		}
	}
	for _, el := range s.Constraints {
		b.later = append(b.later, pendingConstraint{el.GetConstraint(), -1})
	}
	if s.Partspec != nil {
		if err := b.partitionBy(s.Partspec); err != nil {
			return err
		}
	}
	if err := b.keys(); err != nil {
		return err
	}
	if err := b.store(); err != nil {
		return err
	}
	if parent != nil {
		if err := rn.attach(a, parent, b.r, s.Partbound); err != nil {
			return err
		}
	}
	return b.foreignKeys(nil)
}

// store makes the heap and enters table, indexes and sequences into the catalog.
func (b *tableBuilder) store() error {
	rn, r := b.rn, b.r
	specs, err := b.a.indexSpecs(r)
	if err != nil {
		return err
	}
	r.ID = rn.x.CreateHeap(r.Name, specs)
	if err := rn.define(r); err != nil {
		return err
	}
	for i := range r.Indexes {
		if err := rn.defineIndex(r, &r.Indexes[i]); err != nil {
			return err
		}
	}
	return rn.replace(r)
}

// defineIndex enters an index of r into the catalog.
func (rn *run) defineIndex(r *Relation, ix *Index) error {
	ix.ID = rn.x.NewRelation(r.Schema + "." + ix.Name)
	ix.OID = oidOf(ix.ID)
	return rn.define(&Relation{Schema: r.Schema, Name: ix.Name, Kind: KindIndex, ID: ix.ID, Owner: r.Owner, IndexOf: r.QName()})
}

// serials are the pseudo-types that make a column with a sequence.
var serials = map[string]types.Kind{"serial": types.Int4, "serial4": types.Int4, "bigserial": types.Int8, "serial8": types.Int8,
	"smallserial": types.Int2, "serial2": types.Int2}

// column adds a column with the constraints that stand at it.
func (b *tableBuilder) column(d *pg.ColumnDef) error {
	a, r := b.a, b.r
	if r.Col(d.Colname) >= 0 {
		return types.Errorf("42701", "column %q specified more than once", d.Colname)
	}
	names := strs(d.TypeName.Names)
	col := Column{Name: d.Colname, Typmod: -1}
	if k, ok := serials[names[len(names)-1]]; ok && len(names) == 1 {
		col.Type, col.NotNull = types.Of(k), true
		if err := b.ownSequence(&col, nil, false); err != nil {
			return err
		}
	} else {
		var err error
		if col.Type, col.Typmod, err = a.typeName(d.TypeName); err != nil {
			return err
		}
		if k := col.Type.Kind; k.IsPseudo() || k == types.Record || k == types.Void || k == types.Trigger {
			return types.Errorf("42P16", "column %q has pseudo-type %s", d.Colname, col.Type)
		}
	}
	at := len(r.Columns)
	r.Columns = append(r.Columns, col)
	var last *pg.Constraint
	for _, cn := range d.Constraints {
		c := cn.GetConstraint()
		if last != nil && attribute(last, c) {
			continue
		}
		last = c
		if err := b.columnConstraint(at, c); err != nil {
			return err
		}
	}
	return nil
}

// attribute applies DEFERRABLE and the like to the constraint before it.
func attribute(last, c *pg.Constraint) bool {
	switch c.Contype {
	case pg.ConstrType_CONSTR_ATTR_DEFERRABLE:
		last.Deferrable = true
	case pg.ConstrType_CONSTR_ATTR_DEFERRED:
		last.Deferrable, last.Initdeferred = true, true
	case pg.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE, pg.ConstrType_CONSTR_ATTR_IMMEDIATE:
	default:
		return false
	}
	return true
}

func (b *tableBuilder) columnConstraint(at int, c *pg.Constraint) error {
	a, col := b.a, &b.r.Columns[at]
	switch c.Contype {
	case pg.ConstrType_CONSTR_NULL:
	case pg.ConstrType_CONSTR_NOTNULL:
		col.NotNull = true
	case pg.ConstrType_CONSTR_DEFAULT:
		return a.setDefault(col, c.RawExpr)
	case pg.ConstrType_CONSTR_IDENTITY:
		if col.Type.Kind != types.Int2 && col.Type.Kind != types.Int4 && col.Type.Kind != types.Int8 {
			return types.NewError("22023", "identity column type must be smallint, integer, or bigint")
		}
		col.NotNull, col.Identity = true, c.GeneratedWhen[0]
		return b.ownSequence(col, c.Options, true)
	case pg.ConstrType_CONSTR_GENERATED:
		col.Default, col.DefaultQ, col.Generated = c.RawExpr, a.sql, true
		return nil
	default:
		b.later = append(b.later, pendingConstraint{c, at})
	}
	return nil
}

// setDefault checks a DEFAULT expression and keeps it.
func (a *analyzer) setDefault(col *Column, n *pg.Node) error {
	if c := n.GetAConst(); c != nil && c.Isnull {
		col.Default, col.DefaultQ = nil, ""
		return nil
	}
	q := a.newQuery(nil)
	q.noAgg = "DEFAULT expressions"
	e, err := q.expr(n)
	if err != nil {
		if t, ok := err.(*types.Error); ok && t.Code == "42703" {
			return a.errorf(nodeLocation(n), "0A000", "cannot use column reference in DEFAULT expression")
		}
		return err
	}
	if _, err := a.coerce(e, col.Type, col.Typmod, assignment); err != nil {
		if err == error(errNoCast) {
			return types.Errorf("42804", "column %q is of type %s but default expression is of type %s", col.Name, col.Type, e.typ()).
				WithHint("You will need to rewrite or cast the expression.")
		}
		return err
	}
	col.Default, col.DefaultQ = n, a.sql
	return nil
}

// ownSequence makes the sequence of a serial or identity column.
func (b *tableBuilder) ownSequence(col *Column, options []*pg.Node, identity bool) error {
	r := b.r
	name := b.a.freeName(r.Schema, objectName(r.Name, col.Name, "seq"), nil)
	seq := &Relation{Schema: r.Schema, Name: name, Kind: KindSequence, Owner: r.Owner, OwnedBy: r.QName()}
	if err := b.rn.createSequence(b.a, seq, col.Type.Kind, options); err != nil {
		return err
	}
	col.Sequence = seq.QName()
	if identity {
		return nil
	}
	var err error
	quoted := quoteIdent(seq.Schema) + "." + quoteIdent(seq.Name)
	col.Default, col.DefaultQ, err = parseExpr("nextval('" + strings.ReplaceAll(quoted, "'", "''") + "'::regclass)")
	return err
}

// like is LIKE with the options that matter here: columns always, INCLUDING ALL also defaults, checks and indexes.
func (b *tableBuilder) like(n *pg.TableLikeClause) error {
	src, err := b.a.cat.relation(n.Relation.Schemaname, n.Relation.Relname)
	if err != nil {
		return b.a.at(err, n.Relation.Location)
	}
	if err := b.rn.lock(src, storage.AccessShare); err != nil {
		return err
	}
	const (
		constraints, defaults, generated, identity, indexes = 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6
	)
	if n.Options&identity != 0 {
		for i := range src.Columns {
			if src.Columns[i].Identity != 0 {
				return b.a.unsupported(n.Relation.Location, "LIKE INCLUDING IDENTITY")
			}
		}
	}
	place := map[int]int{}
	for i := range src.Columns {
		c := src.Columns[i]
		if c.Dropped {
			continue
		}
		if b.r.Col(c.Name) >= 0 {
			return types.Errorf("42701", "column %q specified more than once", c.Name)
		}
		c.Identity, c.Sequence = 0, ""
		if c.Generated && n.Options&generated == 0 || !c.Generated && n.Options&defaults == 0 {
			c.Default, c.DefaultQ, c.Generated = nil, "", false
		}
		place[i] = len(b.r.Columns)
		b.r.Columns = append(b.r.Columns, c)
	}
	if n.Options&constraints != 0 {
		b.r.Checks = append(b.r.Checks, src.Checks...)
	}
	if n.Options&indexes != 0 {
		b.copyIndexes(src, place)
	}
	return nil
}

// copyIndexes gives the table the indexes of src, under names of its own.
func (b *tableBuilder) copyIndexes(src *Relation, place map[int]int) {
	for _, ix := range src.Indexes {
		cols := append([]int(nil), ix.Cols...)
		var names []string
		for i, c := range cols {
			if c >= 0 {
				cols[i] = place[c]
				names = append(names, b.r.Columns[cols[i]].Name)
			} else {
				names = append(names, "expr")
			}
		}
		label := "idx"
		switch {
		case ix.Primary:
			label, names = "pkey", nil
		case ix.Constraint:
			label = "key"
		}
		ix.Cols = cols
		ix.Name = b.a.freeName(b.r.Schema, objectName(b.r.Name, strings.Join(names, "_"), label), b.hasIndex)
		b.r.Indexes = append(b.r.Indexes, ix)
	}
}

func (b *tableBuilder) hasIndex(name string) bool {
	for i := range b.r.Indexes {
		if b.r.Indexes[i].Name == name {
			return true
		}
	}
	return false
}

// hasConstraint says whether a check or foreign key of that name is there.
func (r *Relation) hasConstraint(name string) bool {
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			return true
		}
	}
	for i := range r.FKs {
		if r.FKs[i].Name == name {
			return true
		}
	}
	for i := range r.Indexes {
		if r.Indexes[i].Constraint && r.Indexes[i].Name == name {
			return true
		}
	}
	return false
}

// keys makes the checks, primary keys and unique constraints that were waiting for all columns.
func (b *tableBuilder) keys() error {
	for _, p := range b.later {
		var err error
		switch p.c.Contype {
		case pg.ConstrType_CONSTR_CHECK:
			err = b.check(p)
		case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
			err = b.unique(p)
		case pg.ConstrType_CONSTR_FOREIGN:
		case pg.ConstrType_CONSTR_EXCLUSION:
			err = b.a.unsupported(p.c.Location, "EXCLUDE")
		default:
			if !attribute(&pg.Constraint{}, p.c) {
				err = b.a.unsupported(p.c.Location, p.c.Contype.String())
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *tableBuilder) check(p pendingConstraint) error {
	a, r := b.a, b.r
	scratch := *a
	e, err := scratch.tableExpr(r, scratch.newRel(), p.c.RawExpr, a.sql)
	if err != nil {
		return err
	}
	if _, err := scratch.boolean(e, "CHECK"); err != nil {
		return err
	}
	name := p.c.Conname
	if name == "" {
		cols := columnsIn(r, p.c.RawExpr)
		label := ""
		if len(cols) == 1 {
			label = r.Columns[cols[0]].Name
		}
		if p.col >= 0 {
			label = r.Columns[p.col].Name
		}
		wanted := objectName(r.Name, label, "check")
		name = wanted
		for i := 1; r.hasConstraint(name); i++ {
			name = wanted + types.NewInt8(int64(i)).Text()
		}
	} else if r.hasConstraint(name) {
		return types.Errorf("42710", "constraint %q for relation %q already exists", name, r.Name)
	}
	// Checks are tested in the order of their names.
	at := 0
	for at < len(r.Checks) && r.Checks[at].Name < name {
		at++
	}
	r.Checks = append(r.Checks[:at], append([]Check{{Name: name, Expr: p.c.RawExpr, Text: a.sql}}, r.Checks[at:]...)...)
	return nil
}

func (b *tableBuilder) unique(p pendingConstraint) error {
	a, r := b.a, b.r
	primary := p.c.Contype == pg.ConstrType_CONSTR_PRIMARY
	ix := Index{Name: p.c.Conname, Unique: true, Primary: primary, Constraint: true, NullsSame: p.c.NullsNotDistinct, Deferrable: p.c.Deferrable}
	if p.c.Initdeferred {
		return a.unsupported(p.c.Location, "INITIALLY DEFERRED")
	}
	if p.c.Deferrable {
		return a.unsupported(p.c.Location, "a DEFERRABLE unique constraint")
	}
	if p.c.Indexname != "" {
		return a.unsupported(p.c.Location, "a constraint USING INDEX")
	}
	names := strs(p.c.Keys)
	if p.col >= 0 {
		names = []string{r.Columns[p.col].Name}
	}
	if primary {
		for i := range r.Indexes {
			if r.Indexes[i].Primary {
				return a.errorf(p.c.Location, "42P16", "multiple primary keys for table %q are not allowed", r.Name)
			}
		}
	}
	for _, n := range names {
		i := r.Col(n)
		if i < 0 {
			return a.errorf(p.c.Location, "42703", "column %q named in key does not exist", n)
		}
		for _, c := range ix.Cols {
			if c == i {
				kind := "unique"
				if primary {
					kind = "primary key"
				}
				return a.errorf(p.c.Location, "42701", "column %q appears twice in %s constraint", n, kind)
			}
		}
		ix.Cols = append(ix.Cols, i)
		if primary {
			r.Columns[i].NotNull = true
		}
	}
	if err := partitionKeyCovered(r, &ix); err != nil {
		return err
	}
	if ix.Name == "" {
		if primary {
			ix.Name = objectName(r.Name, "", "pkey")
		} else {
			ix.Name = objectName(r.Name, strings.Join(names, "_"), "key")
		}
		ix.Name = a.freeName(r.Schema, ix.Name, b.hasIndex)
	} else if a.cat.lookup(r.Schema, ix.Name) != nil || b.hasIndex(ix.Name) {
		return duplicate("relation", ix.Name)
	}
	if primary { // the primary key comes first among the indexes
		r.Indexes = append([]Index{ix}, r.Indexes...)
		return nil
	}
	r.Indexes = append(r.Indexes, ix)
	return nil
}

// partitionKeyCovered refuses a unique index of a partitioned table that lacks the partition key.
func partitionKeyCovered(r *Relation, ix *Index) error {
	if !ix.Unique {
		return nil
	}
	for _, k := range r.PartKey {
		found := false
		for _, c := range ix.Cols {
			found = found || c == k
		}
		if !found {
			kind := "UNIQUE"
			if ix.Primary {
				kind = "PRIMARY KEY"
			}
			return types.NewError("0A000", "unique constraint on partitioned table must include all partitioning columns").
				WithDetail("%s constraint on table %q lacks column %q which is part of the partition key.", kind, r.Name, r.Columns[k].Name)
		}
	}
	return nil
}

// mayCreateIn checks the CREATE privilege of a schema.
func (rn *run) mayCreateIn(schema string) error {
	if rn.d.schemaPrivilege(rn.s, schema, 'C') {
		return nil
	}
	return types.Errorf("42501", "permission denied for schema %s", schema)
}

// createSequence makes a sequence with the options of CREATE SEQUENCE or of an identity column.
func (rn *run) createSequence(a *analyzer, seq *Relation, kind types.Kind, options []*pg.Node) error {
	spec := storage.SequenceSpec{Name: seq.Name, Inc: 1, Cache: 1}
	if err := sequenceOptions(a, &spec, kind, options, true); err != nil {
		return err
	}
	seq.Sequence = &spec
	seq.ID = rn.x.CreateSequence(spec)
	return rn.define(seq)
}

// sequenceOptions reads the options of a sequence into spec; fresh fills what is not said with the defaults.
func sequenceOptions(a *analyzer, spec *storage.SequenceSpec, kind types.Kind, options []*pg.Node, fresh bool) error {
	var hasMin, hasMax, hasStart bool
	for _, on := range options {
		o := on.GetDefElem()
		num := func() int64 {
			switch v := o.Arg.Node.(type) {
			case *pg.Node_Integer:
				return int64(v.Integer.Ival)
			case *pg.Node_Float:
				n, _ := types.Parse(v.Float.Fval, types.Of(types.Int8))
				return n.N
			}
			return 0
		}
		switch o.Defname {
		case "start":
			spec.Start, hasStart = num(), true
		case "increment":
			if spec.Inc = num(); spec.Inc == 0 {
				return types.NewError("22023", "INCREMENT must not be zero")
			}
		case "minvalue":
			if o.Arg != nil {
				spec.Min, hasMin = num(), true
			}
		case "maxvalue":
			if o.Arg != nil {
				spec.Max, hasMax = num(), true
			}
		case "cache":
			spec.Cache = num()
		case "cycle":
			spec.Cycle = o.Arg.GetBoolean().GetBoolval()
		case "as":
			t, _, err := a.typeName(o.Arg.GetTypeName())
			if err != nil {
				return err
			}
			kind = t.Kind
		case "owned_by", "sequence_name", "restart":
		default:
			return a.unsupported(o.Location, "sequence option "+o.Defname)
		}
	}
	if !fresh {
		return nil
	}
	limit := int64(math.MaxInt64)
	switch kind {
	case types.Int2:
		limit = math.MaxInt16
	case types.Int4:
		limit = math.MaxInt32
	}
	up := spec.Inc > 0
	if !hasMin {
		if spec.Min = 1; !up {
			spec.Min = -limit - 1
		}
	}
	if !hasMax {
		if spec.Max = limit; !up {
			spec.Max = -1
		}
	}
	if !hasStart {
		if spec.Start = spec.Min; !up {
			spec.Start = spec.Max
		}
	}
	switch {
	case spec.Min >= spec.Max:
		return types.Errorf("22023", "MINVALUE (%d) must be less than MAXVALUE (%d)", spec.Min, spec.Max)
	case spec.Start < spec.Min:
		return types.Errorf("22023", "START value (%d) cannot be less than MINVALUE (%d)", spec.Start, spec.Min)
	case spec.Start > spec.Max:
		return types.Errorf("22023", "START value (%d) cannot be greater than MAXVALUE (%d)", spec.Start, spec.Max)
	}
	return nil
}
