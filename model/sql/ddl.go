package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"simrun/model/sql/parser"
	"simrun/model/storage"
	"simrun/model/types"
)

// utility makes the compilation of a schema change. Everything happens when it runs, with a catalog whose answers are
// journaled: when the statement waits for a lock and runs again, it must not take its own work for somebody else's.
func (a *analyzer) utility(tag string, do func(rn *run, a *analyzer) error) *Compiled {
	text := a.sql
	return &Compiled{tag: tag, name: tag, writes: true, util: func(rn *run) (*Result, error) {
		if err := do(rn, rn.analyzer(text)); err != nil {
			return nil, err
		}
		return &Result{Tag: tag}, nil
	}}
}

// analyzer is for analysis while a schema change runs; text is what node positions refer to.
func (rn *run) analyzer(text string) *analyzer {
	c := rn.d.catalog(rn.s)
	c.x = rn.x
	return &analyzer{cat: c, sql: text}
}

// oidOf makes the OID of a catalog object from its number in storage.
func oidOf(id storage.TableID) uint32 { return 16384 + uint32(id) }

// define enters a new relation under its qualified name.
func (rn *run) define(r *Relation) error {
	r.OID = oidOf(r.ID)
	err := rn.x.Define(classRelation, r.QName(), r)
	if r.Schema == "public" && (r.Kind == KindTable || r.Kind == KindPartitioned || r.Kind == KindView) { // whose OID is 2200 everywhere
		err = takenMeanwhile(err, "Key (typname, typnamespace)=("+r.Name+", 2200) already exists.")
	}
	return err
}

// takenMeanwhile adds the DETAIL to the 23505 of a catalog index: another transaction has created the name meanwhile.
func takenMeanwhile(err error, detail string) error {
	if e, ok := err.(*types.Error); ok && e.Code == "23505" {
		c := *e
		c.Detail = detail
		return &c
	}
	return err
}

func (rn *run) replace(r *Relation) error { return rn.x.Replace(classRelation, r.QName(), r) }

// change gives a copy of a relation's newest version to edit, after a lock on it has been had.
func (rn *run) change(a *analyzer, qname string) (*Relation, error) {
	r, ok := a.cat.byQName(qname)
	if !ok {
		return nil, types.Errorf("42P01", "relation %q does not exist", qname[strings.IndexByte(qname, '.')+1:])
	}
	c := *r
	c.Columns = append([]Column(nil), r.Columns...)
	c.Indexes = append([]Index(nil), r.Indexes...)
	c.Checks = append([]Check(nil), r.Checks...)
	c.FKs = append([]ForeignKey(nil), r.FKs...)
	c.RefFKs = append([]ForeignKey(nil), r.RefFKs...)
	c.Triggers = append([]Trigger(nil), r.Triggers...)
	c.Parts = append([]Partition(nil), r.Parts...)
	c.ACL = append([]Grant(nil), r.ACL...)
	return &c, nil
}

func (rn *run) lock(r *Relation, mode storage.TableLock) error {
	_, err := rn.x.LockTable(r.ID, mode, storage.Wait)
	return err
}

// open finds a relation that a schema change is about, locks it, and gives a copy to edit. kinds are the letters of the
// relation kinds that will do.
func (rn *run) open(a *analyzer, rv *pg.RangeVar, mode storage.TableLock, kinds string) (*Relation, error) {
	r, err := a.cat.relation(rv.Schemaname, rv.Relname)
	if err != nil {
		return nil, a.at(err, -1)
	}
	if !strings.ContainsRune(kinds, rune(r.Kind)) {
		return nil, types.Errorf("42809", "%q is not a %s", r.Name, objectWord(RelKind(kinds[0])))
	}
	if err := rn.owns(r.Owner, objectWord(r.Kind), r.Name); err != nil {
		return nil, err
	}
	if err := rn.lock(r, mode); err != nil {
		return nil, err
	}
	return rn.change(a, r.QName())
}

func objectWord(k RelKind) string {
	switch k {
	case KindIndex:
		return "index"
	case KindSequence:
		return "sequence"
	case KindView:
		return "view"
	}
	return "table"
}

// owns fails with 42501 when the current role does not have the rights of the owner.
func (rn *run) owns(owner, kind, name string) error {
	role := rn.s.user()
	if rn.d.isSuperuser(rn.s, role) || rn.d.memberships(rn.s, role)[owner] {
		return nil
	}
	return types.Errorf("42501", "must be owner of %s %s", kind, name)
}

// duplicate is the error of CREATE for a name that is taken.
func duplicate(kind, name string) *types.Error {
	codes := map[string]string{"relation": "42P07", "schema": "42P06", "function": "42723"}
	code, ok := codes[kind]
	if !ok {
		code = "42710"
	}
	return types.Errorf(code, "%s %q already exists", kind, name)
}

// skip turns an error into the notice of IF [NOT] EXISTS. The server's notice of what is not there has no SQLSTATE of its own,
// that of what is there already has the error's.
func (rn *run) skip(e *types.Error) error {
	code := e.Code
	if strings.HasSuffix(e.Message, "does not exist") {
		code = "00000"
	}
	rn.notice(code, e.Message+", skipping")
	return nil
}

// freeName is wanted, or wanted with the first number that makes it free in the schema.
func (a *analyzer) freeName(schema, wanted string, taken func(string) bool) string {
	name := wanted
	for i := 1; a.cat.lookup(schema, name) != nil || taken != nil && taken(name); i++ {
		name = wanted + types.NewInt8(int64(i)).Text()
	}
	return name
}

// objectName joins the parts of a generated name, shortening the longer of the first two to keep within 63 bytes
// (makeObjectName).
func objectName(table, cols, label string) string {
	over := len(label) + 1
	if cols != "" {
		over += 1
	}
	for len(table)+len(cols)+over > 63 {
		if len(table) > len(cols) {
			table = table[:len(table)-1]
		} else {
			cols = cols[:len(cols)-1]
		}
	}
	if cols == "" {
		return table + "_" + label
	}
	return table + "_" + cols + "_" + label
}

// parseExpr parses one expression and gives it with the text that its positions refer to.
func parseExpr(text string) (*pg.Node, string, error) {
	sql := "SELECT " + text
	stmts, err := parser.Parse(sql)
	if err != nil {
		return nil, sql, err
	}
	return stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val, sql, nil
}

// columnsIn are the columns of r that an expression names, each once, in the order of the table.
func columnsIn(r *Relation, n *pg.Node) []int {
	seen := map[int]bool{}
	visitMessages(n.ProtoReflect(), func(m protoreflect.Message) {
		if c, ok := m.Interface().(*pg.ColumnRef); ok {
			if names := strs(c.Fields); len(names) > 0 {
				if i := r.Col(names[len(names)-1]); i >= 0 {
					seen[i] = true
				}
			}
		}
	})
	var out []int
	for i := range r.Columns {
		if seen[i] {
			out = append(out, i)
		}
	}
	return out
}

// relationsIn are the qualified names of the relations that a query names.
func (a *analyzer) relationsIn(n *pg.Node) map[string]bool {
	set := map[string]bool{}
	visitRangeVars(n, func(rv *pg.RangeVar) {
		if r := a.cat.lookup(rv.Schemaname, rv.Relname); r != nil {
			set[r.QName()] = true
		}
	})
	return set
}
