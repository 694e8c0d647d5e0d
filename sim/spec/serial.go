package spec

import (
	"context"
	"errors"
	"slices"
	"strings"

	"simrun/scheduler"
	"simrun/sim"
)

// whole says what is never interrupted in a serial run.
type whole uint8

const (
	wholeSessions     whole = iota // the sessions run one after the other
	wholeTransactions              // the transactions do
)

// serial is a frame that interleaves nothing smaller than whole sessions or transactions.
type serial struct {
	*frame
	whole whole
}

// turn is a state of serial runs: the world, and the session that nobody may interrupt, -1 for none.
type turn struct {
	world *sim.World
	inner int
}

// Initial is the state after the main setup. The setup of a session belongs to its first turn.
func (s *serial) Initial() []turn {
	w := s.frame.System.Clone(s.frame.System.Initial()[0])
	for _, c := range s.main() {
		w = s.frame.System.Apply(w, c)
	}
	return []turn{{w, -1}}
}

// main are the choices of the main setup.
func (s *serial) main() []scheduler.Choice {
	n := 0
	for n < len(s.before) && s.actors[s.before[n].Actor] == setupActor {
		n++
	}
	return s.before[:n]
}

func (s *serial) Choices(t turn, buf []scheduler.Choice) []scheduler.Choice {
	if t.inner < 0 {
		return s.frame.Choices(t.world, buf)
	}
	// The session that has the turn goes on; at its end, with its transaction open, it is let run its teardown by itself.
	from := len(buf)
	all := s.frame.System.Choices(t.world, buf)
	kept := all[:from]
	for _, c := range all[from:] {
		if int(c.Actor) == t.inner {
			kept = append(kept, c)
		}
	}
	if _, waits := t.world.Standing(t.inner); len(kept) == from && !waits {
		kept = append(kept, scheduler.Choice{Actor: scheduler.Environment, Kind: int32(sim.StepClock)})
	}
	return kept
}

func (s *serial) Apply(t turn, c scheduler.Choice) turn {
	w := s.frame.System.Apply(t.world, c)
	inner := t.inner
	if c.Actor >= 0 {
		inner = int(c.Actor)
	}
	tx, waits := w.Standing(inner)
	free := tx == 'I' && !waits
	if s.whole == wholeSessions && free {
		free = !slices.ContainsFunc(s.frame.System.Choices(w, nil), func(c scheduler.Choice) bool { return int(c.Actor) == inner })
	}
	if ended, _ := w.Done(s.frame.actors[inner]); free || ended {
		inner = -1
	}
	return turn{w, inner}
}

func (s *serial) Clone(t turn) turn { return turn{s.frame.System.Clone(t.world), t.inner} }

func (s *serial) Fingerprint(t turn) uint64 {
	return scheduler.Mix(s.frame.Fingerprint(t.world) + scheduler.Mix(uint64(t.inner+1)))
}

func (s *serial) Name(t turn, c scheduler.Choice) string { return s.frame.Name(t.world, c) }

// serials are the outcomes of the serial runs of a selection, each with the order in which its sessions or transactions came first.
type serials map[whole]map[string]string

// judge compares outcomes with those of serial runs.
type judge struct {
	explorer *explorer
	known    map[string]serials // by the mask
}

// Class says how an outcome compares with those of serial runs.
type Class string

// The classes.
const (
	ClassSerial       Class = "serial"              // running whole sessions one after the other gives it
	ClassTransactions Class = "serial transactions" // running whole transactions one after the other gives it
	ClassRace         Class = "race"                // neither does
	ClassStuck        Class = "stuck"               // steps wait for ever
)

// classify compares the outcome. Transactions that failed and ask for another try are left out of both sides. order is the serial
// order that gives it.
func (j *judge) classify(ctx context.Context, o *outcome) (class Class, order string, err error) {
	if len(o.stuck) > 0 {
		return ClassStuck, "", nil
	}
	mask := o.mask()
	s, err := j.serials(ctx, o, mask)
	if err != nil {
		return "", "", err
	}
	key := o.key(mask)
	if order, found := s[wholeSessions][key]; found {
		return ClassSerial, order, nil
	}
	if order, found := s[wholeTransactions][key]; found {
		return ClassTransactions, order, nil
	}
	return ClassRace, "", nil
}

// serials makes the serial runs of the selection without the steps of the mask.
func (j *judge) serials(ctx context.Context, o *outcome, mask [][]bool) (serials, error) {
	sel, sig := j.explorer.sel.without(j.explorer.setup, mask)
	if s, known := j.known[sig]; known {
		return s, nil
	}
	x, err := newExplorer(sel)
	if err != nil {
		return nil, err
	}
	all := serials{}
	for _, w := range []whole{wholeSessions, wholeTransactions} {
		all[w] = map[string]string{}
		sys := &serial{x.search, w}
		ends, _, ok := scheduler.Ends(ctx, scheduler.System[turn](sys), serialStates)
		if !ok {
			return nil, errors.Join(ctx.Err(), errors.New("the serial orders of the sessions are too many to compare with"))
		}
		for _, e := range ends {
			if x.search.Status(e.State.world) != scheduler.Completed || e.State.world.Err() != nil {
				continue
			}
			p, err := x.outcome(slices.Concat(sys.main(), e.Choices))
			if err != nil {
				return nil, err
			}
			key := p.key(mask)
			if _, known := all[w][key]; !known {
				all[w][key] = sessionOrder(x.search.actors, e.Choices)
			}
		}
	}
	j.known[sig] = all
	return all, nil
}

// serialStates bounds how many states of serial runs are visited.
const serialStates = 200_000

// without is the selection with the masked steps replaced by ROLLBACK, and what names the mask. Masks are by actor.
func (sel *Selection) without(setup *sim.Setup, mask [][]bool) (*Selection, string) {
	out := &Selection{Spec: sel.Spec, Steps: slices.Clone(sel.Steps), Checks: sel.Checks}
	var sig strings.Builder
	for i, a := range setup.Actors {
		k := slices.IndexFunc(sel.Spec.Sessions, func(s Session) bool { return s.Name == a.Name })
		if k < 0 {
			continue
		}
		out.Steps[k] = slices.Clone(sel.Steps[k])
		for j, masked := range mask[i] {
			if masked {
				out.Steps[k][j].SQL = "ROLLBACK"
				sig.WriteString(out.Steps[k][j].Name + " ")
			}
		}
	}
	return out, sig.String()
}

// sessionOrder lists the sessions in the order of their turns.
func sessionOrder(actors []string, choices []scheduler.Choice) string {
	var order []string
	last := int32(-1)
	for _, c := range choices {
		if c.Actor >= 0 && c.Actor != last {
			order = append(order, actors[c.Actor])
			last = c.Actor
		}
	}
	return strings.Join(order, ", ")
}
