package spec

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	tokenEnd     tokenKind = iota
	tokenKeyword           // text is the keyword
	tokenName
	tokenSQL    // text is the block without its braces and the blanks next to them
	tokenNumber // digits
	tokenPunct  // ( ) , *
)

type token struct {
	kind tokenKind
	text string
	line int
}

var keywords = map[string]bool{"setup": true, "teardown": true, "session": true, "step": true, "permutation": true, "notices": true}

// A lexer cuts a file into tokens.
type lexer struct {
	src  string
	pos  int
	line int
}

const blanks = " \t\r\f"

func (l *lexer) next() (token, error) {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '\n':
			l.line++
			l.pos++
		case strings.IndexByte(blanks, c) >= 0:
			l.pos++
		case c == '#':
			end := strings.IndexByte(l.src[l.pos:], '\n')
			if end < 0 {
				end = len(l.src) - l.pos
			}
			l.pos += end
		case c == '{':
			return l.block()
		case c == '"':
			return l.quoted()
		case nameStart(c):
			begin := l.pos
			for l.pos < len(l.src) && (nameStart(l.src[l.pos]) || digit(l.src[l.pos]) || l.src[l.pos] == '$') {
				l.pos++
			}
			text := l.src[begin:l.pos]
			if keywords[text] {
				return token{tokenKeyword, text, l.line}, nil
			}
			return token{tokenName, text, l.line}, nil
		case digit(c):
			begin := l.pos
			for l.pos < len(l.src) && digit(l.src[l.pos]) {
				l.pos++
			}
			return token{tokenNumber, l.src[begin:l.pos], l.line}, nil
		case strings.IndexByte("(),*", c) >= 0:
			l.pos++
			return token{tokenPunct, string(c), l.line}, nil
		default:
			return token{}, fmt.Errorf("syntax error at line %d: unexpected character %q", l.line, string(c))
		}
	}
	return token{tokenEnd, "", l.line}, nil
}

// block reads { SQL }. There is no way to write } inside. Blanks next to the braces are cut, newlines are not.
func (l *lexer) block() (token, error) {
	end := strings.IndexByte(l.src[l.pos:], '}')
	if end < 0 {
		return token{}, fmt.Errorf("unterminated sql block at line %d", l.line+strings.Count(l.src[l.pos:], "\n"))
	}
	text := l.src[l.pos+1 : l.pos+end]
	t := token{tokenSQL, strings.Trim(text, blanks), l.line}
	l.line += strings.Count(text, "\n")
	l.pos += end + 1
	return t, nil
}

// quoted reads "name", with "" for a quote inside.
func (l *lexer) quoted() (token, error) {
	var b strings.Builder
	for i := l.pos + 1; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == '\n':
			return token{}, fmt.Errorf("unexpected newline in quoted identifier at line %d", l.line)
		case c == '"' && i+1 < len(l.src) && l.src[i+1] == '"':
			b.WriteByte('"')
			i++
		case c == '"':
			l.pos = i + 1
			return token{tokenName, b.String(), l.line}, nil
		default:
			b.WriteByte(c)
		}
	}
	return token{}, fmt.Errorf("unterminated quoted identifier at line %d", l.line)
}

func nameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
