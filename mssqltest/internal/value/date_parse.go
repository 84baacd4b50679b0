package value

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// maxOffset is the greatest offset of a datetimeoffset, in minutes.
const maxOffset = 14 * 60

// yearCutoff is the default of the option "two digit year cutoff".
const yearCutoff = 2049

// styleOrder is the order of day, month and year that a style of CONVERT asks for.
var styleOrder = map[int]string{
	1: "mdy", 101: "mdy", 10: "mdy", 110: "mdy", 3: "dmy", 103: "dmy", 4: "dmy", 104: "dmy", 5: "dmy", 105: "dmy", 13: "dmy", 113: "dmy",
	2: "ymd", 102: "ymd", 11: "ymd", 111: "ymd", 12: "ymd", 112: "ymd", 20: "ymd", 120: "ymd", 21: "ymd", 121: "ymd", 25: "ymd", 23: "ymd", 126: "ymd", 127: "ymd",
}

// dateParser reads one text.
type dateParser struct {
	s     string
	order string // of DATEFORMAT or of the style
	old   bool   // datetime and smalldatetime

	year, month, day    int
	hasDate, hasTime    bool
	ticks               int64
	offset              int
	hasOffset, iso, zed bool
	digits              int // of the fraction
}

// parseDate reads the literal forms of dates and times: numeric in the order of DATEFORMAT or of the style, with the
// name of the month, ISO 8601, ODBC escapes and digits alone. Errors: 241 and for smalldatetime 295 for the form, 242
// for an impossible date in the older types (241 in the newer ones).
func (c converter) parseDate(s string, from, to Type) (Value, error) {
	p := dateParser{s: strings.Trim(s, " \t\r\n"), order: c.env.dateFormat(), old: to.ID.family() == famDateTime}
	if o, ok := styleOrder[c.style]; ok {
		p.order = o
	}
	if !p.parse() || p.old && (p.digits > 3 || p.hasOffset && !p.zed) {
		return Value{}, errDateSyntax(to)
	}
	st := stamp{days: daysTo1900, ticks: p.ticks, offset: p.offset}
	if p.hasDate {
		if p.year < 1 || p.year > 9999 || p.month < 1 || p.month > 12 || p.day < 1 || p.day > DaysIn(p.year, p.month) {
			return Value{}, p.outside(from, to)
		}
		st.days = DaysOf(p.year, p.month, p.day)
	}
	if p.ticks < 0 || p.ticks >= ticksPerDay || p.offset < -maxOffset || p.offset > maxOffset {
		return Value{}, p.outside(from, to)
	}
	return stampTo(st, from, to)
}

func errDateSyntax(to Type) error {
	if to.ID == SmallDateTime {
		return sqlerr.New(295)
	}
	return sqlerr.New(241)
}

// outside is the error for a date that is none.
func (p *dateParser) outside(from, to Type) error {
	if p.old {
		return sqlerr.New(242, from.plain(), to.plain())
	}
	return errDateSyntax(to)
}

func (p *dateParser) parse() bool {
	if p.s == "" {
		return true
	}
	if p.s[0] == '{' {
		return p.odbc()
	}
	date, clock := p.split()
	if date != "" && !p.date(date) {
		return false
	}
	if clock != "" && !p.time(clock) {
		return false
	}
	return true
}

// odbc reads {d '…'}, {t '…'} and {ts '…'}.
func (p *dateParser) odbc() bool {
	s := strings.TrimSpace(strings.Trim(p.s, "{}"))
	kind, rest, ok := strings.Cut(s, "'")
	if !ok || !strings.HasSuffix(rest, "'") {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "d", "t", "ts":
	default:
		return false
	}
	p.s, p.order = strings.TrimSuffix(rest, "'"), "ymd"
	return p.s != "" && p.s[0] != '{' && p.parse()
}

// split parts the date from the time, which begins with the number before the first colon (or before AM and PM) or after
// the T of ISO 8601.
func (p *dateParser) split() (date, clock string) {
	s := p.s
	if i := strings.IndexAny(s, "Tt"); i >= 8 && isDigit(s[i-1]) && i+1 < len(s) && isDigit(s[i+1]) {
		p.iso = true
		return s[:i], s[i+1:]
	}
	at := strings.IndexByte(s, ':')
	if at < 0 {
		u := strings.ToUpper(s)
		if !strings.HasSuffix(u, "AM") && !strings.HasSuffix(u, "PM") {
			return s, ""
		}
		at = len(strings.TrimRight(s[:len(s)-2], " "))
	}
	start := at
	for start > 0 && isDigit(s[start-1]) {
		start--
	}
	// A time may also come before the date.
	if start == 0 {
		end := clockEnd(s)
		return strings.TrimSpace(s[end:]), s[:end]
	}
	return strings.TrimSpace(s[:start]), s[start:]
}

// clockEnd finds where a leading time ends.
func clockEnd(s string) int {
	i := 0
	for i < len(s) && (isDigit(s[i]) || s[i] == ':' || s[i] == '.') {
		i++
	}
	rest := strings.TrimLeft(s[i:], " ")
	gap := len(s) - i - len(rest)
	switch u := strings.ToUpper(rest); {
	case strings.HasPrefix(u, "AM"), strings.HasPrefix(u, "PM"):
		return i + gap + 2
	case rest != "" && (rest[0] == '+' || rest[0] == '-') && strings.IndexByte(rest, ':') > 0:
		return i + gap + min(len(rest), 6)
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number cuts digits off the front of s.
func number(s string) (n, digits int, rest string) {
	for digits < len(s) && isDigit(s[digits]) && digits < 9 {
		n = n*10 + int(s[digits]-'0')
		digits++
	}
	return n, digits, s[digits:]
}

func (p *dateParser) date(s string) bool {
	p.hasDate = true
	if p.iso {
		return p.isoDate(s)
	}
	for i := range len(s) {
		if c := s[i] | 0x20; c >= 'a' && c <= 'z' {
			return p.named(s)
		}
	}
	n, digits, rest := number(s)
	if rest == "" {
		return p.compact(n, digits)
	}
	var parts [3]int
	var widths [3]int
	for i := range parts {
		parts[i], widths[i], s = number(s)
		if widths[i] == 0 || widths[i] > 4 || widths[i] == 3 {
			return false
		}
		s = strings.TrimLeft(s, " ")
		if i < 2 {
			if s == "" || !strings.ContainsRune("-/.", rune(s[0])) {
				return false
			}
			s = strings.TrimLeft(s[1:], " ")
		}
	}
	return s == "" && p.numeric(parts, widths)
}

// isoDate is yyyy-mm-dd or yyyymmdd before a T.
func (p *dateParser) isoDate(s string) bool {
	if n, digits, rest := number(s); digits == 8 && rest == "" {
		return p.compact(n, digits)
	}
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	var a, b, c int
	p.year, a, _ = number(s[:4])
	p.month, b, _ = number(s[5:7])
	p.day, c, _ = number(s[8:])
	return a == 4 && b == 2 && c == 2
}

// compact is yyyymmdd, yymmdd or a year alone.
func (p *dateParser) compact(n, digits int) bool {
	switch digits {
	case 8:
		p.year, p.month, p.day = n/10000, n/100%100, n%100
	case 6:
		p.year, p.month, p.day = century(n/10000), n/100%100, n%100
	case 4:
		p.year, p.month, p.day = n, 1, 1
	default:
		return false
	}
	return true
}

func century(yy int) int {
	y := yearCutoff - yearCutoff%100 + yy
	if y > yearCutoff {
		y -= 100
	}
	return y
}

// numeric gives three numbers their meaning. A year of four digits is found where it stands; the rest keeps the order of
// DATEFORMAT, save that the newer types read yyyy-mm-dd always so.
func (p *dateParser) numeric(parts, widths [3]int) bool {
	order := p.order
	year := -1
	for i, w := range widths {
		if w == 4 {
			if year >= 0 {
				return false
			}
			year = i
		}
	}
	if year >= 0 {
		rest := strings.ReplaceAll(order, "y", "")
		if year == 0 && !p.old {
			rest = "md"
		}
		order = rest[:year] + "y" + rest[year:]
	}
	for i, k := range order {
		switch k {
		case 'y':
			p.year = parts[i]
			if widths[i] <= 2 {
				p.year = century(parts[i])
			}
		case 'm':
			p.month = parts[i]
		case 'd':
			p.day = parts[i]
		}
	}
	return true
}

// named is a date with the name of its month, in English, in any place.
func (p *dateParser) named(s string) bool {
	var nums, widths []int
	for s = strings.TrimLeft(s, " ,-/."); s != ""; s = strings.TrimLeft(s, " ,-/.") {
		if isDigit(s[0]) {
			var n, w int
			n, w, s = number(s)
			nums, widths = append(nums, n), append(widths, w)
			if len(nums) > 2 || w > 4 {
				return false
			}
			continue
		}
		end := 0
		for end < len(s) && (s[end]|0x20) >= 'a' && (s[end]|0x20) <= 'z' {
			end++
		}
		m := monthOf(s[:end])
		if m == 0 || p.month != 0 {
			return false
		}
		p.month, s = m, s[end:]
	}
	return p.month != 0 && p.dayAndYear(nums, widths)
}

func (p *dateParser) dayAndYear(nums, widths []int) bool {
	p.day = 1
	switch len(nums) {
	case 1:
		if widths[0] != 4 {
			return false
		}
		p.year = nums[0]
		return true
	case 2:
		y, d := 1, 0
		if widths[0] == 4 || widths[1] != 4 && strings.IndexByte(p.order, 'y') < strings.IndexByte(p.order, 'd') {
			y, d = 0, 1
		}
		p.year, p.day = nums[y], nums[d]
		if widths[y] <= 2 {
			p.year = century(p.year)
		}
		return widths[y] != 3 && widths[d] <= 2
	}
	return false
}

func monthOf(s string) int {
	for i, n := range monthNames {
		if strings.EqualFold(s, n) || strings.EqualFold(s, n[:3]) {
			return i + 1
		}
	}
	if strings.EqualFold(s, "sept") {
		return 9
	}
	return 0
}

// time reads hh[:mm[:ss[.fffffff]]] [AM|PM] [offset].
func (p *dateParser) time(s string) bool {
	p.hasTime = true
	var f [3]int
	n := 0
	for n < 3 {
		var w int
		if f[n], w, s = number(s); w == 0 || w > 2 {
			return false
		}
		n++
		if s == "" || s[0] != ':' {
			break
		}
		if n == 3 {
			break
		}
		s = s[1:]
	}
	frac, s, ok := p.fraction(s, n)
	if !ok {
		return false
	}
	s = strings.TrimLeft(s, " ")
	hour, s, named, ok := meridiem(f[0], s)
	if !ok || n == 1 && !named || f[1] > 59 || f[2] > 59 || hour > 23 {
		p.ticks = -1 // a form that is right with a time that is not
		return ok && (n > 1 || named) && p.zone(s)
	}
	p.ticks = int64(hour*3600+f[1]*60+f[2])*ticksPerSecond + frac
	return p.zone(s)
}

// fraction reads .fffffff, or :fff thousandths, after seconds.
func (p *dateParser) fraction(s string, fields int) (ticks int64, rest string, ok bool) {
	if s == "" || s[0] != '.' && s[0] != ':' {
		return 0, s, true
	}
	if fields < 3 {
		return 0, s, false
	}
	n, w, rest := number(s[1:])
	if w == 0 || w > 7 {
		return 0, s, false
	}
	p.digits = w
	if s[0] == ':' {
		if w > 3 {
			return 0, s, false
		}
		return int64(n) * 10000, rest, true
	}
	return int64(n) * int64(pow10[7-w].lo), rest, true
}

func meridiem(hour int, s string) (h int, rest string, named, ok bool) {
	if len(s) < 2 {
		return hour, s, false, true
	}
	switch strings.ToUpper(s[:2]) {
	case "AM":
		if hour > 12 {
			return hour, s[2:], true, false
		}
		return hour % 12, strings.TrimLeft(s[2:], " "), true, true
	case "PM":
		if hour < 12 {
			hour += 12
		}
		return hour, strings.TrimLeft(s[2:], " "), true, true
	}
	return hour, s, false, true
}

// zone reads Z or ±hh:mm.
func (p *dateParser) zone(s string) bool {
	switch {
	case s == "":
		return true
	case s == "Z" || s == "z":
		p.hasOffset, p.zed = true, true
		return true
	case s[0] != '+' && s[0] != '-':
		return false
	}
	h, w, rest := number(s[1:])
	if w == 0 || w > 2 || rest == "" || rest[0] != ':' {
		return false
	}
	m, w, rest := number(rest[1:])
	if w != 2 || rest != "" || m > 59 {
		return false
	}
	p.hasOffset = true
	p.offset = h*60 + m
	if s[0] == '-' {
		p.offset = -p.offset
	}
	return true
}
