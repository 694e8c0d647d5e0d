package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"simrun/scheduler"
)

// Schema is the version of the failure file's form that this program writes. A change that old programs cannot read
// raises it.
const Schema = 1

// File is a failure file, NAME.simrun.json: all that is needed to make a run again and to see whether it is still the same.
// docs/failure-file.md describes it for other tools.
type File struct {
	Schema    int    `json:"simrun_failure"`
	Tool      string `json:"tool"` // version of simrun that wrote it
	Spec             // what was run
	Violation Broken `json:"violation"`
	Steps     []Line `json:"steps"`
}

// Broken is the violated invariant.
type Broken struct {
	Invariant string `json:"invariant"`
	Detail    string `json:"detail"`
}

// Line is one step of the run.
type Line struct {
	Choice string `json:"choice,omitempty"` // "" for a wake-up that followed at once from the choice before it
	Digest string `json:"digest"`           // of everything that the step did, 16 hexadecimal digits
	Log    string `json:"log"`              // the step in words
}

// NewFile makes the failure file of a run.
func NewFile(r *Run, tool string) *File {
	f := &File{Schema: Schema, Tool: tool, Spec: r.Spec, Violation: Broken{r.Violation.Invariant, r.Violation.Detail}}
	for i := range r.Trace.Steps {
		s := &r.Trace.Steps[i]
		l := Line{Digest: fmt.Sprintf("%016x", s.Digest), Log: s.Line(r.Trace.Actors)}
		if !s.Eager {
			l.Choice = s.Name
		}
		f.Steps = append(f.Steps, l)
	}
	return f
}

// Choices is the schedule.
func (f *File) Choices() []string {
	var out []string
	for _, l := range f.Steps {
		if l.Choice != "" {
			out = append(out, l.Choice)
		}
	}
	return out
}

// Name is a name for the file, made of what it holds: "rings-flip-NoSkip-42.simrun.json", with the mutants after the scenario.
func (f *File) Name() string {
	parts := append(append([]string{f.Scenario}, f.Mutants...), f.Violation.Invariant, fmt.Sprint(f.Seed))
	return strings.ReplaceAll(strings.Join(parts, "-"), "/", "-") + ".simrun.json"
}

// Write writes the file.
func (f *File) Write(path string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// WriteTo writes the file into a folder, which it makes if it is not there, under its own name, and returns where it is.
func (f *File) WriteTo(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(dir, f.Name())
	return path, f.Write(path)
}

// Read reads a failure file.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f File
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s is no failure file: %w", path, err)
	}
	switch {
	case f.Schema == 0:
		return nil, fmt.Errorf("%s is no failure file: it has no field simrun_failure", path)
	case f.Schema > Schema:
		return nil, fmt.Errorf("%s has the form %d of failure files; this simrun (%d) is older than the one that wrote it (%s)", path, f.Schema, Schema, f.Tool)
	case len(f.Steps) == 0:
		return nil, fmt.Errorf("%s has no steps", path)
	}
	return &f, nil
}

// Drift says from which step on a file's run is no longer the same, because the code or the SQL has changed.
type Drift struct {
	Step    int      // index of the step; the number of steps in the file when only the verdict differs
	Was     string   // the step in the file
	Now     string   // the step now; "" when the run cannot make it
	Enabled []string // when the run cannot make the step: what it could do instead
}

// Error says it in a few lines.
func (d *Drift) Error() string {
	if d.Now == "" && d.Enabled != nil {
		return fmt.Sprintf("the file no longer applies at step %d\n  it was:   %s\n  possible: %s", d.Step, d.Was, strings.Join(d.Enabled, ", "))
	}
	return fmt.Sprintf("the run is no longer the same from step %d on\n  it was: %s\n  now:    %s", d.Step, d.Was, d.Now)
}

// Again runs the file's schedule on a backend of open's. The drift is nil when every step was the same, byte for byte, and
// the same invariant broke.
func (f *File) Again(open Opener) (*Run, *Drift, error) {
	run, err := Follow(f.Spec, f.Choices(), open)
	if err != nil {
		return nil, nil, err
	}
	return run, f.drift(run), nil
}

func (f *File) drift(run *Run) *Drift {
	now := NewFile(run, f.Tool)
	for i, l := range f.Steps {
		if i < len(now.Steps) {
			if l != now.Steps[i] {
				return &Drift{Step: i, Was: l.Log, Now: now.Steps[i].Log}
			}
			continue
		}
		d := &Drift{Step: i, Was: l.Log, Enabled: []string{}}
		var gone *scheduler.NotEnabled
		switch {
		case errors.As(run.Err, &gone):
			d.Enabled = gone.Enabled
		case run.Err != nil:
			d.Now = run.Err.Error()
		case run.Violation.Invariant != "":
			d.Now = "the run ended before it, with " + run.Violation.Invariant + ": " + run.Violation.Detail
		}
		return d
	}
	if now.Violation != f.Violation {
		return &Drift{Step: len(f.Steps), Was: f.Violation.verdict(), Now: now.Violation.verdict()}
	}
	return nil
}

func (b Broken) verdict() string {
	if b.Invariant == "" {
		return "all invariants held"
	}
	return b.Invariant + ": " + b.Detail
}
