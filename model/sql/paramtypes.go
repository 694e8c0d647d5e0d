package sql

import (
	"simrun/model/sql/parser"
	"simrun/model/types"
)

// ParamTypes returns the types that the analysis of a statement gives its parameters $1, $2, ... in a session.
func (d *Database) ParamTypes(session int, text string) ([]types.Type, *types.Error) {
	stmts, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 {
		return nil, types.NewError("42601", "cannot insert multiple commands into a prepared statement")
	}
	c, cerr := d.compile(d.session(session), stmts[0].Stmt, text, true)
	if cerr == nil {
		cerr = c.fail
	}
	if cerr != nil {
		return nil, asError(cerr)
	}
	return c.params, nil
}
