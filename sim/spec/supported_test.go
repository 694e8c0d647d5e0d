package spec

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	gotoken "go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// statementsOfPostgres are the kinds of statements that the grammar has, by their nodes. Some nodes of such a name are parts of others.
func statementsOfPostgres() []string {
	parts := []string{"RawStmt", "SetOperationStmt", "ReturnStmt", "ReplicaIdentityStmt", "PLAssignStmt"}
	var list []string
	fields := (&pg.Node{}).ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Message().Name())
		if strings.HasSuffix(name, "Stmt") && !slices.Contains(parts, name) {
			list = append(list, name)
		}
	}
	return list
}

// readModel finds in the model's sources the statements that it knows and the constructs that it refuses by name, where ... stands
// for what the statement says.
func readModel(t *testing.T) (statements map[string]bool, refused map[string]bool) {
	t.Helper()
	files, err := filepath.Glob("../../model/sql/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	statements, refused = map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := goparser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			switch {
			case name == "registerStatement":
				if fn, ok := call.Args[0].(*ast.FuncLit); ok && !refusesOnly(fn) {
					star := fn.Type.Params.List[1].Type.(*ast.StarExpr)
					statements[strings.TrimPrefix(star.X.(*ast.SelectorExpr).Sel.Name, "Node_")] = true
				}
			case name == "unsupported" && len(call.Args) == 2:
				if text := pattern(call.Args[1]); text != "..." {
					refused[text] = true
				}
			case (name == "Errorf" || name == "NewError" || name == "errorf") && len(call.Args) >= 2:
				for _, arg := range call.Args {
					if what, found := strings.CutSuffix(pattern(arg), " is not supported by the model"); found && what != "%s" {
						refused[strings.NewReplacer("%s", "...", "%q", "...").Replace(what)] = true
					}
				}
			}
			return true
		})
	}
	return statements, refused
}

// refusesOnly says that a statement is known only to be refused.
func refusesOnly(fn *ast.FuncLit) bool {
	if len(fn.Body.List) != 1 {
		return false
	}
	ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
	return ok && len(ret.Results) == 2 && strings.Contains(pattern(ret.Results[1]), "unsupported")
}

// pattern is a string expression with ... for what is not constant; of a call its name.
func pattern(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return s
		}
	case *ast.BinaryExpr:
		return strings.ReplaceAll(pattern(e.X)+pattern(e.Y), "......", "...")
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "unsupported" {
			return "unsupported"
		}
	}
	return "..."
}

// TestSupportedDocument holds the lists of docs/postgres.md to the model's sources.
func TestSupportedDocument(t *testing.T) {
	statements, refused := readModel(t)
	var known, unknown []string
	for _, s := range statementsOfPostgres() {
		if statements[s] {
			known = append(known, strings.TrimSuffix(s, "Stmt"))
		} else {
			unknown = append(unknown, strings.TrimSuffix(s, "Stmt"))
		}
	}
	if len(known) < 20 || len(refused) < 30 {
		t.Fatalf("%d statements and %d refusals were found", len(known), len(refused))
	}
	section(t, "statements", strings.Join(known, ", ")+".\n")
	section(t, "statements refused", strings.Join(unknown, ", ")+".\n")
	var b strings.Builder
	for _, r := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(&b, "* %s\n", strings.TrimSpace(r))
	}
	section(t, "constructs refused", b.String())
}
