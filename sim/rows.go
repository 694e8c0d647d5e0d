package sim

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"simrun/model/types"
)

// rows are the rows of a result that is complete. Values scan through pgtype from their text form, whichever backend they
// came from.
type rows struct {
	s      *session // nil when not the holder of the session
	result *Result
	err    error
	at     int // index of the current row
	closed bool
}

func failedRows(err error) *rows { return &rows{err: err, closed: true, at: -1} }

func (r *rows) Close() {
	if !r.closed {
		r.closed = true
		if r.s != nil {
			r.s.busy = false
		}
	}
}

func (r *rows) Err() error {
	if !r.closed {
		return nil
	}
	return r.err
}

func (r *rows) CommandTag() pgconn.CommandTag {
	if !r.closed {
		return pgconn.CommandTag{}
	}
	return lastTag(r.result)
}

func (r *rows) FieldDescriptions() []pgconn.FieldDescription {
	if r.result == nil {
		return nil
	}
	out := make([]pgconn.FieldDescription, len(r.result.Fields))
	for i, f := range r.result.Fields {
		out[i] = pgconn.FieldDescription{Name: f.Name, DataTypeOID: f.Type.OID(), TypeModifier: -1, Format: pgtype.TextFormatCode}
	}
	return out
}

func (r *rows) Next() bool {
	if r.closed {
		return false
	}
	if r.result == nil || r.at+1 >= len(r.result.Rows) {
		r.Close()
		return false
	}
	r.at++
	return true
}

// fatal ends the rows with an error of the client's side.
func (r *rows) fatal(err error) error {
	if r.err == nil {
		r.err = err
	}
	r.Close()
	return err
}

func (r *rows) current() []types.Value {
	if r.closed || r.at < 0 || r.result == nil {
		return nil
	}
	return r.result.Rows[r.at]
}

func (r *rows) Scan(dest ...any) error {
	vals := r.current()
	if vals == nil {
		return r.fatal(errors.New("number of field descriptions must equal number of values, got 0 and 0"))
	}
	if len(dest) == 1 {
		if rs, ok := dest[0].(pgx.RowScanner); ok {
			if err := rs.ScanRow(r); err != nil {
				return r.fatal(err)
			}
			return nil
		}
	}
	if len(dest) != len(vals) {
		return r.fatal(fmt.Errorf("number of field descriptions must equal number of destinations, got %d and %d", len(vals), len(dest)))
	}
	for i, d := range dest {
		if d == nil || scanFast(vals[i], d) {
			continue
		}
		m := typeMaps.Get().(*pgtype.Map)
		err := m.Scan(vals[i].T.OID(), pgtype.TextFormatCode, textOf(vals[i]), d)
		typeMaps.Put(m)
		if err != nil {
			return r.fatal(pgx.ScanArgError{ColumnIndex: i, FieldName: r.result.Fields[i].Name, Err: err})
		}
	}
	return nil
}

// scanFast scans the most frequent pairs of types as pgtype would.
func scanFast(v types.Value, dest any) bool {
	if !v.Valid {
		return false
	}
	switch v.T.Kind {
	case types.Int2, types.Int4, types.Int8:
		switch d := dest.(type) {
		case *int64:
			*d = v.N
			return true
		case *int:
			*d = int(v.N)
			return true
		case *int32:
			if v.N >= math.MinInt32 && v.N <= math.MaxInt32 {
				*d = int32(v.N)
				return true
			}
		}
	case types.Bool:
		if d, ok := dest.(*bool); ok {
			*d = v.N != 0
			return true
		}
	case types.Text, types.Varchar, types.Name:
		if d, ok := dest.(*string); ok {
			*d = v.S
			return true
		}
	}
	return false
}

func (r *rows) Values() ([]any, error) {
	if r.closed {
		return nil, errors.New("rows is closed")
	}
	vals := r.current()
	out := make([]any, len(vals))
	m := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(m)
	for i, v := range vals {
		if !v.Valid {
			continue
		}
		text := textOf(v)
		dt, ok := m.TypeForOID(v.T.OID())
		if !ok {
			out[i] = string(text)
			continue
		}
		x, err := dt.Codec.DecodeValue(m, v.T.OID(), pgtype.TextFormatCode, text)
		if err != nil {
			return nil, r.fatal(err)
		}
		out[i] = x
	}
	return out, nil
}

func (r *rows) RawValues() [][]byte {
	vals := r.current()
	out := make([][]byte, len(vals))
	for i, v := range vals {
		out[i] = textOf(v)
	}
	return out
}

// Conn is nil: there is no pgx connection behind a simulated session.
func (r *rows) Conn() *pgx.Conn { return nil }

// TypeMap gives a map of pgtype's own types.
func (r *rows) TypeMap() *pgtype.Map { return pgtype.NewMap() }

// typeMaps are reused, because a map keeps the plans it has made and serves one goroutine at a time.
var typeMaps = sync.Pool{New: func() any { return pgtype.NewMap() }}

// textOf is the text form of a value as Postgres sends it; nil is NULL.
func textOf(v types.Value) []byte {
	if !v.Valid {
		return nil
	}
	return types.AppendText(nil, v)
}

// row is the first row of rows, as QueryRow gives it.
type row struct{ r *rows }

func (r row) Scan(dest ...any) error {
	rows := r.r
	if rows.closed && rows.err != nil {
		return rows.err
	}
	if !rows.Next() {
		if rows.err != nil {
			return rows.err
		}
		return pgx.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	rows.Close()
	return rows.err
}
