package types

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSONKind is the kind of a JSON value, in the order in which jsonb compares different kinds.
type JSONKind uint8

// The kinds of JSON value, least first.
const (
	JSONNull JSONKind = iota
	JSONString
	JSONNumber
	JSONBool
	JSONArray
	JSONObject
)

// JSONValue is a parsed JSON value.
type JSONValue struct {
	Kind  JSONKind
	Str   string      // the text of a string, the numeric text of a number, "true" or "false"
	Elems []JSONValue // the elements of an array, the values of an object
	Keys  []string    // the keys of an object, by length and then bytes, each once, as jsonb keeps them
	Src   string      // the text it was parsed from, empty when it was made otherwise
}

// jsonParser reads one JSON text (RFC 8259).
type jsonParser struct {
	s   string
	pos int
}

// ParseJSON reads a JSON text. Errors are those of the input function of json and jsonb, which name the type as typ.
func ParseJSON(s, typ string) (*JSONValue, error) {
	p := &jsonParser{s: s}
	v, err := p.value(0)
	if err == nil {
		p.space()
		if p.pos < len(p.s) {
			err = p.fail(`Expected end of input, but found "%s".`)
		}
	}
	if err != nil {
		if err.Message == "" {
			err.Message = "invalid input syntax for type " + typ
		}
		return nil, err
	}
	return v, nil
}

func (p *jsonParser) space() {
	for p.pos < len(p.s) && strings.IndexByte(" \t\n\r", p.s[p.pos]) >= 0 {
		p.pos++
	}
}

// fail reports that the token at the position is not what was expected.
func (p *jsonParser) fail(detail string) *Error {
	e := &Error{Code: "22P02", Severity: "ERROR"}
	if p.pos >= len(p.s) {
		e.Detail = "The input string ended unexpectedly."
		return e
	}
	tok := p.token()
	if strings.IndexByte(`{}[],:"`, tok[0]) < 0 && !isJSONWord(tok) && !isJSONNumber(tok) {
		e.Detail = `Token "` + tok + `" is invalid.`
		return e
	}
	e.Detail = strings.Replace(detail, "%s", tok, 1)
	return e
}

func isJSONWord(s string) bool { return s == "true" || s == "false" || s == "null" }

// token is the lexical unit at the position: a mark, a string, or a run of letters and digits.
func (p *jsonParser) token() string {
	rest := p.s[p.pos:]
	if strings.IndexByte("{}[],:", rest[0]) >= 0 {
		return rest[:1]
	}
	if rest[0] == '"' {
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\\' {
				i++
			} else if rest[i] == '"' {
				return rest[:i+1]
			}
		}
		return rest
	}
	n := 0
	for n < len(rest) && (rest[n] >= utf8.RuneSelf || rest[n] == '_' || rest[n] == '+' || rest[n] == '-' || rest[n] == '.' ||
		rest[n] >= '0' && rest[n] <= '9' || rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z') {
		n++
	}
	return rest[:max(n, 1)]
}

func (p *jsonParser) value(depth int) (*JSONValue, *Error) {
	p.space()
	start := p.pos
	v, err := p.node(depth)
	if err == nil {
		v.Src = p.s[start:p.pos]
	}
	return v, err
}

func (p *jsonParser) node(depth int) (*JSONValue, *Error) {
	if depth > 6000 {
		e := NewError("54001", "stack depth limit exceeded")
		return nil, e
	}
	if p.pos >= len(p.s) {
		return nil, p.fail("")
	}
	switch c := p.s[p.pos]; c {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		s, err := p.str()
		if err != nil {
			return nil, err
		}
		return &JSONValue{Kind: JSONString, Str: s}, nil
	case '}', ']', ',', ':':
		return nil, p.fail(`Expected JSON value, but found "%s".`)
	}
	tok := p.token()
	switch {
	case tok == "null":
		p.pos += 4
		return &JSONValue{Kind: JSONNull}, nil
	case tok == "true" || tok == "false":
		p.pos += len(tok)
		return &JSONValue{Kind: JSONBool, Str: tok}, nil
	case isJSONNumber(tok):
		d, _ := ParseDecimal(tok)
		if d.Overflows() {
			return nil, NewError("22003", "value overflows numeric format")
		}
		p.pos += len(tok)
		return &JSONValue{Kind: JSONNumber, Str: d.String()}, nil
	}
	return nil, p.fail("")
}

func isJSONNumber(s string) bool {
	t := strings.TrimPrefix(s, "-")
	whole, rest := cutDigits(t)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if strings.HasPrefix(rest, ".") {
		var frac string
		if frac, rest = cutDigits(rest[1:]); frac == "" {
			return false
		}
	}
	if rest != "" && rest[0]|0x20 == 'e' {
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		var exp string
		if exp, rest = cutDigits(rest); exp == "" {
			return false
		}
	}
	return rest == ""
}

func cutDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}

func (p *jsonParser) array(depth int) (*JSONValue, *Error) {
	v := &JSONValue{Kind: JSONArray}
	p.pos++
	p.space()
	if p.pos < len(p.s) && p.s[p.pos] == ']' {
		p.pos++
		return v, nil
	}
	for {
		p.space()
		if p.pos < len(p.s) && (p.s[p.pos] == ',' || len(v.Elems) == 0 && strings.IndexByte("}:", p.s[p.pos]) >= 0) && len(v.Elems) == 0 {
			return nil, p.fail(`Expected array element or "]", but found "%s".`)
		}
		e, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.Elems = append(v.Elems, *e)
		p.space()
		switch {
		case p.pos < len(p.s) && p.s[p.pos] == ',':
			p.pos++
		case p.pos < len(p.s) && p.s[p.pos] == ']':
			p.pos++
			return v, nil
		default:
			return nil, p.fail(`Expected "," or "]", but found "%s".`)
		}
	}
}

func (p *jsonParser) object(depth int) (*JSONValue, *Error) {
	v := &JSONValue{Kind: JSONObject}
	var keys []string
	p.pos++
	p.space()
	if p.pos < len(p.s) && p.s[p.pos] == '}' {
		p.pos++
		return v, nil
	}
	for {
		p.space()
		if p.pos >= len(p.s) || p.s[p.pos] != '"' {
			if len(v.Elems) == 0 {
				return nil, p.fail(`Expected string or "}", but found "%s".`)
			}
			return nil, p.fail(`Expected string, but found "%s".`)
		}
		k, err := p.str()
		if err != nil {
			return nil, err
		}
		p.space()
		if p.pos >= len(p.s) || p.s[p.pos] != ':' {
			return nil, p.fail(`Expected ":", but found "%s".`)
		}
		p.pos++
		e, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
		v.Elems = append(v.Elems, *e)
		p.space()
		switch {
		case p.pos < len(p.s) && p.s[p.pos] == ',':
			p.pos++
		case p.pos < len(p.s) && p.s[p.pos] == '}':
			p.pos++
			return NewJSONObject(keys, v.Elems), nil
		default:
			return nil, p.fail(`Expected "," or "}", but found "%s".`)
		}
	}
}

// str reads a string with its escapes.
func (p *jsonParser) str() (string, *Error) {
	start := p.pos
	p.pos++
	var b []byte
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		switch {
		case c == '"':
			p.pos++
			return string(b), nil
		case c < 0x20:
			e := &Error{Code: "22P02", Severity: "ERROR"}
			return "", e.WithDetail("Character with value 0x%02x must be escaped.", c)
		case c != '\\':
			b = append(b, c)
			p.pos++
			continue
		}
		p.pos++
		if p.pos >= len(p.s) {
			break
		}
		esc := p.s[p.pos]
		p.pos++
		switch esc {
		case '"', '\\', '/':
			b = append(b, esc)
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, err := p.unicode()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		default:
			e := &Error{Code: "22P02", Severity: "ERROR"}
			return "", e.WithDetail("Escape sequence \"\\%c\" is invalid.", esc)
		}
	}
	e := &Error{Code: "22P02", Severity: "ERROR"}
	return "", e.WithDetail("Token \"%s\" is invalid.", p.s[start:])
}

// unicode reads the digits of \uXXXX, and of a second escape when the first is a high surrogate.
func (p *jsonParser) unicode() (rune, *Error) {
	hex4 := func() (rune, bool) {
		if p.pos+4 > len(p.s) {
			return 0, false
		}
		n, err := strconv.ParseUint(p.s[p.pos:p.pos+4], 16, 32)
		p.pos += 4
		return rune(n), err == nil
	}
	bad := func(detail string) *Error { return &Error{Code: "22P02", Severity: "ERROR", Detail: detail} }
	r, ok := hex4()
	if !ok {
		return 0, bad(`"\u" must be followed by four hexadecimal digits.`)
	}
	if r == 0 {
		e := NewError("22P05", "unsupported Unicode escape sequence")
		return 0, e.WithDetail(`\u0000 cannot be converted to text.`)
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if r >= 0xdc00 {
		return 0, bad("Unicode low surrogate must follow a high surrogate.")
	}
	if !strings.HasPrefix(p.s[p.pos:], `\u`) {
		return 0, bad("Unicode low surrogate must follow a high surrogate.")
	}
	p.pos += 2
	low, ok := hex4()
	if !ok {
		return 0, bad(`"\u" must be followed by four hexadecimal digits.`)
	}
	full := utf16.DecodeRune(r, low)
	if full == utf8.RuneError {
		return 0, bad("Unicode low surrogate must follow a high surrogate.")
	}
	return full, nil
}

// NewJSONObject is an object as jsonb keeps it: of equal keys the last counts, keys are sorted by length and then bytes.
func NewJSONObject(keys []string, vals []JSONValue) *JSONValue {
	type pair struct {
		key string
		at  int
	}
	pairs := make([]pair, len(keys))
	for i, k := range keys {
		pairs[i] = pair{k, i}
	}
	sort.SliceStable(pairs, func(i, j int) bool { return keyLess(pairs[i].key, pairs[j].key) })
	o := &JSONValue{Kind: JSONObject}
	for i, p := range pairs {
		if i+1 < len(pairs) && pairs[i+1].key == p.key {
			continue
		}
		o.Keys = append(o.Keys, p.key)
		o.Elems = append(o.Elems, vals[p.at])
	}
	return o
}

func keyLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// Get is the value of an object's key.
func (j *JSONValue) Get(key string) (*JSONValue, bool) {
	if j.Kind != JSONObject {
		return nil, false
	}
	i := sort.Search(len(j.Keys), func(i int) bool { return !keyLess(j.Keys[i], key) })
	if i < len(j.Keys) && j.Keys[i] == key {
		return &j.Elems[i], true
	}
	return nil, false
}

// At is the element of an array; a negative index counts from its end.
func (j *JSONValue) At(i int) (*JSONValue, bool) {
	if j.Kind != JSONArray {
		return nil, false
	}
	if i < 0 {
		i += len(j.Elems)
	}
	if i < 0 || i >= len(j.Elems) {
		return nil, false
	}
	return &j.Elems[i], true
}

// JSONB is the jsonb value.
func (j *JSONValue) JSONB() Value { return NewString(JSONB, string(j.Append(nil))) }

// Append writes the value as jsonb prints it.
func (j *JSONValue) Append(b []byte) []byte { return j.append(b, false) }

// AppendSource writes the value with everything that was parsed as it was written, as json keeps it.
func (j *JSONValue) AppendSource(b []byte) []byte { return j.append(b, true) }

func (j *JSONValue) append(b []byte, source bool) []byte {
	if source && j.Src != "" {
		return append(b, j.Src...)
	}
	switch j.Kind {
	case JSONNull:
		return append(b, "null"...)
	case JSONString:
		return AppendJSONString(b, j.Str)
	case JSONArray:
		b = append(b, '[')
		for i := range j.Elems {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = j.Elems[i].append(b, source)
		}
		return append(b, ']')
	case JSONObject:
		b = append(b, '{')
		for i := range j.Elems {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = AppendJSONString(b, j.Keys[i])
			b = append(b, ": "...)
			b = j.Elems[i].append(b, source)
		}
		return append(b, '}')
	}
	return append(b, j.Str...)
}

// AppendJSONString writes s as a JSON string with the escapes that Postgres writes.
func AppendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// JSON is the parsed form of a JSON or JSONB value.
func (v Value) JSON() *JSONValue {
	j, err := ParseJSON(v.S, "json")
	if err != nil {
		panic("types: not JSON: " + v.S)
	}
	return j
}

// CompareJSON orders JSON values as jsonb's btree operators do (Postgres documentation 8.14.4).
func CompareJSON(a, b *JSONValue) int {
	if a.Kind != b.Kind {
		// An empty array at the top sorts below everything: a quirk that Postgres keeps.
		if a.Kind == JSONArray && len(a.Elems) == 0 {
			return -1
		}
		if b.Kind == JSONArray && len(b.Elems) == 0 {
			return 1
		}
		return int(a.Kind) - int(b.Kind)
	}
	switch a.Kind {
	case JSONString:
		return strings.Compare(a.Str, b.Str)
	case JSONBool:
		return strings.Compare(a.Str, b.Str)
	case JSONNumber:
		return compareNumeric(a.Str, b.Str)
	case JSONArray, JSONObject:
		if len(a.Elems) != len(b.Elems) {
			return len(a.Elems) - len(b.Elems)
		}
		for i := range a.Elems {
			if a.Kind == JSONObject && a.Keys[i] != b.Keys[i] {
				if keyLess(a.Keys[i], b.Keys[i]) {
					return -1
				}
				return 1
			}
			if c := CompareJSON(&a.Elems[i], &b.Elems[i]); c != 0 {
				return c
			}
		}
	}
	return 0
}
