package parity

import (
	"reflect"
	"testing"
)

func TestCaseIsReadAsWritten(t *testing.T) {
	for seed := range uint64(50) {
		g := newGen(seed)
		c := &Case{Doc: "a line\n", Sessions: 2}
		c.Schema, c.Seed = g.schema()
		c.Steps = []Step{{Session: 0, SQL: "BEGIN", Pick: 3}, {Session: 1, SQL: g.statement()}, {Session: 0, SQL: g.statement(), Pick: 1}}
		back, err := Parse(c.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		if len(c.Seed) == 0 {
			back.Seed, c.Seed = nil, nil
		}
		if !reflect.DeepEqual(c, back) {
			t.Fatalf("wrote\n%s\nread\n%s", c, back)
		}
	}
}
