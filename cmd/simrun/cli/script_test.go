package cli

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "simrun/examples/sqlcqueue"
	"simrun/sim"
	"simrun/sim/postgres"
	_ "simrun/sim/postings"
	_ "simrun/sim/rings"
)

func TestMain(m *testing.M) {
	sim.Register(incrementScenario())
	testscript.Main(m, map[string]func(){"simrun": Main})
}

// TestScripts runs the command line as users do. A script that needs a server says so with [!postgres] skip.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", os.Getenv("PATH"))
			e.Setenv("TMPDIR", os.TempDir()) // where the server's user may go, and paths are short enough for a socket
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "postgres" {
				_, err := postgres.FindBinaries()
				return err == nil, nil
			}
			return false, exec.ErrNotFound
		},
	})
}

// incrementScenario is a counter that actors increment, by hand or in one statement.
func incrementScenario() *sim.Scenario {
	return &sim.Scenario{
		Name: "test/increment", Doc: "Actors increment one counter", Variants: []string{"locked"},
		Mutants: []sim.Mutant{{Name: "no-lock", ID: "T1", Doc: "reads the counter without a lock", Breaks: []string{"NoneLost"}}},
		Params:  []sim.Param{{Name: "actors", Doc: "how many increment", Default: 2, Min: 1, Max: 4}},
		Build: func(cfg sim.Config) (*sim.Setup, error) {
			read := "SELECT n FROM counter FOR UPDATE"
			if len(cfg.Mutants) > 0 && os.Getenv("INCREMENT_REPAIRED") == "" { // a script repairs the code between two jobs
				read = "SELECT n FROM counter"
			}
			s := &sim.Setup{
				Schema: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); CREATE TABLE increments (actor text PRIMARY KEY);",
				Seed:   "INSERT INTO counter VALUES (1, 0);",
				Invariants: []sim.Invariant{{Name: "NoneLost", Kind: sim.Quiescent,
					SQL: "SELECT n, (SELECT count(*) FROM increments) AS increments FROM counter WHERE n <> (SELECT count(*) FROM increments)"}},
				Witnesses: []string{"incremented", "never"},
			}
			for i := range cfg.Params["actors"] {
				name := string(rune('a' + i))
				s.Actors = append(s.Actors, sim.ActorSpec{Name: name, Run: increment{name, read}})
			}
			return s, nil
		},
	}
}

type increment struct{ name, read string }

func (a increment) Run(ctx context.Context, db sim.DB) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	var n int
	if err := tx.QueryRow(ctx, a.read).Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE counter SET n = $1", n+1); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO increments VALUES ($1)", a.name); err != nil {
		return err
	}
	sim.Witness(ctx, "incremented")
	return tx.Commit(ctx)
}
