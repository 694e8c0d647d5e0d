package types

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Decimal is an exact decimal number with the number of digits after the point that it is shown with, as Postgres's
// numeric (documentation 8.1.2). The zero Decimal is 0.
type Decimal struct {
	coef  big.Int // the number is coef * 10^-scale
	scale int32
	form  int8 // 0 finite, 1 infinity, -1 minus infinity, 2 not a number
}

const (
	maxNumericDigits = 131072 // before the point
	maxNumericScale  = 16383  // after the point
	minSigDigits     = 16     // significant digits that a quotient has at least
	maxDisplayScale  = 1000
)

var ten = big.NewInt(10)

// pow10 is 10^n, small ones from a table.
var pow10 = func() func(n int32) *big.Int {
	var table [64]*big.Int
	table[0] = big.NewInt(1)
	for i := 1; i < len(table); i++ {
		table[i] = new(big.Int).Mul(table[i-1], ten)
	}
	return func(n int32) *big.Int {
		if int(n) < len(table) {
			return table[n]
		}
		return new(big.Int).Exp(ten, big.NewInt(int64(n)), nil)
	}
}()

// DecimalFromInt is the integer n with scale 0.
func DecimalFromInt(n int64) *Decimal {
	d := new(Decimal)
	d.coef.SetInt64(n)
	return d
}

// DecimalFromFloat is f rounded to the given significant digits (15 for double precision, 6 for real), as the casts do.
func DecimalFromFloat(f float64, digits int) *Decimal {
	switch {
	case math.IsNaN(f):
		return &Decimal{form: 2}
	case math.IsInf(f, 1):
		return &Decimal{form: 1}
	case math.IsInf(f, -1):
		return &Decimal{form: -1}
	}
	s := strconv.FormatFloat(f, 'e', digits-1, 64)
	mant, exp, _ := strings.Cut(s, "e")
	if strings.Contains(mant, ".") {
		mant = strings.TrimRight(strings.TrimRight(mant, "0"), ".")
	}
	d, _ := ParseDecimal(mant + "e" + exp)
	return d
}

// ParseDecimal reads the text form of a numeric; ok is false when it is not one.
func ParseDecimal(s string) (d *Decimal, ok bool) {
	s = strings.Trim(s, " \t\n\r\f\v")
	switch strings.ToLower(s) {
	case "nan":
		return &Decimal{form: 2}, true
	case "infinity", "inf", "+infinity", "+inf":
		return &Decimal{form: 1}, true
	case "-infinity", "-inf":
		return &Decimal{form: -1}, true
	}
	neg := false
	rest := s
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		neg = rest[0] == '-'
		rest = rest[1:]
	}
	mant, exp := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mant = rest[:i]
		e, err := strconv.Atoi(rest[i+1:])
		if err != nil || rest[i+1:] == "" || e > 1<<30 || e < -(1<<30) {
			return nil, false
		}
		exp = e
	}
	whole, frac, _ := strings.Cut(mant, ".")
	if whole == "" && frac == "" || !digitsOnly(whole) || !digitsOnly(frac) {
		return nil, false
	}

	d = new(Decimal)
	if len(whole)+len(frac) <= 18 {
		n := int64(0)
		for i := 0; i < len(whole); i++ {
			n = n*10 + int64(whole[i]-'0')
		}
		for i := 0; i < len(frac); i++ {
			n = n*10 + int64(frac[i]-'0')
		}
		d.coef.SetInt64(n)
	} else {
		d.coef.SetString(whole+frac, 10)
	}
	if neg {
		d.coef.Neg(&d.coef)
	}
	scale := len(frac) - exp
	if scale > maxNumericScale+maxNumericDigits || scale < -2*maxNumericDigits {
		scale = -2 * maxNumericDigits // out of range either way; a text form this long is an overflow
	}
	if scale < 0 {
		if -scale > maxNumericDigits+maxNumericScale {
			d.scale = -1 // overflow, see Overflows
			return d, true
		}
		d.coef.Mul(&d.coef, pow10(int32(-scale)))
		scale = 0
	}
	d.scale = int32(scale)
	return d, true
}

func digitsOnly(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Overflows says whether d has more digits than a numeric can hold (then Postgres reports 22003).
func (d *Decimal) Overflows() bool {
	if d.form != 0 {
		return false
	}
	if d.scale < 0 {
		return d.coef.Sign() != 0
	}
	if d.scale > maxNumericScale {
		return true
	}
	return d.coef.BitLen() > 300000 && len(d.coef.Text(10))-int(d.scale) > maxNumericDigits
}

// IsNaN says whether d is not a number.
func (d *Decimal) IsNaN() bool { return d.form == 2 }

// IsFinite says whether d is a number.
func (d *Decimal) IsFinite() bool { return d.form == 0 }

// Sign is -1, 0 or 1; of NaN it is 1.
func (d *Decimal) Sign() int {
	switch d.form {
	case 0:
		return d.coef.Sign()
	case -1:
		return -1
	}
	return 1
}

// Scale is the number of digits shown after the point.
func (d *Decimal) Scale() int32 { return d.scale }

// String is the text form, with all digits of the scale.
func (d *Decimal) String() string {
	switch d.form {
	case 1:
		return "Infinity"
	case -1:
		return "-Infinity"
	case 2:
		return "NaN"
	}
	s := d.coef.Text(10)
	if d.scale <= 0 {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if pad := int(d.scale) + 1 - len(s); pad > 0 {
		s = strings.Repeat("0", pad) + s
	}
	cut := len(s) - int(d.scale)
	return sign + s[:cut] + "." + s[cut:]
}

// Value is the SQL value of d.
func (d *Decimal) Value() Value { return Value{T: Type{Kind: Numeric}, Valid: true, S: d.String()} }

// Dec is the number in a Numeric value.
func (v Value) Dec() *Decimal {
	d, ok := ParseDecimal(v.S)
	if !ok {
		panic("types: not a numeric: " + strconv.Quote(v.S))
	}
	return d
}

// atScale is d's coefficient at a scale that is not smaller than its own.
func (d *Decimal) atScale(scale int32) *big.Int {
	if scale == d.scale {
		return &d.coef
	}
	return new(big.Int).Mul(&d.coef, pow10(scale-d.scale))
}

// Cmp orders decimals as Postgres does: NaN is equal to itself and greater than all else.
func (d *Decimal) Cmp(e *Decimal) int {
	if d.form != 0 || e.form != 0 {
		return rankForm(d.form) - rankForm(e.form)
	}
	s := max(d.scale, e.scale)
	return d.atScale(s).Cmp(e.atScale(s))
}

// rankForm orders the special values around the finite ones.
func rankForm(form int8) int {
	switch form {
	case -1:
		return -1
	case 0:
		return 0
	}
	return int(form)
}

// special is the result of an operation with a special operand: NaN when either is NaN, otherwise form.
func special(d, e *Decimal, form int8) *Decimal {
	if d.form == 2 || e.form == 2 {
		form = 2
	}
	return &Decimal{form: form}
}

// Add is d + e, with the larger scale.
func (d *Decimal) Add(e *Decimal) *Decimal {
	if d.form != 0 || e.form != 0 {
		switch {
		case d.form == 0:
			return special(d, e, e.form)
		case e.form == 0 || d.form == e.form:
			return special(d, e, d.form)
		}
		return &Decimal{form: 2}
	}
	r := &Decimal{scale: max(d.scale, e.scale)}
	r.coef.Add(d.atScale(r.scale), e.atScale(r.scale))
	return r
}

// Neg is -d.
func (d *Decimal) Neg() *Decimal {
	r := &Decimal{scale: d.scale, form: d.form}
	if d.form == 1 || d.form == -1 {
		r.form = -d.form
	}
	r.coef.Neg(&d.coef)
	return r
}

// Sub is d - e, with the larger scale.
func (d *Decimal) Sub(e *Decimal) *Decimal { return d.Add(e.Neg()) }

// Mul is d * e, with the sum of the scales.
func (d *Decimal) Mul(e *Decimal) *Decimal {
	if d.form != 0 || e.form != 0 {
		switch s := d.Sign() * e.Sign(); {
		case s == 0:
			return &Decimal{form: 2}
		default:
			return special(d, e, int8(s))
		}
	}
	r := &Decimal{scale: d.scale + e.scale}
	r.coef.Mul(&d.coef, &e.coef)
	if r.scale > maxNumericScale {
		return r.Round(maxNumericScale)
	}
	return r
}

// lead is the weight of the first non-zero digit group in base 10000, and that group: what Postgres's digit arrays hold.
func (d *Decimal) lead() (weight int, digit int64) {
	if d.coef.Sign() == 0 {
		return 0, 0
	}
	s := strings.TrimPrefix(d.coef.Text(10), "-")
	exp := len(s) - int(d.scale) - 1 // power of ten of the first digit
	weight = exp / 4
	if exp < 0 && exp%4 != 0 {
		weight--
	}
	n := exp - weight*4 + 1 // digits of s in the leading group
	if len(s) < n {
		s += strings.Repeat("0", n-len(s))
	}
	digit, _ = strconv.ParseInt(s[:n], 10, 64)
	return weight, digit
}

// Div is d / e with as many digits as numeric division gives: at least 16 significant ones, rounded half away from zero.
// e is not zero.
func (d *Decimal) Div(e *Decimal) *Decimal {
	if d.form != 0 || e.form != 0 {
		switch {
		case e.form == 0:
			return special(d, e, int8(d.Sign()*e.Sign()))
		case d.form == 0 && e.form != 2:
			return &Decimal{}
		}
		return &Decimal{form: 2}
	}
	w1, d1 := d.lead()
	w2, d2 := e.lead()
	qweight := w1 - w2
	if d1 <= d2 {
		qweight--
	}
	scale := int32(minSigDigits - qweight*4)
	scale = max(scale, d.scale, e.scale, 0)
	scale = min(scale, maxDisplayScale)
	return d.divScale(e, scale)
}

// divScale is d / e rounded half away from zero to the scale.
func (d *Decimal) divScale(e *Decimal, scale int32) *Decimal {
	num, den := new(big.Int).Set(&d.coef), new(big.Int).Set(&e.coef)
	if shift := scale + e.scale - d.scale; shift >= 0 {
		num.Mul(num, pow10(shift))
	} else {
		den.Mul(den, pow10(-shift))
	}
	r := &Decimal{scale: scale}
	roundQuo(&r.coef, num, den)
	return r
}

// roundQuo sets q to num / den rounded half away from zero.
func roundQuo(q, num, den *big.Int) {
	neg := num.Sign()*den.Sign() < 0
	n, m := new(big.Int).Abs(num), new(big.Int).Abs(den)
	n.Lsh(n, 1).Add(n, m)
	q.Quo(n, m.Lsh(m, 1))
	if neg {
		q.Neg(q)
	}
}

// QuoRem is the whole part of d / e (scale 0) and the remainder, which has d's sign and the larger scale. e is not zero.
func (d *Decimal) QuoRem(e *Decimal) (quo, rem *Decimal) {
	if d.form != 0 || e.form != 0 {
		if d.form == 0 && e.form != 2 {
			return &Decimal{}, d
		}
		return special(d, e, int8(d.Sign()*e.Sign())), &Decimal{form: 2}
	}
	quo, rem = new(Decimal), &Decimal{scale: max(d.scale, e.scale)}
	quo.coef.QuoRem(d.atScale(rem.scale), e.atScale(rem.scale), &rem.coef)
	return quo, rem
}

// Round rounds half away from zero to scale digits after the point; a negative scale rounds before it.
func (d *Decimal) Round(scale int32) *Decimal {
	if d.form != 0 || scale == d.scale {
		return d
	}
	r := &Decimal{scale: max(scale, 0)}
	if scale >= d.scale {
		r.coef.Set(d.atScale(scale))
		return r
	}
	roundQuo(&r.coef, &d.coef, pow10(d.scale-scale))
	if scale < 0 {
		r.coef.Mul(&r.coef, pow10(-scale))
	}
	return r
}

// Trunc cuts towards zero to scale digits after the point.
func (d *Decimal) Trunc(scale int32) *Decimal {
	if d.form != 0 || scale >= d.scale {
		return d.Round(scale)
	}
	r := &Decimal{scale: max(scale, 0)}
	r.coef.Quo(&d.coef, pow10(d.scale-scale))
	if scale < 0 {
		r.coef.Mul(&r.coef, pow10(-scale))
	}
	return r
}

// Floor is the greatest whole number not above d.
func (d *Decimal) Floor() *Decimal {
	t := d.Trunc(0)
	if d.form == 0 && t.Cmp(d) > 0 {
		return t.Sub(DecimalFromInt(1))
	}
	return t
}

// Ceil is the least whole number not below d.
func (d *Decimal) Ceil() *Decimal { return d.Neg().Floor().Neg() }

// Int64 is d rounded half away from zero; ok is false when it does not fit or is not finite.
func (d *Decimal) Int64() (n int64, ok bool) {
	if d.form != 0 {
		return 0, false
	}
	r := d.Round(0)
	return r.coef.Int64(), r.coef.IsInt64()
}

// Float64 is the nearest double.
func (d *Decimal) Float64() float64 {
	f, _ := strconv.ParseFloat(d.String(), 64)
	return f
}

// PowInt is d^n, shown with 16 digits after the point or d's own scale if that is larger.
func (d *Decimal) PowInt(n int64) *Decimal {
	scale := min(max(int32(minSigDigits), d.scale), maxDisplayScale)
	p := new(Decimal)
	m := n
	if m < 0 {
		m = -m
	}
	p.coef.Exp(&d.coef, big.NewInt(m), nil)
	p.scale = d.scale * int32(m)
	if n < 0 {
		return DecimalFromInt(1).divScale(p, scale)
	}
	return p.Round(scale)
}

// normalized is the text form without zeros at the end of the fraction, so that equal numbers have equal text.
func normalized(s string) string {
	if strings.IndexByte(s, '.') < 0 {
		return s
	}
	n := len(s)
	for s[n-1] == '0' {
		n--
	}
	if s[n-1] == '.' {
		n--
	}
	if s[:n] == "-0" {
		return "0"
	}
	return s[:n]
}

// Shift is d with the point moved digits places to the left; the scale grows by as much.
func (d *Decimal) Shift(digits int32) *Decimal {
	r := &Decimal{scale: d.scale + digits, form: d.form}
	r.coef.Set(&d.coef)
	return r
}
