package machines

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"simrun/tla"
)

// constants are those of a configuration. A constant that is missing or is not of the kind asked for is remembered in err.
type constants struct {
	config string
	value  map[string]string
	err    error
}

// read reads the constants of a configuration: lines NAME = VALUE and NAME <- OPERATOR.
func read(c tla.Config) (*constants, error) {
	text, err := c.Text()
	if err != nil {
		return nil, err
	}
	k := &constants{config: c.Name, value: map[string]string{}}
	for line := range strings.SplitSeq(string(text), "\n") {
		for _, sep := range []string{" = ", " <- "} {
			if name, v, ok := strings.Cut(strings.TrimSpace(line), sep); ok && !strings.HasPrefix(name, `\*`) {
				k.value[name] = strings.TrimSpace(v)
			}
		}
	}
	return k, nil
}

func (k *constants) text(name string) string {
	v, ok := k.value[name]
	if !ok {
		k.err = errors.Join(k.err, fmt.Errorf("configuration %s has no constant %s", k.config, name))
	}
	return v
}

func (k *constants) int(name string, most int) int {
	v := k.text(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > most {
		k.err = errors.Join(k.err, fmt.Errorf("configuration %s: %s is %q, expected a number up to %d", k.config, name, v, most))
		return 0
	}
	return n
}

func (k *constants) bool(name string) bool {
	v := k.text(name)
	if v != "TRUE" && v != "FALSE" {
		k.err = errors.Join(k.err, fmt.Errorf("configuration %s: %s is %q, expected TRUE or FALSE", k.config, name, v))
	}
	return v == "TRUE"
}

// set returns the elements of a set of strings or numbers, without quotes.
func (k *constants) set(name string, most int) []string {
	v := k.text(name)
	inner, ok := strings.CutPrefix(v, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !ok || !closed {
		k.err = errors.Join(k.err, fmt.Errorf("configuration %s: %s is %q, expected a set", k.config, name, v))
		return nil
	}
	var out []string
	for e := range strings.SplitSeq(inner, ",") {
		if e = strings.Trim(strings.TrimSpace(e), `"`); e != "" {
			out = append(out, e)
		}
	}
	if len(out) > most {
		k.err = errors.Join(k.err, fmt.Errorf("configuration %s: %s has %d elements, the machine takes %d", k.config, name, len(out), most))
	}
	return out
}
