package types

import (
	"math"
	"math/bits"
	"strings"
)

// Compare orders two values of the same family of types, as btree operators do: integers of any width, floats, numerics,
// strings byte by byte (collation C), and so on; NULL is equal to NULL and after everything else (as ORDER BY has it).
func Compare(a, b Value) int {
	if !a.Valid || !b.Valid {
		switch {
		case a.Valid:
			return -1
		case b.Valid:
			return 1
		}
		return 0
	}
	switch a.T.Kind {
	case Text, Varchar, Name, Char, Bytea, UUID, JSON, Unknown:
		return strings.Compare(a.S, b.S)
	case Bpchar:
		return strings.Compare(strings.TrimRight(a.S, " "), strings.TrimRight(b.S, " "))
	case Float8, Float4:
		return compareFloats(a.Float(), b.Float())
	case Numeric:
		return compareNumeric(a.S, b.S)
	case Interval:
		return compareIntervals(a, b)
	case JSONB:
		if a.S == b.S {
			return 0
		}
		return CompareJSON(a.JSON(), b.JSON())
	case XID8, PgLSN:
		switch {
		case uint64(a.N) < uint64(b.N):
			return -1
		case uint64(a.N) > uint64(b.N):
			return 1
		}
		return 0
	case Array, Record:
		x, y := a.Elems(), b.Elems()
		for i := 0; i < len(x) && i < len(y); i++ {
			if c := Compare(x[i], y[i]); c != 0 {
				return c
			}
		}
		return cmpInt(int64(len(x)), int64(len(y)))
	case Int8Multirange:
		x, y := a.Ranges(), b.Ranges()
		for i := 0; i < len(x) && i < len(y); i++ {
			if c := cmpInt(x[i][0], y[i][0]); c != 0 {
				return c
			}
			if c := cmpInt(x[i][1], y[i][1]); c != 0 {
				return c
			}
		}
		return cmpInt(int64(len(x)), int64(len(y)))
	}
	return cmpInt(a.N, b.N)
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareFloats takes NaN for equal to itself and greater than all else; zeros are equal.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	}
	return -1
}

func compareNumeric(a, b string) int {
	if a == b {
		return 0
	}
	x, _ := ParseDecimal(a)
	y, _ := ParseDecimal(b)
	return x.Cmp(y)
}

// Equal says whether two values of one family are equal; two NULLs are (callers that want SQL's = look at Valid first).
func Equal(a, b Value) bool {
	if a.Valid != b.Valid {
		return false
	}
	if !a.Valid {
		return true
	}
	switch a.T.Kind {
	case Int2, Int4, Int8, Bool, OID, Timestamptz, Timestamp, Date, Time, Regclass, Regtype, XID8, PgLSN:
		return a.N == b.N
	case Text, Varchar, Name, Char, Bytea, UUID, JSON, Unknown:
		return a.S == b.S
	case Array, Record:
		x, y := a.Elems(), b.Elems()
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return Compare(a, b) == 0
}

// Mixing constants: odd and with evenly spread bits (the golden ratio and two of its kin).
const (
	mix0 = 0x9e3779b97f4a7c15
	mix1 = 0xbf58476d1ce4e5b9
	mix2 = 0x94d049bb133111eb
)

// mix folds x into h. The product of 64 x 64 bits folded onto itself, as in wyhash.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^mix1, x^mix0)
	return hi ^ lo ^ mix2
}

// HashString folds the bytes of s into h.
func HashString(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for len(s) >= 8 {
		h = mix(h, load64(s))
		s = s[8:]
	}
	if len(s) > 0 {
		var x uint64
		for i := 0; i < len(s); i++ {
			x |= uint64(s[i]) << (8 * i)
		}
		h = mix(h, x)
	}
	return h
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Hash folds v into h so that equal values of one family (see Equal) give equal results. It is the same in every process
// and does not allocate for the common kinds.
func Hash(h uint64, v Value) uint64 {
	if !v.Valid {
		return mix(h, mix2)
	}
	switch v.T.Kind {
	case Text, Varchar, Name, Char, Bytea, UUID, JSON, Unknown, Int8Multirange:
		return HashString(h, v.S)
	case Bpchar:
		return HashString(h, strings.TrimRight(v.S, " "))
	case Float8, Float4:
		f := v.Float()
		switch {
		case f == 0:
			f = 0
		case math.IsNaN(f):
			f = math.NaN()
		}
		return mix(h, math.Float64bits(f))
	case Numeric:
		return HashString(h, normalized(v.S))
	case Interval:
		d, us := intervalSpan(v)
		return mix(mix(h, uint64(d)), uint64(us))
	case JSONB:
		return hashJSON(h, v.JSON())
	case Array, Record:
		h = mix(h, uint64(len(v.Elems())))
		for _, e := range v.Elems() {
			h = Hash(h, e)
		}
		return h
	}
	return mix(h, uint64(v.N))
}

func hashJSON(h uint64, j *JSONValue) uint64 {
	h = mix(h, uint64(j.Kind))
	if j.Kind == JSONNumber {
		return HashString(h, normalized(j.Str))
	}
	h = HashString(h, j.Str)
	for i := range j.Elems {
		if j.Kind == JSONObject {
			h = HashString(h, j.Keys[i])
		}
		h = hashJSON(h, &j.Elems[i])
	}
	return h
}

// Fingerprint folds v into h so that values with different text forms or types give different results, unlike Hash,
// for which 1.0 and 1.00 are one value.
func Fingerprint(h uint64, v Value) uint64 {
	h = mix(h, uint64(v.T.Kind)<<8|uint64(v.T.Elem))
	if !v.Valid {
		return mix(h, mix2)
	}
	if v.L != nil {
		h = mix(h, uint64(len(v.L.Elems)))
		for _, e := range v.L.Elems {
			h = Fingerprint(h, e)
		}
		return h
	}
	h = mix(h, uint64(v.N))
	if v.S != "" {
		h = HashString(h, v.S)
	}
	return h
}
