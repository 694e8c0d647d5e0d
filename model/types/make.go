package types

import "math"

// Null is the NULL of type t.
func Null(t Type) Value { return Value{T: t} }

// NewBool is a boolean.
func NewBool(b bool) Value {
	v := Value{T: Type{Kind: Bool}, Valid: true}
	if b {
		v.N = 1
	}
	return v
}

// NewInt is an integer of kind k (Int2, Int4, Int8, OID, XID8 ...); the caller has checked its range.
func NewInt(k Kind, n int64) Value { return Value{T: Type{Kind: k}, Valid: true, N: n} }

// NewInt4 is an integer of 32 bits.
func NewInt4(n int32) Value { return Value{T: Type{Kind: Int4}, Valid: true, N: int64(n)} }

// NewInt8 is an integer of 64 bits.
func NewInt8(n int64) Value { return Value{T: Type{Kind: Int8}, Valid: true, N: n} }

// NewFloat8 is a double precision number.
func NewFloat8(f float64) Value {
	return Value{T: Type{Kind: Float8}, Valid: true, N: int64(math.Float64bits(f))}
}

// NewFloat4 is a real: f rounded to single precision.
func NewFloat4(f float64) Value {
	return Value{T: Type{Kind: Float4}, Valid: true, N: int64(math.Float64bits(float64(float32(f))))}
}

// Float is the number in a Float8 or Float4.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.N)) }

// NewText is a text.
func NewText(s string) Value { return Value{T: Type{Kind: Text}, Valid: true, S: s} }

// NewString is a value of kind k whose payload sits in S.
func NewString(k Kind, s string) Value { return Value{T: Type{Kind: k}, Valid: true, S: s} }

// NewUnknown is an untyped literal.
func NewUnknown(s string) Value { return Value{Valid: true, S: s} }

// NewArray is the array of elems, all of kind k; it keeps the slice.
func NewArray(k Kind, elems []Value) Value {
	return Value{T: Type{Kind: Array, Elem: k}, Valid: true, L: &List{Elems: elems}}
}

// NewRecord is the row of elems; it keeps the slice.
func NewRecord(elems []Value) Value {
	return Value{T: Type{Kind: Record}, Valid: true, L: &List{Elems: elems}}
}

// Elems are the elements of an array or record.
func (v Value) Elems() []Value {
	if v.L == nil {
		return nil
	}
	return v.L.Elems
}

// True says whether v is a true boolean; NULL is not.
func (v Value) True() bool { return v.Valid && v.N != 0 }
