package postgres

import (
	"testing"
	"time"

	"simrun/sim"
)

// A backend whose deadlock_timeout may be over is held only while it waits: a SIGSTOP within its look for deadlocks would leave the
// lock table locked.
func TestHoldsOnlyWhatWaits(t *testing.T) {
	b := backend(t, accounts, "", 2)

	busy := b.sessions[0]
	if err := busy.start(sim.Request{SQL: "SELECT pg_sleep(0.2)"}, ""); err != nil {
		t.Fatal(err)
	}
	busy.began = time.Time{}
	if held, err := b.hold(busy); err != nil || held || busy.held {
		t.Fatalf("a backend that does not wait for a lock: %v, %v", held, err)
	}
	if done, err := busy.proceed(-1); err != nil || !done {
		t.Fatalf("it does not go on: %v", err)
	}

	expect(t, do(t, b, 0, "BEGIN; LOCK TABLE a"), "BEGIN; LOCK TABLE T")
	if r, err := b.Submit(1, sim.Request{SQL: "SELECT FROM a"}); err != nil || !r.Blocked {
		t.Fatalf("%+v, %v", r, err)
	}
	waits := b.sessions[1]
	b.letGo(waits)
	for waits.began = (time.Time{}); !waits.held; { // it may be looking for a deadlock
		if _, err := b.hold(waits); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, do(t, b, 0, "COMMIT"), "COMMIT I")
	if woken := b.Woken(nil); len(woken) != 1 || woken[0] != 1 {
		t.Fatalf("woken: %v", woken)
	}
	if r, err := b.Resume(1); err != nil || r.Err != nil || r.Blocked {
		t.Fatalf("%+v, %v", r, err)
	}
}
