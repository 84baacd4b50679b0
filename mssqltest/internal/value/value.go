// Package value is the stand-in's scalar values: SQL Server's types, conversion, comparison, arithmetic and sort keys.
//
// A Value knows its kind but not its length, precision or collation: those are in the Type that a column, a variable or
// an expression has, and every function that needs them takes both. Values are immutable.
package value

import (
	"encoding/binary"
	"math"

	"example.com/mssqlcdc/mssqltest/internal/collate"
)

// Value is one scalar; the zero Value is NULL. It is passed by value and is not comparable in the sense of SQL with ==.
//
// The words hold: whole numbers and money (×10⁴) lo as int64; real and float the bits of the float64 in lo; decimals the
// unscaled magnitude in hi, lo; date and time types days in hi (int64) and ticks in lo; uniqueidentifier its sixteen
// bytes in hi, lo, big-endian. Text, binary and CLR values are in s, a sql_variant's inner value in all of them.
type Value struct {
	s      string
	hi, lo uint64
	offset int16 // datetimeoffset: minutes
	id     ID
	neg    bool
	scale  uint8 // decimal
}

// NullValue is NULL.
var NullValue Value

// IsNull says whether v is NULL.
func (v Value) IsNull() bool { return v.id == Null }

// ID returns the kind of v, Null for NULL.
func (v Value) ID() ID { return v.id }

// Int returns bit, tinyint … bigint; money and smallmoney in ten thousandths; of a datetime days<<32 | ticks of 1/300 s,
// of a smalldatetime days<<32 | minutes, of a date its days.
func (v Value) Int() int64 {
	switch v.id {
	case DateTime, SmallDateTime:
		return int64(v.hi)<<32 | int64(v.lo)
	case Date:
		return int64(v.hi)
	}
	return int64(v.lo)
}

// Bool says whether the number v is not 0.
func (v Value) Bool() bool { return v.lo != 0 }

// Float returns a real or float.
func (v Value) Float() float64 { return math.Float64frombits(v.lo) }

// Str returns the text of a character type or of xml, as WTF-8.
func (v Value) Str() string { return v.s }

// Raw returns the bytes of a binary, rowversion, image or CLR value without copying.
func (v Value) Raw() string { return v.s }

// Bytes returns the bytes of a binary, rowversion, image or CLR value, copied.
func (v Value) Bytes() []byte { return []byte(v.s) }

// GUID returns the bytes of a uniqueidentifier in the order of its text.
func (v Value) GUID() (g [16]byte) {
	binary.BigEndian.PutUint64(g[:8], v.hi)
	binary.BigEndian.PutUint64(g[8:], v.lo)
	return g
}

// Decimal returns sign and unscaled magnitude; the scale is the Type's.
func (v Value) Decimal() (neg bool, hi, lo uint64) { return v.neg, v.hi, v.lo }

// Scale returns the scale with which a decimal was made.
func (v Value) Scale() uint8 { return v.scale }

// Days returns the days of a date (since 0001-01-01), of a datetime2 or datetimeoffset (the same, UTC for the latter),
// of a datetime or smalldatetime (since 1900-01-01).
func (v Value) Days() int32 { return int32(int64(v.hi)) }

// Ticks returns the part of the day: 100 ns for time, datetime2 and datetimeoffset (UTC), 1/300 s for datetime, minutes for smalldatetime.
func (v Value) Ticks() int64 { return int64(v.lo) }

// OffsetMinutes returns the offset of a datetimeoffset.
func (v Value) OffsetMinutes() int { return int(v.offset) }

// NewInt makes a bit, tinyint, smallint, int or bigint, or a money or smallmoney in ten thousandths. n is in range.
func NewInt(id ID, n int64) Value { return Value{id: id, lo: uint64(n)} }

// NewBit makes a bit.
func NewBit(b bool) Value {
	if b {
		return NewInt(Bit, 1)
	}
	return NewInt(Bit, 0)
}

// NewMoney makes a money of n ten thousandths.
func NewMoney(n int64) Value { return NewInt(Money, n) }

// NewFloat makes a float; SQL Server has no NaN, no infinity and no negative zero.
func NewFloat(f float64) Value {
	if f == 0 {
		f = 0
	}
	return Value{id: Float, lo: math.Float64bits(f)}
}

// NewReal makes a real.
func NewReal(f float32) Value {
	v := NewFloat(float64(f))
	v.id = Real
	return v
}

// NewString makes a value of a character type or xml.
func NewString(id ID, s string) Value { return Value{id: id, s: s} }

// NewNVarChar makes an nvarchar.
func NewNVarChar(s string) Value { return NewString(NVarChar, s) }

// NewVarChar makes a varchar; s holds what the code page has.
func NewVarChar(s string) Value { return NewString(VarChar, s) }

// NewBinary makes a value of binary, varbinary, image, rowversion or a CLR type from a copy of b.
func NewBinary(id ID, b []byte) Value { return Value{id: id, s: string(b)} }

// NewRaw makes a value of a binary type from the bytes of s.
func NewRaw(id ID, s string) Value { return Value{id: id, s: s} }

// NewVarBinary makes a varbinary.
func NewVarBinary(b []byte) Value { return NewBinary(VarBinary, b) }

// NewGUID makes a uniqueidentifier from its bytes in the order of its text.
func NewGUID(g [16]byte) Value {
	return Value{id: UniqueIdentifier, hi: binary.BigEndian.Uint64(g[:8]), lo: binary.BigEndian.Uint64(g[8:])}
}

// NewDecimal makes a decimal from sign, unscaled magnitude and scale. There is no negative zero.
func NewDecimal(neg bool, hi, lo uint64, scale uint8) Value {
	return Value{id: Decimal, neg: neg && hi|lo != 0, hi: hi, lo: lo, scale: scale}
}

// NewDate makes a date from days since 0001-01-01.
func NewDate(days int32) Value { return Value{id: Date, hi: uint64(int64(days))} }

// NewTime makes a time from ticks of 100 ns.
func NewTime(ticks int64) Value { return Value{id: Time, lo: uint64(ticks)} }

// NewDateTime2 makes a datetime2 from days since 0001-01-01 and ticks of 100 ns.
func NewDateTime2(days int32, ticks int64) Value {
	return Value{id: DateTime2, hi: uint64(int64(days)), lo: uint64(ticks)}
}

// NewDateTimeOffset makes a datetimeoffset from the days and ticks of its UTC time, and its offset.
func NewDateTimeOffset(days int32, ticks int64, offsetMinutes int) Value {
	return Value{id: DateTimeOffset, hi: uint64(int64(days)), lo: uint64(ticks), offset: int16(offsetMinutes)}
}

// NewDateTime makes a datetime from days since 1900-01-01 and ticks of 1/300 s.
func NewDateTime(days int32, ticks int64) Value {
	return Value{id: DateTime, hi: uint64(int64(days)), lo: uint64(ticks)}
}

// NewSmallDateTime makes a smalldatetime from days since 1900-01-01 and minutes.
func NewSmallDateTime(days int32, minutes int64) Value {
	return Value{id: SmallDateTime, hi: uint64(int64(days)), lo: uint64(minutes)}
}

// variantHeader is what stands before the text or bytes of the inner value: kind, precision, scale, flags, length and collation.
const variantHeader = 1 + 1 + 1 + 4 + 5

// NewVariant makes a sql_variant that holds inner, of type t; a NULL inside is NULL.
func NewVariant(inner Value, t Type) Value {
	if inner.IsNull() || inner.id == Variant {
		return inner
	}
	var h [variantHeader]byte
	h[0], h[1], h[2] = byte(t.ID), t.Prec, t.Scale
	binary.LittleEndian.PutUint32(h[3:], uint32(int32(t.Len)))
	if t.Coll != nil {
		w := t.Coll.Wire()
		copy(h[7:], w[:])
	}
	inner.s = string(h[:]) + inner.s
	inner.id = Variant
	return inner
}

// Variant returns the value inside a sql_variant and its type; of any other value itself and its default type.
func (v Value) Variant() (Value, Type) {
	if v.id != Variant || len(v.s) < variantHeader {
		return v, v.DefaultType()
	}
	h := v.s[:variantHeader]
	t := Type{ID: ID(h[0]), Prec: h[1], Scale: h[2], Len: int(int32(binary.LittleEndian.Uint32([]byte(h[3:7]))))}
	if t.IsChar() {
		t.Coll = collate.FromWire([5]byte([]byte(h[7:12])))
	}
	v.s = v.s[variantHeader:]
	v.id = t.ID
	if t.ID == Numeric {
		v.id = Decimal
	}
	return v, t
}

// DefaultType returns the type that a literal or a parameter with this value has.
func (v Value) DefaultType() Type {
	switch v.id {
	case Null:
		return Type{ID: Int}
	case Decimal:
		return Type{ID: Decimal, Prec: max(uint8(digits(v.hi, v.lo)), v.scale, 1), Scale: v.scale}
	case Time, DateTime2, DateTimeOffset:
		return Type{ID: v.id, Scale: 7}
	case VarChar, Char:
		c := collate.Default()
		return Type{ID: v.id, Len: boundLen(c.EncodedLen(v.s), maxBytes), Coll: c}
	case NVarChar, NChar:
		return Type{ID: v.id, Len: boundLen(collate.UTF16Len(v.s), maxUnits), Coll: collate.Default()}
	case VarBinary, Binary:
		return Type{ID: v.id, Len: boundLen(len(v.s), maxBytes)}
	case RowVersion:
		return Type{ID: RowVersion, Len: 8}
	case Text, NText, XML, Image, CLR:
		return Type{ID: v.id, Len: Max, Coll: collate.Default()}
	}
	return Type{ID: v.id}
}

func boundLen(n, most int) int {
	if n > most {
		return Max
	}
	return max(n, 1)
}
