package spec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/replay"
	"simrun/sim"
	"simrun/sim/postgres/pgtest"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
	"simrun/sim/spec"
)

// tap is a backend that writes down what each step got.
type tap struct {
	spec.Backend
	got map[string][]string // by session: "rows" or "ERROR:  message"
}

type tapped struct {
	spec.Conn
	tap     *tap
	session string
}

func (t *tap) Connect(sessions []string, notice func(int, string)) ([]spec.Conn, error) {
	conns, err := t.Backend.Connect(sessions, notice)
	t.got = map[string][]string{}
	for i := range conns {
		conns[i] = tapped{conns[i], t, sessions[i]}
	}
	return conns, err
}

func (c tapped) Answer() spec.Answer {
	a := c.Conn.Answer()
	c.tap.got[c.session] = append(c.tap.got[c.session], answerText(a))
	return a
}

// answerText is the last result of an answer in a line.
func answerText(a spec.Answer) string {
	if a.Err != "" {
		return strings.TrimSpace(a.Err)
	}
	if len(a.Results) == 0 || a.Results[len(a.Results)-1] == nil {
		return "done"
	}
	return fmt.Sprint(a.Results[len(a.Results)-1].Rows)
}

// stepText is the same of a step of a trace.
func stepText(s *sim.Step) string {
	if strings.Contains(s.SQL, "txid_current") || strings.Contains(s.SQL, "pg_current_xact_id") {
		return "" // the server's own numbers
	}
	if s.Reply.Err != nil {
		return s.Reply.Err.Severity + ":  " + s.Reply.Err.Message
	}
	r := s.Reply.Result
	for r != nil && r.Next != nil {
		r = r.Next
	}
	if r == nil || len(r.Fields) == 0 {
		return "done"
	}
	rows := [][]string{}
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			if v.Valid {
				cells[i] = v.Text()
			}
		}
		rows = append(rows, cells)
	}
	return fmt.Sprint(rows)
}

// wants are what the actors' statements got, in the order of each actor, that the emitted file has steps for.
func wants(t *sim.Trace) map[string][]string {
	want := map[string][]string{}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Actor >= 0 && s.SQL != "" && !s.Reply.Blocked && (s.Kind == sim.StepRun || s.Kind == sim.StepWake || s.Kind == sim.StepVictim) {
			if text := stepText(s); text != "" {
				want[t.Actors[s.Actor]] = append(want[t.Actors[s.Actor]], text)
			}
		}
	}
	return want
}

// contains says that list has the elements of part in their order, with others in between.
func contains(list, part []string) bool {
	for _, s := range list {
		if len(part) > 0 && s == part[0] {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// emitted emits the run of a failure file.
func emitted(t *testing.T, f *replay.File) (string, *replay.Run) {
	t.Helper()
	run, _, err := f.Again(sim.NewModel) // a finding that has drifted is another test's affair: what there is of it is emitted
	if err != nil {
		t.Fatal(err)
	}
	text, err := spec.Emit(run.Setup, run.Trace, run.Violation.Invariant, "A test.")
	if err != nil {
		t.Fatal(err)
	}
	return text, run
}

// TestEmitFindings emits the failures that are kept, and runs them on a server, where each statement of each actor must get what it got
// on the model, and the violated invariant, when it is SQL, must be seen.
func TestEmitFindings(t *testing.T) {
	files, err := filepath.Glob("../../testdata/findings/*.simrun.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if os.Getenv("SIMRUN_LONG") == "" {
		files = files[:4]
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := replay.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			text, run := emitted(t, f)
			runEmitted(t, text, run)
		})
	}
}

func runEmitted(t *testing.T, text string, run *replay.Run) {
	t.Helper()
	s, err := spec.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	server := &spec.Server{URL: pgtest.Database(t)}
	defer server.Close()
	tap := &tap{Backend: server}
	var out bytes.Buffer
	if err := (&spec.Runner{Spec: s, Backend: tap, Out: &out, Err: &out}).Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "teardown failed") {
		t.Error(out.String()[strings.Index(out.String(), "teardown failed"):])
	}
	for actor, want := range wants(run.Trace) {
		var got []string
		for _, sess := range s.Sessions {
			if sess.Name == actor || strings.HasPrefix(sess.Name, actor+" #") {
				got = append(got, tap.got[sess.Name]...)
			}
		}
		if !contains(got, want) {
			t.Errorf("%s got\n  %s\nwant, with others in between,\n  %s\n%s", actor, strings.Join(got, "\n  "), strings.Join(want, "\n  "), text)
		}
	}
	for _, inv := range run.Setup.Invariants {
		if inv.Name == run.Violation.Invariant && inv.SQL != "" {
			if got := tap.got["simrun"]; len(got) == 0 || got[len(got)-1] == "[]" {
				t.Errorf("%s is not violated: %v\n%s", inv.Name, got, text)
			}
		}
	}
}
