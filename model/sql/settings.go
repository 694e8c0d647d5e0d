package sql

import (
	"sort"
	"strings"

	"simrun/model/types"
)

// settings are the run-time parameters of a session; a value. The zero settings are the defaults.
type settings struct{ lists *settingLists }

// settingLists are the values set for the session, and those in force, which differ by SET LOCAL. Both lists are immutable, sorted
// by name, and hold only what differs from the default.
type settingLists struct{ session, current []setting }

// current are the values in force that differ from the default.
func (s *settings) current() []setting {
	if s.lists == nil {
		return nil
	}
	return s.lists.current
}

type setting struct {
	name, value string
}

func lookup(list []setting, name string) (string, bool) {
	for i := range list {
		if list[i].name == name {
			return list[i].value, true
		}
	}
	return "", false
}

// with returns a list in which name has a value, or its default.
func with(list []setting, name, value string, reset bool) []setting {
	out := make([]setting, 0, len(list)+1)
	for _, s := range list {
		if s.name != name {
			out = append(out, s)
		}
	}
	if !reset {
		out = append(out, setting{name, value})
		sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	}
	return out
}

func (s *settings) set(name, value string, local, reset bool) {
	next := settingLists{current: with(s.current(), name, value, reset)}
	if s.lists != nil {
		next.session = s.lists.session
	}
	if !local {
		next.session = with(next.session, name, value, reset)
	}
	s.lists = &next
}

func (s *settings) endLocal() {
	if s.lists != nil {
		s.lists = &settingLists{s.lists.session, s.lists.session}
	}
}

// get is the value in force, "" for an unknown parameter.
func (s *settings) get(name string) string {
	if v, ok := lookup(s.current(), name); ok {
		return v
	}
	return parameters[name].value
}

// searchPath is the value of search_path, which every statement asks for.
func (s *settings) searchPath() string {
	if v, ok := lookup(s.current(), "search_path"); ok {
		return v
	}
	return defaultPath
}

const defaultPath = `"$user", public`

func (s *settings) hash(h uint64) uint64 {
	if s.lists == nil {
		return mixHash(mixHash(h, 0), 0)
	}
	for _, list := range [...][]setting{s.lists.session, s.lists.current} {
		for _, x := range list {
			h = types.HashString(types.HashString(h, x.name), x.value)
		}
		h = mixHash(h, uint64(len(list)))
	}
	return h
}

// setParameter changes a parameter as SET does.
func (d *Database) setParameter(s *session, name, value string, local, reset bool) error {
	name = strings.ToLower(name)
	p, known := parameters[name]
	switch {
	case !known && !strings.Contains(name, "."):
		return unknownParameter(name)
	case p.fixed:
		return types.Errorf("55P02", "parameter %q cannot be changed", name)
	case p.super && !d.isSuperuser(s, s.user()):
		return types.Errorf("42501", "permission denied to set parameter %q", name)
	}
	if p.check != nil && !reset {
		v, err := p.check(name, value)
		if err != nil {
			return err
		}
		value = v
	}
	s.settings.set(name, value, local, reset)
	return nil
}
