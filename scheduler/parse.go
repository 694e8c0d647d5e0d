package scheduler

import (
	"fmt"
	"strconv"
	"strings"
)

// StrategyNames are the strategies that ParseStrategy knows, with an example of each parameter.
var StrategyNames = []string{"random", "round-robin", "pct(3)", "pos", "surw", "context-bounded(2)", "guided", "swarm(random)", "portfolio"}

// ParseStrategy makes a strategy from its name: "pct(3)" (or "pct", which means 3), "swarm(pos)", "portfolio(random,pct(2))".
func ParseStrategy(text string) (Strategy, error) {
	name, inside, has := strings.Cut(strings.TrimSpace(text), "(")
	if has {
		if !strings.HasSuffix(inside, ")") {
			return nil, fmt.Errorf("strategy %q: the parenthesis is not closed", text)
		}
		inside = inside[:len(inside)-1]
	}
	number := func(otherwise int) (int, error) {
		if !has {
			return otherwise, nil
		}
		n, err := strconv.Atoi(inside)
		if err != nil || n < 0 || n > 1000 {
			return 0, fmt.Errorf("strategy %q: %q is not a number from 0 to 1000", text, inside)
		}
		return n, nil
	}
	if s := map[string]func() Strategy{"random": Random, "round-robin": RoundRobin, "pos": POS, "surw": SURW, "guided": Guided}[name]; s != nil {
		if has {
			return nil, fmt.Errorf("strategy %q: %s takes no parameter", text, name)
		}
		return s(), nil
	}
	switch name {
	case "pct":
		n, err := number(3)
		if err != nil {
			return nil, err
		}
		return PCT(n), nil
	case "context-bounded":
		n, err := number(2)
		if err != nil {
			return nil, err
		}
		return ContextBounded(n), nil
	case "swarm":
		if !has {
			inside = "random"
		}
		inner, err := ParseStrategy(inside)
		if err != nil {
			return nil, err
		}
		return Swarm(inner), nil
	case "portfolio":
		var members []Strategy
		for _, m := range splitOutside(inside) {
			s, err := ParseStrategy(m)
			if err != nil {
				return nil, err
			}
			members = append(members, s)
		}
		return Portfolio(members...), nil
	}
	return nil, fmt.Errorf("strategy %q is not known; known are %s", text, strings.Join(StrategyNames, ", "))
}

// splitOutside splits at the commas outside of parentheses.
func splitOutside(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var parts []string
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}
