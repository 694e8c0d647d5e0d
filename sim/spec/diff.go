package spec

import (
	"fmt"
	"strings"
)

// diff returns the lines that differ between two texts, with two lines around them, in the manner of diff -u; "" when equal.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	// The longest common subsequence, by the usual table from the end; texts here have a few thousand lines at most, and a common
	// beginning and end are cut first.
	begin := 0
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < len(a)-begin && end < len(b)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if begin == len(a) && begin == len(b) {
		return ""
	}
	x, y := a[begin:len(a)-end], b[begin:len(b)-end]
	if len(x) > 2000 || len(y) > 2000 {
		x, y = x[:min(len(x), 2000)], y[:min(len(y), 2000)]
	}
	table := make([][]int, len(x)+1)
	for i := range table {
		table[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ line %d @@\n", begin+1)
	for _, line := range a[max(0, begin-2):begin] {
		out.WriteString("  " + line + "\n")
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out.WriteString("  " + x[i] + "\n")
			i++
			j++
		case j == len(y) || i < len(x) && table[i+1][j] >= table[i][j+1]:
			out.WriteString("- " + x[i] + "\n")
			i++
		default:
			out.WriteString("+ " + y[j] + "\n")
			j++
		}
	}
	return out.String()
}
