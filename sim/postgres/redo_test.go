package postgres

import (
	"testing"

	"simrun/sim"
)

// A backend that has found the deadlock before it was let, as on a busy machine, does not decide whom the deadlock ends: the
// run is done anew.
func TestDeadlockFoundTooEarly(t *testing.T) {
	p := modelPair(t, "INSERT INTO a VALUES (1, 10, 'x'), (2, 20, 'y')", false)
	for round := 1; round <= 2; round++ {
		openAll(t, p, 2)
		expect(t, do(t, p, 0, "BEGIN; UPDATE a SET v = 11 WHERE k = 1"), "BEGIN; UPDATE 1 T")
		expect(t, do(t, p, 1, "BEGIN; UPDATE a SET v = 21 WHERE k = 2"), "BEGIN; UPDATE 1 T")
		if r, err := p.Submit(0, sim.Request{SQL: "UPDATE a SET v = 22 WHERE k = 2"}); err != nil || !r.Blocked {
			t.Fatalf("%+v, %v", r, err)
		}
		req := sim.Request{SQL: "UPDATE a SET v = 12 WHERE k = 1"}
		model, err := p.model.Submit(1, req)
		if err != nil {
			t.Fatal(err)
		}
		p.last[1] = req.SQL
		tries := 0
		r, err := p.ask(call{session: 1, do: func(b *Backend) (sim.Reply, error) {
			r, err := b.submit(1, req, expectWait)
			if tries++; tries == 1 && err == nil {
				return b.Interrupt(1, "40P01")
			}
			return r, err
		}}, model)
		if err != nil || !r.Blocked || tries != 2 || p.redone != round || p.server.patience != 4*deadlockTimeout {
			t.Fatalf("%+v, %v after %d tries, %d runs done anew, deadlock_timeout %v", r, err, tries, p.redone, p.server.patience)
		}
		if r, err := p.Interrupt(0, "40P01"); err != nil || codeOf(r) != "40P01" {
			t.Fatalf("the victim: %+v, %v", r, err)
		}
		if woken := p.Woken(nil); len(woken) != 1 || woken[0] != 1 {
			t.Fatalf("woken: %v", woken)
		}
		if r, err := p.Resume(1); err != nil || r.Err != nil || r.Blocked {
			t.Fatalf("the survivor: %+v, %v", r, err)
		}
		expect(t, do(t, p, 1, "COMMIT"), "COMMIT I")
		if err := p.Reset(); err != nil {
			t.Fatal(err)
		}
		if p.server.patience != deadlockTimeout || len(p.calls) != 0 {
			t.Fatal("a reset forgets neither the calls nor the longer deadlock_timeout")
		}
	}
}
