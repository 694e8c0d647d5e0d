package sim

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SendBatch executes the queries of a batch one by one, each a step: a server executes them one by one too, and others can
// run in between. Outside of a transaction block pgx's pipeline makes them one implicit transaction; here a batch of more
// than one query, none of which begins a transaction itself, is put between begin and commit (rollback after an error),
// which are steps that a server does not show.
func (s *session) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	br := &batchResults{s: s, batch: b}
	if len(b.QueuedQueries) == 0 {
		return br
	}
	first := classify(b.QueuedQueries[0].SQL)
	implicit := s.tx == 'I' && len(b.QueuedQueries) > 1 && first != stmtBegin
	if implicit {
		if _, br.err = s.request(ctx, "begin", nil); br.err != nil {
			return br
		}
	}
	conn := s.conn
	for i, q := range b.QueuedQueries {
		sql, args, err := s.rewrite(ctx, q.SQL, q.Arguments)
		var res *Result
		if err == nil {
			if args == nil {
				args = []any{} // batches use the extended protocol
			}
			res, err = s.request(ctx, sql, args)
		}
		br.done = append(br.done, &rows{result: res, err: err, at: -1})
		if err != nil {
			break
		}
		if i == 0 && first == stmtBegin {
			br.tx = &tx{s: s, conn: s.conn}
		}
	}
	if !implicit || s.conn != conn {
		return br
	}
	end := "commit"
	if br.failed() {
		end = "rollback"
	}
	if _, err := s.request(ctx, end, nil); err != nil && !br.failed() {
		br.endErr = err
	}
	return br
}

// batchResults are the results of a batch that has been executed up to its first error.
type batchResults struct {
	s      *session
	batch  *pgx.Batch
	done   []*rows
	next   int
	err    error // of the batch as a whole
	endErr error // of the implicit commit
	tx     *tx
	closed bool
}

func (br *batchResults) failed() bool { return len(br.done) > 0 && br.done[len(br.done)-1].err != nil }

// take returns the next result; after an error there is none but that.
func (br *batchResults) take() (*rows, error) {
	switch {
	case br.err != nil:
		return failedRows(br.err), br.err
	case br.closed:
		err := errors.New("batch already closed")
		return failedRows(err), err
	case br.next >= len(br.done):
		err := errors.New("no more results in batch")
		return failedRows(err), err
	}
	r := br.done[br.next]
	br.next++
	if r.err != nil {
		br.err = r.err
	}
	return r, nil
}

func (br *batchResults) Exec() (pgconn.CommandTag, error) {
	r, err := br.take()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	r.Close()
	return r.CommandTag(), r.err
}

func (br *batchResults) Query() (pgx.Rows, error) {
	r, err := br.take()
	return r, err
}

func (br *batchResults) QueryRow() pgx.Row {
	r, _ := br.take()
	return row{r}
}

func (br *batchResults) Close() error {
	if br.closed || br.err != nil {
		br.closed = true
		return br.err
	}
	for br.err == nil && br.next < len(br.done) {
		if fn := br.batch.QueuedQueries[br.next].Fn; fn != nil {
			if err := fn(br); err != nil && br.err == nil {
				br.err = err
			}
		} else {
			_, _ = br.Exec()
		}
	}
	br.closed = true
	if br.err == nil {
		br.err = br.endErr
	}
	return br.err
}

func (br *batchResults) Tx() pgx.Tx {
	if br.tx == nil {
		return nil
	}
	return br.tx
}
