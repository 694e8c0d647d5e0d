package builtin

import (
	"simrun/model/types"
)

// Agg is one overload of an aggregate.
type Agg struct {
	Name string
	Args []types.Type // after resolution the types that the caller converts its arguments to
	Ret  types.Type
	New  func() Accum

	make func(args []types.Type, ret types.Type) Accum
}

// Accum gathers the rows of one group.
type Accum interface {
	Step(args []V) error // one row, NULLs included
	Result() (V, error)
}

var aggregates = map[string][]*Agg{}

// IsAggregate says whether name is an aggregate.
func IsAggregate(name string) bool { return len(aggregates[name]) > 0 }

// FindAggregate resolves a call of an aggregate; count(*) has no arguments.
func FindAggregate(name string, args []types.Type) (*Agg, *types.Error) {
	list := aggregates[name]
	cands := make([]Candidate, len(list))
	for i, a := range list {
		cands[i] = Candidate{Args: a.Args}
	}
	at, params, many, ok := Resolve(cands, args, false)
	switch {
	case many:
		return nil, AmbiguousFunction(name, args)
	case !ok:
		return nil, NoFunction(name, args)
	}
	params, ret, err := settle(name, append([]types.Type{}, params...), list[at].Ret, args)
	if err != nil {
		return nil, err
	}
	for j := range params {
		if params[j].Kind == types.Any {
			params[j] = args[j]
		}
	}
	agg := *list[at]
	agg.Args, agg.Ret = params, ret
	agg.New = func() Accum { return agg.make(params, ret) }
	return &agg, nil
}

// defAgg defines an aggregate by its signature and the maker of its accumulator.
func defAgg(sig string, make func(args []types.Type, ret types.Type) Accum) {
	f := signature(sig, nil)
	aggregates[f.Name] = append(aggregates[f.Name], &Agg{Name: f.Name, Args: f.Args, Ret: f.Ret, make: make})
}

// folding is an accumulator that skips NULLs and folds the rest with a function; without any it gives NULL.
type folding struct {
	acc  V
	fold func(acc, v V) (V, error)
}

func (f *folding) Step(args []V) error {
	v := args[0]
	if !v.Valid {
		return nil
	}
	if !f.acc.Valid {
		v.T = f.acc.T
		f.acc = v
		return nil
	}
	acc, err := f.fold(f.acc, v)
	f.acc = acc
	return err
}

func (f *folding) Result() (V, error) { return f.acc, nil }

func defFold(sig string, fold func(acc, v V) (V, error)) {
	defAgg(sig, func(_ []types.Type, ret types.Type) Accum { return &folding{acc: types.Null(ret), fold: fold} })
}

// counting is count.
type counting struct{ n int64 }

func (c *counting) Step(args []V) error {
	if len(args) == 0 || args[0].Valid {
		c.n++
	}
	return nil
}
func (c *counting) Result() (V, error) { return types.NewInt8(c.n), nil }

// summing adds decimals, for sums and averages that are numeric.
type summing struct {
	sum     *types.Decimal
	n       int64
	average bool
}

func (s *summing) Step(args []V) error {
	v := args[0]
	if !v.Valid {
		return nil
	}
	d := types.DecimalFromInt(v.N)
	if v.T.Kind == types.Numeric {
		d = v.Dec()
	}
	if s.sum == nil {
		s.sum = d
	} else {
		s.sum = s.sum.Add(d)
	}
	s.n++
	return nil
}

func (s *summing) Result() (V, error) {
	switch {
	case s.n == 0:
		return types.Null(types.Of(types.Numeric)), nil
	case s.average:
		return s.sum.Div(types.DecimalFromInt(s.n)).Value(), nil
	}
	return s.sum.Value(), nil
}

// averaging is avg of floating point numbers (Youngs and Cramer's way of summing has no part in the mean).
type averaging struct {
	sum float64
	n   int64
}

func (s *averaging) Step(args []V) error {
	if args[0].Valid {
		s.sum += args[0].Float()
		s.n++
	}
	return nil
}

func (s *averaging) Result() (V, error) {
	if s.n == 0 {
		return types.Null(types.Of(types.Float8)), nil
	}
	return types.NewFloat8(s.sum / float64(s.n)), nil
}

// collecting is array_agg, jsonb_agg and their kin: it keeps all rows and shows them at the end.
type collecting struct {
	rows [][]V
	null V
	show func(rows [][]V) (V, error)
	keep func(row []V) error // refuses a row, or nil
}

func (c *collecting) Step(args []V) error {
	if c.keep != nil {
		if err := c.keep(args); err != nil {
			return err
		}
	}
	c.rows = append(c.rows, append([]V{}, args...))
	return nil
}

func (c *collecting) Result() (V, error) {
	if len(c.rows) == 0 {
		return c.null, nil
	}
	return c.show(c.rows)
}

func init() {
	count := func([]types.Type, types.Type) Accum { return &counting{} }
	defAgg("count() int8", count)
	defAgg("count(any) int8", count)

	sumInt := func(acc, v V) (V, error) {
		n, err := addInt(acc.N, v.N)
		if err != nil {
			return acc, types.OutOfRange(types.Of(types.Int8))
		}
		return types.NewInt8(n), nil
	}
	defFold("sum(int2) int8", sumInt)
	defFold("sum(int4) int8", sumInt)
	sum := func([]types.Type, types.Type) Accum { return &summing{} }
	avg := func([]types.Type, types.Type) Accum { return &summing{average: true} }
	defAgg("sum(int8) numeric", sum)
	defAgg("sum(numeric) numeric", sum)
	for _, t := range []string{"int2", "int4", "int8", "numeric"} {
		defAgg("avg("+t+") numeric", avg)
	}
	for _, t := range []string{"float4", "float8"} {
		single := t == "float4"
		defFold("sum("+t+") "+t, func(acc, v V) (V, error) {
			r := newFloat(single, acc.Float()+v.Float())
			return checkFloat(r, finiteFloat(acc) && finiteFloat(v), false)
		})
		defAgg("avg("+t+") float8", func([]types.Type, types.Type) Accum { return &averaging{} })
	}
	defFold("sum(interval) interval", func(acc, v V) (V, error) { return sumIntervals(acc, v, 1) })

	for _, t := range []string{"int2", "int4", "int8", "float4", "float8", "numeric", "text", "bpchar", "date", "time", "timestamp",
		"timestamptz", "interval", "oid", "pg_lsn", "xid8"} {
		defFold("min("+t+") "+t, func(acc, v V) (V, error) {
			if types.Compare(v, acc) < 0 {
				return v, nil
			}
			return acc, nil
		})
		defFold("max("+t+") "+t, func(acc, v V) (V, error) {
			if types.Compare(v, acc) > 0 {
				return v, nil
			}
			return acc, nil
		})
	}
	and := func(acc, v V) (V, error) { return types.NewBool(acc.True() && v.True()), nil }
	defFold("bool_and(bool) bool", and)
	defFold("every(bool) bool", and)
	defFold("bool_or(bool) bool", func(acc, v V) (V, error) { return types.NewBool(acc.True() || v.True()), nil })
	for _, t := range []string{"int2", "int4", "int8"} {
		defFold("bit_and("+t+") "+t, func(acc, v V) (V, error) { acc.N &= v.N; return acc, nil })
		defFold("bit_or("+t+") "+t, func(acc, v V) (V, error) { acc.N |= v.N; return acc, nil })
		defFold("bit_xor("+t+") "+t, func(acc, v V) (V, error) { acc.N ^= v.N; return acc, nil })
	}

	defAgg("array_agg(anynonarray) anyarray", func(args []types.Type, _ types.Type) Accum {
		ret := types.ArrayOf(args[0].Kind)
		return &collecting{null: types.Null(ret), show: func(rows [][]V) (V, error) {
			elems := make([]V, len(rows))
			for i, r := range rows {
				elems[i] = r[0]
			}
			return newArray(ret.Elem, elems), nil
		}}
	})
	for _, k := range []types.Kind{types.Text, types.Bytea} {
		t := types.Of(k).String()
		defAgg("string_agg("+t+","+t+") "+t, func([]types.Type, types.Type) Accum { return &joining{kind: k} })
	}
	for _, t := range []string{"json", "jsonb"} {
		k := kindOf(t)
		null := types.Null(types.Of(k))
		defAgg(t+"_agg(anyelement) "+t, func([]types.Type, types.Type) Accum {
			return &collecting{null: null, show: func(rows [][]V) (V, error) {
				j := &jval{Kind: types.JSONArray}
				for _, r := range rows {
					j.Elems = append(j.Elems, *toJSON(r[0]))
				}
				return asJSON(k, j), nil
			}}
		})
		defAgg(t+"_object_agg(any,any) "+t, func([]types.Type, types.Type) Accum {
			return &collecting{null: null, keep: func(row []V) error {
				if !row[0].Valid {
					return types.NewError("22023", "field name must not be null")
				}
				return nil
			}, show: func(rows [][]V) (V, error) {
				var flat []V
				for _, r := range rows {
					flat = append(flat, r...)
				}
				if k == types.JSON {
					s := jsonObjectText(flat)
					return types.NewString(k, "{ "+s[1:len(s)-1]+" }"), nil
				}
				j, err := buildObject(flat)
				if err != nil {
					return V{}, err
				}
				return asJSON(k, j), nil
			}}
		})
	}
	defAgg("range_agg(int8multirange) int8multirange", func([]types.Type, types.Type) Accum {
		ret := types.Of(types.Int8Multirange)
		return &folding{acc: types.Null(ret), fold: func(acc, v V) (V, error) {
			return types.NewMultirange(append(append([][2]int64{}, acc.Ranges()...), v.Ranges()...)), nil
		}}
	})
}

func finiteFloat(v V) bool { f := v.Float(); return f-f == 0 }

// joining is string_agg: each value but the first comes after its own separator.
type joining struct {
	kind types.Kind
	b    []byte
	some bool
}

func (j *joining) Step(args []V) error {
	if !args[0].Valid {
		return nil
	}
	if j.some {
		j.b = append(j.b, args[1].S...)
	}
	j.some = true
	j.b = append(j.b, args[0].S...)
	return nil
}

func (j *joining) Result() (V, error) {
	if !j.some {
		return types.Null(types.Of(j.kind)), nil
	}
	return types.NewString(j.kind, string(j.b)), nil
}
