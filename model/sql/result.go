package sql

import "simrun/model/types"

// Result is what a request produced. A simple query of several statements gives one Result per statement, chained by Next.
type Result struct {
	Tag     string // command tag, e.g. "UPDATE 1"
	Fields  []Field
	Rows    [][]types.Value
	Notices []*types.Error // severity NOTICE, WARNING, ...
	Next    *Result
}

// Field is a result column.
type Field struct {
	Name string
	Type types.Type
}

// Reply is the answer to a request, or the news that there is none yet. A failed simple query of several statements has both
// the results of the statements before the failing one and Err.
type Reply struct {
	Blocked bool   // the session waits for a lock; By and On say for whom and what
	By      []int  // sessions it waits for, as pg_blocking_pids gives them, sorted
	On      string // what it waits for, in words
	Result  *Result
	Err     *types.Error
	Tx      byte // what ReadyForQuery says: 'I' idle, 'T' in a transaction block, 'E' in a failed one; 0 while blocked
}
