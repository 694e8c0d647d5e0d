package postgres

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"simrun/model/types"
)

// run executes statements on a connection that never blocks for long; the error is a *types.Error when the server gave it.
func (w *wire) run(sql string) error {
	_, err := w.rows(sql)
	return err
}

// rows executes statements and returns the rows of all results as text, NULL as "".
func (w *wire) rows(sql string) ([][]string, error) {
	w.fe.SendQuery(&pgproto3.Query{String: sql})
	if err := w.fe.Flush(); err != nil {
		return nil, err
	}
	return w.collect()
}

func (w *wire) collect() (rows [][]string, err error) {
	for {
		msg, rerr := w.receive(-1)
		if rerr != nil {
			return nil, rerr
		}
		switch m := msg.(type) {
		case *pgproto3.DataRow:
			row := make([]string, len(m.Values))
			for i, v := range m.Values {
				row[i] = string(v)
			}
			rows = append(rows, row)
		case *pgproto3.ErrorResponse:
			err = errorOf(m)
			if m.Severity == "FATAL" {
				return nil, err
			}
		case *pgproto3.ReadyForQuery:
			return rows, err
		}
	}
}

// errorOf is the server's error or notice as a value.
func errorOf(m *pgproto3.ErrorResponse) *types.Error {
	return &types.Error{Code: m.Code, Severity: m.Severity, Message: m.Message, Detail: m.Detail, Hint: m.Hint, Position: int(m.Position),
		Schema: m.SchemaName, Table: m.TableName, Column: m.ColumnName, Constraint: m.ConstraintName}
}
