package builtin

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	register(Func{"FORMAT", 2, 3, always(nvarchar(4000)), strict(format)})
}

// format is FORMAT for the culture en-US and the formats in common use: for numbers N, F, D, X, P, C, E, G, 0 # , . %; for
// dates the standard letters d D t T g G s u y M and the custom letters. A format that cannot be read gives NULL.
func format(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	f := args[1].Str()
	switch t := types[0]; {
	case t.IsDateTime():
		return formatted(formatDate(args[0], t, f))
	case t.IsNumber() && t.ID != value.Bit:
		d, err := value.Convert(env, args[0], t, typeFloat, 0)
		if err != nil {
			return value.Value{}, err
		}
		exact := ""
		if t.ID != value.Float && t.ID != value.Real {
			exact = value.Display(args[0], t)
		}
		return formatted(formatNumber(d.Float(), exact, t, f))
	default:
		return value.Value{}, invalid(t, 1, "format")
	}
}

func formatted(s string, ok bool) (value.Value, error) {
	if !ok {
		return value.Value{}, nil
	}
	if len(s) > 8000 {
		return value.Value{}, sqlerr.New(8152)
	}
	return value.NewNVarChar(s), nil
}

// fixed writes a number with so many digits behind the point, from its exact text if there is one.
func fixed(x float64, exact string, digits int) string {
	if exact == "" {
		return strconv.FormatFloat(roundHalf(x, min(digits, 15)), 'f', digits, 64)
	}
	v, t, err := value.ParseDecimalLiteral(strings.TrimPrefix(exact, "-"))
	if err != nil {
		return exact
	}
	to := value.Type{ID: value.Decimal, Prec: 38, Scale: uint8(min(digits, 38))}
	if out, err := value.Convert(nil, v, t, to, 0); err == nil {
		s := value.Display(out, to)
		if strings.HasPrefix(exact, "-") && strings.Trim(s, "0.") != "" {
			s = "-" + s
		}
		return s
	}
	return exact
}

func grouped(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	head, tail, point := strings.Cut(s, ".")
	for i := len(head) - 3; i > 0; i -= 3 {
		head = head[:i] + "," + head[i:]
	}
	if point {
		head += "." + tail
	}
	return sign + head
}

func formatNumber(x float64, exact string, t value.Type, f string) (string, bool) {
	if f == "" {
		f = "G"
	}
	digits, err := strconv.Atoi(f[1:])
	if given := len(f) > 1; (!given || err == nil && digits >= 0 && digits <= 99) && strings.ContainsRune("NnFfDdXxPpCcEeGg", rune(f[0])) {
		return standardNumber(x, exact, t, f[0], digits, given)
	}
	return customNumber(x, exact, f)
}

func standardNumber(x float64, exact string, t value.Type, letter byte, digits int, given bool) (string, bool) {
	if !given {
		digits = 2
	}
	switch letter | 0x20 {
	case 'n':
		return grouped(fixed(x, exact, digits)), true
	case 'f':
		return fixed(x, exact, digits), true
	case 'c':
		s := grouped(fixed(math.Abs(x), strings.TrimPrefix(exact, "-"), digits))
		if x < 0 {
			return "-$" + s, true
		}
		return "$" + s, true
	case 'p':
		return grouped(fixed(x*100, "", digits)) + "%", true
	case 'd', 'x':
		if !t.IsInteger() {
			return "", false
		}
		n, err := strconv.ParseInt(exact, 10, 64)
		if err != nil {
			return "", false
		}
		if !given {
			digits = 0
		}
		if letter|0x20 == 'd' {
			width := digits
			if n < 0 {
				width++
			}
			return fmt.Sprintf("%0*d", width, n), true
		}
		u := uint64(n)
		if t.ID != value.BigInt {
			u &= math.MaxUint32
		}
		s := fmt.Sprintf("%0*X", digits, u)
		if letter == 'x' {
			s = strings.ToLower(s)
		}
		return s, true
	case 'e':
		if !given {
			digits = 6
		}
		s := strconv.FormatFloat(x, 'e', digits, 64)
		i := strings.IndexByte(s, 'e')
		for len(s)-i < 5 {
			s = s[:i+2] + "0" + s[i+2:]
		}
		if letter == 'E' {
			s = strings.ToUpper(s)
		}
		return s, true
	}
	if exact != "" && !given {
		return exact, true
	}
	if !given {
		digits = -1
	}
	return strings.ToUpper(strconv.FormatFloat(x, 'G', digits, 64)), true
}

// customNumber reads 0 # . , % and literal text around them; sections after a semicolon are for negative numbers and zero.
func customNumber(x float64, exact, f string) (string, bool) {
	sections := strings.Split(f, ";")
	switch {
	case len(sections) > 2 && x == 0:
		f = sections[2]
	case len(sections) > 1 && x < 0 && sections[1] != "":
		f, x, exact = sections[1], -x, strings.TrimPrefix(exact, "-")
	default:
		f = sections[0]
	}
	plain := maskLiterals(f)
	first, last := strings.IndexAny(plain, "0#."), strings.LastIndexAny(plain, "0#.")
	if first < 0 {
		return f, true
	}
	prefix, body, suffix := f[:first], f[first:last+1], f[last+1:]
	if strings.Contains(plain, "%") {
		x, exact = x*100, ""
	}
	head, tail, _ := strings.Cut(body, ".")
	group := strings.Contains(head, ",")
	head = strings.ReplaceAll(head, ",", "")
	s := fixed(x, exact, len(tail))
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, frac, _ := strings.Cut(s, ".")
	whole = strings.TrimLeft(whole, "0")
	if i := strings.IndexByte(head, '0'); i >= 0 {
		for len(whole) < len(head)-i {
			whole = "0" + whole
		}
	}
	if group {
		whole = grouped(whole)
	}
	least := strings.LastIndexByte(tail, '0') + 1
	for len(frac) > least && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if frac != "" {
		whole += "." + frac
	}
	unquote := strings.NewReplacer("'", "", "\"", "", "\\", "")
	return sign + unquote.Replace(prefix) + whole + unquote.Replace(suffix), true
}

// maskLiterals puts blanks in place of quoted and escaped text.
func maskLiterals(f string) string {
	b := []byte(f)
	quote := byte(0)
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			b[i] = ' '
		case c == '\'' || c == '"':
			quote, b[i] = c, ' '
		case c == '\\':
			b[i] = ' '
			if i+1 < len(b) {
				i++
				b[i] = ' '
			}
		}
	}
	return string(b)
}

var standardDates = map[string]string{
	"d": "M/d/yyyy", "D": "dddd, MMMM d, yyyy", "t": "h:mm tt", "T": "h:mm:ss tt", "g": "M/d/yyyy h:mm tt", "G": "M/d/yyyy h:mm:ss tt",
	"f": "dddd, MMMM d, yyyy h:mm tt", "F": "dddd, MMMM d, yyyy h:mm:ss tt", "s": "yyyy-MM-ddTHH:mm:ss", "u": "yyyy-MM-dd HH:mm:ssZ",
	"m": "MMMM d", "M": "MMMM d", "y": "MMMM yyyy", "Y": "MMMM yyyy", "o": "yyyy-MM-ddTHH:mm:ss.fffffff", "O": "yyyy-MM-ddTHH:mm:ss.fffffff",
}

// formatDate reads runs of d M y h H m s f F t z with literals between.
func formatDate(v value.Value, t value.Type, f string) (string, bool) {
	if s, ok := standardDates[f]; ok {
		f = s
	}
	days, ticks := value.LocalDayAndTicks(v, t)
	if t.ID == value.DateTime {
		ticks = (ticks + 5000) / 10000 * 10000
	}
	if t.ID == value.Time {
		return formatClock(ticks, f)
	}
	var b strings.Builder
	for i := 0; i < len(f); {
		n := 1
		for i+n < len(f) && f[i+n] == f[i] {
			n++
		}
		switch c := f[i]; c {
		case '\'', '"':
			end := strings.IndexByte(f[i+1:], c)
			if end < 0 {
				return "", false
			}
			b.WriteString(f[i+1 : i+1+end])
			n = end + 2
		case '\\':
			if i+1 < len(f) {
				b.WriteByte(f[i+1])
			}
			n = 2
		default:
			b.WriteString(datePiece(c, n, days, ticks, v.OffsetMinutes()))
		}
		i += n
	}
	return b.String(), true
}

// formatClock is the format of a time, in which a colon and a point want a backslash before them.
func formatClock(ticks int64, f string) (string, bool) {
	if strings.ContainsAny(strings.NewReplacer(`\:`, "", `\.`, "").Replace(f), ":.") {
		return "", false
	}
	f = strings.ReplaceAll(f, `\`, "")
	var b strings.Builder
	for i := 0; i < len(f); {
		n := 1
		for i+n < len(f) && f[i+n] == f[i] {
			n++
		}
		c := f[i]
		if c == 'h' {
			c = 'H'
		}
		b.WriteString(datePiece(c, n, 0, ticks, 0))
		i += n
	}
	return b.String(), true
}

func datePiece(c byte, n int, days int32, ticks int64, offset int) string {
	y, m, d := value.CivilOf(days)
	sec := int(ticks / ticksPerSecond)
	hour := sec / 3600
	switch c {
	case 'd':
		name := dayNames[int(days)%7]
		return [...]string{strconv.Itoa(d), fmt.Sprintf("%02d", d), name[:3], name}[min(n, 4)-1]
	case 'M':
		name := value.MonthName(m)
		return [...]string{strconv.Itoa(m), fmt.Sprintf("%02d", m), name[:3], name}[min(n, 4)-1]
	case 'y':
		if n <= 2 {
			return fmt.Sprintf("%0*d", n, y%100)
		}
		return fmt.Sprintf("%0*d", n, y)
	case 'h':
		return fmt.Sprintf("%0*d", min(n, 2), (hour+11)%12+1)
	case 'H':
		return fmt.Sprintf("%0*d", min(n, 2), hour)
	case 'm':
		return fmt.Sprintf("%0*d", min(n, 2), sec/60%60)
	case 's':
		return fmt.Sprintf("%0*d", min(n, 2), sec%60)
	case 'f':
		return fmt.Sprintf("%07d", ticks%ticksPerSecond)[:min(n, 7)]
	case 'F':
		return strings.TrimRight(fmt.Sprintf("%07d", ticks%ticksPerSecond)[:min(n, 7)], "0")
	case 't':
		s := "AM"
		if hour >= 12 {
			s = "PM"
		}
		return s[:min(n, 2)]
	case 'z':
		sign := '+'
		if offset < 0 {
			sign, offset = '-', -offset
		}
		switch n {
		case 1:
			return fmt.Sprintf("%c%d", sign, offset/60)
		case 2:
			return fmt.Sprintf("%c%02d", sign, offset/60)
		}
		return fmt.Sprintf("%c%02d:%02d", sign, offset/60, offset%60)
	}
	return strings.Repeat(string(c), n)
}
