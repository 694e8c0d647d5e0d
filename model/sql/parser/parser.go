// Package parser is the grammar of Postgres: libpg_query through cgo, or the same code as WebAssembly where cgo is off.
// The tree is Postgres's own raw parse tree (pg_query's protobuf form), positions in it count bytes from 0.
package parser

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

// Parse gives the statements of a text, or the syntax error that Postgres would report (42601 with message and position).
func Parse(sql string) ([]*pg.RawStmt, *types.Error) {
	if i := strings.IndexByte(sql, 0); i >= 0 { // a text of the protocol ends at its zero byte
		sql = sql[:i]
	}
	if !utf8.ValidString(sql) {
		return nil, types.NewError("22021", `invalid byte sequence for encoding "UTF8"`)
	}
	tree, err := parse(sql)
	if err != nil {
		return nil, syntaxError(err)
	}
	return tree.Stmts, nil
}

// ParsePLpgSQL gives the PL/pgSQL tree of a CREATE FUNCTION statement, in libpg_query's JSON form.
func ParsePLpgSQL(createFunction string) (json.RawMessage, *types.Error) {
	tree, err := parsePLpgSQL(createFunction)
	if err != nil {
		return nil, syntaxError(err)
	}
	return tree, nil
}

// CharPosition turns a byte offset of the tree into the 1-based character position of an error report.
func CharPosition(sql string, offset int32) int {
	if offset < 0 || int(offset) > len(sql) {
		return 0
	}
	return utf8.RuneCountInString(sql[:offset]) + 1
}

// syntaxError words an error of the grammar. libpg_query does not hand the SQLSTATE on, so the few reports of the grammar
// that are no syntax errors are known by their words.
func syntaxError(err error) *types.Error {
	msg, pos := position(err)
	e := types.NewError(grammarCode(msg), msg)
	e.Position = pos
	return e
}

func grammarCode(msg string) string {
	switch {
	case strings.HasPrefix(msg, "LIMIT #,# syntax"):
		return "42601"
	case strings.Contains(msg, "not supported"), strings.Contains(msg, "not yet implemented"),
		strings.Contains(msg, "not implemented"):
		return "0A000"
	case strings.HasPrefix(msg, "invalid Unicode"):
		return "22025"
	case strings.Contains(msg, "stack depth"):
		return "54001"
	default:
		return "42601"
	}
}
