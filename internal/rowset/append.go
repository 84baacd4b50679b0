package rowset

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"example.com/mssqlcdc/internal/sqltype"
)

// appendFunc appends one driver value that is not NULL to a column. It leaves the column as it was when it fails.
type appendFunc func(v *vector, x driver.Value) error

// wrongKind names the kind, never the value: values are the user's data.
func wrongKind(x driver.Value, want string) error {
	return fmt.Errorf("the driver gave a %T where a %s was expected", x, want)
}

// appendFor plans a column. Text and variants are the builder's own, since they can leave suspects.
func appendFor(k sqltype.Kind) appendFunc {
	switch k {
	case sqltype.Bit:
		return appendBit
	case sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt:
		return appendInteger
	case sqltype.Real:
		return appendReal
	case sqltype.Float:
		return appendFloat
	case sqltype.Decimal:
		return appendDecimal
	case sqltype.Date, sqltype.Time, sqltype.DateTime2, sqltype.DateTime, sqltype.DateTimeOffset:
		return appendTime
	case sqltype.Binary:
		return appendBinary
	case sqltype.RowVersion:
		return appendRowVersion
	case sqltype.UUID:
		return appendUUID
	}
	return nil
}

func appendBit(v *vector, x driver.Value) error {
	b, ok := x.(bool)
	if !ok {
		return wrongKind(x, "bool")
	}
	v.putBool(b)
	return nil
}

func appendInteger(v *vector, x driver.Value) error {
	n, ok := x.(int64)
	if !ok {
		return wrongKind(x, "int64")
	}
	return putInt(v, n)
}

func putInt(v *vector, n int64) error {
	switch v.kind {
	case sqltype.TinyInt:
		if n == int64(uint8(n)) {
			v.fixed()[0] = byte(n)
			return nil
		}
	case sqltype.SmallInt:
		if n == int64(int16(n)) {
			v.put16(int16(n))
			return nil
		}
	case sqltype.Int:
		if n == int64(int32(n)) {
			v.put32(int32(n))
			return nil
		}
	default:
		v.put64(n)
		return nil
	}
	return fmt.Errorf("an integer is outside of the range of %s", v.typ)
}

func appendReal(v *vector, x driver.Value) error {
	var f float32
	switch x := x.(type) {
	case float32:
		f = x
	case float64:
		return putReal(v, x)
	default:
		return wrongKind(x, "float64")
	}
	v.put32(int32(math.Float32bits(f)))
	return nil
}

func putReal(v *vector, x float64) error {
	f := float32(x)
	if float64(f) != x && !math.IsNaN(x) {
		return fmt.Errorf("a number does not fit into the 32 bits of %s", v.typ)
	}
	v.put32(int32(math.Float32bits(f)))
	return nil
}

func putFloat(v *vector, x float64) error {
	v.put64(int64(math.Float64bits(x)))
	return nil
}

func appendFloat(v *vector, x driver.Value) error {
	f, ok := x.(float64)
	if !ok {
		return wrongKind(x, "float64")
	}
	return putFloat(v, f)
}

func appendTime(v *vector, x driver.Value) error {
	t, ok := x.(time.Time)
	if !ok {
		return wrongKind(x, "time.Time")
	}
	switch v.kind {
	case sqltype.Date:
		v.put32(sqltype.DaysOf(t))
	case sqltype.Time:
		v.put64(sqltype.NanosOf(t))
	case sqltype.DateTime:
		v.put64(sqltype.DateTimeTicksOf(t))
	case sqltype.DateTimeOffset:
		ticks, offset := sqltype.UTCTicksOf(t)
		v.put64(ticks)
		v.putSecond(offset)
	default:
		v.put64(sqltype.TicksOf(t))
	}
	return nil
}

func appendBinary(v *vector, x driver.Value) error {
	b, ok := x.([]byte)
	if !ok {
		return wrongKind(x, "[]byte")
	}
	return v.putBytes(b)
}

func appendRowVersion(v *vector, x driver.Value) error {
	b, ok := x.([]byte)
	if !ok {
		return wrongKind(x, "[]byte")
	}
	if len(b) != 8 {
		return fmt.Errorf("a rowversion of %d bytes, not 8", len(b))
	}
	copy(v.fixed(), b)
	return nil
}

func appendUUID(v *vector, x driver.Value) error {
	b, ok := x.([]byte)
	if !ok {
		return wrongKind(x, "[]byte")
	}
	if len(b) != 16 {
		return fmt.Errorf("a uniqueidentifier of %d bytes, not 16", len(b))
	}
	canonicalUUID(v.fixed(), b)
	return nil
}

// canonicalUUID changes the order on the wire to that of the text: the first three groups are little-endian integers there
// (MS-DTYP 2.3.4.2 "GUID--Packet Representation").
func canonicalUUID(dst, wire []byte) {
	binary.BigEndian.PutUint32(dst, binary.LittleEndian.Uint32(wire))
	binary.BigEndian.PutUint16(dst[4:], binary.LittleEndian.Uint16(wire[4:]))
	binary.BigEndian.PutUint16(dst[6:], binary.LittleEndian.Uint16(wire[6:]))
	copy(dst[8:16], wire[8:16])
}
