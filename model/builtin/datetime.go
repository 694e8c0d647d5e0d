package builtin

import (
	"math"
	"math/big"

	"simrun/model/types"
)

const (
	day    = types.MicrosPerDay
	hour   = day / 24
	minute = hour / 60
	second = minute / 60
)

func init() {
	op("+(date,int4) date", pure(func(a []V) V { return types.NewInt(types.Date, a[0].N+a[1].N) }))
	op("+(int4,date) date", pure(func(a []V) V { return types.NewInt(types.Date, a[0].N+a[1].N) }))
	op("-(date,int4) date", pure(func(a []V) V { return types.NewInt(types.Date, a[0].N-a[1].N) }))
	op("-(date,date) int4", pure(func(a []V) V { return types.NewInt4(int32(a[0].N - a[1].N)) }))
	for _, t := range []string{"timestamp", "timestamptz", "date"} {
		ret := t
		if t == "date" {
			ret = "timestamp"
		}
		k := kindOf(ret)
		op("+("+t+",interval) "+ret, func(_ Env, a []V) (V, error) { return addInterval(k, toMoment(a[0]).N, a[1], 1) })
		op("+(interval,"+t+") "+ret, func(_ Env, a []V) (V, error) { return addInterval(k, toMoment(a[1]).N, a[0], 1) })
		op("-("+t+",interval) "+ret, func(_ Env, a []V) (V, error) { return addInterval(k, toMoment(a[0]).N, a[1], -1) })
	}
	for _, t := range []string{"timestamp", "timestamptz"} {
		op("-("+t+","+t+") interval", func(_ Env, a []V) (V, error) {
			if !finite(a[0].N) || !finite(a[1].N) {
				return V{}, types.NewError("22008", "cannot subtract infinite timestamps")
			}
			d := a[0].N - a[1].N
			return types.NewInterval(0, d/day, d%day), nil
		})
		def("age("+t+","+t+") interval", pure(func(a []V) V { return age(a[0].N, a[1].N) }))
		def("isfinite("+t+") bool", pure(func(a []V) V { return types.NewBool(finite(a[0].N)) }))
		def("date_bin(interval,"+t+","+t+") "+t, dateBin)
	}
	op("+(interval,interval) interval", func(_ Env, a []V) (V, error) { return sumIntervals(a[0], a[1], 1) })
	op("-(interval,interval) interval", func(_ Env, a []V) (V, error) { return sumIntervals(a[0], a[1], -1) })
	op("-(interval) interval", func(_ Env, a []V) (V, error) { return sumIntervals(types.NewInterval(0, 0, 0), a[0], -1) })
	op("*(interval,float8) interval", func(_ Env, a []V) (V, error) { return scaleInterval(a[0], a[1].Float(), false) })
	op("*(float8,interval) interval", func(_ Env, a []V) (V, error) { return scaleInterval(a[1], a[0].Float(), false) })
	op("/(interval,float8) interval", func(_ Env, a []V) (V, error) {
		if a[1].Float() == 0 {
			return V{}, divisionByZero()
		}
		return scaleInterval(a[0], a[1].Float(), true)
	})

	def("make_interval(int4,int4,int4,int4,int4,int4,float8) interval", func(_ Env, a []V) (V, error) {
		secs := math.RoundToEven(a[6].Float() * second)
		if math.IsNaN(secs) || math.Abs(secs) > math.MaxInt64/2 {
			return V{}, types.NewError("22008", "interval out of range")
		}
		return types.CheckInterval(a[0].N*12+a[1].N, a[2].N*7+a[3].N, a[4].N*hour+a[5].N*minute+int64(secs))
	})
	def("make_date(int4,int4,int4) date", func(_ Env, a []V) (V, error) {
		y, m, d := a[0].N, a[1].N, a[2].N
		if y == 0 || m < 1 || m > 12 || d < 1 || d > types.DaysInMonth(y, m) {
			return V{}, types.Errorf("22008", "date field value out of range: %d-%02d-%02d", y, m, d)
		}
		if y < 0 {
			y++
		}
		return types.NewInt(types.Date, types.DaysFromCivil(y, m, d)), nil
	})
	def("to_timestamp(float8) timestamptz", func(_ Env, a []V) (V, error) {
		f := a[0].Float()
		switch {
		case math.IsNaN(f):
			return V{}, types.NewError("22008", "timestamp cannot be NaN")
		case math.IsInf(f, 1):
			return types.NewTimestamptz(types.Infinity), nil
		case math.IsInf(f, -1):
			return types.NewTimestamptz(types.MinusInfinity), nil
		case math.Abs(f) > 1e13:
			return V{}, types.Errorf("22008", "timestamp out of range: \"%g\"", f)
		}
		micros := int64(math.RoundToEven((f - unixEpoch) * second))
		return types.NewTimestamptz(micros), types.CheckTimestamp(micros)
	})
	def("justify_hours(interval) interval", pure(func(a []V) V {
		m, d, us := a[0].IntervalParts()
		d, us = d+us/day, us%day
		switch {
		case d > 0 && us < 0:
			d, us = d-1, us+day
		case d < 0 && us > 0:
			d, us = d+1, us-day
		}
		return types.NewInterval(m, d, us)
	}))
	def("justify_days(interval) interval", pure(func(a []V) V {
		m, d, us := a[0].IntervalParts()
		m, d = m+d/30, d%30
		switch {
		case m > 0 && d < 0:
			m, d = m-1, d+30
		case m < 0 && d > 0:
			m, d = m+1, d-30
		}
		return types.NewInterval(m, d, us)
	}))
	for _, t := range []string{"timestamp", "timestamptz", "interval"} {
		vol := option(func(*Func) {})
		if t == "timestamptz" {
			vol = stable
		}
		def("date_trunc(text,"+t+") "+t, func(_ Env, a []V) (V, error) { return dateTrunc(a[0].S, a[1]) }, vol)
	}
	for _, t := range []string{"date", "timestamp", "timestamptz", "interval"} {
		vol := option(func(*Func) {})
		if t == "timestamptz" {
			vol = stable
		}
		def("extract(text,"+t+") numeric", func(_ Env, a []V) (V, error) {
			d, err := extract(asciiLower(a[0].S), a[1])
			if err != nil || d == nil {
				return types.Null(types.Of(types.Numeric)), err
			}
			return d.Value(), nil
		}, vol)
		def("date_part(text,"+t+") float8", func(_ Env, a []V) (V, error) {
			d, err := extract(asciiLower(a[0].S), a[1])
			if err != nil || d == nil {
				return types.Null(types.Of(types.Float8)), err
			}
			return types.NewFloat8(d.Float64()), nil
		}, vol)
	}
	// x AT TIME ZONE zone; the session's zone is UTC, and only UTC is known.
	def("timezone(text,timestamptz) timestamp", func(_ Env, a []V) (V, error) {
		return types.NewInt(types.Timestamp, a[1].N), onlyUTC(a[0].S)
	})
	def("timezone(text,timestamp) timestamptz", func(_ Env, a []V) (V, error) {
		return types.NewTimestamptz(a[1].N), onlyUTC(a[0].S)
	})
}

const unixEpoch = 946684800 // 2000-01-01 in seconds of the Unix epoch

func onlyUTC(zone string) error {
	switch asciiLower(zone) {
	case "utc", "gmt", "z", "zulu", "etc/utc", "universal":
		return nil
	}
	return types.Errorf("0A000", "time zone \"%s\" is not supported", zone)
}

func finite(ts int64) bool { return ts != types.Infinity && ts != types.MinusInfinity }

// addInterval adds months (the day cut to the month's length), then days, then microseconds.
func addInterval(k types.Kind, ts int64, iv V, sign int64) (V, error) {
	if !finite(ts) {
		return types.NewInt(k, ts), nil
	}
	months, days, micros := iv.IntervalParts()
	if months != 0 {
		d, ofDay := types.SplitTimestamp(ts)
		y, m, dom := types.CivilFromDays(d)
		total := y*12 + m - 1 + sign*months
		y, m = total/12, total%12+1
		if m < 1 {
			y, m = y-1, m+12
		}
		ts = types.DaysFromCivil(y, m, min(dom, types.DaysInMonth(y, m)))*day + ofDay
	}
	sum := new(big.Int).Mul(big.NewInt(sign*days), big.NewInt(day))
	sum.Add(sum, big.NewInt(ts))
	if sign < 0 {
		sum.Sub(sum, big.NewInt(micros))
	} else {
		sum.Add(sum, big.NewInt(micros))
	}
	if !sum.IsInt64() {
		return V{}, types.NewError("22008", "timestamp out of range")
	}
	r := sum.Int64()
	return types.NewInt(k, r), types.CheckTimestamp(r)
}

func sumIntervals(a, b V, sign int64) (V, error) {
	m1, d1, u1 := a.IntervalParts()
	m2, d2, u2 := b.IntervalParts()
	micros, err := addInt(u1, sign*u2)
	if err != nil {
		return V{}, types.NewError("22008", "interval out of range")
	}
	return types.CheckInterval(m1+sign*m2, d1+sign*d2, micros)
}

// scaleInterval multiplies or divides; fractions of months go to days (30 each), fractions of days to seconds.
func scaleInterval(v V, factor float64, divide bool) (V, error) {
	months, days, micros := v.IntervalParts()
	scale := func(n int64) float64 {
		if divide {
			return float64(n) / factor
		}
		return float64(n) * factor
	}
	roundMicro := func(f float64) float64 { return math.RoundToEven(f*1e6) / 1e6 }
	m, d := scale(months), scale(days)
	if !(math.Abs(m) <= math.MaxInt32) || !(math.Abs(d) <= math.MaxInt32) {
		return V{}, types.NewError("22008", "interval out of range")
	}
	wholeM, wholeD := int64(m), int64(d)
	extraDays := roundMicro((m - float64(wholeM)) * 30)
	secs := roundMicro((d - float64(wholeD) + extraDays - math.Trunc(extraDays)) * 86400)
	if math.Abs(secs) >= 86400 {
		wholeD += int64(secs / 86400)
		secs -= math.Trunc(secs/86400) * 86400
	}
	wholeD += int64(extraDays)
	us := math.RoundToEven(scale(micros) + secs*second)
	if !(math.Abs(us) < math.MaxInt64) {
		return V{}, types.NewError("22008", "interval out of range")
	}
	return types.CheckInterval(wholeM, wholeD, int64(us))
}

// age is the difference in years, months and days, as a calendar counts them.
func age(a, b int64) V {
	if a < b {
		m, d, us := age(b, a).IntervalParts()
		return types.NewInterval(-m, -d, -us)
	}
	d1, t1 := types.SplitTimestamp(a)
	d2, t2 := types.SplitTimestamp(b)
	y1, m1, dom1 := types.CivilFromDays(d1)
	y2, m2, dom2 := types.CivilFromDays(d2)
	months, days, micros := (y1-y2)*12+m1-m2, dom1-dom2, t1-t2
	if micros < 0 {
		micros += day
		days--
	}
	if days < 0 {
		days += types.DaysInMonth(y2, m2)
		months--
	}
	return types.NewInterval(months, days, micros)
}

func dateBin(_ Env, a []V) (V, error) {
	m, d, us := a[0].IntervalParts()
	stride := d*day + us
	switch {
	case m != 0:
		return V{}, types.NewError("0A000", "timestamps cannot be binned into intervals containing months or years")
	case stride <= 0:
		return V{}, types.NewError("22008", "stride must be greater than zero")
	case !finite(a[1].N):
		return a[1], nil
	case !finite(a[2].N):
		return V{}, types.NewError("22008", "origin out of range")
	}
	diff := a[1].N - a[2].N
	bin := diff - diff%stride
	if diff < 0 && diff%stride != 0 {
		bin -= stride
	}
	return types.NewInt(a[1].T.Kind, a[2].N+bin), nil
}

func unitError(unit string, t types.Type) error {
	return types.Errorf("22023", "unit \"%s\" not recognized for type %s", unit, t)
}

func dateTrunc(unit string, v V) (V, error) {
	name := unit
	unit = asciiLower(unit)
	cut := map[string]int64{"second": second, "minute": minute, "hour": hour, "millisecond": 1000, "milliseconds": 1000,
		"microsecond": 1, "microseconds": 1, "seconds": second, "minutes": minute, "hours": hour}
	months := map[string]int64{"month": 1, "months": 1, "quarter": 3, "year": 12, "years": 12, "decade": 120, "century": 1200, "millennium": 12000}
	if v.T.Kind == types.Interval {
		m, d, us := v.IntervalParts()
		switch {
		case cut[unit] != 0:
			return types.NewInterval(m, d, us-us%cut[unit]), nil
		case unit == "day" || unit == "days":
			return types.NewInterval(m, d, 0), nil
		case months[unit] != 0:
			return types.NewInterval(m-m%months[unit], 0, 0), nil
		}
		return V{}, unitError(name, v.T)
	}
	if cut[unit] == 0 && months[unit] == 0 && unit != "day" && unit != "days" && unit != "week" {
		return V{}, unitError(name, v.T)
	}
	if !finite(v.N) {
		return v, nil
	}
	d, ofDay := types.SplitTimestamp(v.N)
	y, m, _ := types.CivilFromDays(d)
	switch {
	case cut[unit] != 0:
		return types.NewInt(v.T.Kind, d*day+ofDay-ofDay%cut[unit]), nil
	case unit == "day" || unit == "days":
		return types.NewInt(v.T.Kind, d*day), nil
	case unit == "week":
		return types.NewInt(v.T.Kind, (d-isoWeekday(d)+1)*day), nil
	}
	switch unit {
	case "month", "months":
	case "quarter":
		m = (m-1)/3*3 + 1
	default:
		m = 1
		step := months[unit] / 12
		if step > 10 {
			y-- // centuries begin with the year 1
		}
		y -= ((y % step) + step) % step
		if step > 10 {
			y++
		}
	}
	return types.NewInt(v.T.Kind, types.DaysFromCivil(y, m, 1)*day), nil
}

// isoWeekday is 1 for Monday to 7 for Sunday; 2000-01-01 was a Saturday.
func isoWeekday(d int64) int64 { return ((d+5)%7+7)%7 + 1 }

// extract is one field of a date, timestamp or interval; nil for NULL (fields of infinite values).
func extract(field string, v V) (*types.Decimal, error) {
	whole := func(n int64) (*types.Decimal, error) { return types.DecimalFromInt(n), nil }
	scaled := func(micros int64, scale int32) (*types.Decimal, error) {
		d := types.DecimalFromInt(micros)
		return d.Shift(scale), nil
	}
	if v.T.Kind == types.Interval {
		m, d, us := v.IntervalParts()
		switch field {
		case "epoch":
			secs := ((m/12)*36525/100*86400 + (m/12)*36525%100*864) + (m%12)*30*86400 + d*86400
			total := new(big.Int).Add(new(big.Int).Mul(big.NewInt(secs), big.NewInt(second)), big.NewInt(us))
			dec, _ := types.ParseDecimal(total.String())
			return dec.Shift(6), nil
		case "year":
			return whole(m / 12)
		case "month":
			return whole(m % 12)
		case "quarter":
			return whole(m%12/3 + 1)
		case "day":
			return whole(d)
		case "hour":
			return whole(us / hour)
		}
		return clockField(field, us, v.T, whole, scaled)
	}
	infinite := v.T.Kind == types.Date && (v.N == types.DateInfinity || v.N == types.DateMinusInfinity)
	ts := toMoment(v).N
	if infinite || !finite(ts) {
		switch field {
		case "epoch", "year", "decade", "century", "millennium", "julian", "isoyear":
			s := "Infinity"
			if ts < 0 {
				s = "-Infinity"
			}
			d, _ := types.ParseDecimal(s)
			return d, nil
		}
		return nil, nil
	}
	d, ofDay := types.SplitTimestamp(ts)
	y, m, dom := types.CivilFromDays(d)
	bcYear := y
	if y <= 0 {
		bcYear = y - 1
	}
	switch field {
	case "epoch":
		if v.T.Kind == types.Date {
			return whole(d*86400 + unixEpoch)
		}
		total := new(big.Int).Add(big.NewInt(ts), new(big.Int).Mul(big.NewInt(unixEpoch), big.NewInt(second)))
		dec, _ := types.ParseDecimal(total.String())
		return dec.Shift(6), nil
	case "year":
		return whole(bcYear)
	case "month":
		return whole(m)
	case "day":
		return whole(dom)
	case "quarter":
		return whole((m-1)/3 + 1)
	case "dow":
		return whole(isoWeekday(d) % 7)
	case "isodow":
		return whole(isoWeekday(d))
	case "doy":
		return whole(d - types.DaysFromCivil(y, 1, 1) + 1)
	case "week", "isoyear":
		thursday := d - isoWeekday(d) + 4
		iy, _, _ := types.CivilFromDays(thursday)
		if field == "isoyear" {
			return whole(iy)
		}
		return whole((thursday-types.DaysFromCivil(iy, 1, 1))/7 + 1)
	case "decade":
		return whole((y - ((y%10)+10)%10) / 10)
	case "century":
		if y > 0 {
			return whole((y + 99) / 100)
		}
		return whole(-((99 - y + 1) / 100))
	}
	if v.T.Kind == types.Date {
		switch field {
		case "hour", "minute", "second", "milliseconds", "microseconds", "timezone":
			return nil, types.Errorf("0A000", "unit \"%s\" not supported for type %s", field, v.T)
		}
		return nil, unitError(field, v.T)
	}
	switch field {
	case "hour":
		return whole(ofDay / hour)
	case "timezone", "timezone_hour", "timezone_minute":
		if v.T.Kind == types.Timestamptz {
			return whole(0)
		}
		return nil, types.Errorf("0A000", "unit \"%s\" not supported for type %s", field, v.T)
	}
	return clockField(field, ofDay, v.T, whole, scaled)
}

func clockField(field string, micros int64, t types.Type, whole func(int64) (*types.Decimal, error),
	scaled func(int64, int32) (*types.Decimal, error)) (*types.Decimal, error) {
	switch field {
	case "minute":
		return whole(micros / minute % 60)
	case "second":
		return scaled(micros%minute, 6)
	case "millisecond", "milliseconds":
		return scaled(micros%minute, 3)
	case "microsecond", "microseconds":
		return whole(micros % minute)
	}
	return nil, unitError(field, t)
}
