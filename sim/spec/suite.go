package spec

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Files returns the .spec files that a path names: itself, or those in the folder, sorted.
func Files(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*.spec"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no .spec file in %s", path)
	}
	slices.Sort(files)
	return files, err
}

// specName is the name of a file without folder and ".spec".
func specName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".spec") }

// Verdict is how a file's output compares with the expected outputs.
type Verdict struct {
	Name    string        `json:"name"`
	Passed  bool          `json:"passed"`
	Refused string        `json:"refused,omitempty"` // what the backend does not support, "" when it ran
	Output  []byte        `json:"-"`
	Diff    string        `json:"diff,omitempty"` // against the closest expected output, when it differs
	Took    time.Duration `json:"nanoseconds"`
}

// Check runs a file and compares all it prints with <dir>/<name>.out and its variants <name>_1.out ...: one has to be equal.
func Check(file, dir string, backend Backend) (Verdict, error) {
	name := specName(file)
	v := Verdict{Name: name}
	variants, err := Variants(dir, name)
	if err != nil {
		return v, err
	}
	begun := time.Now()
	var out bytes.Buffer
	err = RunFile(file, backend, &out, &out)
	v.Took = time.Since(begun)
	v.Output = out.Bytes()
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		v.Refused = refused.Construct
		return v, nil
	case err != nil && err != ErrFailed:
		return v, fmt.Errorf("%s: %w", file, err)
	}
	for _, want := range variants {
		if bytes.Equal(want, v.Output) {
			v.Passed = true
			return v, nil
		}
		if d := diff(string(want), out.String()); v.Diff == "" || len(d) < len(v.Diff) {
			v.Diff = d
		}
	}
	return v, nil
}

// Variants reads the expected outputs of a spec.
func Variants(dir, name string) (list [][]byte, err error) {
	first := filepath.Join(dir, name+".out")
	more, _ := filepath.Glob(filepath.Join(dir, name+"_[0-9].out"))
	for _, file := range append([]string{first}, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}
