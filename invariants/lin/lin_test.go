package lin

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func check(t *testing.T, text string, independent bool) *Report {
	t.Helper()
	events, err := Read(strings.NewReader(text), independent)
	if err != nil {
		t.Fatal(err)
	}
	ops, err := Pair(events)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ModelFor(ops)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(ops, m, Bounds{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const jepsenLog = `INFO  jepsen.util - 0	:invoke	:write	1
INFO  jepsen.util - 1	:invoke	:cas	[1 2]
INFO  jepsen.util - 0	:ok	:write	1
INFO  jepsen.core - something else
INFO  jepsen.util - 1	:ok	:cas	[1 2]
INFO  jepsen.util - 2	:invoke	:read	nil
INFO  jepsen.util - 2	:ok	:read	%d
`

func TestJepsenLog(t *testing.T) {
	if r := check(t, fmt.Sprintf(jepsenLog, 2), false); r.Verdict != Linearizable {
		t.Errorf("reading the new value: %v", r.Verdict)
	}
	r := check(t, fmt.Sprintf(jepsenLog, 1), false)
	if r.Verdict != NotLinearizable || r.Longest != 2 || r.BadOperations != 3 {
		t.Errorf("a stale read: %+v", r)
	}
	var page bytes.Buffer
	if shown, err := r.WriteHTML(&page); !shown || err != nil || !strings.Contains(page.String(), "cas(") {
		t.Errorf("page: shown %v, %v, %d bytes", shown, err, page.Len())
	}
}

func TestJSONLKeysAreIndependent(t *testing.T) {
	const text = `{"process":0,"type":"invoke","f":"put","key":"a","value":"1"}
{"process":1,"type":"invoke","f":"append","key":"b","value":"x"}
{"process":0,"type":"ok","f":"put","key":"a"}
{"process":1,"type":"ok","f":"append","key":"b"}
{"process":0,"type":"invoke","f":"get","key":"a"}
{"process":1,"type":"invoke","f":"get","key":"b"}
{"process":0,"type":"ok","f":"get","key":"a","value":"1"}
{"process":1,"type":"ok","f":"get","key":"b","value":"%s"}
`
	if r := check(t, fmt.Sprintf(text, "x"), false); r.Verdict != Linearizable || r.Keys != 2 {
		t.Errorf("%+v", r)
	}
	if r := check(t, fmt.Sprintf(text, "xx"), false); r.Verdict != NotLinearizable || r.Bad != "b" {
		t.Errorf("%+v", r)
	}
}

func TestIndependentPairsInEDN(t *testing.T) {
	const text = `{:process 0, :type :invoke, :f :write, :value [7 1], :index 0}
{:process 0, :type :ok, :f :write, :value [7 1], :index 1}
{:process :nemesis, :type :info, :f :start, :value nil}
{:process 0, :type :invoke, :f :read, :value [7 nil], :index 2}
{:process 0, :type :ok, :f :read, :value [7 2], :index 3}
`
	if r := check(t, text, true); r.Verdict != NotLinearizable || r.Bad != "7" {
		t.Errorf("%+v", r)
	}
}

// An indeterminate write may or may not have happened, and may happen late; a read of it makes it real for good.
func TestIndeterminate(t *testing.T) {
	const text = `{"process":0,"type":"invoke","f":"write","value":1}
{"process":0,"type":"info","f":"write"}
{"process":1,"type":"invoke","f":"read"}
{"process":1,"type":"ok","f":"read","value":%s}
{"process":1,"type":"invoke","f":"read"}
{"process":1,"type":"ok","f":"read","value":%s}
`
	for _, c := range []struct {
		first, second string
		want          Verdict
	}{
		{"null", "null", Linearizable}, {"null", "1", Linearizable}, {"1", "1", Linearizable}, {"1", "null", NotLinearizable},
	} {
		if r := check(t, fmt.Sprintf(text, c.first, c.second), false); r.Verdict != c.want {
			t.Errorf("reads %s then %s: %v, want %v", c.first, c.second, r.Verdict, c.want)
		}
	}
}

func TestTimeoutIsUnknown(t *testing.T) {
	ops := simulated(rand.New(rand.NewPCG(1, 1)), 400, 1, 40)
	r, err := Check(ops, Register(), Bounds{Timeout: time.Nanosecond})
	if err != nil || r.Verdict != Unknown || len(r.Unsure) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"hello":                                `line 1: "hello" is neither`,
		`{"process":0,"type":"ok","f":"read"}`: "line 1: process 0 returns from",
		"{\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n{\"process\":0}":                           "line 2: an event needs",
		"\n{\"process\":0,\"type\":\"invoke\",\"f\":\"a\"}\n" + `{"process":0,"type":"invoke","f":"b"}`: "line 3: process 0 calls",
		"": "no events",
	} {
		events, err := Read(strings.NewReader(text), false)
		if err == nil {
			_, err = Pair(events)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// simulated makes a linearizable history: each operation takes effect at a moment between call and return.
func simulated(r *rand.Rand, n, nkeys, processes int) []Operation {
	state := make([]any, nkeys)
	ops := make([]Operation, 0, n)
	clock := int64(0)
	free := make([]int64, processes)
	for range n {
		p := r.IntN(processes)
		clock++
		call := max(clock, free[p]+1)
		k := r.IntN(nkeys)
		op := Operation{Process: p, Key: fmt.Sprintf("k%04d", k), Call: call - int64(r.IntN(2)), Return: call + int64(r.IntN(2*processes)), Outcome: OK}
		op.Call = max(op.Call, free[p])
		free[p] = op.Return + 1
		clock = call // effects happen in the order of call
		switch r.IntN(3) {
		case 0:
			op.F, op.Output = "read", state[k]
		case 1:
			v := int64(r.IntN(5))
			op.F, op.Input, state[k] = "write", v, v
		case 2:
			if state[k] == nil {
				op.F, op.Output = "read", nil
				break
			}
			v := int64(r.IntN(5))
			op.F, op.Input, state[k] = "cas", []any{state[k], v}, v
		}
		ops = append(ops, op)
	}
	return ops
}

func TestSimulatedHistories(t *testing.T) {
	for seed := range uint64(30) {
		ops := simulated(rand.New(rand.NewPCG(seed, 0)), 200, 3, 4)
		if r, err := Check(ops, Register(), Bounds{}); err != nil || r.Verdict != Linearizable {
			t.Fatalf("seed %d: %+v, %v", seed, r, err)
		}
		for i := range ops { // one wrong answer
			if ops[i].F == "read" && ops[i].Output != nil {
				ops[i].Output = int64(99)
				break
			}
		}
		if r, err := Check(ops, Register(), Bounds{}); err != nil || r.Verdict != NotLinearizable {
			t.Fatalf("seed %d, after a wrong read: %+v, %v", seed, r, err)
		}
	}
}

func BenchmarkCheck100000Over1000Keys(b *testing.B) {
	ops := simulated(rand.New(rand.NewPCG(7, 7)), 100_000, 1000, 50)
	for b.Loop() {
		if r, err := Check(ops, Register(), Bounds{Timeout: time.Minute}); err != nil || r.Verdict != Linearizable {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}

// SIMRUN_LIN_HISTORIES names a folder of histories that others recorded, to measure against; names with "bad" must fail.
func TestRecorded(t *testing.T) {
	dir := os.Getenv("SIMRUN_LIN_HISTORIES")
	if dir == "" {
		t.Skip("SIMRUN_LIN_HISTORIES is not set")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r := check(t, string(text), false)
		t.Logf("%s: %v, %d operations, %v", filepath.Base(f), r.Verdict, r.Operations, time.Since(start).Round(time.Millisecond))
	}
}
