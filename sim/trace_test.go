package sim

import (
	"reflect"
	"testing"
)

func TestWaits(t *testing.T) {
	blocked := Reply{Blocked: true}
	trace := &Trace{Actors: []string{"a", "b", "c"}, Steps: []Step{
		{Choice: 0, Actor: 0},
		{Choice: 1, Actor: 1, Reply: blocked},
		{Choice: 2, Actor: 2, Reply: blocked},
		{Choice: 3, Actor: -1, Kind: StepClock},
		{Choice: 4, Actor: 0},
		{Choice: 4, Actor: 1, Kind: StepWake, Eager: true}, // woken by choice 4: waited from 1 to 4
		{Choice: 5, Actor: 2, Kind: StepWake, Reply: blocked},
		{Choice: 6, Actor: 0},
		{Choice: 7, Actor: 0},
	}}
	var got []int
	trace.Waits(func(choices int) { got = append(got, choices) })
	if want := []int{3, 3, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("waits of %v choices, want %v", got, want)
	}
}
