package replay

import (
	"errors"
	"slices"
	"testing"

	"simrun/scheduler"
	"simrun/sim"
)

// plainBackend is a backend that cannot be copied, as a server is.
type plainBackend struct{ sim.Backend }

// openPlain opens one; Reset starts from a copy of the first state.
func openPlain(setup *sim.Setup) (sim.Backend, error) {
	first, err := sim.NewModel(setup)
	if err != nil {
		return nil, err
	}
	return &resettable{plainBackend{first.(sim.Cloner).Clone()}, first.(sim.Cloner)}, nil
}

type resettable struct {
	plainBackend
	first sim.Cloner
}

func (r *resettable) Reset() error {
	r.Backend = r.first.Clone()
	return nil
}

func TestEveryStrategyMakesTheSameRunWithoutCopies(t *testing.T) {
	for _, name := range append(slices.Clone(scheduler.StrategyNames), "swarm(pos)", "portfolio(surw,guided)") {
		for seed := range uint64(5) {
			spec := Spec{Instance: sim.Instance{Scenario: "replay/increment", Variant: "faulty"}, Seed: seed, Strategy: name}
			onModel, err := Once(spec, sim.NewModel)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			other, err := Once(spec, openPlain)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if onModel.Err != nil || other.Err != nil || !slices.Equal(onModel.Choices, other.Choices) || onModel.Violation != other.Violation {
				t.Errorf("%s, seed %d: %v %v, without copies %v %v", name, seed, onModel.Choices, onModel.Err, other.Choices, other.Err)
			}
		}
	}
}

func TestAStrategyThatNeedsTheModelSaysSoWhenTheModelStops(t *testing.T) {
	was := read
	read = "SELECT n FROM counter TABLESAMPLE SYSTEM (100)"
	defer func() { read = was }()
	_, err := Once(Spec{Instance: sim.Instance{Scenario: "replay/increment"}, Strategy: "pos"}, openPlain)
	var u *sim.Unsupported
	if !errors.As(err, &u) {
		t.Errorf("got %v", err)
	}
}

// A strategy that looks ahead would be a random walk on a system without footprints.
func TestStrategiesGetTheFootprintsTheyNeed(t *testing.T) {
	setup, _, err := sim.Instance{Scenario: "replay/increment"}.Build(1)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"random": false, "pct(3)": false, "swarm(random)": false, "pos": true, "swarm(surw)": true, "portfolio": true,
		"guided": true, "portfolio(random,pct(2))": false} {
		strategy, err := scheduler.ParseStrategy(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewMaker(setup, strategy, sim.NewModel, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.System.TracksFootprints(); got != want {
			t.Errorf("%s: footprints %v", name, got)
		}
		m.Close()
	}
}
