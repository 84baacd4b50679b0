package body

import (
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/internal/sqltype"
)

var errNotTime = errors.New("is not a date or time as 2006-01-02, 15:04:05.999, 2006-01-02T15:04:05.999 or with a zone at its end")

const (
	secondsPerDay  = 86_400
	ticksPerSecond = 10_000_000
	daysTo1970     = 719_162
	days1900       = 25_567 // from 1900-01-01 to 1970-01-01
	lastDay        = 3_652_058
)

// clock is a date, a time of day, or both, with or without an offset.
type clock struct {
	date, time, zone bool
	instant          bool  // a time.Time, which has a date and a zone whether they mean something or not
	day              int64 // from 0001-01-01
	second           int64 // of the day
	nanos            int64
	more             bool // there are digits beyond the nanoseconds
	offset           int  // minutes
}

func clockOf(t time.Time) clock {
	_, offset := t.Zone()
	wall := t.Unix() + int64(offset) + daysTo1970*secondsPerDay
	day := wall / secondsPerDay
	if wall%secondsPerDay < 0 {
		day--
	}
	return clock{date: true, time: true, zone: true, instant: true, day: day, second: wall - day*secondsPerDay, nanos: int64(t.Nanosecond()), offset: offset / 60}
}

// parseClock reads ISO 8601 as SQL Server, RFC 3339 and our own messages write it, with any number of digits.
func parseClock(s []byte) (c clock, err error) {
	p := clockParser{s: s}
	if len(s) >= 5 && s[4] == '-' {
		p.parseDate(&c)
		if !p.bad && len(p.s) > 0 && (p.s[0] == 'T' || p.s[0] == 't' || p.s[0] == ' ') {
			p.s = p.s[1:]
			p.parseTime(&c)
		}
	} else {
		p.parseTime(&c)
	}
	if p.bad || len(p.s) > 0 {
		return c, errNotTime
	}
	return c, nil
}

type clockParser struct {
	s   []byte
	bad bool
}

// number takes n digits.
func (p *clockParser) number(n int) int {
	if digitsAt(p.s, 0) < n {
		p.bad = true
		return 0
	}
	v := 0
	for _, c := range p.s[:n] {
		v = v*10 + int(c-'0')
	}
	p.s = p.s[n:]
	return v
}

func (p *clockParser) sep(c byte) {
	if len(p.s) == 0 || p.s[0] != c {
		p.bad = true
		return
	}
	p.s = p.s[1:]
}

func (p *clockParser) parseDate(c *clock) {
	y := p.number(4)
	p.sep('-')
	m := p.number(2)
	p.sep('-')
	d := p.number(2)
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if p.bad || y < 1 || m < 1 || m > 12 || d < 1 || t.Day() != d {
		p.bad = true
		return
	}
	c.date, c.day = true, t.Unix()/secondsPerDay+daysTo1970
	if t.Unix()%secondsPerDay < 0 {
		c.day--
	}
}

func (p *clockParser) parseTime(c *clock) {
	h := p.number(2)
	p.sep(':')
	m := p.number(2)
	s := 0
	if len(p.s) > 0 && p.s[0] == ':' {
		p.s = p.s[1:]
		s = p.number(2)
		if len(p.s) > 0 && p.s[0] == '.' {
			p.s = p.s[1:]
			p.fraction(c)
		}
	}
	if p.bad || h > 23 || m > 59 || s > 59 {
		p.bad = true
		return
	}
	c.time, c.second = true, int64(h*3600+m*60+s)
	if len(p.s) > 1 && p.s[0] == ' ' {
		p.s = p.s[1:]
	}
	p.zone(c)
}

func (p *clockParser) fraction(c *clock) {
	n := digitsAt(p.s, 0)
	if n == 0 {
		p.bad = true
		return
	}
	for i := range 9 {
		c.nanos *= 10
		if i < n {
			c.nanos += int64(p.s[i] - '0')
		}
	}
	for i := 9; i < n; i++ {
		c.more = c.more || p.s[i] != '0'
	}
	p.s = p.s[n:]
}

func (p *clockParser) zone(c *clock) {
	if len(p.s) == 0 {
		return
	}
	sign := 1
	switch p.s[0] {
	case 'Z', 'z':
		p.s, c.zone = p.s[1:], true
		return
	case '-':
		sign = -1
	case '+':
	default:
		p.bad = true
		return
	}
	p.s = p.s[1:]
	h := p.number(2)
	p.sep(':')
	m := p.number(2)
	if p.bad || m > 59 || h*60+m > 14*60 {
		p.bad = true
		return
	}
	c.zone, c.offset = true, sign*(h*60+m)
}

// utc moves a clock with an offset to UTC.
func (c clock) utc() clock {
	if !c.zone || c.offset == 0 {
		return c
	}
	s := c.second - int64(c.offset)*60
	for s < 0 {
		s += secondsPerDay
		c.day--
	}
	for s >= secondsPerDay {
		s -= secondsPerDay
		c.day++
	}
	c.second, c.offset = s, 0
	return c
}

// round cuts the nanoseconds to so many digits, half up, and tells whether that lost anything. A full second stays in nanos.
func (c *clock) round(digits int) (lost bool) {
	unit := unitOf(digits)
	rest := c.nanos % unit
	lost = rest != 0 || c.more
	c.nanos -= rest
	if rest*2 >= unit {
		c.nanos += unit
	}
	return lost
}

// unitOf is the nanoseconds of the last of so many digits, of which there are at most seven.
func unitOf(digits int) int64 {
	unit := int64(1)
	for range 9 - digits {
		unit *= 10
	}
	return unit
}

// ticks is 100 ns since 0001-01-01.
func (c clock) ticks() int64 {
	return (c.day*secondsPerDay+c.second)*ticksPerSecond + c.nanos/100
}

const lastTick = (lastDay+1)*secondsPerDay*ticksPerSecond - 1

// fromClock puts a date or time into a column. An offset is kept by datetimeoffset; the other types get the time in UTC.
func (d *Decoder) fromClock(i int, v *cellValue, c clock) error {
	t, k := d.columns[i].Type, d.kinds[i]
	local := c
	c = c.utc()
	lost := false
	switch {
	case k != sqltype.Time && !c.date:
		return errors.New("a time of day without a date does not fit")
	case k == sqltype.Time && c.date && !c.instant:
		return errors.New("a date does not fit into a time of day")
	}
	switch k {
	case sqltype.Date:
		lost = c.second != 0 || c.nanos != 0 || c.more
		v.lo = uint64(c.day - daysTo1970)
	case sqltype.Time:
		if lost = c.round(t.Scale); c.second == secondsPerDay-1 && c.nanos >= 1e9 {
			c.nanos -= unitOf(t.Scale) // there is no 24:00
		}
		v.lo = uint64(c.second*1e9 + c.nanos)
	case sqltype.DateTime:
		at := (c.day-daysTo1970+days1900)*secondsPerDay + c.second
		ticks := at*300 + (c.nanos*3+5_000_000)/10_000_000
		lost = c.more || sqltype.DateTimeToTicks(ticks)%ticksPerSecond*100 != c.nanos
		if first := int64(-53_690) * secondsPerDay * 300; ticks < first || ticks >= (lastDay+1-daysTo1970+days1900)*secondsPerDay*300 {
			return errors.New("the time is outside of the range of the type")
		}
		v.lo = uint64(ticks)
	case sqltype.DateTime2:
		if t.Name == "smalldatetime" {
			lost = c.second%60 != 0 || c.nanos != 0 || c.more
			if c.second%60 >= 30 {
				c.second += 60
			}
			c.second -= c.second % 60
			c.nanos = 0
			if first := int64(daysTo1970 - days1900); c.day < first || c.day*secondsPerDay+c.second >= (first+65_536)*secondsPerDay {
				return errors.New("the time is outside of the range of the type")
			}
		} else {
			lost = c.round(t.Scale)
		}
		v.lo = uint64(c.ticks())
	case sqltype.DateTimeOffset:
		lost = c.round(t.Scale)
		v.lo, v.hi = uint64(c.ticks()), uint64(int64(local.offset))
		if wall := c.ticks() + int64(local.offset)*60*ticksPerSecond; wall < 0 || wall > lastTick {
			return errors.New("the time is outside of the range of the type")
		}
	}
	if n := c.ticks(); k != sqltype.Time && (n < 0 || n > lastTick) {
		return errors.New("the time is outside of the range of the type")
	}
	if lost && !d.options.Lossy.Time {
		return fmt.Errorf("%s: %w", local.text(), errLossyTime)
	}
	return nil
}

// text shows a clock in an error.
func (c clock) text() string {
	var b []byte
	if c.date {
		b = sqltype.AppendDate(b, int32(c.day-daysTo1970))
	}
	if c.time {
		if c.date {
			b = append(b, 'T')
		}
		b = fmt.Appendf(b, "%02d:%02d:%02d", c.second/3600, c.second/60%60, c.second%60)
		if c.nanos != 0 {
			b = fmt.Appendf(b, ".%09d", c.nanos)
		}
	}
	return string(b)
}
