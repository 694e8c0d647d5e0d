package sql

import (
	"sort"
	"strings"

	"simrun/model/types"
)

// settings are the run-time parameters of a session: values set for the session, and those in force, which differ by SET
// LOCAL. Both lists are immutable, sorted by name, and hold only what differs from the default.
type settings struct {
	session, current []setting
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
	s.current = with(s.current, name, value, reset)
	if !local {
		s.session = with(s.session, name, value, reset)
	}
}

func (s *settings) endLocal() { s.current = s.session }

// get is the value in force, "" for an unknown parameter.
func (s *settings) get(name string) string {
	if v, ok := lookup(s.current, name); ok {
		return v
	}
	return parameters[name].value
}

// searchPath is the value of search_path, which every statement asks for.
func (s *settings) searchPath() string {
	if v, ok := lookup(s.current, "search_path"); ok {
		return v
	}
	return defaultPath
}

const defaultPath = `"$user", public`

func (s *settings) hash(h uint64) uint64 {
	for _, list := range [][]setting{s.session, s.current} {
		for _, x := range list {
			h = types.HashString(types.HashString(h, x.name), x.value)
		}
		h = mixHash(h, uint64(len(list)))
	}
	return h
}

// parameter describes a run-time parameter that the model knows.
type parameter struct {
	value string                        // default
	check func(v string) (string, bool) // canonical form; nil: any
	fixed bool                          // cannot be changed
}

func boolean(v string) (string, bool) {
	switch strings.ToLower(v) {
	case "on", "true", "yes", "1", "t", "y":
		return "on", true
	case "off", "false", "no", "0", "f", "n":
		return "off", true
	}
	return "", false
}

func oneOf(vals ...string) func(string) (string, bool) {
	return func(v string) (string, bool) {
		for _, x := range vals {
			if strings.EqualFold(x, v) {
				return x, true
			}
		}
		return "", false
	}
}

var levels = oneOf("serializable", "repeatable read", "read committed", "read uncommitted")

// parameters are those the model knows, with the defaults of a fresh server. Those that only steer planning or logging are
// accepted and have no effect.
var parameters = map[string]parameter{
	"application_name":                    {value: ""},
	"bytea_output":                        {value: "hex", check: oneOf("hex")},
	"client_encoding":                     {value: "UTF8", check: oneOf("UTF8")},
	"client_min_messages":                 {value: "notice"},
	"datestyle":                           {value: "ISO, MDY"},
	"deadlock_timeout":                    {value: "1s", check: duration},
	"default_transaction_deferrable":      {value: "off", check: boolean},
	"default_transaction_isolation":       {value: "read committed", check: levels},
	"default_transaction_read_only":       {value: "off", check: boolean},
	"enable_bitmapscan":                   {value: "on", check: boolean},
	"enable_hashagg":                      {value: "on", check: boolean},
	"enable_hashjoin":                     {value: "on", check: boolean},
	"enable_indexonlyscan":                {value: "on", check: boolean},
	"enable_indexscan":                    {value: "on", check: boolean},
	"enable_material":                     {value: "on", check: boolean},
	"enable_mergejoin":                    {value: "on", check: boolean},
	"enable_nestloop":                     {value: "on", check: boolean},
	"enable_seqscan":                      {value: "on", check: boolean},
	"enable_sort":                         {value: "on", check: boolean},
	"extra_float_digits":                  {value: "1"},
	"from_collapse_limit":                 {value: "8"},
	"idle_in_transaction_session_timeout": {value: "0", check: duration},
	"intervalstyle":                       {value: "postgres", check: oneOf("postgres")},
	"is_superuser":                        {value: "on", fixed: true},
	"jit":                                 {value: "on", check: boolean},
	"join_collapse_limit":                 {value: "8"},
	"lock_timeout":                        {value: "0", check: duration},
	"log_lock_waits":                      {value: "off", check: boolean},
	"log_min_messages":                    {value: "warning"},
	"max_parallel_workers_per_gather":     {value: "2"},
	"plan_cache_mode":                     {value: "auto"},
	"role":                                {value: "none"},
	"search_path":                         {value: defaultPath},
	"server_version":                      {value: "15.0", fixed: true},
	"server_version_num":                  {value: "150000", fixed: true},
	"session_authorization":               {value: superuser},
	"standard_conforming_strings":         {value: "on", check: oneOf("on")},
	"statement_timeout":                   {value: "0", check: duration},
	"synchronous_commit":                  {value: "on"},
	"timezone":                            {value: "UTC", check: oneOf("UTC", "GMT", "Etc/UTC")},
	"transaction_isolation":               {value: "read committed", check: levels},
	"transaction_read_only":               {value: "off", check: boolean},
	"transaction_deferrable":              {value: "off", check: boolean},
	"work_mem":                            {value: "4MB"},
	"check_function_bodies":               {value: "on", check: boolean},
	"row_security":                        {value: "on", check: boolean},
}

// duration brings a time setting, in milliseconds when it has no unit, to the form in which SHOW prints it.
func duration(v string) (string, bool) {
	ms, ok := parseDuration(v)
	if !ok {
		return "", false
	}
	if ms == 0 {
		return "0", true
	}
	for _, u := range []struct {
		n    int64
		name string
	}{{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}} {
		if ms%u.n == 0 {
			return itoa(int(ms/u.n)) + u.name, true
		}
	}
	return itoa(int(ms)) + "ms", true
}

func parseDuration(v string) (int64, bool) {
	v = strings.TrimSpace(v)
	i := 0
	for i < len(v) && (v[i] >= '0' && v[i] <= '9') {
		i++
	}
	if i == 0 {
		return 0, false
	}
	n := int64(0)
	for _, c := range v[:i] {
		n = n*10 + int64(c-'0')
		if n > 1<<31-1 {
			return 0, false
		}
	}
	unit := map[string]int64{"": 1, "ms": 1, "s": 1000, "min": 60000, "h": 3600000, "d": 86400000}
	f, ok := unit[strings.TrimSpace(v[i:])]
	return n * f, ok
}

// setParameter changes a parameter as SET does.
func (s *session) setParameter(name, value string, local, reset bool) error {
	name = strings.ToLower(name)
	p, known := parameters[name]
	switch {
	case !known && !strings.Contains(name, "."):
		return types.Errorf("42704", "unrecognized configuration parameter %q", name)
	case p.fixed:
		return types.Errorf("55P02", "parameter %q cannot be changed", name)
	}
	if p.check != nil && !reset {
		v, ok := p.check(value)
		if !ok {
			if p.value == "on" || p.value == "off" {
				return types.Errorf("22023", "parameter %q requires a Boolean value", name)
			}
			return types.Errorf("22023", "invalid value for parameter %q: %q", name, value)
		}
		value = v
	}
	s.settings.set(name, value, local, reset)
	return nil
}
