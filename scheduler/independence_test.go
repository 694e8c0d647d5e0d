package scheduler

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFootprintsOfProgramsAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, 3, 3)
		p.faults = rapid.IntRange(0, 1).Draw(t, "faults")
		p.crashes = rapid.IntRange(0, 1).Draw(t, "crashes")
		c, err := CheckFootprints(context.Background(), System[*progState](p), 500)
		if err != nil || len(c.Wrong) > 0 {
			t.Fatalf("%v %v", err, c.Wrong)
		}
	})
}

// forgetful is a program whose footprints leave out what is written.
type forgetful struct{ *program }

func (f forgetful) Footprint(s *progState) Footprint { return Footprint{Reads: s.feet.Reads} }

func TestWrongFootprintsAreFound(t *testing.T) {
	p := &program{vars: 1, actors: [][]operation{{{kind: opSet, n: 1}}, {{kind: opSet, n: 2}}, {{kind: opAwait, n: 2}}}}
	c, err := CheckFootprints(context.Background(), System[*progState](forgetful{p}), 0)
	if err != nil || len(c.Wrong) == 0 || !strings.Contains(c.Wrong[0].String(), "the order shows in the state") {
		t.Errorf("%v %+v", err, c)
	}
	good, err := CheckFootprints(context.Background(), System[*progState](p), 0)
	if err != nil || len(good.Wrong) > 0 || good.Independent+good.Needless == good.Pairs {
		t.Errorf("%v %+v", err, good)
	}
	same := &program{vars: 1, actors: [][]operation{{{kind: opAdd, n: 1}}, {{kind: opAdd, n: 1}}}}
	if c, _ := CheckFootprints(context.Background(), System[*progState](same), 0); c.Needless != 1 || c.Blamed[object(0)] != 1 {
		t.Errorf("%+v", c)
	}
}
