// Package lockorder is a plain state machine for the scheduler: actors that each lock some rows, one after the other, and then
// let all go, as transactions do. They deadlock unless all lock in one order.
package lockorder

import (
	"fmt"

	"simrun/scheduler"
)

// Transactions lists for each actor the rows that it locks, in its order; 8 actors and 8 rows, numbered from 0, at most.
type Transactions [][]int

// State says who holds which row, and how far each actor is: up to len(rows) locked rows, one more when it has committed.
type State struct {
	Holder [8]int8 // actor + 1; 0: nobody
	At     [8]int8
	last   int8 // the actor that moved last, for Footprint; what it touched is at the place before
	freed  bool // it committed
}

// The kinds of choice.
const (
	lock int32 = iota
	commit
)

// Initial is the one state in which no row is locked.
func (Transactions) Initial() []State { return []State{{}} }

// Choices lists for each actor its next step. An actor whose next row another one holds has none.
func (t Transactions) Choices(s State, buf []scheduler.Choice) []scheduler.Choice {
	for a, rows := range t {
		switch at := int(s.At[a]); {
		case at < len(rows) && s.Holder[rows[at]] == 0:
			buf = append(buf, scheduler.Choice{Actor: int32(a), Kind: lock, Value: int32(rows[at])})
		case at == len(rows):
			buf = append(buf, scheduler.Choice{Actor: int32(a), Kind: commit})
		}
	}
	return buf
}

// Apply makes one step.
func (t Transactions) Apply(s State, c scheduler.Choice) State {
	s.At[c.Actor]++
	s.last, s.freed = int8(c.Actor), c.Kind == commit
	if c.Kind == lock {
		s.Holder[c.Value] = int8(c.Actor) + 1
		return s
	}
	for _, row := range t[c.Actor] {
		s.Holder[row] = 0
	}
	return s
}

// Clone copies the state, which has no pointers.
func (Transactions) Clone(s State) State { return s }

// Fingerprint covers how far the actors are; who holds which row follows from it.
func (Transactions) Fingerprint(s State) uint64 {
	var packed uint64
	for a, at := range s.At {
		packed |= uint64(at) << (8 * a)
	}
	return scheduler.Mix(packed + 1)
}

// Name names a step, as "0 locks 3".
func (Transactions) Name(_ State, c scheduler.Choice) string {
	if c.Kind == commit {
		return fmt.Sprintf("%d commits", c.Actor)
	}
	return fmt.Sprintf("%d locks %d", c.Actor, c.Value)
}

func object(row int) uint64 { return uint64(row) + 1 }

// Footprint is the row that was locked, or all that were let go.
func (t Transactions) Footprint(s State) scheduler.Footprint {
	rows := t[s.last]
	if !s.freed {
		rows = rows[s.At[s.last]-1 : s.At[s.last]]
	}
	var f scheduler.Footprint
	for _, row := range rows {
		f.Writes = append(f.Writes, object(row))
	}
	return f
}

// Waits lists the actors whose next row is taken.
func (t Transactions) Waits(s State, buf []scheduler.Wait) []scheduler.Wait {
	for a, rows := range t {
		if at := int(s.At[a]); at < len(rows) && s.Holder[rows[at]] != 0 {
			buf = append(buf, scheduler.Wait{Actor: int32(a), Reads: []uint64{object(rows[at])}})
		}
	}
	return buf
}

// Violation is that two actors hold one row, which the state cannot even say: deadlock is what this example is about.
func (Transactions) Violation(State) (string, string) { return "", "" }

// Status of a state without choices.
func (t Transactions) Status(s State) scheduler.Status {
	for a, rows := range t {
		if int(s.At[a]) <= len(rows) {
			return scheduler.Stuck
		}
	}
	return scheduler.Completed
}

// Witnesses sees that somebody had to wait.
func (t Transactions) Witnesses(s State, buf []string) []string {
	for a, rows := range t {
		if at := int(s.At[a]); at < len(rows) && s.Holder[rows[at]] != 0 {
			return append(buf, "waited")
		}
	}
	return buf
}
