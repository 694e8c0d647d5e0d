package tla

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Value is a TLA+ value in canonical text: equal values have equal text, whatever order TLC prints sets and functions in.
// Records are functions over strings and tuples are functions over 1..n, as in TLA+.
type Value string

// Int is the integer n.
func Int(n int) Value { return Value(strconv.Itoa(n)) }

// Str is the string s.
func Str(s string) Value { return Value(strconv.Quote(s)) }

// Bool is TRUE or FALSE.
func Bool(b bool) Value {
	if b {
		return "TRUE"
	}
	return "FALSE"
}

// Set is the set of the elements; duplicates count once.
func Set(elems ...Value) Value {
	texts := make([]string, len(elems))
	for i, e := range elems {
		texts[i] = string(e)
	}
	sort.Strings(texts)
	unique := texts[:0]
	for i, t := range texts {
		if i == 0 || t != texts[i-1] {
			unique = append(unique, t)
		}
	}
	return Value("{" + strings.Join(unique, ", ") + "}")
}

// Tuple is <<elems..>>.
func Tuple(elems ...Value) Value {
	texts := make([]string, len(elems))
	for i, e := range elems {
		texts[i] = string(e)
	}
	return Value("<<" + strings.Join(texts, ", ") + ">>")
}

// Pair is an argument of a function and its value.
type Pair struct{ Arg, Val Value }

// Func is the function made of the pairs, whose arguments differ. Over 1..n it is the tuple.
func Func(pairs ...Pair) Value {
	sorted := append([]Pair(nil), pairs...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Arg < sorted[j].Arg })
	if elems, ok := asTuple(sorted); ok {
		return Tuple(elems...)
	}
	texts := make([]string, len(sorted))
	for i, p := range sorted {
		texts[i] = string(p.Arg) + " :> " + string(p.Val)
	}
	return Value("(" + strings.Join(texts, " @@ ") + ")")
}

func asTuple(pairs []Pair) ([]Value, bool) {
	elems := make([]Value, len(pairs))
	for _, p := range pairs {
		n, err := strconv.Atoi(string(p.Arg))
		if err != nil || n < 1 || n > len(pairs) {
			return nil, false
		}
		elems[n-1] = p.Val
	}
	return elems, true
}

// Field is a field of a record.
func Field(name string, v Value) Pair { return Pair{Str(name), v} }

// State is an assignment of values to a specification's variables.
type State map[string]Value

// Key is the canonical text of the state: one line a variable, by name.
func (s State) Key() string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(name)
		b.WriteString(" = ")
		b.WriteString(string(s[name]))
	}
	return b.String()
}

// ParseState reads a state as TLC prints it: conjuncts "/\ name = value".
func ParseState(text string) (State, error) {
	p := &parser{text: text}
	s := State{}
	for p.space(); p.at < len(p.text); p.space() {
		p.take(`/\`)
		p.space()
		name := p.word()
		p.space()
		if name == "" || !p.take("=") {
			return nil, p.fail("expected NAME = VALUE")
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		s[name] = v
	}
	return s, nil
}

// parser reads TLC's text of values.
type parser struct {
	text string
	at   int
}

func (p *parser) fail(what string) error {
	return fmt.Errorf("TLA+ value: %s at %d: %.40q", what, p.at, p.text[p.at:])
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \n\t\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) take(token string) bool {
	if strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

func (p *parser) word() string {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at] == '_' || p.text[p.at] >= '0' && p.text[p.at] <= '9' || p.text[p.at]|0x20 >= 'a' && p.text[p.at]|0x20 <= 'z') {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) value() (Value, error) {
	p.space()
	switch {
	case p.take("<<"):
		elems, err := p.list(">>", p.value)
		return Tuple(elems...), err
	case p.take("{"):
		elems, err := p.list("}", p.value)
		return Set(elems...), err
	case p.take("["):
		return p.record()
	case p.take("("):
		return p.function()
	case strings.HasPrefix(p.text[p.at:], `"`):
		return p.str()
	}
	sign := ""
	if p.take("-") {
		sign = "-"
	}
	w := p.word() // an integer, TRUE, FALSE or a model value
	if w == "" {
		return "", p.fail("expected a value")
	}
	if p.take("..") {
		return p.interval(sign + w)
	}
	return Value(sign + w), nil
}

// interval reads the end of a set of integers that TLC prints as from..to.
func (p *parser) interval(from string) (Value, error) {
	last, err := p.value()
	if err != nil {
		return "", err
	}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(string(last))
	if errA != nil || errB != nil {
		return "", p.fail("expected integers around ..")
	}
	var elems []Value
	for n := a; n <= b; n++ {
		elems = append(elems, Int(n))
	}
	return Set(elems...), nil
}

func (p *parser) list(end string, item func() (Value, error)) ([]Value, error) {
	var elems []Value
	for p.space(); !p.take(end); p.space() {
		if len(elems) > 0 && !p.take(",") {
			return nil, p.fail("expected , or " + end)
		}
		v, err := item()
		if err != nil {
			return nil, err
		}
		elems = append(elems, v)
	}
	return elems, nil
}

func (p *parser) record() (Value, error) {
	var pairs []Pair
	_, err := p.list("]", func() (Value, error) {
		p.space()
		name := p.word()
		p.space()
		if name == "" || !p.take("|->") {
			return "", p.fail("expected FIELD |-> VALUE")
		}
		v, err := p.value()
		pairs = append(pairs, Field(name, v))
		return v, err
	})
	return Func(pairs...), err
}

func (p *parser) function() (Value, error) {
	var pairs []Pair
	for p.space(); !p.take(")"); p.space() {
		if len(pairs) > 0 && !p.take("@@") {
			return "", p.fail("expected @@ or )")
		}
		arg, err := p.value()
		if err != nil {
			return "", err
		}
		p.space()
		if !p.take(":>") {
			return "", p.fail("expected :>")
		}
		v, err := p.value()
		if err != nil {
			return "", err
		}
		pairs = append(pairs, Pair{arg, v})
	}
	return Func(pairs...), nil
}

func (p *parser) str() (Value, error) {
	quoted, err := strconv.QuotedPrefix(p.text[p.at:])
	if err != nil {
		return "", p.fail("unterminated string")
	}
	p.at += len(quoted)
	s, err := strconv.Unquote(quoted)
	return Str(s), err
}
