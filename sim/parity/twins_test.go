package parity

import (
	"os"
	"strconv"
	"testing"

	"simrun/sim"
	"simrun/sim/postgres"
	"simrun/sim/postgres/pgtest"
)

// TestServerAgreesWithItself runs random cases on two databases of one server in lock-step. That the server gives the same
// answers twice is what every comparison with the model rests on.
func TestServerAgreesWithItself(t *testing.T) {
	server := pgtest.Start(t)
	schemas, runs := 4, 10
	if n, err := strconv.Atoi(os.Getenv("SIMRUN_PARITY_SCHEMAS")); err == nil {
		schemas = n
	}
	rep := Report{Refused: map[string]int{}}
	for seed := range uint64(schemas) {
		g := newGen(seed)
		schema, rows := g.schema()
		setup := &sim.Setup{Schema: join(schema), Seed: join(rows)}
		first, err := server.NewBackend(setup)
		if err != nil {
			t.Fatal(err)
		}
		second, err := server.NewBackend(setup)
		if err != nil {
			t.Fatal(err)
		}
		pair := postgres.PairOf(first, second, false)
		sessions := 2 + g.r.IntN(3)
		for range runs {
			c := &Case{Schema: schema, Seed: rows, Sessions: sessions}
			d, err := fuzzRun(pair, g, c, &rep)
			if err != nil {
				t.Fatal(err)
			}
			if d != nil {
				t.Fatalf("seed %d: %v\n%s", seed, d, c)
			}
		}
		if err := pair.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%+v", rep)
}
