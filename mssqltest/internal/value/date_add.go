package value

// DayAndTicks returns the day since 0001-01-01 and the ticks of 100 ns of a date or time value; of a datetimeoffset in UTC.
func DayAndTicks(v Value, t Type) (int32, int64) {
	if t.ID == DateTimeOffset {
		return v.Days(), v.Ticks()
	}
	return LocalDayAndTicks(v, t)
}

// LocalDayAndTicks is DayAndTicks, of a datetimeoffset in its own offset.
func LocalDayAndTicks(v Value, _ Type) (int32, int64) {
	s := stampOf(v)
	return s.days, s.ticks
}

// AddToDate adds n times a date part, named in full and not tzoffset or iso_week, to v of type t, and says whether the
// result is in the type's range. Months keep the day as far as the month has it; a time goes round the clock.
func AddToDate(v Value, t Type, part string, n int64) (Value, bool) {
	s := stampOf(v)
	switch part {
	case "year":
		return addMonths(s, t, 12*n)
	case "quarter":
		return addMonths(s, t, 3*n)
	case "month":
		return addMonths(s, t, n)
	case "week":
		return addDays(s, t, 7*n)
	case "day", "dayofyear", "weekday":
		return addDays(s, t, n)
	case "nanosecond":
		return addTicks(v, s, t, roundDiv(n, 100))
	}
	unit := map[string]int64{"hour": 3600 * ticksPerSecond, "minute": ticksPerMinute, "second": ticksPerSecond, "millisecond": 10_000, "microsecond": 10}[part]
	days := n / (ticksPerDay / unit)
	if t.ID != Time {
		s.days += int32(days)
	}
	return addTicks(v, s, t, (n-days*(ticksPerDay/unit))*unit)
}

func addMonths(s stamp, t Type, n int64) (Value, bool) {
	y, m, d := CivilOf(s.days)
	at := int64(y)*12 + int64(m) - 1 + n
	if at < 12 || at >= 10000*12 {
		return Value{}, false
	}
	y, m = int(at/12), int(at%12)+1
	s.days = DaysOf(y, m, min(d, DaysIn(y, m)))
	return back(s, t)
}

func addDays(s stamp, t Type, n int64) (Value, bool) {
	d := int64(s.days) + n
	if d < 0 || d > maxDays {
		return Value{}, false
	}
	s.days = int32(d)
	return back(s, t)
}

// addTicks works on a datetime in its own ticks, so that what it cannot hold is rounded once.
func addTicks(v Value, s stamp, t Type, ticks int64) (Value, bool) {
	if t.ID == DateTime {
		whole := v.Ticks() + ticks/100000*3
		rest := roundDiv(ticks%100000*3, 100000)
		k := whole + rest
		d := s.days - daysTo1900
		for ; k < 0; k += dtTicksPerDay {
			d--
		}
		for ; k >= dtTicksPerDay; k -= dtTicksPerDay {
			d++
		}
		return NewDateTime(d, k), d >= daysTo1753 && d <= daysTo9999
	}
	return back(s.add(ticks), t)
}

// back turns a stamp into a value of type t again.
func back(s stamp, t Type) (Value, bool) {
	if t.ID == Time {
		return NewTime(s.round(t.Scale).ticks), true
	}
	if !s.valid() {
		return Value{}, false
	}
	v, err := stampTo(s, t, t)
	return v, err == nil
}

// AtOffset makes a datetimeoffset of what a clock at that offset shows.
func AtOffset(local Value, offsetMinutes int) (Value, bool) {
	s := stampOf(local)
	s.offset = offsetMinutes
	return s.dateTimeOffset()
}
