package tla

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValuesAreCanonical(t *testing.T) {
	a, err := ParseState("/\\ x = {2, 1}\n/\\ f = (\"b\" :> 1 @@ \"a\" :> <<TRUE, \"q\">>)\n/\\ n = -1")
	if err != nil {
		t.Fatal(err)
	}
	b := State{"n": Int(-1), "f": Func(Field("a", Tuple(Bool(true), Str("q"))), Field("b", Int(1))), "x": Set(Int(1), Int(2), Int(2))}
	if a.Key() != b.Key() {
		t.Errorf("parsed\n%s\nbuilt\n%s", a.Key(), b.Key())
	}
	if c, err := ParseState(`/\ f = [b |-> 1, a |-> <<TRUE, "q">>] /\ x = {1, 2} /\ n = -1`); err != nil || c.Key() != b.Key() {
		t.Errorf("a record is a function over strings: %v\n%s", err, c.Key())
	}
	if c, err := ParseState(`/\ x = -1..1`); err != nil || c["x"] != Set(Int(-1), Int(0), Int(1)) {
		t.Errorf("an interval is a set: %v, %v", c, err)
	}
	if _, err := ParseState(`/\ x = {1, `); err == nil {
		t.Error("a broken set must not parse")
	}
	if got := Func(Pair{Int(2), Str("b")}, Pair{Int(1), Str("a")}); got != Tuple(Str("a"), Str("b")) {
		t.Errorf("a function over 1..2 is a tuple, got %s", got)
	}
}

func TestDotAndBack(t *testing.T) {
	const dot = `strict digraph DiskGraph {
subgraph cluster_graph {
1 [label="x = 0",style = filled]
1 -> -2 [label="Step",color="black",fontcolor="black"];
-2 [label="/\\ x = 1",tooltip="x"];
1 -> -2 [label="Step",color="black",fontcolor="black"];
-2 -> -2 [label="Stay",color="black",fontcolor="black"];
{rank = same; 1;}
}
}`
	g, err := ParseDot(strings.NewReader(dot))
	if err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	if err := g.Write(&stored, "h"); err != nil {
		t.Fatal(err)
	}
	back, hash, err := readGraph(&stored)
	if err != nil || hash != "h" {
		t.Fatal(hash, err)
	}
	zero, one := back.Find(State{"x": "0"}), back.Find(State{"x": "1"})
	if len(back.Edges) != 2 || len(back.Initial) != 1 || back.Initial[0] != zero || len(back.Steps(zero, one)) != 1 || back.Find(State{"x": "2"}) != -1 {
		t.Errorf("%+v", back)
	}
}

// Each configuration must do what its first line says; the graphs of those that hold must be the stored ones.
func TestConfigurationsWithTLC(t *testing.T) {
	configs, err := Configs()
	if err != nil {
		t.Fatal(err)
	}
	tlc := needTLC(t)
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dot := ""
			if c.Breaks == "" {
				dot = filepath.Join(t.TempDir(), "graph.dot")
			}
			o, err := tlc.Run(context.Background(), c, 1, dot)
			if err != nil {
				t.Fatal(err)
			}
			if !o.Agrees(c) {
				t.Errorf("TLC says %q is violated, expected %q", o.Violated, c.Breaks)
			}
			if dot != "" {
				sameGraph(t, c, o, dot)
			}
		})
	}
}

// needTLC skips where TLC is not at hand, which in CI is a failure, and where tests should be short.
func needTLC(t *testing.T) *TLC {
	t.Helper()
	tlc, err := FindTLC()
	switch {
	case errors.Is(err, ErrNoTLC) && os.Getenv("CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	case os.Getenv("SIMRUN_LONG") == "":
		t.Skip("TLC takes some seconds a configuration: set SIMRUN_LONG=1")
	}
	tlc.Quick = true
	return tlc
}

// sameGraph compares what TLC dumped with the stored graph.
func sameGraph(t *testing.T, c Config, o *Outcome, dot string) {
	t.Helper()
	f, err := os.Open(dot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fresh, err := ParseDot(f)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := GraphOf(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(fresh.States) != o.Distinct || len(stored.States) != len(fresh.States) || len(stored.Edges) != len(fresh.Edges) {
		t.Errorf("TLC: %d distinct; dump: %d states, %d edges; stored: %d states, %d edges",
			o.Distinct, len(fresh.States), len(fresh.Edges), len(stored.States), len(stored.Edges))
	}
}

func TestStoredGraphsAreFresh(t *testing.T) {
	configs, err := Configs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		if c.Breaks == "" {
			if _, err := GraphOf(c); err != nil {
				t.Error(err)
			}
		}
	}
}
