package body

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"

	"example.com/mssqlcdc/internal/sqltype"
)

var (
	errLossyNumber = errors.New("digits would be lost; set on_lossy.number to round if that is right")
	errLossyTime   = errors.New("part of the time would be lost; set on_lossy.time to round if that is right")
	errNotLoadable = errors.New("a column of this type cannot be bulk loaded; leave the field out, or give the column another type")
)

var strictBase64 = base64.StdEncoding.Strict()

// fromText decodes the text that begins at from in the arena, which is valid UTF-8.
func (d *Decoder) fromText(i int, v *cellValue, from int) error {
	text := d.arena[from:]
	switch d.kinds[i] {
	case sqltype.Text:
		v.from, v.to = from, len(d.arena)
		return nil
	case sqltype.Bit:
		switch string(text) {
		case "true", "1":
			v.lo = 1
		case "false", "0":
			v.lo = 0
		default:
			return fmt.Errorf("%q is neither true nor false", shown(text))
		}
		return nil
	case sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt, sqltype.Decimal, sqltype.Real, sqltype.Float:
		if notFinite(string(text)) {
			return d.notFinite(i, v, string(text))
		}
		return d.fromNumber(i, v, text)
	case sqltype.Date, sqltype.Time, sqltype.DateTime, sqltype.DateTime2, sqltype.DateTimeOffset:
		c, err := parseClock(text)
		if err != nil {
			return fmt.Errorf("%q %w", shown(text), err)
		}
		return d.fromClock(i, v, c)
	case sqltype.Binary, sqltype.RowVersion:
		var err error
		v.from = len(d.arena)
		if d.arena, err = strictBase64.AppendDecode(d.arena, text); err != nil {
			return fmt.Errorf("%q is not base64 (RFC 4648, section 4)", shown(text))
		}
		v.to = len(d.arena)
		if n := v.to - v.from; d.kinds[i] == sqltype.RowVersion && n != 8 {
			return fmt.Errorf("%d bytes, not 8", n)
		}
		return nil
	case sqltype.UUID:
		var u [16]byte
		if !parseUUID(&u, text) {
			return fmt.Errorf("%q is not the text of a uniqueidentifier", shown(text))
		}
		d.arena = append(d.arena[:from], u[:]...)
		v.from, v.to = from, from+16
		return nil
	}
	return errNotLoadable
}

func notFinite(s string) bool {
	switch s {
	case "NaN", "Infinity", "-Infinity", "+Infinity", "Inf", "-Inf", "+Inf":
		return true
	}
	return false
}

// notFinite is a number that SQL Server does not have.
func (d *Decoder) notFinite(i int, v *cellValue, text string) error {
	switch d.kinds[i] {
	case sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt, sqltype.Decimal, sqltype.Real, sqltype.Float:
	default:
		return fmt.Errorf("%s does not fit", text)
	}
	if !d.options.Lossy.NaN {
		return fmt.Errorf("%s is not finite, which SQL Server does not have; set on_lossy.nan to null if NULL is right", text)
	}
	v.null = true
	return nil
}

func (d *Decoder) fromBool(i int, v *cellValue, b bool) error {
	if b {
		v.lo = 1
	}
	switch d.kinds[i] {
	case sqltype.Bit, sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt:
		return nil
	case sqltype.Text:
		v.from = len(d.arena)
		d.arena = strconv.AppendBool(d.arena, b)
		v.to = len(d.arena)
		return nil
	case sqltype.Variant, sqltype.Unknown:
		return errNotLoadable
	}
	return fmt.Errorf("%t does not fit", b)
}

// fromNested keeps an object or an array as its JSON text, which text columns take.
func (d *Decoder) fromNested(i int, v *cellValue, raw []byte) error {
	switch d.kinds[i] {
	case sqltype.Text:
		v.from = len(d.arena)
		d.arena = append(d.arena, raw...)
		v.to = len(d.arena)
		return nil
	case sqltype.Variant, sqltype.Unknown:
		return errNotLoadable
	}
	return errors.New("a nested value fits into columns of text only")
}

// fromNumber decodes a number from its text.
func (d *Decoder) fromNumber(i int, v *cellValue, text []byte) error {
	switch k := d.kinds[i]; k {
	case sqltype.Text:
		v.from = len(d.arena)
		d.arena = append(d.arena, text...)
		v.to = len(d.arena)
		return nil
	case sqltype.Bit:
		if s := string(text); s == "0" || s == "1" {
			v.lo = uint64(s[0] - '0')
			return nil
		}
		return fmt.Errorf("%s is neither 0 nor 1", shown(text))
	case sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt:
		hi, lo, err := d.exact(text, 0)
		if err != nil {
			return err
		}
		n := int64(lo)
		if hi != uint64(n>>63) || !inRange(k, n) {
			return fmt.Errorf("%s is outside of the range of the type", shown(text))
		}
		v.lo = lo
		return nil
	case sqltype.Decimal:
		t := d.columns[i].Type
		hi, lo, err := d.exact(text, t.Digits())
		if err != nil {
			return err
		}
		if !fits(t, hi, lo) {
			return fmt.Errorf("%s is outside of the range of the type", shown(text))
		}
		v.hi, v.lo = hi, lo
		return nil
	case sqltype.Real, sqltype.Float:
		return d.fromFloatText(v, text, k)
	case sqltype.Variant, sqltype.Unknown:
		return errNotLoadable
	case sqltype.Date, sqltype.Time, sqltype.DateTime, sqltype.DateTime2, sqltype.DateTimeOffset:
		return fmt.Errorf("the number %s is not a time: give the text of the time, for example with ts_format", shown(text))
	}
	return fmt.Errorf("the number %s does not fit", shown(text))
}

func (d *Decoder) exact(text []byte, scale int) (hi, lo uint64, err error) {
	hi, lo, lost, err := parseNumber(text, scale)
	if err != nil {
		return 0, 0, fmt.Errorf("%q %w", shown(text), err)
	}
	if lost && !d.options.Lossy.Number {
		return 0, 0, fmt.Errorf("%s has more than %d digits after the point: %w", shown(text), scale, errLossyNumber)
	}
	return hi, lo, nil
}

// fromFloatText takes the nearest float, as every reader of JSON does; only a whole number must keep its digits.
func (d *Decoder) fromFloatText(v *cellValue, text []byte, k sqltype.Kind) error {
	size := 64
	if k == sqltype.Real {
		size = 32
	}
	if !isNumber(text) {
		return fmt.Errorf("%q %w", shown(text), errNotNumber)
	}
	f, err := strconv.ParseFloat(string(text), size)
	if err != nil {
		return fmt.Errorf("%s is outside of the range of the type", shown(text))
	}
	if !d.options.Lossy.Number && len(text) > 6 && isWhole(text) {
		var short [40]byte
		if b, _ := sqltype.AppendFloat(short[:0], f, size); isWhole(b) && string(b) != string(text) {
			return fmt.Errorf("%s becomes %s: %w", shown(text), b, errLossyNumber)
		}
	}
	v.lo = math.Float64bits(f)
	if k == sqltype.Real {
		v.lo = uint64(math.Float32bits(float32(f)))
	}
	return nil
}

func float32From(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }
func float64From(bits uint64) float64 { return math.Float64frombits(bits) }

func inRange(k sqltype.Kind, n int64) bool {
	switch k {
	case sqltype.TinyInt:
		return n == int64(uint8(n))
	case sqltype.SmallInt:
		return n == int64(int16(n))
	case sqltype.Int:
		return n == int64(int32(n))
	}
	return true
}

// parseUUID reads 8-4-4-4-12 hexadecimal digits, in braces or not.
func parseUUID(dst *[16]byte, s []byte) bool {
	if len(s) == 38 && s[0] == '{' && s[37] == '}' {
		s = s[1:37]
	}
	if len(s) != 36 {
		return false
	}
	n := 0
	for i := 0; i < 36; i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
			continue
		}
		h, ok := hexDigit(s[i])
		l, ok2 := hexDigit(s[i+1])
		if !ok || !ok2 {
			return false
		}
		dst[n] = h<<4 | l
		n++
		i++
	}
	return true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
