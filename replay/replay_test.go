package replay

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"simrun/scheduler"
	"simrun/sim"
)

// read is what the increments read the counter with; tests change it to see drift.
var read = "SELECT n FROM counter"

func init() {
	sim.Register(&sim.Scenario{Name: "replay/increment", Variants: []string{"plain", "faulty"}, Build: func(cfg sim.Config) (*sim.Setup, error) {
		s := &sim.Setup{
			Schema: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)", Seed: "INSERT INTO counter VALUES (1, 0)",
			Invariants: []sim.Invariant{{Name: "NoneLost", Kind: sim.Quiescent, SQL: "SELECT n FROM counter WHERE n <> 3"}},
		}
		for _, name := range []string{"a", "b", "c"} {
			s.Actors = append(s.Actors, sim.ActorSpec{Name: name, Restarts: 1, Run: sim.ActorFunc(increment)})
		}
		if cfg.Variant == "faulty" {
			s.Faults = sim.Faults{Crash: 1, CommitUnknown: 1, ConnLost: 1}
		}
		return s, nil
	}})
}

func increment(ctx context.Context, db sim.DB) error {
	var n int
	if err := db.QueryRow(ctx, read).Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec(ctx, "UPDATE counter SET n = $1", n+1)
	return err
}

// failing returns the file of a run that loses an update.
func failing(t *testing.T) *File {
	t.Helper()
	for seed := range uint64(100) {
		run, err := Once(Spec{Instance: sim.Instance{Scenario: "replay/increment"}, Seed: seed, Strategy: "random"}, sim.NewModel)
		if err != nil {
			t.Fatal(err)
		}
		if run.Violation.Invariant != "" {
			return NewFile(run, "test")
		}
	}
	t.Fatal("no run failed")
	return nil
}

func TestFileComesBackAndReplays(t *testing.T) {
	f := failing(t)
	path := filepath.Join(t.TempDir(), f.Name())
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	run, drift, err := again.Again(sim.NewModel)
	if err != nil || drift != nil {
		t.Fatalf("%v, drift %v", err, drift)
	}
	if run.Violation.Invariant != "NoneLost" {
		t.Errorf("violation %+v", run.Violation)
	}
}

func TestDriftIsShownAtItsFirstStep(t *testing.T) {
	f := failing(t)
	for _, tc := range []struct{ name, read, want string }{
		{"other SQL", "SELECT n FROM counter WHERE id = 1", "no longer the same from step 0 on"},
		{"an error", "SELECT m FROM counter", "no longer the same from step 0 on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			was := read
			read = tc.read
			defer func() { read = was }()
			_, drift, err := f.Again(sim.NewModel)
			if err != nil || drift == nil || !strings.Contains(drift.Error(), tc.want) {
				t.Errorf("error %v, drift %v", err, drift)
			}
		})
	}
	gone := *f
	gone.Steps = append([]Line{{Choice: "nobody", Digest: "0", Log: "nobody: sleeps"}}, f.Steps...)
	_, drift, err := gone.Again(sim.NewModel)
	if err != nil || drift == nil || drift.Step != 0 || !strings.Contains(drift.Error(), "possible: a, b, c") {
		t.Errorf("error %v, drift %v", err, drift)
	}
}

func TestShrinkFindsTheShortest(t *testing.T) {
	small, _, err := Shrink(context.Background(), failing(t), "test", scheduler.ShrinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(small.Steps) != 6 || small.Violation.Invariant != "NoneLost" {
		t.Errorf("%d steps, %+v", len(small.Steps), small.Violation)
	}
}

func TestCompareNamesTheFirstDifference(t *testing.T) {
	spec := Spec{Instance: sim.Instance{Scenario: "replay/increment"}, Seed: 1, Strategy: "random"}
	a, err := Once(spec, sim.NewModel)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Once(spec, sim.NewModel)
	if d := Compare(a, b); d != nil {
		t.Errorf("the same seed: %v", d)
	}
	b.Trace.Steps[2].Digest++
	if d := Compare(a, b); d == nil || d.Step != 2 {
		t.Errorf("got %v", d)
	}
}
