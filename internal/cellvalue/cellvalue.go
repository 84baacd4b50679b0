// Package cellvalue turns cells of the wire into the values that go-mssqldb's rows have: int64, float64, bool, string, []byte
// and time.Time.
//
// It serves what reads a few rows, such as metadata, from a session that speaks TDS itself; internal/rowset decodes the rows of
// tables without these values. The two ways of a session give the same, which the tests of internal/session compare.
package cellvalue

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"example.com/mssqlcdc/internal/codepage"
	"example.com/mssqlcdc/internal/tds"
)

// Func gives the value of a cell that is not NULL. The value shares no memory with the cell.
type Func func(cell []byte) (any, error)

var errCell = errors.New("a cell that its type does not have")

// Of plans the values of a column. Times without a zone are given in UTC.
func Of(t *tds.TypeInfo) (Func, error) {
	checked := func(f func([]byte) (any, bool)) (Func, error) {
		return func(cell []byte) (any, error) {
			v, ok := f(cell)
			if !ok {
				return nil, errCell
			}
			return v, nil
		}, nil
	}
	switch t.Type {
	case tds.TypeNull:
		return func([]byte) (any, error) { return nil, nil }, nil
	case tds.TypeInt1, tds.TypeInt2, tds.TypeInt4, tds.TypeInt8, tds.TypeIntN:
		return checked(func(b []byte) (any, bool) { v, ok := tds.Int64(b); return v, ok })
	case tds.TypeBit, tds.TypeBitN:
		return checked(func(b []byte) (any, bool) { v, ok := tds.Int64(b); return v != 0, ok })
	case tds.TypeFlt4:
		return checked(func(b []byte) (any, bool) { v, ok := tds.Float64(b); return float32(v), ok })
	case tds.TypeFlt8, tds.TypeFltN:
		return checked(func(b []byte) (any, bool) { v, ok := tds.Float64(b); return v, ok })
	case tds.TypeMoney, tds.TypeMoney4, tds.TypeMoneyN:
		return checked(func(b []byte) (any, bool) {
			n, ok := tds.DecodeMoney(b)
			magnitude := uint64(n)
			if n < 0 {
				magnitude = -magnitude
			}
			return fixedPoint(n < 0, strconv.FormatUint(magnitude, 10), 4), ok
		})
	case tds.TypeDecimal, tds.TypeNumeric, tds.TypeDecimalN, tds.TypeNumericN:
		scale := int(t.Scale)
		return checked(func(b []byte) (any, bool) {
			d, ok := tds.DecodeDecimal(b)
			m := new(big.Int).SetUint64(d.Hi)
			m.Or(m.Lsh(m, 64), new(big.Int).SetUint64(d.Lo))
			return fixedPoint(d.Neg, m.String(), scale), ok
		})
	case tds.TypeDateN, tds.TypeTimeN, tds.TypeDateTime2N, tds.TypeDateTimeOffsetN, tds.TypeDateTimN, tds.TypeDateTime, tds.TypeDateTim4:
		return checked(timeOf(t))
	case tds.TypeNVarChar, tds.TypeNChar, tds.TypeNText, tds.TypeXML:
		return checked(func(b []byte) (any, bool) { return text(b), len(b)%2 == 0 })
	case tds.TypeBigVarChar, tds.TypeBigChar, tds.TypeText:
		page, err := codepage.NewDecoder(codepage.OfCollation(t.Collation))
		if err != nil {
			return nil, err
		}
		return func(b []byte) (any, error) {
			out, err := page.Append(nil, b, false)
			if err != nil && !errors.Is(err, codepage.ErrUndefined) {
				return nil, err
			}
			return string(out), nil
		}, nil
	case tds.TypeVarChar, tds.TypeChar:
		return func(b []byte) (any, error) { return strings.ToValidUTF8(string(b), "\uFFFD"), nil }, nil
	case tds.TypeSSVariant:
		return func(b []byte) (any, error) { return variant(b) }, nil
	case tds.TypeGUID, tds.TypeVarBinary, tds.TypeBinary, tds.TypeBigVarBinary, tds.TypeBigBinary, tds.TypeImage, tds.TypeUDT:
		return func(b []byte) (any, error) { return bytes.Clone(b), nil }, nil
	}
	return nil, fmt.Errorf("there are no values of %v", t.Type)
}

// variant gives the value of a sql_variant. A real in it is a float64, as the driver has it.
func variant(cell []byte) (any, error) {
	v, err := tds.DecodeVariant(cell)
	if err != nil {
		return nil, err
	}
	of, err := Of(&v.Info)
	if err != nil {
		return nil, err
	}
	x, err := of(v.Value)
	if f, ok := x.(float32); ok {
		x = float64(f)
	}
	return x, err
}

// text gives UTF-16 as UTF-8, with U+FFFD for lone surrogates.
func text(b []byte) string {
	var small [128]byte
	dst := small[:0]
	for {
		var units int
		dst, units = tds.AppendValidUTF8(dst, b)
		if b = b[2*units:]; len(b) < 2 {
			return string(dst)
		}
		dst, b = append(dst, "\uFFFD"...), b[2:]
	}
}

// fixedPoint writes the digits of a magnitude with a point before the last scale of them.
func fixedPoint(neg bool, digits string, scale int) []byte {
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	out := make([]byte, 0, len(digits)+2)
	if neg {
		out = append(out, '-')
	}
	out = append(out, digits[:len(digits)-scale]...)
	if scale > 0 {
		out = append(append(out, '.'), digits[len(digits)-scale:]...)
	}
	return out
}

func timeOf(t *tds.TypeInfo) func([]byte) (any, bool) {
	scale := t.Scale
	// at is the wall clock of a day, counted from the year, and so many 100 ns.
	at := func(year int, days int32, ticks int64) time.Time {
		const second = 10_000_000
		return time.Date(year, 1, 1+int(days), 0, 0, int(ticks/second), int(ticks%second)*100, time.UTC)
	}
	switch t.Type {
	case tds.TypeDateN:
		return func(b []byte) (any, bool) {
			days, ok := tds.DecodeDate(b)
			return at(1, days, 0), ok
		}
	case tds.TypeTimeN:
		return func(b []byte) (any, bool) {
			ticks, ok := tds.DecodeTime(b, scale)
			return at(1, 0, tds.Ticks100ns(ticks, scale)), ok
		}
	case tds.TypeDateTime2N:
		return func(b []byte) (any, bool) {
			days, ticks, ok := tds.DecodeDateTime2(b, scale)
			return at(1, days, tds.Ticks100ns(ticks, scale)), ok
		}
	case tds.TypeDateTimeOffsetN:
		return func(b []byte) (any, bool) {
			days, ticks, offset, ok := tds.DecodeDateTimeOffset(b, scale)
			return at(1, days, tds.Ticks100ns(ticks, scale)).In(time.FixedZone("", int(offset)*60)), ok
		}
	}
	return func(b []byte) (any, bool) {
		if len(b) == 4 {
			days, minutes, ok := tds.DecodeSmallDateTime(b)
			return at(1900, int32(days), int64(minutes)*60*10_000_000), ok
		}
		days, ticks, ok := tds.DecodeDateTime(b)
		// The millisecond that the server shows.
		ms := (int64(ticks%300)*10 + 1) / 3
		return at(1900, days, (int64(ticks/300)*1000+ms)*10_000), ok
	}
}
