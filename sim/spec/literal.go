package spec

import (
	"fmt"
	"strconv"
	"strings"

	grammar "simrun/model/sql/parser"
	"simrun/model/types"
)

// literal writes an argument as SQL of the parameter's type; of the zero type it is left to the context, as a parameter is.
func literal(arg any, t types.Type) (string, error) {
	typed := t != types.Type{}
	if !typed {
		t = types.Of(types.Text)
	}
	if t.Kind == types.Regclass {
		if name, ok := arg.(string); ok {
			return quoteText(name) + "::regclass", nil
		}
	}
	v, err := types.FromGo(arg, t)
	if err != nil {
		return "", err
	}
	text := "NULL"
	if v.Valid {
		if text = quoteText(v.Text()); t.Kind == types.Int4 && !strings.HasPrefix(v.Text(), "-") {
			return v.Text(), nil
		}
	}
	if typed {
		text += "::" + t.String()
	}
	return text, nil
}

// quoteText is a string constant without a closing brace in it.
func quoteText(s string) string {
	if !strings.Contains(s, "}") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return "U&'" + strings.NewReplacer(`'`, `''`, `\`, `\\`, "}", `\007D`).Replace(s) + "'"
}

// inline writes SQL so that a block of a .spec file can hold it: parameters are replaced by their literals, and closing braces, which
// end a block, are written otherwise.
func inline(sql string, args []string) (string, error) {
	if len(args) == 0 && !strings.Contains(sql, "}") {
		return sql, nil
	}
	if _, err := grammar.Parse(sql); err != nil {
		return "", err
	}
	w := inliner{sql: sql, args: args}
	for w.at < len(sql) {
		if err := w.token(); err != nil {
			return "", err
		}
	}
	return w.out.String(), nil
}

type inliner struct {
	sql  string
	args []string
	at   int
	out  strings.Builder
}

func (w *inliner) token() error {
	rest := w.sql[w.at:]
	switch {
	case strings.HasPrefix(rest, "--"):
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		w.comment(end)
	case strings.HasPrefix(rest, "/*"):
		w.comment(commentEnd(rest))
	case rest[0] == '\'':
		w.str(rest)
	case rest[0] == '"':
		end := closing(rest, '"', false)
		if name := rest[1 : end-1]; strings.Contains(name, "}") {
			w.out.WriteString(`U&"` + strings.NewReplacer(`\`, `\\`, "}", `\007D`).Replace(name) + `"`)
		} else {
			w.out.WriteString(rest[:end])
		}
		w.at += end
	case rest[0] == '$' && len(rest) > 1 && digit(rest[1]):
		return w.param(rest)
	case rest[0] == '$' && (w.at == 0 || !wordByte(w.sql[w.at-1])):
		w.dollar(rest)
	case rest[0] == '}':
		return fmt.Errorf("there is a } outside of quotes: %s", w.sql)
	default:
		w.out.WriteByte(rest[0])
		w.at++
	}
	return nil
}

// comment copies a comment, in which a brace says nothing.
func (w *inliner) comment(end int) {
	w.out.WriteString(strings.ReplaceAll(w.sql[w.at:w.at+end], "}", ")"))
	w.at += end
}

// commentEnd is where the comment that the text begins with ends; comments nest.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i < len(s)-1; i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// str copies a string constant; its prefix, E or U&, has been copied.
func (w *inliner) str(rest string) {
	before := strings.ToUpper(w.sql[max(0, w.at-2):w.at])
	alone := func(n int) bool { return w.at <= n || !wordByte(w.sql[w.at-n-1]) }
	escaped := strings.HasSuffix(before, "E") && alone(1)
	unicode := before == "U&" && alone(2)
	end := closing(rest, '\'', escaped)
	body := rest[1 : end-1]
	switch {
	case !strings.Contains(body, "}"):
		w.out.WriteString(rest[:end])
	case escaped:
		w.out.WriteString("'" + strings.ReplaceAll(body, "}", `\x7D`) + "'")
	case unicode:
		w.out.WriteString("'" + strings.ReplaceAll(body, "}", `\007D`) + "'")
	default:
		w.out.WriteString("U&'" + strings.NewReplacer(`\`, `\\`, "}", `\007D`).Replace(body) + "'")
	}
	w.at += end
}

// closing is the position after the quote that closes the one that s begins with; a doubled quote does not. The statement was
// parsed, so there is one.
func closing(s string, quote byte, escaped bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escaped && s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	panic("spec: a quote that nothing closes: " + s)
}

// dollar copies a dollar-quoted string, or as an ordinary one when a brace is in it.
func (w *inliner) dollar(rest string) {
	tag := strings.IndexByte(rest[1:], '$') + 2
	if tag < 2 || strings.ContainsFunc(rest[1:tag-1], func(r rune) bool { return r < 0x80 && !wordByte(byte(r)) }) {
		w.out.WriteByte('$')
		w.at++
		return
	}
	end := strings.Index(rest[tag:], rest[:tag])
	body := rest[tag : tag+end]
	if strings.Contains(body, "}") {
		w.out.WriteString(quoteText(body))
	} else {
		w.out.WriteString(rest[:2*tag+end])
	}
	w.at += 2*tag + end
}

func (w *inliner) param(rest string) error {
	end := 1
	for end < len(rest) && digit(rest[end]) {
		end++
	}
	n, err := strconv.Atoi(rest[1:end])
	if err != nil || n < 1 || n > len(w.args) {
		return fmt.Errorf("there is no parameter %s of %s", rest[:end], w.sql)
	}
	w.out.WriteString(w.args[n-1])
	w.at += end
	return nil
}

func wordByte(c byte) bool { return nameStart(c) || digit(c) }
