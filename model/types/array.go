package types

import (
	"sort"
	"strconv"
	"strings"
)

// parseArray reads an array in the form {1,2,NULL,"a b"} (Postgres documentation 8.15.6); one dimension only.
func parseArray(s string, t Type) (Value, error) {
	malformed := func(detail string) error {
		e := Errorf("22P02", "malformed array literal: \"%s\"", s)
		e.Detail = detail
		return e
	}
	w := strings.Trim(s, " \t\n\r\f\v")
	if strings.HasPrefix(w, "[") {
		return Value{}, NewError("0A000", "array bounds other than the default are not supported")
	}
	if !strings.HasPrefix(w, "{") {
		return Value{}, malformed(`Array value must start with "{" or dimension information.`)
	}
	elemType := t.ElemType()
	var elems []Value
	i := 1
	skip := func() {
		for i < len(w) && strings.IndexByte(" \t\n\r\f\v", w[i]) >= 0 {
			i++
		}
	}
	skip()
	if i < len(w) && w[i] == '}' {
		i++
	} else {
		for done := false; !done; {
			skip()
			if i >= len(w) {
				return Value{}, malformed("Unexpected end of input.")
			}
			var item []byte
			quoted := false
			switch w[i] {
			case '{':
				return Value{}, NewError("0A000", "arrays of more than one dimension are not supported")
			case ',', '}':
				return Value{}, malformed(`Unexpected "` + w[i:i+1] + `" character.`)
			case '"':
				quoted = true
				i++
				for i < len(w) && w[i] != '"' {
					if w[i] == '\\' {
						i++
					}
					if i < len(w) {
						item = append(item, w[i])
						i++
					}
				}
				if i >= len(w) {
					return Value{}, malformed("Unexpected end of input.")
				}
				i++
				skip()
				if i < len(w) && w[i] != ',' && w[i] != '}' {
					return Value{}, malformed("Unexpected array element.")
				}
			default:
				end := 0
				for i < len(w) && w[i] != ',' && w[i] != '}' {
					switch w[i] {
					case '{':
						return Value{}, malformed(`Unexpected "{" character.`)
					case '"':
						return Value{}, malformed("Unexpected array element.")
					case '\\':
						i++
						if i < len(w) {
							item = append(item, w[i])
							end = len(item)
							quoted = true
						}
					default:
						item = append(item, w[i])
						if strings.IndexByte(" \t\n\r\f\v", w[i]) < 0 {
							end = len(item)
						}
					}
					i++
				}
				item = item[:end]
			}
			if i >= len(w) {
				return Value{}, malformed("Unexpected end of input.")
			}
			if !quoted && strings.EqualFold(string(item), "null") {
				elems = append(elems, Null(elemType))
			} else {
				v, err := Parse(string(item), elemType)
				if err != nil {
					return Value{}, err
				}
				elems = append(elems, v)
			}
			done = w[i] == '}'
			i++
		}
	}
	skip()
	if i != len(w) {
		return Value{}, malformed("Junk after closing right brace.")
	}
	return NewArray(t.Elem, elems), nil
}

func appendArray(b []byte, v Value) []byte {
	b = append(b, '{')
	for i, e := range v.Elems() {
		if i > 0 {
			b = append(b, ',')
		}
		if !e.Valid {
			b = append(b, "NULL"...)
			continue
		}
		switch e.T.Kind {
		case Int2, Int4, Int8, Bool, OID, Float8, Float4:
			b = AppendText(b, e)
			continue
		}
		s := e.Text()
		if s == "" || strings.EqualFold(s, "null") || strings.ContainsAny(s, "{},\"\\ \t\n\r\f\v") {
			b = appendQuoted(b, s, `\"`, `\\`)
		} else {
			b = append(b, s...)
		}
	}
	return append(b, '}')
}

// appendQuoted writes s in double quotes, with the given spellings of a quote and a backslash in it.
func appendQuoted(b []byte, s, quote, backslash string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			b = append(b, quote...)
		case '\\':
			b = append(b, backslash...)
		default:
			b = append(b, s[i])
		}
	}
	return append(b, '"')
}

// appendRecord writes a row as (1,"a b",) (Postgres documentation 8.16.6).
func appendRecord(b []byte, v Value) []byte {
	b = append(b, '(')
	for i, e := range v.Elems() {
		if i > 0 {
			b = append(b, ',')
		}
		if !e.Valid {
			continue
		}
		s := e.Text()
		if s == "" || strings.ContainsAny(s, "(),\"\\ \t\n\r\f\v") {
			b = appendQuoted(b, s, `""`, `\\`)
		} else {
			b = append(b, s...)
		}
	}
	return append(b, ')')
}

// A multirange is a sorted list of [lower, upper) pairs of bigint, kept as its canonical text.

// parseMultirange reads a bigint multirange such as {[1,3),[5,9]} with finite bounds, and merges what touches.
func parseMultirange(s string) (Value, error) {
	bad := func() (Value, error) {
		return Value{}, Errorf("22P02", "malformed multirange literal: \"%s\"", s)
	}
	w := strings.ReplaceAll(strings.TrimSpace(s), " ", "")
	if len(w) < 2 || w[0] != '{' || w[len(w)-1] != '}' {
		return bad()
	}
	w = w[1 : len(w)-1]
	var ranges [][2]int64
	for w != "" {
		end := strings.IndexAny(w, ")]")
		if end < 0 || w[0] != '[' && w[0] != '(' {
			return bad()
		}
		lo, hi, ok := strings.Cut(w[1:end], ",")
		l, err1 := strconv.ParseInt(lo, 10, 64)
		h, err2 := strconv.ParseInt(hi, 10, 64)
		if !ok || err1 != nil || err2 != nil {
			return bad()
		}
		if l > h {
			return Value{}, NewError("22000", "range lower bound must be less than or equal to range upper bound")
		}
		if w[0] == '(' {
			l++
		}
		if w[end] == ']' {
			h++
		}
		if l < h {
			ranges = append(ranges, [2]int64{l, h})
		}
		w = w[end+1:]
		if w != "" {
			if w[0] != ',' || len(w) == 1 {
				return bad()
			}
			w = w[1:]
		}
	}
	return NewMultirange(ranges), nil
}

// NewMultirange is the bigint multirange of the half-open ranges, sorted and merged.
func NewMultirange(ranges [][2]int64) Value {
	sort.Slice(ranges, func(i, j int) bool { return ranges[i][0] < ranges[j][0] })
	var merged [][2]int64
	for _, r := range ranges {
		if n := len(merged); n > 0 && r[0] <= merged[n-1][1] {
			merged[n-1][1] = max(merged[n-1][1], r[1])
			continue
		}
		merged = append(merged, r)
	}
	b := []byte{'{'}
	for i, r := range merged {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, r[0], 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, r[1], 10)
		b = append(b, ')')
	}
	return NewString(Int8Multirange, string(append(b, '}')))
}

// Ranges are the half-open ranges of a multirange value, in order.
func (v Value) Ranges() [][2]int64 {
	var out [][2]int64
	for _, part := range strings.SplitAfter(strings.Trim(v.S, "{}"), ")") {
		lo, hi, ok := strings.Cut(strings.Trim(part, ",[)"), ",")
		if !ok {
			continue
		}
		l, _ := strconv.ParseInt(lo, 10, 64)
		h, _ := strconv.ParseInt(hi, 10, 64)
		out = append(out, [2]int64{l, h})
	}
	return out
}
