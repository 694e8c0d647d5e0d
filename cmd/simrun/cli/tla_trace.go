package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"simrun/replay"
	"simrun/sim"
	"simrun/tla"
)

// traced wraps an opener so that a run of the instance is recorded for each specification that the scenario is tied to.
func traced(in sim.Instance, open replay.Opener) ([]*tla.Trace, replay.Opener, error) {
	mappings, err := tla.MappingsFor(in)
	if err != nil {
		return nil, nil, usage("--emit-tla: %w", err)
	}
	var traces []*tla.Trace
	for _, m := range mappings {
		t := &tla.Trace{Mapping: m}
		traces = append(traces, t)
		open = t.Recorded(open)
	}
	return traces, open, nil
}

// emitTraces writes the recorded traces and says how TLC is run on them: NotARun violated accepts a run, no error rejects it.
func (a *app) emitTraces(traces []*tla.Trace, dir string) error {
	for _, t := range traces {
		path, err := t.WriteTo(dir)
		if err != nil {
			return &exit{exitCouldNot, fmt.Errorf("--emit-tla: %w", err)}
		}
		name := strings.TrimSuffix(filepath.Base(path), ".tla")
		fmt.Fprintf(a.errs, "%s: %d states of %s; TLC accepts it by a violation of NotARun: cd %s && java -cp \"$TLA2TOOLS_JAR\" tlc2.TLC -config %s.cfg %s\n",
			path, len(t.States), t.Mapping.Config, dir, name, name)
	}
	return nil
}
