package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a file. Errors are isolationtester's.
func Parse(text string) (*Spec, error) {
	p := &parser{lex: lexer{src: text, line: 1}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	s, err := p.file()
	if err != nil {
		return nil, err
	}
	s.Checks = checksOf(text)
	return s, s.resolve()
}

// checkMark begins the comment that names a check.
const checkMark = "# check:"

// checksOf are the steps that lines "# check: STEP" name, each once.
func checksOf(text string) (names []string) {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), checkMark); found {
			if name := strings.TrimSpace(rest); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// WithChecks is the text of a file with comments that name more checks.
func WithChecks(text string, checks []string) string {
	var b strings.Builder
	for _, name := range checks {
		if !slices.Contains(checksOf(text), name) {
			b.WriteString(checkMark + " " + name + "\n")
		}
	}
	return b.String() + text
}

type parser struct {
	lex lexer
	tok token
}

func (p *parser) advance() (err error) {
	p.tok, err = p.lex.next()
	return err
}

func (p *parser) keyword(word string) bool { return p.tok.kind == tokenKeyword && p.tok.text == word }
func (p *parser) punct(c string) bool      { return p.tok.kind == tokenPunct && p.tok.text == c }

func (p *parser) take(kind tokenKind) (string, error) {
	if p.tok.kind != kind {
		return "", p.unexpected()
	}
	text := p.tok.text
	return text, p.advance()
}

func (p *parser) unexpected() error { return fmt.Errorf("syntax error at line %d", p.tok.line) }

// block reads "word SQL" when the keyword is there.
func (p *parser) block(word string, sql *string) (found bool, err error) {
	if !p.keyword(word) {
		return false, nil
	}
	if err := p.advance(); err != nil {
		return false, err
	}
	*sql, err = p.take(tokenSQL)
	return true, err
}

func (p *parser) file() (*Spec, error) {
	s := &Spec{}
	for {
		var sql string
		found, err := p.block("setup", &sql)
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
		s.Setups = append(s.Setups, sql)
	}
	if _, err := p.block("teardown", &s.Teardown); err != nil {
		return nil, err
	}
	for p.keyword("session") || len(s.Sessions) == 0 {
		sess, err := p.session()
		if err != nil {
			return nil, err
		}
		s.Sessions = append(s.Sessions, sess)
	}
	for p.keyword("permutation") {
		perm, err := p.permutation()
		if err != nil {
			return nil, err
		}
		s.Permutations = append(s.Permutations, perm)
	}
	if p.tok.kind != tokenEnd {
		return nil, p.unexpected()
	}
	return s, nil
}

func (p *parser) session() (sess Session, err error) {
	if !p.keyword("session") {
		return sess, p.unexpected()
	}
	if err = p.advance(); err != nil {
		return sess, err
	}
	if sess.Name, err = p.take(tokenName); err != nil {
		return sess, err
	}
	if _, err = p.block("setup", &sess.Setup); err != nil {
		return sess, err
	}
	for p.keyword("step") || len(sess.Steps) == 0 {
		if !p.keyword("step") {
			return sess, p.unexpected()
		}
		if err = p.advance(); err != nil {
			return sess, err
		}
		var step Step
		if step.Name, err = p.take(tokenName); err != nil {
			return sess, err
		}
		if step.SQL, err = p.take(tokenSQL); err != nil {
			return sess, err
		}
		sess.Steps = append(sess.Steps, step)
	}
	_, err = p.block("teardown", &sess.Teardown)
	return sess, err
}

func (p *parser) permutation() (perm Permutation, err error) {
	if err = p.advance(); err != nil {
		return nil, err
	}
	for p.tok.kind == tokenName || len(perm) == 0 {
		var l Launch
		if l.Name, err = p.take(tokenName); err != nil {
			return nil, err
		}
		if p.punct("(") {
			if l.Markers, err = p.markers(); err != nil {
				return nil, err
			}
		}
		perm = append(perm, l)
	}
	return perm, nil
}

// markers reads ( marker, ... ); the current token is the opening bracket.
func (p *parser) markers() (list []Marker, err error) {
	for {
		if err = p.advance(); err != nil {
			return nil, err
		}
		var m Marker
		if p.punct("*") {
			m.Star = true
			err = p.advance()
		} else if m.Other, err = p.take(tokenName); err == nil && p.keyword("notices") {
			if err = p.advance(); err != nil {
				return nil, err
			}
			var number string
			if number, err = p.take(tokenNumber); err == nil {
				m.Notices, err = strconv.Atoi(number)
			}
		}
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		switch {
		case p.punct(")"):
			return list, p.advance()
		case !p.punct(","):
			return nil, p.unexpected()
		}
	}
}

// resolve checks names and turns them into indexes.
func (s *Spec) resolve() error {
	type place struct{ session, step int }
	steps := map[string]place{}
	for i, sess := range s.Sessions {
		for j, step := range sess.Steps {
			if _, twice := steps[step.Name]; twice {
				return fmt.Errorf("duplicate step name: %s", step.Name)
			}
			steps[step.Name] = place{i, j}
		}
	}
	used := map[string]bool{}
	for _, perm := range s.Permutations {
		for i := range perm {
			at, found := steps[perm[i].Name]
			if !found {
				return fmt.Errorf("undefined step %q specified in permutation", perm[i].Name)
			}
			perm[i].Session, perm[i].Step = at.session, at.step
			used[perm[i].Name] = true
		}
		for _, l := range perm {
			for i, m := range l.Markers {
				if m.Star {
					continue
				}
				at := slices.IndexFunc(perm, func(o Launch) bool { return o.Name == m.Other })
				if at < 0 {
					return fmt.Errorf("undefined blocking step %q referenced in permutation step %q", m.Other, l.Name)
				}
				if perm[at].Session == l.Session {
					return fmt.Errorf("permutation step %q cannot block on its own session", l.Name)
				}
				l.Markers[i].OtherSession = perm[at].Session
			}
		}
	}
	if len(s.Permutations) > 0 {
		for name := range steps {
			if !used[name] {
				s.Unused = append(s.Unused, name)
			}
		}
		slices.Sort(s.Unused)
	}
	return nil
}
