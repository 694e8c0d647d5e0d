package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

// relLock is a relation lock that a statement takes before it runs, in the order of analysis.
type relLock struct {
	rel  *Relation
	mode storage.TableLock
}

// privCheck is a privilege that a statement needs of a relation ("r", "a", ...), checked when it starts to run.
type privCheck struct {
	rel    *Relation
	priv   byte
	cols   []int // a privilege on each of these columns will do; none: on any column
	reads  int   // of 'r': the relation of the frame whose columns that are read are cols, plus one
	ifRead bool  // needed only if some column is read
	pos    int   // where the statement names the relation
}

// read notes that the statement reads the columns in e, a resolved column, and gives it the position of the reference.
func (a *analyzer) read(e expr, loc int32) expr {
	walk(e, func(x expr) bool {
		switch v := x.(type) {
		case *varExpr:
			a.noteRead(v.rel, v.col)
		case *rowVar:
			for _, c := range v.cols {
				a.read(c.e, -1)
			}
		}
		return true
	})
	return relocate(e, loc)
}

func (a *analyzer) noteRead(rel, col int) {
	if a.columnsRead == nil {
		a.columnsRead = map[[2]int]bool{}
	}
	a.columnsRead[[2]int{rel, col}] = true
}

// neededPrivs are the privileges that the statement needs, now that it is known which columns it reads.
func (a *analyzer) neededPrivs() []privCheck {
	var out []privCheck
	for _, p := range a.privs {
		if p.reads > 0 {
			for i := range p.rel.Columns {
				if a.columnsRead[[2]int{p.reads - 1, i}] {
					p.cols = append(p.cols, i)
				}
			}
			if p.ifRead && len(p.cols) == 0 {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// analyzer turns one raw statement into something that runs.
type analyzer struct {
	shape
	cat         *catalog
	sql         string
	params      []types.Type
	variadic    bool           // parameters may still be added (extended protocol); otherwise params is what there is
	names       map[string]int // named parameters of an SQL function
	locks       []relLock
	privs       []privCheck
	columnsRead map[[2]int]bool // relation of the frame and column
	volatile    bool
	viewDepth   int
	levels      []*level   // the FROM clauses, inner ones first
	keyJoins    []*keyJoin // the joins with tables
	sqlFunction bool       // the parameters are those of an SQL function, which a planner does not know
	dml         []*cteNode // data-modifying WITH queries, in order
	inDML       bool       // the statement is INSERT, UPDATE or DELETE
	lockName    string     // its first locking clause, such as FOR UPDATE
	ext         *externals // variables of a PL/pgSQL block, nil elsewhere
}

// externals resolves names that are no columns: PL/pgSQL variables, OLD and NEW.
type externals struct {
	lookup func(a *analyzer, path []string, loc int32) (expr, bool)
}

// errAt gives e the position of a node.
func (a *analyzer) errAt(e *types.Error, loc int32) *types.Error {
	if e.Position == 0 && loc >= 0 {
		e.Position = parser.CharPosition(a.sql, loc)
	}
	return e
}

func (a *analyzer) errorf(loc int32, code, format string, args ...any) *types.Error {
	return a.errAt(types.Errorf(code, format, args...), loc)
}

// unsupported refuses a construct by name and position.
func (a *analyzer) unsupported(loc int32, what string) *types.Error {
	return a.errorf(loc, "0A000", "%s is not supported by the model", what)
}

// lock notes a relation lock. Each use of a relation takes its own mode: a stronger one does not stand for a weaker one, so
// that pg_locks shows both.
func (a *analyzer) lock(r *Relation, mode storage.TableLock) {
	for i := range a.locks {
		if a.locks[i].rel == r && a.locks[i].mode == mode {
			return
		}
	}
	a.locks = append(a.locks, relLock{r, mode})
}

// nsCol is a column that a FROM item offers.
type nsCol struct {
	name   string
	e      expr // varExpr, or the merged column of JOIN USING
	hidden bool // left and right copies of a merged column: only by qualified name
}

// nsItem is a FROM item as names see it.
type nsItem struct {
	name     string
	schema   string // of a plain table reference without alias
	rel      int    // relation in the frame, -1 for a join
	cols     []nsCol
	table    *Relation // nil unless a stored table
	qualOnly bool      // columns only by qualified name (sides of a JOIN with alias-less merged item)
	noQual   bool      // the unnamed item of a join
	lateral  bool      // visible to the right only inside LATERAL
	node     scanNode
	dml      bool // the target of UPDATE/DELETE
	sub      *query
	mode     storage.TableLock // of a stored table: the lock that this use of it takes
	part     *partScan         // of a partitioned table
	plan     *plan             // of a subquery or view
	cte      *cteDef           // of a WITH query
}

// cteDef is a WITH query that is visible.
type cteDef struct {
	name string
	cols []outCol
	dml  bool
	refs int
	work int // relation of the working table while a recursive term is analysed, -1
	self bool
	cte  *cteNode

	inline, never bool // it may be planned as a subquery in FROM; NOT MATERIALIZED
}

// outCol is a column of a query's result.
type outCol struct {
	name string
	e    expr
	t    types.Type
	junk bool
}

// query is one level of a statement under analysis.
type query struct {
	a          *analyzer
	parent     *query
	items      []*nsItem
	ctes       []*cteDef
	correlated bool
	aggs       []*aggExpr
	inAgg      bool
	noAgg      string // why aggregates are not allowed here, e.g. "WHERE"
	marks      []rowMark
	srfs       []*srfExpr
	aggRel     int // relation of the aggregate row, once aggs has one

	lockClauses []*pg.LockingClause
	level       *level // its FROM clause, once planned
}

func (a *analyzer) newQuery(parent *query) *query { return &query{a: a, parent: parent} }

// findCTE looks a name up in the WITH lists from the inside out.
func (q *query) findCTE(name string) *cteDef {
	for s := q; s != nil; s = s.parent {
		for i := len(s.ctes) - 1; i >= 0; i-- {
			if s.ctes[i].name == name {
				return s.ctes[i]
			}
		}
	}
	return nil
}

// cross marks the levels between q and the level that owns a name as correlated.
func (q *query) cross(owner *query) {
	for s := q; s != owner; s = s.parent {
		s.correlated = true
	}
}

// column resolves an unqualified name.
func (q *query) column(name string, loc int32) (expr, error) {
	for s := q; s != nil; s = s.parent {
		var found expr
		for _, it := range s.items {
			if it.qualOnly {
				continue
			}
			for _, c := range it.cols {
				if c.name == name && !c.hidden {
					if found != nil {
						return nil, q.a.errorf(loc, "42702", "column reference %q is ambiguous", name)
					}
					found = c.e
				}
			}
		}
		if found == nil && len(s.items) > 0 {
			for _, it := range s.items {
				if e := systemColumn(it, name, loc); e != nil && !it.qualOnly {
					found = e
					break
				}
			}
		}
		if found != nil {
			q.cross(s)
			return q.a.read(found, loc), nil
		}
	}
	return nil, nil
}

// item resolves the qualifier of a column.
func (q *query) item(schema, name string, loc int32) (*nsItem, *query, error) {
	for s := q; s != nil; s = s.parent {
		var found *nsItem
		for _, it := range s.items {
			if it.name == name && !it.noQual && (schema == "" || schema == it.schema) {
				if found != nil {
					return nil, nil, q.a.errorf(loc, "42P09", "table reference %q is ambiguous", name)
				}
				found = it
			}
		}
		if found != nil {
			return found, s, nil
		}
	}
	return nil, nil, nil
}

func systemColumn(it *nsItem, name string, loc int32) expr {
	if it.table == nil || it.rel < 0 {
		return nil
	}
	if name == "tableoid" {
		return &sysVar{at: at(loc), rel: it.rel, name: name, t: types.Type{Kind: types.Regclass}}
	}
	return nil
}

// relocate gives a resolved column the position of the reference.
func relocate(e expr, loc int32) expr {
	if v, ok := e.(*varExpr); ok {
		c := *v
		c.at = at(loc)
		return &c
	}
	return e
}

// columnRef resolves a possibly qualified column reference.
func (q *query) columnRef(n *pg.ColumnRef) (expr, error) {
	a := q.a
	var path []string
	for _, f := range n.Fields {
		switch x := f.Node.(type) {
		case *pg.Node_String_:
			path = append(path, x.String_.Sval)
		case *pg.Node_AStar:
			if len(path) == 1 {
				it, owner, err := q.item("", path[0], n.Location)
				if err != nil {
					return nil, err
				}
				if it != nil {
					q.cross(owner)
					return a.read(&rowVar{at: at(n.Location), rel: it.rel, cols: it.cols}, n.Location), nil
				}
			}
			return nil, a.unsupported(n.Location, "row expansion here")
		}
	}
	e, err := q.resolvePath(path, n.Location)
	if err == nil && a.ext != nil && len(path) == 1 {
		if _, both := a.ext.lookup(a, path, n.Location); both {
			return nil, a.errorf(n.Location, "42702", "column reference %q is ambiguous", path[0]).
				WithDetail("It could refer to either a PL/pgSQL variable or a table column.")
		}
	}
	if err != nil {
		if a.ext != nil {
			if e, ok := a.ext.lookup(a, path, n.Location); ok {
				return e, nil
			}
		}
		return nil, err
	}
	return e, nil
}

func (q *query) resolvePath(path []string, loc int32) (expr, error) {
	a := q.a
	switch len(path) {
	case 1:
		e, err := q.column(path[0], loc)
		if e != nil || err != nil {
			return e, err
		}
		if it, owner, err := q.item("", path[0], loc); it != nil && err == nil && it.rel >= 0 { // whole row
			q.cross(owner)
			return a.read(&rowVar{at: at(loc), rel: it.rel, cols: it.cols}, loc), nil
		}
		if i, ok := a.names[path[0]]; ok {
			return &paramExpr{at: at(loc), a: a, n: i}, nil
		}
		return nil, a.errorf(loc, "42703", "column %q does not exist", path[0])
	case 2, 3:
		schema := ""
		if len(path) == 3 {
			schema = path[0]
		}
		rel, col := path[len(path)-2], path[len(path)-1]
		it, owner, err := q.item(schema, rel, loc)
		if err != nil {
			return nil, err
		}
		if it == nil {
			if i, ok := a.names[col]; ok && len(path) == 2 && a.names[rel+"."] != 0 {
				return &paramExpr{at: at(loc), a: a, n: i}, nil
			}
			return nil, q.missingFrom(rel, loc)
		}
		q.cross(owner)
		var found expr
		for _, c := range it.cols {
			if c.name == col {
				if found != nil {
					return nil, a.errorf(loc, "42702", "column reference %q is ambiguous", col)
				}
				found = a.read(c.e, loc)
			}
		}
		if found == nil {
			found = systemColumn(it, col, loc)
		}
		if found != nil {
			return found, nil
		}
		return nil, a.errorf(loc, "42703", "column %s.%s does not exist", rel, col)
	}
	return nil, a.unsupported(loc, "a cross-database reference")
}

// missingFrom words a reference to a table that FROM does not have, or has where it cannot be seen.
func (q *query) missingFrom(rel string, loc int32) *types.Error {
	for s := q; s != nil; s = s.parent {
		for _, it := range s.items {
			if it.table != nil && it.table.Name == rel && it.name != rel {
				return q.a.errorf(loc, "42P01", "invalid reference to FROM-clause entry for table %q", rel).
					WithHint("Perhaps you meant to reference the table alias %q.", it.name)
			}
		}
	}
	return q.a.errorf(loc, "42P01", "missing FROM-clause entry for table %q", rel)
}
