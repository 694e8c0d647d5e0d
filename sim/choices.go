package sim

import (
	"slices"
	"strconv"

	"simrun/scheduler"
)

// fault numbers the budgets of Faults.
type fault uint8

const (
	faultCrash fault = iota
	faultCommitUnknown
	faultConnLost
	faultCancel
	faultLockTimeout
	faultStatementTimeout
	faultSerialization
	faultIdleTimeout
	faultKinds
)

func (f *Faults) budget(k fault) int {
	return [faultKinds]int{f.Crash, f.CommitUnknown, f.ConnLost, f.Cancel, f.LockTimeout, f.StatementTimeout, f.Serialization, f.IdleTimeout}[k]
}

func (w *World) mayFail(k fault) bool { return w.used[k] < w.budgets[k] }

// choice is an actor's own choice; imposed is one that the environment makes about an actor: a fault, or a deadlock's victim.
func choice(actor int, kind StepKind) scheduler.Choice {
	return scheduler.Choice{Actor: int32(actor), Kind: int32(kind)}
}

func imposed(actor int, kind StepKind) scheduler.Choice {
	return scheduler.Choice{Actor: scheduler.Environment, Kind: int32(kind), Value: int32(actor)}
}

// subject is the actor that a choice is about; -1 for the clock.
func subject(c scheduler.Choice) int {
	if c.Actor == scheduler.Environment && StepKind(c.Kind) != StepClock {
		return int(c.Value)
	}
	return int(c.Actor)
}

// Choices is scheduler.System's: the actors' own steps first, in their order, then the clock, then faults.
func (s *System) Choices(w *World, buf []scheduler.Choice) []scheduler.Choice {
	switch {
	case w.err != nil || w.broken != "":
		return buf
	case len(w.cycle) > 0:
		return w.victims(buf)
	case w.complete():
		return buf
	case len(w.woken) > 0 && !w.opts.Lazy:
		for _, i := range w.woken {
			buf = append(buf, choice(i, StepWake))
		}
		return buf
	}
	start := len(buf)
	sleepers := false
	for i := range w.actors {
		switch a := &w.actors[i]; a.status {
		case ready:
			if a.at.ask.kind == askChoose {
				for v := range a.at.ask.n {
					buf = append(buf, scheduler.Choice{Actor: int32(i), Kind: int32(StepChoose), Value: int32(v)})
				}
			} else {
				buf = append(buf, choice(i, StepRun))
			}
		case asleep:
			sleepers = true
		}
	}
	for _, i := range w.woken {
		buf = append(buf, choice(i, StepWake))
	}
	if sleepers {
		buf = append(buf, choice(int(scheduler.Environment), StepClock))
	}
	moving := len(buf) > start
	if w.used != w.budgets {
		buf = w.faults(buf, moving)
	}
	if !moving {
		buf = w.giveUps(buf)
	}
	return buf
}

// victims are the ways out of a closed cycle: a deadlock victim, or a timeout that is over first.
func (w *World) victims(buf []scheduler.Choice) []scheduler.Choice {
	for _, i := range w.cycle {
		if !w.actors[i].at.ask.bounded() { // otherwise its timeout is over before it looks for a deadlock
			buf = append(buf, imposed(i, StepVictim))
		}
	}
	for _, i := range w.cycle {
		buf = w.timeouts(buf, i, true, true)
	}
	return buf
}

// timeouts are the ways in which the wait of an actor may take too long.
func (w *World) timeouts(buf []scheduler.Choice, i int, lock, statement bool) []scheduler.Choice {
	ask := w.actors[i].at.ask
	if lock && ask.lockTimeout != timeoutNone {
		buf = append(buf, imposed(i, StepLockTimeout))
	}
	if statement && ask.statementTimeout != timeoutNone {
		buf = append(buf, imposed(i, StepStatementTimeout))
	}
	return buf
}

// cycleYields says that a wait of the closed cycle ends by its timeout, if nothing comes before.
func (w *World) cycleYields() bool {
	return slices.ContainsFunc(w.cycle, func(i int) bool { return w.actors[i].at.ask.bounded() })
}

// giveUps are the waits with a timeout, when nothing else can move: real time would pass. With a budget they are among the faults.
func (w *World) giveUps(buf []scheduler.Choice) []scheduler.Choice {
	for i := range w.actors {
		if w.actors[i].status == blocked {
			buf = w.timeouts(buf, i, !w.mayFail(faultLockTimeout), !w.mayFail(faultStatementTimeout))
		}
	}
	return buf
}

func (w *World) faults(buf []scheduler.Choice, moving bool) []scheduler.Choice {
	for i := range w.actors {
		a := &w.actors[i]
		if a.status == ended {
			continue
		}
		ask := a.at.ask
		waits := a.status == blocked && !w.isWoken(i)
		sql := a.status == ready && ask.kind == askSQL
		// A process that has not yet observed anything has nothing to lose.
		if w.mayFail(faultCrash) && moving && a.status != blocked && a.at.parent != w.graphs[i].start {
			buf = append(buf, imposed(i, StepCrash))
		}
		unknown := sql && (ask.commit || ask.auto)
		if unknown && w.mayFail(faultCommitUnknown) {
			buf = append(buf, imposed(i, StepCommitApplied), imposed(i, StepCommitDropped))
		}
		if sql && !unknown && w.mayFail(faultConnLost) {
			buf = append(buf, imposed(i, StepConnLost))
		}
		if (waits || sql && ask.plain) && w.mayFail(faultCancel) {
			buf = append(buf, imposed(i, StepCancel))
		}
		if waits {
			buf = w.timeouts(buf, i, w.mayFail(faultLockTimeout), w.mayFail(faultStatementTimeout))
		}
		if sql && ask.repeatable && a.tx == 'T' && w.mayFail(faultSerialization) {
			buf = append(buf, imposed(i, StepSerialization))
		}
		if w.mayFail(faultIdleTimeout) && ask.idleTimeout && a.tx != 'I' && a.status != blocked {
			buf = append(buf, imposed(i, StepIdleTimeout))
		}
	}
	return buf
}

func (w *World) isWoken(i int) bool {
	for _, j := range w.woken {
		if i == j {
			return true
		}
	}
	return false
}

var kindNames = [stepKinds]string{
	StepRun: "", StepWake: "wake ", StepVictim: "victim ", StepLockTimeout: "lock-timeout ", StepStatementTimeout: "statement-timeout ",
	StepCrash:         "crash ",
	StepCommitApplied: "commit-applied ", StepCommitDropped: "commit-dropped ", StepConnLost: "disconnect ",
	StepIdleTimeout: "idle-timeout ", StepCancel: "cancel ", StepSerialization: "serialization-failure ", StepClock: "clock ", StepChoose: "",
}

// Name is scheduler.System's: "reader", "wake reader", "crash reader", "clock", "reader size=2".
func (s *System) Name(w *World, c scheduler.Choice) string {
	switch k := StepKind(c.Kind); k {
	case StepClock:
		return "clock"
	case StepChoose:
		return s.chooseName(int(c.Actor), w.actors[c.Actor].at.ask, c.Value)
	default:
		return s.names[subject(c)][k]
	}
}

func (p *plan) chooseName(actor int, ask *pending, value int32) string {
	return p.setup.Actors[actor].Name + " " + ask.name + "=" + strconv.Itoa(int(value))
}
