package session

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"time"

	"example.com/mssqlcdc/internal/tds"
)

// driverCell turns a cell into the value that the driver's Bulk sends as the same
// cell: decimals and money as text, because it takes integers as unscaled; text of
// a code page as its bytes, because it would send UTF-8.
type driverCell func(cell []byte) (any, error)

var (
	errCell    = errors.New("a cell that its type does not have")
	errRawOnly = errors.New("the driver cannot send its type, and raw_tds is not in use")
)

func newDriverCell(col *BulkColumn) (driverCell, error) {
	if col.RawOnly {
		return nil, errRawOnly
	}
	decode, err := cellValue(col)
	if err != nil {
		return nil, err
	}
	return nullable(decode), nil
}

// nullable makes NULL of no cell, and an error of a cell that is none.
func nullable(decode func([]byte) (any, bool, error)) driverCell {
	return func(cell []byte) (any, error) {
		if cell == nil {
			return nil, nil
		}
		v, ok, err := decode(cell)
		if err == nil && !ok {
			err = errCell
		}
		return v, err
	}
}

// cellValue plans the values of a column; false stands for a malformed cell.
func cellValue(col *BulkColumn) (func([]byte) (any, bool, error), error) {
	t := &col.Meta.Info
	switch t.Type {
	case tds.TypeIntN:
		return func(b []byte) (any, bool, error) { v, ok := tds.Int64(b); return v, ok, nil }, nil
	case tds.TypeBitN:
		return func(b []byte) (any, bool, error) { v, ok := tds.Int64(b); return v != 0, ok, nil }, nil
	case tds.TypeFltN:
		return func(b []byte) (any, bool, error) { v, ok := tds.Float64(b); return v, ok, nil }, nil
	case tds.TypeDecimalN, tds.TypeNumericN:
		scale := int(t.Scale)
		return func(b []byte) (any, bool, error) {
			d, ok := tds.DecodeDecimal(b)
			m := new(big.Int).SetUint64(d.Hi)
			m.Or(m.Lsh(m, 64), new(big.Int).SetUint64(d.Lo))
			return fixedPoint(d.Neg, m.String(), scale), ok, nil
		}, nil
	case tds.TypeMoneyN:
		return func(b []byte) (any, bool, error) {
			n, ok := tds.DecodeMoney(b)
			if n < 0 {
				return fixedPoint(true, strconv.FormatUint(-uint64(n), 10), 4), ok, nil
			}
			return fixedPoint(false, strconv.FormatInt(n, 10), 4), ok, nil
		}, nil
	case tds.TypeGUID, tds.TypeBigVarChar, tds.TypeBigChar, tds.TypeBigVarBinary, tds.TypeBigBinary:
		return func(b []byte) (any, bool, error) { return bytes.Clone(b), true, nil }, nil
	case tds.TypeNVarChar, tds.TypeNChar:
		narrow := col.Narrow
		switch {
		case col.UTF8:
			return func(b []byte) (any, bool, error) { return tds.DecodeUTF16(b), len(b)%2 == 0, nil }, nil
		case narrow == nil:
			return func(b []byte) (any, bool, error) { return bytes.Clone(b), len(b)%2 == 0, nil }, nil
		}
		return func(b []byte) (any, bool, error) {
			out, err := narrow([]byte{}, tds.DecodeUTF16(b))
			return out, len(b)%2 == 0, err
		}, nil
	case tds.TypeTimeN:
		// Drivers before 1.10 panic at a time in fewer than five bytes.
		if t.Scale >= 5 {
			return timeValue(t), nil
		}
	case tds.TypeDateN, tds.TypeDateTime2N, tds.TypeDateTimeOffsetN, tds.TypeDateTimN:
		return timeValue(t), nil
	}
	return nil, errRawOnly
}

// fixedPoint writes the digits of a magnitude with a point before the last scale
// of them.
func fixedPoint(neg bool, digits string, scale int) string {
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if neg {
		digits = "-" + digits
	}
	return digits
}

// year1 is the origin of the days of date, datetime2 and datetimeoffset; year1900
// that of datetime and smalldatetime.
var (
	year1    = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	year1900 = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
)

func timeValue(t *tds.TypeInfo) func([]byte) (any, bool, error) {
	scale := t.Scale
	clock := func(ticks uint64) time.Duration { return time.Duration(tds.Ticks100ns(ticks, scale) * 100) }
	switch {
	case t.Type == tds.TypeDateN:
		return func(b []byte) (any, bool, error) {
			days, ok := tds.DecodeDate(b)
			return year1.AddDate(0, 0, int(days)), ok, nil
		}
	case t.Type == tds.TypeTimeN:
		return func(b []byte) (any, bool, error) {
			ticks, ok := tds.DecodeTime(b, scale)
			return year1900.Add(clock(ticks)), ok, nil
		}
	case t.Type == tds.TypeDateTime2N:
		return func(b []byte) (any, bool, error) {
			days, ticks, ok := tds.DecodeDateTime2(b, scale)
			return year1.AddDate(0, 0, int(days)).Add(clock(ticks)), ok, nil
		}
	case t.Type == tds.TypeDateTimeOffsetN:
		return func(b []byte) (any, bool, error) {
			days, ticks, offset, ok := tds.DecodeDateTimeOffset(b, scale)
			zone := time.FixedZone("", int(offset)*60)
			return year1.AddDate(0, 0, int(days)).Add(clock(ticks)).In(zone), ok, nil
		}
	case t.Size == 4:
		return func(b []byte) (any, bool, error) {
			days, minutes, ok := tds.DecodeSmallDateTime(b)
			return year1900.AddDate(0, 0, int(days)).Add(time.Duration(minutes) * time.Minute), ok, nil
		}
	}
	return func(b []byte) (any, bool, error) {
		days, ticks, ok := tds.DecodeDateTime(b)
		// The driver rounds to the nearest 1/300 s, which is this one again.
		nanos := (int64(ticks)*10_000_000 + 1) / 3
		return year1900.AddDate(0, 0, int(days)).Add(time.Duration(nanos)), ok, nil
	}
}
