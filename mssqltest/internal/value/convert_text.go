package value

import (
	"math"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

func realBits(v Value) uint32 { return math.Float32bits(float32(v.Float())) }

// toText: texts and dates are cut to the length, numbers that do not fit are an error or, the small ones, an asterisk.
func (c converter) toText(v Value, from, to Type) (Value, error) {
	s, err := c.text(v, from, to)
	if err != nil {
		return Value{}, err
	}
	if !to.IsUnicode() && (from.IsUnicode() || from.IsBinary() || from.Coll != to.Coll) {
		s = to.collation().Narrow(s)
	}
	if from.IsNumber() || from.ID == UniqueIdentifier {
		if to.Len != Max && to.ID != Text && to.ID != NText && len(s) > to.Len {
			if s, err = tooNarrow(from, to); err != nil {
				return Value{}, err
			}
		}
	}
	return NewString(to.ID, FitText(s, to)), nil
}

// tooNarrow is what becomes of a number that the text type cannot hold.
func tooNarrow(from, to Type) (string, error) {
	switch from.ID {
	case Int, SmallInt, TinyInt, Bit:
		if !to.IsUnicode() {
			return "*", nil
		}
		return "", errOverflow("expression", to)
	case UniqueIdentifier:
		return "", sqlerr.New(8170)
	case Money, SmallMoney:
		return "", sqlerr.New(234, to.plain())
	case Decimal, Numeric:
		return "", errOverflow("numeric", to)
	}
	return "", errOverflow("expression", to)
}

// FitText cuts or, char and nchar, fills s to the length of the character type t.
func FitText(s string, t Type) string {
	if t.Len == Max || t.ID == Text || t.ID == NText || t.ID == XML {
		return s
	}
	n := 0
	if t.IsUnicode() {
		if n = len(s); n > t.Len {
			if n = collate.UTF16Len(s); n > t.Len {
				s, n = collate.SliceUTF16(s, 0, t.Len), t.Len
			}
		} else if !collate.IsASCII(s) {
			n = collate.UTF16Len(s)
		}
	} else {
		s, n = fitBytes(s, t)
	}
	if (t.ID == Char || t.ID == NChar) && n < t.Len {
		s += strings.Repeat(" ", t.Len-n)
	}
	return s
}

// fitBytes cuts s to the bytes of the code page, never inside of a character.
func fitBytes(s string, t Type) (string, int) {
	if collate.IsASCII(s) {
		n := min(len(s), t.Len)
		return s[:n], n
	}
	c := t.collation()
	n := c.EncodedLen(s)
	if n <= t.Len {
		return s, n
	}
	n = 0
	for i := 0; i < len(s); {
		_, w := collate.NextRune(s[i:])
		k := c.EncodedLen(s[i : i+w])
		if n+k > t.Len {
			return s[:i], n
		}
		n += k
		i += w
	}
	return s, n
}

// text writes v without regard to the length.
func (c converter) text(v Value, from, to Type) (string, error) {
	switch from.ID.family() {
	case famText, famLOBText, famXML:
		return v.s, nil
	case famInt:
		return strconv.FormatInt(v.Int(), 10), nil
	case famDecimal:
		return v.dec().text(from.Scale), nil
	case famMoney:
		return moneyText(v.Int(), c.style), nil
	case famFloat:
		return floatText(v, c.style), nil
	case famGUID:
		return guidText(v.GUID()), nil
	case famDateTime, famNewDateTime:
		return dateText(v, from, c.style)
	case famBinary, famImage:
		return c.textOfBytes(v.s, to), nil
	case famCLR:
		return hierarchyText(v.s)
	}
	return "", errExplicit(from, to)
}

func (c converter) textOfBytes(raw string, to Type) string {
	switch c.style {
	case 1:
		return "0x" + hexText(raw)
	case 2:
		return hexText(raw)
	}
	if to.IsUnicode() {
		if len(raw)%2 == 1 {
			raw += "\x00"
		}
		return collate.FromUTF16([]byte(raw))
	}
	return to.collation().Decode([]byte(raw))
}

func hexText(raw string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(2 * len(raw))
	for i := range len(raw) {
		b.WriteByte(digits[raw[i]>>4])
		b.WriteByte(digits[raw[i]&15])
	}
	return b.String()
}

// moneyText: style 0 has two digits behind the point, 1 commas as well, 2 and 126 four digits.
func moneyText(n int64, style int) string {
	if style == 2 || style == 126 {
		return decOf(n).text(4)
	}
	s := decOf(roundDiv(n, 100)).text(2)
	if style != 1 {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	whole, frac, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + "." + frac
}

// floatText: style 0 has up to six digits, 1 eight, 2 sixteen, 3 as many as it takes to read the value back.
func floatText(v Value, style int) string {
	f := v.Float()
	bits := 64
	if v.id == Real {
		bits = 32
	}
	switch style {
	case 1:
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 7, 64))
	case 2:
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 15, 64))
	case 3:
		n := 16
		if bits == 32 {
			n = 8
		}
		return threeDigitExponent(strconv.FormatFloat(f, 'e', n, 64))
	case 126, 128, 129:
		return threeDigitExponent(strconv.FormatFloat(f, 'e', -1, bits))
	}
	return generalFloat(f, 6, 64)
}

// generalFloat is C's %.{digits}g with an exponent of three digits.
func generalFloat(f float64, digits, bits int) string {
	s := strconv.FormatFloat(f, 'g', digits, bits)
	if i := strings.IndexByte(s, 'e'); i >= 0 {
		return threeDigitExponent(s)
	}
	return s
}

func threeDigitExponent(s string) string {
	i := strings.IndexByte(s, 'e')
	if i < 0 {
		return s
	}
	digits := s[i+2:]
	for len(digits) < 3 {
		digits = "0" + digits
	}
	return s[:i+2] + digits
}

// Display returns v as a query tool shows it, for messages and tests: NULL, 0x…, ISO dates, all digits.
func Display(v Value, t Type) string {
	if v.IsNull() {
		return "NULL"
	}
	switch v.id {
	case Variant:
		return Display(v.Variant())
	case Real:
		return strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case Money, SmallMoney:
		return decOf(v.Int()).text(4)
	case Binary, VarBinary, Image, RowVersion, CLR:
		return "0x" + hexText(v.s)
	case Decimal, Numeric:
		return v.dec().text(t.Scale)
	}
	s, err := converter{style: 121}.text(v, t, Type{ID: NVarChar, Len: Max})
	if err != nil {
		return err.Error()
	}
	return s
}
