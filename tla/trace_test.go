package tla

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"

	"simrun/replay"
	"simrun/sim"
)

// recorded makes a run of the mapping's scenario with a change and writes its trace.
func recorded(t *testing.T, m Mapping, r Reject, seed uint64) (dir string) {
	t.Helper()
	in := m.Instance
	in.Mutants = r.Mutants
	in, _, err := in.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	trace := &Trace{Mapping: m}
	run, err := replay.Once(replay.Spec{Instance: in, Seed: seed, Strategy: "random"}, trace.Recorded(func(setup *sim.Setup) (sim.Backend, error) {
		setup.Invariants = setup.Invariants[len(setup.Invariants)-1:] // the recorder: a mutant's run goes on to its end
		return sim.NewModel(setup)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if run.Err != nil || len(trace.States) < 3 {
		t.Fatalf("%d states; %v", len(trace.States), run.Err)
	}
	dir = t.TempDir()
	if _, err := trace.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TLC accepts the trace of a run and rejects that of a mutant's, for a specification that shows all steps and for one whose
// steps the run bundles; one of the scenarios starts later than its specification.
func TestTraceModules(t *testing.T) {
	tlc := needTLC(t)
	for _, c := range []struct {
		mapping string
		change  Reject
		seed    uint64
		accept  bool
	}{
		{"CommitSaga/two-recoverers", Reject{}, 1, true},
		{"CommitSaga/claim", Reject{Mutants: []string{"Z29"}}, 1, false},
		{"RingCursor/trim", Reject{}, 1, true},
	} {
		t.Run(c.mapping+"/"+c.change.String(), func(t *testing.T) {
			ms, err := MappingsOf(c.mapping)
			if err != nil {
				t.Fatal(err)
			}
			dir := recorded(t, ms[0], c.change, c.seed)
			spec := configSpec(ms[0].Config)
			args := append(tlc.command[1:len(tlc.command):len(tlc.command)], "-config", spec+"_trace.cfg", spec+"_trace")
			cmd := exec.Command(tlc.command[0], args...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			var failed *exec.ExitError
			if err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			accepted := bytes.Contains(out, []byte("Invariant NotARun is violated"))
			rejected := bytes.Contains(out, []byte("No error has been found"))
			if accepted == rejected || accepted != c.accept {
				t.Errorf("accepted %v, rejected %v\n%s", accepted, rejected, out)
			}
		})
	}
}
