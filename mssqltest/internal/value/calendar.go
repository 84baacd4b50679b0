package value

import "time"

// Days between the epochs and the ranges of the types.
const (
	daysTo1900 = 693595 // 0001-01-01 to 1900-01-01
	daysTo1753 = -53690 // from 1900-01-01
	maxDays    = 3652058
	daysTo9999 = maxDays - daysTo1900

	ticksPerSecond = 10_000_000
	ticksPerMinute = 60 * ticksPerSecond
	ticksPerDay    = 86400 * ticksPerSecond
	dtTicksPerDay  = 86400 * 300
	smallMaxDays   = 65535
)

// DaysOf returns the days since 0001-01-01 of a date; the day may lie outside of its month.
func DaysOf(year, month, day int) int32 {
	if month <= 2 {
		year--
	}
	era := year / 400
	yoe := year - era*400
	m := (month + 9) % 12
	doy := (153*m+2)/5 + day - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int32(era*146097 + doe - 306)
}

// CivilOf returns the date of days since 0001-01-01.
func CivilOf(days int32) (year, month, day int) {
	z := int(days) + 306
	era := z / 146097
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// DaysIn returns the length of a month.
func DaysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// stamp is a point in time as all date and time types have it: days since 0001-01-01, ticks of 100 ns of the day, local
// to the offset (minutes) for datetimeoffset.
type stamp struct {
	days   int32
	ticks  int64
	offset int
}

// add moves s by ticks of 100 ns.
func (s stamp) add(ticks int64) stamp {
	t := s.ticks + ticks%ticksPerDay
	s.days += int32(ticks / ticksPerDay)
	switch {
	case t < 0:
		t += ticksPerDay
		s.days--
	case t >= ticksPerDay:
		t -= ticksPerDay
		s.days++
	}
	s.ticks = t
	return s
}

func (s stamp) valid() bool { return s.days >= 0 && s.days <= maxDays }

// round cuts the ticks to scale digits of the second, half up; that may reach the next day.
func (s stamp) round(scale uint8) stamp {
	if scale >= 7 {
		return s
	}
	unit := int64(pow10[7-scale].lo)
	up := (s.ticks + unit/2) / unit * unit
	return stamp{s.days, s.ticks, s.offset}.add(up - s.ticks)
}

// stampOf reads v, a value of a date or time type.
func stampOf(v Value) stamp {
	switch v.id {
	case Date:
		return stamp{days: v.Days()}
	case Time:
		return stamp{days: daysTo1900, ticks: v.Ticks()}
	case DateTime:
		return stamp{days: v.Days() + daysTo1900, ticks: (v.Ticks()*100000 + 1) / 3}
	case SmallDateTime:
		return stamp{days: v.Days() + daysTo1900, ticks: v.Ticks() * ticksPerMinute}
	case DateTimeOffset:
		s := stamp{days: v.Days(), ticks: v.Ticks(), offset: int(v.offset)}
		return s.add(int64(v.offset) * ticksPerMinute)
	}
	return stamp{days: v.Days(), ticks: v.Ticks()}
}

// dateTime rounds s to a datetime: 1/300 s, half up.
func (s stamp) dateTime() (Value, bool) {
	t := (s.ticks*3 + 50000) / 100000
	d := s.days - daysTo1900
	if t >= dtTicksPerDay {
		t -= dtTicksPerDay
		d++
	}
	return NewDateTime(d, t), d >= daysTo1753 && d <= daysTo9999
}

// smallDateTime rounds s to a smalldatetime: 29.998 s and less down, 29.999 s and more up.
func (s stamp) smallDateTime() (Value, bool) {
	m := (s.ticks + 30*ticksPerSecond + 10000) / ticksPerMinute
	d := s.days - daysTo1900
	if m >= 1440 {
		m -= 1440
		d++
	}
	return NewSmallDateTime(d, m), d >= 0 && d <= smallMaxDays
}

// dateTimeOffset turns the local time s into a datetimeoffset.
func (s stamp) dateTimeOffset() (Value, bool) {
	u := s.add(-int64(s.offset) * ticksPerMinute)
	return NewDateTimeOffset(u.days, u.ticks, s.offset), u.valid() && s.valid()
}

// FromTime returns t as a datetimeoffset in t's zone.
func FromTime(t time.Time) Value {
	_, off := t.Zone()
	u := t.UTC()
	y, m, d := u.Date()
	ticks := int64(u.Hour()*3600+u.Minute()*60+u.Second())*ticksPerSecond + int64(u.Nanosecond()/100)
	return NewDateTimeOffset(DaysOf(y, int(m), d), ticks, off/60)
}

// LocalDateTime2 returns what a clock in t's zone shows, as a datetime2(7).
func LocalDateTime2(t time.Time) Value {
	s := stampOf(FromTime(t))
	return NewDateTime2(s.days, s.ticks)
}

// LocalDateTime returns what a clock in t's zone shows, as a datetime.
func LocalDateTime(t time.Time) Value {
	v, _ := stampOf(FromTime(t)).dateTime()
	return v
}

// GoTime returns v, of a date or time type, as a time.Time; one without offset is taken to be local to loc.
func (v Value) GoTime(loc *time.Location) time.Time {
	s := stampOf(v)
	if v.id == DateTimeOffset {
		loc = time.FixedZone("", int(v.offset)*60)
	}
	y, m, d := CivilOf(s.days)
	return time.Date(y, time.Month(m), d, 0, 0, int(s.ticks/ticksPerSecond), int(s.ticks%ticksPerSecond)*100, loc)
}
