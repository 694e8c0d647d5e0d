package types

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// NewInterval is an interval of months, days and microseconds, which Postgres keeps apart (documentation 8.5.4).
func NewInterval(months, days, micros int64) Value {
	return Value{T: Type{Kind: Interval}, Valid: true, L: &List{Elems: []Value{NewInt8(months), NewInt8(days), NewInt8(micros)}}}
}

// IntervalParts are the months, days and microseconds of an interval.
func (v Value) IntervalParts() (months, days, micros int64) {
	e := v.L.Elems
	return e[0].N, e[1].N, e[2].N
}

// CheckInterval is NewInterval with Postgres's range of the parts.
func CheckInterval(months, days, micros int64) (Value, error) {
	if months != int64(int32(months)) || days != int64(int32(days)) {
		return Value{}, NewError("22008", "interval out of range")
	}
	return NewInterval(months, days, micros), nil
}

// compareIntervals takes a month for 30 days and a day for 24 hours, as Postgres's order does.
func compareIntervals(a, b Value) int {
	ad, am := intervalSpan(a)
	bd, bm := intervalSpan(b)
	if ad != bd {
		if ad < bd {
			return -1
		}
		return 1
	}
	return cmpInt(am, bm)
}

// intervalSpan is an interval in whole days and the microseconds over.
func intervalSpan(v Value) (days, micros int64) {
	m, d, us := v.IntervalParts()
	extra := floorDiv(us, MicrosPerDay)
	return m*30 + d + extra, us - extra*MicrosPerDay
}

func appendInterval(b []byte, v Value) []byte {
	months, days, micros := v.IntervalParts()
	first, before := true, false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if !first {
			b = append(b, ' ')
		}
		if before && n > 0 {
			b = append(b, '+')
		}
		b = strconv.AppendInt(b, n, 10)
		b = append(b, ' ')
		b = append(b, unit...)
		if n != 1 {
			b = append(b, 's')
		}
		first, before = false, n < 0
	}
	part(months/12, "year")
	part(months%12, "mon")
	part(days, "day")
	if !first && micros == 0 {
		return b
	}
	if !first {
		b = append(b, ' ')
	}
	u := uint64(micros)
	if micros < 0 {
		b = append(b, '-')
		u = -u
	} else if before {
		b = append(b, '+')
	}
	b = appendPadded(b, int64(u/microsPerHour), 2)
	b = append(b, ':')
	b = appendPadded(b, int64(u/microsPerMin%60), 2)
	b = append(b, ':')
	return appendSeconds(b, int64(u%microsPerMin))
}

// intervalUnits gives each unit's name its months, days or microseconds.
var intervalUnits = map[string]struct{ months, days, micros int64 }{
	"year": {months: 12}, "years": {months: 12}, "y": {months: 12}, "yr": {months: 12}, "yrs": {months: 12},
	"decade": {months: 120}, "decades": {months: 120}, "century": {months: 1200}, "centuries": {months: 1200},
	"month": {months: 1}, "months": {months: 1}, "mon": {months: 1}, "mons": {months: 1},
	"week": {days: 7}, "weeks": {days: 7}, "w": {days: 7},
	"day": {days: 1}, "days": {days: 1}, "d": {days: 1},
	"hour": {micros: microsPerHour}, "hours": {micros: microsPerHour}, "h": {micros: microsPerHour},
	"hr": {micros: microsPerHour}, "hrs": {micros: microsPerHour},
	"minute": {micros: microsPerMin}, "minutes": {micros: microsPerMin}, "min": {micros: microsPerMin},
	"mins": {micros: microsPerMin}, "m": {micros: microsPerMin},
	"second": {micros: microsPerSec}, "seconds": {micros: microsPerSec}, "sec": {micros: microsPerSec},
	"secs": {micros: microsPerSec}, "s": {micros: microsPerSec},
	"millisecond": {micros: 1000}, "milliseconds": {micros: 1000}, "ms": {micros: 1000}, "msec": {micros: 1000},
	"msecs": {micros: 1000}, "microsecond": {micros: 1}, "microseconds": {micros: 1}, "us": {micros: 1}, "usec": {micros: 1},
	"usecs": {micros: 1},
}

// intervalSum adds up the fields of an interval text.
type intervalSum struct {
	months, days, micros int64
	overflow             bool
}

// add adds number units; what is left of a fraction goes to the next smaller part, as Postgres spreads it.
func (p *intervalSum) add(number string, unit struct{ months, days, micros int64 }) bool {
	whole, frac := number, 0.0
	if w, f, ok := strings.Cut(number, "."); ok {
		if f != "" && !digitsOnly(f) {
			return false
		}
		whole = w
		frac, _ = strconv.ParseFloat("0."+f+"0", 64)
		if strings.HasPrefix(number, "-") {
			frac = -frac
		}
	}
	if whole == "" || whole == "-" || whole == "+" {
		whole += "0"
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		p.overflow = true
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
			return true
		}
		return false
	}
	mul := func(k int64) int64 {
		r := new(big.Int).Mul(big.NewInt(n), big.NewInt(k))
		if !r.IsInt64() {
			p.overflow = true
			return 0
		}
		return r.Int64()
	}
	p.months += mul(unit.months)
	p.days += mul(unit.days)
	p.micros += mul(unit.micros)
	switch {
	case frac == 0:
	case unit.months > 1:
		p.months += int64(math.RoundToEven(frac * float64(unit.months)))
	case unit.months == 1:
		p.addDays(frac * 30)
	case unit.days > 0:
		p.addDays(frac * float64(unit.days))
	default:
		p.micros += int64(math.RoundToEven(frac * float64(unit.micros)))
	}
	return true
}

func (p *intervalSum) addDays(f float64) {
	d := math.Trunc(f)
	p.days += int64(d)
	p.micros += int64(math.RoundToEven((f - d) * MicrosPerDay))
}

// clock adds [-]HH:MM[:SS[.fraction]].
func (p *intervalSum) clock(s string) bool {
	neg := strings.HasPrefix(s, "-")
	parts := strings.Split(strings.TrimLeft(s, "+-"), ":")
	if len(parts) > 3 {
		return false
	}
	units := []int64{microsPerHour, microsPerMin, microsPerSec}
	if len(parts) == 2 && strings.Contains(parts[1], ".") {
		units = units[1:] // MM:SS.fraction
	}
	total := int64(0)
	for i, part := range parts {
		var frac string
		if i == len(parts)-1 {
			part, frac, _ = strings.Cut(part, ".")
		}
		if part == "" || !digitsOnly(part) || !digitsOnly(frac) || i > 0 && atoi(part) > 59 {
			return false
		}
		total += atoi(part)*units[i] + fractionMicros(frac)
	}
	if neg {
		total = -total
	}
	p.micros += total
	return true
}

func parseInterval(s string) (Value, error) {
	bad := func() (Value, error) { return Value{}, badDateTime(Of(Interval), s) }
	w := strings.ToLower(strings.Trim(s, " \t\n\r\f\v"))
	if strings.HasPrefix(w, "p") {
		sum, ok := parseISOInterval(w[1:])
		if !ok {
			return bad()
		}
		return sum.value(s)
	}
	ago := false
	if rest, cut := strings.CutSuffix(w, " ago"); cut {
		w, ago = rest, true
	}
	w = strings.TrimSpace(strings.TrimPrefix(w, "@"))
	var sum intervalSum
	fields := strings.Fields(w)
	if len(fields) == 0 {
		return bad()
	}
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if strings.Contains(f, ":") {
			if !sum.clock(f) {
				return bad()
			}
			continue
		}
		n := 0
		for n < len(f) && (f[n] >= '0' && f[n] <= '9' || f[n] == '.' || n == 0 && (f[n] == '-' || f[n] == '+')) {
			n++
		}
		number, unit := f[:n], f[n:]
		if number == "" || number == "-" || number == "+" || number == "." {
			return bad()
		}
		if unit == "" {
			switch {
			case i+1 < len(fields) && !strings.Contains(fields[i+1], ":"):
				i++
				unit = fields[i]
			case i+1 < len(fields):
				unit = "day" // "1 04:05:06"
			default:
				unit = "second"
			}
		}
		u, ok := intervalUnits[unit]
		if !ok || !sum.add(number, u) {
			return bad()
		}
	}
	if ago {
		sum.months, sum.days, sum.micros = -sum.months, -sum.days, -sum.micros
	}
	return sum.value(s)
}

func (p *intervalSum) value(s string) (Value, error) {
	if p.overflow || p.months != int64(int32(p.months)) || p.days != int64(int32(p.days)) {
		return Value{}, Errorf("22015", "interval field value out of range: \"%s\"", s)
	}
	return NewInterval(p.months, p.days, p.micros), nil
}

// parseISOInterval reads what follows the P of an ISO 8601 duration.
func parseISOInterval(w string) (sum intervalSum, ok bool) {
	inTime := false
	if w == "" {
		return sum, false
	}
	for w != "" {
		if w[0] == 't' && !inTime {
			inTime = true
			w = w[1:]
			continue
		}
		n := 0
		for n < len(w) && strings.IndexByte("0123456789.+-", w[n]) >= 0 {
			n++
		}
		if n == 0 || n == len(w) {
			return sum, false
		}
		unit := map[bool]map[byte]string{
			false: {'y': "year", 'm': "month", 'w': "week", 'd': "day"},
			true:  {'h': "hour", 'm': "minute", 's': "second"},
		}[inTime][w[n]]
		u, known := intervalUnits[unit]
		if !known || !sum.add(w[:n], u) {
			return sum, false
		}
		w = w[n+1:]
	}
	return sum, true
}
