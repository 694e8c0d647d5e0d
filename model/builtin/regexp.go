package builtin

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"simrun/model/types"
)

// Regular expressions go through Go's engine, which reads the part of Postgres's advanced syntax that both have: no
// back-references and no look-around, which are refused.

// compiled remembers expressions; what it holds depends on nothing but the key.
var compiled sync.Map // "flags/pattern" -> *regexp.Regexp

func compileRegexp(pattern string, fold bool) (*regexp.Regexp, error) {
	key := "/" + pattern
	if fold {
		key = "i" + key
	}
	if re, ok := compiled.Load(key); ok {
		return re.(*regexp.Regexp), nil
	}
	flags := "(?s)"
	if fold {
		flags = "(?si)"
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		if strings.Contains(err.Error(), "invalid or unsupported Perl syntax") || strings.Contains(err.Error(), "invalid escape sequence") {
			return nil, types.Errorf("0A000", "regular expression \"%s\" is not supported", pattern)
		}
		return nil, types.Errorf("2201B", "invalid regular expression: %s", regexpFault(err))
	}
	compiled.Store(key, re)
	return re, nil
}

// faults words Go's syntax errors as Postgres does.
var faults = []struct{ has, words string }{
	{"missing closing )", "parentheses () not balanced"}, {"unexpected )", "parentheses () not balanced"},
	{"missing closing ]", "brackets [] not balanced"}, {"missing argument to repetition", "quantifier operand invalid"},
	{"invalid nested repetition", "quantifier operand invalid"}, {"trailing backslash", `invalid escape \ sequence`},
	{"invalid character class", "invalid character range"},
}

func regexpFault(err error) string {
	for _, f := range faults {
		if strings.Contains(err.Error(), f.has) {
			return f.words
		}
	}
	return err.Error()
}

func init() {
	for _, o := range []struct {
		name      string
		not, fold bool
	}{{"~", false, false}, {"!~", true, false}, {"~*", false, true}, {"!~*", true, true}} {
		op(o.name+"(text,text) bool", func(_ Env, a []V) (V, error) {
			re, err := compileRegexp(a[1].S, o.fold)
			if err != nil {
				return V{}, err
			}
			return types.NewBool(re.MatchString(a[0].S) != o.not), nil
		})
	}
	def("substring(text,text) text", func(_ Env, a []V) (V, error) {
		re, err := compileRegexp(a[1].S, false)
		if err != nil {
			return V{}, err
		}
		m := re.FindStringSubmatchIndex(a[0].S)
		group := 0
		if re.NumSubexp() > 0 {
			group = 1
		}
		if m == nil || m[2*group] < 0 {
			return types.Null(textType()), nil
		}
		return text(a[0].S[m[2*group]:m[2*group+1]]), nil
	})
	replace := func(_ Env, a []V) (V, error) {
		flags := ""
		if len(a) > 3 {
			flags = a[3].S
		}
		re, err := compileRegexp(a[1].S, strings.Contains(flags, "i"))
		if err != nil {
			return V{}, err
		}
		if bad := strings.Trim(flags, "gi"); bad != "" {
			return V{}, types.Errorf("22023", "invalid regular expression option: \"%s\"", bad[:1])
		}
		return text(regexpReplace(re, a[0].S, a[2].S, strings.Contains(flags, "g"))), nil
	}
	def("regexp_replace(text,text,text) text", replace)
	def("regexp_replace(text,text,text,text) text", replace)
	def("regexp_match(text,text) _text", func(_ Env, a []V) (V, error) {
		re, err := compileRegexp(a[1].S, false)
		if err != nil {
			return V{}, err
		}
		m := re.FindStringSubmatchIndex(a[0].S)
		if m == nil {
			return types.Null(types.ArrayOf(types.Text)), nil
		}
		if len(m) > 2 {
			m = m[2:]
		}
		var elems []V
		for i := 0; i < len(m); i += 2 {
			if m[i] < 0 {
				elems = append(elems, types.Null(textType()))
			} else {
				elems = append(elems, text(a[0].S[m[i]:m[i+1]]))
			}
		}
		return newArray(types.Text, elems), nil
	})
	def("regexp_split_to_array(text,text) _text", func(_ Env, a []V) (V, error) {
		re, err := compileRegexp(a[1].S, false)
		if err != nil {
			return V{}, err
		}
		var elems []V
		for _, s := range re.Split(a[0].S, -1) {
			elems = append(elems, text(s))
		}
		return newArray(types.Text, elems), nil
	})
}

// regexpReplace replaces the first match, or all; \1 to \9 and \& in the replacement are groups and the match.
func regexpReplace(re *regexp.Regexp, s, with string, all bool) string {
	n := 1
	if all {
		n = -1
	}
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, n) {
		b.WriteString(s[last:m[0]])
		for i := 0; i < len(with); i++ {
			if with[i] != '\\' || i+1 >= len(with) {
				b.WriteByte(with[i])
				continue
			}
			i++
			group := 0
			switch c := with[i]; {
			case c == '&':
			case c >= '1' && c <= '9':
				group, _ = strconv.Atoi(string(c))
			case c == '\\':
				b.WriteByte('\\')
				continue
			default:
				b.WriteString(`\` + string(c))
				continue
			}
			if 2*group < len(m) && m[2*group] >= 0 {
				b.WriteString(s[m[2*group]:m[2*group+1]])
			}
		}
		last = m[1]
	}
	b.WriteString(s[last:])
	return b.String()
}
