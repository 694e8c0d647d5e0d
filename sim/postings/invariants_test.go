package postings

import (
	"errors"
	"strings"
	"testing"
	"time"

	"simrun/sim"
)

// sound is a ledger in which every invariant holds: alice paid bob 60 of her 100, a second saga has her 40 reserved.
func sound() *ledger {
	debt := Posting{PostingID{genesis, 2}, external, usd, -100}
	p, q := Posting{PostingID{genesis, 0}, alice, usd, 60}, Posting{PostingID{genesis, 1}, alice, usd, 40}
	start := Envelope{Memo: "genesis", Creates: []Output{
		{Owner: alice, Asset: usd, Value: 60}, {Owner: alice, Asset: usd, Value: 40}, {Owner: external, Asset: usd, Value: -100},
	}}
	pay := payment("pay", alice, bob, p.ID, 60)
	tid := pay.ID()
	got := pay.postings(tid)[0]
	pending := payment("pending", alice, bob, q.ID, 40)
	l := &ledger{
		P:        map[PostingID]Posting{p.ID: p, q.ID: q, debt.ID: debt, got.ID: got},
		A:        map[PostingID]Posting{debt.ID: debt, got.ID: got},
		R:        map[PostingID]reservedPosting{q.ID: {q, 7}},
		T:        map[string]Envelope{genesis: start, tid: pay},
		W:        []Record{{7, Reserving, pending.ID(), pending}},
		E:        []event{{1, transferEvent, genesis, genesis}, {2, transferEvent, tid, tid}, {3, "AccountFrozen", "4", accountEventKey(dave, 2)}},
		Accounts: []Account{{alice, 1, 0, noOverdraft}, {bob, 1, 0, noOverdraft}, {carol, 1, 0, Policy{"capped", -100}}, {dave, 1, 0, noOverdraft}, {dave, 2, FlagFrozen, noOverdraft}, {external, 1, 0, external0}},
		Heads:    map[AccountID]int64{alice: 1, bob: 1, carol: 1, dave: 2, external: 1},
		Involved: map[string][]AccountID{tid: {alice, bob}},
	}
	return l
}

var (
	idP, idQ, idDebt = PostingID{genesis, 0}, PostingID{genesis, 1}, PostingID{genesis, 2}
	payTID           = payment("pay", alice, bob, idP, 60).ID()
	idGot            = PostingID{payTID, 0}
)

// quiet is the sound ledger after its second saga was aborted.
func quiet() *ledger {
	l := sound()
	l.A[idQ] = l.P[idQ]
	l.R = map[PostingID]reservedPosting{}
	l.W = nil
	return l
}

// add puts a posting into the immutable and the active table.
func (l *ledger) add(id PostingID, owner AccountID, asset Asset, value int64) {
	p := Posting{id, owner, asset, value}
	l.P[id], l.A[id] = p, p
}

// fakeView is a view of a ledger and of facts.
type fakeView struct {
	l     *ledger
	facts map[[2]string]any
	order []string
}

func (v fakeView) Query(string) (*sim.Result, error) { return nil, errors.New("no database") }
func (v fakeView) Now() time.Time                    { return sim.Epoch }
func (v fakeView) Done(string) (bool, error)         { return true, nil }
func (v fakeView) Memo(_ any, _ func() any) any      { return v.l }
func (v fakeView) Fact(actor, key string) (any, bool) {
	f, ok := v.facts[[2]string{actor, key}]
	return f, ok
}

func (v fakeView) Facts(key string, f func(actor string, value any)) {
	for _, a := range v.order {
		if x, ok := v.Fact(a, key); ok {
			f(a, x)
		}
	}
}

func viewOf(l *ledger) fakeView {
	l.live, l.ids, l.tids, l.spent, l.places, l.rows, l.sums = nil, nil, nil, nil, nil, nil, nil
	l.index()
	return fakeView{l: l}
}

func TestInvariantsHoldOnSoundLedgers(t *testing.T) {
	for _, inv := range catalogue(indexTables) {
		if inv.Check == nil {
			continue
		}
		ledgers := map[string]*ledger{"quiet": quiet()}
		if inv.Kind == sim.Always {
			ledgers["sound"] = sound()
		}
		for name, l := range ledgers {
			if got := inv.Check(viewOf(l)); got != "" {
				t.Errorf("%s on the %s ledger: %s", inv.Name, name, got)
			}
		}
	}
}

// Each invariant on the state must fire: the table breaks the sound ledger in every way that its definition names.
func TestInvariantsFire(t *testing.T) {
	finalizing := func(l *ledger) { l.W[0].Phase = Finalizing }
	for _, c := range []struct {
		invariant, how, want string
		damage               func(l *ledger)
	}{
		{"conservation", "value appears", "sum to 5", func(l *ledger) { l.add(PostingID{"x", 0}, bob, usd, 5) }},
		{"conservation", "value vanishes", "sum to -40", func(l *ledger) { delete(l.R, idQ) }},
		{"conservation", "consumed and created at once", "sum to 40", func(l *ledger) {
			finalizing(l)
			l.add(PostingID{l.W[0].Envelope.ID(), 0}, bob, usd, 40)
		}},
		{"conservation", "a transfer creates more", "creates +1 more", func(l *ledger) {
			e := l.T[payTID]
			e.Creates = append(e.Creates, Output{Owner: bob, Asset: usd, Value: 1})
			l.T[payTID] = e
		}},
		{"conservation", "an input counts once", "creates +60 more", func(l *ledger) {
			e := l.T[payTID]
			e.Consumes = append(e.Consumes, idP)
			e.Creates = append(e.Creates, Output{Owner: bob, Asset: usd, Value: 60})
			l.T[payTID] = e
		}},
		{"conservation", "assets are not added", "asset 978", func(l *ledger) {
			l.A[idGot] = Posting{idGot, bob, eur, 60}
		}},
		{"conservation", "huge sums do not wrap", "9223372036854775807", func(l *ledger) {
			l.add(PostingID{"x", 0}, bob, usd, 1<<63-1)
			l.add(PostingID{"x", 1}, bob, usd, 1<<63-1)
			l.add(PostingID{"x", 2}, bob, usd, 2)
		}},
		{"balances-agree", "a payment to somebody else", "account 3 holds +60", func(l *ledger) {
			l.A[idGot] = Posting{idGot, carol, usd, 60}
		}},
		{"no-double-spend", "two transfers", "consumed by transfers", func(l *ledger) { l.T["zz"] = payment("again", alice, carol, idP, 60) }},
		{"spent-has-spender", "nobody spent it", "spent by nobody", func(l *ledger) { delete(l.A, idGot) }},
		{"spent-has-spender", "a reserving saga does not spend", "spent by nobody", func(l *ledger) { delete(l.R, idQ) }},
		{"spent-iff-consumed", "consumed but live", "is active, and consumed by 1", func(l *ledger) { l.A[idP] = l.P[idP] }},
		{"spent-iff-consumed", "spent but not consumed", "is spent, and consumed by 0", func(l *ledger) { delete(l.A, idGot) }},
		{"faithful-copies", "index row drifts", "its index row says", func(l *ledger) { l.A[idGot] = Posting{idGot, bob, usd, 61} }},
		{"faithful-copies", "reserved row drifts", "its index row says", func(l *ledger) {
			l.R[idQ] = reservedPosting{Posting{idQ, bob, usd, 40}, 7}
		}},
		{"faithful-copies", "immutable row is not its transfer's", "does not create", func(l *ledger) {
			l.P[idGot] = Posting{idGot, bob, usd, 61}
			l.A[idGot] = l.P[idGot]
		}},
		{"one-state", "active and reserved", "both active and reserved", func(l *ledger) { l.A[idQ] = l.P[idQ] }},
		{"one-state", "never recorded", "never recorded", func(l *ledger) { l.A[PostingID{"x", 0}] = Posting{} }},
		{"no-orphan", "no record", "has no record", func(l *ledger) { l.W = nil }},
		{"no-orphan", "a record of something else", "has no record", func(l *ledger) { l.W[0].Envelope.Consumes = []PostingID{idP} }},
		{"log-has-effects", "output missing", "its output", func(l *ledger) { delete(l.P, idGot) }},
		{"log-has-effects", "input live", "its input g:0 is active", func(l *ledger) { l.A[idP] = l.P[idP] }},
		{"effects-have-log", "no transfer", "never stored", func(l *ledger) { delete(l.T, payTID) }},
		{"event-has-transfer", "phantom event", "not stored", func(l *ledger) { l.E = append(l.E, event{9, transferEvent, "zz", "zz"}) }},
		{"one-event-each", "no event", "has 0 events", func(l *ledger) { l.E = l.E[:1] }},
		{"one-event-each", "two events", "has 2 events", func(l *ledger) { l.E = append(l.E, l.E[1]) }},
		{"one-event-each", "no event of a version", "version 2 of account 4 has 0", func(l *ledger) { l.E = l.E[:2] }},
		{"closed-is-empty", "live", "account 2 is closed", func(l *ledger) { l.Accounts[1].Flags = FlagClosed }},
		{"closed-is-empty", "reserved", "account 1 is closed", func(l *ledger) { l.Accounts[0].Flags = FlagClosed }},
		{"versions", "gap", "has version 3 after 1", func(l *ledger) { l.Accounts[4].Version = 3; l.Heads[dave] = 3 }},
		{"versions", "starts late", "starts at version 2", func(l *ledger) { l.Accounts[0].Version = 2 }},
		{"versions", "head elsewhere", "head says 1", func(l *ledger) { l.Heads[dave] = 1 }},
		{"versions", "after closed", "after it was closed", func(l *ledger) { l.Accounts[3].Flags = FlagClosed }},
		{"flags-kept", "a flag is lost", "had flags 0x80000100", func(l *ledger) { l.Accounts[3].Flags = -1<<31 | 1<<8 }},
		{"floor", "negative posting", "may not owe", func(l *ledger) { l.A[idGot] = Posting{idGot, bob, usd, -60} }},
		{"capped-floor", "below", "below its floor -100", func(l *ledger) { l.A[idDebt] = Posting{idDebt, carol, usd, -101} }},
		{"intent-once", "twice", "are both \"pay\"", func(l *ledger) { l.T["zz"] = l.T[payTID] }},
		{"indexed", "payer missing", "but is indexed under [2]", func(l *ledger) { l.Involved[payTID] = []AccountID{bob} }},
		{"rebuildable", "unexplained reservation", "neither the transfers nor the records", func(l *ledger) { l.W = nil }},
		{"rebuildable", "consumed but live", "a stored transfer consumes it", func(l *ledger) { l.A[idP] = l.P[idP] }},
		{"recovered", "a record stays", "never cleared", func(*ledger) {}},
		{"recovered", "a reservation stays", "stays reserved by 7", func(l *ledger) { l.W = nil }},
	} {
		t.Run(c.invariant+"/"+c.how, func(t *testing.T) {
			l := sound()
			c.damage(l)
			got := invariantNamed(t, c.invariant).Check(viewOf(l))
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want something about %q", got, c.want)
			}
		})
	}
}

func invariantNamed(t *testing.T, name string) sim.Invariant {
	t.Helper()
	for _, i := range catalogue(indexTables) {
		if i.Name == name {
			return i
		}
	}
	t.Fatalf("no invariant %s", name)
	return sim.Invariant{}
}

func TestEveryStateInvariantIsShownToFire(t *testing.T) {
	shown := map[string]bool{
		// in TestInvariantsFire
		"conservation": true, "balances-agree": true, "no-double-spend": true, "spent-has-spender": true, "spent-iff-consumed": true,
		"faithful-copies": true, "one-state": true, "no-orphan": true, "log-has-effects": true, "effects-have-log": true,
		"event-has-transfer": true, "one-event-each": true, "closed-is-empty": true, "versions": true, "flags-kept": true, "floor": true,
		"capped-floor": true, "intent-once": true, "indexed": true, "rebuildable": true, "recovered": true,
		// in tests of their own below
		"ownership": true, "lifecycle": true, "balance-read": true, "honest-outcome": true, "intent-kept": true, "one-winner": true,
	}
	for _, i := range catalogue(indexTables) {
		if !shown[i.Name] {
			t.Errorf("no test shows that %s fires", i.Name)
		}
	}
}

func TestUnreadableLedgerIsAViolation(t *testing.T) {
	l := sound()
	l.err = "value of g:0: not a number"
	if got := invariantNamed(t, "floor").Check(viewOf(l)); !strings.Contains(got, "cannot be read") {
		t.Errorf("got %q", got)
	}
}

// after gives the step of an actor that led to a ledger.
func after(l *ledger, actor int, events ...sim.Event) *sim.Step {
	s := &sim.Step{Actor: actor, Name: "actor", Events: events}
	if l != nil {
		s.Changed, s.Committed = true, viewOf(l)
	}
	return s
}

func note(key string, value any) sim.Event {
	return sim.Event{Kind: sim.EventNote, Name: key, Value: value}
}

// watch feeds steps to a monitor and gives the first violation.
func watch(m sim.Monitor, steps ...*sim.Step) string {
	for _, s := range steps {
		next, violation := m.Step(s)
		if violation != "" {
			return violation
		}
		m = next
	}
	return ""
}

func TestOwnership(t *testing.T) {
	spend := func() *ledger { // the reserved posting is consumed
		l := sound()
		delete(l.R, idQ)
		return l
	}
	holds := note(factHolds, int64(7))
	m := newOwnershipMonitor(indexTables)
	if got := watch(m(), after(sound(), 1, holds), after(spend(), 1)); got != "" {
		t.Errorf("the holder may consume, got %q", got)
	}
	if got := watch(m(), after(sound(), 1, holds), after(spend(), 2)); !strings.Contains(got, "does not hold") {
		t.Errorf("another actor may not consume, got %q", got)
	}
	if got := watch(m(), after(sound(), 1, holds, note(factHolds, int64(0))), after(spend(), 1)); !strings.Contains(got, "does not hold") {
		t.Errorf("an actor that let go may not consume, got %q", got)
	}
	if got := watch(m(), after(quiet(), 1, holds), after(spend(), 1)); !strings.Contains(got, "nobody had reserved") {
		t.Errorf("an active posting may not be spent, got %q", got)
	}
	if got := watch(newOwnershipMonitor(indexTables, 2)(), after(sound(), 1), after(spend(), 2)); got != "" {
		t.Errorf("an exempt actor may, got %q", got)
	}
}

func TestLifecycle(t *testing.T) {
	m := newLifecycleMonitor(indexTables)
	back := sound()
	back.A[idP] = back.P[idP]
	if got := watch(m(), after(sound(), 0), after(back, 0)); !strings.Contains(got, "brought the spent posting g:0 back") {
		t.Errorf("got %q", got)
	}
	changed := sound()
	changed.P[idP] = Posting{idP, alice, usd, 61}
	if got := watch(m(), after(sound(), 0), after(changed, 0)); !strings.Contains(got, "changed the immutable posting") {
		t.Errorf("got %q", got)
	}
	gone := sound()
	delete(gone.P, idP)
	if got := watch(m(), after(sound(), 0), after(gone, 0)); !strings.Contains(got, "removed the immutable posting") {
		t.Errorf("got %q", got)
	}
	if got := watch(m(), after(sound(), 0), after(quiet(), 0), after(sound(), 0)); got != "" {
		t.Errorf("reserving and releasing is fine, got %q", got)
	}
}

func TestBalanceRead(t *testing.T) {
	call := sim.Event{Kind: sim.EventCall, Op: 1, Name: "balance", Value: BalanceInput{alice.String(), usd}}
	returns := func(v int64) sim.Event { return sim.Event{Kind: sim.EventReturn, Op: 1, Value: v} }
	m := newBalanceMonitor(indexTables)
	if got := watch(m(), after(sound(), 0), after(nil, 1, call), after(nil, 1, returns(40))); got != "" {
		t.Errorf("a reserved posting counts, got %q", got)
	}
	if got := watch(m(), after(sound(), 0), after(nil, 1, call), after(nil, 1, returns(0))); !strings.Contains(got, "sum to 40") {
		t.Errorf("got %q", got)
	}
}

func TestHonestOutcome(t *testing.T) {
	inv := invariantNamed(t, "honest-outcome")
	env, other := payment("pay", alice, bob, idP, 60), payment("other", alice, bob, idP, 60)
	told := func(env Envelope, outcome string) fakeView {
		v := viewOf(sound())
		v.order = []string{"a", "b"}
		v.facts = map[[2]string]any{{"a", factTID}: env.ID(), {"a", factOutcome}: outcome}
		return v
	}
	if got := inv.Check(told(env, "committed")); got != "" {
		t.Errorf("stored, got %q", got)
	}
	if got := inv.Check(told(other, "committed")); !strings.Contains(got, "not stored") {
		t.Errorf("not stored, got %q", got)
	}
	if got := inv.Check(told(env, "refused: input taken")); !strings.Contains(got, "but it is stored") {
		t.Errorf("refused but stored, got %q", got)
	}
	v := told(env, "refused: input taken")
	v.facts[[2]string{"b", factTID}] = env.ID()
	if got := inv.Check(v); got != "" {
		t.Errorf("submitted twice: the other one may have committed it, got %q", got)
	}
}

func TestIntentKept(t *testing.T) {
	inv := invariantNamed(t, "intent-kept")
	asked := func(m Movement) string {
		v := viewOf(sound())
		v.order = []string{"a"}
		v.facts = map[[2]string]any{
			{"a", factEnvelope}: encodeEnvelope(payment("pay", alice, bob, idP, 60)), {"a", factTID}: payTID,
			{"a", factIntent}: encodeIntent([]Movement{m}),
		}
		return inv.Check(v)
	}
	if got := asked(Movement{alice, bob, usd, 60}); got != "" {
		t.Errorf("got %q", got)
	}
	if got := asked(Movement{alice, bob, usd, 50}); !strings.Contains(got, "account 1 got -10 more") {
		t.Errorf("got %q", got)
	}
	if got := asked(Movement{alice, carol, usd, 60}); !strings.Contains(got, "account 3 got -60 more") {
		t.Errorf("got %q", got)
	}
}

func TestOneWinner(t *testing.T) {
	v := viewOf(sound())
	v.order = []string{"a", "b"}
	v.facts = map[[2]string]any{{"a", factWon}: "acct:1:0:2", {"b", factWon}: "acct:1:0:3"}
	if got := checkOneWinner(v); got != "" {
		t.Errorf("got %q", got)
	}
	v.facts[[2]string{"b", factWon}] = "acct:1:0:2"
	if got := checkOneWinner(v); !strings.Contains(got, "a and b were both told") {
		t.Errorf("got %q", got)
	}
}

func TestLinearizableFires(t *testing.T) {
	open := opening{}
	open.account(alice, noOverdraft, 0)
	open.account(bob, noOverdraft, 0)
	p := open.posting(alice, usd, 60)
	pay := payment("pay", alice, bob, p, 60)
	again := payment("again", alice, bob, p, 60)
	in := func(e Envelope) CommitInput { return CommitInput{e.ID(), encodeEnvelope(e)} }
	op := func(actor int, name string, input, output any, call, ret int) sim.HistoryOp {
		return sim.HistoryOp{Actor: actor, Name: name, Input: input, Output: output, Call: call, Return: ret}
	}
	lost := func(actor int, name string, input any, call int) sim.HistoryOp {
		return sim.HistoryOp{Actor: actor, Name: name, Input: input, Call: call, Indeterminate: true}
	}
	bobs := BalanceInput{bob.String(), usd}
	for _, c := range []struct {
		name    string
		history []sim.HistoryOp
		fires   bool
	}{
		{"two winners", []sim.HistoryOp{op(0, "commit", in(pay), Committed, 0, 9), op(1, "commit", in(again), Committed, 0, 9)}, true},
		{"one winner", []sim.HistoryOp{op(0, "commit", in(pay), Committed, 0, 9), op(1, "commit", in(again), Outcome("refused: input taken"), 0, 9)}, false},
		{"same envelope twice", []sim.HistoryOp{op(0, "commit", in(pay), Committed, 0, 9), op(1, "commit", in(pay), Committed, 0, 9)}, false},
		{"read too early", []sim.HistoryOp{op(1, "balance", bobs, int64(60), 0, 1), op(0, "commit", in(pay), Committed, 2, 9)}, true},
		{"read between", []sim.HistoryOp{op(0, "commit", in(pay), Committed, 0, 9), op(1, "balance", bobs, int64(60), 2, 3)}, false},
		{"read goes back", []sim.HistoryOp{op(0, "commit", in(pay), Committed, 0, 9), op(1, "balance", bobs, int64(60), 2, 3), op(1, "balance", bobs, int64(0), 4, 5)}, true},
		{"into a frozen account", []sim.HistoryOp{op(1, "freeze", bob.String(), Committed, 0, 1), op(0, "commit", in(pay), Committed, 2, 9)}, true},
		{"before the freeze", []sim.HistoryOp{op(1, "freeze", bob.String(), Committed, 0, 3), op(0, "commit", in(pay), Committed, 2, 9)}, false},
		{"unfrozen", []sim.HistoryOp{op(1, "freeze", bob.String(), Committed, 0, 1), op(1, "unfreeze", bob.String(), Committed, 2, 3), op(0, "commit", in(pay), Committed, 4, 9)}, false},
		{"a lost commit shows late", []sim.HistoryOp{lost(0, "commit", in(pay), 0), op(1, "balance", bobs, int64(0), 2, 3), op(1, "balance", bobs, int64(60), 4, 5)}, false},
		{"a lost commit after a freeze", []sim.HistoryOp{lost(0, "commit", in(pay), 0), op(1, "freeze", bob.String(), Committed, 2, 3), op(1, "balance", bobs, int64(0), 4, 5), op(1, "balance", bobs, int64(60), 6, 7)}, true},
		{"close with a live posting", []sim.HistoryOp{op(1, "close", alice.String(), Committed, 0, 1)}, true},
		{"close after paying", []sim.HistoryOp{op(0, "commit", in(pay), Committed, 0, 3), op(1, "close", alice.String(), Committed, 4, 5)}, false},
		{"frozen without a freeze", []sim.HistoryOp{op(0, "commit", in(pay), Outcome("refused: frozen account"), 0, 3)}, true},
	} {
		if got := linearizable(open).Run(&sim.Trace{History: c.history}); (got != "") != c.fires {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
}

func TestReadsFire(t *testing.T) {
	told := func(key, value string) fakeView {
		v := viewOf(sound())
		v.order = []string{"a"}
		v.facts = map[[2]string]any{{"a", key}: value}
		return v
	}
	for _, c := range []struct {
		check      func(sim.View) string
		key, value string
		fires      bool
	}{
		{checkPages, factPage, "a:0 a:1 b:0", false},
		{checkPages, factPage, "", false},
		{checkPages, factPage, "a:1 a:0", true},
		{checkFeed, factFeed, "g x", false},
		{checkFeed, factFeed, "x", true},
	} {
		if got := c.check(told(c.key, c.value)); (got != "") != c.fires {
			t.Errorf("%s %q: got %q", c.key, c.value, got)
		}
	}
}
