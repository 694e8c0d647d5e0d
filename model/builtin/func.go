// Package builtin holds the operators, functions and aggregates that Postgres has built in, with the rules by which an
// overloaded name is resolved (Postgres documentation, chapters 9 and 10). What a function needs of its session it asks
// of an Env, which the SQL front implements.
package builtin

import (
	"strings"

	"simrun/model/types"
)

// V is short for the value type, which every function of this package handles.
type V = types.Value

// Eval computes a function. Strict functions are never called with a NULL argument.
type Eval func(env Env, args []V) (V, error)

// Func is one overload of a function or an operator.
type Func struct {
	Name       string
	Args       []types.Type                         // types of the arguments; after resolution the types that the caller converts its arguments to
	Variadic   bool                                 // the last of Args stands for any number of arguments
	Ret        types.Type                           // result, of a set-returning function the type of one row
	Strict     bool                                 // NULL if an argument is NULL
	Volatility byte                                 // 'i' immutable, 's' stable, 'v' volatile, as pg_proc.provolatile
	Eval       Eval                                 // nil for set-returning functions
	Rows       func(env Env, args []V) ([]V, error) // the rows of a set-returning function
	Cols       []Col                                // columns of a set-returning function whose rows are records

	bind     func(args []types.Type, ret types.Type) Eval                                 // makes Eval of a polymorphic function
	bindRows func(args []types.Type, ret types.Type) func(env Env, args []V) ([]V, error) // likewise Rows
}

// Col is a result column of a set-returning function.
type Col struct {
	Name string
	Type types.Type
}

// registry of all overloads, by name; filled while the package is initialized, then only read.
var functions, operators = map[string][]*Func{}, map[string][]*Func{}

// option changes a Func under definition.
type option func(*Func)

func stable(f *Func)    { f.Volatility = 's' }
func volatile(f *Func)  { f.Volatility = 'v' }
func nonstrict(f *Func) { f.Strict = false }

// cols names the columns of a set-returning function, as "key text, value jsonb".
func cols(list string) option {
	return func(f *Func) {
		for _, c := range strings.Split(list, ",") {
			name, typ, _ := strings.Cut(strings.TrimSpace(c), " ")
			f.Cols = append(f.Cols, Col{name, mustType(typ)})
		}
	}
}

func mustType(name string) types.Type {
	t, ok := types.ByName(strings.TrimSpace(name))
	if !ok {
		panic("builtin: no type " + name)
	}
	return t
}

// signature makes a Func of "name(type, variadic type) result", immutable and strict unless the options say otherwise.
func signature(sig string, opts []option) *Func {
	name, rest, _ := strings.Cut(sig, "(")
	args, ret, ok := strings.Cut(rest, ")")
	if !ok {
		panic("builtin: bad signature " + sig)
	}
	f := &Func{Name: name, Strict: true, Volatility: 'i', Ret: mustType(ret)}
	for _, a := range strings.Split(args, ",") {
		a = strings.TrimSpace(a)
		if a == "" {
			continue
		}
		a, f.Variadic = strings.CutPrefix(a, "variadic ")
		f.Args = append(f.Args, mustType(a))
	}
	for _, o := range opts {
		o(f)
	}
	return f
}

// def defines a function.
func def(sig string, eval Eval, opts ...option) {
	f := signature(sig, opts)
	f.Eval = eval
	functions[f.Name] = append(functions[f.Name], f)
}

// defPoly defines a function whose evaluation depends on the types it is resolved to.
func defPoly(sig string, bind func(args []types.Type, ret types.Type) Eval, opts ...option) {
	f := signature(sig, opts)
	f.bind = bind
	functions[f.Name] = append(functions[f.Name], f)
}

// defRows defines a set-returning function.
func defRows(sig string, rows func(env Env, args []V) ([]V, error), opts ...option) {
	f := signature(sig, opts)
	f.Rows = rows
	functions[f.Name] = append(functions[f.Name], f)
}

// op defines an operator; with one argument it is a prefix operator.
func op(sig string, eval Eval, opts ...option) {
	f := signature(sig, opts)
	f.Eval = eval
	operators[f.Name] = append(operators[f.Name], f)
}

// pure makes an Eval of a function that needs no Env and cannot fail.
func pure(fn func(a []V) V) Eval {
	return func(_ Env, a []V) (V, error) { return fn(a), nil }
}

// Exists says whether there is a function or aggregate of that name with any arguments.
func Exists(name string) bool { return len(functions[name]) > 0 || len(aggregates[name]) > 0 }

func textType() types.Type { return types.Of(types.Text) }
