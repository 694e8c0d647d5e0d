package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Instance says which instance of which scenario is meant: what decides, together with a seed, what a run can do.
type Instance struct {
	Scenario string         `json:"scenario"`
	Variant  string         `json:"variant,omitempty"`
	Mutants  []string       `json:"mutants,omitempty"`
	Params   map[string]int `json:"params,omitempty"`
	Text     string         `json:"text,omitempty"` // what the instance is made from, when Scenario.FromText

	of *Scenario // when it is given and not looked up
}

// Of returns the instance as one of s, which need not be registered.
func (in Instance) Of(s *Scenario) Instance {
	in.Scenario, in.of = s.Name, s
	return in
}

// scenario is the given scenario or the registered one, or nil.
func (in Instance) scenario() *Scenario {
	if in.of != nil {
		return in.of
	}
	return Lookup(in.Scenario)
}

// Resolve checks the instance against its scenario and returns it with every name canonical and every default
// filled in. An error says what was expected.
func (in Instance) Resolve() (Instance, *Scenario, error) {
	s := in.scenario()
	if s == nil {
		var names []string
		for _, s := range Scenarios() {
			names = append(names, s.Name)
		}
		return in, nil, fmt.Errorf("no scenario is named %q; there are %s", in.Scenario, list(names))
	}
	switch {
	case s.FromText && in.Text == "":
		return in, nil, fmt.Errorf("scenario %s is made from a file, and none is given: %s", s.Name, s.Doc)
	case !s.FromText && in.Text != "":
		return in, nil, fmt.Errorf("scenario %s is not made from a text, and one is given", s.Name)
	}
	out := Instance{Scenario: s.Name, Variant: in.Variant, Params: map[string]int{}, Text: in.Text, of: in.of}
	if out.Variant == "" {
		out.Variant = s.Variants[0]
	}
	if !slices.Contains(s.Variants, out.Variant) {
		return in, nil, fmt.Errorf("scenario %s has no variant %q; there are %s", s.Name, in.Variant, list(s.Variants))
	}
	for _, name := range in.Mutants {
		m := s.Mutant(name)
		if m == nil {
			var names []string
			for _, m := range s.Mutants {
				names = append(names, m.Name+" ("+m.ID+")")
			}
			return in, nil, fmt.Errorf("scenario %s has no mutant %q; there are %s", s.Name, name, list(names))
		}
		if !slices.Contains(out.Mutants, m.Name) {
			out.Mutants = append(out.Mutants, m.Name)
		}
	}
	var known []string
	for _, p := range s.Params {
		out.Params[p.Name] = p.Default
		known = append(known, fmt.Sprintf("%s (%d to %d)", p.Name, p.Min, p.Max))
	}
	for _, name := range slices.Sorted(maps.Keys(in.Params)) {
		i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return in, nil, fmt.Errorf("scenario %s has no parameter %q; there are %s", s.Name, name, list(known))
		}
		p, v := s.Params[i], in.Params[name]
		if v < p.Min || v > p.Max {
			return in, nil, fmt.Errorf("%s is %d; scenario %s takes %d to %d: %s", name, v, s.Name, p.Min, p.Max, p.Doc)
		}
		out.Params[name] = v
	}
	return out, s, nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Build makes the setup that the seed draws. drawn says whether it drew anything: if not, every seed has the same setup.
func (in Instance) Build(seed uint64) (setup *Setup, drawn bool, err error) {
	in, s, err := in.Resolve()
	if err != nil {
		return nil, false, err
	}
	if s.Build == nil {
		return nil, false, fmt.Errorf("scenario %s is an experiment on a server: simrun run --scenario %s --backend postgres", s.Name, s.Name)
	}
	src := &countingSource{src: rand.NewPCG(seed, 0x7365747570)}
	setup, err = s.Build(Config{Variant: in.Variant, Mutants: in.Mutants, Params: in.Params, Rand: rand.New(src), Text: in.Text})
	if err != nil {
		return nil, false, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return setup, src.drawn, nil
}

// countingSource notices whether anything was drawn from it.
type countingSource struct {
	src   rand.Source
	drawn bool
}

func (c *countingSource) Uint64() uint64 {
	c.drawn = true
	return c.src.Uint64()
}

// Flags renders the instance as the command line flags that select it, leaving out what is the default.
func (in Instance) Flags() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--scenario %s", in.Scenario)
	s := in.scenario()
	if in.Variant != "" && (s == nil || in.Variant != s.Variants[0]) {
		fmt.Fprintf(&b, " --variant %s", in.Variant)
	}
	for _, m := range in.Mutants {
		fmt.Fprintf(&b, " --mutant %s", m)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Params)) {
		if s != nil {
			if i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name }); i >= 0 && s.Params[i].Default == in.Params[name] {
				continue
			}
		}
		fmt.Fprintf(&b, " --set %s=%d", name, in.Params[name])
	}
	return b.String()
}
