package lin

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is the answer for a history.
type Verdict string

// The verdicts. Unknown means that the time or the memory given was not enough.
const (
	Linearizable    Verdict = "linearizable"
	NotLinearizable Verdict = "not linearizable"
	Unknown         Verdict = "unknown"
)

// Bounds limit a check.
type Bounds struct {
	Timeout time.Duration // for the whole history; 0 means none
}

// Report is the verdict and what it rests on.
type Report struct {
	Verdict    Verdict `json:"verdict"`
	Model      string  `json:"model"`
	Operations int     `json:"operations"`
	Keys       int     `json:"keys"`
	// Bad is the first key, in byte order, that is not linearizable; Unsure the keys that were not decided in time.
	Bad    string   `json:"bad_key,omitempty"`
	Unsure []string `json:"unsure_keys,omitempty"`
	// Longest is how many operations of the bad key could be ordered at most, of BadOperations.
	Longest       int `json:"longest,omitempty"`
	BadOperations int `json:"bad_operations,omitempty"`

	show  porcupine.LinearizationInfo
	shown bool // show is there
	pm    porcupine.Model
	byKey map[string][]porcupine.Operation
	keys  []string
}

// Check judges the operations key by key; keys are independent objects (P-compositionality: Horn and Kroening, "Faster
// linearizability checking via P-compositionality", 2015). Keys are checked by as many workers as there are processors, so
// that memory holds only the keys under way. The verdict and the key named do not depend on the number of workers.
// It fails when the history calls a function that the model does not have.
func Check(ops []Operation, m Model, b Bounds) (*Report, error) {
	for _, op := range ops {
		if !slices.Contains(m.Functions, op.F) {
			return nil, fmt.Errorf("model %s has no function %q: it has %v", m.Name, op.F, m.Functions)
		}
	}
	ks := keys(ops)
	byKey := make(map[string][]porcupine.Operation, len(ks))
	for _, op := range ops {
		if op.Outcome == Failed || op.Outcome == Indeterminate && slices.Contains(m.Reads, op.F) {
			continue
		}
		byKey[op.Key] = append(byKey[op.Key], porcupine.Operation{ClientId: op.Process, Input: op, Output: op.Output, Call: op.Call, Return: op.Return})
	}
	var deadline time.Time
	if b.Timeout > 0 {
		deadline = time.Now().Add(b.Timeout)
	}
	pm := m.porcupine()
	results := make([]porcupine.CheckResult, len(ks))
	inParallel(len(ks), len(ops), func(i int) { results[i] = checkKey(pm, byKey[ks[i]], deadline) })

	r := &Report{Verdict: Linearizable, Model: m.Name, Operations: len(ops), Keys: len(ks), pm: pm, byKey: byKey, keys: ks}
	for i, k := range ks {
		if results[i] == porcupine.Unknown {
			r.Unsure = append(r.Unsure, k)
		}
		if results[i] == porcupine.Illegal && r.Verdict != NotLinearizable {
			r.Verdict, r.Bad = NotLinearizable, k
		}
	}
	if r.Verdict == Linearizable && len(r.Unsure) > 0 {
		r.Verdict = Unknown
	}
	if r.Verdict == NotLinearizable {
		r.explain(byKey[r.Bad])
	}
	return r, nil
}

// inParallel calls do for 0..n-1, on all processors when there is enough to do: a run's history is judged sooner by one.
func inParallel(n, operations int, do func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if operations < 1000 {
		workers = 1
	}
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// explainTimeout bounds the search for the longest partial linearizations, which are shown but do not change the verdict.
const explainTimeout = 10 * time.Second

// MaxShown is how many operations the interactive page shows at most; larger histories without a violation get none.
const MaxShown = 2000

func checkKey(pm porcupine.Model, ops []porcupine.Operation, deadline time.Time) porcupine.CheckResult {
	if deadline.IsZero() {
		return porcupine.CheckOperationsTimeout(pm, ops, 0)
	}
	left := time.Until(deadline)
	if left <= 0 {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(pm, ops, left)
}

// explain computes the longest partial linearizations of the bad key.
func (r *Report) explain(bad []porcupine.Operation) {
	_, r.show = porcupine.CheckOperationsVerbose(r.pm, bad, explainTimeout)
	r.shown, r.BadOperations = true, len(bad)
	for _, partition := range r.show.PartialLinearizations() {
		for _, order := range partition {
			r.Longest = max(r.Longest, len(order))
		}
	}
}

// WriteHTML writes porcupine's interactive page for the key that is not linearizable, with the longest partial linearizations
// marked, or for all keys of a linearizable history that is small enough. It reports whether there was anything to show.
func (r *Report) WriteHTML(w io.Writer) (bool, error) {
	if r.Verdict == Unknown || r.Verdict == Linearizable && r.Operations > MaxShown {
		return false, nil
	}
	if !r.shown {
		pm := r.pm
		var all []porcupine.Operation
		var parts [][]porcupine.Operation
		for _, k := range r.keys {
			all, parts = append(all, r.byKey[k]...), append(parts, r.byKey[k])
		}
		pm.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return parts }
		_, r.show = porcupine.CheckOperationsVerbose(pm, all, explainTimeout)
		r.shown = true
	}
	return true, porcupine.Visualize(r.pm, r.show, w)
}

func (m Model) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return m.Init },
		Step: func(state, input, _ any) (bool, any) {
			op := input.(Operation)
			if ok, next := m.Step(state, op); ok || op.Outcome == OK {
				return ok, next
			}
			return true, state // an indeterminate operation that could not have worked had no effect
		},
		Equal:             same,
		Hash:              hash,
		DescribeOperation: func(input, _ any) string { return input.(Operation).String() },
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
	}
}

// String gives an operation as a call and what it returned, e.g. "read(x) -> 1".
func (op Operation) String() string {
	arg := op.Key
	if op.Input != nil {
		if arg != "" {
			arg += ", "
		}
		arg += fmt.Sprint(op.Input)
	}
	switch {
	case op.Outcome == Indeterminate || op.Return == math.MaxInt64:
		return fmt.Sprintf("%s(%s) -> ?", op.F, arg)
	case op.Outcome == Failed:
		return fmt.Sprintf("%s(%s) failed", op.F, arg)
	case op.Output == nil && op.Input != nil:
		return fmt.Sprintf("%s(%s)", op.F, arg)
	}
	return fmt.Sprintf("%s(%s) -> %v", op.F, arg, op.Output)
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
