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

func (f *feet) read(id uint64)  { f.reads = append(f.reads, id) }
func (f *feet) write(id uint64) { f.writes = append(f.writes, id) }

// touchActor gives the steps of an actor an order, whoever makes them. The first step of an operation is its call.
func (w *World) touchActor(i int) {
	if !w.prints {
		return
	}
	if w.daemons && (i < 0 || w.setup.Actors[i].Daemon) { // whether it can still be made depends on who has ended
		for j := range w.actors {
			if !w.setup.Actors[j].Daemon {
				w.feet.read(mix(83, uint64(j)))
			}
		}
	}
	if i < 0 {
		return
	}
	w.feet.write(mix(71, uint64(i)))
	if w.histories && w.actors[i].at.calls {
		w.feet.write(mix(79, uint64(i)))
	}
}

// touchEnd notes that an actor has ended; when all have that are no daemons, the run is over.
func (w *World) touchEnd(i int) {
	if w.prints && w.daemons {
		w.feet.write(mix(83, uint64(i)))
	}
}

// touchDatabase takes in what the database's last operation touched.
func (w *World) touchDatabase() {
	if w.prints {
		reads, writes := w.db.(Footprinter).Footprint()
		w.feet.reads, w.feet.writes = append(w.feet.reads, reads...), append(w.feet.writes, writes...)
	}
}

// touchReturns takes in operations that return: whether one returned before another was called is the order of a history.
func (w *World) touchReturns(i int, events []Event) {
	for k := range events {
		if events[k].Kind != EventReturn {
			continue
		}
		for j := range w.actors {
			if j != i {
				w.feet.read(mix(79, uint64(j)))
			}
		}
	}
}

func (w *World) readClock() {
	if w.prints {
		w.feet.read(clockObject)
	}
}

// touchMonitor orders the steps that change a monitor among all that it sees.
func (w *World) touchMonitor(k int, changed bool) {
	if changed {
		w.feet.write(mix(73, uint64(k)))
	} else {
		w.feet.read(mix(73, uint64(k)))
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
