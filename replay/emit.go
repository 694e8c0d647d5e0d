package replay

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"text/template"
	"unicode"

	"simrun/sim"
)

var emitted = template.Must(template.New("test").Parse(`package {{.Package}}

import (
	"testing"

	"simrun/sim"
	"simrun/sim/simtest"
	_ {{printf "%q" .Import}} // registers the scenario
)

// {{.Name}} makes the run again in which{{if .Mutants}} (with {{.Mutants}}){{end}} {{.Invariant}} broke:
// {{.Detail}}
func {{.Name}}(t *testing.T) {
	s := sim.Lookup({{printf "%q" .Scenario}})
	if s == nil {
		t.Fatal({{printf "%q" .Missing}})
	}
	simtest.Replay(t, s, {{printf "%q" .File}})
}
`))

// EmitTest writes a Go test into the file path, NAME_test.go, that fails as long as f's run breaks its invariant, and f itself into
// testdata/simrun beside it. An existing file is not overwritten.
func (f *File) EmitTest(path string) (failure string, err error) {
	if !strings.HasSuffix(path, "_test.go") {
		return "", fmt.Errorf("%s: the name of a Go test ends in _test.go", path)
	}
	if _, err := os.Stat(path); err == nil {
		return "", fmt.Errorf("%s exists; remove it, or choose another name", path)
	}
	in, s, err := f.Resolve()
	if err != nil {
		return "", err
	}
	registers := packageOf(s)
	if registers == "" || registers == "main" {
		return "", fmt.Errorf("scenario %s is registered in package main, which a test cannot import: move it to a package of its own", s.Name)
	}
	dir := filepath.Dir(path)
	rel := "testdata/simrun/" + f.Name()
	var b bytes.Buffer
	if err := emitted.Execute(&b, map[string]string{
		"Package": testPackage(dir), "Import": registers, "Name": "Test" + camel(f.Scenario+" "+strings.Join(in.Mutants, " ")+" "+f.Violation.Invariant),
		"Mutants": strings.Join(in.Mutants, ", "), "Invariant": f.Violation.Invariant, "Detail": sim.OneLine(f.Violation.Detail, 0),
		"Scenario": f.Scenario, "File": rel, "Missing": "scenario " + f.Scenario + " is not registered",
	}); err != nil {
		return "", err
	}
	text, err := format.Source(b.Bytes())
	if err != nil {
		return "", err
	}
	failure = filepath.Join(dir, filepath.FromSlash(rel))
	err = errors.Join(os.MkdirAll(filepath.Dir(failure), 0o755), f.Write(failure), os.WriteFile(path, text, 0o644))
	return failure, err
}

// packageOf is the import path of the package that a scenario's Build is in.
func packageOf(s *sim.Scenario) string {
	name := runtime.FuncForPC(reflect.ValueOf(s.Build).Pointer()).Name() // "simrun/sim/rings.init.func1"
	slash := strings.LastIndexByte(name, '/') + 1
	base, _, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + base
}

var notIdent = regexp.MustCompile(`[^a-z0-9]`)

// testPackage is the name of the package that a test in the folder belongs to: beside the package that is there, if one is.
func testPackage(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, path := range files {
		if f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly); err == nil {
			return strings.TrimSuffix(f.Name.Name, "_test") + "_test"
		}
	}
	abs, _ := filepath.Abs(dir)
	name := notIdent.ReplaceAllString(strings.ToLower(filepath.Base(abs)), "")
	if name == "" || unicode.IsDigit(rune(name[0])) {
		name = "p" + name
	}
	return name + "_test"
}

// camel joins the words of a name: "postings/claim no-lock" is PostingsClaimNoLock.
func camel(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}
