package types

import (
	"database/sql/driver"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// maps keeps pgtype maps, which remember how they encoded and are not for use by several goroutines at once.
var maps = sync.Pool{New: func() any { return pgtype.NewMap() }}

// FromGo makes the value that a pgx client sends for the parameter arg of type t. Common Go types are converted here, all
// others through the text form that pgx gives them. An error without SQLSTATE means that pgx cannot encode arg.
func FromGo(arg any, t Type) (Value, error) {
	if t.Kind == Unknown {
		t = Of(Text)
	}
	switch a := arg.(type) {
	case nil:
		return Null(t), nil
	case Value:
		return Cast(a, t)
	case string:
		return Parse(a, t)
	case int:
		return fromInt(int64(a), t)
	case int64:
		return fromInt(a, t)
	case int32:
		return fromInt(int64(a), t)
	case int16:
		return fromInt(int64(a), t)
	case bool:
		if t.Kind == Bool {
			return NewBool(a), nil
		}
	case float64:
		if t.Kind == Float8 {
			return NewFloat8(a), nil
		}
	case []byte:
		switch {
		case a == nil:
			return Null(t), nil
		case t.Kind == Bytea:
			return NewString(Bytea, string(a)), nil
		case t.Kind == JSON || t.Kind == JSONB || t.Category() == 'S':
			return Parse(string(a), t)
		}
	case time.Time:
		switch t.Kind {
		case Timestamptz:
			return NewTimestamptz(FromTime(a)), nil
		case Timestamp: // pgx drops the zone and keeps the clock's face
			y, m, d := a.Date()
			micros := DaysFromCivil(int64(y), int64(m), int64(d))*MicrosPerDay +
				int64(a.Hour())*microsPerHour + int64(a.Minute())*microsPerMin + int64(a.Second())*microsPerSec + int64(a.Nanosecond()/1000)
			return NewInt(Timestamp, micros), nil
		}
	case [16]byte:
		if t.Kind == UUID {
			return NewString(UUID, string(a[:])), nil
		}
	}
	return fromEncoded(arg, t)
}

func fromInt(n int64, t Type) (Value, error) {
	switch t.Kind {
	case Int8:
		return NewInt(Int8, n), nil
	case Int4:
		if n == int64(int32(n)) {
			return NewInt(Int4, n), nil
		}
		return Value{}, fmt.Errorf("%d is greater than maximum value for int4", n)
	case Int2:
		if n == int64(int16(n)) {
			return NewInt(Int2, n), nil
		}
		return Value{}, fmt.Errorf("%d is greater than maximum value for int2", n)
	case OID:
		if n >= 0 && n <= math.MaxUint32 {
			return NewInt(OID, n), nil
		}
	}
	return fromEncoded(n, t)
}

// fromEncoded lets pgx write arg as text for type t and reads that.
func fromEncoded(arg any, t Type) (Value, error) {
	m := maps.Get().(*pgtype.Map)
	defer maps.Put(m)
	oid := t.OID()
	if _, known := m.TypeForOID(oid); !known {
		oid = pgtype.TextOID
	}
	buf, err := m.Encode(oid, pgtype.TextFormatCode, arg, nil)
	if err != nil {
		if valuer, ok := arg.(driver.Valuer); ok {
			if v, verr := valuer.Value(); verr == nil {
				if _, again := v.(driver.Valuer); !again {
					return FromGo(v, t)
				}
			}
		}
		return Value{}, fmt.Errorf("unable to encode %#v into text format for %s (OID %d): %w", arg, t.Typname(), oid, err)
	}
	if buf == nil {
		return Null(t), nil
	}
	return Parse(string(buf), t)
}
