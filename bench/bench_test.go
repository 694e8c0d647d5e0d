package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// fixed is a member that makes so many units a second in each round.
func fixed(name, unit string, rates ...int) Member {
	round := 0
	return Member{name, unit, func(context.Context, time.Duration) (int, time.Duration, error) {
		round++
		return rates[round-1], time.Second, nil
	}}
}

func group(members ...Member) Group {
	return Group{"test", "", func(context.Context, Options) ([]Member, func(), error) { return members, func() {}, nil }}
}

func TestMediansAndRatiosAreOfRounds(t *testing.T) {
	got, err := Measure(context.Background(), group(fixed("a", "x/s", 100, 10, 1000), fixed("b", "x/s", 50, 30, 1000), fixed("c", "y/s", 1, 2, 3)), Options{Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	b, c := got[1], got[2]
	if b.Median != 50 || b.Lowest != 30 || b.Highest != 1000 || b.Ratio != 1 || c.Ratio != 1 {
		t.Errorf("%+v %+v", b, c)
	}
	if m := median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("median of an even number %v", m)
	}
}

func TestMembersAreMeasuredInTurns(t *testing.T) {
	var order strings.Builder
	member := func(name string) Member {
		return Member{name, "x/s", func(context.Context, time.Duration) (int, time.Duration, error) {
			order.WriteString(name)
			return 1, time.Second, nil
		}}
	}
	if _, err := Measure(context.Background(), group(member("a"), member("b")), Options{Rounds: 2}); err != nil || order.String() != "abab" {
		t.Errorf("%v %s", err, order.String())
	}
}

func TestErrorsNameTheMember(t *testing.T) {
	bad := Member{"bad", "x/s", func(context.Context, time.Duration) (int, time.Duration, error) { return 0, 0, errors.New("no") }}
	if _, err := Measure(context.Background(), group(bad), Options{Rounds: 1}); err == nil || err.Error() != "bad: no" {
		t.Error(err)
	}
}

// All that takes no longer than it is told is measured for a moment.
func TestGroupsRun(t *testing.T) {
	for _, g := range []Group{kinds, statements, runs} {
		t.Run(g.Name, func(t *testing.T) {
			got, err := Measure(context.Background(), g, Options{Rounds: 1, Per: time.Millisecond, Postgres: "none"})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range got {
				if r.Median <= 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}
