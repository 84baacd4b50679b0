package rowset

import (
	"errors"
	"fmt"
	"math/bits"

	"example.com/mssqlcdc/internal/cellvalue"
	"example.com/mssqlcdc/internal/codepage"
	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// Origins of the wire's days, which are counted from 0001-01-01 or from 1900-01-01.
const (
	ticksPerDay    = 864_000_000_000
	day1900        = 693_595 // from 0001-01-01
	datetimePerDay = 86_400 * 300
)

// timeCell plans dates and times: the wire's own units become those of the inside form without a time.Time between them.
func timeCell(k sqltype.Kind, t *tds.TypeInfo) cellFunc {
	scale := t.Scale
	switch {
	case k == sqltype.Date && t.Type == tds.TypeDateN:
		return func(_ *Builder, v *vector, cell []byte) error {
			days, ok := tds.DecodeDate(cell)
			if !ok {
				return errWireCell
			}
			v.put32(days - tds.UnixDay)
			return nil
		}
	case k == sqltype.Time && t.Type == tds.TypeTimeN:
		return func(_ *Builder, v *vector, cell []byte) error {
			ticks, ok := tds.DecodeTime(cell, scale)
			if !ok {
				return errWireCell
			}
			v.put64(tds.Ticks100ns(ticks, scale) * 100)
			return nil
		}
	case k == sqltype.DateTime2 && t.Type == tds.TypeDateTime2N:
		return func(_ *Builder, v *vector, cell []byte) error {
			days, ticks, ok := tds.DecodeDateTime2(cell, scale)
			if !ok {
				return errWireCell
			}
			v.put64(int64(days)*ticksPerDay + tds.Ticks100ns(ticks, scale))
			return nil
		}
	case k == sqltype.DateTimeOffset && t.Type == tds.TypeDateTimeOffsetN:
		return func(_ *Builder, v *vector, cell []byte) error {
			days, ticks, offset, ok := tds.DecodeDateTimeOffset(cell, scale)
			if !ok {
				return errWireCell
			}
			v.put64(int64(days)*ticksPerDay + tds.Ticks100ns(ticks, scale))
			v.putSecond(offset)
			return nil
		}
	case k == sqltype.DateTime && (t.Type == tds.TypeDateTime || t.Type == tds.TypeDateTimN && t.Size == 8):
		return func(_ *Builder, v *vector, cell []byte) error {
			days, ticks, ok := tds.DecodeDateTime(cell)
			if !ok {
				return errWireCell
			}
			v.put64(int64(days)*datetimePerDay + int64(ticks))
			return nil
		}
	case k == sqltype.DateTime2 && (t.Type == tds.TypeDateTim4 || t.Type == tds.TypeDateTimN && t.Size == 4):
		return func(_ *Builder, v *vector, cell []byte) error {
			days, minutes, ok := tds.DecodeSmallDateTime(cell)
			if !ok {
				return errWireCell
			}
			v.put64((int64(days)+day1900)*ticksPerDay + int64(minutes)*60*10_000_000)
			return nil
		}
	}
	return nil
}

// putScaled appends a decimal that has so many digits after the point on the wire.
func putScaled(v *vector, d tds.Decimal, scale int) error {
	hi, lo := d.Hi, d.Lo
	want := v.typ.Digits()
	if scale > want {
		return fmt.Errorf("decimal with %d digits after the point in a column of scale %d", scale, want)
	}
	for ; scale < want; scale++ {
		if hi > (1<<63)/10 {
			return errNotDecimal
		}
		hi, lo = times10(hi, lo, 0)
	}
	if hi > mostDecimalHigh || hi == mostDecimalHigh && lo > mostDecimalLow {
		return errNotDecimal
	}
	if d.Neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	putDecimal(v.fixed(), hi, lo)
	return nil
}

// The largest decimal has 38 nines.
const (
	mostDecimalHigh = 5421010862427522170
	mostDecimalLow  = 687399551400673279
)

// pageCell plans text of a code page.
func pageCell(c tds.Collation) (cellFunc, error) {
	page, err := codepage.NewDecoder(codepage.OfCollation(c))
	if err != nil {
		return nil, err
	}
	return func(b *Builder, v *vector, cell []byte) error {
		if err := v.room(tds.MaxUTF8(2 * len(cell))); err != nil {
			return err
		}
		dst, err := page.Append(v.data[v.used:v.used:len(v.data)], cell, !b.opts.ReplaceInvalidText)
		if err != nil && (!errors.Is(err, codepage.ErrUndefined) || !b.opts.ReplaceInvalidText) {
			return err
		}
		v.endVariable(len(dst))
		return nil
	}, nil
}

// variantPlan is how the three expressions of a sql_variant become values: sqltype.Type.SelectList says what they are.
type variantPlan struct {
	wire                tds.DataType
	declared, converted cellvalue.Func
}

func (b *Builder) planVariant(column int, columns []tds.ColumnMeta) error {
	var p variantPlan
	var err error
	p.wire = columns[0].Info.Type // NULL of another type where the column was dropped from the table
	if p.declared, err = cellvalue.Of(&columns[1].Info); err != nil {
		return err
	}
	if p.converted, err = cellvalue.Of(&columns[2].Info); err != nil {
		return err
	}
	if b.variants == nil {
		b.variants = map[int]variantPlan{}
	}
	b.variants[column] = p
	return nil
}

// appendVariantCells appends a sql_variant. Its text is looked at on the wire, since its value may have lost something.
func (b *Builder) appendVariantCells(column int, v *vector, cells [][]byte) error {
	p := b.variants[column]
	if p.wire != tds.TypeSSVariant {
		return fmt.Errorf("the server sent %v where a sql_variant was expected", p.wire)
	}
	inner, err := tds.DecodeVariant(cells[0])
	if err != nil {
		return err
	}
	if t := inner.Info.Type; (t == tds.TypeNVarChar || t == tds.TypeNChar) && !b.opts.ReplaceInvalidText {
		if _, units := tds.AppendValidUTF8(b.scratch[:0], inner.Value); 2*units < len(inner.Value) {
			return &InvalidTextError{Unit: uint16(inner.Value[2*units]) | uint16(inner.Value[2*units+1])<<8, Position: units}
		}
	}
	of, err := cellvalue.Of(&inner.Info)
	if err != nil {
		return err
	}
	x, err := of(inner.Value)
	if err != nil {
		return err
	}
	if f, ok := x.(float32); ok {
		x = float64(f)
	}
	var others [2]any
	for i, of := range []cellvalue.Func{p.declared, p.converted} {
		if cells[i+1] == nil {
			continue
		}
		if others[i], err = of(cells[i+1]); err != nil {
			return err
		}
	}
	if s, ok := x.(string); ok {
		if x, err = variantText(s, others[1]); err != nil {
			return err
		}
	}
	if b.scratch, err = appendVariant(b.scratch[:0], x, others[0]); err != nil {
		return err
	}
	return v.putBytes(b.scratch)
}
