package types

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Times are counted from 2000-01-01 00:00 UTC, in microseconds or days, as Postgres counts them.
const (
	microsPerSec  = 1_000_000
	microsPerMin  = 60 * microsPerSec
	microsPerHour = 60 * microsPerMin
	// MicrosPerDay is the length of a day.
	MicrosPerDay = 24 * microsPerHour

	epochDays   = 10957 // days from 1970-01-01 to 2000-01-01
	epochMicros = epochDays * MicrosPerDay

	// Infinity and MinusInfinity are the timestamps of those names.
	Infinity      = math.MaxInt64
	MinusInfinity = math.MinInt64
	// DateInfinity and DateMinusInfinity are the dates of those names.
	DateInfinity      = math.MaxInt32
	DateMinusInfinity = math.MinInt32

	minTimestamp = -211813488000000000 // 4714-11-24 BC
	endTimestamp = 9223371331200000000 // 294277-01-01
	minDate      = -2451545
	endDate      = 2145031949 // 5874898-01-01
)

// FromTime is t as a timestamp.
func FromTime(t time.Time) int64 { return t.UnixMicro() - epochMicros }

// ToTime is the timestamp as a time in UTC.
func ToTime(micros int64) time.Time { return time.UnixMicro(micros + epochMicros).UTC() }

// NewTimestamptz is a timestamp with time zone.
func NewTimestamptz(micros int64) Value { return NewInt(Timestamptz, micros) }

// DaysFromCivil is the day number of a date of the proleptic Gregorian calendar, counted from 2000-01-01.
// Year 0 is 1 BC. (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".)
func DaysFromCivil(y, m, d int64) int64 {
	if m <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := (153*((m+9)%12)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468 - epochDays
}

// CivilFromDays is the inverse of DaysFromCivil.
func CivilFromDays(days int64) (y, m, d int64) {
	z := days + epochDays + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	y = yoe + era*400
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	if m > 12 {
		m -= 12
	}
	if m <= 2 {
		y++
	}
	return y, m, d
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// SplitTimestamp is a timestamp's day and the microseconds since that day's midnight.
func SplitTimestamp(micros int64) (days, ofDay int64) {
	days = floorDiv(micros, MicrosPerDay)
	return days, micros - days*MicrosPerDay
}

// DaysInMonth is the number of days of month m (1-12) of year y.
func DaysInMonth(y, m int64) int64 {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// CheckTimestamp is the error of a timestamp outside Postgres's range.
func CheckTimestamp(micros int64) error {
	if micros == Infinity || micros == MinusInfinity || micros >= minTimestamp && micros < endTimestamp {
		return nil
	}
	return NewError("22008", "timestamp out of range")
}

func appendDate(b []byte, days int64) []byte {
	switch days {
	case DateInfinity:
		return append(b, "infinity"...)
	case DateMinusInfinity:
		return append(b, "-infinity"...)
	}
	y, m, d := CivilFromDays(days)
	bc := y <= 0
	if bc {
		y = 1 - y
	}
	b = appendPadded(b, y, 4)
	b = append(b, '-')
	b = appendPadded(b, m, 2)
	b = append(b, '-')
	b = appendPadded(b, d, 2)
	if bc {
		b = append(b, " BC"...)
	}
	return b
}

func appendPadded(b []byte, n int64, width int) []byte {
	s := strconv.FormatInt(n, 10)
	for i := len(s); i < width; i++ {
		b = append(b, '0')
	}
	return append(b, s...)
}

// appendClock writes HH:MM:SS with the fraction's zeros at the end left out.
func appendClock(b []byte, micros int64) []byte {
	b = appendPadded(b, micros/microsPerHour, 2)
	b = append(b, ':')
	b = appendPadded(b, micros/microsPerMin%60, 2)
	b = append(b, ':')
	return appendSeconds(b, micros%microsPerMin)
}

func appendSeconds(b []byte, micros int64) []byte {
	b = appendPadded(b, micros/microsPerSec, 2)
	if frac := micros % microsPerSec; frac != 0 {
		b = append(b, '.')
		b = appendPadded(b, frac, 6)
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return b
}

func appendTimestamp(b []byte, micros int64, zone bool) []byte {
	switch micros {
	case Infinity:
		return append(b, "infinity"...)
	case MinusInfinity:
		return append(b, "-infinity"...)
	}
	days, ofDay := SplitTimestamp(micros)
	var bc []byte
	b = appendDate(b, days)
	if n := len(b) - 3; n >= 0 && string(b[n:]) == " BC" {
		b, bc = b[:n], []byte(" BC")
	}
	b = append(b, ' ')
	b = appendClock(b, ofDay)
	if zone {
		b = append(b, "+00"...)
	}
	return append(b, bc...)
}

// dateTime is what an ISO date-time text says.
type dateTime struct {
	days, micros int64
	hasTime      bool
	offset       int64 // microseconds east of UTC
	infinity     int   // 1 or -1 for the words
	outOfRange   bool
	badField     bool // a month or day that no date has: the order of the fields may be meant
}

// parseDateTime reads ISO 8601 dates with an optional time and zone, and the words epoch, infinity and -infinity.
// Postgres reads many more spellings; those that depend on the clock are the SQL front's business.
func parseDateTime(s string) (dt dateTime, ok bool) {
	w := strings.ToLower(strings.Trim(s, " \t\n\r\f\v"))
	switch w {
	case "infinity", "+infinity":
		return dateTime{infinity: 1}, true
	case "-infinity":
		return dateTime{infinity: -1}, true
	case "epoch":
		return dateTime{days: -epochDays, hasTime: true}, true
	}
	bc := false
	if rest, cut := strings.CutSuffix(w, " bc"); cut {
		w, bc = rest, true
	} else if rest, cut := strings.CutSuffix(w, " ad"); cut {
		w = rest
	}
	var y, m, d int64
	ys, rest := cutDigits(w)
	if len(ys) == 8 && (rest == "" || strings.IndexByte(" t", rest[0]) >= 0) {
		y, m, d = atoi(ys[:4]), atoi(ys[4:6]), atoi(ys[6:])
	} else {
		if len(ys) < 3 || rest == "" || rest[0] != '-' && rest[0] != '/' {
			return dt, false
		}
		sep := rest[0]
		ms, rest2 := cutDigits(rest[1:])
		if ms == "" || len(ms) > 2 || rest2 == "" || rest2[0] != sep {
			return dt, false
		}
		ds, rest3 := cutDigits(rest2[1:])
		if ds == "" || len(ds) > 2 || len(ys) > 7 {
			return dt, false
		}
		y, m, d, rest = atoi(ys), atoi(ms), atoi(ds), rest3
	}
	if bc {
		y = 1 - y
	} else if y == 0 {
		dt.outOfRange = true
	}
	if m < 1 || m > 12 || d < 1 || d > DaysInMonth(y, m) {
		dt.outOfRange, dt.badField = true, m < 1 || m > 12 || d < 1 || d > 31
		return dt, true
	}
	dt.days = DaysFromCivil(y, m, d)
	if rest == "" {
		return dt, true
	}
	if rest[0] == 't' || rest[0] == ' ' {
		rest = strings.TrimLeft(rest[1:], " ")
		micros, after, good, inRange := parseClock(rest)
		if good {
			dt.hasTime, dt.micros, rest = true, micros, after
			if !inRange {
				dt.outOfRange = true
			}
		}
	}
	off, good := parseZone(strings.TrimLeft(rest, " "))
	if !good {
		return dt, false
	}
	dt.offset = off
	return dt, true
}

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// parseClock reads HH:MM[:SS[.fraction]] with an optional am or pm.
func parseClock(s string) (micros int64, rest string, ok, inRange bool) {
	hs, rest := cutDigits(s)
	if len(hs) == 6 && !strings.HasPrefix(rest, ":") { // HHMMSS
		hs, rest = hs[:2], ":"+hs[2:4]+":"+hs[4:]+rest
	}
	if hs == "" || len(hs) > 2 || !strings.HasPrefix(rest, ":") {
		return 0, s, false, false
	}
	ms, rest := cutDigits(rest[1:])
	if ms == "" || len(ms) > 2 {
		return 0, s, false, false
	}
	h, m, sec, frac := atoi(hs), atoi(ms), int64(0), int64(0)
	if strings.HasPrefix(rest, ":") {
		var ss string
		if ss, rest = cutDigits(rest[1:]); ss == "" || len(ss) > 2 {
			return 0, s, false, false
		}
		sec = atoi(ss)
		if strings.HasPrefix(rest, ".") {
			var fs string
			fs, rest = cutDigits(rest[1:])
			frac = fractionMicros(fs)
		}
	}
	for _, half := range []string{" am", "am", " pm", "pm"} {
		if after, cut := strings.CutPrefix(rest, half); cut {
			rest = after
			if h > 12 {
				return 0, rest, true, false
			}
			h %= 12
			if strings.HasSuffix(half, "pm") {
				h += 12
			}
		}
	}
	micros = h*microsPerHour + m*microsPerMin + sec*microsPerSec + frac
	return micros, rest, true, h <= 24 && m < 60 && sec <= 60 && micros <= MicrosPerDay
}

// fractionMicros is a decimal fraction in microseconds, rounded.
func fractionMicros(digits string) int64 {
	if digits == "" {
		return 0
	}
	f, _ := strconv.ParseFloat("0."+digits, 64)
	return int64(math.RoundToEven(f * microsPerSec))
}

// parseZone reads Z, UTC, GMT, or +HH[[:]MM[:SS]]; nothing means UTC.
func parseZone(s string) (offset int64, ok bool) {
	switch s {
	case "", "z", "utc", "gmt", "zulu":
		return 0, true
	}
	sign := int64(1)
	switch s[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	hs, rest := cutDigits(s[1:])
	var h, m, sec int64
	switch {
	case len(hs) == 4 && rest == "":
		h, m = atoi(hs[:2]), atoi(hs[2:])
	case len(hs) == 1 || len(hs) == 2:
		h = atoi(hs)
		parts := strings.Split(rest, ":")
		if rest != "" && (parts[0] != "" || len(parts) > 3) {
			return 0, false
		}
		for i, p := range parts[min(1, len(parts)):] {
			if len(p) != 2 || !digitsOnly(p) {
				return 0, false
			}
			if i == 0 {
				m = atoi(p)
			} else {
				sec = atoi(p)
			}
		}
	default:
		return 0, false
	}
	if h > 15 || m > 59 || sec > 59 {
		return 0, false
	}
	return sign * (h*microsPerHour + m*microsPerMin + sec*microsPerSec), true
}

func badDateTime(t Type, s string) error {
	return Errorf("22007", "invalid input syntax for type %s: \"%s\"", t, s)
}

func rangeDateTime(s string, badField bool) error {
	e := Errorf("22008", "date/time field value out of range: \"%s\"", s)
	if badField {
		e.Hint = "Perhaps you need a different \"datestyle\" setting."
	}
	return e
}

func parseTimestamp(s string, t Type) (Value, error) {
	dt, ok := parseDateTime(s)
	switch {
	case !ok:
		return Value{}, badDateTime(t, s)
	case dt.infinity != 0:
		n := int64(Infinity)
		if dt.infinity < 0 {
			n = MinusInfinity
		}
		return NewInt(t.Kind, n), nil
	case dt.outOfRange:
		return Value{}, rangeDateTime(s, dt.badField)
	}
	if dt.days > endTimestamp/MicrosPerDay || dt.days < minTimestamp/MicrosPerDay-1 {
		return Value{}, Errorf("22008", "timestamp out of range: \"%s\"", s)
	}
	micros := dt.days*MicrosPerDay + dt.micros
	if t.Kind == Timestamptz {
		micros -= dt.offset
	}
	if CheckTimestamp(micros) != nil {
		return Value{}, Errorf("22008", "timestamp out of range: \"%s\"", s)
	}
	return NewInt(t.Kind, micros), nil
}

func parseDate(s string) (Value, error) {
	dt, ok := parseDateTime(s)
	switch {
	case !ok:
		return Value{}, badDateTime(Of(Date), s)
	case dt.infinity > 0:
		return NewInt(Date, DateInfinity), nil
	case dt.infinity < 0:
		return NewInt(Date, DateMinusInfinity), nil
	case dt.outOfRange:
		return Value{}, rangeDateTime(s, dt.badField)
	case dt.days < minDate || dt.days >= endDate:
		return Value{}, Errorf("22008", "date out of range: \"%s\"", s)
	}
	return NewInt(Date, dt.days), nil
}

func parseTime(s string) (Value, error) {
	micros, rest, ok, inRange := parseClock(strings.ToLower(strings.TrimSpace(s)))
	if !ok || rest != "" {
		return Value{}, badDateTime(Of(Time), s)
	}
	if !inRange {
		return Value{}, rangeDateTime(s, false)
	}
	return NewInt(Time, micros), nil
}
