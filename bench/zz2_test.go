package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

func TestYY(t *testing.T) {
	ticks, _ := strconv.Atoi(os.Getenv("TICKS"))
	w, _ := strconv.Atoi(os.Getenv("W"))
	max, _ := strconv.Atoi(os.Getenv("MAX"))
	if ticks == 0 {
		t.Skip()
	}
	inst := flip
	inst.Params = map[string]int{"ticks": ticks}
	setup, _, err := replay.Spec{Instance: inst}.Build(1)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ALL") == "" {
		setup.Actors = slices.DeleteFunc(setup.Actors, func(a sim.ActorSpec) bool { return !slices.Contains(three, a.Name) })
	}
	model, _ := sim.NewModel(setup)
	sys, err := sim.NewSystem(setup, model, sim.Options{Share: true})
	if err != nil {
		t.Fatal(err)
	}
	c0 := cpu()
	r, err := scheduler.Search(context.Background(), sys, scheduler.Options{Bounds: scheduler.Bounds{States: max}, Workers: w})
	if err != nil {
		t.Fatal(err)
	}
	d := (cpu() - c0).Seconds()
	fmt.Printf("ticks %d: states %d transitions %d wall %.2f cpu %.2f: %.0f states/cpu-s\n", ticks, r.States, r.Transitions, r.Elapsed.Seconds(), d, float64(r.States)/d)
}
