package tla

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"simrun/replay"
	"simrun/sim"
)

// Trace is what a run shows of a specification's variables.
type Trace struct {
	Mapping Mapping
	States  []State // the visible states, one after the other different
	err     error
}

// Recorded is an opener whose backends let t record the run.
func (t *Trace) Recorded(open replay.Opener) replay.Opener {
	return func(setup *sim.Setup) (sim.Backend, error) {
		setup.Invariants = append(setup.Invariants, sim.Invariant{
			Name: "Recorded", Kind: sim.Monitored, Doc: "records what the run shows of " + t.Mapping.Config,
			Monitor: func() sim.Monitor {
				start := t.Mapping.Start()
				t.States, t.err = []State{start.Visible()}, nil
				return recording{t, start}
			},
		})
		return open(setup)
	}
}

// recording is the monitor that records. It serves one run, whose worlds are never copied.
type recording struct {
	trace   *Trace
	tracker Tracker
}

func (m recording) Step(s *sim.Step) (sim.Monitor, string) {
	next, err := m.tracker.Step(s)
	if err != nil {
		if m.trace.err == nil {
			m.trace.err = fmt.Errorf("%s cannot be mapped to %s: %w", told(s), m.trace.Mapping.Config, err)
		}
		return m, ""
	}
	states := &m.trace.States
	if shown := next.Visible(); m.trace.err == nil && shown.Key() != (*states)[len(*states)-1].Key() {
		*states = append(*states, shown)
	}
	return recording{m.trace, next}, ""
}

func (m recording) Hash() uint64 { return m.tracker.Hash() }

// nextAction finds the name of the next-state relation.
var nextAction = regexp.MustCompile(`(?m)^Spec == Init /\\ \[\]\[(\w+)\]_vars`)

// Module writes the trace as a module with its configuration. TLC accepts the run by reaching its end: it says that the invariant
// NotARun is violated, and shows the run with all the variables that the trace leaves out. It rejects the run by finding no
// error. The variables that the trace does not show are existential, and a step of the trace may be as many steps of the
// specification as the mapping says.
func (t *Trace) Module() (name, module, config string, err error) {
	if t.err != nil {
		return "", "", "", t.err
	}
	configs, err := Configs()
	if err != nil {
		return "", "", "", err
	}
	i := slices.IndexFunc(configs, func(c Config) bool { return c.Name == t.Mapping.Config })
	if i < 0 {
		return "", "", "", fmt.Errorf("there is no configuration %s", t.Mapping.Config)
	}
	c := configs[i]
	g, err := GraphOf(c)
	if err != nil {
		return "", "", "", err
	}
	spec, cfg, err := c.source()
	if err != nil {
		return "", "", "", err
	}
	next := nextAction.FindSubmatch(spec)
	if next == nil {
		return "", "", "", fmt.Errorf("%s.tla has no line Spec == Init /\\ [][..]_vars", c.Spec)
	}
	names := t.names()
	late := "TRUE"
	for _, s := range g.Initial {
		if g.projected(names)[s] == t.States[0].Key() {
			late = "FALSE"
		}
	}
	name = c.Spec + "_trace"
	var b strings.Builder
	fmt.Fprintf(&b, `---- MODULE %s ----
\* A run of %s as %s shows it:
\*   tlc -config %s.cfg %s
\* "Invariant NotARun is violated" accepts it: the specification has that run. "No error has been found" rejects it.
EXTENDS %s, Sequences, TLC

VARIABLES
    at,     \* states of the trace that were shown
    more    \* visible steps since, where one step of the run may be several of the specification

Shown == <<%s>>
Atomic == %d
Late == %s   \* the run starts later than the specification
Trace == <<
`, name, t.Mapping.Flags(), c.Name, name, name, c.Spec, strings.Join(names, ", "), t.Mapping.Atomic, late)
	for i, s := range t.States {
		values := make([]string, len(names))
		for k, n := range names {
			values[k] = string(s[n])
		}
		sep := ","
		if i == len(t.States)-1 {
			sep = ""
		}
		fmt.Fprintf(&b, "    <<%s>>%s\n", strings.Join(values, ", "), sep)
	}
	fmt.Fprintf(&b, `>>

Reached(n) == IF TLCGet(1) < n THEN TLCSet(1, n) /\ PrintT(<<"shown", n, "of", Len(Trace)>>) ELSE TRUE

TraceInit == Init /\ at = 0 /\ more = 0 /\ TLCSet(1, 0)

TraceNext ==
    \/ at = 0 /\ Shown = Trace[1] /\ at' = 1 /\ more' = 0 /\ UNCHANGED vars /\ Reached(1)
    \/ Late /\ at = 0 /\ %[1]s /\ UNCHANGED <<at, more>>
    \/ /\ at > 0 /\ at < Len(Trace)
       /\ %[1]s
       /\ IF Shown' = Trace[at + 1] THEN at' = at + 1 /\ more' = 0 /\ Reached(at + 1)
          ELSE IF Shown' = Shown THEN UNCHANGED <<at, more>>
          ELSE more + 1 < Atomic /\ more' = more + 1 /\ UNCHANGED at

NotARun == at < Len(Trace)
====
`, next[1])
	return name, b.String(), traceConfig(string(cfg)), nil
}

// names are the visible variables.
func (t *Trace) names() []string {
	var names []string
	for n := range t.States[0] {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// traceConfig keeps a configuration's constants.
func traceConfig(cfg string) string {
	var b strings.Builder
	b.WriteString("INIT TraceInit\nNEXT TraceNext\nINVARIANT NotARun\nCHECK_DEADLOCK FALSE\nCONSTANTS\n")
	for line := range strings.SplitSeq(cfg, "\n") {
		if strings.HasPrefix(line, "    ") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// WriteTo writes the module, its configuration and the specification into a folder, which is made if it is not there, and
// returns the path of the module.
func (t *Trace) WriteTo(dir string) (string, error) {
	name, module, config, err := t.Module()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	spec := configSpec(t.Mapping.Config)
	text, err := files.ReadFile(spec + ".tla")
	if err != nil {
		return "", err
	}
	for file, data := range map[string]string{name + ".tla": module, name + ".cfg": config, spec + ".tla": string(text)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, name+".tla"), nil
}
