package rings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"simrun/scheduler"
	"simrun/sim"
)

// The negative controls: what looks wrong and is not. Each is played move by move, so that the moment that it is about does
// come, and every invariant is asked after every move.

// game is a run that a test plays.
type game struct {
	t *testing.T
	s *sim.System
	w *sim.World
}

func newGame(t *testing.T, setup *sim.Setup) *game {
	t.Helper()
	db, err := sim.NewModel(setup)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.NewSystem(setup, db, sim.Options{Record: true, Locks: true})
	if err != nil {
		t.Fatal(err)
	}
	return &game{t, s, s.Initial()[0]}
}

// can is the choice of that name, if it is there.
func (g *game) can(name string) (scheduler.Choice, bool) {
	for _, c := range g.s.Choices(g.w, nil) {
		if g.s.Name(g.w, c) == name {
			return c, true
		}
	}
	return scheduler.Choice{}, false
}

// try makes a choice if it can be made.
func (g *game) try(name string) bool {
	g.t.Helper()
	c, ok := g.can(name)
	if !ok {
		return false
	}
	g.w = g.s.Apply(g.w, c)
	if broken, detail := g.s.Violation(g.w); broken != "" {
		g.t.Fatalf("after %s: %s: %s", name, broken, detail)
	}
	return true
}

func (g *game) do(name string) {
	g.t.Helper()
	if !g.try(name) {
		g.t.Fatalf("%q cannot be chosen", name)
	}
}

// last is the last statement of an actor.
func (g *game) last(actor string) *sim.Step {
	steps := g.w.Trace().Steps
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Actor >= 0 && g.s.Setup().Actors[steps[i].Actor].Name == actor && steps[i].SQL != "" {
			return &steps[i]
		}
	}
	return &sim.Step{}
}

// until lets an actor go on to the end of its next statement with this text in it, or of its commit or rollback.
func (g *game) until(actor, text string) {
	g.t.Helper()
	for {
		g.do(actor)
		s := g.last(actor)
		if !s.Reply.Blocked && (s.SQL == text || text != "commit" && strings.Contains(s.SQL, text)) {
			return
		}
	}
}

// ends lets an actor go on to its end; sleeps pass.
func (g *game) ends(actor string) {
	g.t.Helper()
	for {
		if done, _ := g.w.Done(actor); done {
			return
		}
		if !g.try(actor) && !g.try("wake "+actor) {
			g.do("clock")
		}
	}
}

// outcomes are those of an actor so far, e.g. "Rotated queue (1,3)".
func (g *game) outcomes(actor string) (out []string) {
	g.w.Trace().Notes(func(_, i int, key string, value any) {
		if key == noteOutcome && g.s.Setup().Actors[i].Name == actor {
			out = append(out, fmt.Sprint(value))
		}
	})
	return out
}

func (g *game) want(actor string, outcomes ...string) {
	g.t.Helper()
	if got := g.outcomes(actor); !slices.Equal(got, outcomes) {
		g.t.Errorf("%s: %q, want %q", actor, got, outcomes)
	}
}

// TestNegativeControlEnqueueAfterIdleProbe: a job is committed between a rotation's probe of the whole ring and its commit. The
// ring is called idle though it is not; the next tick seals the job's slot.
func TestNegativeControlEnqueueAfterIdleProbe(t *testing.T) {
	p := newProgram(repaired)
	w := newWorld(p, 2, ledger, cursor{0, 2})
	g := newGame(t, w.setup(
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, 2}},
		sim.ActorSpec{Name: "enqueuer", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 1}},
	))
	families := queueRing.families
	g.until("rotator", "FROM "+families[len(families)-1]+" LIMIT 1")
	g.ends("enqueuer")
	g.ends("rotator")
	g.want("enqueuer", "Done queue")
	g.want("rotator", "SkippedIdle queue (0,2)", "Rotated queue (1,3)")
}

// TestNegativeControlInsertIntoSealedSlot: a job goes into a slot that was sealed since its producer read the cursor. Prune
// leaves it alone until it is done.
func TestNegativeControlInsertIntoSealedSlot(t *testing.T) {
	p := newProgram(repaired)
	open := cursor{0, 2}
	w := newWorld(p, 2, ledger, open)
	w.done(queueQ, 1, 1, open, 0, "")
	w.at(queueQ, 1, 1)
	g := newGame(t, w.setup(
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, 1}},
		sim.ActorSpec{Name: "enqueuer", Run: enqueuer{p: p, how: p.binaryRoute, ring: queueRing, lane: queueQ, first: 100, jobs: 1}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: 2}},
		sim.ActorSpec{Name: "worker", Run: worker{p: p, ring: queueRing, lane: queueQ, ticks: 1}},
	))
	g.until("enqueuer", "ring_cursor('queue')")
	g.ends("rotator")
	g.want("rotator", "Rotated queue (1,3)")
	g.ends("enqueuer")
	g.want("enqueuer", "Done queue")
	g.until("pruner", "commit")
	g.want("pruner", "SkippedActive queue (0,2) queue.pending_ready")
	g.ends("worker")
	g.ends("pruner")
	g.want("pruner", "SkippedActive queue (0,2) queue.pending_ready", "Pruned queue (0,2)")
}

// TestNegativeControlBlockedUntilReaderEnds: rotations skip and prunes give up for as long as a reader is in the way, and no longer.
func TestNegativeControlBlockedUntilReaderEnds(t *testing.T) {
	p := newProgram(repaired)
	w := fullRing(p, 2, ledger)
	reader := sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		tx, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		var n int64
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM receipt_completion_batches`).Scan(&n); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	setup := w.setup(
		sim.ActorSpec{Name: "reader", Run: reader},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: 3}},
		sim.ActorSpec{Name: "rotator", Run: rotator{p, queueRing, 3}},
	)
	setup.Faults.LockTimeout = 2
	g := newGame(t, setup)
	g.until("reader", "SELECT count(*)")
	for range 2 {
		for !g.last("pruner").Reply.Blocked {
			g.do("pruner")
		}
		g.do("lock-timeout pruner")
		g.until("pruner", "rollback")
		g.until("rotator", "commit")
	}
	g.ends("reader")
	g.ends("pruner")
	g.ends("rotator")
	g.want("pruner", "Blocked queue (1,1)", "Blocked queue (1,1)", "Pruned queue (1,1)")
	g.want("rotator", "SkippedBusy queue (1,3) next slot", "SkippedBusy queue (1,3) next slot", "Rotated queue (1,3)")
}

// TestNegativeControlFoldBetweenProbeAndPin: a pin that comes after a fold's probe is not the fold's fault.
func TestNegativeControlFoldBetweenProbeAndPin(t *testing.T) {
	p := newProgram(repaired)
	w := newWorld(p, 2, ledger, cursor{0, 2})
	w.from.extra += "INSERT INTO queue_terminal_rollup_deltas VALUES ('q', 1, 0);\nINSERT INTO app_jobs VALUES (901, 'q');\nINSERT INTO app_effects VALUES (901, 1, false);\n"
	w.ended++
	setup := w.setup(
		sim.ActorSpec{Name: "folder", Run: folder{p: p, ticks: 2, deltas: true}},
		sim.ActorSpec{Name: "pinned", Run: pinnedReader{hold: pinHold, ticks: 1}},
	)
	setup.Invariants = append(setup.Invariants, standsDown(), foldsOn())
	g := newGame(t, setup)
	g.until("folder", "pg_stat_activity")
	g.until("pinned", "queue_ring_rotations")
	g.until("folder", "commit")
	g.want("folder", "Done")
	g.ends("folder")
	g.ends("pinned")
}

// alternate plays two actors: the first makes k moves, the second goes as far as it can, then the first, and so on.
func (g *game) alternate(first, second string, k int) {
	g.t.Helper()
	for range k {
		g.try(first)
	}
	for moved := true; moved; {
		moved = false
		for _, name := range []string{second, first} {
			for g.try(name) || g.try("wake "+name) {
				moved = true
			}
		}
	}
}

// TestNegativeControlOverlappingRotators: two leaders rotate one ring, one having stopped anywhere. Each generation is rotated to once.
func TestNegativeControlOverlappingRotators(t *testing.T) {
	for _, authority := range []string{columns, ledger} {
		for k := range 20 {
			p := newProgram(repaired)
			w := newWorld(p, 4, authority, cursor{0, 4})
			w.ready(queueQ, 1, 1, cursor{0, 4})
			w.at(queueQ, 1, 0)
			g := newGame(t, w.setup(
				sim.ActorSpec{Name: "leader/1", Kind: "leader", Run: rotator{p, queueRing, 1}},
				sim.ActorSpec{Name: "leader/2", Kind: "leader", Run: rotator{p, queueRing, 2}},
			))
			g.alternate("leader/1", "leader/2", k)
			all := append(g.outcomes("leader/1"), g.outcomes("leader/2")...)
			slices.Sort(all)
			if want := []string{"Rotated queue (1,5)", "Rotated queue (2,6)", "Rotated queue (3,7)"}; !slices.Equal(all, want) {
				t.Errorf("%s, %d moves: %q, want %q", authority, k, all, want)
			}
		}
	}
}

// TestNegativeControlRepeatedFlips: of all flips one flips, wherever another has stopped.
func TestNegativeControlRepeatedFlips(t *testing.T) {
	for k := range 30 {
		p := newProgram(repaired)
		w := newWorld(p, 2, columns, cursor{0, 2})
		g := newGame(t, w.setup(
			sim.ActorSpec{Name: "flip/1", Kind: "flip", Run: flip{p: p, times: 2}},
			sim.ActorSpec{Name: "flip/2", Kind: "flip", Run: flip{p: p, times: 2}},
		))
		g.alternate("flip/1", "flip/2", k)
		all := append(g.outcomes("flip/1"), g.outcomes("flip/2")...)
		slices.Sort(all)
		if want := []string{"AlreadyLedger", "AlreadyLedger", "AlreadyLedger", "Flipped"}; !slices.Equal(all, want) {
			t.Errorf("%d moves: %q, want %q", k, all, want)
		}
	}
}

// TestNegativeControlCrashAtEachStep: a flip, a rotation, a prune and a fold that crash between any two of their statements
// leave nothing behind, and their restarted processes do the work.
func TestNegativeControlCrashAtEachStep(t *testing.T) {
	for _, c := range []struct {
		name, authority string
		actor           func(p *program) sim.Actor
		does            string // the outcome of the work
		done            string // that of a second time, when the crash came after the commit
	}{
		{"flip", columns, func(p *program) sim.Actor { return flip{p: p, times: 1} }, "Flipped", "AlreadyLedger"},
		{"rotate by columns", columns, func(p *program) sim.Actor { return rotator{p, claimRing, 1} }, "Rotated claim (1,3)", "SkippedBusy claim"},
		{"rotate by ledger", ledger, func(p *program) sim.Actor { return rotator{p, claimRing, 1} }, "Rotated claim (1,3)", "SkippedBusy claim"},
		{"prune", ledger, func(p *program) sim.Actor { return pruner{p: p, ring: queueRing, ticks: 1} }, "Pruned queue (1,1)", "Pruned queue (1,1)"},
		{"fold", ledger, func(p *program) sim.Actor { return folder{p: p, ticks: 1, deltas: true} }, "Done", "Done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			crashes := 0
			for k := 1; ; k++ {
				p := newProgram(repaired)
				w := crashed(p, c.name, c.authority)
				setup := w.setup(sim.ActorSpec{Name: "a", Run: c.actor(p), Restarts: 1})
				setup.Faults.Crash = 1
				g := newGame(t, setup)
				for range k {
					g.try("a")
				}
				if !g.try("crash a") {
					g.want("a", c.does)
					break
				}
				crashes++
				g.ends("a")
				got := g.outcomes("a")
				if end := got[len(got)-1]; end != c.does && !strings.HasPrefix(end, c.done) {
					t.Errorf("crashed after %d moves: %q", k, got)
				}
			}
			if crashes < 4 {
				t.Errorf("only %d crashes", crashes)
			}
		})
	}
}

// crashed is the start of a crash control: a ring that can be rotated once, or pruned once, or a delta to fold.
func crashed(p *program, name, authority string) *world {
	switch {
	case strings.HasPrefix(name, "rotate"):
		w := newWorld(p, 2, authority, cursor{0, 2}) // once, because slot 0 is busy then
		w.done(queueQ, 1, 1, cursor{0, 2}, 0, "")
		w.at(queueQ, 1, 1)
		return w
	case name == "fold":
		w := newWorld(p, 2, authority, cursor{0, 2})
		w.from.extra += "INSERT INTO queue_terminal_rollup_deltas VALUES ('q', 1, 0);\nINSERT INTO app_jobs VALUES (901, 'q');\nINSERT INTO app_effects VALUES (901, 1, false);\n"
		w.ended++
		return w
	}
	return fullRing(p, 2, authority)
}
