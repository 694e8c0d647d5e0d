// Package types holds the values of the in-memory Postgres: what a column, a parameter or an expression can be,
// with the text forms, order and hash that Postgres gives them (Postgres documentation, chapter 8 "Data Types").
package types

// Kind is the type of a value. The order is part of the fingerprint: append, do not reorder.
type Kind uint8

// The kinds of value, each named as Postgres names the type.
const (
	Unknown Kind = iota // an untyped string literal or NULL before its type is resolved
	Bool
	Int2
	Int4
	Int8
	Float8
	Numeric
	Text
	Varchar
	Name
	Char // "char", one byte, as the catalogs use it
	Bytea
	UUID
	Timestamptz
	Timestamp
	Date
	Interval
	JSON
	JSONB
	OID
	Regclass
	XID8
	Record
	Void
	Trigger
	Array // with an element kind, see Type
	PgLSN
	Regtype
	Int8Multirange
	Float4
	Bpchar // character(n): blanks at the end do not count
	Time
	// The pseudo-types of polymorphic signatures (Postgres documentation 38.2.5). No value has one of them.
	Any
	AnyElement
	AnyArray
	AnyNonArray
	AnyCompatible
	AnyCompatibleArray
	numKinds
)

// Type is a kind, and for arrays the kind of the elements. The zero Type is Unknown.
type Type struct {
	Kind Kind
	Elem Kind // element kind when Kind is Array, otherwise Unknown
}

// Value is one SQL value. It is small, immutable and compared by its functions, never by ==, because numeric and
// arrays have several forms of one value. The zero Value is NULL of type unknown.
//
// Where the payload sits: Bool, Int2, Int4, Int8, OID, XID8, PgLSN in N (bool as 0 or 1); Float8 and Float4 in N as IEEE bits of a
// float64; Time in N as microseconds since midnight; Regclass and Regtype in N, with the name to show in S (it takes no part in
// comparisons);
// Timestamp, Timestamptz in N as microseconds since 2000-01-01 UTC; Date in N as days since 2000-01-01; Text, Varchar, Bpchar, Name,
// Char, JSON, JSONB (canonical text), Bytea (raw bytes), UUID (16 raw bytes), Numeric (canonical decimal text with its
// scale, e.g. "1.50") in S; Array and Record in L; Interval in L[0..2] (months, days, microseconds as Int8).
type Value struct {
	T     Type
	Valid bool // false is NULL
	N     int64
	S     string
	L     *List
}

// List is the payload of arrays and records: its elements, immutable once built.
// Arrays are one-dimensional with lower bound 1; other shapes are refused by the SQL front.
type List struct {
	Elems []Value
}
