package lin

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"olympos.io/encoding/edn"
)

// Read reads a recorded history in any of the formats that it knows, told by the first line that is not blank:
//
//   - JSONL, simrun's own: {"process":2,"type":"invoke","f":"cas","key":"x","value":[1,2]}
//   - EDN, Jepsen's history.edn: {:process 2, :type :invoke, :f :cas, :key "x", :value [1 2]}
//   - Jepsen's log lines: INFO  jepsen.util - 2	:invoke	:cas	[1 2]
//
// A value [k v] under an absent key, as Jepsen's independent tests write it, is taken apart when independent is set.
// Lines of processes that are no numbers (Jepsen's :nemesis) are left out. Errors name the line.
func Read(r io.Reader, independent bool) ([]Event, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<24)
	var parse func(string) (Event, bool, error)
	var events []Event
	for line := 1; scanner.Scan(); line++ {
		text := strings.TrimSpace(scanner.Text())
		if text == "" || text == "[" || text == "]" {
			continue
		}
		if parse == nil {
			if parse = parserFor(text); parse == nil {
				return nil, fmt.Errorf("line %d: %.60q is neither JSONL, nor an EDN map, nor a jepsen.util log line", line, text)
			}
		}
		e, ok, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if !ok {
			continue
		}
		e.Line = line
		if pair, isPair := e.Value.([]any); independent && e.Key == "" && isPair && len(pair) == 2 {
			e.Key, e.Value = fmt.Sprint(pair[0]), pair[1]
		}
		events = append(events, e)
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, errors.New("no events: expected one operation event a line")
	}
	return events, nil
}

func parserFor(line string) func(string) (Event, bool, error) {
	switch {
	case strings.HasPrefix(line, `{"`):
		return parseJSON
	case strings.HasPrefix(line, "{:"), strings.HasPrefix(line, "[{:"), strings.HasPrefix(line, "#jepsen"):
		return parseEDN
	case strings.Contains(line, "jepsen.util"):
		return parseLog
	}
	return nil
}

func parseJSON(line string) (Event, bool, error) {
	var raw struct {
		Process *int            `json:"process"`
		Type    EventType       `json:"type"`
		F       string          `json:"f"`
		Key     json.RawMessage `json:"key"`
		Value   any             `json:"value"`
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&raw); err != nil {
		return Event{}, false, fmt.Errorf("not a JSON event: %w", err)
	}
	if raw.Process == nil || raw.Type == "" || raw.F == "" {
		return Event{}, false, errors.New(`an event needs "process" (a number), "type" and "f"`)
	}
	key := strings.Trim(string(raw.Key), `"`)
	if key == "null" {
		key = ""
	}
	return Event{Process: *raw.Process, Type: raw.Type, F: raw.F, Key: key, Value: normal(raw.Value)}, true, nil
}

func parseEDN(line string) (Event, bool, error) {
	line = strings.TrimPrefix(strings.TrimSuffix(line, "]"), "[")
	if i := strings.Index(line, "{"); i > 0 {
		line = line[i:] // a record tag such as #jepsen.history.Op before the map
	}
	var raw map[edn.Keyword]any
	if err := edn.UnmarshalString(line, &raw); err != nil {
		return Event{}, false, fmt.Errorf("not an EDN event: %w", err)
	}
	process, isNumber := raw["process"].(int64)
	if !isNumber {
		return Event{}, false, nil
	}
	typ, _ := raw["type"].(edn.Keyword)
	f, _ := raw["f"].(edn.Keyword)
	if typ == "" || f == "" {
		return Event{}, false, errors.New("an event needs :process, :type and :f")
	}
	e := Event{Process: int(process), Type: EventType(typ), F: string(f), Value: normal(raw["value"])}
	if key := raw["key"]; key != nil {
		e.Key = fmt.Sprint(key)
	}
	return e, true, nil
}

var logLine = regexp.MustCompile(`jepsen\.util - (\S+)\s+:(\w+)\s+:(\S+)\s+(.*)$`)

func parseLog(line string) (Event, bool, error) {
	m := logLine.FindStringSubmatch(line)
	if m == nil {
		return Event{}, false, nil // other log lines stand between the events
	}
	process, err := strconv.Atoi(m[1])
	if err != nil {
		return Event{}, false, nil
	}
	var value any
	if err := edn.UnmarshalString(m[4], &value); err != nil {
		return Event{}, false, fmt.Errorf("value %q is not EDN: %w", m[4], err)
	}
	return Event{Process: process, Type: EventType(m[2]), F: m[3], Value: normal(value)}, true, nil
}

// normal maps the numbers and names of both readers to int64 and string, so that models see one shape.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		return v.String()
	case edn.Keyword:
		return ":" + string(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normal(v[i])
		}
		return out
	}
	return v
}
