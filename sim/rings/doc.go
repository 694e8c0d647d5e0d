// Package rings is the ring-rotation system as scenarios: three rings of list-partitioned tables (queue, lease, claim)
// whose cursors move from mutable columns to append-only ledgers while old and new binaries run side by side.
//
// A protocol transaction is a list of named steps, one SQL statement each, in the order in which the protocol sends them
// (procedure.go). The lists are gathered in a program; a variant builds one, and a mutant edits a copy of it, so the
// files of the actors read as if no mutant existed:
//
//	schema/*.sql         tables, functions, trigger
//	rotate_*.go, ...     one file an actor, its SQL beside it
//	mutants_[a-f].go     the seeded bugs, by group of the catalogue
//	scenario_*.go        the scenarios
//	invariants_*.go      what must hold
package rings
