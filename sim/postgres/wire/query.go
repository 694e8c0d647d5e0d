package wire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"simrun/model/types"
)

// Run executes statements on a connection that never blocks for long; the error is a *types.Error when the server gave it.
func (w *Conn) Run(sql string) error {
	_, err := w.Rows(sql)
	return err
}

// Rows executes statements and returns the rows of all results as text, NULL as "".
func (w *Conn) Rows(sql string) ([][]string, error) {
	w.SendQuery(&pgproto3.Query{String: sql})
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return w.collect()
}

func (w *Conn) collect() (rows [][]string, err error) {
	for {
		msg, rerr := w.Receive(-1)
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
			err = ErrorOf(m)
			if m.Severity == "FATAL" {
				return nil, err
			}
		case *pgproto3.ReadyForQuery:
			return rows, err
		}
	}
}

// ErrorOf is the server's error or notice as a value.
func ErrorOf(m *pgproto3.ErrorResponse) *types.Error {
	return &types.Error{Code: m.Code, Severity: m.Severity, Message: m.Message, Detail: m.Detail, Hint: m.Hint, Position: int(m.Position),
		Schema: m.SchemaName, Table: m.TableName, Column: m.ColumnName, Constraint: m.ConstraintName}
}
