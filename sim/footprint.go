package sim

import (
	"strings"

	"simrun/scheduler"
)

// A step's footprint is what the database says it touched, and the parts of the world that are no database: the actor that
// moved, the clock, the invariants that have to be looked at, the monitors.

const (
	clockObject      = 0x636c6f636b
	invariantsObject = 0x696e76
)

// everything is the object that conflicts with all others.
var everything = []uint64{0}

// Footprint is scheduler.Footprinter's.
func (s *System) Footprint(w *World) scheduler.Footprint {
	if !s.prints {
		return scheduler.Footprint{Writes: everything}
	}
	return scheduler.Footprint{Reads: w.feet.reads, Writes: w.feet.writes}
}

// TracksFootprints is scheduler.Tracker's.
func (s *System) TracksFootprints() bool { return s.prints }

// feet is the footprint of a world's last choice.
type feet struct{ reads, writes []uint64 }

// touchActor gives the steps of an actor an order, whoever makes them.
func (w *World) touchActor(i int) {
	if w.prints && i >= 0 {
		w.feet.writes = append(w.feet.writes, mix(71, uint64(i)))
	}
}

func (w *World) readClock() {
	if w.prints {
		w.feet.reads = append(w.feet.reads, clockObject)
	}
}

// touchMonitor orders the steps that change a monitor among all that it sees.
func (w *World) touchMonitor(k int, changed bool) {
	if changed {
		w.feet.writes = append(w.feet.writes, mix(73, uint64(k)))
	} else {
		w.feet.reads = append(w.feet.reads, mix(73, uint64(k)))
	}
}

// asksTime says that SQL may ask for the time; it errs to the safe side.
func asksTime(sql string) bool {
	low := strings.ToLower(sql)
	for _, word := range [...]string{"now", "timestamp", "current_", "localtime", "timeofday", "pg_stat_activity", "age("} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}
