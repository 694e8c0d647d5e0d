package sql

import (
	"reflect"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// exprMaker analyses one kind of expression node.
type exprMaker func(q *query, n *pg.Node) (expr, error)

// exprKinds is filled by registerExpr in the files that implement the kinds.
var exprKinds = map[reflect.Type]exprMaker{}

// registerExpr ties a parse-node type (the oneof wrapper, such as *pg.Node_ColumnRef) to its analysis.
func registerExpr[N any](mk func(q *query, n N) (expr, error)) {
	exprKinds[reflect.TypeFor[N]()] = func(q *query, n *pg.Node) (expr, error) { return mk(q, any(n.Node).(N)) }
}

// expr analyses an expression. Its type may still be Unknown.
func (q *query) expr(n *pg.Node) (expr, error) {
	if n == nil || n.Node == nil {
		return nil, types.NewError("XX000", "empty expression")
	}
	mk, ok := exprKinds[reflect.TypeOf(n.Node)]
	if !ok {
		return nil, q.a.unsupported(nodeLocation(n), nodeName(n.Node))
	}
	return mk(q, n)
}

// exprs analyses a list.
func (q *query) exprs(ns []*pg.Node) ([]expr, error) {
	es := make([]expr, len(ns))
	for i, n := range ns {
		e, err := q.expr(n)
		if err != nil {
			return nil, err
		}
		es[i] = e
	}
	return es, nil
}

// where analyses a condition of a clause, in which aggregates are not allowed.
func (q *query) where(n *pg.Node, clause string) (expr, error) {
	if n == nil {
		return nil, nil
	}
	saved := q.noAgg
	q.noAgg = clause
	defer func() { q.noAgg = saved }()
	e, err := q.expr(n)
	if err != nil {
		return nil, err
	}
	return q.a.boolean(e, clause)
}

// boolean coerces a condition.
func (a *analyzer) boolean(e expr, clause string) (expr, error) {
	if t := e.typ(); t != boolType && t.Kind != types.Unknown {
		return nil, a.errorf(leftmost(e), "42804", "argument of %s must be type boolean, not type %s", clause, t)
	}
	return a.coerce(e, boolType, -1, implicit)
}

// leftmost is where an expression begins (exprLocation): the first of its own place and those of its operands.
func leftmost(e expr) int32 {
	loc := e.loc()
	for _, c := range e.children() {
		if l := leftmost(c); c != nil && l >= 0 && (loc < 0 || l < loc) {
			loc = l
		}
	}
	return loc
}

func nodeName(n any) string {
	name := reflect.TypeOf(n).String() // *pg_query.Node_Foo
	const prefix = "*pg_query.Node_"
	if len(name) > len(prefix) {
		name = name[len(prefix):]
	}
	return name
}

// nodeLocation is the byte offset of a node, -1 when it has none.
func nodeLocation(n *pg.Node) int32 {
	if n == nil || n.Node == nil {
		return -1
	}
	v := reflect.ValueOf(n.Node).Elem().Field(0)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		if f := v.Elem().FieldByName("Location"); f.IsValid() && f.CanInt() {
			return int32(f.Int())
		}
		if r, ok := v.Interface().(*pg.RangeVar); ok {
			return r.Location
		}
	}
	return -1
}

// strs reads a list of String nodes, such as a qualified name.
func strs(ns []*pg.Node) []string {
	out := make([]string, 0, len(ns))
	for _, n := range ns {
		if s, ok := n.Node.(*pg.Node_String_); ok {
			out = append(out, s.String_.Sval)
		}
	}
	return out
}
