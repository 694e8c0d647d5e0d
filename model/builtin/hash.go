package builtin

import (
	"math"
	"math/bits"
	"strings"

	"simrun/model/types"
)

// The hash functions of Postgres's hash indexes, which protocols use to make lock keys of names: Bob Jenkins's lookup3 hash
// (burtleburtle.net/bob/hash/doobs.html, public domain) with Postgres's starting value, read as little-endian words.

type jenkins struct{ a, b, c uint32 }

func newJenkins(length int, seed uint64) jenkins {
	start := uint32(0x9e3779b9) + uint32(length) + 3923095
	j := jenkins{start, start, start}
	if seed != 0 {
		j.a += uint32(seed >> 32)
		j.b += uint32(seed)
		j.mix()
	}
	return j
}

func (j *jenkins) mix() {
	a, b, c := j.a, j.b, j.c
	a -= c
	a ^= bits.RotateLeft32(c, 4)
	c += b
	b -= a
	b ^= bits.RotateLeft32(a, 6)
	a += c
	c -= b
	c ^= bits.RotateLeft32(b, 8)
	b += a
	a -= c
	a ^= bits.RotateLeft32(c, 16)
	c += b
	b -= a
	b ^= bits.RotateLeft32(a, 19)
	a += c
	c -= b
	c ^= bits.RotateLeft32(b, 4)
	b += a
	j.a, j.b, j.c = a, b, c
}

func (j *jenkins) final() {
	a, b, c := j.a, j.b, j.c
	c ^= b
	c -= bits.RotateLeft32(b, 14)
	a ^= c
	a -= bits.RotateLeft32(c, 11)
	b ^= a
	b -= bits.RotateLeft32(a, 25)
	c ^= b
	c -= bits.RotateLeft32(b, 16)
	a ^= c
	a -= bits.RotateLeft32(c, 4)
	b ^= a
	b -= bits.RotateLeft32(a, 14)
	c ^= b
	c -= bits.RotateLeft32(b, 24)
	j.a, j.b, j.c = a, b, c
}

func hashBytes(s string, seed uint64) jenkins {
	j := newJenkins(len(s), seed)
	word := func(i int) uint32 {
		return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
	}
	for len(s) >= 12 {
		j.a += word(0)
		j.b += word(4)
		j.c += word(8)
		j.mix()
		s = s[12:]
	}
	for i := 0; i < len(s); i++ {
		x := uint32(s[i])
		switch {
		case i < 4:
			j.a += x << (8 * i)
		case i < 8:
			j.b += x << (8 * (i - 4))
		default: // the lowest byte of c is left for the length
			j.c += x << (8 * (i - 8 + 1))
		}
	}
	j.final()
	return j
}

func hashUint32(k uint32, seed uint64) jenkins {
	j := newJenkins(4, seed)
	j.a += k
	j.final()
	return j
}

// foldInt8 makes equal numbers of all integer widths hash alike.
func foldInt8(n int64) uint32 {
	lo, hi := uint32(n), uint32(uint64(n)>>32)
	if n >= 0 {
		return lo ^ hi
	}
	return lo ^ ^hi
}

// HashTextExtended is Postgres's hashtextextended, the usual maker of advisory lock keys.
func HashTextExtended(s string, seed int64) int64 {
	j := hashBytes(s, uint64(seed))
	return int64(uint64(j.b)<<32 | uint64(j.c))
}

// HashText is Postgres's hashtext.
func HashText(s string) int32 { return int32(hashBytes(s, 0).c) }

func init() {
	bytesOf := map[string]func(V) string{
		"hashtext(text":     func(v V) string { return v.S },
		"hashbpchar(bpchar": func(v V) string { return strings.TrimRight(v.S, " ") }, "uuid_hash(uuid": func(v V) string { return v.S },
		"hashname(name": func(v V) string { return v.S },
	}
	for sig, get := range bytesOf {
		defHash(sig, func(v V, seed uint64) jenkins { return hashBytes(get(v), seed) })
	}
	number := func(v V, seed uint64) jenkins { return hashUint32(foldInt8(v.N), seed) }
	defHash("hashint2(int2", number)
	defHash("hashint4(int4", number)
	defHash("hashint8(int8", number)
	defHash("hashoid(oid", func(v V, seed uint64) jenkins { return hashUint32(uint32(v.N), seed) })
	defHash("timestamp_hash(timestamp", number)
	defHash("hashfloat8(float8", func(v V, seed uint64) jenkins {
		f := v.Float()
		switch {
		case f == 0:
			return jenkins{b: uint32(seed >> 32), c: uint32(seed)}
		case math.IsNaN(f):
			f = math.NaN()
		}
		n := math.Float64bits(f)
		var b [8]byte
		for i := range b {
			b[i] = byte(n >> (8 * i))
		}
		return hashBytes(string(b[:]), seed)
	})
}

// defHash defines a hash function and its 64-bit form; sig is "name(type" without the end.
func defHash(sig string, hash func(v V, seed uint64) jenkins) {
	def(sig+") int4", pure(func(a []V) V { return types.NewInt4(int32(hash(a[0], 0).c)) }))
	name, typ, _ := strings.Cut(sig, "(")
	name = strings.TrimSuffix(name, "_hash") + map[bool]string{true: "_hash_extended", false: "extended"}[strings.HasSuffix(name, "_hash")]
	def(name+"("+typ+",int8) int8", pure(func(a []V) V {
		j := hash(a[0], uint64(a[1].N))
		return types.NewInt8(int64(uint64(j.b)<<32 | uint64(j.c)))
	}))
}
