//go:build !cgo

package parser

import (
	"encoding/json"
	"errors"

	pg "github.com/pganalyze/pg_query_go/v6"
	wasm "github.com/wasilibs/go-pgquery"
	wparser "github.com/wasilibs/go-pgquery/parser"
)

// parse runs the grammar compiled to WebAssembly.
func parse(sql string) (*pg.ParseResult, error) { return wasm.Parse(sql) }

// parsePLpgSQL runs PL/pgSQL's own grammar over a CREATE FUNCTION statement and gives its tree as JSON.
func parsePLpgSQL(sql string) (json.RawMessage, error) {
	s, err := wasm.ParsePlPgSqlToJSON(sql)
	return json.RawMessage(s), err
}

func position(err error) (msg string, pos int) {
	var e *wparser.Error
	if errors.As(err, &e) {
		return e.Message, e.Cursorpos
	}
	return err.Error(), 0
}
