package spec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/sim"
	"simrun/sim/postgres/pgtest"
)

// anomaly is one of Hermitage's (M. Kleppmann's collection of what isolation levels let happen; the names are those of Adya's thesis and
// its successors), as a file in testdata/hermitage, and what its transactions see when it happens.
type anomaly struct {
	file, name string
	happened   func(got map[string]string, tables string) bool
}

// done says that transactions committed, each by its last step.
func done(got map[string]string, steps ...string) bool {
	for _, s := range steps {
		if got[s] != "COMMIT" {
			return false
		}
	}
	return true
}

var anomalies = []anomaly{
	{"g0", "G0, dirty write", func(got map[string]string, tables string) bool {
		return strings.Contains(tables, "(x, 11) (y, 22)") || strings.Contains(tables, "(x, 12) (y, 21)")
	}},
	{"g1a", "G1a, aborted read", func(got map[string]string, _ string) bool { return got["b1"] == "(101)" }},
	{"g1b", "G1b, intermediate read", func(got map[string]string, _ string) bool { return got["b1"] == "(101)" }},
	{"g1c", "G1c, circular information flow", func(got map[string]string, _ string) bool { return got["a2"] == "(22)" && got["b2"] == "(11)" }},
	{"otv", "OTV, observed transaction vanishes", func(got map[string]string, tables string) bool {
		before := got["c2"] == "(20)" || got["c2"] == "(19)" && strings.Contains(tables, "(y, 18)") // b came after a
		return got["c1"] == "(12)" && before
	}},
	{"pmp", "PMP, predicate-many-preceders", func(got map[string]string, _ string) bool {
		return got["a1"] == "no rows" && got["a2"] == "(z)" && done(got, "ac")
	}},
	{"pmp-write", "PMP with writes", func(got map[string]string, _ string) bool { return got["b1"] == "DELETE 0" && done(got, "ac", "bc") }},
	{"p4", "P4, lost update", func(got map[string]string, _ string) bool {
		return got["a1"] == "(10)" && got["b1"] == "(10)" && done(got, "ac", "bc")
	}},
	{"g-single", "G-single, read skew", func(got map[string]string, _ string) bool {
		return got["a1"] == "(10)" && got["a2"] == "(18)" && done(got, "ac")
	}},
	{"g-single-predicate", "G-single by conditions", func(got map[string]string, _ string) bool {
		return strings.Contains(got["a1"], "(x, 10)") && strings.Contains(got["a2"], "(x, 12)") && done(got, "ac")
	}},
	{"g-single-write", "G-single with a write", func(got map[string]string, _ string) bool {
		return got["a1"] == "(10)" && got["a2"] == "DELETE 0" && done(got, "ac", "bc")
	}},
	{"g2-item", "G2-item, write skew", func(got map[string]string, _ string) bool {
		return got["a1"] == "(x, 10) (y, 20)" && got["b1"] == "(x, 10) (y, 20)" && done(got, "ac", "bc")
	}},
	{"g2", "G2, anti-dependency cycle", func(got map[string]string, _ string) bool {
		return got["a1"] == "no rows" && got["b1"] == "no rows" && done(got, "ac", "bc")
	}},
	{"g2-three", "G2 with a reader between", func(got map[string]string, _ string) bool {
		return got["a1"] == "(x, 10) (y, 20)" && got["c1"] == "(x, 10) (y, 25)" && done(got, "ac", "bc", "cc")
	}},
}

var levels = []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}

// preventedFrom is the level from which on the anomaly does not happen, as PostgreSQL's documentation says (section 13.2, "Transaction Isolation") and its
// servers confirm.
var preventedFrom = map[string]int{"g0": 0, "g1a": 0, "g1b": 0, "g1c": 0, "otv": 0, "pmp": 1, "pmp-write": 1, "p4": 1, "g-single": 1,
	"g-single-predicate": 1, "g-single-write": 1, "g2-item": 2, "g2": 2, "g2-three": 2}

// anomalyAt is the anomaly's selection of steps at an isolation level.
func anomalyAt(t *testing.T, a anomaly, level string) *Selection {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../testdata/hermitage", a.file+".spec"))
	if err != nil {
		t.Fatal(err)
	}
	return selection(t, strings.ReplaceAll(string(text), levels[0], level))
}

// TestHermitage makes every interleaving of every anomaly at every level on the model, and the table of docs/postgres.md.
func TestHermitage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| anomaly | " + strings.Join(levels, " | ") + " |\n|---|---|---|---|\n")
	for _, a := range anomalies {
		fmt.Fprintf(&table, "| [%s](../testdata/hermitage/%s.spec) |", a.name, a.file)
		for i, level := range levels {
			e := explored(t, anomalyAt(t, a, level))
			seen, failed := 0.0, 0.0
			for _, o := range e.All {
				if o.Class == ClassStuck {
					t.Errorf("%s at %s: %+v", a.name, level, o)
				}
				if a.happened(o.Results, strings.Join(o.Tables, "\n")) {
					seen += o.Schedules
				}
				if strings.Contains(fmt.Sprint(o.Results), "SQLSTATE 40") {
					failed += o.Schedules
				}
			}
			if happens := seen > 0; happens != (i < preventedFrom[a.file]) {
				t.Errorf("%s at %s: happens in %v of %v schedules", a.name, level, seen, e.Schedules)
			}
			cell := fmt.Sprintf("happens: %v of %v", seen, e.Schedules)
			if seen == 0 {
				cell = fmt.Sprintf("no: 0 of %v", e.Schedules)
			}
			if failed > 0 {
				cell += fmt.Sprintf("; %v with an error", failed)
			}
			table.WriteString(" " + cell + " |")
		}
		table.WriteString("\n")
	}
	section(t, "hermitage", table.String())
}

// section compares the part of docs/postgres.md between "<!-- name -->" and "<!-- end -->" with what it should be, or writes it when
// $SIMRUN_UPDATE is set.
func section(t *testing.T, name, want string) {
	t.Helper()
	const file = "../../docs/postgres.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), "<!-- "+name+" -->\n")
	got, tail, ended := strings.Cut(rest, "<!-- end -->\n")
	if !found || !ended {
		t.Fatalf("%s has no section %s", file, name)
	}
	if got == want {
		return
	}
	if os.Getenv("SIMRUN_UPDATE") == "" {
		t.Fatalf("the section %s of %s is not what it should be; SIMRUN_UPDATE=1 writes it\n%s", name, file, diff(got, want))
	}
	if err := os.WriteFile(file, []byte(head+"<!-- "+name+" -->\n"+want+"<!-- end -->\n"+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestHermitageOnServer compares the model's answers with a server's, statement by statement, in one interleaving of each class.
func TestHermitageOnServer(t *testing.T) {
	server := pgtest.Start(t)
	most := 6
	if os.Getenv("SIMRUN_LONG") != "" {
		most = 40
	}
	for _, a := range anomalies {
		for _, level := range levels {
			t.Run(a.file+"/"+level, func(t *testing.T) {
				if _, err := Confirm(context.Background(), anomalyAt(t, a, level), most, func(s *sim.Setup) (sim.Backend, error) { return server.NewPair(s, false) }); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
