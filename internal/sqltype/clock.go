package sqltype

import "time"

// Units and origins of the inside forms of dates and times.
const (
	ticksPerSecond    = 10_000_000 // 100 ns
	datetimePerSecond = 300        // the unit of datetime: MS-TDS 2.2.5.5.1.8 "Date/Times"
	secondsPerDay     = 86_400
	daysTo1970        = 719_162 // from 0001-01-01
	days1900To1970    = 25_567
)

// TicksOf gives the wall clock of v as 100 ns ticks since 0001-01-01, the inside form of datetime2 and smalldatetime.
func TicksOf(v time.Time) int64 {
	return (wallSeconds(v)+daysTo1970*secondsPerDay)*ticksPerSecond + int64(v.Nanosecond())/100
}

// UTCTicksOf gives the instant v as 100 ns ticks since 0001-01-01 UTC, and its offset in minutes: the inside form of datetimeoffset.
func UTCTicksOf(v time.Time) (ticks int64, offsetMinutes int16) {
	_, offset := v.Zone()
	return (v.Unix()+daysTo1970*secondsPerDay)*ticksPerSecond + int64(v.Nanosecond())/100, int16(offset / 60)
}

// DateTimeTicksOf gives the wall clock of v as 1/300 s ticks since 1900-01-01, the inside form of datetime. A clock that was
// rounded to milliseconds gives the tick that it was rounded from.
func DateTimeTicksOf(v time.Time) int64 {
	return (wallSeconds(v)+days1900To1970*secondsPerDay)*datetimePerSecond + (int64(v.Nanosecond())*3+5_000_000)/10_000_000
}

// DaysOf gives the date of v as days since 1970-01-01, the inside form of date.
func DaysOf(v time.Time) int32 { return int32(floorDiv(wallSeconds(v), secondsPerDay)) }

// NanosOf gives the wall clock of v as nanoseconds since midnight, the inside form of time.
func NanosOf(v time.Time) int64 {
	s := wallSeconds(v)
	return (s-floorDiv(s, secondsPerDay)*secondsPerDay)*1_000_000_000 + int64(v.Nanosecond())
}

// wallSeconds counts the seconds from 1970-01-01 to what the clock shows, whatever its zone.
func wallSeconds(v time.Time) int64 {
	_, offset := v.Zone()
	return v.Unix() + int64(offset)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// civil is the date of a day number of the proleptic Gregorian calendar, counted from 0001-01-01.
func civil(days int64) (year, month, day int) {
	z := days + 306 // from 0000-03-01, so that a leap day ends its year
	era := floorDiv(z, 146_097)
	doe := z - era*146_097
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp) + 3
	year = int(yoe + era*400)
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}
