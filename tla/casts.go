package tla

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"simrun/sim"
	_ "simrun/sim/postings" // their scenarios are what the specifications are about
	_ "simrun/sim/rings"
)

// The scenarios of this package have the actors of others in another company: one that a specification is about.
func init() {
	sim.Register(&sim.Scenario{
		Name:     "tla/dead-tuples",
		Doc:      "What rotates, prunes, folds and flips the queue ring, a reader that pins the horizon, and VACUUM: the cast of DeadTuples",
		Variants: []string{"repaired", "shipped"},
		Build:    buildDeadTuples,
	})
	sim.Register(&sim.Scenario{
		Name:     "tla/prune",
		Doc:      "rings/prune with one producer, and no reader that only counts: as small as a graph of RingCursor",
		Variants: []string{"repaired", "shipped"},
		Build:    buildPrune,
	})
}

// folderOfDeadTuples is the index of the folder in tla/dead-tuples.
const folderOfDeadTuples = 6

func buildDeadTuples(cfg sim.Config) (*sim.Setup, error) {
	s, err := base("rings/mixed", cfg, map[string]int{"slots": 2, "ticks": 2})
	if err != nil {
		return nil, err
	}
	flip, err := base("rings/flip", cfg, map[string]int{"slots": 2, "ticks": 2, "lease": 0})
	if err != nil {
		return nil, err
	}
	fold, err := base("rings/fold", cfg, map[string]int{"slots": 2, "ticks": 2, "role": 0})
	if err != nil {
		return nil, err
	}
	s.Actors = cast(s, "rotator-0.6", "rotator-0.7", "pruner-0.6", "pruner-0.7", "worker")
	s.Actors = append(s.Actors, cast(flip, "flip")...)
	s.Actors = append(s.Actors, cast(fold, "folder", "pinned")...)
	s.Actors = append(s.Actors, sim.ActorSpec{Name: "vacuum", Run: sim.ActorFunc(vacuum)})
	s.Seed += "INSERT INTO queue_terminal_rollups VALUES ('q', 0, 0);\n"
	s.Invariants, s.Witnesses, s.Faults = nil, []string{"flip: Flipped", "fold-deltas: Done", "fold-ledgers: Done", "pin: held"}, sim.Faults{}
	return s, nil
}

func buildPrune(cfg sim.Config) (*sim.Setup, error) {
	s, err := base("rings/prune", cfg, map[string]int{"slots": 2, "ticks": 2, "ledger": 1})
	if err != nil {
		return nil, err
	}
	s.Actors = cast(s, "rotator", "pruner", "enqueuer/1", "worker")
	s.Invariants, s.Witnesses = nil, []string{"prune-0.7 queue: Pruned", "complete: Done"}
	return s, nil
}

// base is another scenario's setup with the variant and the mutants of cfg.
func base(name string, cfg sim.Config, params map[string]int) (*sim.Setup, error) {
	return sim.Lookup(name).Build(sim.Config{Variant: cfg.Variant, Mutants: cfg.Mutants, Params: params, Rand: cfg.Rand})
}

// cast is the named actors of a setup, in the order of the names.
func cast(s *sim.Setup, names ...string) []sim.ActorSpec {
	var out []sim.ActorSpec
	for _, name := range names {
		i := slices.IndexFunc(s.Actors, func(a sim.ActorSpec) bool { return a.Name == name })
		if i < 0 {
			panic(fmt.Sprintf("tla: no actor is named %s", name)) // the scenario has changed
		}
		out = append(out, s.Actors[i])
	}
	return out
}

// vacuum does what autovacuum does, twice.
func vacuum(ctx context.Context, db sim.DB) error {
	for range 2 {
		if _, err := db.Exec(ctx, `VACUUM queue_ring_state, queue_ring_rotations, queue_terminal_rollups, queue_terminal_rollup_deltas`); err != nil {
			return err
		}
	}
	return nil
}

// withMutants is a scenario that takes the mutants of all scenarios of its system: which of them a specification can express has
// nothing to do with which of them break an invariant there.
func withMutants(name string) *sim.Scenario {
	s := *sim.Lookup(name)
	system, _, _ := strings.Cut(name, "/")
	if system == "tla" {
		system = "rings"
	}
	s.Mutants = nil
	known := map[string]bool{}
	for _, other := range sim.Scenarios() {
		if !strings.HasPrefix(other.Name, system+"/") {
			continue
		}
		for _, m := range other.Mutants {
			if !known[m.Name] {
				known[m.Name] = true
				s.Mutants = append(s.Mutants, m)
			}
		}
	}
	return &s
}
