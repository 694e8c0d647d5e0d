// Package model is the in-memory Postgres: the grammar of Postgres interpreted over a state that is a value.
package model

import "simrun/model/sql"

// Result is what a request produced, Field a column of it, and Reply the answer to a request.
type (
	Result = sql.Result
	Field  = sql.Field
	Reply  = sql.Reply
)
