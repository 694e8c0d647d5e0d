// Package spec reads the .spec files of PostgreSQL's isolationtester and runs them on a server or on the model, with
// isolationtester's output to the letter (src/test/isolation/README in PostgreSQL's sources describes the format).
package spec

// Spec is a parsed file.
type Spec struct {
	Setups       []string // each is a submission of its own
	Teardown     string
	Sessions     []Session
	Permutations []Permutation // none: all interleavings of the sessions' steps
	// Checks are the steps that comments "# check: STEP" name: for Explore their queries must return no row at the end. To
	// isolationtester they are steps like others.
	Checks []string
	// Unused are the steps that no listed permutation has, sorted. isolationtester warns of them.
	Unused []string
}

// Session is a session of a test, which is one connection.
type Session struct {
	Name            string
	Setup, Teardown string
	Steps           []Step
}

// Step is a step of a session.
type Step struct {
	Name string
	SQL  string
}

// Permutation is an order in which steps are launched.
type Permutation []Launch

// Launch is a step in a permutation, with the markers that delay the report of its completion.
type Launch struct {
	Session, Step int // indexes
	Name          string
	Markers       []Marker
}

// Marker says what must have happened before a step is reported as completed.
type Marker struct {
	// Star reports the step as waiting at once.
	Star bool
	// Other is the step that must have completed, when Notices is 0; otherwise its session must have got so many notices since
	// the launch.
	Other        string
	OtherSession int
	Notices      int
}

// Interleavings calls f with each order of the sessions' steps that keeps each session's own order, the first session's steps
// first. f returns false to stop.
func (s *Spec) Interleavings(f func(Permutation) bool) {
	next := make([]int, len(s.Sessions))
	total := 0
	for _, sess := range s.Sessions {
		total += len(sess.Steps)
	}
	order := make(Permutation, 0, total)
	var visit func() bool
	visit = func() bool {
		if len(order) == total {
			return f(order)
		}
		for i, sess := range s.Sessions {
			if next[i] == len(sess.Steps) {
				continue
			}
			order = append(order, Launch{Session: i, Step: next[i], Name: sess.Steps[next[i]].Name})
			next[i]++
			more := visit()
			next[i]--
			order = order[:len(order)-1]
			if !more {
				return false
			}
		}
		return true
	}
	visit()
}

// Each calls f with the listed permutations, or with all interleavings when there are none.
func (s *Spec) Each(f func(Permutation) bool) {
	if len(s.Permutations) == 0 {
		s.Interleavings(f)
		return
	}
	for _, p := range s.Permutations {
		if !f(p) {
			return
		}
	}
}
