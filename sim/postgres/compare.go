package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"simrun/model/types"
	"simrun/sim"
)

// differ compares two replies and says what differs, "" when nothing does, and how. Rows are compared as a multiset unless
// they are ordered. Details, hints and positions of errors are not compared: details have numbers of transactions.
func differ(model, server sim.Reply, ordered bool) (what, m, s string) {
	if !sameError(model.Err, server.Err) {
		return "error", Summary(model), Summary(server)
	}
	if model.Tx != server.Tx {
		return "transaction state", Summary(model), Summary(server)
	}
	a, b := model.Result, server.Result
	for n := 1; a != nil || b != nil; n++ {
		if a == nil || b == nil {
			return "number of results", Summary(model), Summary(server)
		}
		if what, m, s = differResult(a, b, ordered); what != "" {
			if a.Next != nil || n > 1 {
				what += fmt.Sprintf(" of result %d", n)
			}
			return what, m, s
		}
		a, b = a.Next, b.Next
	}
	return "", "", ""
}

func differResult(a, b *sim.Result, ordered bool) (what, m, s string) {
	if a.Tag != b.Tag {
		return "command tag", a.Tag, b.Tag
	}
	if !slices.Equal(a.Fields, b.Fields) {
		if af, bf := fieldsText(a.Fields), fieldsText(b.Fields); af != bf {
			return "columns", af, bf
		}
	}
	if !slices.EqualFunc(a.Notices, b.Notices, sameError) {
		return "notices", noticesText(a.Notices), noticesText(b.Notices)
	}
	if slices.EqualFunc(a.Rows, b.Rows, sameRow) {
		return "", "", ""
	}
	x, y := rowTexts(a.Rows), rowTexts(b.Rows)
	if ordered || len(x) != len(y) {
		return "rows", strings.Join(x, " "), strings.Join(y, " ")
	}
	slices.Sort(x)
	slices.Sort(y)
	if slices.Equal(x, y) {
		return "", "", ""
	}
	return "rows", strings.Join(x, " "), strings.Join(y, " ")
}

func sameError(a, b *types.Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Code == b.Code && a.Message == b.Message && a.Severity == b.Severity
}

func sameRow(a, b []types.Value) bool { return slices.EqualFunc(a, b, sameValue) }

// sameValue compares the text forms, which are stricter than equality: numeric has several forms of one number.
func sameValue(a, b types.Value) bool {
	if a.Valid != b.Valid {
		return false
	}
	if !a.Valid {
		return true
	}
	if a.T == b.T {
		switch a.T.Kind {
		case types.Bool, types.Int2, types.Int4, types.Int8, types.Timestamptz, types.OID:
			return a.N == b.N
		case types.Text, types.Varchar, types.UUID, types.Numeric, types.Bytea:
			return a.S == b.S
		}
	}
	return a.Text() == b.Text()
}

// fieldsText is names and types. Types that the model does not tell apart from text are text.
func fieldsText(fields []sim.Field) string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.Name + " " + typeOf(f.Type.OID()).String()
	}
	return "(" + strings.Join(list, ", ") + ")"
}

func rowTexts(rows [][]types.Value) []string {
	list := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, v := range row {
			if cells[j] = "NULL"; v.Valid {
				cells[j] = v.Text()
			}
		}
		list[i] = "(" + strings.Join(cells, ", ") + ")"
	}
	return list
}

func noticesText(list []*types.Error) string {
	if len(list) == 0 {
		return "none"
	}
	var texts []string
	for _, n := range list {
		texts = append(texts, n.Error())
	}
	return strings.Join(texts, "; ")
}

// Summary is a reply in a line: whom it waits for, or its tags, rows and error, and the state of the transaction.
func Summary(r sim.Reply) string {
	if r.Blocked {
		return fmt.Sprintf("waits for sessions %v", r.By)
	}
	var parts []string
	for res := r.Result; res != nil; res = res.Next {
		text := res.Tag
		for _, row := range rowTexts(res.Rows) {
			text += " " + row
		}
		parts = append(parts, text)
	}
	if r.Err != nil {
		parts = append(parts, r.Err.Error())
	}
	text := strings.Join(parts, "; ")
	switch r.Tx {
	case 'T':
		text += " [in a transaction]"
	case 'E':
		text += " [in a failed transaction]"
	}
	return text
}

func databaseError(err error) *types.Error {
	var e *types.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
