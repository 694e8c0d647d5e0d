package postings

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"simrun/sim"
)

// conformanceQueries are the cases about reads of more than one row: pages, feeds, big batches, books, and the cache of balances.
var conformanceQueries = []confCase{
	{"pages of an account's postings are disjoint and in order, and the total is that of all", func(c *conf) {
		var rows []Posting
		for i := range int16(5) {
			rows = append(rows, c.row("t", i, 1, int64(i)+1))
		}
		other := Posting{c.id("t", 9), c.acct(1), eur, 5}
		// Not in the order of their ids: an answer in the order of the heap would be another.
		c.have(rows[3], rows[0])
		c.have(other, rows[4], rows[2], rows[1])
		c.reserve(7, 1, rows[1].ID)
		for page, want := range [][]Posting{rows[:2], rows[2:4], rows[4:], nil} {
			c.page(PostingQuery{Account: c.acct(1), Asset: usd, Filter: FilterLive, Page: Page{2, 2 * page}}, 5, want...)
		}
		c.page(PostingQuery{Account: c.acct(1), Filter: FilterLive, Page: Page{0, 3}}, 6, rows[3], rows[4], other)
		c.page(PostingQuery{Account: c.acct(1), Asset: eur, Filter: FilterAll, Page: Page{2, 0}}, 1, other)
		c.page(PostingQuery{Account: c.acct(1), Asset: usd, Filter: FilterReserved}, 1, rows[1])
		c.page(PostingQuery{Account: c.acct(1), Asset: usd, Filter: FilterActive, Page: Page{2, 1}}, 4, rows[2], rows[3])
	}},
	{"a query without a sub-account spans all of them, with one it does not", func(c *conf) {
		sub := AccountID{c.acct(1).ID, 1}
		p, q := c.row("t", 0, 1, 5), Posting{c.id("t", 1), sub, usd, 6}
		c.have(p, q)
		c.page(PostingQuery{Account: c.acct(1), AllSubs: true, Filter: FilterAll}, 2, p, q)
		c.page(PostingQuery{Account: c.acct(1), Filter: FilterAll}, 1, p)
		c.page(PostingQuery{Account: sub, Filter: FilterAll}, 1, q)
		c.page(PostingQuery{Account: AccountID{sub.ID, 2}, Filter: FilterAll}, 0)
	}},
	{"transfers are found by each account they involve, in pages with the total", func(c *conf) {
		var tids []string
		for i := range 5 {
			tids = append(tids, c.tid(fmt.Sprint("x", i)))
			// The second account has no posting at all.
			eq(c, "store", 1)(c.p.storeTransfer(c.ctx, c.db, tids[i], Envelope{Memo: "conf"}, []AccountID{c.acct(1), c.acct(5)}))
		}
		for _, a := range []AccountID{c.acct(1), c.acct(5)} {
			for page, want := range [][]string{tids[:2], tids[2:4], tids[4:]} {
				c.transfers(TransferQuery{Account: a, Page: Page{2, 2 * page}}, 5, want...)
			}
		}
		c.transfers(TransferQuery{Account: c.acct(6)}, 0)
		c.transfers(TransferQuery{Account: AccountID{c.acct(1).ID, 1}}, 0)
	}},
	{"a range of time has its lower bound in it and its upper bound not", func(c *conf) {
		var at []time.Time
		for i := range 3 {
			if err := sim.Sleep(c.ctx, time.Second); err != nil {
				c.fail("sleep: %v", err)
			}
			at = append(at, sim.Now(c.ctx))
			eq(c, "store", 1)(c.p.storeTransfer(c.ctx, c.db, c.tid(fmt.Sprint("x", i)), Envelope{Memo: "conf"}, []AccountID{c.acct(1)}))
		}
		c.transfers(TransferQuery{Account: c.acct(1), Since: at[1], Until: at[2]}, 1, c.tid("x1"))
		c.transfers(TransferQuery{Account: c.acct(1), Since: at[1]}, 2, c.tid("x1"), c.tid("x2"))
		c.transfers(TransferQuery{Account: c.acct(1), Until: at[1]}, 1, c.tid("x0"))
		c.transfers(TransferQuery{Account: c.acct(1), Since: at[2].Add(time.Millisecond)}, 0)
		eq(c, "created at", []int64{systemMillis(at[1])})(c.numbers(`SELECT created_at FROM transfers WHERE id = @tid`, named{"tid": c.tid("x1")}))
	}},
	{"a query without an account sees every transfer, and still filters", func(c *conf) {
		if err := sim.Sleep(c.ctx, time.Second); err != nil {
			c.fail("sleep: %v", err)
		}
		now, book := sim.Now(c.ctx), int64(c.n)
		for i, e := range []Envelope{{Memo: "conf"}, {Memo: "conf", Book: book}, {Memo: "conf", Book: book}} {
			eq(c, "store", 1)(c.p.storeTransfer(c.ctx, c.db, c.tid(fmt.Sprint("x", i)), e, []AccountID{c.acct(int64(i) + 1)}))
		}
		c.transfers(TransferQuery{Since: now}, 3, c.tid("x0"), c.tid("x1"), c.tid("x2"))
		c.transfers(TransferQuery{Book: book}, 2, c.tid("x1"), c.tid("x2"))
		c.transfers(TransferQuery{Book: book, Page: Page{1, 1}}, 2, c.tid("x2"))
		c.transfers(TransferQuery{Book: book, Until: now}, 0)
		c.transfers(TransferQuery{Book: book, Account: c.acct(2)}, 1, c.tid("x1"))
		got, found, err := c.p.getTransfer(c.ctx, c.db, c.tid("x1"))
		eq(c, "found", true)(found, err)
		eq(c, "book", book)(got.Book, err)
	}},
	{"a feed of events comes in pages", func(c *conf) {
		start := c.ids.next()
		var seqs []int64
		for v := range int64(5) {
			seq, err := c.p.appendEvent(c.ctx, c.db, c.ids, "AccountFrozen", c.acct(1).String(), accountEventKey(c.acct(1), v+2))
			if err != nil {
				c.fail("append: %v", err)
			}
			seqs = append(seqs, seq)
		}
		after := start
		for _, want := range [][]int64{seqs[:3], seqs[3:], nil} {
			page, err := c.p.eventsSince(c.ctx, c.db, after, 3)
			var got []int64
			for _, e := range page {
				got, after = append(got, e.Seq), e.Seq
			}
			eq(c, "page", want)(got, err)
		}
	}},
	{"a batch of more ids than a statement takes", func(c *conf) {
		n := c.batch
		if c.p.reserve.eachID {
			n = 10 // each id is a statement of its own, and meets no limit
		}
		rows, ids := make([]Posting, n), make([]PostingID, n)
		held, gone := make([]State, n), make([]State, n)
		for i := range n {
			rows[i] = c.row(fmt.Sprintf("t%02d", i/1000), int16(i%1000), 1, 1)
			ids[i], held[i], gone[i] = rows[i].ID, heldBy(7), spent
		}
		c.have(rows...)
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(n, func(i, j int) { ids[i], ids[j], rows[i], rows[j] = ids[j], ids[i], rows[j], rows[i] })
		c.reserve(7, n, ids...)
		c.states(held, ids...)
		eq(c, "get", rows)(c.p.postings(c.ctx, c.db, ids))
		c.release(8, 0, ids...)
		c.consume(7, n, ids...)
		c.states(gone, ids...)
	}},
	{"a book is created once, found, and listed", func(c *conf) {
		b, other := Book{int64(c.n) * 10, "main", "{}"}, Book{int64(c.n)*10 + 1, "other", ""}
		if _, err := c.p.book(c.ctx, c.db, b.ID); !errors.As(err, &notFound{}) {
			c.fail("got %v", err)
		}
		eq(c, "create", 1)(c.p.createBook(c.ctx, c.db, b))
		eq(c, "create other", 1)(c.p.createBook(c.ctx, c.db, other))
		eq(c, "create again", 0)(c.p.createBook(c.ctx, c.db, Book{b.ID, "again", ""}))
		eq(c, "get", b)(c.p.book(c.ctx, c.db, b.ID))
		eq(c, "list", []Book{b, other})(c.p.books(c.ctx, c.db))
	}},
	{"the closest point of the balance cache is the last one at or before", func(c *conf) {
		at := func(asOf int64, want BalancePoint, there bool) {
			got, found, err := c.p.closestProjection(c.ctx, c.db, c.acct(1), usd, asOf)
			eq(c, fmt.Sprint("found at ", asOf), there)(found, err)
			eq(c, fmt.Sprint("point at ", asOf), want)(got, err)
		}
		at(1000, BalancePoint{}, false)
		point := func(balance, watermark int64) BalancePoint { return BalancePoint{c.acct(1), usd, balance, watermark} }
		// Not in the order of their watermarks, two of one, and others of another asset and account.
		for _, b := range []BalancePoint{point(30, 300), point(-10, 100), point(20, 200), point(21, 200), {c.acct(1), eur, 5, 250}, {c.acct(2), usd, 6, 250}} {
			if err := c.p.appendProjection(c.ctx, c.db, c.ids, b); err != nil {
				c.fail("append: %v", err)
			}
		}
		at(99, BalancePoint{}, false)
		at(100, point(-10, 100), true)
		at(299, point(21, 200), true)
		at(300, point(30, 300), true)
		at(1000, point(30, 300), true)
	}},
}

// page checks a page of postings and the total.
func (c *conf) page(q PostingQuery, total int, want ...Posting) {
	got, n, err := c.p.queryPostings(c.ctx, c.db, q)
	eq(c, fmt.Sprintf("total of %+v", q), total)(n, err)
	eq(c, fmt.Sprintf("page of %+v", q), want)(got, err)
}

// transfers checks a page of transfers and the total.
func (c *conf) transfers(q TransferQuery, total int, want ...string) {
	got, n, err := c.p.queryTransfers(c.ctx, c.db, q)
	eq(c, fmt.Sprintf("total of %+v", q), total)(n, err)
	eq(c, fmt.Sprintf("transfers of %+v", q), want)(got, err)
}
