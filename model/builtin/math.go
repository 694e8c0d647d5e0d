package builtin

import (
	"math"

	"simrun/model/types"
)

func init() {
	for name, fn := range map[string]func(float64) float64{
		"ceil": math.Ceil, "ceiling": math.Ceil, "floor": math.Floor, "round": math.RoundToEven, "trunc": math.Trunc, "sign": sign,
		"degrees": func(f float64) float64 { return f / (math.Pi / 180) }, "radians": func(f float64) float64 { return f * (math.Pi / 180) },
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "atan": math.Atan,
	} {
		def(name+"(float8) float8", float1(types.Float8, fn))
	}
	for name, fn := range map[string]func(*types.Decimal) *types.Decimal{
		"ceil": (*types.Decimal).Ceil, "ceiling": (*types.Decimal).Ceil, "floor": (*types.Decimal).Floor,
		"round": func(d *types.Decimal) *types.Decimal { return d.Round(0) },
		"trunc": func(d *types.Decimal) *types.Decimal { return d.Trunc(0) },
		"sign": func(d *types.Decimal) *types.Decimal {
			if d.IsNaN() {
				return d
			}
			return types.DecimalFromInt(int64(d.Sign()))
		},
	} {
		def(name+"(numeric) numeric", dec1(fn))
	}
	def("round(numeric,int4) numeric", pure(func(a []V) V { return a[0].Dec().Round(clampScale(a[1].N)).Value() }))
	def("trunc(numeric,int4) numeric", pure(func(a []V) V { return a[0].Dec().Trunc(clampScale(a[1].N)).Value() }))
	def("scale(numeric) int4", pure(func(a []V) V { return types.NewInt4(a[0].Dec().Scale()) }))
	def("pi() float8", pure(func([]V) V { return types.NewFloat8(math.Pi) }))

	def("sqrt(float8) float8", func(_ Env, a []V) (V, error) {
		if a[0].Float() < 0 {
			return V{}, types.NewError("2201F", "cannot take square root of a negative number")
		}
		return types.NewFloat8(math.Sqrt(a[0].Float())), nil
	})
	def("exp(float8) float8", func(_ Env, a []V) (V, error) {
		f := a[0].Float()
		return checkFloat(types.NewFloat8(math.Exp(f)), !math.IsInf(f, 0), !math.IsInf(f, -1))
	})
	logarithm := func(fn func(float64) float64) Eval {
		return func(_ Env, a []V) (V, error) {
			switch f := a[0].Float(); {
			case f == 0:
				return V{}, types.NewError("2201E", "cannot take logarithm of zero")
			case f < 0:
				return V{}, types.NewError("2201E", "cannot take logarithm of a negative number")
			}
			return types.NewFloat8(fn(a[0].Float())), nil
		}
	}
	def("ln(float8) float8", logarithm(math.Log))
	def("log(float8) float8", logarithm(math.Log10))
	for _, name := range []string{"power", "pow"} {
		def(name+"(float8,float8) float8", powFloat)
		def(name+"(numeric,numeric) numeric", powNumeric)
	}
	op("^(float8,float8) float8", powFloat)
	op("^(numeric,numeric) numeric", powNumeric)
	def("random() float8", func(env Env, _ []V) (V, error) {
		f, err := env.Random()
		return types.NewFloat8(f), err
	}, volatile)
}

func clampScale(n int64) int32 { return int32(min(max(n, -2000), 2000)) }

func sign(f float64) float64 {
	switch {
	case f > 0:
		return 1
	case f < 0:
		return -1
	}
	return 0
}

func powFloat(_ Env, args []V) (V, error) {
	a, b := args[0].Float(), args[1].Float()
	switch {
	case a == 0 && b < 0:
		return V{}, types.NewError("2201F", "zero raised to a negative power is undefined")
	case a < 0 && b != math.Floor(b) && !math.IsInf(b, 0):
		return V{}, types.NewError("2201F", "a negative number raised to a non-integer power yields a complex result")
	}
	return checkFloat(types.NewFloat8(math.Pow(a, b)), !math.IsInf(a, 0) && !math.IsInf(b, 0), a != 0)
}

// powNumeric raises to a whole power exactly. Fractional exponents need logarithms of arbitrary precision, and are refused.
func powNumeric(_ Env, args []V) (V, error) {
	a, b := args[0].Dec(), args[1].Dec()
	if !a.IsFinite() || !b.IsFinite() || b.Trunc(0).Cmp(b) != 0 {
		return V{}, types.NewError("0A000", "numeric power with a fractional exponent is not supported")
	}
	n, ok := b.Int64()
	switch {
	case a.Sign() == 0 && b.Sign() < 0:
		return V{}, types.NewError("2201F", "zero raised to a negative power is undefined")
	case !ok || n > 100000 || n < -100000:
		return V{}, types.NewError("22003", "value overflows numeric format")
	}
	r := a.PowInt(n)
	if r.Overflows() {
		return V{}, types.NewError("22003", "value overflows numeric format")
	}
	return r.Value(), nil
}
