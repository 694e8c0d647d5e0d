package spec

import (
	"fmt"
	"io"
	"strings"
)

// Table is a result with columns; a value that is NULL is "".
type Table struct {
	Names []string
	Rows  [][]string
}

// print writes the table as isolationtester does (with libpq's PQprint): a column is as wide as its longest text in bytes, and
// on the left when a value in it is not like a number.
func (t *Table) print(w io.Writer) {
	if len(t.Names) == 0 {
		return
	}
	width := make([]int, len(t.Names))
	left := make([]bool, len(t.Names))
	for i, name := range t.Names {
		width[i] = len(name)
		for _, row := range t.Rows {
			width[i] = max(width[i], len(row[i]))
			left[i] = left[i] || row[i] != "" && !numberLike(row[i])
		}
	}
	line := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				io.WriteString(w, "|")
			}
			pad := strings.Repeat(" ", width[i]-len(cell))
			if left[i] {
				io.WriteString(w, cell+pad)
			} else {
				io.WriteString(w, pad+cell)
			}
		}
		io.WriteString(w, "\n")
	}
	line(t.Names)
	for i := range width {
		if i > 0 {
			io.WriteString(w, "+")
		}
		io.WriteString(w, strings.Repeat("-", width[i]))
	}
	io.WriteString(w, "\n")
	for _, row := range t.Rows {
		line(row)
	}
	if len(t.Rows) == 1 {
		io.WriteString(w, "(1 row)\n\n")
	} else {
		fmt.Fprintf(w, "(%d rows)\n\n", len(t.Rows))
	}
}

// numberLike says whether the value votes for its column to be on the right.
func numberLike(s string) bool {
	for _, c := range []byte(s) {
		if !digit(c) && strings.IndexByte(".Ee -", c) < 0 {
			return false
		}
	}
	return digit(s[len(s)-1]) && s[0] != 'E' && s[0] != 'e'
}
