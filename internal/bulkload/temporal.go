package bulkload

import (
	"fmt"
	"time"

	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// Limits of the types, in days counted from 0001-01-01.
const (
	day1753  = 639_905
	dayAfter = tds.MaxDay + 1
	day2079  = epoch1900 + 65_535
)

const (
	dateTimePerDay = 86_400 * 300
	maxOffset      = 840 // minutes
)

// pow10i are the powers of ten up to a day's nanoseconds.
var pow10i = [10]int64{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}

// moment is a day counted from 0001-01-01 and a time of day in units of
// 10^-digits seconds.
type moment struct {
	days, tod int64
	digits    int
}

// momentOf splits a count of units since the source's epoch.
func (c *column) momentOf(v int64) moment {
	perDay := c.perDay
	d := v / perDay
	r := v - d*perDay
	if r < 0 {
		r += perDay
		d--
	}
	return moment{d + c.src.epoch, r, c.src.digits}
}

// split divides a timestamp by the day, with a division that the compiler knows
// for each unit; days count from 0001-01-01.
func (c *column) split(v int64) (days, tod int64) {
	switch c.src.digits {
	case 0:
		days = v / 86_400
	case 3:
		days = v / 86_400_000
	case 6:
		days = v / 86_400_000_000
	default:
		days = v / c.perDay
	}
	tod = v - days*c.perDay
	if tod < 0 {
		tod += c.perDay
		days--
	}
	return days + c.src.epoch, tod
}

// ofDateTime is a moment of 1/300 s since 1900, as the server shows it: in
// milliseconds.
func ofDateTime(ticks int64) moment {
	d := ticks / dateTimePerDay
	r := ticks - d*dateTimePerDay
	if r < 0 {
		r += dateTimePerDay
		d--
	}
	return moment{d + epoch1900, (r*10 + 1) / 3, 3}
}

// round takes the time of day to a number of digits; it may reach the end of the
// day.
func (m moment) round(digits int) (tod int64, exact bool) {
	if digits >= m.digits {
		return m.tod * pow10i[digits-m.digits], true
	}
	unit := pow10i[m.digits-digits]
	tod = m.tod / unit
	rem := m.tod - tod*unit
	if rem == 0 {
		return tod, true
	}
	if 2*rem >= unit {
		tod++
	}
	return tod, false
}

// text writes a moment for errors.
func (m moment) text() string {
	if m.days < 0 || m.days > tds.MaxDay {
		return fmt.Sprintf("a day of the year %d", time.Unix((m.days-unixEpoch)*86_400, 0).UTC().Year())
	}
	nanos := m.tod * pow10i[9-m.digits]
	b := sqltype.AppendDate(nil, int32(m.days-unixEpoch))
	return string(sqltype.AppendTime(append(b, 'T'), nanos, m.digits))
}

// lost is the error about digits that a column does not have.
func (c *column) lost(m moment) error {
	return fmt.Errorf("%s has more digits than %s, and on_lossy does not allow to round time", m.text(), c.typ)
}

func (c *column) outOfRange(m moment) error {
	return fmt.Errorf("%s is out of the range of %s", m.text(), c.typ)
}

// appendMoment adds a cell of date, datetime2, datetime or smalldatetime.
func (c *column) appendMoment(buf []byte, m moment) ([]byte, error) {
	switch c.wire.form {
	case formDate:
		if m.tod != 0 && !c.lossy.Time {
			return buf, c.lost(m)
		}
		if m.days < 0 || m.days > tds.MaxDay {
			return buf, c.outOfRange(m)
		}
		return append(buf, 3, byte(m.days), byte(m.days>>8), byte(m.days>>16)), nil
	case formDateTime2:
		return c.appendDateTime2(buf, m)
	case formDateTime:
		return c.appendDateTime(buf, m)
	}
	return c.appendSmallDateTime(buf, m)
}

// clock rounds to the column's fraction and carries into the next day.
func (c *column) clock(m moment) (days, tod int64, err error) {
	tod, exact := m.round(c.wire.scale)
	if !exact && !c.lossy.Time {
		return 0, 0, c.lost(m)
	}
	days = m.days
	if !exact && tod == 86_400*pow10i[c.wire.scale] {
		days, tod = days+1, 0
	}
	if days < 0 || days > tds.MaxDay {
		return 0, 0, c.outOfRange(m)
	}
	return days, tod, nil
}

// appendTicks adds a time of day in as many bytes as its scale has (2.2.5.5.1.8
// Date/Times).
func appendTicks(buf []byte, tod int64, scale int) []byte {
	switch {
	case scale <= 2:
		return append(buf, byte(tod), byte(tod>>8), byte(tod>>16))
	case scale <= 4:
		return append(buf, byte(tod), byte(tod>>8), byte(tod>>16), byte(tod>>24))
	}
	return append(buf, byte(tod), byte(tod>>8), byte(tod>>16), byte(tod>>24), byte(tod>>32))
}

func (c *column) appendDateTime2(buf []byte, m moment) ([]byte, error) {
	days, tod, err := c.clock(m)
	if err != nil {
		return buf, err
	}
	buf = appendTicks(append(buf, byte(c.wire.info.Size)), tod, c.wire.scale)
	return append(buf, byte(days), byte(days>>8), byte(days>>16)), nil
}

// appendDateTime rounds to 1/300 s. A time that the server would show the same is
// exact.
func (c *column) appendDateTime(buf []byte, m moment) ([]byte, error) {
	unit := pow10i[m.digits]
	tick := (m.tod*300 + unit/2) / unit
	if !c.lossy.Time && tick*unit != m.tod*300 {
		// The milliseconds that the server shows for the tick.
		if shown := (tick*10 + 1) / 3; m.digits < 3 || shown*pow10i[m.digits-3] != m.tod {
			return buf, c.lost(m)
		}
	}
	days := m.days
	if tick == dateTimePerDay {
		days, tick = days+1, 0
	}
	return c.appendDateTimeTicks(buf, days, tick, m)
}

// appendTicks300 adds a datetime in its own unit, counted from 1900.
func (c *column) appendTicks300(buf []byte, v int64) ([]byte, error) {
	d := v / dateTimePerDay
	r := v - d*dateTimePerDay
	if r < 0 {
		r += dateTimePerDay
		d--
	}
	return c.appendDateTimeTicks(buf, d+epoch1900, r, ofDateTime(v))
}

func (c *column) appendDateTimeTicks(buf []byte, days, tick int64, m moment) ([]byte, error) {
	if days < day1753 || days >= dayAfter {
		return buf, c.outOfRange(m)
	}
	return tds.AppendDateTime(append(buf, 8), int32(days-epoch1900), uint32(tick)), nil
}

func (c *column) appendSmallDateTime(buf []byte, m moment) ([]byte, error) {
	unit := 60 * pow10i[m.digits]
	minute := m.tod / unit
	if rem := m.tod - minute*unit; rem != 0 {
		if !c.lossy.Time {
			return buf, c.lost(m)
		}
		if 2*rem >= unit {
			minute++
		}
	}
	days := m.days
	if minute == 1440 {
		days, minute = days+1, 0
	}
	if days < epoch1900 || days > day2079 {
		return buf, c.outOfRange(m)
	}
	return tds.AppendSmallDateTime(append(buf, 4), uint16(days-epoch1900), uint16(minute)), nil
}

// appendOffset adds a cell of datetimeoffset: UTC and an offset in minutes.
func (c *column) appendOffset(buf []byte, m moment, minutes int64) ([]byte, error) {
	if minutes < -maxOffset || minutes > maxOffset {
		return buf, fmt.Errorf("the offset of %d minutes is more than 14 hours", minutes)
	}
	days, tod, err := c.clock(m)
	if err != nil {
		return buf, err
	}
	// The wall clock has to be in the range as well.
	wall := days*1440 + tod/(60*pow10i[c.wire.scale]) + minutes
	if wall < 0 || wall >= dayAfter*1440 {
		return buf, c.outOfRange(m)
	}
	buf = appendTicks(append(buf, byte(c.wire.info.Size)), tod, c.wire.scale)
	return append(buf, byte(days), byte(days>>8), byte(days>>16), byte(minutes), byte(minutes>>8)), nil
}

// offsetAt is the offset of the source's zone at a moment.
func (c *column) offsetAt(v int64) int64 {
	perSecond := pow10i[c.src.digits]
	sec := v / perSecond
	if v%perSecond < 0 {
		sec--
	}
	_, offset := time.Unix(sec, 0).In(c.src.zone).Zone()
	return int64(offset / 60)
}

// appendTime adds a time of day.
func (c *column) appendTime(buf []byte, v int64) ([]byte, error) {
	if v < 0 || v >= c.perDay {
		return buf, errNegative
	}
	m := moment{0, v, c.src.digits}
	tod, exact := m.round(c.wire.scale)
	if !exact {
		if !c.lossy.Time {
			return buf, fmt.Errorf("%s has more digits than %s, and on_lossy does not allow to round time", sqltype.AppendTime(nil, v*pow10i[9-m.digits], m.digits), c.typ)
		}
		tod = min(tod, 86_400*pow10i[c.wire.scale]-1)
	}
	return appendTicks(append(buf, byte(c.wire.info.Size)), tod, c.wire.scale), nil
}
