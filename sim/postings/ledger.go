package postings

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"simrun/model/types"
	"simrun/sim"
)

// ledger is the committed state that the invariants judge, read once for all of them. Names as in the catalogue of
// invariants: P immutable postings, A active, R reserved, T stored transfers, W pending records, E events.
type ledger struct {
	P        map[PostingID]Posting
	A        map[PostingID]Posting
	R        map[PostingID]reservedPosting
	T        map[string]Envelope
	W        []Record // ordered by id
	E        []event  // ordered by number
	Accounts []Account
	Heads    map[AccountID]int64
	Involved map[string][]AccountID // accounts that a transfer is indexed under, sorted

	err string // what could not be read; every invariant reports it

	live  []PostingID // of A and R, sorted
	ids   []PostingID // of P, sorted, so that reports do not depend on map order
	tids  []string    // of T, sorted
	spent []PostingID // of P and neither A nor R, sorted

	// What monitors remember of a ledger; shared by all of them, never changed.
	places []livePosting
	rows   []knownPosting
	sums   []holdingAmount
}

type reservedPosting struct {
	Posting
	RID int64
}

type event struct {
	Seq        int64
	Kind, Data string
	Dedup      string // "" when it has none
}

// ledgerKey keys the memo of a view.
type ledgerKey struct{ enc encoding }

// ledgerOf reads the committed state of a view, at most once a state.
func ledgerOf(v sim.View, enc encoding) *ledger {
	return v.Memo(ledgerKey{enc}, func() any { return readLedger(v.Query, enc) }).(*ledger)
}

// queryFunc reads committed data.
type queryFunc func(sql string) (*sim.Result, error)

func readLedger(query queryFunc, enc encoding) *ledger {
	l := &ledger{
		P: map[PostingID]Posting{}, A: map[PostingID]Posting{}, R: map[PostingID]reservedPosting{},
		T: map[string]Envelope{}, Heads: map[AccountID]int64{}, Involved: map[string][]AccountID{},
	}
	each := func(sql string, read func(r []types.Value) error) {
		if l.err != "" {
			return
		}
		res, err := query(sql)
		for i := 0; err == nil && i < len(res.Rows); i++ {
			err = read(res.Rows[i])
		}
		if err != nil {
			l.err = fmt.Sprintf("%s: %v", sql, err)
		}
	}
	const columns = `SELECT transfer_id, idx, owner, subaccount, asset, value`
	twice := func(id PostingID) error { return fmt.Errorf("posting %s is there twice", id) }
	into := func(m map[PostingID]Posting) func(r []types.Value) error {
		return func(r []types.Value) error {
			p, err := postingOf(r)
			if _, there := m[p.ID]; there && err == nil {
				err = twice(p.ID)
			}
			m[p.ID] = p
			return err
		}
	}
	// reserved reads a row with the reservation after the posting's columns; without one the posting is active.
	reserved := func(r []types.Value) error {
		p, err := postingOf(r)
		if !r[6].Valid {
			l.A[p.ID] = p
			return err
		}
		l.R[p.ID] = reservedPosting{p, r[6].N}
		return err
	}
	if enc == migrated {
		enc = mutableStatus
		each(`SELECT name FROM _migrations`, func([]types.Value) error {
			enc = indexTables
			return nil
		})
	}
	each(columns+` FROM postings`, into(l.P))
	switch enc {
	case indexTables:
		each(columns+` FROM active_postings`, into(l.A))
		each(columns+`, reservation FROM reserved_postings`, reserved)
	case liveTable:
		each(columns+`, reservation FROM live_postings`, reserved)
	case mutableStatus:
		each(columns+`, reservation FROM postings WHERE status = 0 OR (status = 1 AND reservation IS NOT NULL)`, reserved)
	}
	each(`SELECT id, transfer FROM transfers`, func(r []types.Value) (err error) {
		l.T[r[0].S], err = decodeEnvelopeOnce(r[1].S)
		return err
	})
	each(`SELECT data FROM sagas ORDER BY id`, func(r []types.Value) error {
		w, err := decodeRecordOnce(r[0].S)
		l.W = append(l.W, w)
		return err
	})
	each(`SELECT seq, kind, data, dedup_key FROM events ORDER BY seq`, func(r []types.Value) error {
		l.E = append(l.E, event{r[0].N, r[1].S, r[2].S, r[3].S})
		return nil
	})
	each(`SELECT id, subaccount, version, flags, policy FROM accounts ORDER BY id, subaccount, version`, func(r []types.Value) (err error) {
		a := Account{AccountID: AccountID{r[0].N, r[1].N}, Version: r[2].N, Flags: int32(r[3].N)}
		a.Policy, err = parsePolicy(r[4].S)
		l.Accounts = append(l.Accounts, a)
		return err
	})
	each(`SELECT id, subaccount, version FROM account_head`, func(r []types.Value) error {
		l.Heads[AccountID{r[0].N, r[1].N}] = r[2].N
		return nil
	})
	each(`SELECT transfer_id, account_id, subaccount FROM transfer_accounts ORDER BY 1, 2, 3`, func(r []types.Value) error {
		l.Involved[r[0].S] = append(l.Involved[r[0].S], AccountID{r[1].N, r[2].N})
		return nil
	})
	l.index()
	return l
}

// index makes the sorted lists.
func (l *ledger) index() {
	l.ids = slices.SortedFunc(maps.Keys(l.P), PostingID.compare)
	l.tids = slices.Sorted(maps.Keys(l.T))
	l.live = slices.SortedFunc(maps.Keys(l.A), PostingID.compare)
	for id := range l.R {
		if _, both := l.A[id]; !both {
			l.live = append(l.live, id)
		}
	}
	slices.SortFunc(l.live, PostingID.compare)
	for _, id := range l.ids {
		if l.state(id).Place == Spent {
			l.spent = append(l.spent, id)
		}
	}
	for _, id := range l.live {
		l.places = append(l.places, livePosting{id, l.state(id)})
	}
	for _, id := range l.ids {
		l.rows = append(l.rows, knownPosting{l.P[id], l.state(id).Place == Spent})
	}
	sums := l.liveAmounts()
	for _, h := range sums.order {
		l.sums = append(l.sums, holdingAmount{h.Account.String(), h.Asset, sums.sum[h]})
	}
	slices.SortFunc(l.sums, func(a, b holdingAmount) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.asset, b.asset))
	})
}

func postingOf(r []types.Value) (Posting, error) {
	value, err := strconv.ParseInt(r[5].S, 10, 64)
	return Posting{PostingID{r[0].S, int16(r[1].N)}, AccountID{r[2].N, r[3].N}, Asset(r[4].N), value}, err
}

// state derives the state of a posting id.
func (l *ledger) state(id PostingID) State {
	if _, ok := l.A[id]; ok {
		return State{Place: Active}
	}
	if r, ok := l.R[id]; ok {
		return State{Held, r.RID}
	}
	if _, ok := l.P[id]; ok {
		return State{Place: Spent}
	}
	return State{Place: Missing}
}

// posting is the live copy of a live posting.
func (l *ledger) posting(id PostingID) Posting {
	if a, ok := l.A[id]; ok {
		return a
	}
	return l.R[id].Posting
}

// spenders are the stored transfers that consume a posting, sorted.
func (l *ledger) spenders(id PostingID) []string {
	var out []string
	for _, tid := range l.tids {
		if slices.Contains(l.T[tid].Consumes, id) {
			out = append(out, tid)
		}
	}
	return out
}

// created says whether all outputs of the record's transfer are there.
func (l *ledger) created(w Record) bool {
	for _, p := range w.Envelope.postings(w.TID) {
		if _, ok := l.P[p.ID]; !ok {
			return false
		}
	}
	return true
}

// inFlight says whether a spent posting is on its way: a finalizing saga has consumed it, and neither that saga nor anyone
// else has created anything for it yet.
func (l *ledger) inFlight(id PostingID) bool {
	if len(l.spenders(id)) > 0 {
		return false
	}
	flying := false
	for _, w := range l.W {
		if w.Phase != Finalizing || !slices.Contains(w.Envelope.Consumes, id) {
			continue
		}
		if l.created(w) {
			return false
		}
		flying = true
	}
	return flying
}

// account is the current version of an account.
func (l *ledger) account(id AccountID) (Account, bool) {
	for _, a := range l.Accounts {
		if a.AccountID == id && a.Version == l.Heads[id] {
			return a, true
		}
	}
	return Account{}, false
}

// amounts sums postings by holding; it keeps the holdings in the order of first use.
type amounts struct {
	order []holding
	sum   map[holding]int64
}

func (a *amounts) add(h holding, v int64) {
	if a.sum == nil {
		a.sum = map[holding]int64{}
	}
	if _, ok := a.sum[h]; !ok {
		a.order = append(a.order, h)
	}
	s := a.sum[h] + v
	if (s > a.sum[h]) != (v > 0) && v != 0 {
		// A sum that overflows stays at the end of the range: it must not come back to an innocent value.
		s = math.MaxInt64
		if v < 0 {
			s = math.MinInt64
		}
	}
	a.sum[h] = s
}

// liveAmounts sums active and reserved postings by account and asset.
func (l *ledger) liveAmounts() *amounts {
	sums := &amounts{}
	for _, id := range l.live {
		p := l.posting(id)
		sums.add(holding{p.Owner, p.Asset}, p.Value)
	}
	return sums
}
