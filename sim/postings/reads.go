package postings

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Place is where a posting id stands. It is derived from membership, with the precedence active, reserved, spent, missing.
type Place uint8

// The places.
const (
	Missing Place = iota // nowhere
	Spent                // only in the immutable table
	Held                 // reserved, by the saga of State.RID
	Active               // spendable
)

// State is the derived state of a posting id.
type State struct {
	Place Place
	RID   int64 // holder when Place is Held
}

func (s State) String() string {
	switch s.Place {
	case Active:
		return "active"
	case Held:
		return fmt.Sprintf("reserved(%d)", s.RID)
	case Spent:
		return "spent"
	}
	return "missing"
}

// The probes of each encoding: SELECTs in the order of precedence, separate statements without a transaction, as shipped.
// Statement parameters: @ids; result columns: transfer_id, idx, reservation (NULL when not reserved), active or not.
var (
	probesIndex = []string{
		`SELECT transfer_id, idx, NULL::bigint, true FROM active_postings WHERE (transfer_id, idx) IN @ids`,
		`SELECT transfer_id, idx, reservation, false FROM reserved_postings WHERE (transfer_id, idx) IN @ids`,
		`SELECT transfer_id, idx, NULL::bigint, false FROM postings WHERE (transfer_id, idx) IN @ids`,
	}
	probesLive = []string{
		`SELECT transfer_id, idx, reservation, reservation IS NULL FROM live_postings WHERE (transfer_id, idx) IN @ids`,
		`SELECT transfer_id, idx, NULL::bigint, false FROM postings WHERE (transfer_id, idx) IN @ids`,
	}
	probesStatus = []string{
		`SELECT transfer_id, idx, reservation, status = 0 FROM postings WHERE (transfer_id, idx) IN @ids`,
	}
)

// states gives the state of each id, in input order, repeats included.
func (p *program) states(ctx context.Context, db session, ids []PostingID) ([]State, error) {
	out := make([]State, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	at := make(map[PostingID][]int, len(ids))
	for i, id := range ids {
		at[id] = append(at[id], i)
	}
	for _, probe := range p.probes {
		err := collectIn(ctx, db, probe, distinct(ids), func(rows pgx.Rows) error {
			var id PostingID
			var rid *int64
			var active bool
			if err := rows.Scan(&id.Transfer, &id.Idx, &rid, &active); err != nil {
				return err
			}
			found := State{Place: Spent}
			switch {
			case active:
				found = State{Place: Active}
			case rid != nil:
				found = State{Held, *rid}
			}
			for _, i := range at[id] {
				if out[i].Place == Missing {
					out[i] = found
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func allHeldBy(states []State, rid int64) bool {
	return !slices.ContainsFunc(states, func(s State) bool { return s != State{Held, rid} })
}

func allAt(states []State, place Place) bool {
	return !slices.ContainsFunc(states, func(s State) bool { return s.Place != place })
}

func anyAt(states []State, place Place) bool {
	return slices.ContainsFunc(states, func(s State) bool { return s.Place == place })
}

const sqlPostings = `SELECT transfer_id, idx, owner, subaccount, asset, value FROM postings WHERE (transfer_id, idx) IN @ids`

// notFound is the error of a look-up by id that found nothing.
type notFound struct{ what string }

func (e notFound) Error() string { return e.what + " not found" }

// postings gives the immutable rows in input order, or notFound for the first id that has none. Spent postings resolve too.
func (p *program) postings(ctx context.Context, db session, ids []PostingID) ([]Posting, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found := make(map[PostingID]Posting, len(ids))
	err := collectIn(ctx, db, sqlPostings, distinct(ids), func(rows pgx.Rows) error {
		row, err := scanPosting(rows)
		found[row.ID] = row
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Posting, len(ids))
	for i, id := range ids {
		row, ok := found[id]
		if !ok {
			return nil, notFound{"posting " + id.String()}
		}
		out[i] = row
	}
	return out, nil
}

// collectIn runs a query about ids, batch by batch.
func collectIn(ctx context.Context, db session, sql string, ids []PostingID, scan func(rows pgx.Rows) error) error {
	for batch := range slices.Chunk(ids, maxBatch) {
		if err := collect(ctx, db, sql, named{"ids": batch}, scan); err != nil {
			return err
		}
	}
	return nil
}

func scanPosting(rows pgx.Rows) (Posting, error) {
	var r Posting
	var value string
	if err := rows.Scan(&r.ID.Transfer, &r.ID.Idx, &r.Owner.ID, &r.Owner.Sub, &r.Asset, &value); err != nil {
		return r, err
	}
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return r, fmt.Errorf("value of posting %s: %w", r.ID, err)
	}
	r.Value = v
	return r, nil
}

func (p *program) selectPostings(ctx context.Context, db session, sql string, args named) ([]Posting, error) {
	var out []Posting
	err := collect(ctx, db, sql, args, func(rows pgx.Rows) error {
		r, err := scanPosting(rows)
		if err == nil {
			out = append(out, r)
		}
		return err
	})
	return out, err
}

// Filter selects postings of an account by their place.
type Filter uint8

// The filters. Live is active and reserved together, read in one statement, so in one snapshot.
const (
	FilterActive Filter = iota
	FilterReserved
	FilterLive
	FilterAll
)

// byOwner are the account reads, by filter. Statement parameters: @id, @sub, @asset; ordered by id of the posting.
type byOwner [4]string

const postingColumns = `transfer_id, idx, owner, subaccount, asset, value`

const ownerMatch = ` WHERE owner = @id AND subaccount = @sub AND asset = @asset`

var (
	byOwnerIndex = byOwner{
		FilterActive:   `SELECT ` + postingColumns + ` FROM active_postings` + ownerMatch + ` ORDER BY transfer_id, idx`,
		FilterReserved: `SELECT ` + postingColumns + ` FROM reserved_postings` + ownerMatch + ` ORDER BY transfer_id, idx`,
		FilterLive: `SELECT ` + postingColumns + ` FROM active_postings` + ownerMatch + `
UNION ALL SELECT ` + postingColumns + ` FROM reserved_postings` + ownerMatch + ` ORDER BY transfer_id, idx`,
		FilterAll: `SELECT ` + postingColumns + ` FROM postings` + ownerMatch + ` ORDER BY transfer_id, idx`,
	}
	byOwnerLive = byOwner{
		FilterActive:   `SELECT ` + postingColumns + ` FROM live_postings` + ownerMatch + ` AND reservation IS NULL ORDER BY transfer_id, idx`,
		FilterReserved: `SELECT ` + postingColumns + ` FROM live_postings` + ownerMatch + ` AND reservation IS NOT NULL ORDER BY transfer_id, idx`,
		FilterLive:     `SELECT ` + postingColumns + ` FROM live_postings` + ownerMatch + ` ORDER BY transfer_id, idx`,
		FilterAll:      `SELECT ` + postingColumns + ` FROM postings` + ownerMatch + ` ORDER BY transfer_id, idx`,
	}
	byOwnerStatus = byOwner{
		FilterActive:   `SELECT ` + postingColumns + ` FROM postings` + ownerMatch + ` AND status = 0 ORDER BY transfer_id, idx`,
		FilterReserved: `SELECT ` + postingColumns + ` FROM postings` + ownerMatch + ` AND status = 1 ORDER BY transfer_id, idx`,
		FilterLive:     `SELECT ` + postingColumns + ` FROM postings` + ownerMatch + ` AND status IN (0, 1) ORDER BY transfer_id, idx`,
		FilterAll:      `SELECT ` + postingColumns + ` FROM postings` + ownerMatch + ` ORDER BY transfer_id, idx`,
	}
)

// ofAccount gives the postings of an account in one asset that the filter selects, ordered by id.
func (p *program) ofAccount(ctx context.Context, db session, a AccountID, asset Asset, f Filter) ([]Posting, error) {
	return p.selectPostings(ctx, db, p.byOwner[f], named{"id": a.ID, "sub": a.Sub, "asset": int32(asset)})
}

// balance is the sum of the live postings, active and reserved: reserving and releasing never changes it.
func (p *program) balance(ctx context.Context, db session, a AccountID, asset Asset) (int64, error) {
	live, err := p.ofAccount(ctx, db, a, asset, p.balanceOver)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for _, l := range live {
		if sum, err = p.add(sum, l.Value); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// hasLive says whether the account has live postings in any asset.
func (p *program) hasLive(ctx context.Context, db session, a AccountID) (bool, error) {
	var any bool
	text, values := bind(p.liveAny, named{"id": a.ID, "sub": a.Sub})
	err := db.QueryRow(ctx, text, values...).Scan(&any)
	return any, err
}

const (
	liveAnyIndex = `SELECT EXISTS (SELECT 1 FROM active_postings WHERE owner = @id AND subaccount = @sub)
OR EXISTS (SELECT 1 FROM reserved_postings WHERE owner = @id AND subaccount = @sub)`
	liveAnyLive   = `SELECT EXISTS (SELECT 1 FROM live_postings WHERE owner = @id AND subaccount = @sub)`
	liveAnyStatus = `SELECT EXISTS (SELECT 1 FROM postings WHERE owner = @id AND subaccount = @sub AND status IN (0, 1))`
)

// addChecked adds two amounts; an overflow is an error.
func addChecked(a, b int64) (int64, error) {
	s := a + b
	if (s > a) != (b > 0) {
		return 0, fmt.Errorf("amount %d + %d overflows", a, b)
	}
	return s, nil
}
