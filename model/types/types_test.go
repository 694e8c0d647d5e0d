package types

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

// value generates a value of some type.
func value() *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		k := rapid.SampledFrom([]Kind{Bool, Int2, Int4, Int8, Float8, Numeric, Text, Bytea, UUID, Timestamptz, Date, Interval, JSONB, Array}).Draw(t, "kind")
		if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
			return Null(Of(k))
		}
		if k == Array {
			n := rapid.IntRange(0, 4).Draw(t, "n")
			elems := make([]Value, n)
			for i := range elems {
				elems[i] = scalar(t, Text)
			}
			return NewArray(Text, elems)
		}
		return scalar(t, k)
	})
}

func scalar(t *rapid.T, k Kind) Value {
	switch k {
	case Bool:
		return NewBool(rapid.Bool().Draw(t, "b"))
	case Int2:
		return NewInt(k, int64(rapid.Int16().Draw(t, "n")))
	case Int4, Date:
		if k == Date {
			return NewInt(k, rapid.Int64Range(minDate, endDate-1).Draw(t, "days"))
		}
		return NewInt(k, int64(rapid.Int32().Draw(t, "n")))
	case Int8:
		return NewInt8(rapid.Int64().Draw(t, "n"))
	case Timestamptz:
		return NewTimestamptz(rapid.Int64Range(minTimestamp, endTimestamp-1).Draw(t, "us"))
	case Float8:
		return NewFloat8(rapid.Float64().Draw(t, "f"))
	case Numeric:
		d := DecimalFromInt(rapid.Int64().Draw(t, "coef")).Shift(rapid.Int32Range(0, 30).Draw(t, "scale"))
		return d.Value()
	case UUID:
		return NewString(UUID, string(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))
	case Bytea:
		return NewString(Bytea, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
	case Interval:
		return NewInterval(int64(rapid.Int32Range(-5000, 5000).Draw(t, "m")), int64(rapid.Int32Range(-5000, 5000).Draw(t, "d")),
			rapid.Int64Range(-1e15, 1e15).Draw(t, "us"))
	case JSONB:
		j := &JSONValue{Kind: JSONString, Str: strings.ReplaceAll(rapid.String().Draw(t, "s"), "\x00", "")}
		return NewJSONObject([]string{rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "k1"), "b"},
			[]JSONValue{*j, {Kind: JSONNumber, Str: DecimalFromInt(rapid.Int64().Draw(t, "n")).String()}}).JSONB()
	}
	return NewText(rapid.String().Draw(t, "s"))
}

func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value().Draw(t, "v")
		if !v.Valid {
			return
		}
		back, err := Parse(v.Text(), v.T)
		if err != nil || !Equal(v, back) || Fingerprint(1, v) != Fingerprint(1, back) {
			t.Fatalf("%s %q reads back as %q, %v", v.T, v.Text(), back.Text(), err)
		}
	})
}

func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]Kind{Int8, Float8, Numeric, Text, Interval, JSONB, UUID}).Draw(t, "kind")
		a, b, c := scalar(t, k), scalar(t, k), scalar(t, k)
		sign := func(n int) int { return max(-1, min(1, n)) }
		if sign(Compare(a, b)) != -sign(Compare(b, a)) {
			t.Fatalf("order of %q and %q is not antisymmetric", a.Text(), b.Text())
		}
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
			t.Fatalf("order of %q, %q, %q is not transitive", a.Text(), b.Text(), c.Text())
		}
		if (Compare(a, b) == 0) != Equal(a, b) {
			t.Fatalf("order and equality of %q and %q disagree", a.Text(), b.Text())
		}
		if Equal(a, b) && Hash(7, a) != Hash(7, b) {
			t.Fatalf("%q and %q are equal with different hashes", a.Text(), b.Text())
		}
	})
}

func TestHashOfEqualNumerics(t *testing.T) {
	for _, pair := range [][2]string{{"1.0", "1.00"}, {"0", "0.000"}, {"-2.50", "-2.5"}, {"100", "100.0"}} {
		a, b := NewString(Numeric, pair[0]), NewString(Numeric, pair[1])
		if !Equal(a, b) || Hash(3, a) != Hash(3, b) {
			t.Errorf("%s and %s", pair[0], pair[1])
		}
		if Fingerprint(3, a) == Fingerprint(3, b) {
			t.Errorf("%s and %s print differently and have one fingerprint", pair[0], pair[1])
		}
	}
	if Hash(3, NewInt4(1)) == Hash(3, NewInt4(2)) || Hash(3, NewText("ab")) == Hash(3, NewText("ba")) {
		t.Error("different values, equal hashes")
	}
}

func TestDecimalAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := scalar(t, Numeric).Dec(), scalar(t, Numeric).Dec()
		rat := func(d *Decimal) *big.Rat { r, _ := new(big.Rat).SetString(d.String()); return r }
		for _, op := range []struct {
			name string
			have *Decimal
			want *big.Rat
		}{
			{"+", a.Add(b), new(big.Rat).Add(rat(a), rat(b))},
			{"-", a.Sub(b), new(big.Rat).Sub(rat(a), rat(b))},
			{"*", a.Mul(b), new(big.Rat).Mul(rat(a), rat(b))},
		} {
			if rat(op.have).Cmp(op.want) != 0 {
				t.Fatalf("%s %s %s = %s", a, op.name, b, op.have)
			}
		}
		if b.Sign() == 0 {
			return
		}
		q := a.Div(b)
		diff := new(big.Rat).Sub(rat(q), new(big.Rat).Quo(rat(a), rat(b)))
		half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), pow10(q.Scale())))
		if diff.Abs(diff).Cmp(half) > 0 {
			t.Fatalf("%s / %s = %s is not rounded to the nearest", a, b, q)
		}
		whole, rem := a.QuoRem(b)
		if whole.Mul(b).Add(rem).Cmp(a) != 0 {
			t.Fatalf("%s = %s * %s + %s", a, whole, b, rem)
		}
	})
}

func TestCalendarAgainstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int64Range(-700000, 700000).Draw(t, "days")
		y, m, d := CivilFromDays(days)
		want := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(days))
		if int(y) != want.Year() || int(m) != int(want.Month()) || int(d) != want.Day() || DaysFromCivil(y, m, d) != days {
			t.Fatalf("day %d is %d-%d-%d, time has %s", days, y, m, d, want)
		}
	})
	now := time.Date(2026, 2, 3, 4, 5, 6, 789000, time.UTC)
	if !ToTime(FromTime(now)).Equal(now) {
		t.Error("time does not come back")
	}
}

func TestIntRanges(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		text string
		code string
	}{{Int2, "32767", ""}, {Int2, "32768", "22003"}, {Int4, "-2147483648", ""}, {Int4, "-2147483649", "22003"}, {Int8, "9223372036854775808", "22003"},
		{Int4, "1_0", "22P02"}, {Int4, "0x1", "22P02"}, {Int4, "+", "22P02"}} {
		_, err := Parse(c.text, Of(c.kind))
		var e *Error
		got := ""
		if errors.As(err, &e) {
			got = e.Code
		}
		if got != c.code {
			t.Errorf("%s %q: %q, want %q", Of(c.kind), c.text, got, c.code)
		}
	}
}

func TestFromGo(t *testing.T) {
	text := "x"
	var none *string
	for _, c := range []struct {
		arg  any
		typ  Type
		want string
		null bool
		fail bool
	}{
		{arg: 5, typ: Of(Int4), want: "5"}, {arg: int64(math.MaxInt32) + 1, typ: Of(Int4), fail: true}, {arg: "5", typ: Of(Int4), want: "5"},
		{arg: 5, typ: Of(Text), fail: true}, {arg: 5, typ: Of(Numeric), want: "5"}, {arg: &text, typ: Of(Text), want: "x"}, {arg: none, typ: Of(Text), null: true},
		{arg: nil, typ: Of(Int8), null: true}, {arg: []int32{1, 2}, typ: ArrayOf(Int8), want: "{1,2}"}, {arg: []string{"a b", `"`}, typ: ArrayOf(Text), want: `{"a b","\""}`},
		{arg: pgtype.Int8{Int64: 4, Valid: true}, typ: Of(Int8), want: "4"}, {arg: pgtype.Int8{}, typ: Of(Int8), null: true},
		{arg: map[string]any{"a": 1}, typ: Of(JSONB), want: `{"a": 1}`}, {arg: []byte{1, 0xff}, typ: Of(Bytea), want: `\x01ff`},
		{arg: time.Second * 90, typ: Of(Interval), want: "00:01:30"}, {arg: [16]byte{15: 1}, typ: Of(UUID), want: "00000000-0000-0000-0000-000000000001"},
		{arg: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), typ: Of(Timestamptz), want: "2026-01-02 02:04:05+00"},
		{arg: true, typ: Of(Bool), want: "t"}, {arg: 1.5, typ: Of(Float8), want: "1.5"}, {arg: float32(1.5), typ: Of(Float4), want: "1.5"},
	} {
		v, err := FromGo(c.arg, c.typ)
		switch {
		case (err != nil) != c.fail:
			t.Errorf("%#v as %s: %v", c.arg, c.typ, err)
		case err == nil && (v.Valid == c.null || v.T != c.typ || v.Text() != c.want):
			t.Errorf("%#v as %s: %s %q", c.arg, c.typ, v.T, v.Text())
		}
	}
	var e *Error
	if _, err := FromGo("x", Of(Int4)); !errors.As(err, &e) || e.Code != "22P02" {
		t.Errorf("text that is no integer: %v", err)
	}
}

func TestNames(t *testing.T) {
	for k := Unknown; k < numKinds; k++ {
		if k == Array || k.IsPseudo() {
			continue
		}
		if got, ok := ByName(Of(k).Typname()); !ok || got != Of(k) {
			t.Errorf("%s is not found by its name", Of(k))
		}
		if got, ok := FromOID(Of(k).OID()); !ok || got != Of(k) {
			t.Errorf("%s is not found by its OID", Of(k))
		}
	}
	if got, ok := ByName("bigint[]"); !ok || got != ArrayOf(Int8) {
		t.Error("bigint[]")
	}
}

func TestHashDoesNotAllocate(t *testing.T) {
	vals := []Value{NewInt4(1), NewText("a text that is longer than a word"), NewString(Numeric, "12.500"), NewTimestamptz(5), NewBool(true)}
	if n := testing.AllocsPerRun(100, func() {
		h := uint64(1)
		for _, v := range vals {
			h = Fingerprint(Hash(h, v), v)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParse feeds arbitrary text to the input functions: they may refuse it but not panic, and what they accept prints to
// something that they accept again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "-1.5e3", "{1,NULL}", `{"a": [1, null]}`, "2024-02-29 12:00:00+02", "1 year -2 days", `\x0a`, "infinity", "{[1,3)}", "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for k := Unknown; k < numKinds; k++ {
			if k == Array || k.IsPseudo() || k == Record || k == Void || k == Trigger {
				continue
			}
			for _, typ := range []Type{Of(k), ArrayOf(k)} {
				v, err := Parse(s, typ)
				if err != nil {
					continue
				}
				if _, err := Parse(v.Text(), typ); err != nil {
					t.Fatalf("%s takes %q, prints %q and does not take that: %v", typ, s, v.Text(), err)
				}
			}
		}
	})
}
