package postings

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// The conformance suite: what a store must do, whatever encodes the lifecycle. Each case is a function over a session; all of
// them run one after another in one actor, on the model and on a server, for every variant. Cases do not meet: transfers and
// accounts are named by the case.
type conf struct {
	ctx    context.Context
	db     sim.DB
	p      *program
	ids    *idSource
	n      int // number of the case
	batch  int // ids of a batch that is too big for one statement
	failed []string
}

func (c *conf) tid(s string) string { return fmt.Sprintf("c%02d-%s", c.n, s) }

func (c *conf) acct(i int64) AccountID { return AccountID{ID: int64(c.n)*100 + i} }

// row is a posting of the case.
func (c *conf) row(tid string, idx int16, owner int64, value int64) Posting {
	return Posting{PostingID{c.tid(tid), idx}, c.acct(owner), usd, value}
}

func (c *conf) id(tid string, idx int16) PostingID { return PostingID{c.tid(tid), idx} }

func (c *conf) fail(format string, args ...any) {
	c.failed = append(c.failed, fmt.Sprintf(format, args...))
}

// eq checks a value that came with an error.
func eq[T any](c *conf, what string, want T) func(got T, err error) {
	return func(got T, err error) {
		if err != nil {
			c.fail("%s: %v", what, err)
		} else if !reflect.DeepEqual(got, want) {
			c.fail("%s: got %v, want %v", what, got, want)
		}
	}
}

// have inserts active postings.
func (c *conf) have(rows ...Posting) { eq(c, "insert", len(rows))(c.p.insert.do(c.ctx, c.db, rows)) }

func (c *conf) reserve(rid int64, want int, ids ...PostingID) {
	eq(c, fmt.Sprintf("reserve by %d", rid), want)(c.p.reserve.do(c.ctx, c.db, ids, rid))
}

func (c *conf) release(rid int64, want int, ids ...PostingID) {
	eq(c, fmt.Sprintf("release by %d", rid), want)(c.p.release.do(c.ctx, c.db, ids, rid))
}

func (c *conf) consume(rid int64, want int, ids ...PostingID) {
	eq(c, fmt.Sprintf("consume by %d", rid), want)(c.p.consume.do(c.ctx, c.db, ids, rid))
}

func (c *conf) deactivate(want int, ids ...PostingID) {
	eq(c, "raw deactivate", want)(c.p.deactivate.do(c.ctx, c.db, ids, 0))
}

func (c *conf) states(want []State, ids ...PostingID) {
	eq(c, "states", want)(c.p.states(c.ctx, c.db, ids))
}

var (
	active  = State{Place: Active}
	spent   = State{Place: Spent}
	missing = State{Place: Missing}
)

func heldBy(rid int64) State { return State{Held, rid} }

// confCase is a case of the suite.
type confCase struct {
	name string
	run  func(c *conf)
}

// conformance is the whole suite.
var conformance = slices.Concat(conformanceStore, conformanceQueries)

var conformanceStore = []confCase{
	// Accounts.
	{"create then get returns the same id, version 1 and the same flags", func(c *conf) {
		a := Account{AccountID: c.acct(1), Flags: -1<<31 | 1<<8, Policy: Policy{"capped", -5}}
		eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, a))
		a.Version = 1
		eq(c, "get", a)(c.p.account(c.ctx, c.db, a.AccountID))
	}},
	{"a duplicate create counts 0 and changes nothing", func(c *conf) {
		a := Account{AccountID: c.acct(1), Policy: noOverdraft}
		eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, a))
		b := a
		b.Policy = uncapped
		eq(c, "create again", 0)(c.p.createAccount(c.ctx, c.db, b))
		a.Version = 1
		eq(c, "get", a)(c.p.account(c.ctx, c.db, a.AccountID))
	}},
	{"a missing account is not found", func(c *conf) {
		if _, err := c.p.account(c.ctx, c.db, c.acct(1)); !errors.As(err, &notFound{}) {
			c.fail("got %v", err)
		}
	}},
	{"a batch of accounts comes ordered, without the missing", func(c *conf) {
		for _, i := range []int64{2, 1} {
			eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, Account{AccountID: c.acct(i), Policy: noOverdraft}))
		}
		eq(c, "get", []Account{{c.acct(1), 1, 0, noOverdraft}, {c.acct(2), 1, 0, noOverdraft}})(
			c.p.accounts(c.ctx, c.db, []AccountID{c.acct(2), c.acct(3), c.acct(1)}))
	}},
	{"an appended version becomes the current one, one account a row", func(c *conf) {
		a := Account{AccountID: c.acct(1), Policy: noOverdraft}
		eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, a))
		a.Version, a.Flags = 2, FlagFrozen
		eq(c, "append", 1)(c.p.appendVersion(c.ctx, c.db, a))
		eq(c, "get", []Account{a})(c.p.accounts(c.ctx, c.db, []AccountID{a.AccountID}))
	}},
	{"an append with a gap counts 0 and leaves the history", func(c *conf) {
		a := Account{AccountID: c.acct(1), Policy: noOverdraft}
		eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, a))
		a.Version = 3
		eq(c, "append", 0)(c.p.appendVersion(c.ctx, c.db, a))
		eq(c, "history", []int64{1})(c.history(a.AccountID))
	}},
	{"an append of an existing version counts 0 and keeps the first content", func(c *conf) {
		a := Account{AccountID: c.acct(1), Policy: noOverdraft}
		eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, a))
		a.Version, a.Flags = 2, FlagFrozen
		eq(c, "append", 1)(c.p.appendVersion(c.ctx, c.db, a))
		b := a
		b.Flags = 0
		eq(c, "append again", 0)(c.p.appendVersion(c.ctx, c.db, b))
		eq(c, "get", a)(c.p.account(c.ctx, c.db, a.AccountID))
	}},
	{"an append to a missing account counts 0", func(c *conf) {
		eq(c, "append", 0)(c.p.appendVersion(c.ctx, c.db, Account{AccountID: c.acct(1), Version: 1, Policy: noOverdraft}))
	}},
	{"the history of versions is in order", func(c *conf) {
		a := Account{AccountID: c.acct(1), Policy: noOverdraft}
		eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, a))
		for v := int64(2); v <= 4; v++ {
			a.Version = v
			eq(c, "append", 1)(c.p.appendVersion(c.ctx, c.db, a))
		}
		eq(c, "history", []int64{1, 2, 3, 4})(c.history(a.AccountID))
	}},
	// Postings.
	{"an inserted posting is readable", func(c *conf) {
		p := c.row("t", 0, 1, 5)
		c.have(p)
		eq(c, "get", []Posting{p})(c.p.postings(c.ctx, c.db, []PostingID{p.ID}))
	}},
	{"an unknown posting is not found", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		if _, err := c.p.postings(c.ctx, c.db, []PostingID{c.id("t", 0), c.id("t", 1)}); !errors.As(err, &notFound{}) {
			c.fail("got %v", err)
		}
	}},
	{"postings come in input order, repeats included", func(c *conf) {
		p, q := c.row("t", 0, 1, 5), c.row("t", 1, 1, 6)
		c.have(p, q)
		eq(c, "get", []Posting{q, p, q})(c.p.postings(c.ctx, c.db, []PostingID{q.ID, p.ID, q.ID}))
	}},
	{"the account filter knows assets and places", func(c *conf) {
		a, r, s := c.row("t", 0, 1, 5), c.row("t", 1, 1, 6), c.row("t", 2, 1, 7)
		other := Posting{c.id("t", 3), c.acct(1), eur, 8}
		c.have(a, r, s, other)
		c.reserve(7, 2, r.ID, s.ID)
		c.consume(7, 1, s.ID)
		for f, want := range map[Filter][]Posting{FilterActive: {a}, FilterReserved: {r}, FilterLive: {a, r}, FilterAll: {a, r, s}} {
			eq(c, fmt.Sprintf("filter %d", f), want)(c.p.ofAccount(c.ctx, c.db, c.acct(1), usd, f))
		}
	}},
	{"sub-accounts are accounts of their own", func(c *conf) {
		sub := AccountID{c.acct(1).ID, 1}
		p, q := c.row("t", 0, 1, 5), Posting{c.id("t", 1), sub, usd, 6}
		c.have(p, q)
		eq(c, "main", []Posting{p})(c.p.ofAccount(c.ctx, c.db, c.acct(1), usd, FilterLive))
		eq(c, "sub", []Posting{q})(c.p.ofAccount(c.ctx, c.db, sub, usd, FilterLive))
		eq(c, "unused sub", []Posting(nil))(c.p.ofAccount(c.ctx, c.db, AccountID{c.acct(1).ID, 2}, usd, FilterAll))
	}},
	{"reserving a batch reserves all of it", func(c *conf) {
		c.have(c.row("t", 0, 1, 5), c.row("t", 1, 1, 6))
		c.reserve(7, 2, c.id("t", 0), c.id("t", 1))
		c.states([]State{heldBy(7), heldBy(7)}, c.id("t", 0), c.id("t", 1))
	}},
	{"reserve skips what is reserved and counts the rest", func(c *conf) {
		c.have(c.row("t", 0, 1, 5), c.row("t", 1, 1, 6))
		c.reserve(7, 1, c.id("t", 0))
		c.reserve(8, 1, c.id("t", 0), c.id("t", 1))
		c.states([]State{heldBy(7), heldBy(8)}, c.id("t", 0), c.id("t", 1))
	}},
	{"a second reserve by another counts 0", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.reserve(8, 0, c.id("t", 0))
		c.states([]State{heldBy(7)}, c.id("t", 0))
	}},
	{"a second reserve by the same saga counts 0 and keeps it", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.reserve(7, 0, c.id("t", 0))
		c.states([]State{heldBy(7)}, c.id("t", 0))
	}},
	{"an id twice in a batch counts once", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0), c.id("t", 0))
		c.release(7, 1, c.id("t", 0), c.id("t", 0))
		c.reserve(7, 1, c.id("t", 0))
		c.consume(7, 1, c.id("t", 0), c.id("t", 0))
	}},
	{"no ids, no effect", func(c *conf) {
		c.reserve(7, 0)
		c.release(7, 0)
		c.consume(7, 0)
		c.deactivate(0)
		eq(c, "insert", 0)(c.p.insert.do(c.ctx, c.db, nil))
		c.states([]State{})
	}},
	{"reserving a missing posting counts 0 and makes nothing", func(c *conf) {
		c.reserve(7, 0, c.id("t", 0))
		c.states([]State{missing}, c.id("t", 0))
	}},
	{"reserving a spent posting counts 0", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.deactivate(1, c.id("t", 0))
		c.reserve(7, 0, c.id("t", 0))
		c.states([]State{spent}, c.id("t", 0))
	}},
	{"release makes it active again", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.release(7, 1, c.id("t", 0))
		c.states([]State{active}, c.id("t", 0))
		c.reserve(8, 1, c.id("t", 0))
	}},
	{"release of an active posting is nothing", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.release(7, 0, c.id("t", 0))
		c.states([]State{active}, c.id("t", 0))
	}},
	{"release of a spent posting is nothing", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.consume(7, 1, c.id("t", 0))
		c.release(7, 0, c.id("t", 0))
		c.states([]State{spent}, c.id("t", 0))
	}},
	{"release by another is nothing", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.release(8, 0, c.id("t", 0))
		c.states([]State{heldBy(7)}, c.id("t", 0))
	}},
	{"consume by another counts 0, by the holder 1", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.consume(8, 0, c.id("t", 0))
		c.states([]State{heldBy(7)}, c.id("t", 0))
		c.consume(7, 1, c.id("t", 0))
		c.states([]State{spent}, c.id("t", 0))
		c.consume(7, 0, c.id("t", 0))
	}},
	{"consume of an active posting counts 0", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.consume(7, 0, c.id("t", 0))
		c.states([]State{active}, c.id("t", 0))
	}},
	{"consume and insert: the old is spent, the new active", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.consume(7, 1, c.id("t", 0))
		c.have(c.row("u", 0, 2, 5))
		c.states([]State{spent, active}, c.id("t", 0), c.id("u", 0))
	}},
	{"insert counts what is new", func(c *conf) {
		p, q := c.row("t", 0, 1, 5), c.row("t", 1, 1, 6)
		eq(c, "insert 1", 1)(c.p.insert.do(c.ctx, c.db, []Posting{p}))
		eq(c, "insert 1 of 2", 1)(c.p.insert.do(c.ctx, c.db, []Posting{p, q}))
		eq(c, "insert 0", 0)(c.p.insert.do(c.ctx, c.db, []Posting{p, q}))
	}},
	{"an insert again keeps the first content", func(c *conf) {
		p := c.row("t", 0, 1, 5)
		c.have(p)
		changed := p
		changed.Value = 6
		eq(c, "insert again", 0)(c.p.insert.do(c.ctx, c.db, []Posting{changed}))
		eq(c, "get", []Posting{p})(c.p.postings(c.ctx, c.db, []PostingID{p.ID}))
		eq(c, "live", []Posting{p})(c.p.ofAccount(c.ctx, c.db, p.Owner, usd, FilterLive))
	}},
	{"an insert again does not bring a spent posting back", func(c *conf) {
		p := c.row("t", 0, 1, 5)
		c.have(p)
		c.reserve(7, 1, p.ID)
		c.consume(7, 1, p.ID)
		eq(c, "insert again", 0)(c.p.insert.do(c.ctx, c.db, []Posting{p}))
		c.states([]State{spent}, p.ID)
	}},
	{"an insert again does not free a reserved posting", func(c *conf) {
		p := c.row("t", 0, 1, 5)
		c.have(p)
		c.reserve(7, 1, p.ID)
		eq(c, "insert again", 0)(c.p.insert.do(c.ctx, c.db, []Posting{p}))
		c.states([]State{heldBy(7)}, p.ID)
	}},
	{"raw deactivate counts 2, then 0", func(c *conf) {
		c.have(c.row("t", 0, 1, 5), c.row("t", 1, 1, 6))
		c.deactivate(2, c.id("t", 0), c.id("t", 1))
		c.deactivate(0, c.id("t", 0), c.id("t", 1))
		c.states([]State{spent, spent}, c.id("t", 0), c.id("t", 1))
	}},
	{"raw deactivate does not touch a reserved posting", func(c *conf) {
		c.have(c.row("t", 0, 1, 5))
		c.reserve(7, 1, c.id("t", 0))
		c.deactivate(0, c.id("t", 0))
		c.states([]State{heldBy(7)}, c.id("t", 0))
	}},
	{"states of all four kinds in one call, in input order with repeats", func(c *conf) {
		c.have(c.row("t", 0, 1, 5), c.row("t", 1, 1, 6), c.row("t", 2, 1, 7))
		c.reserve(7, 2, c.id("t", 1), c.id("t", 2))
		c.consume(7, 1, c.id("t", 2))
		c.states([]State{missing, spent, heldBy(7), active, spent}, c.id("t", 9), c.id("t", 2), c.id("t", 1), c.id("t", 0), c.id("t", 2))
	}},
	{"a spent posting keeps its row and value", func(c *conf) {
		p := c.row("t", 0, 1, 5)
		c.have(p)
		c.deactivate(1, p.ID)
		eq(c, "get", []Posting{p})(c.p.postings(c.ctx, c.db, []PostingID{p.ID}))
	}},
	{"a balance sums active and reserved, not spent", func(c *conf) {
		c.have(c.row("t", 0, 1, 5), c.row("t", 1, 1, -2), c.row("t", 2, 1, 9))
		c.reserve(7, 2, c.id("t", 0), c.id("t", 2))
		eq(c, "balance", int64(12))(c.p.balance(c.ctx, c.db, c.acct(1), usd))
		c.consume(7, 1, c.id("t", 2))
		eq(c, "balance", int64(3))(c.p.balance(c.ctx, c.db, c.acct(1), usd))
		c.release(7, 1, c.id("t", 0))
		eq(c, "balance", int64(3))(c.p.balance(c.ctx, c.db, c.acct(1), usd))
		eq(c, "another asset", int64(0))(c.p.balance(c.ctx, c.db, c.acct(1), eur))
	}},
	{"a balance that overflows is an error", func(c *conf) {
		c.have(c.row("t", 0, 1, math.MaxInt64), c.row("t", 1, 1, 1))
		if _, err := c.p.balance(c.ctx, c.db, c.acct(1), usd); err == nil || !strings.Contains(err.Error(), "overflows") {
			c.fail("got %v", err)
		}
	}},
	{"live postings in any asset, active or reserved", func(c *conf) {
		eq(c, "none", false)(c.p.hasLive(c.ctx, c.db, c.acct(1)))
		c.have(Posting{c.id("t", 0), c.acct(1), eur, 5})
		eq(c, "active", true)(c.p.hasLive(c.ctx, c.db, c.acct(1)))
		c.reserve(7, 1, c.id("t", 0))
		eq(c, "reserved", true)(c.p.hasLive(c.ctx, c.db, c.acct(1)))
		c.consume(7, 1, c.id("t", 0))
		eq(c, "spent", false)(c.p.hasLive(c.ctx, c.db, c.acct(1)))
	}},
	// Transfers.
	{"a transfer is stored once, and is found", func(c *conf) {
		e := payment("conf", c.acct(1), c.acct(2), c.id("t", 0), 5)
		tid := c.tid("x")
		eq(c, "store", 1)(c.p.storeTransfer(c.ctx, c.db, tid, e, []AccountID{c.acct(1), c.acct(2)}))
		f := e
		f.Memo = "another"
		eq(c, "store again", 0)(c.p.storeTransfer(c.ctx, c.db, tid, f, []AccountID{c.acct(2), c.acct(3)}))
		got, found, err := c.p.getTransfer(c.ctx, c.db, tid)
		eq(c, "found", true)(found, err)
		eq(c, "envelope", e)(got, err)
		eq(c, "indexed also by the replay", []int64{c.acct(1).ID, c.acct(2).ID, c.acct(3).ID})(c.involved(tid))
	}},
	{"a transfer is indexed under the supplied accounts, postings or none", func(c *conf) {
		eq(c, "store", 1)(c.p.storeTransfer(c.ctx, c.db, c.tid("x"), Envelope{Memo: "conf"}, []AccountID{c.acct(5)}))
		eq(c, "indexed", []int64{c.acct(5).ID})(c.involved(c.tid("x")))
	}},
	{"an unknown transfer is none", func(c *conf) {
		_, found, err := c.p.getTransfer(c.ctx, c.db, c.tid("x"))
		eq(c, "found", false)(found, err)
	}},
	// Sagas.
	{"a record is saved, listed, read, and deleted", func(c *conf) {
		r := Record{c.ids.next(), Reserving, "tid", payment("conf", c.acct(1), c.acct(2), c.id("t", 0), 5)}
		if err := c.p.saveSaga(c.ctx, c.db, r); err != nil {
			c.fail("save: %v", err)
		}
		eq(c, "list", []Record{r})(c.p.pendingSagas(c.ctx, c.db))
		got, found, err := c.p.getSaga(c.ctx, c.db, r.RID)
		eq(c, "found", true)(found, err)
		eq(c, "get", r)(got, err)
		_, found, err = c.p.getSaga(c.ctx, c.db, r.RID+50)
		eq(c, "another id", false)(found, err)
		if err := c.p.deleteSaga(c.ctx, c.db, r.RID); err != nil {
			c.fail("delete: %v", err)
		}
		_, found, err = c.p.getSaga(c.ctx, c.db, r.RID)
		eq(c, "deleted", false)(found, err)
		eq(c, "list", []Record(nil))(c.p.pendingSagas(c.ctx, c.db))
	}},
	// Events.
	{"an event with the same key is one event", func(c *conf) {
		first, err := c.p.appendEvent(c.ctx, c.db, c.ids, transferEvent, c.tid("x"), c.tid("x"))
		eq(c, "append again", first)(c.p.appendEvent(c.ctx, c.db, c.ids, transferEvent, c.tid("x"), c.tid("x")))
		eq(c, "append", true)(first > 0, err)
	}},
	{"events of one version collapse, of another do not, and numbers grow", func(c *conf) {
		appendFor := func(version int64) int64 {
			seq, err := c.p.appendEvent(c.ctx, c.db, c.ids, "AccountFrozen", c.acct(1).String(), accountEventKey(c.acct(1), version))
			if err != nil {
				c.fail("append: %v", err)
			}
			return seq
		}
		a, again, b := appendFor(2), appendFor(2), appendFor(3)
		if a != again || b <= a {
			c.fail("got %d, %d, %d", a, again, b)
		}
	}},
	// The ledger.
	{"a transfer moves value, and its replay gives the same receipt", func(c *conf) {
		c.openAccounts(1, 2)
		c.have(c.row("t", 0, 1, 60))
		env, err := c.p.resolve(c.ctx, c.db, "conf", []Movement{{c.acct(1), c.acct(2), usd, 25}})
		if err != nil {
			c.fail("resolve: %v", err)
			return
		}
		for range 2 {
			s := c.p.newSaga(c.db, c.ids, env)
			eq(c, "commit", Committed)(outcomeOf(errors.Join(pin(c.ctx, s), c.p.commit(c.ctx, s))), nil)
			env = s.env
		}
		eq(c, "payer", int64(35))(c.p.balance(c.ctx, c.db, c.acct(1), usd))
		eq(c, "payee", int64(25))(c.p.balance(c.ctx, c.db, c.acct(2), usd))
		c.states([]State{spent}, c.id("t", 0))
	}},
	{"a transfer of a stolen input is refused and leaves nothing", func(c *conf) {
		c.openAccounts(1, 2)
		c.have(c.row("t", 0, 1, 60), c.row("t", 1, 1, 40))
		c.reserve(7, 1, c.id("t", 0))
		env := payment("conf", c.acct(1), c.acct(2), c.id("t", 0), 100)
		env.Consumes = append(env.Consumes, c.id("t", 1))
		s := c.p.newSaga(c.db, c.ids, env)
		got := outcomeOf(errors.Join(pin(c.ctx, s), c.p.commit(c.ctx, s)))
		eq(c, "commit", Outcome("refused: input taken"))(got, nil)
		want := []State{heldBy(7), active}
		if c.p.noteFirst {
			want[1] = heldBy(s.rid) // E2 releases only what a successful reserve step noted: a finding
		}
		c.states(want, c.id("t", 0), c.id("t", 1))
		c.release(7, 1, c.id("t", 0))
	}},
	{"an account is closed when it is empty, not before, and for good", func(c *conf) {
		c.openAccounts(1)
		c.have(c.row("t", 0, 1, 60))
		do := func(t transition) error { return c.p.transit(c.ctx, c.p, c.db, c.ids, t, c.acct(1)) }
		eq(c, "close", error(RefusedLive))(do(closeDown), nil)
		c.reserve(7, 1, c.id("t", 0))
		eq(c, "close", error(RefusedLive))(do(closeDown), nil)
		c.consume(7, 1, c.id("t", 0))
		eq(c, "freeze", error(nil))(do(freeze), nil)
		eq(c, "close", error(nil))(do(closeDown), nil)
		eq(c, "unfreeze", error(RefusedClosed))(do(unfreeze), nil)
		a, err := c.p.account(c.ctx, c.db, c.acct(1))
		eq(c, "closed", Account{c.acct(1), 3, FlagClosed, noOverdraft})(a, err)
	}},
}

// openAccounts creates accounts that may not overdraw.
func (c *conf) openAccounts(is ...int64) {
	for _, i := range is {
		eq(c, "create", 1)(c.p.createAccount(c.ctx, c.db, Account{AccountID: c.acct(i), Policy: noOverdraft}))
	}
}

// numbers runs a query of one bigint column.
func (c *conf) numbers(sql string, args named) ([]int64, error) {
	var out []int64
	err := collect(c.ctx, c.db, sql, args, func(rows pgx.Rows) error {
		var n int64
		err := rows.Scan(&n)
		out = append(out, n)
		return err
	})
	return out, err
}

func (c *conf) history(a AccountID) ([]int64, error) {
	return c.numbers(`SELECT version FROM accounts WHERE id = @id AND subaccount = @sub ORDER BY version`, named{"id": a.ID, "sub": a.Sub})
}

func (c *conf) involved(tid string) ([]int64, error) {
	return c.numbers(`SELECT account_id FROM transfer_accounts WHERE transfer_id = @tid ORDER BY account_id`, named{"tid": tid})
}

// conformanceActor runs all cases; its error tells which failed.
func conformanceActor(p *program, batch int) sim.Actor {
	return sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
		var failed []error
		ids := nodeIDs(1, 0)
		for i, c := range conformance {
			run := &conf{ctx: ctx, db: db, p: p, ids: ids, n: i + 1, batch: batch}
			c.run(run)
			for _, f := range run.failed {
				failed = append(failed, fmt.Errorf("%s: %s", c.name, f))
			}
			if len(run.failed) == 0 {
				sim.Witness(ctx, c.name)
			}
		}
		return errors.Join(failed...)
	})
}

func TestConformance(t *testing.T) {
	onEachBackend(t, func(t *testing.T, backend backendMaker) {
		for _, variant := range variants() {
			t.Run(variant, func(t *testing.T) {
				p, err := newProgram(variant)
				if err != nil {
					t.Fatal(err)
				}
				batch, onServer := 10, strings.Contains(t.Name(), "server")
				switch {
				case variant == variantSeed && onServer && os.Getenv("SIMRUN_LONG") != "":
					batch = 9000
				case variant == variantSeed || onServer:
					batch = maxBatch + 3 // on the model some seconds, so not for each variant
				}
				setup := &sim.Setup{
					Schema: schemaOf(p.encoding),
					Actors: []sim.ActorSpec{{Name: "conformance", Role: commitRole, Run: conformanceActor(p, batch)}},
				}
				w, o := runOnce(t, setup, backend, 1)
				if o.Err != nil {
					t.Fatal(o.Err)
				}
				if done, err := w.Done("conformance"); !done || err != nil {
					t.Errorf("done %t: %v", done, err)
				}
				for _, c := range conformance {
					if !slices.Contains(o.Witnesses, c.name) && !t.Failed() {
						t.Errorf("%q did not pass", c.name)
					}
				}
			})
		}
	})
}
