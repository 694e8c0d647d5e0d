package types

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads the text form of a value of type t, as t's input function does. Errors are Postgres's, usually 22P02.
func Parse(s string, t Type) (Value, error) {
	switch t.Kind {
	case Unknown:
		return NewUnknown(s), nil
	case Text, Varchar:
		return NewString(t.Kind, s), nil
	case Bpchar:
		return NewString(Bpchar, s), nil
	case Name:
		return NewString(Name, truncateName(s)), nil
	case Char:
		if len(s) > 1 {
			s = s[:1]
		}
		return NewString(Char, s), nil
	case Bool:
		return parseBool(s)
	case Int2:
		return parseInt(s, t, 16)
	case Int4:
		return parseInt(s, t, 32)
	case Int8:
		return parseInt(s, t, 64)
	case OID:
		return parseOID(s, t)
	case Regclass, Regtype:
		if s == "-" { // how the number 0 prints
			return NewInt(t.Kind, 0), nil
		}
		return parseOID(s, t)
	case XID8:
		n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return Value{}, badInput(t, s)
		}
		return NewInt(XID8, int64(n)), nil
	case PgLSN:
		return parseLSN(s)
	case Float8:
		return parseFloat(s, t, 64)
	case Float4:
		return parseFloat(s, t, 32)
	case Numeric:
		d, ok := ParseDecimal(s)
		if !ok {
			return Value{}, badInput(t, s)
		}
		if d.Overflows() {
			return Value{}, NewError("22003", "value overflows numeric format")
		}
		if d.scale < 0 {
			d.scale = 0
		}
		return d.Value(), nil
	case Bytea:
		return parseBytea(s)
	case UUID:
		return parseUUID(s)
	case Timestamptz, Timestamp:
		return parseTimestamp(s, t)
	case Date:
		return parseDate(s)
	case Time:
		return parseTime(s)
	case Interval:
		return parseInterval(s)
	case JSON:
		if _, err := ParseJSON(s, "json"); err != nil {
			return Value{}, err
		}
		return NewString(JSON, s), nil
	case JSONB:
		j, err := ParseJSON(s, "json")
		if err != nil {
			return Value{}, err
		}
		return j.JSONB(), nil
	case Array:
		return parseArray(s, t)
	case Int8Multirange:
		return parseMultirange(s)
	case Void:
		return Value{T: t, Valid: true}, nil
	case Record:
		return Value{}, NewError("0A000", "input of anonymous composite types is not implemented")
	}
	return Value{}, Errorf("0A000", "cannot accept a value of type %s", t)
}

// badInput is the error of most input functions.
func badInput(t Type, s string) *Error {
	return Errorf("22P02", "invalid input syntax for type %s: \"%s\"", t, s)
}

func truncateName(s string) string {
	if len(s) < 64 {
		return s
	}
	n := 63
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func parseBool(s string) (Value, error) {
	w := strings.ToLower(strings.Trim(s, " \t\n\r\f\v"))
	prefix := func(full string, min int) bool { return len(w) >= min && strings.HasPrefix(full, w) }
	switch {
	case w == "1", prefix("true", 1), prefix("yes", 1), w == "on":
		return NewBool(true), nil
	case w == "0", prefix("false", 1), prefix("no", 1), prefix("off", 2):
		return NewBool(false), nil
	}
	return Value{}, badInput(Of(Bool), s)
}

func parseInt(s string, t Type, bits int) (Value, error) {
	w := strings.Trim(s, " \t\n\r\f\v")
	digits := w
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		digits = digits[1:]
	}
	if digits == "" || !digitsOnly(digits) {
		return Value{}, badInput(t, s)
	}
	n, err := strconv.ParseInt(w, 10, bits)
	if err != nil {
		return Value{}, Errorf("22003", "value \"%s\" is out of range for type %s", s, t)
	}
	return NewInt(t.Kind, n), nil
}

// parseOID reads an object number; names of relations and types are resolved by the SQL front, which knows the catalog.
func parseOID(s string, t Type) (Value, error) {
	w := strings.Trim(s, " \t\n\r\f\v")
	neg := strings.HasPrefix(w, "-")
	if !digitsOnly(strings.TrimPrefix(w, "-")) || w == "" || w == "-" {
		return Value{}, badInput(t, s)
	}
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n > math.MaxUint32 || n < math.MinInt32 {
		return Value{}, Errorf("22003", "value \"%s\" is out of range for type %s", s, t)
	}
	if neg {
		n = int64(uint32(n))
	}
	return NewInt(t.Kind, n), nil
}

func parseLSN(s string) (Value, error) {
	hi, lo, ok := strings.Cut(s, "/")
	h, err1 := strconv.ParseUint(hi, 16, 32)
	l, err2 := strconv.ParseUint(lo, 16, 32)
	if !ok || err1 != nil || err2 != nil {
		return Value{}, badInput(Of(PgLSN), s)
	}
	return NewInt(PgLSN, int64(h<<32|l)), nil
}

func parseFloat(s string, t Type, bits int) (Value, error) {
	w := strings.Trim(s, " \t\n\r\f\v")
	low := strings.ToLower(w)
	var f float64
	switch strings.TrimLeft(low, "+-") {
	case "nan":
		if low != "nan" {
			return Value{}, badInput(t, s)
		}
		f = math.NaN()
	case "inf", "infinity":
		f = math.Inf(1)
		if low[0] == '-' {
			f = math.Inf(-1)
		}
	default:
		if strings.ContainsAny(low, "_xp") || strings.ContainsAny(low, "in") {
			return Value{}, badInput(t, s)
		}
		n, err := strconv.ParseFloat(w, bits)
		if err != nil {
			if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
				return Value{}, Errorf("22003", "\"%s\" is out of range for type %s", w, t)
			}
			return Value{}, badInput(t, s)
		}
		if n == 0 && strings.ContainsAny(strings.SplitN(low, "e", 2)[0], "123456789") {
			return Value{}, Errorf("22003", "\"%s\" is out of range for type %s", w, t)
		}
		f = n
	}
	if bits == 32 {
		return NewFloat4(f), nil
	}
	return NewFloat8(f), nil
}

func parseBytea(s string) (Value, error) {
	if h, ok := strings.CutPrefix(s, `\x`); ok {
		h = strings.Map(func(r rune) rune {
			if r == ' ' || r == '\n' || r == '\t' || r == '\r' {
				return -1
			}
			return r
		}, h)
		b, err := hex.DecodeString(h)
		if err != nil {
			for _, r := range h {
				if !strings.ContainsRune("0123456789abcdefABCDEF", r) {
					return Value{}, Errorf("22023", "invalid hexadecimal digit: \"%c\"", r)
				}
			}
			return Value{}, NewError("22023", "invalid hexadecimal data: odd number of digits")
		}
		return NewString(Bytea, string(b)), nil
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			b = append(b, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			b = append(b, '\\')
			i++
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			b = append(b, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return Value{}, NewError("22P02", "invalid input syntax for type bytea")
		}
	}
	return NewString(Bytea, string(b)), nil
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func parseUUID(s string) (Value, error) {
	w := s
	if strings.HasPrefix(w, "{") && strings.HasSuffix(w, "}") {
		w = w[1 : len(w)-1]
	}
	var raw [16]byte
	n := 0
	for i := 0; i < len(w); {
		if n == 16 || i+1 >= len(w) {
			return Value{}, badInput(Of(UUID), s)
		}
		b, err := hex.DecodeString(w[i : i+2])
		if err != nil {
			return Value{}, badInput(Of(UUID), s)
		}
		raw[n] = b[0]
		n++
		i += 2
		if i < len(w) && w[i] == '-' && n%2 == 0 && n < 16 {
			i++
		}
	}
	if n != 16 {
		return Value{}, badInput(Of(UUID), s)
	}
	return NewString(UUID, string(raw[:])), nil
}

// Text is the text form of v, as t's output function gives it; of NULL it is empty.
func (v Value) Text() string {
	if !v.Valid {
		return ""
	}
	switch v.T.Kind {
	case Text, Varchar, Bpchar, Name, Char, JSON, JSONB, Numeric, Unknown, Int8Multirange:
		return v.S
	}
	return string(AppendText(nil, v))
}

// AppendText appends the text form of v to b; of NULL nothing.
func AppendText(b []byte, v Value) []byte {
	if !v.Valid {
		return b
	}
	switch v.T.Kind {
	case Bool:
		if v.N != 0 {
			return append(b, 't')
		}
		return append(b, 'f')
	case Int2, Int4, Int8, OID:
		return strconv.AppendInt(b, v.N, 10)
	case Regclass, Regtype:
		if v.S != "" {
			return append(b, v.S...)
		}
		if v.N == 0 {
			return append(b, '-')
		}
		return strconv.AppendInt(b, v.N, 10)
	case XID8:
		return strconv.AppendUint(b, uint64(v.N), 10)
	case PgLSN:
		b = append(b, strings.ToUpper(strconv.FormatUint(uint64(v.N)>>32, 16))...)
		b = append(b, '/')
		return append(b, strings.ToUpper(strconv.FormatUint(uint64(v.N)&math.MaxUint32, 16))...)
	case Float8:
		return appendFloat(b, v.Float(), 64)
	case Float4:
		return appendFloat(b, v.Float(), 32)
	case Bytea:
		b = append(b, '\\', 'x')
		return hex.AppendEncode(b, []byte(v.S))
	case UUID:
		for i, part := range [...]string{v.S[0:4], v.S[4:6], v.S[6:8], v.S[8:10], v.S[10:16]} {
			if i > 0 {
				b = append(b, '-')
			}
			b = hex.AppendEncode(b, []byte(part))
		}
		return b
	case Timestamptz, Timestamp:
		return appendTimestamp(b, v.N, v.T.Kind == Timestamptz)
	case Date:
		return appendDate(b, v.N)
	case Time:
		return appendClock(b, v.N)
	case Interval:
		return appendInterval(b, v)
	case Array:
		return appendArray(b, v)
	case Record:
		return appendRecord(b, v)
	case Void:
		return b
	}
	return append(b, v.S...)
}

// appendFloat writes the shortest text that reads back as f, in C's %g layout with 15 (or 6) as the digit limit.
func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			b = append(b, '-')
		}
		return append(b, '0')
	}
	limit := 15
	if bits == 32 {
		limit = 6
	}
	s := strconv.FormatFloat(f, 'e', -1, bits)
	_, exp, _ := strings.Cut(s, "e")
	if e, _ := strconv.Atoi(exp); e >= -4 && e < limit {
		return strconv.AppendFloat(b, f, 'f', -1, bits)
	}
	return append(b, s...)
}
