package invariants

import (
	"strings"
	"testing"

	"simrun/sim"
)

// trace builds a trace from lines "actor class:object:mode[:try] ...", or "actor end".
func trace(lines ...string) *sim.Trace {
	t := &sim.Trace{Actors: []string{"a", "b", "c"}}
	for i, line := range lines {
		w := strings.Fields(line)
		s := sim.Step{Index: i, Name: w[0], Actor: int(w[0][0] - 'a'), SQL: line, Reply: sim.Reply{Tx: 'T'}}
		for _, f := range w[1:] {
			switch p := strings.Split(f, ":"); {
			case f == "end":
				s.Reply.Tx = 'I'
			case f == "bounded":
				s.Bounded = true
			default:
				s.Acquired = append(s.Acquired, sim.Lock{Class: p[0], Object: p[1], Mode: strings.ReplaceAll(p[2], "_", " "), Try: len(p) > 3})
			}
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

func TestLockOrder(t *testing.T) {
	const upd = "FOR_UPDATE"
	for _, tc := range []struct {
		name  string
		lines []string
		want  bool
	}{
		{"opposite rows", []string{"a row:x:" + upd, "a row:y:" + upd, "a end", "b row:y:" + upd, "b row:x:" + upd, "b end"}, true},
		{"same order", []string{"a row:x:" + upd, "a row:y:" + upd, "a end", "b row:x:" + upd, "b row:y:" + upd, "b end"}, false},
		{"one actor in both orders", []string{"a row:x:" + upd, "a row:y:" + upd, "a end", "a row:y:" + upd, "a row:x:" + upd, "a end"}, false},
		{"shared modes", []string{"a row:x:FOR_SHARE", "a row:y:FOR_SHARE", "a end", "b row:y:FOR_SHARE", "b row:x:FOR_SHARE", "b end"}, false},
		{"weak against strong", []string{"a row:x:FOR_KEY_SHARE", "a row:y:FOR_KEY_SHARE", "a end", "b row:y:" + upd, "b row:x:" + upd, "b end"}, true},
		{"key share passes no key update", []string{"a row:x:FOR_KEY_SHARE", "a row:y:FOR_KEY_SHARE", "a end",
			"b row:y:FOR_NO_KEY_UPDATE", "b row:x:FOR_NO_KEY_UPDATE", "b end"}, false},
		{"gate", []string{"a row:g:" + upd, "a row:x:" + upd, "a row:y:" + upd, "a end", "b row:g:" + upd, "b row:y:" + upd, "b row:x:" + upd, "b end"}, false},
		{"gate taken too late", []string{"a row:x:" + upd, "a row:g:" + upd, "a row:y:" + upd, "a end", "b row:y:" + upd, "b row:g:" + upd, "b row:x:" + upd, "b end"}, true},
		{"tried", []string{"a row:x:" + upd, "a row:y:" + upd + ":try", "a end", "b row:y:" + upd, "b row:x:" + upd, "b end"}, false},
		{"bounded", []string{"a row:x:" + upd, "a row:y:" + upd + " bounded", "a end", "b row:y:" + upd, "b row:x:" + upd, "b end"}, false},
		{"released between", []string{"a row:x:" + upd + " end", "a row:y:" + upd + " end", "b row:y:" + upd, "b row:x:" + upd, "b end"}, false},
		{"upgrade", []string{"a relation:t:ShareLock", "a relation:t:AccessExclusiveLock", "a end", "b relation:t:ShareLock", "b relation:t:AccessExclusiveLock", "b end"}, true},
		{"mixed classes", []string{"a advisory:1:ExclusiveLock", "a relation:t:AccessExclusiveLock", "a end", "b relation:t:AccessShareLock", "b advisory:1:ExclusiveLock", "b end"}, true},
		{"three", []string{"a row:x:" + upd, "a row:y:" + upd, "a end", "b row:y:" + upd, "b row:z:" + upd, "b end", "c row:z:" + upd, "c row:x:" + upd, "c end"}, true},
		{"row and relation of one name", []string{"a row:t:" + upd, "a row:y:" + upd, "a end", "b row:y:" + upd, "b relation:t:AccessExclusiveLock", "b end"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := LockOrder().Run(trace(tc.lines...))
			if (got != "") != tc.want {
				t.Errorf("got %q", got)
			}
			if tc.want && (!strings.Contains(got, "holds") || !strings.Contains(got, "step 0")) {
				t.Errorf("the finding does not say who holds what since when: %q", got)
			}
		})
	}
}

// TestConflictsAreSymmetric checks the tables against each other and by the number of conflicts in Postgres's own tables.
func TestConflictsAreSymmetric(t *testing.T) {
	for class, modes := range map[string][]string{"row": rowModes, "relation": tableModes} {
		n := 0
		for _, a := range modes {
			for _, b := range modes {
				x, y := Conflict(&sim.Lock{Class: class, Mode: a}, &sim.Lock{Class: class, Mode: b}), Conflict(&sim.Lock{Class: class, Mode: b}, &sim.Lock{Class: class, Mode: a})
				if x != y {
					t.Errorf("%s and %s: %v and %v", a, b, x, y)
				}
				if x {
					n++
				}
			}
		}
		if want := map[string]int{"row": 10, "relation": 38}[class]; n != want {
			t.Errorf("%s: %d conflicts, want %d", class, n, want)
		}
	}
}

func TestNoDeadlock(t *testing.T) {
	m := NoDeadlock().Monitor()
	if _, why := m.Step(&sim.Step{}); why != "" {
		t.Errorf("fired on a step without an error: %s", why)
	}
	if _, why := m.Step(&sim.Step{Name: "victim a", Reply: sim.Reply{Err: &sim.Error{Code: "40P01"}}}); why == "" {
		t.Error("did not fire on a victim")
	}
	if _, why := m.Step(&sim.Step{Name: "victim a", Yielding: true, Reply: sim.Reply{Err: &sim.Error{Code: "40P01"}}}); why != "" {
		t.Errorf("fired on a cycle that a lock_timeout ends: %s", why)
	}
}
