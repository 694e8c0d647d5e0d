package sql

import "simrun/model/types"

// userCall is a call of a function that a user defined, resolved for its argument types.
type userCall struct {
	args   []types.Type
	set    bool // it returns a set, or a row of several columns
	expr   func(a *analyzer, args []expr, loc int32) expr
	source func(a *analyzer, args []expr) *tableSource
}

// userFunction finds a user-defined function; nil when there is none of the name.
func (a *analyzer) userFunction(schema, name string, args []types.Type, spread bool) (*userCall, *types.Error) {
	return nil, nil
}
