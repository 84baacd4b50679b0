package value

import (
	"encoding/binary"
	"math"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

func (c converter) toDateTime(v Value, from, to Type) (Value, error) {
	switch from.ID.family() {
	case famDateTime, famNewDateTime:
		return stampTo(stampOf(v), from, to)
	case famText:
		return c.parseDate(v.s, from, to)
	case famBinary:
		return bytesToDateTime(v, from, to)
	}
	// A number is days since 1900.
	f, err := c.toFloat(v, from, Type{ID: Float})
	if err != nil {
		return Value{}, err
	}
	days := math.Floor(f.Float())
	if days < daysTo1753 || days > daysTo9999 {
		return Value{}, errOverflow("expression", to)
	}
	ticks := int64(math.Round((f.Float() - days) * dtTicksPerDay))
	d := NewDateTime(int32(days), ticks)
	if ticks == dtTicksPerDay {
		d = NewDateTime(int32(days)+1, 0)
	}
	if to.ID == DateTime {
		return d, nil
	}
	out, ok := stampOf(d).smallDateTime()
	if !ok {
		return Value{}, errOverflow("expression", to)
	}
	return out, nil
}

// stampTo rounds s to the type; 242 when the type cannot have it.
func stampTo(s stamp, from, to Type) (Value, error) {
	var v Value
	ok := true
	switch to.ID {
	case Date:
		v = NewDate(s.days)
	case Time:
		v = NewTime(s.round(to.Scale).ticks)
	case DateTime:
		v, ok = s.dateTime()
	case SmallDateTime:
		v, ok = s.smallDateTime()
	case DateTime2:
		r := roundInRange(s, to.Scale)
		v = NewDateTime2(r.days, r.ticks)
	case DateTimeOffset:
		v, ok = roundInRange(s, to.Scale).dateTimeOffset()
	}
	if !ok {
		if to.ID == DateTimeOffset {
			return Value{}, sqlerr.New(517, to.plain())
		}
		return Value{}, sqlerr.New(242, from.plain(), to.plain())
	}
	return v, nil
}

// roundInRange rounds, and at the end of the calendar cuts.
func roundInRange(s stamp, scale uint8) stamp {
	r := s.round(scale)
	if r.valid() {
		return r
	}
	unit := int64(pow10[7-scale].lo)
	s.ticks -= s.ticks % unit
	return s
}

func bytesToDateTime(v Value, from, to Type) (Value, error) {
	switch to.ID {
	case DateTime, SmallDateTime:
		n := tail(v.s)
		d := NewDateTime(int32(n>>32), int64(n&math.MaxUint32))
		if to.ID == SmallDateTime {
			d = NewSmallDateTime(int32(n>>16&math.MaxUint16), int64(n&math.MaxUint16))
			if d.Ticks() >= 1440 {
				return Value{}, sqlerr.New(210)
			}
			return d, nil
		}
		if d.Ticks() >= dtTicksPerDay || d.Days() < daysTo1753 || d.Days() > daysTo9999 {
			return Value{}, sqlerr.New(210)
		}
		return d, nil
	}
	return newerFromBytes(v.s, from, to)
}

// newerFromBytes reads what timeBytes writes.
func newerFromBytes(s string, from, to Type) (Value, error) {
	bad := errConverting(from, to)
	t := Type{ID: to.ID}
	var ticks int64
	if to.ID != Date {
		if len(s) == 0 || s[0] > 7 || len(s) < 4+timeExtra(s[0]) {
			return Value{}, bad
		}
		t.Scale = s[0]
		n := 3 + timeExtra(t.Scale)
		var b [8]byte
		copy(b[:], s[1:1+n])
		x := binary.LittleEndian.Uint64(b[:])
		if x >= ticksPerDay/pow10[7-t.Scale].lo {
			return Value{}, bad
		}
		ticks = int64(x * pow10[7-t.Scale].lo)
		s = s[1+n:]
	}
	st := stamp{days: daysTo1900, ticks: ticks}
	if to.ID != Time {
		if len(s) < 3 {
			return Value{}, bad
		}
		st.days = int32(s[0]) | int32(s[1])<<8 | int32(s[2])<<16
		s = s[3:]
	}
	if to.ID == DateTimeOffset {
		if len(s) < 2 {
			return Value{}, bad
		}
		st.offset = int(int16(uint16(s[0]) | uint16(s[1])<<8))
		if st.offset < -maxOffset || st.offset > maxOffset {
			return Value{}, bad
		}
		st = st.add(int64(st.offset) * ticksPerMinute)
	}
	if !st.valid() {
		return Value{}, bad
	}
	return stampTo(st, t, to)
}
