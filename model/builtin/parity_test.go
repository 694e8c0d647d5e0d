package builtin_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/builtin"
	"simrun/model/types"
	"simrun/sim/postgres/pgtest"
)

var update = flag.Bool("update", false, "write the golden file from the real server's answers")

const (
	expressionFile = "testdata/expressions.txt"
	goldenFile     = "testdata/expressions.golden"
)

// TestExpressions evaluates a wide table of expressions and compares type, result and errors with what the server said.
func TestExpressions(t *testing.T) {
	src, err := os.ReadFile(expressionFile)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, e := range expressions(string(src)) {
		fmt.Fprintf(&got, "%s\n\t%s\n", e, answer(e))
	}
	have, want := strings.Split(got.String(), "\n"), strings.Split(string(golden), "\n")
	if len(have) != len(want) {
		t.Fatalf("%d lines, the golden file has %d: run with -update", len(have), len(want))
	}
	for i := 1; i < len(want); i += 2 {
		if have[i] != want[i] {
			t.Errorf("%s\n\thave %s\n\twant %s", want[i-1], have[i], want[i])
		}
	}
}

func expressions(src string) []string {
	var out []string
	for _, line := range strings.Split(src, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// TestExpressionsOnServer compares the golden file with what the server says; with -update it writes the file.
func TestExpressionsOnServer(t *testing.T) {
	src, err := os.ReadFile(expressionFile)
	if err != nil {
		t.Fatal(err)
	}
	got := askServer(t, string(src))
	if *update {
		if err := os.WriteFile(goldenFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := 1; i < len(w) && i < len(g); i += 2 {
		if w[i] != g[i] {
			t.Errorf("%s\n\tserver %s\n\tgolden %s", w[i-1], g[i], w[i])
		}
	}
	if len(w) != len(g) {
		t.Errorf("%d lines, the golden file has %d", len(g), len(w))
	}
}

func askServer(t *testing.T, src string) []byte {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET timezone = 'UTC'; SET search_path = pg_catalog"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, e := range expressions(src) {
		fmt.Fprintf(&out, "%s\n\t", e)
		rows, err := conn.Query(ctx, "SELECT x::text, pg_typeof(x)::text FROM (SELECT "+e+") s(x)", pgx.QueryExecModeSimpleProtocol)
		var lines []string
		for err == nil && rows.Next() {
			var x *string
			var typ string
			if err := rows.Scan(&x, &typ); err != nil {
				t.Fatal(e, err)
			}
			if x == nil {
				lines = append(lines, typ+" NULL")
			} else {
				lines = append(lines, fmt.Sprintf("%s %q", typ, *x))
			}
		}
		if err == nil {
			err = rows.Err()
		}
		var pe *pgconn.PgError
		if errors.As(err, &pe) {
			lines = []string{errorLine(pe.Code, pe.Message, pe.Detail, pe.Hint)}
		} else if err != nil {
			t.Fatal(e, err)
		}
		fmt.Fprintf(&out, "%s\n", strings.Join(lines, "; "))
	}
	return out.Bytes()
}

func errorLine(code, message, detail, hint string) string {
	return fmt.Sprintf("%s %q %q %q", code, message, detail, hint)
}

// answer evaluates "expression" or "expression FROM unnest(array) v".
func answer(e string) string {
	tree, err := pg.Parse("SELECT " + e)
	if err != nil {
		return err.Error()
	}
	sel := tree.Stmts[0].Stmt.GetSelectStmt()
	node := sel.TargetList[0].GetResTarget().Val
	ev := &evaluator{}
	vals, err := ev.query(node, sel.FromClause)
	var pe *types.Error
	if errors.As(err, &pe) {
		return errorLine(pe.Code, pe.Message, pe.Detail, pe.Hint)
	}
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, v := range vals {
		if v.T.Kind == types.Unknown { // as an output column, a literal is text
			v.T = types.Of(types.Text)
		}
		if !v.Valid {
			lines = append(lines, v.T.String()+" NULL")
			continue
		}
		s, err := types.Cast(v, types.Of(types.Text))
		if err != nil {
			return err.Error()
		}
		lines = append(lines, fmt.Sprintf("%s %q", v.T, s.S))
	}
	return strings.Join(lines, "; ")
}

// evaluator is a small interpreter of expressions, enough to reach each built-in function as the SQL front reaches it.
type evaluator struct {
	row *builtin.V // the column v
}

func (ev *evaluator) query(node *pg.Node, from []*pg.Node) ([]builtin.V, error) {
	call := node.GetFuncCall()
	if len(from) == 0 {
		if call != nil {
			if f, args, err := ev.call(call); err == nil && f.Rows != nil {
				if !strictOK(f, args) {
					return nil, nil
				}
				return f.Rows(testEnv{}, args)
			}
		}
		v, err := ev.eval(node)
		return []builtin.V{v}, err
	}
	src := from[0].GetRangeFunction().Functions[0].GetList().Items[0]
	rows, err := ev.query(src, nil)
	if err != nil {
		return nil, err
	}
	if call == nil || !builtin.IsAggregate(funcName(call)) {
		return nil, fmt.Errorf("only aggregates have FROM here")
	}
	var argTypes []types.Type
	inner := &evaluator{row: &builtin.V{T: types.Of(types.Int4)}}
	if src.GetFuncCall().Args[0] != nil {
		a, err := ev.eval(src.GetFuncCall().Args[0])
		if err != nil {
			return nil, err
		}
		null := types.Null(a.T.ElemType())
		inner.row = &null
	}
	for _, a := range call.Args {
		v, err := inner.eval(a)
		if err != nil {
			return nil, err
		}
		argTypes = append(argTypes, v.T)
	}
	agg, perr := builtin.FindAggregate(funcName(call), argTypes)
	if perr != nil {
		return nil, perr
	}
	acc := agg.New()
	for i := range rows {
		inner.row = &rows[i]
		var args []builtin.V
		for j, a := range call.Args {
			v, err := inner.eval(a)
			if err == nil {
				v, err = types.Cast(v, agg.Args[j])
			}
			if err != nil {
				return nil, err
			}
			args = append(args, v)
		}
		if err := acc.Step(args); err != nil {
			return nil, err
		}
	}
	v, err := acc.Result()
	return []builtin.V{v}, err
}

func strictOK(f *builtin.Func, args []builtin.V) bool {
	for _, a := range args {
		if f.Strict && !a.Valid {
			return false
		}
	}
	return true
}

func funcName(c *pg.FuncCall) string { return c.Funcname[len(c.Funcname)-1].GetString_().Sval }

func (ev *evaluator) all(nodes []*pg.Node) (vals []builtin.V, ts []types.Type, err error) {
	for _, n := range nodes {
		v, err := ev.eval(n)
		if err != nil {
			return nil, nil, err
		}
		vals, ts = append(vals, v), append(ts, v.T)
	}
	return vals, ts, nil
}

func (ev *evaluator) call(c *pg.FuncCall) (*builtin.Func, []builtin.V, error) {
	args, ts, err := ev.all(c.Args)
	if err != nil {
		return nil, nil, err
	}
	f, perr := builtin.FindFunction(funcName(c), ts, c.FuncVariadic)
	if perr != nil {
		return nil, nil, perr
	}
	for i := range args {
		if args[i], err = types.Cast(args[i], f.Args[i]); err != nil {
			return nil, nil, err
		}
	}
	return f, args, nil
}

func apply(f *builtin.Func, args []builtin.V) (builtin.V, error) {
	if !strictOK(f, args) {
		return types.Null(f.Ret), nil
	}
	v, err := f.Eval(testEnv{}, args)
	if err == nil && v.T != f.Ret {
		return v, fmt.Errorf("%s gives a %s, its signature says %s", f.Name, v.T, f.Ret)
	}
	return v, err
}

func (ev *evaluator) eval(n *pg.Node) (builtin.V, error) {
	switch x := n.Node.(type) {
	case *pg.Node_AConst:
		return constant(x.AConst)
	case *pg.Node_ColumnRef:
		return *ev.row, nil
	case *pg.Node_FuncCall:
		f, args, err := ev.call(x.FuncCall)
		if err != nil {
			return builtin.V{}, err
		}
		return apply(f, args)
	case *pg.Node_AArrayExpr:
		vals, ts, err := ev.all(x.AArrayExpr.Elements)
		if err != nil {
			return builtin.V{}, err
		}
		common, perr := builtin.CommonType(ts, "ARRAY")
		if perr != nil {
			return builtin.V{}, perr
		}
		for i := range vals {
			if vals[i], err = types.Cast(vals[i], common); err != nil {
				return builtin.V{}, err
			}
		}
		return types.NewArray(common.Kind, vals), nil
	case *pg.Node_RowExpr:
		vals, _, err := ev.all(x.RowExpr.Args)
		for i := range vals {
			if vals[i].T.Kind == types.Unknown {
				vals[i].T = types.Of(types.Text)
			}
		}
		return types.NewRecord(vals), err
	case *pg.Node_TypeCast:
		v, err := ev.eval(x.TypeCast.Arg)
		if err != nil {
			return builtin.V{}, err
		}
		t, mod := typeName(x.TypeCast.TypeName)
		if !types.CanCast(v.T, t, types.Explicit) {
			return builtin.V{}, types.Errorf("42846", "cannot cast type %s to %s", v.T, t)
		}
		if v, err = types.Cast(v, t); err != nil {
			return builtin.V{}, err
		}
		return types.ApplyMod(v, mod, true)
	case *pg.Node_AExpr:
		op := x.AExpr.Name[len(x.AExpr.Name)-1].GetString_().Sval
		nodes := []*pg.Node{x.AExpr.Rexpr}
		if x.AExpr.Lexpr != nil {
			nodes = []*pg.Node{x.AExpr.Lexpr, x.AExpr.Rexpr}
		}
		args, ts, err := ev.all(nodes)
		if err != nil {
			return builtin.V{}, err
		}
		left := types.Type{}
		if len(ts) == 2 {
			left = ts[0]
		}
		f, perr := builtin.FindOperator(op, left, ts[len(ts)-1], len(ts) == 1)
		if perr != nil {
			return builtin.V{}, perr
		}
		for i := range args {
			if args[i], err = types.Cast(args[i], f.Args[i]); err != nil {
				return builtin.V{}, err
			}
		}
		return apply(f, args)
	}
	return builtin.V{}, fmt.Errorf("cannot evaluate %T", n.Node)
}

func constant(c *pg.A_Const) (builtin.V, error) {
	switch v := c.Val.(type) {
	case *pg.A_Const_Ival:
		return types.NewInt4(v.Ival.Ival), nil
	case *pg.A_Const_Fval:
		if n, err := types.Parse(v.Fval.Fval, types.Of(types.Int8)); err == nil {
			return n, nil
		}
		return types.Parse(v.Fval.Fval, types.Of(types.Numeric))
	case *pg.A_Const_Boolval:
		return types.NewBool(v.Boolval.Boolval), nil
	case *pg.A_Const_Sval:
		return types.NewUnknown(v.Sval.Sval), nil
	}
	return builtin.V{}, nil // NULL
}

func typeName(tn *pg.TypeName) (types.Type, types.Mod) {
	t, ok := types.ByName(tn.Names[len(tn.Names)-1].GetString_().Sval)
	if !ok {
		panic("no type " + tn.String())
	}
	if len(tn.ArrayBounds) > 0 {
		t = types.ArrayOf(t.Kind)
	}
	mod := types.NoMod
	var mods []int32
	for _, m := range tn.Typmods {
		mods = append(mods, m.GetAConst().GetIval().GetIval())
	}
	switch {
	case len(mods) == 0 || t.Kind == types.Interval:
	case t.Kind == types.Numeric && len(mods) == 1:
		mod = types.NumericMod(mods[0], 0)
	case t.Kind == types.Numeric:
		mod = types.NumericMod(mods[0], mods[1])
	case t.Kind == types.Varchar || t.Kind == types.Bpchar:
		mod = types.Mod(mods[0] + 4)
	default:
		mod = types.Mod(mods[0])
	}
	return t, mod
}

// testEnv answers what does not depend on a session; the golden file asks for nothing else.
type testEnv struct{ builtin.Env }
