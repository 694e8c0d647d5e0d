package spec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/sim/postgres/pgtest"
)

const ours = "../../testdata/spec"

// TestOurs runs our own files, whose expected outputs isolationtester printed, on a server and on the model.
func TestOurs(t *testing.T) {
	files, err := Files(ours)
	if err != nil {
		t.Fatal(err)
	}
	server := &Server{URL: pgtest.Database(t)}
	defer server.Close()
	for name, backend := range map[string]Backend{"server": server, "model": &Model{}} {
		for _, file := range files {
			t.Run(name+"/"+filepath.Base(file), func(t *testing.T) {
				v, err := Check(file, ours, backend)
				if err != nil {
					t.Fatal(err)
				}
				if !v.Passed {
					t.Errorf("refused: %q\n%s", v.Refused, v.Diff)
				}
			})
		}
	}
}

// TestCheckFails shows that an output that is not as expected does not pass.
func TestCheckFails(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(ours, "all-orders.out"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("(1 row)"), []byte("(2 rows)"), 1)
	if err := os.WriteFile(filepath.Join(dir, "all-orders.out"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := Check(filepath.Join(ours, "all-orders.spec"), dir, &Model{})
	if err != nil || v.Passed || !strings.Contains(v.Diff, "- (2 rows)\n") || !strings.Contains(v.Diff, "+ (1 row)\n") {
		t.Errorf("verdict %+v, error %v", v, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "all-orders_1.out"), v.Output, 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := Check(filepath.Join(ours, "all-orders.spec"), dir, &Model{}); err != nil || !v.Passed {
		t.Errorf("the variant was not tried: %+v, %v", v, err)
	}
}

func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notify.spec")
	if err := os.WriteFile(file, []byte("session s step a { LISTEN x; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	var refused *Refused
	if err := RunFile(file, &Model{}, &bytes.Buffer{}, &bytes.Buffer{}); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"session s step a {} step a {}":                            "duplicate step name: a",
		"session s step a {} permutation b":                        `undefined step "b" specified in permutation`,
		"session s step a {} session t step b {} permutation a(b)": `undefined blocking step "b" referenced in permutation step "a"`,
		"session s step a {} step b {} permutation a(b) b":         `permutation step "a" cannot block on its own session`,
		"session s\n\nstep a\n\n{x":                                "unterminated sql block at line 5",
		"setup {}\nsession s setup {}\n teardown {}":               "syntax error at line 3",
		"session s step a {} ;":                                    `syntax error at line 1: unexpected character ";"`,
		"Session s step a {}":                                      "syntax error at line 1",
		"session step step a {}":                                   "syntax error at line 1",
		"":                                                         "syntax error at line 1",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	s, err := Parse("setup {\n x \t} setup {y}\nteardown { z } # comment { \nsession \"a \"\"b\" setup {s} step \"step\" {q # no comment\n} teardown {e}\n" +
		"session c step d {} step unused {}\npermutation \"step\"(*, d, d notices 3) d \"step\"")
	if err != nil {
		t.Fatal(err)
	}
	if s.Setups[0] != "\n x" || s.Setups[1] != "y" || s.Teardown != "z" || s.Sessions[0].Name != `a "b` || s.Sessions[0].Steps[0].SQL != "q # no comment\n" {
		t.Errorf("%+v", s)
	}
	m := s.Permutations[0][0].Markers
	if len(m) != 3 || !m[0].Star || m[1].Other != "d" || m[1].OtherSession != 1 || m[2].Notices != 3 {
		t.Errorf("%+v", m)
	}
	if len(s.Unused) != 1 || s.Unused[0] != "unused" {
		t.Error(s.Unused)
	}
}

func TestInterleavings(t *testing.T) {
	s, err := Parse("session s step a {} step b {} session t step c {} step d {}")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	s.Each(func(p Permutation) bool {
		var names string
		for _, l := range p {
			names += l.Name
		}
		all = append(all, names)
		return true
	})
	if got := strings.Join(all, " "); got != "abcd acbd acdb cabd cadb cdab" {
		t.Error(got)
	}
}

func TestTable(t *testing.T) {
	for want, table := range map[string]Table{
		" n|t  |e\n--+---+-\n 1|a  | \n-2|b c| \n(2 rows)\n\n": {Names: []string{"n", "t", "e"}, Rows: [][]string{{"1", "a", ""}, {"-2", "b c", ""}}},
		"a\n-\n(0 rows)\n\n":               {Names: []string{"a"}},
		"x    \n-----\nE5   \n(1 row)\n\n": {Names: []string{"x    "}, Rows: [][]string{{"E5"}}},
	} {
		var b strings.Builder
		table.print(&b)
		if b.String() != want {
			t.Errorf("got\n%swant\n%s", b.String(), want)
		}
	}
}
