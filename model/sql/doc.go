// Package sql interprets Postgres's own parse trees over a storage.State: analysis (names and types), plans (iterators over
// row versions in heap order), closures (expressions), and the session's side of transactions and settings.
//
// # From text to result
//
// parser.Parse gives raw statements. compile looks up the maker of the statement's kind (registry in compile.go, one entry
// per parse-node type, each registered by the file that implements it) and gives a *Compiled: relation locks in the order
// in which Postgres's analysis takes them, parameter types, result columns, and run, a function over a frame. It is kept
// per (text, catalog version, search path) and shared by all clones of a database.
//
// A frame is one activation of a compiled statement. Every relation of a statement, at any query level, has a number there
// (rows[rel] is the current row, refs[rel] says which version of which heap it is), so that a column reference of any level
// is two slice indexes, correlated subqueries included. Plan nodes are immutable; their state per activation sits in
// frame.st. Frames are pooled.
//
// # Waiting
//
// When storage says ErrWait, the error travels up to Session.advance, the statement's frame is dropped, and the session is
// marked blocked. After the wait the statement runs again from its start over the same storage.Exec, whose journal answers
// what was done already (see package storage). So nothing in this package may change state that is not either in the
// journal, or restored by Session.rewind (settings, last sequence value, random numbers).
package sql
