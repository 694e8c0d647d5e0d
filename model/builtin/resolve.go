package builtin

import (
	"strings"

	"simrun/model/types"
)

// Candidate is a signature that resolution can choose.
type Candidate struct {
	Args     []types.Type
	Variadic bool // the last argument takes any number of arguments; its type is "any", or an array of what they have
	Defaults int  // how many of the last arguments may be left out
}

// accepts says whether an argument of type from can be passed for a parameter of type to.
func accepts(from, to types.Type) bool {
	switch to.Kind {
	case types.Any, types.AnyElement, types.AnyCompatible:
		return true
	case types.AnyArray, types.AnyCompatibleArray:
		return from.Kind == types.Array || from.Kind == types.Unknown
	case types.AnyNonArray:
		return from.Kind != types.Array
	}
	return types.CanCast(from, to, types.Implicit)
}

// acceptsAll says whether the arguments can be passed, each for itself and all together as the polymorphic types demand.
func acceptsAll(args, params []types.Type) bool {
	for j := range args {
		if !accepts(args[j], params[j]) {
			return false
		}
	}
	_, _, err := settle("", params, types.Type{}, args)
	return err == nil || err.Code == "42804"
}

// fit expands c to n arguments; ok is false when it cannot take that many.
func (c Candidate) fit(n int, spread bool) (args []types.Type, ok bool) {
	switch {
	case !c.Variadic || spread:
		if n > len(c.Args) || n < len(c.Args)-c.Defaults {
			return nil, false
		}
		return c.Args[:n], true
	case n < len(c.Args):
		return nil, false
	}
	last := c.Args[len(c.Args)-1]
	if last.Kind == types.Array {
		last = last.ElemType()
	}
	args = append(args, c.Args[:len(c.Args)-1]...)
	for len(args) < n {
		args = append(args, last)
	}
	return args, len(args) == n
}

// choice is a candidate that is still in the running.
type choice struct {
	at   int // index in the list of candidates
	args []types.Type
}

// Resolve chooses among candidates for a call with arguments of the given types, as Postgres does (documentation 10.3):
// the index of the winner and its parameter types, one for each argument. With spread the last argument was written
// VARIADIC. many is set when several are left.
func Resolve(cands []Candidate, args []types.Type, spread bool) (winner int, params []types.Type, many, ok bool) {
	var list []choice
	for i, c := range cands {
		p, fits := c.fit(len(args), spread)
		if !fits {
			continue
		}
		exact := true
		for j := range args {
			if args[j] != p[j] {
				exact = false
			}
		}
		if exact {
			return i, p, false, true
		}
		list = append(list, choice{i, p})
	}
	list = keep(list, func(c choice) bool { return acceptsAll(args, c.args) })
	if len(list) > 1 {
		list = narrow(list, args)
	}
	switch len(list) {
	case 0:
		return 0, nil, false, false
	case 1:
		return list[0].at, list[0].args, false, true
	}
	return 0, nil, true, false
}

func keep(list []choice, good func(choice) bool) []choice {
	var out []choice
	for _, c := range list {
		if good(c) {
			out = append(out, c)
		}
	}
	return out
}

// keepBest keeps the candidates with the highest score, all of them when the highest is 0.
func keepBest(list []choice, score func(choice) int) []choice {
	best := 0
	for _, c := range list {
		best = max(best, score(c))
	}
	if best == 0 {
		return list
	}
	return keep(list, func(c choice) bool { return score(c) == best })
}

// narrow is steps 4 and 5 of documentation 10.3 (and 10.2): exact matches, preferred types, the category of literals.
func narrow(list []choice, args []types.Type) []choice {
	count := func(good func(c choice, j int) bool) func(choice) int {
		return func(c choice) (n int) {
			for j := range args {
				if args[j].Kind != types.Unknown && good(c, j) {
					n++
				}
			}
			return n
		}
	}
	exact := func(c choice, j int) bool { return args[j] == c.args[j] }
	list = keepBest(list, count(exact))
	if len(list) == 1 {
		return list
	}
	preferred := func(c choice, j int) bool {
		return exact(c, j) || c.args[j].Preferred() && c.args[j].Category() == args[j].Category()
	}
	list = keepBest(list, count(preferred))
	if len(list) == 1 {
		return list
	}
	unknowns := 0
	for j := range args {
		if args[j].Kind == types.Unknown {
			unknowns++
		}
	}
	if unknowns == 0 {
		return list
	}
	if better := byLiterals(list, args); len(better) > 0 {
		list = better
	}
	if len(list) == 1 || unknowns == len(args) {
		return list
	}
	return byKnown(list, args)
}

// byLiterals chooses by the type category that the candidates have where the arguments are untyped literals.
func byLiterals(list []choice, args []types.Type) []choice {
	categories := make([]byte, len(args))
	wantPreferred := make([]bool, len(args))
	for j := range args {
		if args[j].Kind != types.Unknown {
			continue
		}
		category, preferred, conflict := byte(0), false, false
		for _, c := range list {
			t := c.args[j]
			switch {
			case category == 0:
				category, preferred = t.Category(), t.Preferred()
			case t.Category() == category:
				preferred = preferred || t.Preferred()
			case t.Category() == 'S':
				category, preferred = 'S', t.Preferred()
			case category != 'S':
				conflict = true
			}
		}
		if conflict && category != 'S' {
			return nil
		}
		categories[j], wantPreferred[j] = category, preferred
	}
	return keep(list, func(c choice) bool {
		for j := range args {
			if args[j].Kind == types.Unknown && (c.args[j].Category() != categories[j] || wantPreferred[j] && !c.args[j].Preferred()) {
				return false
			}
		}
		return true
	})
}

// byKnown takes the literals for the one type that all other arguments have.
func byKnown(list []choice, args []types.Type) []choice {
	var known types.Type
	for _, t := range args {
		if t.Kind == types.Unknown {
			continue
		}
		if known.Kind != types.Unknown && known != t {
			return list
		}
		known = t
	}
	same := make([]types.Type, len(args))
	for j := range same {
		same[j] = known
	}
	better := keep(list, func(c choice) bool { return acceptsAll(same, c.args) })
	if len(better) == 1 {
		return better
	}
	return list
}

// CommonType is the type to which values of several types are brought in UNION, CASE, COALESCE, ARRAY, VALUES and the like
// (documentation 10.5); context names the construct in the error 42804.
func CommonType(ts []types.Type, context string) (types.Type, *types.Error) {
	common := types.Type{}
	for _, t := range ts {
		switch {
		case t.Kind == types.Unknown || t == common:
		case common.Kind == types.Unknown:
			common = t
		case t.Category() != common.Category():
			return common, types.Errorf("42804", "%s types %s and %s cannot be matched", context, common, t)
		case !common.Preferred() && types.CanCast(common, t, types.Implicit) && !types.CanCast(t, common, types.Implicit):
			common = t
		}
	}
	if common.Kind == types.Unknown {
		return textType(), nil
	}
	return common, nil
}

// settle replaces the polymorphic types of a signature by what the arguments say (documentation 38.2.5).
func settle(name string, params []types.Type, ret types.Type, args []types.Type) ([]types.Type, types.Type, *types.Error) {
	var elem types.Type // of the anyelement family
	var compatible []types.Type
	poly, polyCompatible := false, false
	for j, p := range params {
		a := args[j]
		switch p.Kind {
		case types.AnyElement, types.AnyNonArray, types.AnyArray:
			poly = true
			if a.Kind == types.Unknown {
				continue
			}
			if p.Kind == types.AnyArray {
				a = a.ElemType()
			}
			if elem.Kind != types.Unknown && elem != a {
				return nil, ret, notFound(name, args)
			}
			elem = a
		case types.AnyCompatible, types.AnyCompatibleArray:
			polyCompatible = true
			if p.Kind == types.AnyCompatibleArray && a.Kind != types.Unknown {
				a = a.ElemType()
			}
			compatible = append(compatible, a)
		}
	}
	undetermined := func() *types.Error {
		return types.NewError("42804", "could not determine polymorphic type because input has type unknown")
	}
	if poly && elem.Kind == types.Unknown {
		return nil, ret, undetermined()
	}
	var common types.Type
	if polyCompatible {
		var err *types.Error
		if common, err = CommonType(compatible, ""); err != nil {
			return nil, ret, notFound(name, args)
		}
	}
	if !poly && !polyCompatible {
		return params, ret, nil
	}
	for _, p := range params { // there are no arrays of arrays
		if p.Kind == types.AnyArray && elem.Kind == types.Array || p.Kind == types.AnyCompatibleArray && common.Kind == types.Array {
			return nil, ret, notFound(name, args)
		}
	}
	concrete := func(t types.Type) types.Type {
		switch t.Kind {
		case types.AnyElement, types.AnyNonArray:
			return elem
		case types.AnyArray:
			return types.ArrayOf(elem.Kind)
		case types.AnyCompatible:
			return common
		case types.AnyCompatibleArray:
			return types.ArrayOf(common.Kind)
		}
		return t
	}
	out := make([]types.Type, len(params))
	for j, p := range params {
		out[j] = concrete(p)
	}
	return out, concrete(ret), nil
}

// argList is the argument types as the errors print them.
func argList(args []types.Type) string {
	names := make([]string, len(args))
	for i, t := range args {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}

func notFound(name string, args []types.Type) *types.Error { return NoFunction(name, args) }

// NoFunction is the error of a call that matches no function.
func NoFunction(name string, args []types.Type) *types.Error {
	return types.Errorf("42883", "function %s(%s) does not exist", name, argList(args)).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// AmbiguousFunction is the error of a call that matches several functions equally well.
func AmbiguousFunction(name string, args []types.Type) *types.Error {
	return types.Errorf("42725", "function %s(%s) is not unique", name, argList(args)).
		WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

func candidates(fs []*Func) []Candidate {
	cs := make([]Candidate, len(fs))
	for i, f := range fs {
		cs[i] = Candidate{Args: f.Args, Variadic: f.Variadic}
	}
	return cs
}

// resolved is f with parameter types settled for a call.
func (f *Func) resolved(params, args []types.Type, spread bool) (*Func, *types.Error) {
	params, ret, err := settle(f.Name, params, f.Ret, args)
	if err != nil {
		return nil, err
	}
	g := *f
	g.Args, g.Ret, g.Variadic = params, ret, false
	for j := range g.Args {
		if g.Args[j].Kind == types.Any { // "any" takes its argument as it is, also an untyped literal
			g.Args[j] = args[j]
		}
	}
	if f.bind != nil {
		g.Eval = f.bind(g.Args, g.Ret)
	}
	if f.bindRows != nil {
		g.Rows = f.bindRows(g.Args, g.Ret)
	}
	if spread && f.Args[len(f.Args)-1].Kind == types.Any { // VARIADIC array for "any": its elements are the arguments
		inner := g.Eval
		g.Eval = func(env Env, a []V) (V, error) {
			last := a[len(a)-1]
			return inner(env, append(append([]V{}, a[:len(a)-1]...), last.Elems()...))
		}
	}
	return &g, nil
}

// FindFunction resolves a call of a built-in function. spread says that the last argument was written VARIADIC.
func FindFunction(name string, args []types.Type, spread bool) (*Func, *types.Error) {
	fs := functions[name]
	at, params, many, ok := Resolve(candidates(fs), args, spread)
	switch {
	case many:
		return nil, AmbiguousFunction(name, args)
	case !ok:
		return nil, NoFunction(name, args)
	}
	return fs[at].resolved(append([]types.Type{}, params...), args, spread)
}

// FindOperator resolves an operator. For a prefix operator left is ignored.
func FindOperator(name string, left, right types.Type, prefix bool) (*Func, *types.Error) {
	if name == "!=" {
		name = "<>"
	}
	args := []types.Type{left, right}
	if prefix {
		args = args[1:]
	}
	var fs []*Func
	for _, f := range operators[name] {
		if len(f.Args) == len(args) {
			fs = append(fs, f)
		}
	}
	probe := args
	if !prefix && left.Kind != right.Kind { // a literal is first taken for the type of the other side
		switch types.Unknown {
		case left.Kind:
			probe = []types.Type{right, right}
		case right.Kind:
			probe = []types.Type{left, left}
		}
	}
	for _, f := range fs {
		if f.Args[0] == probe[0] && f.Args[len(probe)-1] == probe[len(probe)-1] {
			return f, nil
		}
	}
	at, params, many, ok := Resolve(candidates(fs), args, false)
	if ok {
		g, err := fs[at].resolved(append([]types.Type{}, params...), args, false)
		if err == nil {
			return g, nil
		}
		if err.Code == "42804" {
			return nil, err
		}
	}
	text := left.String() + " " + name + " " + right.String()
	if prefix {
		text = name + " " + right.String()
	}
	if many {
		return nil, types.Errorf("42725", "operator is not unique: %s", text).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
	}
	return nil, types.Errorf("42883", "operator does not exist: %s", text).
		WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.")
}
