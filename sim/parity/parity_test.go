package parity

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"simrun/model/types"
	"simrun/sim"
	"simrun/sim/postgres"
	"simrun/sim/postgres/pgtest"
)

// TestCases runs every case that once showed a divergence.
func TestCases(t *testing.T) {
	t.Run("default", func(t *testing.T) { runCases(t, pgtest.Start(t)) })
	if os.Getenv("SIMRUN_LONG") != "" {
		t.Run("18", func(t *testing.T) { runCases(t, postgres18(t)) })
	}
}

func runCases(t *testing.T, server *postgres.Server) {
	files, err := filepath.Glob("../../testdata/parity/*.spec")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".spec"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			d, refused, err := Run(server, c, true)
			switch {
			case err != nil:
				t.Fatal(err)
			case d != nil:
				t.Error(d)
			case refused != "":
				t.Error("the model refuses:", refused)
			}
		})
	}
}

// TestRandom is a short look for new divergences.
func TestRandom(t *testing.T) {
	report, found, err := Fuzz(context.Background(), pgtest.Start(t), Options{Seed: 1000, Steps: 600})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%v\n%s", f.Divergence, f.Shrunk)
	}
	if report.Steps < 600 {
		t.Errorf("only %d steps were run: %+v", report.Steps, report)
	}
}

// postgres18 starts a PostgreSQL 18, for the test alone.
func postgres18(t *testing.T) *postgres.Server {
	t.Helper()
	bin := os.Getenv("SIMRUN_POSTGRES18_BIN")
	if bin == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("$SIMRUN_POSTGRES18_BIN does not say where PostgreSQL 18 is")
		}
		t.Skip("$SIMRUN_POSTGRES18_BIN does not say where PostgreSQL 18 is")
	}
	server, err := postgres.Start(context.Background(), postgres.Options{Bin: bin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if server.Version() < 180000 {
		t.Fatalf("version %d", server.Version())
	}
	return server
}

// TestManySteps looks longer, on the server that tests use and on PostgreSQL 18.
func TestManySteps(t *testing.T) {
	if os.Getenv("SIMRUN_LONG") == "" {
		t.Skip("takes a minute or more a server: set SIMRUN_LONG=1")
	}
	const steps = 50_000
	many := func(t *testing.T, server *postgres.Server) {
		report, found, err := Fuzz(context.Background(), server, Options{Seed: 1, Steps: steps, Keep: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Errorf("%v\n%s", f.Divergence, f.Shrunk)
		}
		if report.Steps < steps {
			t.Errorf("%+v", report)
		}
	}
	t.Run("default", func(t *testing.T) { many(t, pgtest.Start(t)) })
	t.Run("18", func(t *testing.T) { many(t, postgres18(t)) })
}

// TestShrink finds a lie of the model's and shrinks the case to the statements that it takes.
func TestShrink(t *testing.T) {
	server := pgtest.Start(t)
	c := &Case{Sessions: 2, Schema: []string{"CREATE TABLE t0 (k int PRIMARY KEY, v int)", "CREATE TABLE t1 (k int)"}, Seed: []string{"INSERT INTO t0 VALUES (1, 1)", "INSERT INTO t1 VALUES (1)"}}
	for _, sql := range []string{"BEGIN", "SELECT 1", "UPDATE t0 SET v = 3", "SELECT 2", "SELECT v FROM t0", "SELECT 3", "COMMIT"} {
		c.Steps = append(c.Steps, Step{Session: len(c.Steps) % 2, SQL: sql, Pick: 2})
	}
	lie := func(setup *sim.Setup) (sim.Backend, error) {
		model, err := server.NewBackend(setup)
		if err != nil {
			return nil, err
		}
		second, err := server.NewBackend(setup)
		if err != nil {
			return nil, err
		}
		return postgres.PairOf(&liar{Backend: model}, second, false), nil
	}
	db, err := lie(&sim.Setup{Schema: join(c.Schema), Seed: join(c.Seed)})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := runOn(db, c)
	if err != nil || d == nil {
		t.Fatalf("divergence %v, error %v; want the lie", d, err)
	}
	if err := db.Shutdown(); err != nil {
		t.Fatal(err)
	}
	small, again := shrink(lie, c, d, 200)
	if again.What != d.What || len(small.Steps) != 2 || len(small.Schema) != 1 || len(small.Seed) != 1 || small.Steps[0].Pick != 0 {
		t.Fatalf("%v\n%s", again, small)
	}
}

// A liar says 4 where the other says 3, when it reads a row.
type liar struct{ sim.Backend }

func (l *liar) Submit(session int, req sim.Request) (sim.Reply, error) {
	r, err := l.Backend.Submit(session, req)
	if req.SQL == "SELECT v FROM t0" && r.Result != nil && len(r.Result.Rows) > 0 && r.Result.Rows[0][0].N == 3 {
		r.Result.Rows[0][0] = types.NewInt4(4)
	}
	return r, err
}
