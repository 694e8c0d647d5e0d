package types

import (
	"math"
	"strings"
	"unicode/utf8"
)

// CastContext says where a conversion may be used (pg_cast.castcontext).
type CastContext uint8

// The contexts: an Implicit cast may be used anywhere, an Assignment cast also in assignments to a column, an Explicit
// one only when written.
const (
	Implicit CastContext = iota + 1
	Assignment
	Explicit
)

// castRules lists, for each source, the targets of pg_cast by the weakest context in which the cast is allowed.
var castRules = map[Kind]map[CastContext][]Kind{
	Bool:        {Explicit: {Int4}, Assignment: {Text, Bpchar, Varchar}},
	Char:        {Explicit: {Int4}, Implicit: {Text}, Assignment: {Bpchar, Varchar}},
	Name:        {Implicit: {Text}, Assignment: {Bpchar, Varchar}},
	Int2:        {Implicit: {Int8, Int4, OID, Float4, Float8, Numeric, Regclass, Regtype}},
	Int4:        {Explicit: {Bool, Char}, Implicit: {Int8, OID, Float4, Float8, Numeric, Regclass, Regtype}, Assignment: {Int2}},
	Int8:        {Assignment: {Int2, Int4}, Implicit: {OID, Float4, Float8, Numeric, Regclass, Regtype}},
	Text:        {Assignment: {Char}, Implicit: {Name, Bpchar, Varchar, Regclass}},
	Varchar:     {Assignment: {Char}, Implicit: {Name, Text, Bpchar, Regclass}},
	Bpchar:      {Assignment: {Char}, Implicit: {Name, Text, Varchar}},
	OID:         {Assignment: {Int8, Int4}, Implicit: {Regclass, Regtype}},
	Regclass:    {Assignment: {Int8, Int4}, Implicit: {OID}},
	Regtype:     {Assignment: {Int8, Int4}, Implicit: {OID}},
	JSON:        {Assignment: {JSONB}},
	JSONB:       {Assignment: {JSON}, Explicit: {Bool, Int2, Int4, Int8, Float4, Float8, Numeric}},
	Float4:      {Assignment: {Int2, Int4, Int8, Numeric}, Implicit: {Float8}},
	Float8:      {Assignment: {Int2, Int4, Int8, Float4, Numeric}},
	Numeric:     {Assignment: {Int2, Int4, Int8}, Implicit: {Float4, Float8}},
	Date:        {Implicit: {Timestamp, Timestamptz}},
	Time:        {Implicit: {Interval}},
	Timestamp:   {Assignment: {Date, Time}, Implicit: {Timestamptz}},
	Timestamptz: {Assignment: {Date, Time, Timestamp}},
	Interval:    {Assignment: {Time}},
}

// castTable is castRules by source and target; 0 is no entry.
var castTable = func() (t [numKinds][numKinds]CastContext) {
	for from, rules := range castRules {
		for ctx, targets := range rules {
			for _, to := range targets {
				t[from][to] = ctx
			}
		}
	}
	return t
}()

// CanCast says whether a value of type from can become one of type to in the given context.
func CanCast(from, to Type, ctx CastContext) bool {
	if from == to || from.Kind == Unknown {
		return true
	}
	if from.Kind == Array && to.Kind == Array {
		return CanCast(from.ElemType(), to.ElemType(), ctx)
	}
	if least := castTable[from.Kind][to.Kind]; least != 0 {
		return least <= ctx
	}
	if ctx >= Assignment && to.Category() == 'S' && from.Kind != Void && from.Kind != Trigger {
		return true
	}
	return ctx == Explicit && from.Category() == 'S' && !to.Kind.IsPseudo() && to.Kind != Void && to.Kind != Trigger
}

// SameForm says whether a value of type from is one of type to with nothing but its type changed.
func SameForm(from, to Type) bool {
	switch from.Kind {
	case Text, Varchar:
		return to.Kind == Text || to.Kind == Varchar
	case Int4, OID, Regclass, Regtype:
		return from.Kind != Int4 && (to.Kind == OID || to.Kind == Regclass || to.Kind == Regtype)
	}
	return from == to
}

// Cast converts v to type to. The caller has asked CanCast. Casts from and to regclass and regtype by name are the SQL
// front's business, since they need the catalog.
func Cast(v Value, to Type) (Value, error) {
	if v.T == to {
		return v, nil
	}
	if !v.Valid {
		return Null(to), nil
	}
	from := v.T.Kind
	switch {
	case from == Unknown:
		return Parse(v.S, to)
	case from == Array && to.Kind == Array:
		elems := make([]Value, len(v.Elems()))
		for i, e := range v.Elems() {
			c, err := Cast(e, to.ElemType())
			if err != nil {
				return Value{}, err
			}
			elems[i] = c
		}
		return NewArray(to.Elem, elems), nil
	}
	switch to.Kind {
	case Text, Varchar, Bpchar:
		return NewString(to.Kind, castText(v)), nil
	case Name:
		return NewString(Name, truncateName(castText(v))), nil
	case Char:
		if from == Int4 {
			if v.N < -128 || v.N > 127 {
				return Value{}, NewError("22003", `"char" out of range`)
			}
			return NewString(Char, string([]byte{byte(v.N)})), nil
		}
	case Int2, Int4, Int8:
		return castInt(v, to)
	case Float8, Float4:
		return castFloat(v, to)
	case Numeric:
		return castNumeric(v, to)
	case OID, Regclass, Regtype:
		switch from {
		case Int2, Int4:
			return NewInt(to.Kind, int64(uint32(v.N))), nil
		case OID, Regclass, Regtype:
			return NewInt(to.Kind, v.N), nil
		case Int8:
			if v.N < 0 || v.N > math.MaxUint32 {
				return Value{}, NewError("22003", "OID out of range")
			}
			return NewInt(to.Kind, v.N), nil
		}
	case Bool:
		switch from {
		case Int4:
			return NewBool(v.N != 0), nil
		case JSONB:
			j := v.JSON()
			if j.Kind != JSONBool {
				return Value{}, jsonCastError(j, to)
			}
			return NewBool(j.Str == "true"), nil
		}
	case JSON:
		if from == JSONB {
			return NewString(JSON, v.S), nil
		}
	case JSONB:
		if from == JSON {
			return v.JSON().JSONB(), nil
		}
	case Timestamp, Timestamptz:
		return castTimestamp(v, to)
	case Date:
		switch from {
		case Timestamp, Timestamptz:
			switch v.N {
			case Infinity:
				return NewInt(Date, DateInfinity), nil
			case MinusInfinity:
				return NewInt(Date, DateMinusInfinity), nil
			}
			d, _ := SplitTimestamp(v.N)
			return NewInt(Date, d), nil
		}
	case Time:
		switch from {
		case Timestamp, Timestamptz:
			_, us := SplitTimestamp(v.N)
			return NewInt(Time, us), nil
		case Interval:
			_, us := intervalSpan(v)
			return NewInt(Time, us), nil
		}
	case Interval:
		if from == Time {
			return NewInterval(0, 0, v.N), nil
		}
	}
	if v.T.Category() == 'S' {
		return Parse(v.S, to)
	}
	return Value{}, Errorf("42846", "cannot cast type %s to %s", v.T, to)
}

// castText is the text of v as a cast gives it: booleans in full, and blank-padded strings without their padding.
func castText(v Value) string {
	switch v.T.Kind {
	case Bool:
		if v.N != 0 {
			return "true"
		}
		return "false"
	case Bpchar:
		return strings.TrimRight(v.S, " ")
	}
	return v.Text()
}

// OutOfRange is the error of a result that does not fit an integer type.
func OutOfRange(t Type) *Error { return Errorf("22003", "%s out of range", t) }

// FitInt is n as a value of integer type k, or 22003.
func FitInt(k Kind, n int64) (Value, error) {
	switch k {
	case Int2:
		if n != int64(int16(n)) {
			return Value{}, OutOfRange(Of(k))
		}
	case Int4:
		if n != int64(int32(n)) {
			return Value{}, OutOfRange(Of(k))
		}
	}
	return NewInt(k, n), nil
}

func castInt(v Value, to Type) (Value, error) {
	switch v.T.Kind {
	case Int2, Int4, Int8, Bool, Regclass, Regtype, OID:
		if to.Kind == Int4 && (v.T.Kind == OID || v.T.Kind == Regclass || v.T.Kind == Regtype) {
			return NewInt(Int4, int64(int32(v.N))), nil
		}
		return FitInt(to.Kind, v.N)
	case Char:
		if v.S == "" {
			return NewInt(to.Kind, 0), nil
		}
		return NewInt(to.Kind, int64(int8(v.S[0]))), nil
	case Float8, Float4:
		f := math.RoundToEven(v.Float())
		if !(f >= -9223372036854775808.0 && f < 9223372036854775808.0) {
			return Value{}, OutOfRange(to)
		}
		return FitInt(to.Kind, int64(f))
	case JSONB:
		j := v.JSON()
		if j.Kind != JSONNumber {
			return Value{}, jsonCastError(j, to)
		}
		return castInt(NewString(Numeric, j.Str), to)
	case Numeric:
		d := v.Dec()
		switch {
		case d.IsNaN():
			return Value{}, Errorf("0A000", "cannot convert NaN to %s", to)
		case !d.IsFinite():
			return Value{}, Errorf("0A000", "cannot convert infinity to %s", to)
		}
		n, ok := d.Int64()
		if !ok {
			return Value{}, OutOfRange(to)
		}
		return FitInt(to.Kind, n)
	}
	if v.T.Category() == 'S' {
		return Parse(v.S, to)
	}
	return Value{}, Errorf("42846", "cannot cast type %s to %s", v.T, to)
}

func castFloat(v Value, to Type) (Value, error) {
	var f float64
	switch v.T.Kind {
	case Int2, Int4, Int8:
		f = float64(v.N)
	case Float8, Float4:
		f = v.Float()
	case Numeric:
		f = v.Dec().Float64()
	case JSONB:
		j := v.JSON()
		if j.Kind != JSONNumber {
			return Value{}, jsonCastError(j, to)
		}
		f = NewString(Numeric, j.Str).Dec().Float64()
	default:
		if v.T.Category() == 'S' {
			return Parse(v.S, to)
		}
		return Value{}, Errorf("42846", "cannot cast type %s to %s", v.T, to)
	}
	if to.Kind == Float8 {
		return NewFloat8(f), nil
	}
	r := NewFloat4(f)
	switch {
	case math.IsInf(r.Float(), 0) && !math.IsInf(f, 0):
		return Value{}, NewError("22003", "value out of range: overflow")
	case r.Float() == 0 && f != 0:
		return Value{}, NewError("22003", "value out of range: underflow")
	}
	return r, nil
}

func castNumeric(v Value, to Type) (Value, error) {
	switch v.T.Kind {
	case Int2, Int4, Int8:
		return DecimalFromInt(v.N).Value(), nil
	case Float8:
		return DecimalFromFloat(v.Float(), 15).Value(), nil
	case Float4:
		return DecimalFromFloat(v.Float(), 6).Value(), nil
	case JSONB:
		j := v.JSON()
		if j.Kind != JSONNumber {
			return Value{}, jsonCastError(j, to)
		}
		return NewString(Numeric, j.Str), nil
	}
	if v.T.Category() == 'S' {
		return Parse(v.S, to)
	}
	return Value{}, Errorf("42846", "cannot cast type %s to %s", v.T, to)
}

func jsonCastError(j *JSONValue, to Type) error {
	word := [...]string{"null", "string", "numeric", "boolean", "array", "object"}[j.Kind]
	return Errorf("22023", "cannot cast jsonb %s to type %s", word, to)
}

func castTimestamp(v Value, to Type) (Value, error) {
	switch v.T.Kind {
	case Timestamp, Timestamptz: // the session's time zone is UTC
		return NewInt(to.Kind, v.N), nil
	case Date:
		switch v.N {
		case DateInfinity:
			return NewInt(to.Kind, Infinity), nil
		case DateMinusInfinity:
			return NewInt(to.Kind, MinusInfinity), nil
		}
		if v.N >= endTimestamp/MicrosPerDay {
			return Value{}, NewError("22008", "date out of range for timestamp")
		}
		return NewInt(to.Kind, v.N*MicrosPerDay), nil
	}
	if v.T.Category() == 'S' {
		return Parse(v.S, to)
	}
	return Value{}, Errorf("42846", "cannot cast type %s to %s", v.T, to)
}

// Mod is a type modifier, as pg_attribute.atttypmod holds it: -1 for none, 4 plus the length of a varchar or char,
// 4 plus precision<<16|scale of a numeric, the precision of a timestamp.
type Mod int32

// NoMod is the absence of a modifier.
const NoMod Mod = -1

// NumericMod is the modifier of numeric(precision, scale).
func NumericMod(precision, scale int32) Mod { return Mod(precision<<16|scale&0x7ff) + 4 }

// FormatType is the type's name with its modifier, such as "character varying(10)".
func FormatType(t Type, m Mod) string {
	name := t.String()
	if m < 0 || t.Kind == Array && m < 4 {
		return name
	}
	base, brackets := name, ""
	kind := t.Kind
	if kind == Array {
		kind, base, brackets = t.Elem, infos[t.Elem].name, "[]"
	}
	switch kind {
	case Varchar, Bpchar:
		return Errorf("", "%s(%d)%s", base, int(m)-4, brackets).Message
	case Numeric:
		return Errorf("", "%s(%d,%d)%s", base, int(m-4)>>16, int(m-4)&0x7ff, brackets).Message
	case Timestamptz, Timestamp, Time:
		word, rest, _ := strings.Cut(base, " ")
		return Errorf("", "%s(%d) %s%s", word, int(m), rest, brackets).Message
	}
	return name
}

// ApplyMod makes v fit its type's modifier: it pads, rounds or cuts, or fails with 22001 or 22003. An explicit cast cuts
// strings that are too long, an assignment refuses them unless only blanks are lost.
func ApplyMod(v Value, m Mod, explicit bool) (Value, error) {
	if m < 0 || !v.Valid {
		return v, nil
	}
	switch v.T.Kind {
	case Varchar, Bpchar:
		limit := int(m) - 4
		n := utf8.RuneCountInString(v.S)
		if n > limit {
			cut := 0
			for range limit {
				_, w := utf8.DecodeRuneInString(v.S[cut:])
				cut += w
			}
			if !explicit && strings.TrimRight(v.S[cut:], " ") != "" {
				return Value{}, Errorf("22001", "value too long for type %s", FormatType(v.T, m))
			}
			return NewString(v.T.Kind, v.S[:cut]), nil
		}
		if v.T.Kind == Bpchar && n < limit {
			return NewString(Bpchar, v.S+strings.Repeat(" ", limit-n)), nil
		}
	case Numeric:
		precision, scale := int32(m-4)>>16, int32(m-4)&0x7ff
		if scale > 1023 {
			scale -= 2048
		}
		d := v.Dec()
		if d.IsNaN() {
			return v, nil
		}
		r := d.Round(scale)
		limit := new(Decimal)
		if precision >= scale {
			limit.coef.Set(pow10(precision - scale))
		} else {
			limit.coef.SetInt64(1)
			limit.scale = scale - precision
		}
		abs := r
		if r.Sign() < 0 {
			abs = r.Neg()
		}
		if !d.IsFinite() {
			return Value{}, NewError("22003", "numeric field overflow").WithDetail(
				"A field with precision %d, scale %d cannot hold an infinite value.", precision, scale)
		}
		if abs.Cmp(limit) >= 0 {
			bound := "1"
			if precision != scale {
				bound = Errorf("", "10^%d", precision-scale).Message
			}
			return Value{}, NewError("22003", "numeric field overflow").WithDetail(
				"A field with precision %d, scale %d must round to an absolute value less than %s.", precision, scale, bound)
		}
		return r.Value(), nil
	case Timestamptz, Timestamp, Time:
		if m < 6 && v.N != Infinity && v.N != MinusInfinity {
			unit := int64(math.Pow10(6 - int(m)))
			n := v.N
			if n >= 0 {
				n = (n + unit/2) / unit * unit
			} else {
				n = -((-n + unit/2) / unit * unit)
			}
			return NewInt(v.T.Kind, n), nil
		}
	case Array:
		elems := make([]Value, len(v.Elems()))
		for i, e := range v.Elems() {
			c, err := ApplyMod(e, m, explicit)
			if err != nil {
				return Value{}, err
			}
			elems[i] = c
		}
		return NewArray(v.T.Elem, elems), nil
	}
	return v, nil
}
