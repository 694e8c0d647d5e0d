package builtin

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"simrun/model/types"
)

func text(s string) V { return types.NewText(s) }

func text1(fn func(string) string) Eval { return pure(func(a []V) V { return text(fn(a[0].S)) }) }

func int4(n int) V { return types.NewInt4(int32(n)) }

func init() {
	op("||(text,text) text", pure(func(a []V) V { return text(a[0].S + a[1].S) }))
	op("||(anynonarray,text) text", pure(func(a []V) V { return text(castText(a[0]) + a[1].S) }), stable)
	op("||(text,anynonarray) text", pure(func(a []V) V { return text(a[0].S + castText(a[1])) }), stable)
	op("||(bytea,bytea) bytea", pure(func(a []V) V { return types.NewString(types.Bytea, a[0].S+a[1].S) }))
	def("textcat(text,text) text", pure(func(a []V) V { return text(a[0].S + a[1].S) }))

	for _, name := range []string{"length", "char_length", "character_length"} {
		def(name+"(text) int4", pure(func(a []V) V { return int4(utf8.RuneCountInString(a[0].S)) }))
		def(name+"(bpchar) int4", pure(func(a []V) V { return int4(utf8.RuneCountInString(strings.TrimRight(a[0].S, " "))) }))
	}
	for _, name := range []string{"length", "octet_length"} {
		def(name+"(bytea) int4", pure(func(a []V) V { return int4(len(a[0].S)) }))
	}
	def("octet_length(text) int4", pure(func(a []V) V { return int4(len(a[0].S)) }))
	def("octet_length(bpchar) int4", pure(func(a []V) V { return int4(len(a[0].S)) }))
	def("lower(text) text", text1(asciiLower))
	def("upper(text) text", text1(asciiUpper))
	def("initcap(text) text", text1(initcap))
	def("reverse(text) text", text1(func(s string) string {
		r := []rune(s)
		for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
			r[i], r[j] = r[j], r[i]
		}
		return string(r)
	}))
	for _, name := range []string{"substr", "substring"} {
		def(name+"(text,int4) text", pure(func(a []V) V { return text(substring(a[0].S, a[1].N, 1<<40)) }))
		def(name+"(text,int4,int4) text", func(_ Env, a []V) (V, error) {
			if a[2].N < 0 {
				return V{}, types.NewError("22011", "negative substring length not allowed")
			}
			return text(substring(a[0].S, a[1].N, a[2].N)), nil
		})
		def(name+"(bytea,int4,int4) bytea", func(_ Env, a []V) (V, error) {
			if a[2].N < 0 {
				return V{}, types.NewError("22011", "negative substring length not allowed")
			}
			n := int64(len(a[0].S))
			from, to := max(a[1].N-1, 0), min(a[1].N-1+a[2].N, n)
			if from >= to {
				return types.NewString(types.Bytea, ""), nil
			}
			return types.NewString(types.Bytea, a[0].S[from:to]), nil
		})
	}
	def("left(text,int4) text", pure(func(a []V) V {
		n := a[1].N
		if n < 0 {
			n = max(int64(utf8.RuneCountInString(a[0].S))+n, 0)
		}
		return text(substring(a[0].S, 1, n))
	}))
	def("right(text,int4) text", pure(func(a []V) V {
		size := int64(utf8.RuneCountInString(a[0].S))
		n := a[1].N
		if n < 0 {
			n = max(size+n, 0)
		}
		return text(substring(a[0].S, max(size-n, 0)+1, n))
	}))
	def("replace(text,text,text) text", pure(func(a []V) V {
		if a[1].S == "" {
			return a[0]
		}
		return text(strings.ReplaceAll(a[0].S, a[1].S, a[2].S))
	}))
	def("translate(text,text,text) text", pure(func(a []V) V {
		from, to := []rune(a[1].S), []rune(a[2].S)
		return text(strings.Map(func(r rune) rune {
			for i, f := range from {
				if f == r {
					if i < len(to) {
						return to[i]
					}
					return -1
				}
			}
			return r
		}, a[0].S))
	}))
	def("split_part(text,text,int4) text", splitPart)
	def("repeat(text,int4) text", pure(func(a []V) V { return text(strings.Repeat(a[0].S, int(min(max(a[1].N, 0), 1<<20)))) }))
	def("strpos(text,text) int4", pure(position))
	def("position(text,text) int4", pure(position))
	def("starts_with(text,text) bool", pure(func(a []V) V { return types.NewBool(strings.HasPrefix(a[0].S, a[1].S)) }))
	op("^@(text,text) bool", pure(func(a []V) V { return types.NewBool(strings.HasPrefix(a[0].S, a[1].S)) }))
	def("ascii(text) int4", pure(func(a []V) V {
		if a[0].S == "" {
			return int4(0)
		}
		r, _ := utf8.DecodeRuneInString(a[0].S)
		return int4(int(r))
	}))
	def("chr(int4) text", func(_ Env, a []V) (V, error) {
		switch n := a[0].N; {
		case n == 0:
			return V{}, types.NewError("54000", "null character not permitted")
		case n < 0:
			return V{}, types.NewError("54000", "character number must be positive")
		case n > utf8.MaxRune:
			return V{}, types.Errorf("54000", "requested character too large for encoding: %d", n)
		}
		return text(string(rune(a[0].N))), nil
	})
	trims := map[string]func(string, string) string{"btrim": strings.Trim, "ltrim": strings.TrimLeft, "rtrim": strings.TrimRight}
	for name, trim := range trims {
		def(name+"(text) text", text1(func(s string) string { return trim(s, " ") }))
		def(name+"(text,text) text", pure(func(a []V) V { return text(trim(a[0].S, a[1].S)) }))
	}
	for _, left := range []bool{true, false} {
		name := "rpad"
		if left {
			name = "lpad"
		}
		def(name+"(text,int4) text", pure(func(a []V) V { return text(pad(a[0].S, a[1].N, " ", left)) }))
		def(name+"(text,int4,text) text", pure(func(a []V) V { return text(pad(a[0].S, a[1].N, a[2].S, left)) }))
	}
	def("md5(text) text", text1(func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }))
	def("md5(bytea) text", text1(func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }))
	def("sha256(bytea) bytea", pure(func(a []V) V { h := sha256.Sum256([]byte(a[0].S)); return types.NewString(types.Bytea, string(h[:])) }))
	def("sha512(bytea) bytea", pure(func(a []V) V { h := sha512.Sum512([]byte(a[0].S)); return types.NewString(types.Bytea, string(h[:])) }))
	def("encode(bytea,text) text", encode)
	def("decode(text,text) bytea", decode)
	def("convert_to(text,name) bytea", pure(func(a []V) V { return types.NewString(types.Bytea, a[0].S) }), stable)
	def("convert_from(bytea,name) text", func(_ Env, a []V) (V, error) {
		if !utf8.ValidString(a[0].S) {
			return V{}, types.NewError("22021", `invalid byte sequence for encoding "UTF8"`)
		}
		return text(a[0].S), nil
	}, stable)
	def("to_hex(int4) text", pure(func(a []V) V { return text(strconv.FormatUint(uint64(uint32(a[0].N)), 16)) }))
	def("to_hex(int8) text", pure(func(a []V) V { return text(strconv.FormatUint(uint64(a[0].N), 16)) }))
	def("quote_ident(text) text", text1(QuoteIdent))
	def("quote_literal(text) text", text1(QuoteLiteral))
	def("quote_literal(anyelement) text", pure(func(a []V) V { return text(QuoteLiteral(a[0].Text())) }), stable)
	quoteNullable := func(a []V) V {
		if !a[0].Valid {
			return text("NULL")
		}
		return text(QuoteLiteral(a[0].Text()))
	}
	def("quote_nullable(text) text", pure(quoteNullable), nonstrict)
	def("quote_nullable(anyelement) text", pure(quoteNullable), nonstrict, stable)
	def("concat(variadic any) text", pure(func(a []V) V { return text(concat("", a)) }), stable, nonstrict)
	def("concat_ws(text, variadic any) text", pure(func(a []V) V {
		if !a[0].Valid {
			return types.Null(textType())
		}
		return text(concat(a[0].S, a[1:]))
	}), stable, nonstrict)
	def("get_byte(bytea,int4) int4", func(_ Env, a []V) (V, error) {
		if a[1].N < 0 || a[1].N >= int64(len(a[0].S)) {
			return V{}, types.Errorf("2202E", "index %d out of valid range, 0..%d", a[1].N, len(a[0].S)-1)
		}
		return int4(int(a[0].S[a[1].N])), nil
	})
}

// castText is v cast to text.
func castText(v V) string {
	t, _ := types.Cast(v, textType())
	return t.S
}

// asciiLower and asciiUpper change ASCII letters only, as the C locale does.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func asciiUpper(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

func initcap(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if letter && !inWord {
			r = []rune(asciiUpper(string(r)))[0]
		} else if letter {
			r = []rune(asciiLower(string(r)))[0]
		}
		inWord = letter
		return r
	}, s)
}

// substring is n characters of s from the character start, counted from 1; a start before the first character counts too.
func substring(s string, start, n int64) string {
	end := start + n
	from, at := -1, int64(1)
	for i := range s {
		if at >= end {
			if from < 0 {
				return ""
			}
			return s[from:i]
		}
		if at == max(start, 1) {
			from = i
		}
		at++
	}
	if from < 0 {
		return ""
	}
	return s[from:]
}

func position(a []V) V {
	i := strings.Index(a[0].S, a[1].S)
	if i < 0 {
		return int4(0)
	}
	return int4(utf8.RuneCountInString(a[0].S[:i]) + 1)
}

func splitPart(_ Env, a []V) (V, error) {
	n := a[2].N
	if n == 0 {
		return V{}, types.NewError("22023", "field position must not be zero")
	}
	parts := []string{a[0].S}
	if a[1].S != "" {
		parts = strings.Split(a[0].S, a[1].S)
	}
	if n < 0 {
		n += int64(len(parts)) + 1
	}
	if n < 1 || n > int64(len(parts)) {
		return text(""), nil
	}
	return text(parts[n-1]), nil
}

func pad(s string, width int64, fill string, left bool) string {
	n := int64(utf8.RuneCountInString(s))
	width = min(max(width, 0), 1<<20)
	if n >= width {
		return substring(s, 1, width)
	}
	if fill == "" {
		return s
	}
	f := []rune(fill)
	padding := make([]rune, width-n)
	for i := range padding {
		padding[i] = f[i%len(f)]
	}
	if left {
		return string(padding) + s
	}
	return s + string(padding)
}

func concat(sep string, vals []V) string {
	var parts []string
	for _, v := range vals {
		if v.Valid {
			parts = append(parts, v.Text())
		}
	}
	return strings.Join(parts, sep)
}

func encode(_ Env, a []V) (V, error) {
	switch asciiLower(a[1].S) {
	case "hex":
		return text(hex.EncodeToString([]byte(a[0].S))), nil
	case "base64":
		s := base64.StdEncoding.EncodeToString([]byte(a[0].S))
		var b strings.Builder
		for len(s) > 76 { // lines of 76 characters, RFC 2045
			b.WriteString(s[:76] + "\n")
			s = s[76:]
		}
		return text(b.String() + s), nil
	case "escape":
		var b strings.Builder
		for i := 0; i < len(a[0].S); i++ {
			switch c := a[0].S[i]; {
			case c == '\\':
				b.WriteString(`\\`)
			case c == 0 || c >= 0x80:
				b.WriteString(`\` + string([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7}))
			default:
				b.WriteByte(c)
			}
		}
		return text(b.String()), nil
	}
	return V{}, types.Errorf("22023", "unrecognized encoding: \"%s\"", a[1].S)
}

func decode(_ Env, a []V) (V, error) {
	switch asciiLower(a[1].S) {
	case "hex":
		return types.Parse(`\x`+a[0].S, types.Of(types.Bytea))
	case "base64":
		s := strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\n\r", r) {
				return -1
			}
			return r
		}, a[0].S)
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			for _, r := range s {
				if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", r) {
					return V{}, types.Errorf("22023", "invalid symbol \"%c\" found while decoding base64 sequence", r)
				}
			}
			return V{}, types.NewError("22023", "invalid base64 end sequence").
				WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
		}
		return types.NewString(types.Bytea, string(b)), nil
	case "escape":
		return types.Parse(a[0].S, types.Of(types.Bytea))
	}
	return V{}, types.Errorf("22023", "unrecognized encoding: \"%s\"", a[1].S)
}

// QuoteLiteral is s as an SQL string constant.
func QuoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}
