package model

import "simrun/model/types"

// ParamTypes returns the types that the analysis of a statement gives its parameters $1, $2, ... in a session.
func (d *DB) ParamTypes(session int, text string) ([]types.Type, *types.Error) {
	return d.db.ParamTypes(session, text)
}
