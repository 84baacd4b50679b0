package server

import (
	"encoding/binary"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// encoder appends one cell with its length. It is planned once per column of a result set.
type encoder func(dst []byte, v value.Value) []byte

// content appends a value, which is not NULL, without its length.
type content func(dst []byte, v value.Value) []byte

// newEncoder plans the cells of a column of type t that is described by ti ([MS-TDS] 2.2.5.2.3 Data Type Dependent Data
// Streams).
func newEncoder(t value.Type, ti *tds.TypeInfo, utf8 bool) encoder {
	raw := newContent(t, ti, utf8)
	if size, ok := ti.Type.FixedSize(); ok {
		zero := make([]byte, size)
		return func(dst []byte, v value.Value) []byte {
			if v.IsNull() { // cannot be, and must not put the stream out of step
				return append(dst, zero...)
			}
			return raw(dst, v)
		}
	}
	switch {
	case ti.IsPLP():
		return plpEncoder(raw)
	case ti.HasTextPointer():
		return textEncoder(raw)
	case ti.Type == tds.TypeSSVariant:
		return variantEncoder(raw)
	}
	switch ti.Type {
	case tds.TypeNVarChar, tds.TypeNChar, tds.TypeBigVarChar, tds.TypeBigChar, tds.TypeBigVarBinary, tds.TypeBigBinary:
		return shortEncoder(raw)
	}
	return func(dst []byte, v value.Value) []byte {
		if v.IsNull() {
			return append(dst, 0)
		}
		at := len(dst)
		dst = raw(append(dst, 0), v)
		dst[at] = byte(len(dst) - at - 1)
		return dst
	}
}

func shortEncoder(raw content) encoder {
	return func(dst []byte, v value.Value) []byte {
		if v.IsNull() {
			return append(dst, 0xFF, 0xFF)
		}
		at := len(dst)
		dst = raw(append(dst, 0, 0), v)
		if len(dst)-at-2 > 8000 { // a value that its type does not hold; the length must stay true
			dst = dst[:at+2+8000]
		}
		binary.LittleEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
		return dst
	}
}

// plpEncoder sends a value of known length in one chunk.
func plpEncoder(raw content) encoder {
	return func(dst []byte, v value.Value) []byte {
		if v.IsNull() {
			return tds.AppendPLP(dst, nil)
		}
		at := len(dst)
		dst = raw(append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), v)
		n := len(dst) - at - 12
		binary.LittleEndian.PutUint64(dst[at:], uint64(n))
		if n == 0 {
			return dst[:at+12] // a chunk of no bytes is the end
		}
		binary.LittleEndian.PutUint32(dst[at+8:], uint32(n))
		return tds.AppendPLPEnd(dst)
	}
}

// textPointer is what goes before text, ntext and image: sixteen bytes of pointer and a timestamp, both made up.
const textPointer = "\x10dummy textptr\x00\x00\x00" + "dummyTS\x00"

func textEncoder(raw content) encoder {
	return func(dst []byte, v value.Value) []byte {
		if v.IsNull() {
			return append(dst, 0)
		}
		dst = append(dst, textPointer...)
		at := len(dst)
		dst = raw(append(dst, 0, 0, 0, 0), v)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return dst
	}
}

func variantEncoder(raw content) encoder {
	return func(dst []byte, v value.Value) []byte {
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		if v.IsNull() {
			return dst
		}
		dst = raw(dst, v)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return dst
	}
}

// newContent plans what a value looks like inside a cell.
func newContent(t value.Type, ti *tds.TypeInfo, utf8 bool) content {
	size := ti.Size
	switch t.ID {
	case value.Bit, value.TinyInt, value.SmallInt, value.Int, value.BigInt, value.Null:
		return func(dst []byte, v value.Value) []byte { return tds.AppendInt(dst, v.Int(), size) }
	case value.Real, value.Float:
		return func(dst []byte, v value.Value) []byte { return tds.AppendFloat(dst, v.Float(), size) }
	case value.Money, value.SmallMoney:
		return func(dst []byte, v value.Value) []byte { return tds.AppendMoney(dst, v.Int(), size) }
	case value.Decimal, value.Numeric:
		return func(dst []byte, v value.Value) []byte {
			neg, hi, lo := v.Decimal()
			return tds.AppendDecimal(dst, tds.Decimal{Neg: neg, Hi: hi, Lo: lo}, size)
		}
	case value.UniqueIdentifier:
		return func(dst []byte, v value.Value) []byte { return tds.AppendGUID(dst, v.GUID()) }
	case value.DateTime:
		return func(dst []byte, v value.Value) []byte { return tds.AppendDateTime(dst, v.Days(), uint32(v.Ticks())) }
	case value.SmallDateTime:
		return func(dst []byte, v value.Value) []byte {
			return tds.AppendSmallDateTime(dst, uint16(v.Days()), uint16(v.Ticks()))
		}
	case value.Date:
		return func(dst []byte, v value.Value) []byte { return tds.AppendDate(dst, v.Days()) }
	case value.Time, value.DateTime2, value.DateTimeOffset:
		return timeContent(t)
	case value.NVarChar, value.NChar, value.NText, value.XML:
		return func(dst []byte, v value.Value) []byte { return tds.AppendUTF16(dst, v.Str()) }
	case value.VarChar, value.Char, value.Text:
		return charContent(t, utf8)
	case value.Variant:
		return func(dst []byte, v value.Value) []byte {
			inner, it := v.Variant()
			info := typeInfo(it, true, utf8)
			// A variant's base type is never (max), and never the nullable form of a fixed type.
			if fixed := typeInfo(it, false, utf8); fixed.Type != info.Type {
				info = fixed
			}
			cell := tds.Variant{Info: info, Value: newContent(it, &info, utf8)(nil, inner)}
			return cell.Append(dst)
		}
	}
	return func(dst []byte, v value.Value) []byte { return append(dst, v.Raw()...) }
}

func timeContent(t value.Type) content {
	scale := t.Scale
	switch t.ID {
	case value.Time:
		return func(dst []byte, v value.Value) []byte {
			return tds.AppendTime(dst, tds.TicksOf(v.Ticks(), scale), scale)
		}
	case value.DateTime2:
		return func(dst []byte, v value.Value) []byte {
			return tds.AppendDateTime2(dst, v.Days(), tds.TicksOf(v.Ticks(), scale), scale)
		}
	}
	return func(dst []byte, v value.Value) []byte {
		return tds.AppendDateTimeOffset(dst, v.Days(), tds.TicksOf(v.Ticks(), scale), scale, int16(v.OffsetMinutes()))
	}
}

// charContent is a varchar in its code page, or in UTF-16 where the client does not know UTF-8 collations.
func charContent(t value.Type, utf8 bool) content {
	if asWide(t, utf8) {
		return func(dst []byte, v value.Value) []byte { return tds.AppendUTF16(dst, v.Str()) }
	}
	coll := t.Coll
	if coll == nil {
		coll = collate.Default()
	}
	return func(dst []byte, v value.Value) []byte {
		s := v.Str()
		if coll.UTF8 || collate.IsASCII(s) {
			return append(dst, s...)
		}
		b, _ := coll.Encode(s)
		return append(dst, b...)
	}
}

// rawCell is a value as tds has it: nil for NULL.
func rawCell(v value.Value, t value.Type, utf8 bool) []byte {
	if v.IsNull() {
		return nil
	}
	ti := typeInfo(t, true, utf8)
	return newContent(t, &ti, utf8)([]byte{}, v)
}
