package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// world drives random transactions on a bench, and keeps what its sessions are in the middle of.
type world struct {
	*bench
	blocked []stmt // by session
	names   []string
}

func newWorld(t fataler, sessions int, rows ...*Row) *world {
	w := &world{bench: newBench(t, sessions, rows...), blocked: make([]stmt, sessions), names: make([]string, sessions)}
	return w
}

func (w *world) clone() *world {
	b := *w.bench
	b.st = w.st.Clone()
	return &world{bench: &b, blocked: slices.Clone(w.blocked), names: slices.Clone(w.names)}
}

// isolations are the levels that random transactions have.
var isolations = []Isolation{ReadCommitted, ReadCommitted, RepeatableRead, Serializable}

// action is one step of a session.
type action struct {
	s    SessionID
	kind int
	a, b int
}

func drawAction(t *rapid.T, sessions int) action {
	return action{
		s:    SessionID(rapid.IntRange(0, sessions-1).Draw(t, "session")),
		kind: rapid.IntRange(0, 19).Draw(t, "kind"),
		a:    rapid.IntRange(0, 3).Draw(t, "a"),
		b:    rapid.IntRange(0, 3).Draw(t, "b"),
	}
}

func (w *world) statement(a action) (string, stmt) {
	k := a.a
	switch a.kind {
	case 3, 4:
		return fmt.Sprintf("add %d", k), w.add(k, 1)
	case 5:
		return fmt.Sprintf("rekey %d to %d", k, a.b), w.rekey(k, a.b)
	case 6:
		return fmt.Sprintf("delete %d", k), w.delete(where(k))
	case 7, 8:
		return fmt.Sprintf("insert %d", k), w.insert(k, a.b)
	case 9:
		return fmt.Sprintf("lock %d mode %d", k, a.b+1), w.lock(where(k), RowLock(a.b+1), Wait)
	case 10:
		return "skip locked", w.lock(func(*Row) bool { return true }, RowLock(a.b+1), SkipLocked)
	case 11:
		return "nowait", w.lock(where(k), RowLock(a.b+1), NoWait)
	case 12:
		return "add all", w.update(func(*Row) bool { return true }, func(r *Row) *Row { return row(int(r.Vals[0].N), int(r.Vals[1].N)+1) })
	case 13:
		m := TableLock(a.a*2 + a.b/2 + 1)
		return fmt.Sprintf("lock table mode %d", m), func(x *Exec) (string, error) {
			_, err := x.LockTable(w.tb, m, Wait)
			return "locked", err
		}
	case 14:
		return fmt.Sprintf("advisory %d", k), func(x *Exec) (string, error) {
			x.Snapshot()
			ok, err := x.Advisory(AdvisoryKey{Key: int64(k)}, a.b&1 == 1, a.b&2 == 2, Wait)
			return fmt.Sprint(ok), err
		}
	case 15:
		return fmt.Sprintf("upsert %d", k), w.upsert(k, a.b)
	}
	return "select", w.selectAll
}

// upsert is INSERT .. ON CONFLICT DO UPDATE SET v = v + d.
func (b *bench) upsert(k, d int) stmt {
	return func(x *Exec) (string, error) {
		if err := b.open(x, RowExclusive); err != nil {
			return "", err
		}
		snap := x.Snapshot()
		for {
			_, conflict, err := x.InsertOnConflict(snap, b.tb, row(k, d), []int{0})
			if err != nil || conflict == 0 {
				return "inserted", err
			}
			a, err := x.LockRow(snap, b.tb, conflict, NoKeyUpdate, Wait, ForConflict)
			if err != nil {
				return "", err
			}
			if a.Outcome != OK {
				continue
			}
			if err := x.CheckVisible(snap, b.tb, conflict); err != nil {
				return "", err
			}
			a, err = x.Update(snap, b.tb, conflict, row(k, int(a.Row.Vals[1].N)+d))
			return "updated " + fmt.Sprint(a.Outcome), err
		}
	}
}

// do makes a step and returns what it gave; "" when the action makes no sense now.
func (w *world) do(a action) string {
	out := w.step(a)
	if out == "" {
		return ""
	}
	for {
		woken := w.st.Woken(nil)
		if len(woken) > 0 {
			s := woken[0]
			r := w.again(s, w.blocked[s])
			if r != "blocked" {
				w.blocked[s] = nil
			}
			out += fmt.Sprintf("; %d: %s", s, r)
			continue
		}
		if d := w.st.Deadlock(); d != nil {
			victim := slices.Max(d)
			w.st.Interrupt(victim, errDeadlock())
			r := w.again(victim, w.blocked[victim])
			w.blocked[victim] = nil
			out += fmt.Sprintf("; victim %d of %v: %s", victim, d, r)
			continue
		}
		return out
	}
}

func (w *world) step(a action) string {
	st, s := w.st, a.s
	if w.blocked[s] != nil {
		if a.kind == 19 && a.b == 0 {
			st.Interrupt(s, errors.New("cancelled"))
			f := w.blocked[s]
			w.blocked[s] = nil
			return "cancel: " + w.again(s, f)
		}
		return ""
	}
	switch st.InTx(s) {
	case Idle:
		if a.kind < 3 {
			w.begin(s, isolations[a.b])
			return "begin"
		}
		if a.kind > 15 {
			return ""
		}
		st.Begin(s, TxOptions{Implicit: true})
		out := w.exec(a)
		return out
	case Failed:
		if a.kind < 3 {
			st.Abort(s)
			return "rollback"
		}
		if a.kind >= 16 {
			if st.RollbackTo(s, "a") == nil {
				return "rollback to"
			}
		}
		return ""
	}
	switch a.kind {
	case 0:
		st.Abort(s)
		return "rollback"
	case 1, 2:
		if err := st.Commit(s); err != nil {
			return "commit: " + wording(err)
		}
		return "commit"
	case 16:
		st.Savepoint(s, "a")
		return "savepoint"
	case 17:
		return fmt.Sprint("release: ", st.ReleaseSavepoint(s, "a"))
	case 18:
		return fmt.Sprint("rollback to: ", st.RollbackTo(s, "a"))
	}
	return w.exec(a)
}

func (w *world) exec(a action) string {
	name, f := w.statement(a)
	implicit := w.st.TxOptions(a.s).Implicit
	g := f
	if implicit {
		g = func(x *Exec) (string, error) {
			out, err := f(x)
			if err == nil {
				x.End()
				err = x.st.Commit(a.s)
			}
			return out, err
		}
	}
	r := w.run(a.s, g)
	if r == "blocked" {
		w.blocked[a.s] = g
		w.names[a.s] = name
		r += fmt.Sprint(" by ", w.st.BlockedBy(a.s, nil))
	}
	return name + ": " + r
}

// TestClones runs the same steps on one State in place, and on another that is cloned before each step. Both must give the
// same, and the clone's original must stay as it was.
func TestClones(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newWorld(t, 3, row(0, 0), row(1, 10), row(2, 20))
		c := a.clone()
		var log []string
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			act := drawAction(t, 3)
			before, fp := c, c.st.Fingerprint()
			c = c.clone()
			x, y := a.do(act), c.do(act)
			if x == "" {
				continue
			}
			log = append(log, fmt.Sprintf("%d: %s", act.s, x))
			fail := func(what string) {
				t.Fatalf("%s after\n%s", what, strings.Join(log, "\n"))
			}
			if x != y {
				fail("in place and clone differ: " + y)
			}
			if before.st.Fingerprint() != fp {
				fail("the original has changed")
			}
			if a.st.Fingerprint() != c.st.Fingerprint() {
				fail("fingerprints differ")
			}
			for _, w := range []*world{before, a, c} {
				if e := w.st.check(); e != "" {
					fail(e)
				}
			}
			if closed := c.st.closed(); c.st.CommittedFingerprint() != mix(closed.relSum+closed.dirtySum(), closed.cat.sum) {
				fail("what has been committed is not what is left when all sessions are closed")
			}
		}
	})
}

// dirtySum is the sum of the hashes that are not in relSum.
func (st *State) dirtySum() (sum uint64) {
	f := hasher{st: st}
	f.classify(nil, nil)
	for _, t := range st.dirty {
		h, _ := f.relation(st.rel(t))
		sum += h
	}
	return sum
}

func independent(a, b Footprint) bool {
	for _, w := range a.Writes {
		if slices.Contains(b.Writes, w) || slices.Contains(b.Reads, w) {
			return false
		}
	}
	for _, w := range b.Writes {
		if slices.Contains(a.Reads, w) {
			return false
		}
	}
	return true
}

func clone(f Footprint) Footprint { return Footprint{slices.Clone(f.Reads), slices.Clone(f.Writes)} }

// TestFootprints takes two steps of different sessions that touch nothing in common in either order: that must give the
// same results and the same fingerprint. It tests footprints, and that fingerprints are canonical.
func TestFootprints(t *testing.T) {
	commuted := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 3, row(0, 0), row(1, 10), row(2, 20))
		w.st.Track(true)
		w.st.IgnoreHeapOrder(rapid.Bool().Draw(t, "unordered"))
		var log []string
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			a, b := drawAction(t, 3), drawAction(t, 3)
			if a.s == b.s || a.kind == 19 || b.kind == 19 || len(w.st.Woken(nil)) > 0 {
				w.do(a)
				continue
			}
			one, two := w.clone(), w.clone()
			one.st.ResetFootprint()
			oneA := one.step(a)
			fa := clone(one.st.Footprint())
			one.st.ResetFootprint()
			oneB := one.step(b)
			fb := clone(one.st.Footprint())
			if oneA != "" && oneB != "" && independent(fa, fb) {
				commuted++
				twoB := two.step(b)
				twoA := two.step(a)
				what := fmt.Sprintf("%d: %s\n%d: %s\nthe other way round\n%d: %s\n%d: %s\nafter\n%s", a.s, oneA, b.s, oneB, b.s, twoB, a.s, twoA, strings.Join(log, "\n"))
				if oneA != twoA || oneB != twoB {
					t.Fatalf("results depend on the order:\n%s\n%v %v", what, fa, fb)
				}
				if one.st.Fingerprint() != two.st.Fingerprint() {
					t.Fatalf("fingerprint depends on the order:\n%s\nfootprints %v %v", what, fa, fb)
				}
			}
			if out := w.do(a); out != "" {
				log = append(log, fmt.Sprintf("%d: %s", a.s, out))
			}
		}
	})
	if commuted < 100 {
		t.Fatalf("only %d pairs of steps were independent", commuted)
	}
}
