package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"simrun/replay"
	"simrun/scheduler"
	"simrun/sim"
)

// defaultScenario is what `simrun --seed 42` runs.
const defaultScenario = "rings/flip"

// specFlags are the flags that say which scenario to run and how.
type specFlags struct {
	scenario, variant string
	mutants           []string
	set               []string
	strategy          string
	lazy              bool
}

func (s *specFlags) instance(f *pflag.FlagSet) {
	f.StringVar(&s.scenario, "scenario", defaultScenario, "which scenario; simrun scenarios lists them")
	f.StringVar(&s.variant, "variant", "", "which text of the protocol (default the scenario's first)")
	f.StringArrayVar(&s.mutants, "mutant", nil, "a seeded bug, by name or id; may be repeated; simrun mutants lists them")
	f.StringArrayVar(&s.set, "set", nil, "a bound of the scenario, as name=value; may be repeated")
}

func (s *specFlags) schedule(f *pflag.FlagSet) {
	f.StringVar(&s.strategy, "strategy", "random", "how choices are made: "+strings.Join(scheduler.StrategyNames, ", "))
	f.BoolVar(&s.lazy, "lazy", false, "make each wake-up a choice: others may run before a woken statement goes on")
}

// resolve checks the flags.
func (s *specFlags) resolve(seed uint64) (replay.Spec, error) {
	in := sim.Instance{Scenario: s.scenario, Variant: s.variant, Mutants: s.mutants, Params: map[string]int{}}
	for _, kv := range s.set {
		name, text, ok := strings.Cut(kv, "=")
		v, err := strconv.Atoi(text)
		if !ok || err != nil {
			return replay.Spec{}, usage("--set %s: expected name=number", kv)
		}
		in.Params[name] = v
	}
	in, _, err := in.Resolve()
	if err != nil {
		return replay.Spec{}, usage("%w", err)
	}
	if s.strategy != "" {
		if _, err := scheduler.ParseStrategy(s.strategy); err != nil {
			return replay.Spec{}, usage("%w", err)
		}
	}
	return replay.Spec{Instance: in, Seed: seed, Strategy: s.strategy, Lazy: s.lazy}, nil
}

// commandLine renders the flags that make the run of the spec again.
func commandLine(s replay.Spec, backend string) string {
	line := fmt.Sprintf("simrun run %s --seed %d", s.Flags(), s.Seed)
	if s.Strategy != "random" {
		line += fmt.Sprintf(" --strategy '%s'", s.Strategy)
	}
	if s.Lazy {
		line += " --lazy"
	}
	if backend != "model" {
		line += " --backend " + backend
	}
	return line
}

// replayLine is the command that makes the run in a failure file again.
func replayLine(path, backend string) string {
	line := "simrun replay " + path
	if backend != "model" {
		line += " --backend " + backend
	}
	return line
}

// write writes v as JSON.
func (a *app) write(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
