package value

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// intRange is the range of an integer type.
func intRange(id ID) (low, high int64) {
	switch id {
	case Bit:
		return 0, 1
	case TinyInt:
		return 0, math.MaxUint8
	case SmallInt:
		return math.MinInt16, math.MaxInt16
	case Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func inRange(id ID, n int64) bool {
	low, high := intRange(id)
	return n >= low && n <= high
}

func (c converter) toInt(v Value, from, to Type) (Value, error) {
	if to.ID == Bit {
		return c.toBit(v, from, to)
	}
	switch from.ID.family() {
	case famInt:
		return fitInt(v.Int(), to)
	case famDecimal:
		d := v.dec().shrink(from.Scale, false)
		n, ok := d.int64()
		if !ok || !inRange(to.ID, n) {
			return Value{}, errOverflow("numeric", to)
		}
		return NewInt(to.ID, n), nil
	case famMoney:
		n := roundDiv(v.Int(), 10000)
		if !inRange(to.ID, n) {
			return Value{}, errOverflow(from.plain(), to)
		}
		return NewInt(to.ID, n), nil
	case famFloat:
		return floatToInt(v.Float(), from, to)
	case famText:
		return textToInt(v.s, from, to)
	case famBinary, famImage:
		return NewInt(to.ID, signed(to.ID, tail(v.s))), nil
	case famDateTime:
		days := int64(v.Days())
		if 2*fractionOfDay(v) >= 1 {
			days++
		}
		if !inRange(to.ID, days) {
			return Value{}, errOverflow("expression", to)
		}
		return NewInt(to.ID, days), nil
	}
	return Value{}, errExplicit(from, to)
}

func (d dec) int64() (int64, bool) {
	switch {
	case d.hi != 0 || d.lo > 1<<63 || d.lo == 1<<63 && !d.neg:
		return 0, false
	case d.neg:
		return -int64(d.lo), true
	}
	return int64(d.lo), true
}

// fitInt is the conversion between integers: 220 for the small ones, 8115 for int.
func fitInt(n int64, to Type) (Value, error) {
	if inRange(to.ID, n) {
		return NewInt(to.ID, n), nil
	}
	if to.ID == TinyInt || to.ID == SmallInt {
		return Value{}, sqlerr.New(220, to.plain(), n)
	}
	return Value{}, errOverflow("expression", to)
}

func floatToInt(f float64, from, to Type) (Value, error) {
	t := math.Trunc(f)
	if t >= -1<<63 && t < 1<<63 && inRange(to.ID, int64(t)) {
		return NewInt(to.ID, int64(t)), nil
	}
	if to.ID == BigInt {
		return Value{}, errOverflow(from.plain(), to)
	}
	return Value{}, sqlerr.New(232, to.plain(), strconv.FormatFloat(f, 'f', 6, 64))
}

// textToInt reads sign and digits; a text of blanks is 0. Errors: 245, 8114 for bigint, 244, 248 and 8115 out of range.
func textToInt(s string, from, to Type) (Value, error) {
	t := strings.Trim(s, " \t\r\n")
	neg := strings.HasPrefix(t, "-")
	digits := t
	if neg || strings.HasPrefix(t, "+") {
		digits = strings.TrimLeft(t[1:], " ")
	}
	n, overflow := uint64(0), false
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			if to.ID == BigInt {
				return Value{}, errConverting(from, to)
			}
			return Value{}, sqlerr.New(245, from.plain(), shown(s), to.plain())
		}
		if overflow = overflow || n > (1<<63)/10; !overflow {
			n = n*10 + uint64(c-'0')
		}
	}
	if t != "" && digits == "" {
		return Value{}, sqlerr.New(245, from.plain(), shown(s), to.plain())
	}
	v, ok := dec{neg: neg, lo: n}.int64()
	if !overflow && ok && inRange(to.ID, v) {
		return NewInt(to.ID, v), nil
	}
	switch to.ID {
	case TinyInt:
		return Value{}, sqlerr.New(244, from.plain(), shown(s), "INT1")
	case SmallInt:
		return Value{}, sqlerr.New(244, from.plain(), shown(s), "INT2")
	case Int:
		return Value{}, sqlerr.New(248, from.plain(), shown(s))
	}
	return Value{}, errOverflow(from.plain(), to)
}

func (c converter) toBit(v Value, from, to Type) (Value, error) {
	switch from.ID.family() {
	case famInt, famMoney:
		return NewBit(v.lo != 0), nil
	case famDecimal:
		return NewBit(v.hi|v.lo != 0), nil
	case famFloat:
		return NewBit(v.Float() != 0), nil
	case famBinary, famImage:
		return NewBit(tail(v.s) != 0), nil
	case famDateTime:
		return NewBit(v.hi|v.lo != 0), nil
	case famText:
		s := strings.ToLower(strings.Trim(v.s, " "))
		switch s {
		case "true":
			return NewBit(true), nil
		case "false", "":
			return NewBit(false), nil
		}
		if d, ok, _ := parseDec(s, 0); ok && !strings.Contains(s, ".") {
			return NewBit(!d.isZero()), nil
		}
		return Value{}, sqlerr.New(245, from.plain(), shown(v.s), "bit")
	}
	return Value{}, errExplicit(from, to)
}

// tail reads the last eight bytes of s, big-endian.
func tail(s string) (n uint64) {
	for i := max(0, len(s)-8); i < len(s); i++ {
		n = n<<8 | uint64(s[i])
	}
	return n
}

// signed cuts n to the width of an integer type.
func signed(id ID, n uint64) int64 {
	switch id {
	case TinyInt:
		return int64(uint8(n))
	case SmallInt:
		return int64(int16(n))
	case Int:
		return int64(int32(n))
	}
	return int64(n)
}

// roundDiv divides half away from zero.
func roundDiv(n, d int64) int64 {
	q, r := n/d, n%d
	switch {
	case r >= d-r && r > 0:
		q++
	case r < 0 && -r >= d+r:
		q--
	}
	return q
}

func (c converter) toDecimal(v Value, from, to Type) (Value, error) {
	var d dec
	scale := uint8(0)
	source := numericName(from)
	switch from.ID.family() {
	case famInt:
		d = decOf(v.Int())
	case famDecimal:
		d, scale = v.dec(), from.Scale
	case famMoney:
		d, scale = decOf(v.Int()), 4
	case famFloat:
		x, ok := decOfFloat(v.Float(), to.Scale)
		if !ok {
			return Value{}, errOverflow(source, to)
		}
		d, scale = x, to.Scale
	case famText:
		x, ok, overflow := parseDec(v.s, to.Scale)
		if !ok {
			return Value{}, errConverting(from, to)
		}
		if overflow {
			return Value{}, errOverflow(source, to)
		}
		d, scale = x, to.Scale
	case famBinary, famImage:
		x, s, ok := decOfBytes(v.s)
		if !ok {
			return Value{}, errConverting(from, to)
		}
		d, scale = x, s
	case famDateTime:
		x, ok := decOfFloat(daysOf(v), to.Scale)
		if !ok {
			return Value{}, errOverflow("expression", to)
		}
		d, scale = x, to.Scale
	default:
		return Value{}, errExplicit(from, to)
	}
	if x, ok := d.rescale(scale, to.Scale, true); ok && x.fits(to.Prec) {
		return x.value(to.Scale), nil
	}
	return Value{}, errOverflow(source, to)
}

// decOfFloat rounds f, of which 17 digits count, to scale.
func decOfFloat(f float64, scale uint8) (dec, bool) {
	if math.Abs(f) >= 1e38 {
		return dec{}, false
	}
	s := strconv.FormatFloat(f, 'e', 16, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return dec{}, false
	}
	d, ok, overflow := parseDec(mantissa, 16)
	if !ok || overflow {
		return dec{}, false
	}
	switch shift := e + int(scale) - 16; {
	case shift > maxPrecision:
		return dec{}, d.isZero()
	case shift >= 0:
		return d.rescale(0, uint8(shift), false)
	case shift < -maxPrecision:
		return dec{}, true
	default:
		return d.shrink(uint8(-shift), true), true
	}
}

// decOfBytes reads the binary form of a decimal: precision, scale, 0, sign, little-endian magnitude.
func decOfBytes(s string) (d dec, scale uint8, ok bool) {
	if len(s) < 8 || len(s) > 20 || s[0] < 1 || s[0] > maxPrecision || s[1] > s[0] {
		return d, 0, false
	}
	var b [16]byte
	copy(b[:], s[4:])
	d = dec{neg: s[3] == 0, lo: binary.LittleEndian.Uint64(b[:8]), hi: binary.LittleEndian.Uint64(b[8:])}
	return d, s[1], true
}

// moneyRange is the range of a money type in ten thousandths.
func moneyRange(id ID) (low, high int64) {
	if id == SmallMoney {
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func (c converter) toMoney(v Value, from, to Type) (Value, error) {
	var d dec
	switch from.ID.family() {
	case famMoney:
		d = decOf(v.Int())
	case famText:
		return textToMoney(v.s, to)
	case famBinary, famImage:
		n := int64(tail(v.s))
		if to.ID == SmallMoney {
			n = int64(int32(n))
		}
		return NewInt(to.ID, n), nil
	default:
		x, err := c.toDecimal(v, from, Type{ID: Decimal, Prec: maxPrecision, Scale: 4})
		if err != nil {
			return Value{}, errOverflow(numericName(from), to)
		}
		d = x.dec()
	}
	n, ok := d.int64()
	if low, high := moneyRange(to.ID); !ok || n < low || n > high {
		return Value{}, errOverflow(numericName(from), to)
	}
	return NewInt(to.ID, n), nil
}

// currency are the signs that a text of money may have.
const currency = "$£€¥¢¤"

// textToMoney reads sign, currency sign, digits with commas anywhere before the point; blanks are 0. Errors: 235, 236, 293, 294.
func textToMoney(s string, to Type) (Value, error) {
	syntax, overflow := int32(235), int32(236)
	if to.ID == SmallMoney {
		syntax, overflow = 293, 294
	}
	t := strings.Trim(s, " \t")
	neg := false
	if strings.HasPrefix(t, "(") && strings.HasSuffix(t, ")") {
		neg, t = true, t[1:len(t)-1]
	}
	sign := false
	for t != "" {
		r := []rune(t)[0]
		switch {
		case (r == '-' || r == '+') && !sign:
			sign = true
			neg = neg != (r == '-')
		case r == ' ' || strings.ContainsRune(currency, r):
		default:
			r = 0
		}
		if r == 0 {
			break
		}
		t = t[len(string(r)):]
	}
	if t == "" {
		return NewInt(to.ID, 0), nil
	}
	whole, frac, point := strings.Cut(t, ".")
	t = strings.ReplaceAll(whole, ",", "")
	if point {
		t += "." + frac
	}
	d, ok, over := parseDec(t, 4)
	if !ok || t[0] == '-' || t[0] == '+' {
		return Value{}, sqlerr.New(syntax)
	}
	d.neg = neg
	n, fit := d.int64()
	if low, high := moneyRange(to.ID); over || !fit || n < low || n > high {
		return Value{}, sqlerr.New(overflow)
	}
	return NewInt(to.ID, n), nil
}

func (c converter) toFloat(v Value, from, to Type) (Value, error) {
	var f float64
	switch from.ID.family() {
	case famInt:
		f = float64(v.Int())
	case famDecimal:
		f = v.dec().float(from.Scale)
	case famMoney:
		f = decOf(v.Int()).float(4)
	case famFloat:
		f = v.Float()
	case famDateTime:
		f = daysOf(v)
	case famText:
		s := strings.Trim(v.s, " \t\r\n")
		if s == "" {
			break
		}
		x, err := strconv.ParseFloat(s, 64)
		if !floatSyntax(s) {
			return Value{}, errConverting(from, to)
		}
		if err != nil || math.IsInf(x, 0) {
			return Value{}, errOverflow(from.plain(), to)
		}
		f = x
	default:
		return Value{}, errExplicit(from, to)
	}
	if to.ID == Float {
		return NewFloat(f), nil
	}
	if math.IsInf(float64(float32(f)), 0) {
		return Value{}, sqlerr.New(232, "real", strconv.FormatFloat(f, 'f', 6, 64))
	}
	return NewReal(float32(f)), nil
}

// floatSyntax keeps out what Go reads beyond [+-]digits[.digits][e[+-]digits].
func floatSyntax(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			return false
		}
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || err.(*strconv.NumError).Err == strconv.ErrRange
}

func fractionOfDay(v Value) float64 {
	if v.id == SmallDateTime {
		return float64(v.Ticks()) / 1440
	}
	return float64(v.Ticks()) / dtTicksPerDay
}

// daysOf is a datetime as a number: days since 1900 with the time as fraction.
func daysOf(v Value) float64 { return float64(v.Days()) + fractionOfDay(v) }
