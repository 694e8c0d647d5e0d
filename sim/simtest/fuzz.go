package simtest

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"

	"simrun/sim"
)

const (
	seedInputs = 16
	seedBytes  = 64
)

// Fuzz gives the choices to Go's fuzzer: in an input, the first two bytes are the seed that the setup is drawn with, and each
// byte after them makes one choice where there are several. When they are used up, the actor that moved last goes on. The
// corpus begins with an input without switches and with random ones, which plain go test runs.
//
// Under go test -fuzz a failure shows its timeline, and Go keeps the input under testdata/fuzz; go test of that input then
// shrinks the run and writes the failure file.
func Fuzz(f *testing.F, s *sim.Scenario, opts ...Option) {
	f.Helper()
	x := newTest(f, s, opts)
	x.corpus()
	f.Cleanup(x.close)
	r := rand.New(rand.NewPCG(1, 2))
	f.Add([]byte{1, 0})
	for range seedInputs {
		data := make([]byte, seedBytes)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { x.input(t, data) })
}

// input makes the run that the bytes say.
func (x *test) input(t testing.TB, data []byte) {
	t.Helper()
	y := *x
	y.TB = t
	x = &y
	var seed uint64
	if len(data) >= 2 {
		seed, data = uint64(binary.LittleEndian.Uint16(data)), data[2:]
	}
	spec := x.spec(x.instance, seed, "go-fuzz")
	a, err := x.arena(spec)
	if err != nil {
		t.Fatal(err)
	}
	names, v, err := x.run(a, func(names []string) int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b) % len(names)
	})
	switch {
	case err != nil:
		t.Fatal(err)
	case v.Invariant == "":
	case fuzzing():
		t.Fatalf("%s is violated: %s\nschedule: %q", v.Invariant, v.Detail, names)
	default:
		x.fail(spec, names, v)
	}
}

// fuzzing says that go test was called with -fuzz: the target runs very often, while the fuzzer makes a failing input small.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}
