package model_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"simrun/model"
	"simrun/sim"
	"simrun/sim/postgres/pgtest"
)

var update = flag.Bool("update", false, "write the expected outputs of testdata/scripts from the real server")

// target is what a script runs on: the model or a real server.
type target interface {
	Open(session int) error
	Close(session int) error
	Submit(session int, sql string, args []any) (model.Reply, error)
	Woken(buf []int) []int
	Resume(session int) (model.Reply, error)
	Interrupt(session int, sqlstate string) (model.Reply, error)
	SetNow(t time.Time) error
}

// script runs testdata/scripts/*.sql. Lines are
//
//	setup: SQL                 run by the superuser before the sessions start
//	a: SQL                     a step of session a; "-- args [1, "x"]" at its end makes it a statement with parameters
//	interrupt a 40P01          ends session a's wait
//	close a                    ends session a; its next step opens it again
//	clock 5s                   moves the time on
//
// and comments with #. After each step the sessions that were woken go on, in order of their letters.
type script struct {
	setup string
	steps []string
}

func readScript(t testing.TB, file string) script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	for _, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "setup:"):
			s.setup += strings.TrimPrefix(line, "setup:") + ";\n"
		default:
			s.steps = append(s.steps, line)
		}
	}
	return s
}

func (s script) run(t testing.TB, on target) string {
	t.Helper()
	var out strings.Builder
	open := map[int]bool{}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	must := func(err error) {
		if err != nil {
			t.Fatalf("%s\n%v", out.String(), err)
		}
	}
	must(on.SetNow(now))
	settle := func() {
		for {
			woken := on.Woken(nil)
			if len(woken) == 0 {
				return
			}
			least := woken[0]
			for _, w := range woken {
				least = min(least, w)
			}
			rep, err := on.Resume(least)
			must(err)
			fmt.Fprintf(&out, "%c goes on\n%s", 'a'+least, describe(rep))
		}
	}
	for _, step := range s.steps {
		fmt.Fprintln(&out, step)
		words := strings.Fields(step)
		switch words[0] {
		case "interrupt":
			rep, err := on.Interrupt(int(words[1][0]-'a'), words[2])
			must(err)
			out.WriteString(describe(rep))
		case "close":
			i := int(words[1][0] - 'a')
			must(on.Close(i))
			open[i] = false
		case "clock":
			d, err := time.ParseDuration(words[1])
			must(err)
			now = now.Add(d)
			must(on.SetNow(now))
		default:
			i := int(step[0] - 'a')
			sql, args := splitArgs(t, strings.TrimSpace(step[2:]))
			if !open[i] {
				must(on.Open(i))
				open[i] = true
			}
			rep, err := on.Submit(i, sql, args)
			must(err)
			out.WriteString(describe(rep))
		}
		settle()
	}
	return out.String()
}

func splitArgs(t testing.TB, sql string) (string, []any) {
	head, tail, ok := strings.Cut(sql, "-- args ")
	if !ok {
		return sql, nil
	}
	args := []any{}
	dec := json.NewDecoder(strings.NewReader(tail))
	dec.UseNumber()
	if err := dec.Decode(&args); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	for i, a := range args {
		switch v := a.(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				args[i] = n
			} else {
				args[i] = v.String()
			}
		case []any:
			var list []string
			for _, x := range v {
				list = append(list, fmt.Sprint(x))
			}
			args[i] = "{" + strings.Join(list, ",") + "}"
		}
	}
	return strings.TrimSpace(head), args
}

func describe(rep model.Reply) string {
	var b strings.Builder
	if rep.Blocked {
		var by []string
		for _, s := range rep.By {
			by = append(by, string(rune('a'+s)))
		}
		return "  waits for " + strings.Join(by, ", ") + "\n"
	}
	for r := rep.Result; r != nil; r = r.Next {
		for _, n := range r.Notices {
			fmt.Fprintf(&b, "  %s:  %s\n", n.Severity, n.Message)
		}
		if len(r.Fields) > 0 {
			var names []string
			for _, f := range r.Fields {
				names = append(names, f.Name+" "+f.Type.String())
			}
			fmt.Fprintf(&b, "  (%s)\n", strings.Join(names, ", "))
		}
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, v := range row {
				if cells[i] = "NULL"; v.Valid {
					cells[i] = v.Text()
				}
			}
			fmt.Fprintf(&b, "  %s\n", strings.Join(cells, " | "))
		}
		fmt.Fprintf(&b, "  %s\n", r.Tag)
	}
	if e := rep.Err; e != nil {
		fmt.Fprintf(&b, "  %s %s:  %s", e.Severity, e.Code, e.Message)
		if e.Position > 0 {
			fmt.Fprintf(&b, " at %d", e.Position)
		}
		if e.Detail != "" && e.Code != "40P01" {
			fmt.Fprintf(&b, "\n    DETAIL: %s", e.Detail)
		}
		if e.Hint != "" {
			fmt.Fprintf(&b, "\n    HINT: %s", e.Hint)
		}
		b.WriteByte('\n')
	}
	if rep.Tx != 'I' {
		fmt.Fprintf(&b, "  [%c]\n", rep.Tx)
	}
	return b.String()
}

// modelTarget runs scripts on the model.
type modelTarget struct {
	db *model.DB
	// sessions of the database by letter
	ids map[int]int
}

func newModelTarget(t testing.TB, setup string) *modelTarget {
	t.Helper()
	m := &modelTarget{db: model.New(), ids: map[int]int{}}
	s := m.db.Open("")
	if rep := m.db.Submit(s, setup, nil); rep.Err != nil {
		t.Fatalf("setup: %v", rep.Err)
	}
	m.db.Close(s)
	return m
}

func (m *modelTarget) Open(i int) error {
	for m.db.IsOpen(i) == false {
		s := m.db.Open("")
		m.ids[s] = s
	}
	return nil
}
func (m *modelTarget) Close(i int) error { m.db.Close(i); return nil }
func (m *modelTarget) Submit(i int, sql string, args []any) (model.Reply, error) {
	return m.db.Submit(i, sql, args), nil
}
func (m *modelTarget) Woken(buf []int) []int             { return m.db.Woken(buf) }
func (m *modelTarget) Resume(i int) (model.Reply, error) { return m.db.Resume(i), nil }
func (m *modelTarget) Interrupt(i int, state string) (model.Reply, error) {
	return m.db.Interrupt(i, state), nil
}
func (m *modelTarget) SetNow(t time.Time) error { m.db.SetNow(t); return nil }

// serverTarget runs scripts on a real server.
type serverTarget struct{ sim.Backend }

func (s serverTarget) Open(i int) error {
	return s.Backend.Open(i, sim.ActorSpec{Name: string(rune('a' + i))})
}
func (s serverTarget) Submit(i int, sql string, args []any) (model.Reply, error) {
	return s.Backend.Submit(i, sim.Request{SQL: sql, Args: args})
}

func scripts(t testing.TB) []string {
	files, err := filepath.Glob("testdata/scripts/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	return files
}

// TestScripts runs every script on the model and compares with what a real server answered.
func TestScripts(t *testing.T) {
	for _, file := range scripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			s := readScript(t, file)
			got := s.run(t, newModelTarget(t, s.setup))
			want, err := os.ReadFile(strings.TrimSuffix(file, ".sql") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			compare(t, string(want), got)
		})
	}
}

// TestScriptsOnServer runs every script on a real server; with -update it writes the expected outputs.
func TestScriptsOnServer(t *testing.T) {
	server := pgtest.Start(t)
	for _, file := range scripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			s := readScript(t, file)
			setup := &sim.Setup{Schema: s.setup}
			for i := range 6 {
				setup.Actors = append(setup.Actors, sim.ActorSpec{Name: string(rune('a' + i))})
			}
			b, err := server.NewBackend(setup)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Shutdown()
			got := s.run(t, serverTarget{b})
			out := strings.TrimSuffix(file, ".sql") + ".out"
			if *update {
				if err := os.WriteFile(out, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, string(want), got)
		})
	}
}

func compare(t testing.TB, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			from := max(0, i-6)
			t.Fatalf("line %d:\n%s\nwant %q\n got %q", i+1, strings.Join(g[from:min(i, len(g))], "\n"), a, b)
		}
	}
}
