// Package postings is the second system under test: a ledger whose postings are immutable rows, with index tables that say
// which of them are active and which are reserved, a saga that moves value with a write-ahead record, and its recovery.
//
// Source: the decision record "Immutable postings with active/reserved index tables" and the releases before and after it.
// The eras are named E1 (mutable status column), E2 (two index tables, the record's own era), E4 (one live table) and E5.
//
// How to read it:
//
//	values.go     posting ids, postings, envelopes; the content id of a transfer
//	schema/       the tables of each storage encoding, roles and grants
//	program.go    a program: one text of the protocol, made of named statements and steps; the variants
//	moves.go      reserve, release, consume, raw deactivate: conditional changes that return affected-row counts
//	insert.go     insertion of new postings and their activation
//	reads.go      states, postings, balances
//	records.go    transfers, events, the write-ahead record
//	accounts.go   account versions, freeze, close
//	resolve.go    movements to an envelope; validate.go: the pure rules
//	saga.go       the steps s1..s12; recover.go: what happens after a crash
//	repaired.go   the variant that holds under every fault and with any number of recoverers
//	actors.go     the processes: claimer, payer, depositor, closer, freezer, reader, recoverer, migrator
//	ledger.go     the committed state that the invariants judge
//	invariants_*  I1 .. I18
//	mutants_*     seeded bugs, as edits of a program
//	scenario_*    the scenarios
//
// An actor reads as if no mutant existed: a mutant replaces a statement or a step in a copy of the program.
package postings
