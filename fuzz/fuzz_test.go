package fuzz

import (
	"context"
	"slices"
	"testing"

	"simrun/replay"
	"simrun/sim"
)

func init() {
	sim.Register(&sim.Scenario{Name: "fuzz/increment", Variants: []string{"plain"}, Build: func(cfg sim.Config) (*sim.Setup, error) {
		s := &sim.Setup{
			Schema: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)", Seed: "INSERT INTO counter VALUES (1, 0)",
			Invariants: []sim.Invariant{{Name: "NotAllLost", Kind: sim.Quiescent, SQL: "SELECT n FROM counter WHERE n = 1"}},
			Witnesses:  []string{"done", "never"},
		}
		for _, name := range []string{"a", "b", "c"} {
			s.Actors = append(s.Actors, sim.ActorSpec{Name: name, Run: sim.ActorFunc(increment)})
		}
		return s, nil
	}})
}

func increment(ctx context.Context, db sim.DB) error {
	var n int
	if err := db.QueryRow(ctx, "SELECT n FROM counter").Scan(&n); err != nil {
		return err
	}
	_, err := db.Exec(ctx, "UPDATE counter SET n = $1", n+1)
	sim.Witness(ctx, "done")
	return err
}

func campaign() Campaign {
	return Campaign{Spec: replay.Spec{Instance: sim.Instance{Scenario: "fuzz/increment"}, Seed: 1, Strategy: "random"}, Runs: 2000, Open: sim.NewModel}
}

func TestTheLowestFailingSeedIsReportedWhateverTheWorkers(t *testing.T) {
	var seeds []uint64
	for _, workers := range []int{1, 2, 5} {
		c := campaign()
		c.Workers = workers
		r, err := c.Run()
		if err != nil || !r.Failed || r.Violation.Invariant != "NotAllLost" {
			t.Fatalf("%v %+v", err, r)
		}
		seeds = append(seeds, r.Seed)
	}
	if len(slices.Compact(seeds)) != 1 {
		t.Errorf("seeds %v", seeds)
	}
}

func TestSeedsGoByTheStride(t *testing.T) {
	c := campaign()
	r, _ := c.Run()
	c.Seed, c.Stride = r.Seed%7, 7
	s, err := c.Run()
	if err != nil || !s.Failed || s.Seed > r.Seed || s.Seed%7 != r.Seed%7 {
		t.Errorf("seed %d failed first; by sevens %+v %v", r.Seed, s, err)
	}
}

func TestWitnessesNeverSeenAreNamed(t *testing.T) {
	c := campaign()
	c.Runs = 1
	r, err := c.Run()
	if err != nil || r.Witnesses["done"] != 1 || !slices.Equal(r.Unseen, []string{"never"}) {
		t.Errorf("%v %+v", err, r)
	}
}

func TestDoubleCheckHolds(t *testing.T) {
	c := campaign()
	c.Runs, c.DoubleCheck = 20, true
	if r, err := c.Run(); err != nil || r.Differs != nil {
		t.Errorf("%v %+v", err, r)
	}
}

func TestALearningCampaignReportsTheChoicesOfItsFailure(t *testing.T) {
	c := campaign()
	c.Strategy, c.Seed, c.Workers = "guided", 5, 3
	r, err := c.Run()
	if err != nil || !r.Failed || len(r.Choices) == 0 {
		t.Fatalf("%v %+v", err, r)
	}
	run, err := replay.Follow(c.Spec, r.Choices, sim.NewModel)
	if err != nil || run.Violation != r.Violation {
		t.Errorf("%v, %+v, want %+v", err, run, r.Violation)
	}
	again, err := c.Run()
	if err != nil || again.Seed != r.Seed || !slices.Equal(again.Choices, r.Choices) {
		t.Errorf("%v, seed %d %v, was seed %d %v", err, again.Seed, again.Choices, r.Seed, r.Choices)
	}
	c.DoubleCheck = true
	if _, err := c.Run(); err == nil {
		t.Error("a run that depends on those before it was made twice")
	}
}
