package scheduler

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// program is a small concurrent system for tests: actors that run lists of operations over shared variables, with guards, locks
// and free choices. Its footprints are exact.
type program struct {
	actors [][]operation
	vars   int
	faults int  // the environment may reset variable 0 that often
	limit  int8 // a variable that reaches it breaks an invariant; 0: none does
	// crashes is how often the environment may end an actor before its end. It need not, so that runs end without.
	crashes int
	clock   bool // resets are no faults
	daemon  bool // the last actor need not end: a run is over when the others have
}

type operation struct {
	kind opKind
	a, b int // variables
	n    int8
}

type opKind uint8

const (
	opSet   opKind = iota // a = n
	opCopy                // a = b
	opAdd                 // a = a+n
	opAwait               // wait until a == n
	opLock                // wait until a == 0, then a = actor+1
	opFree                // a = 0
	opPick                // a = 0 or 1
	opHold                // a = n, and nobody else moves before the actor's next step, if that has no guard
)

// progState is a state of a program. It is a pointer so that Apply uses states up, as a world's does.
type progState struct {
	vars    []int8
	at      []int8 // next operation of each actor
	faults  int8
	crashed int8
	holder  int8      // actor + 1 that alone may move; 0: all may
	feet    Footprint // of the last step
}

func (p *program) Initial() []*progState {
	return []*progState{{vars: make([]int8, p.vars), at: make([]int8, len(p.actors)), faults: int8(p.faults)}}
}

func (p *program) next(s *progState, a int) (operation, bool) {
	if int(s.at[a]) == len(p.actors[a]) {
		return operation{}, false
	}
	return p.actors[a][s.at[a]], true
}

// over says that every actor has ended that must.
func (p *program) over(s *progState) bool {
	for a := range p.actors {
		if int(s.at[a]) < len(p.actors[a]) && !(p.daemon && a > 0 && a == len(p.actors)-1) {
			return false
		}
	}
	return true
}

func (p *program) Choices(s *progState, buf []Choice) []Choice {
	if p.daemon && p.over(s) {
		return buf
	}
	for a := range p.actors {
		op, ok := p.next(s, a)
		switch {
		case !ok,
			s.holder != 0 && int(s.holder) != a+1,
			op.kind == opAwait && s.vars[op.a] != op.n,
			op.kind == opLock && s.vars[op.a] != 0:
		case op.kind == opPick:
			buf = append(buf, Choice{Actor: int32(a)}, Choice{Actor: int32(a), Value: 1})
		default:
			buf = append(buf, Choice{Actor: int32(a)})
		}
	}
	if s.faults > 0 && s.holder == 0 {
		buf = append(buf, Choice{Actor: Environment, Kind: 1})
	}
	for a := range p.actors {
		if int(s.crashed) < p.crashes && s.holder == 0 && int(s.at[a]) < len(p.actors[a]) {
			buf = append(buf, Choice{Actor: Environment, Kind: 2, Value: int32(a)})
		}
	}
	return buf
}

// Fair says that faults need not happen.
func (p *program) Fair(c Choice) bool { return c.Actor != Environment || c.Kind == 1 && p.clock }

// process is the object that stands for an actor; ended that it has ended, which whoever need not move reads: the last end is the
// run's.
func process(a int32) uint64 { return uint64(a) + 100 }
func ended(a int32) uint64   { return uint64(a) + 200 }

// required returns how many actors must end, when others are there that need not.
func (p *program) required() int32 {
	if !p.daemon || len(p.actors) < 2 {
		return 0
	}
	return int32(len(p.actors) - 1)
}

// ends adds what a step touches because runs end when the required actors have ended.
func (p *program) ends(s *progState, c Choice) {
	n := p.required()
	if a := max(c.Actor, c.Value); a >= 0 && a < n && int(s.at[a]) == len(p.actors[a]) {
		s.feet.Writes = append(slices.Clone(s.feet.Writes), ended(a))
	}
	if c.Actor == Environment || c.Actor >= n {
		s.feet.Reads = slices.Clone(s.feet.Reads)
		for a := range n {
			s.feet.Reads = append(s.feet.Reads, ended(a))
		}
	}
}

func object(v int) uint64 { return uint64(v) + 10 }

func (p *program) Apply(s *progState, c Choice) *progState {
	if c.Actor == Environment && c.Kind == 2 {
		defer p.ends(s, c)
		s.crashed++
		s.at[c.Value] = int8(len(p.actors[c.Value]))
		s.feet = Footprint{Writes: []uint64{process(c.Value), 6}}
		for v := range s.vars { // its locks are free
			if s.vars[v] == int8(c.Value)+1 {
				s.vars[v] = 0
			}
			s.feet.Writes = append(s.feet.Writes, object(v))
		}
		return s
	}
	if c.Actor == Environment {
		defer p.ends(s, Choice{Actor: Environment, Value: -1})
		s.faults--
		s.vars[0] = 0
		s.feet = Footprint{Writes: []uint64{object(0), 6}}
		return s
	}
	defer p.ends(s, Choice{Actor: c.Actor})
	op := p.actors[c.Actor][s.at[c.Actor]]
	s.at[c.Actor]++
	s.holder = 0
	a, b := []uint64{object(op.a)}, []uint64{object(op.b)}
	switch op.kind {
	case opSet:
		s.vars[op.a] = op.n
		s.feet = Footprint{Writes: a}
	case opCopy:
		s.vars[op.a] = s.vars[op.b]
		s.feet = Footprint{Writes: a, Reads: b}
	case opAdd:
		s.vars[op.a] += op.n
		s.feet = Footprint{Writes: a}
	case opAwait:
		s.feet = Footprint{Reads: a}
	case opLock:
		s.vars[op.a] = int8(c.Actor) + 1
		s.feet = Footprint{Writes: a}
	case opHold:
		s.vars[op.a] = op.n
		s.feet = Footprint{Writes: a}
		if next, ok := p.next(s, int(c.Actor)); ok && next.kind != opAwait && next.kind != opLock {
			s.holder = int8(c.Actor) + 1
		}
	case opFree:
		s.vars[op.a] = 0
		s.feet = Footprint{Writes: a}
	case opPick:
		s.vars[op.a] = int8(c.Value)
		s.feet = Footprint{Writes: a}
	}
	s.feet.Reads = append(slices.Clone(s.feet.Reads), process(c.Actor))
	if p.limit > 0 { // the order of steps that the invariant sees
		s.feet.Writes = append(slices.Clone(s.feet.Writes), 6)
	}
	return s
}

func (p *program) Clone(s *progState) *progState {
	return &progState{slices.Clone(s.vars), slices.Clone(s.at), s.faults, s.crashed, s.holder, s.feet}
}

func (p *program) Fingerprint(s *progState) uint64 {
	h := Mix(uint64(s.crashed)<<16 + uint64(s.faults)<<8 + uint64(s.holder) + 1)
	for _, v := range s.vars {
		h = Mix(h ^ uint64(uint8(v)))
	}
	for _, a := range s.at {
		h = Mix(h ^ uint64(uint8(a)))
	}
	return h
}

func (p *program) Name(s *progState, c Choice) string {
	if c.Actor == Environment && c.Kind == 2 {
		return fmt.Sprintf("crash %c", 'a'+c.Value)
	}
	if c.Actor == Environment {
		return fmt.Sprintf("reset#%d", s.faults)
	}
	return fmt.Sprintf("%c%d=%d", 'a'+c.Actor, s.at[c.Actor], c.Value)
}

func (p *program) Footprint(s *progState) Footprint { return s.feet }

func (p *program) Waits(s *progState, buf []Wait) []Wait {
	for a := range p.actors {
		if op, ok := p.next(s, a); ok && p.daemon && p.over(s) { // it waits for a run that goes on
			w := Wait{int32(a), []uint64{object(op.a)}}
			for r := range p.required() {
				w.Reads = append(w.Reads, ended(r))
			}
			buf = append(buf, w)
			continue
		}
		if op, ok := p.next(s, a); ok && (op.kind == opAwait && s.vars[op.a] != op.n || op.kind == opLock && s.vars[op.a] != 0) {
			buf = append(buf, Wait{int32(a), []uint64{object(op.a)}})
		}
	}
	return buf
}

func (p *program) Violation(s *progState) (string, string) {
	for i, v := range s.vars {
		if p.limit > 0 && v >= p.limit {
			return "below-limit", fmt.Sprintf("variable %d is %d", i, v)
		}
	}
	return "", ""
}

func (p *program) Status(s *progState) Status {
	if p.over(s) {
		return Completed
	}
	return Stuck
}

func (p *program) Witnesses(s *progState, buf []string) []string {
	if s.vars[0] == 2 {
		buf = append(buf, "two")
	}
	return buf
}

// Encode and Decode make it a Codec.
func (p *program) Encode(s *progState, buf []byte) []byte {
	for _, v := range s.vars {
		buf = append(buf, byte(v))
	}
	for _, a := range s.at {
		buf = append(buf, byte(a))
	}
	return append(buf, byte(s.faults), byte(s.crashed), byte(s.holder))
}

func (p *program) Decode(b []byte) (*progState, []byte, error) {
	s := p.Initial()[0]
	for i := range s.vars {
		s.vars[i] = int8(b[i])
	}
	b = b[len(s.vars):]
	for i := range s.at {
		s.at[i] = int8(b[i])
	}
	b = b[len(s.at):]
	s.faults, s.crashed, s.holder = int8(b[0]), int8(b[1]), int8(b[2])
	return s, b[3:], nil
}

func drawProgram(t *rapid.T, actors, length int) *program {
	p := &program{vars: rapid.IntRange(1, 3).Draw(t, "vars")}
	variable := rapid.IntRange(0, p.vars-1)
	for range rapid.IntRange(1, actors).Draw(t, "actors") {
		p.actors = append(p.actors, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) operation {
			return operation{
				kind: opKind(rapid.IntRange(0, int(opHold)).Draw(t, "kind")),
				a:    variable.Draw(t, "a"),
				b:    variable.Draw(t, "b"),
				n:    int8(rapid.IntRange(0, 2).Draw(t, "n")),
			}
		}), 0, length).Draw(t, "ops"))
	}
	return p
}
