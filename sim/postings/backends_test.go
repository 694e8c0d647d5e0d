package postings

import (
	"testing"

	"simrun/scheduler"
	"simrun/sim"
	"simrun/sim/postgres/pgtest"
)

// backendMaker makes a backend with the schema and the seed of a setup.
type backendMaker func(setup *sim.Setup) (sim.Backend, error)

// onEachBackend runs a test on the model and on a server.
func onEachBackend(t *testing.T, test func(t *testing.T, backend backendMaker)) {
	t.Run("model", func(t *testing.T) { test(t, sim.NewModel) })
	t.Run("server", func(t *testing.T) {
		s := pgtest.Start(t)
		test(t, func(setup *sim.Setup) (sim.Backend, error) { return s.NewBackend(setup) })
	})
}

// runOnce makes one random run of a setup and returns its last world.
func runOnce(t *testing.T, setup *sim.Setup, backend backendMaker, seed uint64) (*sim.World, scheduler.Outcome) {
	t.Helper()
	b, err := backend(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Shutdown() })
	sys, err := sim.NewSystem(setup, b, sim.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	r := scheduler.NewRunner(sys, scheduler.Random(), scheduler.Limits{Steps: 5000})
	var last *sim.World
	r.OnStep = func(_ int, _ scheduler.Choice, w *sim.World) { last = w }
	o := r.Run(seed)
	return last, *o
}
