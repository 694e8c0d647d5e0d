package sql

import (
	"reflect"
	"sync"
	"sync/atomic"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/sql/parser"
	"simrun/model/types"
)

// Compiled is a statement that is ready to run, for one version of the catalog. It is immutable apart from what it keeps for
// the next run.
type Compiled struct {
	shape
	stamp    uint64
	path     string
	params   []types.Type
	locks    []relLock
	privs    []privCheck
	starts   []func(*frame) error
	dml      []*cteNode
	fields   []Field
	plan     *plan
	tag      string // command tag; of plans the count is added
	name     string // of the command in errors
	snapshot bool   // a REPEATABLE READ transaction takes its snapshot before the relation locks
	writes   bool   // refused in a read-only transaction
	latest   bool   // inside another statement: sees what has committed by now whatever the isolation level
	// fail is the error of the analysis: the statement locks the relations that analysis had opened before, and fails.
	fail error
	// util runs a statement that has no plan.
	util func(r *run) (*Result, error)
	// control changes the state of the session's transaction; it runs outside of any statement of storage.
	control func(d *Database, s *session) (*Result, error)
	spare   spares
	empty   [4]atomic.Pointer[Result] // results without rows, by count
}

// maker compiles one kind of statement.
type maker func(a *analyzer, n *pg.Node) (*Compiled, error)

// statements is the registry of statement kinds, by the type of their parse node's wrapper.
var statements = map[reflect.Type]maker{}

// registerStatement ties a parse-node type, such as *pg.Node_SelectStmt, to its compilation. Each file that implements a
// statement kind calls it from init.
func registerStatement[N any](mk func(a *analyzer, n N) (*Compiled, error)) {
	statements[reflect.TypeFor[N]()] = func(a *analyzer, n *pg.Node) (*Compiled, error) { return mk(a, any(n.Node).(N)) }
}

// text is one SQL text of the cache: its statements, or its syntax error.
type text struct {
	stmts []*statement
	err   *types.Error
}

// statement is one statement of a text with what it compiled to.
type statement struct {
	raw  *pg.Node
	sql  string
	kept [2]atomic.Pointer[Compiled] // simple and extended protocol
}

// texts is the process-wide cache of parsed texts. It holds pure functions of the text (and of the catalog stamp), so
// sharing it between databases and goroutines cannot change a result.
var texts struct {
	sync.RWMutex
	m map[string]*text
}

// maxTexts bounds the cache; it is emptied when full.
const maxTexts = 20000

// parseText parses a text, or finds it parsed.
func parseText(sql string) *text {
	texts.RLock()
	t := texts.m[sql]
	texts.RUnlock()
	if t != nil {
		return t
	}
	raws, err := parser.Parse(sql)
	t = &text{err: err}
	for _, r := range raws {
		t.stmts = append(t.stmts, &statement{raw: r.Stmt, sql: sql})
	}
	texts.Lock()
	if texts.m == nil || len(texts.m) >= maxTexts {
		texts.m = map[string]*text{}
	}
	texts.m[sql] = t
	texts.Unlock()
	return t
}

// compiled gives a statement compiled for what the session sees of the catalog.
func (d *Database) compiled(s *session, st *statement, extended bool) (*Compiled, error) {
	slot := 0
	if extended {
		slot = 1
	}
	stamp := d.st.CatalogStamp(s.id)
	path := s.searchPath()
	if c := st.kept[slot].Load(); c != nil && c.stamp == stamp && c.path == path {
		return c, nil
	}
	c, err := d.compile(s, st.raw, st.sql, extended)
	if err != nil {
		return nil, err
	}
	c.stamp, c.path = stamp, path
	if c.fail == nil {
		st.kept[slot].Store(c)
	}
	return c, nil
}

func (d *Database) compile(s *session, n *pg.Node, sql string, extended bool) (*Compiled, error) {
	a := &analyzer{cat: d.catalog(s), sql: sql, variadic: extended}
	c, err := a.compileNode(n)
	if err != nil && (len(a.locks) > 0 || takesSnapshot(n)) {
		return &Compiled{locks: a.locks, fail: err, snapshot: true}, nil
	}
	return c, err
}

// takesSnapshot says that a statement has its snapshot before it is analysed, and keeps it in REPEATABLE READ when that fails.
func takesSnapshot(n *pg.Node) bool {
	switch n.Node.(type) {
	case *pg.Node_SelectStmt, *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt:
		return true
	}
	return false
}

// compileNode compiles a raw statement.
func (a *analyzer) compileNode(n *pg.Node) (*Compiled, error) {
	mk, ok := statements[reflect.TypeOf(n.Node)]
	if !ok {
		return nil, a.unsupported(nodeLocation(n), nodeName(n.Node))
	}
	c, err := mk(a, n)
	if err != nil {
		return nil, err
	}
	for i, t := range a.params {
		if t.Kind == types.Unknown {
			return nil, a.errorf(-1, "42P18", "could not determine data type of parameter $%d", i+1)
		}
	}
	c.starts = a.settlePartitions()
	c.shape, c.params, c.locks, c.privs, c.dml = a.shape, a.params, a.locks, a.neededPrivs(), a.dml
	return c, nil
}

// planned makes a Compiled of a plan.
func planned(a *analyzer, p *plan, tag string) *Compiled {
	c := &Compiled{plan: p, tag: tag, snapshot: true, writes: a.inDML || a.lockName != "", name: firstWord(tag)}
	if a.lockName != "" && tag == "SELECT" {
		c.name = "SELECT " + a.lockName
	}
	for _, col := range p.cols {
		c.fields = append(c.fields, Field{Name: col.name, Type: col.t})
	}
	return c
}

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_SelectStmt) (*Compiled, error) {
		q := a.newQuery(nil)
		p, err := q.selectPlan(n.SelectStmt)
		if err != nil {
			return nil, err
		}
		if err := q.settlePlan(p); err != nil {
			return nil, err
		}
		return planned(a, p, "SELECT"), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_InsertStmt) (*Compiled, error) {
		p, err := a.newQuery(nil).insertPlan(n.InsertStmt)
		if err != nil {
			return nil, err
		}
		return planned(a, p, "INSERT 0"), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_UpdateStmt) (*Compiled, error) {
		p, err := a.newQuery(nil).updatePlan(n.UpdateStmt)
		if err != nil {
			return nil, err
		}
		return planned(a, p, "UPDATE"), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_DeleteStmt) (*Compiled, error) {
		p, err := a.newQuery(nil).deletePlan(n.DeleteStmt)
		if err != nil {
			return nil, err
		}
		return planned(a, p, "DELETE"), nil
	})
}
