package builtin

import (
	"math"
	"math/bits"

	"simrun/model/types"
)

var errDivision = types.NewError("22012", "division by zero")

// divisionByZero is a fresh error, since the SQL front adds a position to it.
func divisionByZero() error { e := *errDivision; return &e }

func kindOf(name string) types.Kind { return mustType(name).Kind }

func init() {
	ints := []string{"int2", "int4", "int8"}
	for i, l := range ints {
		for j, r := range ints {
			ret := ints[max(i, j)]
			k := kindOf(ret)
			sig := "(" + l + "," + r + ") " + ret
			op("+"+sig, intOp(k, addInt))
			op("-"+sig, intOp(k, subInt))
			op("*"+sig, intOp(k, mulInt))
			op("/"+sig, intOp(k, divInt))
			if l == r {
				op("%"+sig, intOp(k, modInt))
				def("mod"+sig, intOp(k, modInt))
				op("&"+sig, intOp(k, func(a, b int64) (int64, error) { return a & b, nil }))
				op("|"+sig, intOp(k, func(a, b int64) (int64, error) { return a | b, nil }))
				op("#"+sig, intOp(k, func(a, b int64) (int64, error) { return a ^ b, nil }))
			}
		}
		k := kindOf(l)
		width := uint([]int{16, 32, 64}[i])
		op("-("+l+") "+l, func(_ Env, a []V) (V, error) { return negInt(k, a[0].N) })
		op("+("+l+") "+l, pure(func(a []V) V { return a[0] }))
		op("~("+l+") "+l, pure(func(a []V) V { return types.NewInt(k, ^a[0].N) }))
		abs := func(_ Env, a []V) (V, error) {
			if a[0].N < 0 {
				return negInt(k, a[0].N)
			}
			return a[0], nil
		}
		def("abs("+l+") "+l, abs)
		op("@("+l+") "+l, abs)
		op("<<("+l+",int4) "+l, pure(func(a []V) V { return types.NewInt(k, truncInt(k, a[0].N<<(uint(a[1].N)%max(width, 32)))) }))
		op(">>("+l+",int4) "+l, pure(func(a []V) V { return types.NewInt(k, a[0].N>>(uint(a[1].N)%max(width, 32))) }))
	}
	for _, t := range []string{"int4", "int8"} {
		k := kindOf(t)
		def("gcd("+t+","+t+") "+t, func(_ Env, a []V) (V, error) {
			x, y := a[0].N, a[1].N
			for y != 0 {
				if y == -1 {
					x, y = 1, 0
					break
				}
				x, y = y, x%y
			}
			if x < 0 {
				return negInt(k, x)
			}
			return types.NewInt(k, x), nil
		})
	}

	floats := []string{"float4", "float8"}
	for i, l := range floats {
		for j, r := range floats {
			ret := floats[max(i, j)]
			sig := "(" + l + "," + r + ") " + ret
			single := ret == "float4"
			op("+"+sig, floatOp(single, false, func(a, b float64) float64 { return a + b }))
			op("-"+sig, floatOp(single, false, func(a, b float64) float64 { return a - b }))
			op("*"+sig, floatOp(single, false, func(a, b float64) float64 { return a * b }))
			op("/"+sig, floatOp(single, true, func(a, b float64) float64 { return a / b }))
		}
		k := kindOf(l)
		neg := func(f float64) float64 { return -f }
		op("-("+l+") "+l, float1(k, neg))
		op("+("+l+") "+l, pure(func(a []V) V { return a[0] }))
		def("abs("+l+") "+l, float1(k, math.Abs))
	}

	op("+(numeric,numeric) numeric", dec2((*types.Decimal).Add))
	op("-(numeric,numeric) numeric", dec2((*types.Decimal).Sub))
	op("*(numeric,numeric) numeric", dec2((*types.Decimal).Mul))
	op("/(numeric,numeric) numeric", decDiv((*types.Decimal).Div))
	rem := func(a, b *types.Decimal) *types.Decimal { _, r := a.QuoRem(b); return r }
	op("%(numeric,numeric) numeric", decDiv(rem))
	def("mod(numeric,numeric) numeric", decDiv(rem))
	def("div(numeric,numeric) numeric", decDiv(func(a, b *types.Decimal) *types.Decimal { q, _ := a.QuoRem(b); return q }))
	op("-(numeric) numeric", dec1((*types.Decimal).Neg))
	op("+(numeric) numeric", pure(func(a []V) V { return a[0] }))
	def("abs(numeric) numeric", dec1(func(d *types.Decimal) *types.Decimal {
		if d.Sign() < 0 {
			return d.Neg()
		}
		return d
	}))

	op("+(pg_lsn,numeric) pg_lsn", pure(func(a []V) V { n, _ := a[1].Dec().Int64(); return types.NewInt(types.PgLSN, a[0].N+n) }))
	op("-(pg_lsn,pg_lsn) numeric", pure(func(a []V) V { return types.DecimalFromInt(a[0].N - a[1].N).Value() }))
}

func intOp(k types.Kind, fn func(a, b int64) (int64, error)) Eval {
	return func(_ Env, a []V) (V, error) {
		n, err := fn(a[0].N, a[1].N)
		if err == errRange {
			return V{}, types.OutOfRange(types.Of(k))
		}
		if err != nil {
			return V{}, err
		}
		return types.FitInt(k, n)
	}
}

// errRange says that a result does not fit 64 bits; intOp words it.
var errRange = types.NewError("22003", "bigint out of range")

func addInt(a, b int64) (int64, error) {
	s := a + b
	if (s > a) != (b > 0) {
		return 0, errRange
	}
	return s, nil
}

func subInt(a, b int64) (int64, error) {
	s := a - b
	if (s < a) != (b > 0) {
		return 0, errRange
	}
	return s, nil
}

func mulInt(a, b int64) (int64, error) {
	neg := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	switch {
	case hi != 0, neg && lo > 1<<63, !neg && lo > math.MaxInt64:
		return 0, errRange
	case neg:
		return -int64(lo), nil
	}
	return int64(lo), nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func divInt(a, b int64) (int64, error) {
	switch {
	case b == 0:
		return 0, divisionByZero()
	case b == -1:
		if a == math.MinInt64 {
			return 0, errRange
		}
		return -a, nil
	}
	return a / b, nil
}

func modInt(a, b int64) (int64, error) {
	switch b {
	case 0:
		return 0, divisionByZero()
	case -1:
		return 0, nil
	}
	return a % b, nil
}

func negInt(k types.Kind, n int64) (V, error) {
	if n == math.MinInt64 {
		return V{}, types.OutOfRange(types.Of(k))
	}
	return types.FitInt(k, -n)
}

func truncInt(k types.Kind, n int64) int64 {
	switch k {
	case types.Int2:
		return int64(int16(n))
	case types.Int4:
		return int64(int32(n))
	}
	return n
}

func newFloat(single bool, f float64) V {
	if single {
		return types.NewFloat4(f)
	}
	return types.NewFloat8(f)
}

func floatRange(which string) error { return types.NewError("22003", "value out of range: "+which) }

// checkFloat reports the overflow or underflow of a result that finite operands gave.
func checkFloat(r V, finite, nonzero bool) (V, error) {
	switch f := r.Float(); {
	case math.IsInf(f, 0) && finite:
		return V{}, floatRange("overflow")
	case f == 0 && nonzero:
		return V{}, floatRange("underflow")
	}
	return r, nil
}

func floatOp(single, division bool, fn func(a, b float64) float64) Eval {
	return func(_ Env, args []V) (V, error) {
		a, b := args[0].Float(), args[1].Float()
		if division && b == 0 && !math.IsNaN(a) {
			return V{}, divisionByZero()
		}
		f := fn(a, b)
		r := newFloat(single, f)
		finite := !math.IsInf(a, 0) && !math.IsInf(b, 0)
		// A sum can be zero without underflow, a product or quotient of non-zero numbers cannot; sums that round to zero do not exist.
		nonzero := f != 0 || division && a != 0 && finite
		return checkFloat(r, finite, nonzero)
	}
}

func float1(k types.Kind, fn func(float64) float64) Eval {
	return pure(func(a []V) V { return newFloat(k == types.Float4, fn(a[0].Float())) })
}

func dec1(fn func(*types.Decimal) *types.Decimal) Eval {
	return pure(func(a []V) V { return fn(a[0].Dec()).Value() })
}

func dec2(fn func(a, b *types.Decimal) *types.Decimal) Eval {
	return func(_ Env, a []V) (V, error) {
		r := fn(a[0].Dec(), a[1].Dec())
		if r.Overflows() {
			return V{}, types.NewError("22003", "value overflows numeric format")
		}
		return r.Value(), nil
	}
}

func decDiv(fn func(a, b *types.Decimal) *types.Decimal) Eval {
	return func(_ Env, a []V) (V, error) {
		x, y := a[0].Dec(), a[1].Dec()
		if y.IsFinite() && y.Sign() == 0 && !x.IsNaN() {
			return V{}, divisionByZero()
		}
		return fn(x, y).Value(), nil
	}
}
