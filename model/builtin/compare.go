package builtin

import (
	"simrun/model/types"
)

// comparisons are the six comparison operators, as tests of a three-way comparison.
var comparisons = []struct {
	name string
	test func(c int) bool
}{
	{"=", func(c int) bool { return c == 0 }},
	{"<>", func(c int) bool { return c != 0 }},
	{"<", func(c int) bool { return c < 0 }},
	{"<=", func(c int) bool { return c <= 0 }},
	{">", func(c int) bool { return c > 0 }},
	{">=", func(c int) bool { return c >= 0 }},
}

// defineComparisons defines the six operators for the pair of types, over compare.
func defineComparisons(left, right string, compare func(a, b V) int) {
	for _, c := range comparisons {
		test := c.test
		op(c.name+"("+left+","+right+") bool", func(_ Env, a []V) (V, error) { return types.NewBool(test(compare(a[0], a[1]))), nil })
	}
}

func init() {
	for _, t := range []string{"bool", "text", "name", "bpchar", `char`, "bytea", "uuid", "oid", "xid8", "pg_lsn", "numeric", "interval", "time",
		"jsonb", "int8multirange", "anyarray", "record"} {
		defineComparisons(t, t, types.Compare)
	}
	families := [][]string{{"int2", "int4", "int8"}, {"float4", "float8"}}
	for _, family := range families {
		for _, l := range family {
			for _, r := range family {
				defineComparisons(l, r, types.Compare)
			}
		}
	}
	defineComparisons("name", "text", types.Compare)
	defineComparisons("text", "name", types.Compare)
	moments := []string{"date", "timestamp", "timestamptz"}
	for _, l := range moments {
		for _, r := range moments {
			compare := types.Compare
			if l != r {
				compare = compareMoments
			}
			defineComparisons(l, r, compare)
		}
	}
}

// compareMoments compares a date with a timestamp as the midnight that it begins with.
func compareMoments(a, b V) int {
	return types.Compare(toMoment(a), toMoment(b))
}

func toMoment(v V) V {
	if v.T.Kind == types.Date {
		switch v.N {
		case types.DateInfinity:
			v.N = types.Infinity
		case types.DateMinusInfinity:
			v.N = types.MinusInfinity
		default:
			v.N *= types.MicrosPerDay
		}
	}
	v.T = types.Of(types.Timestamptz)
	return v
}
