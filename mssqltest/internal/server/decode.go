package server

import (
	"strings"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// decoder turns a cell from a client into a value; false if no value of the type has these bytes. It is planned once
// per column of a bulk load.
type decoder func(cell []byte) (value.Value, bool)

// newDecoder plans the values of cells that are described by ti; they are of type valueType(ti).
func newDecoder(ti *tds.TypeInfo) decoder {
	d := cellDecoder(ti, valueType(ti))
	return func(cell []byte) (value.Value, bool) {
		if cell == nil {
			return value.Value{}, true
		}
		return d(cell)
	}
}

func cellDecoder(ti *tds.TypeInfo, t value.Type) decoder {
	switch t.ID {
	case value.Bit:
		return func(cell []byte) (value.Value, bool) {
			n, ok := tds.Int64(cell)
			return value.NewBit(n != 0), ok
		}
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		return func(cell []byte) (value.Value, bool) {
			n, ok := tds.Int64(cell)
			return value.NewInt(t.ID, n), ok
		}
	case value.Real:
		return func(cell []byte) (value.Value, bool) {
			f, ok := tds.Float64(cell)
			return value.NewReal(float32(f)), ok && finite(f)
		}
	case value.Float:
		return func(cell []byte) (value.Value, bool) {
			f, ok := tds.Float64(cell)
			return value.NewFloat(f), ok && finite(f)
		}
	case value.Money, value.SmallMoney:
		return func(cell []byte) (value.Value, bool) {
			n, ok := tds.DecodeMoney(cell)
			return value.NewInt(t.ID, n), ok
		}
	case value.Decimal, value.Numeric:
		scale := ti.Scale
		return func(cell []byte) (value.Value, bool) {
			d, ok := tds.DecodeDecimal(cell)
			return value.NewDecimal(d.Neg, d.Hi, d.Lo, scale), ok
		}
	case value.UniqueIdentifier:
		return func(cell []byte) (value.Value, bool) {
			g, ok := tds.DecodeGUID(cell)
			return value.NewGUID(g), ok
		}
	case value.DateTime:
		return func(cell []byte) (value.Value, bool) {
			days, ticks, ok := tds.DecodeDateTime(cell)
			return value.NewDateTime(days, int64(ticks)), ok
		}
	case value.SmallDateTime:
		return func(cell []byte) (value.Value, bool) {
			days, minutes, ok := tds.DecodeSmallDateTime(cell)
			return value.NewSmallDateTime(int32(days), int64(minutes)), ok
		}
	case value.Date, value.Time, value.DateTime2, value.DateTimeOffset:
		return timeDecoder(t)
	case value.NVarChar, value.NChar, value.NText:
		return func(cell []byte) (value.Value, bool) {
			return value.NewString(t.ID, tds.DecodeUTF16(cell)), len(cell)%2 == 0
		}
	case value.XML:
		return func(cell []byte) (value.Value, bool) {
			return value.NewString(value.XML, strings.TrimPrefix(tds.DecodeUTF16(cell), "\uFEFF")), len(cell)%2 == 0
		}
	case value.VarChar, value.Char, value.Text:
		return func(cell []byte) (value.Value, bool) {
			return value.NewString(t.ID, narrowText(t.Coll, cell)), true
		}
	case value.Variant:
		return variantDecoder
	}
	return func(cell []byte) (value.Value, bool) { return value.NewBinary(t.ID, cell), true }
}

func timeDecoder(t value.Type) decoder {
	scale := t.Scale
	switch t.ID {
	case value.Date:
		return func(cell []byte) (value.Value, bool) {
			days, ok := tds.DecodeDate(cell)
			return value.NewDate(days), ok
		}
	case value.Time:
		return func(cell []byte) (value.Value, bool) {
			ticks, ok := tds.DecodeTime(cell, scale)
			return value.NewTime(tds.Ticks100ns(ticks, scale)), ok
		}
	case value.DateTime2:
		return func(cell []byte) (value.Value, bool) {
			days, ticks, ok := tds.DecodeDateTime2(cell, scale)
			return value.NewDateTime2(days, tds.Ticks100ns(ticks, scale)), ok
		}
	}
	return func(cell []byte) (value.Value, bool) {
		days, ticks, offset, ok := tds.DecodeDateTimeOffset(cell, scale)
		return value.NewDateTimeOffset(days, tds.Ticks100ns(ticks, scale), int(offset)), ok
	}
}

func variantDecoder(cell []byte) (value.Value, bool) {
	in, err := tds.DecodeVariant(cell)
	if err != nil {
		return value.Value{}, false
	}
	t := valueType(&in.Info)
	v, ok := cellDecoder(&in.Info, t)(in.Value)
	return value.NewVariant(v, t), ok
}

// narrowText decodes bytes of a code page.
func narrowText(c *collate.Collation, b []byte) string {
	for _, x := range b {
		if x >= 0x80 {
			return c.Decode(b)
		}
	}
	return string(b)
}

// finite refuses what SQL Server cannot hold (error 8023).
func finite(f float64) bool { return f-f == 0 }
