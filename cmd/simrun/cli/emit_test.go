package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmittedTestFails finds a failure, has replay write a test for it into a module of its own, and runs that.
func TestEmittedTestFails(t *testing.T) {
	dir := t.TempDir()
	var out, errs strings.Builder
	if code := execute([]string{"fuzz", "--scenario", "examples/sqlcqueue", "--variant", "racy", "--out", dir}, &out, &errs); code != exitViolated {
		t.Fatalf("code %d\n%s%s", code, out.String(), errs.String())
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*[0-9].simrun.json"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	target := filepath.Join(dir, "regression", "queue_test.go")
	if err := os.Mkdir(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := execute([]string{"replay", files[0], "--emit-test", target}, &out, &errs); code != exitViolated {
		t.Fatalf("code %d\n%s%s", code, out.String(), errs.String())
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if code := execute([]string{"replay", files[0], "--emit-test", target}, &out, &errs); code != exitCouldNot {
		t.Error("an existing test was overwritten")
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module simrun", "module regression", 1) + "\nrequire simrun v0.0.0\n\nreplace simrun => " + root + "\n"
	for name, data := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, "regression", name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "test", "-mod=mod", ".")
	c.Dir, c.Env = filepath.Dir(target), append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	got, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(got), "StartedOnce") || !strings.Contains(string(got), "--- FAIL: TestExamplesSqlcqueueStartedOnce") {
		t.Errorf("%v\n%s", err, got)
	}
}
