package rings

import "simrun/sim"

// register adds what all scenarios of this package have.
func register(s *sim.Scenario) {
	s.Variants = []string{repaired, shipped, seed}
	s.Mutants = mutantsOf(s.Name)
	sim.Register(s)
}

// build makes a Build function of one that gets the program of the configuration.
func build(name string, setup func(cfg sim.Config, p *program) *sim.Setup) func(sim.Config) (*sim.Setup, error) {
	return func(cfg sim.Config) (*sim.Setup, error) {
		p, err := programOf(name, cfg)
		if err != nil {
			return nil, err
		}
		return setup(cfg, p), nil
	}
}

func slotsParam(n int) sim.Param {
	return sim.Param{Name: "slots", Doc: "slots of each ring", Default: n, Min: 2, Max: 4}
}

func ticksParam(n int) sim.Param {
	return sim.Param{Name: "ticks", Doc: "ticks of each periodic actor", Default: n, Min: 1, Max: 8}
}

// isolationParam says which isolation level the sessions default to; nothing in the protocol's release sets one.
var isolationParam = sim.Param{Name: "isolation", Doc: "1: sessions default to REPEATABLE READ", Default: 0, Max: 1}

// isolate gives the actors their default isolation level.
func isolate(s *sim.Setup, cfg sim.Config) {
	for i := range s.Actors {
		if cfg.Params["isolation"] == 1 {
			s.Actors[i].Settings = [][2]string{{"default_transaction_isolation", "repeatable read"}}
		}
	}
}
