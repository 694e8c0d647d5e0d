package builtin

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"simrun/model/types"
)

// keywords are the words that quote_ident puts in quotes: all but the unreserved ones (Postgres documentation, appendix C).
var keywords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric authorization between bigint binary bit
		boolean both case cast char character check coalesce collate collation column concurrently constraint create cross
		current_catalog current_date current_role current_schema current_time current_timestamp current_user dec decimal
		default deferrable desc distinct do else end except exists extract false fetch float for foreign freeze from full
		grant greatest group grouping having ilike in initially inner inout int integer intersect interval into is isnull
		join lateral leading least left like limit localtime localtimestamp national natural nchar none normalize not
		notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary
		real references returning right row select session_user setof similar smallint some substring symmetric table
		tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic verbose
		when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
		xmlserialize xmltable`) {
		m[w] = true
	}
	return m
}()

// QuoteIdent is s as an SQL identifier, in quotes where it needs them.
func QuoteIdent(s string) string {
	plain := s != "" && !keywords[s]
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9'
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func init() {
	for _, args := range []string{"text", "text, variadic any"} {
		def("format("+args+") text", func(_ Env, a []V) (V, error) {
			if !a[0].Valid {
				return types.Null(textType()), nil
			}
			s, err := format(a[0].S, a[1:])
			return text(s), err
		}, stable, nonstrict)
	}
	for _, o := range []struct {
		name      string
		not, fold bool
	}{{"~~", false, false}, {"!~~", true, false}, {"~~*", false, true}, {"!~~*", true, true}} {
		op(o.name+"(text,text) bool", func(_ Env, a []V) (V, error) {
			m, err := like(a[0].S, a[1].S, `\`, o.fold)
			return types.NewBool(m != o.not), err
		})
	}
	def("like(text,text) bool", func(_ Env, a []V) (V, error) {
		m, err := like(a[0].S, a[1].S, `\`, false)
		return types.NewBool(m), err
	})
	// LIKE ... ESCAPE 'c' calls like_escape to put the pattern in terms of the default escape.
	def("like_escape(text,text) text", func(_ Env, a []V) (V, error) {
		s, err := likeEscape(a[0].S, a[1].S)
		return text(s), err
	})
}

// format is the function of that name: %s, %I, %L and %%, with n$ and width (Postgres documentation 9.4.1).
func format(f string, args []V) (string, error) {
	var b strings.Builder
	next := 0
	fail := func(code, msg string) (string, error) { return "", types.NewError(code, msg) }
	unterminated := func() (string, error) {
		return "", types.NewError("22023", "unterminated format() type specifier").WithHint("For a single \"%%\" use \"%%%%\".")
	}
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			b.WriteByte(f[i])
			continue
		}
		i++
		if i >= len(f) {
			return unterminated()
		}
		if f[i] == '%' {
			b.WriteByte('%')
			continue
		}
		number := func() (int, bool) {
			start := i
			for i < len(f) && f[i] >= '0' && f[i] <= '9' {
				i++
			}
			n, err := strconv.Atoi(f[start:i])
			return n, err == nil
		}
		at, width, left := -1, 0, false
		mark := i
		if n, ok := number(); ok && i < len(f) && f[i] == '$' {
			if n == 0 {
				return fail("22023", "format specifies argument 0, but arguments are numbered from 1")
			}
			at = n - 1
			i++
		} else {
			i = mark
		}
		for i < len(f) && f[i] == '-' {
			left = true
			i++
		}
		if i < len(f) && f[i] == '*' {
			i++
			if next >= len(args) {
				return fail("22023", "too few arguments for format()")
			}
			if w := args[next]; w.Valid {
				n, err := types.Parse(w.Text(), types.Of(types.Int4))
				if err != nil {
					return "", err
				}
				width = int(n.N)
			}
			next++
			if width < 0 {
				left, width = true, -width
			}
		} else if n, ok := number(); ok {
			width = n
		}
		if i >= len(f) {
			return unterminated()
		}
		kind := f[i]
		if kind != 's' && kind != 'I' && kind != 'L' {
			r, _ := utf8.DecodeRuneInString(f[i:])
			return "", types.Errorf("22023", "unrecognized format() type specifier \"%c\"", r).WithHint("For a single \"%%\" use \"%%%%\".")
		}
		if at < 0 {
			at = next
		}
		next = at + 1
		if at >= len(args) {
			return fail("22023", "too few arguments for format()")
		}
		s := args[at].Text()
		switch {
		case kind == 'I':
			if !args[at].Valid {
				return fail("22004", "null values cannot be formatted as an SQL identifier")
			}
			s = QuoteIdent(s)
		case kind == 'L' && !args[at].Valid:
			s = "NULL"
		case kind == 'L':
			s = QuoteLiteral(s)
		}
		fill := strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
		if left {
			b.WriteString(s + fill)
		} else {
			b.WriteString(fill + s)
		}
	}
	return b.String(), nil
}

// like matches s against a LIKE pattern. It goes back only to the last %, which suffices since % matches anything.
func like(s, pattern, escape string, fold bool) (bool, error) {
	if fold {
		s, pattern = asciiLower(s), asciiLower(pattern)
	}
	type unit struct {
		r   rune
		any int8 // 1: _, 2: %
	}
	var units []unit
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch {
		case string(runes[i]) == escape:
			i++
			if i >= len(runes) {
				return false, types.NewError("22025", "LIKE pattern must not end with escape character")
			}
			units = append(units, unit{r: runes[i]})
		case runes[i] == '%':
			units = append(units, unit{any: 2})
		case runes[i] == '_':
			units = append(units, unit{any: 1})
		default:
			units = append(units, unit{r: runes[i]})
		}
	}
	str := []rune(s)
	i, j, star, mark := 0, 0, -1, 0
	for i < len(str) {
		switch {
		case j < len(units) && units[j].any == 2:
			star, mark = j, i
			j++
		case j < len(units) && (units[j].any == 1 || units[j].any == 0 && units[j].r == str[i]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false, nil
		}
	}
	for j < len(units) && units[j].any == 2 {
		j++
	}
	return j == len(units), nil
}

// likeEscape rewrites a pattern with another escape character to one with a backslash.
func likeEscape(pattern, escape string) (string, error) {
	if utf8.RuneCountInString(escape) > 1 {
		return "", types.NewError("22019", "invalid escape string").WithHint("Escape string must be empty or one character.")
	}
	if escape == `\` {
		return pattern, nil
	}
	var b strings.Builder
	after := false
	for _, r := range pattern {
		switch {
		case string(r) == escape && !after:
			b.WriteByte('\\')
			after = true
			continue
		case r == '\\' && !after:
			b.WriteString(`\\`)
		default:
			b.WriteRune(r)
		}
		after = false
	}
	return b.String(), nil
}
