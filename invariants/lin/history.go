// Package lin checks histories for linearizability (Herlihy and Wing, "Linearizability: a correctness condition for
// concurrent objects", 1990) with porcupine: histories of simrun's own runs, and histories that others recorded.
package lin

import (
	"fmt"
	"math"
	"sort"
)

// Outcome is how an operation ended.
type Outcome uint8

const (
	// OK returned: it took effect between its call and its return.
	OK Outcome = iota
	// Failed is known to have had no effect.
	Failed
	// Indeterminate never returned, or returned without saying: it may take effect at any time after its call, or never.
	Indeterminate
)

// Operation is one operation of a history: a call and what came of it.
type Operation struct {
	Process int    // who called; one process has one operation at a time
	F       string // what was called, e.g. "read"
	Key     string // the object, "" when there is only one; histories are checked key by key
	Input   any    // argument as the model takes it
	Output  any    // result as the model takes it; meaningful when Outcome is OK
	Call    int64  // position or time of the call
	Return  int64  // position or time of the return; math.MaxInt64 for an indeterminate operation
	Outcome Outcome
}

// EventType is the kind of an event, as Jepsen names it.
type EventType string

// The event types. Info is an indeterminate completion.
const (
	Invoke EventType = "invoke"
	Ok     EventType = "ok"
	Fail   EventType = "fail"
	Info   EventType = "info"
)

// Event is one line of a recorded history. Times are positions in the file unless the file gives them.
type Event struct {
	Process int
	Type    EventType
	F       string
	Key     string
	Value   any
	Line    int // where it stands in its file, from 1
}

// Pair joins calls and returns. A process that crashed (Info) may go on under the same number, as Jepsen's do not but
// simrun's restarted actors do. Operations that never returned are indeterminate. Failed operations are kept.
// It fails on a return without a call and on a call while the process's previous operation is open.
func Pair(events []Event) ([]Operation, error) {
	var ops []Operation
	open := map[int]int{} // process -> index in ops
	for i, e := range events {
		at := int64(i)
		idx, isOpen := open[e.Process]
		if e.Type == Invoke {
			if isOpen {
				return nil, fmt.Errorf("line %d: process %d calls %q while its %q of before has not returned", e.Line, e.Process, e.F, ops[idx].F)
			}
			open[e.Process] = len(ops)
			ops = append(ops, Operation{Process: e.Process, F: e.F, Key: e.Key, Input: e.Value, Call: at, Return: math.MaxInt64, Outcome: Indeterminate})
			continue
		}
		if !isOpen {
			return nil, fmt.Errorf("line %d: process %d returns from %q, which it did not call", e.Line, e.Process, e.F)
		}
		op := &ops[idx]
		if op.F != e.F {
			return nil, fmt.Errorf("line %d: process %d returns from %q, but it called %q", e.Line, e.Process, e.F, op.F)
		}
		delete(open, e.Process)
		switch e.Type {
		case Ok:
			op.Output, op.Return, op.Outcome = e.Value, at, OK
		case Fail:
			op.Return, op.Outcome = at, Failed
		case Info:
		default:
			return nil, fmt.Errorf("line %d: type %q is none of invoke, ok, fail, info", e.Line, e.Type)
		}
	}
	return ops, nil
}

// keys returns the distinct keys of the operations, sorted.
func keys(ops []Operation) []string {
	seen := map[string]bool{}
	var ks []string
	for _, op := range ops {
		if !seen[op.Key] {
			seen[op.Key] = true
			ks = append(ks, op.Key)
		}
	}
	sort.Strings(ks)
	return ks
}
