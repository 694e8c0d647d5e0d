package postings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"simrun/sim"
)

// sqlStoreTransfer writes a transfer once, first writer wins. The involved accounts are recorded even when the transfer was
// there: the count is that of the transfer alone. Parameters: @tid, @transfer, @now, @book, @involved.
const sqlStoreTransfer = `
WITH involved AS (
    INSERT INTO transfer_accounts (transfer_id, account_id, subaccount) VALUES @involved ON CONFLICT DO NOTHING)
INSERT INTO transfers (id, transfer, created_at, book) VALUES (@tid, @transfer, @now, @book) ON CONFLICT DO NOTHING`

// involvement is a row of transfer_accounts.
type involvement struct {
	tid     string
	account AccountID
}

// storeTransfer returns 1, or 0 when the transfer was stored before.
func (p *program) storeTransfer(ctx context.Context, db session, tid string, e Envelope, accounts []AccountID) (int, error) {
	involved := make([]involvement, len(accounts))
	for i, a := range accounts {
		involved[i] = involvement{tid, a}
	}
	return exec(ctx, db, p.sqlStoreTransfer, named{"tid": tid, "transfer": encodeEnvelope(e), "now": millis(ctx), "book": e.Book, "involved": involved})
}

// getTransfer says whether the transfer is stored, and gives its envelope.
func (p *program) getTransfer(ctx context.Context, db session, tid string) (Envelope, bool, error) {
	var text string
	err := db.QueryRow(ctx, `SELECT transfer FROM transfers WHERE id = $1`, tid).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return Envelope{}, false, nil
	}
	if err != nil {
		return Envelope{}, false, err
	}
	e, err := decodeEnvelope(text)
	return e, err == nil, err
}

// appendEvent appends an event unless one with the dedup key is there, and returns the sequence number of the event that is.
// The number is minted before the insert. Whether a number that another process minted too is an error or is minted again
// depends on the statement: the released one names the dedup key as the only conflict.
func (p *program) appendEvent(ctx context.Context, db session, ids *idSource, kind, data, dedup string) (int64, error) {
	for {
		seq := ids.next()
		n, err := exec(ctx, db, p.sqlAppendEvent, named{"seq": seq, "now": millis(ctx), "kind": kind, "data": data, "dedup": dedup})
		if err != nil || n == 1 {
			return seq, err
		}
		err = db.QueryRow(ctx, `SELECT seq FROM events WHERE dedup_key = $1`, dedup).Scan(&seq)
		if !errors.Is(err, pgx.ErrNoRows) {
			return seq, err
		}
	}
}

const sqlAppendEvent = `INSERT INTO events (seq, at, kind, data, dedup_key) VALUES (@seq, @now, @kind, @data, @dedup) ON CONFLICT (dedup_key) DO NOTHING`

// transferEvent is the kind of the event of a committed transfer; its dedup key is the transfer's id.
const transferEvent = "TransferCommitted"

// eventsSince gives the events after a sequence number, in order, at most limit of them: the page of a feed.
func (p *program) eventsSince(ctx context.Context, db session, after int64, limit int) ([]event, error) {
	var out []event
	err := collect(ctx, db, `SELECT seq, kind, data, COALESCE(dedup_key, '') FROM events WHERE seq > @after ORDER BY seq LIMIT @limit`,
		named{"after": after, "limit": int64(limit)}, func(rows pgx.Rows) error {
			var e event
			err := rows.Scan(&e.Seq, &e.Kind, &e.Data, &e.Dedup)
			out = append(out, e)
			return err
		})
	return out, err
}

// saveSaga writes the record, over an older one of the same id.
func (p *program) saveSaga(ctx context.Context, db session, r Record) error {
	_, err := exec(ctx, db, p.sqlSaveSaga, named{"rid": r.RID, "data": encodeRecord(r)})
	return err
}

const sqlSaveSaga = `INSERT INTO sagas (id, data) VALUES (@rid, @data) ON CONFLICT (id) DO UPDATE SET data = excluded.data`

// pendingSagas lists the records. The released system lists them unordered; the order here makes runs comparable.
func (p *program) pendingSagas(ctx context.Context, db session) ([]Record, error) {
	var out []Record
	err := collect(ctx, db, `SELECT data FROM sagas ORDER BY id`, nil, func(rows pgx.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		r, err := decodeRecord(text)
		out = append(out, r)
		return err
	})
	return out, err
}

// getSaga reads one record.
func (p *program) getSaga(ctx context.Context, db session, rid int64) (Record, bool, error) {
	var text string
	err := db.QueryRow(ctx, `SELECT data FROM sagas WHERE id = $1`, rid).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	r, err := decodeRecord(text)
	return r, err == nil, err
}

func (p *program) deleteSaga(ctx context.Context, db session, rid int64) error {
	_, err := exec(ctx, db, `DELETE FROM sagas WHERE id = @rid`, named{"rid": rid})
	return err
}

// idSource mints reservation ids and event numbers: 40 bits of milliseconds, then a counter of the process. The released
// system's ids hold no node, so two processes that start in one millisecond mint equal ids; a source with a node does not.
type idSource struct {
	base    int64
	counter int64
}

func (s *idSource) next() int64 {
	s.counter++
	return s.base + s.counter
}

// nodeIDs mints ids that no other process mints: node tells processes apart, restarts of one included.
func nodeIDs(node, attempt int) *idSource {
	return &idSource{base: int64(node)*1000 + int64(attempt)*100}
}

// clockIDs mints ids from the clock and a counter alone, as released.
func clockIDs(ctx context.Context) *idSource { return &idSource{base: millis(ctx) << 23} }

// millis is the simulated time in milliseconds since 2026-01-01, the epoch of the system's ids.
func millis(ctx context.Context) int64 { return systemMillis(sim.Now(ctx)) }

func systemMillis(t time.Time) int64 {
	const epoch = 1767225600000
	return t.UnixMilli() - epoch
}

// accountEventKey is the dedup key of a transition to a version of an account.
func accountEventKey(a AccountID, version int64) string {
	return fmt.Sprintf("acct:%d:%d:%d", a.ID, a.Sub, version)
}
