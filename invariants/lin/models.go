package lin

import (
	"fmt"
	"strings"
)

// Model is a sequential object: what linearizability is judged against. States are comparable values.
type Model struct {
	Name string
	// Init is the state of a key before its first operation.
	Init any
	// Step says whether op, which returned op.Output, may take the object from state to next. For an indeterminate operation any output is possible.
	Step func(state any, op Operation) (ok bool, next any)
	// Reads are the functions that never change the state: indeterminate ones are left out of the check.
	Reads []string
	// Functions are the functions that the model knows.
	Functions []string
}

// Register is a compare-and-set register per key: read, write v, cas [old new]. The initial value is nil.
// A failed cas has no effect, as Jepsen defines :fail.
func Register() Model {
	return Model{
		Name:      "register",
		Reads:     []string{"read"},
		Functions: []string{"read", "write", "cas"},
		Step: func(state any, op Operation) (bool, any) {
			switch op.F {
			case "read":
				return op.Outcome != OK || same(state, op.Output), state
			case "write":
				return true, op.Input
			}
			pair, ok := op.Input.([]any)
			if !ok || len(pair) != 2 || !same(state, pair[0]) {
				return false, state
			}
			return true, pair[1]
		},
	}
}

// KV is a string per key: get, put v, append v. The initial value is the empty string.
func KV() Model {
	return Model{
		Name:      "kv",
		Init:      "",
		Reads:     []string{"get"},
		Functions: []string{"get", "put", "append"},
		Step: func(state any, op Operation) (bool, any) {
			switch op.F {
			case "get":
				out := op.Output
				if out == nil {
					out = ""
				}
				return op.Outcome != OK || same(state, out), state
			case "put":
				return true, op.Input
			}
			return true, text(state) + text(op.Input)
		},
	}
}

// Models are the models by name that a user may ask for.
func Models() map[string]Model {
	return map[string]Model{"register": Register(), "kv": KV(), "jobs": Jobs()}
}

// ModelFor picks the model whose functions cover those of the history. It fails when none or several do.
func ModelFor(ops []Operation) (Model, error) {
	used := map[string]bool{}
	for _, op := range ops {
		used[op.F] = true
	}
	var fit []Model
	for _, name := range []string{"register", "kv", "jobs"} {
		m := Models()[name]
		if covers(m.Functions, used) {
			fit = append(fit, m)
		}
	}
	if len(fit) == 1 {
		return fit[0], nil
	}
	return Model{}, fmt.Errorf("the history calls %s: name the model: register (read, write, cas), kv (get, put, append) or jobs (enqueue, claim, finish, release)", strings.Join(sorted(used), ", "))
}

func covers(have []string, used map[string]bool) bool {
	n := 0
	for _, f := range have {
		if used[f] {
			n++
		}
	}
	return n == len(used)
}

// text is v as the kv model stores it.
func text(v any) string {
	if s, isString := v.(string); isString {
		return s
	}
	return fmt.Sprint(v)
}

// hash spreads states so that porcupine compares few of them; equal states (see same) have equal hashes.
func hash(state any) uint64 {
	switch s := state.(type) {
	case nil:
		return 0
	case int64:
		return uint64(s) * 0x9e3779b97f4a7c15
	case string:
		h := uint64(14695981039346656037)
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		return h
	}
	return hash(fmt.Sprint(state))
}

// same compares values of a history; lists are compared by their text.
func same(a, b any) bool {
	if _, isList := a.([]any); isList {
		return fmt.Sprint(a) == fmt.Sprint(b)
	}
	if _, isList := b.([]any); isList {
		return false
	}
	return a == b
}
