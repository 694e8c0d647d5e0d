package builtin

import (
	"math"
	"strings"

	"simrun/model/types"
)

func newArray(k types.Kind, elems []V) V { return types.NewArray(k, elems) }

// joined is the array of all elems; the inputs stay as they are.
func joined(k types.Kind, parts ...[]V) V {
	var all []V
	for _, p := range parts {
		all = append(all, p...)
	}
	return newArray(k, all)
}

func init() {
	length := func(a []V) V {
		n := len(a[0].Elems())
		if n == 0 || len(a) > 1 && a[1].N != 1 {
			return types.Null(types.Of(types.Int4))
		}
		return int4(n)
	}
	def("array_length(anyarray,int4) int4", pure(length))
	def("array_upper(anyarray,int4) int4", pure(length))
	def("array_lower(anyarray,int4) int4", pure(func(a []V) V {
		if v := length(a); !v.Valid {
			return v
		}
		return int4(1)
	}))
	def("array_ndims(anyarray) int4", pure(func(a []V) V {
		if v := length(a); !v.Valid {
			return v
		}
		return int4(1)
	}))
	def("cardinality(anyarray) int4", pure(func(a []V) V { return int4(len(a[0].Elems())) }))

	appendTo := func(args []types.Type, ret types.Type) Eval {
		return pure(func(a []V) V { return joined(ret.Elem, a[0].Elems(), a[1:]) })
	}
	prependTo := func(args []types.Type, ret types.Type) Eval {
		return pure(func(a []V) V { return joined(ret.Elem, a[:1], a[1].Elems()) })
	}
	cat := func(args []types.Type, ret types.Type) Eval {
		return pure(func(a []V) V {
			switch {
			case !a[0].Valid:
				return a[1]
			case !a[1].Valid:
				return a[0]
			}
			return joined(ret.Elem, a[0].Elems(), a[1].Elems())
		})
	}
	defPoly("array_append(anycompatiblearray,anycompatible) anycompatiblearray", appendTo, nonstrict)
	defPoly("array_prepend(anycompatible,anycompatiblearray) anycompatiblearray", prependTo, nonstrict)
	defPoly("array_cat(anycompatiblearray,anycompatiblearray) anycompatiblearray", cat, nonstrict)
	for _, o := range []struct {
		sig  string
		bind func([]types.Type, types.Type) Eval
	}{
		{"||(anycompatiblearray,anycompatible) anycompatiblearray", appendTo},
		{"||(anycompatible,anycompatiblearray) anycompatiblearray", prependTo},
		{"||(anycompatiblearray,anycompatiblearray) anycompatiblearray", cat},
	} {
		f := signature(o.sig, []option{nonstrict})
		f.bind = o.bind
		operators["||"] = append(operators["||"], f)
	}

	def("array_position(anycompatiblearray,anycompatible) int4", pure(func(a []V) V { return arrayPosition(a, 1) }), nonstrict)
	def("array_position(anycompatiblearray,anycompatible,int4) int4", func(_ Env, a []V) (V, error) {
		if !a[2].Valid {
			return V{}, types.NewError("22004", "initial position must not be null")
		}
		return arrayPosition(a, a[2].N), nil
	}, nonstrict)
	def("array_positions(anycompatiblearray,anycompatible) _int4", pure(func(a []V) V {
		if !a[0].Valid {
			return types.Null(types.ArrayOf(types.Int4))
		}
		found := []V{}
		for i, e := range a[0].Elems() {
			if types.Equal(e, a[1]) {
				found = append(found, int4(i+1))
			}
		}
		return newArray(types.Int4, found)
	}), nonstrict)
	def("array_remove(anycompatiblearray,anycompatible) anycompatiblearray", pure(func(a []V) V {
		if !a[0].Valid {
			return a[0]
		}
		var kept []V
		for _, e := range a[0].Elems() {
			if !types.Equal(e, a[1]) {
				kept = append(kept, e)
			}
		}
		return newArray(a[0].T.Elem, kept)
	}), nonstrict)
	def("array_replace(anycompatiblearray,anycompatible,anycompatible) anycompatiblearray", pure(func(a []V) V {
		if !a[0].Valid {
			return a[0]
		}
		out := append([]V{}, a[0].Elems()...)
		for i, e := range out {
			if types.Equal(e, a[1]) {
				out[i] = a[2]
			}
		}
		return newArray(a[0].T.Elem, out)
	}), nonstrict)
	def("trim_array(anyarray,int4) anyarray", func(_ Env, a []V) (V, error) {
		e := a[0].Elems()
		if a[1].N < 0 || a[1].N > int64(len(e)) {
			return V{}, types.Errorf("2202E", "number of elements to trim must be between 0 and %d", len(e))
		}
		return newArray(a[0].T.Elem, e[:len(e)-int(a[1].N)]), nil
	})
	defPoly("array_fill(anyelement,_int4) anyarray", func(args []types.Type, ret types.Type) Eval {
		return func(_ Env, a []V) (V, error) {
			dims := a[1].Elems()
			switch {
			case !a[1].Valid:
				return V{}, types.NewError("22004", "dimension array or low bound array cannot be null")
			case len(dims) == 0:
				return newArray(ret.Elem, nil), nil
			case len(dims) > 1:
				return V{}, types.NewError("0A000", "arrays of more than one dimension are not supported")
			}
			n := dims[0].N
			if n < 0 || n > 1<<27-1 {
				return V{}, types.Errorf("54000", "array size exceeds the maximum allowed (%d)", 1<<27-1)
			}
			elems := make([]V, n)
			for i := range elems {
				elems[i] = a[0]
			}
			return newArray(ret.Elem, elems), nil
		}
	}, nonstrict)
	op("@>(anyarray,anyarray) bool", pure(func(a []V) V { return types.NewBool(contains(a[0].Elems(), a[1].Elems())) }))
	op("<@(anyarray,anyarray) bool", pure(func(a []V) V { return types.NewBool(contains(a[1].Elems(), a[0].Elems())) }))
	op("&&(anyarray,anyarray) bool", pure(func(a []V) V {
		for _, x := range a[0].Elems() {
			for _, y := range a[1].Elems() {
				if x.Valid && y.Valid && types.Equal(x, y) {
					return types.NewBool(true)
				}
			}
		}
		return types.NewBool(false)
	}))
	def("array_to_string(anyarray,text) text", pure(func(a []V) V { return text(concat(a[1].S, a[0].Elems())) }), stable)
	def("array_to_string(anyarray,text,text) text", pure(func(a []V) V {
		if !a[0].Valid || !a[1].Valid {
			return types.Null(textType())
		}
		var shown []V
		for _, e := range a[0].Elems() {
			if !e.Valid {
				e = a[2]
			}
			shown = append(shown, e)
		}
		return text(concat(a[1].S, shown))
	}), stable, nonstrict)
	def("string_to_array(text,text) _text", pure(stringToArray), nonstrict)
	def("string_to_array(text,text,text) _text", pure(stringToArray), nonstrict)

	defRows("unnest(anyarray) anyelement", func(_ Env, a []V) ([]V, error) { return a[0].Elems(), nil })
	defRows("generate_subscripts(anyarray,int4) int4", func(_ Env, a []V) ([]V, error) {
		var rows []V
		if a[1].N == 1 {
			for i := range a[0].Elems() {
				rows = append(rows, int4(i+1))
			}
		}
		return rows, nil
	})
	defRows("string_to_table(text,text) text", func(_ Env, a []V) ([]V, error) { return stringToArray(a).Elems(), nil }, nonstrict)
	for _, t := range []string{"int4", "int8"} {
		k := kindOf(t)
		series := func(_ Env, a []V) ([]V, error) {
			step := int64(1)
			if len(a) > 2 {
				step = a[2].N
			}
			return intSeries(k, a[0].N, a[1].N, step)
		}
		defRows("generate_series("+t+","+t+") "+t, series)
		defRows("generate_series("+t+","+t+","+t+") "+t, series)
	}
	defRows("generate_series(numeric,numeric) numeric", numericSeries)
	defRows("generate_series(numeric,numeric,numeric) numeric", numericSeries)
	for _, t := range []string{"timestamp", "timestamptz"} {
		k := kindOf(t)
		defRows("generate_series("+t+","+t+",interval) "+t, func(_ Env, a []V) ([]V, error) {
			m, d, us := a[2].IntervalParts()
			dir := types.Compare(a[2], types.NewInterval(0, 0, 0))
			if m == 0 && d == 0 && us == 0 || dir == 0 {
				return nil, types.NewError("22023", "step size cannot equal zero")
			}
			var rows []V
			for at := a[0]; dir > 0 && at.N <= a[1].N || dir < 0 && at.N >= a[1].N; {
				rows = append(rows, at)
				if len(rows) > maxSeries {
					return nil, tooLong()
				}
				next, err := addInterval(k, at.N, a[2], 1)
				if err != nil {
					return nil, err
				}
				at = next
			}
			return rows, nil
		})
	}

	// Multiranges of bigint, as far as the systems use them.
	op("+(int8multirange,int8multirange) int8multirange", pure(func(a []V) V {
		return types.NewMultirange(append(append([][2]int64{}, a[0].Ranges()...), a[1].Ranges()...))
	}))
	op("@>(int8multirange,int8) bool", pure(func(a []V) V { return types.NewBool(inRanges(a[0], a[1].N)) }))
	op("<@(int8,int8multirange) bool", pure(func(a []V) V { return types.NewBool(inRanges(a[1], a[0].N)) }))
	def("isempty(int8multirange) bool", pure(func(a []V) V { return types.NewBool(a[0].S == "{}") }))
}

func inRanges(v V, n int64) bool {
	for _, r := range v.Ranges() {
		if r[0] <= n && n < r[1] {
			return true
		}
	}
	return false
}

// maxSeries bounds a generated series, which is built whole.
const maxSeries = 10_000_000

func tooLong() error {
	return types.Errorf("54000", "set-returning function gives more than %d rows", maxSeries)
}

func arrayPosition(a []V, from int64) V {
	elems := a[0].Elems()
	for i := max(from, 1); a[0].Valid && i <= int64(len(elems)); i++ {
		if types.Equal(elems[i-1], a[1]) {
			return int4(int(i))
		}
	}
	return types.Null(types.Of(types.Int4))
}

// contains says whether each of part equals one of whole; a NULL is in nothing.
func contains(whole, part []V) bool {
	for _, p := range part {
		found := false
		for _, w := range whole {
			found = found || p.Valid && w.Valid && types.Equal(w, p)
		}
		if !found {
			return false
		}
	}
	return true
}

func stringToArray(a []V) V {
	if !a[0].Valid {
		return types.Null(types.ArrayOf(types.Text))
	}
	var parts []string
	switch {
	case a[0].S == "":
	case !a[1].Valid:
		for _, r := range a[0].S {
			parts = append(parts, string(r))
		}
	case a[1].S == "":
		parts = []string{a[0].S}
	default:
		parts = strings.Split(a[0].S, a[1].S)
	}
	elems := make([]V, len(parts))
	for i, p := range parts {
		elems[i] = text(p)
		if len(a) > 2 && a[2].Valid && a[2].S == p {
			elems[i] = types.Null(textType())
		}
	}
	return newArray(types.Text, elems)
}

func intSeries(k types.Kind, from, to, step int64) ([]V, error) {
	if step == 0 {
		return nil, types.NewError("22023", "step size cannot equal zero")
	}
	var rows []V
	for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
		rows = append(rows, types.NewInt(k, n))
		if len(rows) > maxSeries {
			return nil, tooLong()
		}
		if step > 0 && n > math.MaxInt64-step || step < 0 && n < math.MinInt64-step {
			break
		}
	}
	return rows, nil
}

func numericSeries(_ Env, a []V) ([]V, error) {
	from, to, step := a[0].Dec(), a[1].Dec(), types.DecimalFromInt(1)
	if len(a) > 2 {
		step = a[2].Dec()
	}
	for i, d := range []*types.Decimal{from, to, step} {
		what := [...]string{"start value", "stop value", "step size"}[i]
		if d.IsNaN() {
			return nil, types.Errorf("22023", "%s cannot be NaN", what)
		}
		if !d.IsFinite() {
			return nil, types.Errorf("22023", "%s cannot be infinity", what)
		}
	}
	dir := step.Sign()
	if dir == 0 {
		return nil, types.NewError("22023", "step size cannot equal zero")
	}
	var rows []V
	for n := from; n.Cmp(to)*dir <= 0; n = n.Add(step) {
		rows = append(rows, n.Value())
		if len(rows) > maxSeries {
			return nil, tooLong()
		}
	}
	return rows, nil
}
