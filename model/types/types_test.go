package types

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

func TestQuick(t *testing.T) {
	for _, c := range []struct{ in, typ, want string }{
		{"007", "int4", "7"}, {"1.50", "numeric", "1.50"}, {"1e3", "numeric", "1000"}, {"-0.0", "numeric", "0.0"}, {".5", "numeric", "0.5"},
		{"{1,2,NULL,\" a\"}", "text[]", `{1,2,NULL," a"}`}, {"1 year -2 days 3:04:05.5", "interval", "1 year -2 days +03:04:05.5"},
		{"2020-02-29 12:00:00.1+02", "timestamptz", "2020-02-29 10:00:00.1+00"}, {`{"bb":1,"a":[1.50,null]}`, "jsonb", `{"a": [1.50, null], "bb": 1}`},
		{"1e20", "float8", "1e+20"}, {"0.1", "float8", "0.1"}, {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
	} {
		typ, ok := ByName(c.typ)
		if !ok {
			t.Fatal(c.typ)
		}
		v, err := Parse(c.in, typ)
		if err != nil || v.Text() != c.want {
			t.Errorf("%s %q: %q %v, want %q", c.typ, c.in, v.Text(), err, c.want)
		}
	}
	v, err := FromGo([]int32{1, 2}, ArrayOf(Int8))
	t.Log(v.Text(), err)
	v, err = FromGo(pgtype.Numeric{}, Of(Numeric))
	t.Log(v.Valid, err)
	s := "x"
	v, err = FromGo(&s, Of(Text))
	t.Log(v.Text(), err)
	v, err = FromGo(map[string]any{"a": 1}, Of(JSONB))
	t.Log(v.Text(), err)
	v, err = FromGo(5, Of(Numeric))
	t.Log(v.Text(), err)
	v, err = FromGo(5, Of(Text))
	t.Log(v.Text(), err)
	v, err = FromGo(time.Second, Of(Interval))
	t.Log(v.Text(), err)
	v, err = FromGo(pgtype.Int8{Int64: 4, Valid: true}, Of(Int8))
	t.Log(v.Text(), err)
	var pe *Error
	_, err = FromGo("x", Of(Int4))
	t.Log(errors.As(err, &pe), err)
}
