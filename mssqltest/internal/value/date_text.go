package value

import (
	"fmt"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// MonthName returns the English name of month 1 … 12.
func MonthName(month int) string { return monthNames[month-1] }

// dateStyle is how CONVERT writes the parts of a date and time.
type dateStyle struct {
	date, between, time string
}

// Verbs of the parts: %Y year, %y its last two digits, %m %d with two digits, %j day with a blank, %b month name;
// %H %M %S, %h hour of twelve with a blank, %p AM, %f fraction after a colon, %F after a point, %Z the same unless 0.
var dateStyles = map[int]dateStyle{
	100: {"%b %j %Y", " ", "%h:%M%p"}, 1: {"%m/%d/%y", "", ""}, 101: {"%m/%d/%Y", "", ""}, 2: {"%y.%m.%d", "", ""}, 102: {"%Y.%m.%d", "", ""},
	3: {"%d/%m/%y", "", ""}, 103: {"%d/%m/%Y", "", ""}, 4: {"%d.%m.%y", "", ""}, 104: {"%d.%m.%Y", "", ""}, 5: {"%d-%m-%y", "", ""}, 105: {"%d-%m-%Y", "", ""},
	6: {"%d %b %y", "", ""}, 106: {"%d %b %Y", "", ""}, 7: {"%b %d, %y", "", ""}, 107: {"%b %d, %Y", "", ""}, 8: {"", "", "%H:%M:%S"}, 108: {"", "", "%H:%M:%S"},
	24: {"", "", "%H:%M:%S"}, 9: {"%b %j %Y", " ", "%h:%M:%S%f%p"}, 109: {"%b %j %Y", " ", "%h:%M:%S%f%p"}, 10: {"%m-%d-%y", "", ""}, 110: {"%m-%d-%Y", "", ""},
	11: {"%y/%m/%d", "", ""}, 111: {"%Y/%m/%d", "", ""}, 12: {"%y%m%d", "", ""}, 112: {"%Y%m%d", "", ""},
	13: {"%d %b %Y", " ", "%H:%M:%S%f"}, 113: {"%d %b %Y", " ", "%H:%M:%S%f"}, 14: {"", "", "%H:%M:%S%f"}, 114: {"", "", "%H:%M:%S%f"},
	20: {"%Y-%m-%d", " ", "%H:%M:%S"}, 120: {"%Y-%m-%d", " ", "%H:%M:%S"}, 21: {"%Y-%m-%d", " ", "%H:%M:%S%F"}, 25: {"%Y-%m-%d", " ", "%H:%M:%S%F"},
	121: {"%Y-%m-%d", " ", "%H:%M:%S%F"}, 22: {"%m/%d/%y", " ", "%h:%M:%S %p"}, 23: {"%Y-%m-%d", "", ""},
	126: {"%Y-%m-%d", "T", "%H:%M:%S%Z"}, 127: {"%Y-%m-%d", "T", "%H:%M:%S%Z"},
}

// dateText writes v, of a date or time type, in a style of CONVERT. Error 281: no such style.
func dateText(v Value, t Type, style int) (string, error) {
	if style == 0 {
		style = 100
		if t.ID.family() == famNewDateTime {
			style = 121
		}
	}
	if style == 9 || style == 109 {
		style = 109
	}
	f, ok := dateStyles[style]
	if !ok {
		return "", sqlerr.New(281, style, t.plain())
	}
	s := stampOf(v)
	if t.ID == DateTimeOffset && style == 127 {
		s = stamp{days: v.Days(), ticks: v.Ticks()}
	}
	date, clock, between := f.date, f.time, f.between
	switch {
	case t.ID == Date:
		clock, between = "", ""
		if date == "" {
			return "", sqlerr.New(8115, "date", "varchar")
		}
	case t.ID == Time:
		date, between = "", ""
		if clock == "" {
			clock = "%H:%M:%S%F"
		}
	}
	var b strings.Builder
	p := datePrinter{v: v, t: t, s: s}
	p.print(&b, date)
	b.WriteString(between)
	p.print(&b, clock)
	if t.ID == DateTimeOffset && clock != "" {
		p.printOffset(&b, style)
	}
	return b.String(), nil
}

type datePrinter struct {
	v Value
	t Type
	s stamp
}

func (p datePrinter) print(b *strings.Builder, layout string) {
	y, m, d := CivilOf(p.s.days)
	sec := int(p.s.ticks / ticksPerSecond)
	hour := sec / 3600
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			b.WriteByte(layout[i])
			continue
		}
		i++
		switch layout[i] {
		case 'Y':
			fmt.Fprintf(b, "%04d", y)
		case 'y':
			fmt.Fprintf(b, "%02d", y%100)
		case 'm':
			fmt.Fprintf(b, "%02d", m)
		case 'd':
			fmt.Fprintf(b, "%02d", d)
		case 'j':
			fmt.Fprintf(b, "%2d", d)
		case 'b':
			b.WriteString(monthNames[m-1][:3])
		case 'H':
			fmt.Fprintf(b, "%02d", hour)
		case 'h':
			fmt.Fprintf(b, "%2d", (hour+11)%12+1)
		case 'M':
			fmt.Fprintf(b, "%02d", sec/60%60)
		case 'S':
			fmt.Fprintf(b, "%02d", sec%60)
		case 'p':
			b.WriteString(map[bool]string{true: "PM", false: "AM"}[hour >= 12])
		case 'f':
			p.fraction(b, ":", true)
		case 'F':
			p.fraction(b, ".", true)
		case 'Z':
			p.fraction(b, ".", p.s.ticks%ticksPerSecond != 0)
		}
	}
}

// fraction writes the digits of the second that the type has.
func (p datePrinter) fraction(b *strings.Builder, point string, show bool) {
	digits := int(p.t.Scale)
	n := p.s.ticks % ticksPerSecond
	switch p.t.ID {
	case DateTime:
		digits = 3
		n = (p.v.Ticks()%300*10 + 1) / 3 * 10000
	case SmallDateTime:
		digits = 3
	default:
		if point == ":" {
			point = "."
		}
	}
	if show && digits > 0 {
		b.WriteString(point)
		fmt.Fprintf(b, "%0*d", digits, n/int64(pow10[7-digits].lo))
	}
}

func (p datePrinter) printOffset(b *strings.Builder, style int) {
	off := int(p.v.offset)
	sign := '+'
	switch {
	case style == 127:
		b.WriteByte('Z')
		return
	case style != 126:
		b.WriteByte(' ')
	}
	if off < 0 {
		sign, off = '-', -off
	}
	fmt.Fprintf(b, "%c%02d:%02d", sign, off/60, off%60)
}
