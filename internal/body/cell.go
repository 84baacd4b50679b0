package body

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/internal/sqltype"
)

var (
	errNotFinite = errors.New("a number that is not finite has no JSON form")
	errNotUTF8   = errors.New("text that is not valid UTF-8")
)

// cell appends the values of one column of one record batch.
type cell struct {
	values arrow.Array
	nulls  bool
	append func(dst []byte, row int) ([]byte, error) // of a value that is not NULL
}

func bindCell(t sqltype.Type, a arrow.Array) (cell, error) {
	if !arrow.TypeEqual(a.DataType(), t.Inside()) {
		return cell{}, fmt.Errorf("held as %s, not as %s", a.DataType(), t.Inside())
	}
	c := cell{values: a, nulls: a.NullN() > 0}
	digits := t.Digits()
	quoted := func(put func(dst []byte, row int) []byte) {
		c.append = func(dst []byte, row int) ([]byte, error) { return append(put(append(dst, '"'), row), '"'), nil }
	}
	integer := func(value func(row int) int64) {
		c.append = func(dst []byte, row int) ([]byte, error) { return strconv.AppendInt(dst, value(row), 10), nil }
	}
	switch t.Kind() {
	case sqltype.Bit:
		v := a.(*array.Boolean)
		c.append = func(dst []byte, row int) ([]byte, error) { return strconv.AppendBool(dst, v.Value(row)), nil }
	case sqltype.TinyInt:
		v := a.(*array.Uint8).Uint8Values()
		integer(func(row int) int64 { return int64(v[row]) })
	case sqltype.SmallInt:
		v := a.(*array.Int16).Int16Values()
		integer(func(row int) int64 { return int64(v[row]) })
	case sqltype.Int:
		v := a.(*array.Int32).Int32Values()
		integer(func(row int) int64 { return int64(v[row]) })
	case sqltype.BigInt:
		v := a.(*array.Int64).Int64Values()
		integer(func(row int) int64 { return v[row] })
	case sqltype.Real:
		v := a.(*array.Float32).Float32Values()
		c.append = func(dst []byte, row int) ([]byte, error) { return appendFloat(dst, float64(v[row]), 32) }
	case sqltype.Float:
		v := a.(*array.Float64).Float64Values()
		c.append = func(dst []byte, row int) ([]byte, error) { return appendFloat(dst, v[row], 64) }
	case sqltype.Decimal:
		v := a.(*array.Decimal128)
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendDecimal(dst, v.Value(row), digits) })
	case sqltype.Date:
		v := a.(*array.Date32).Date32Values()
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendDate(dst, int32(v[row])) })
	case sqltype.Time:
		v := a.(*array.Time64).Time64Values()
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendTime(dst, int64(v[row]), digits) })
	case sqltype.DateTime2:
		v := a.(*array.Int64).Int64Values()
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendDateTime2(dst, v[row], digits) })
	case sqltype.DateTime:
		v := a.(*array.Int64).Int64Values()
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendDateTime(dst, v[row]) })
	case sqltype.DateTimeOffset:
		s := a.(*array.Struct)
		ticks, offsets := s.Field(0).(*array.Int64).Int64Values(), s.Field(1).(*array.Int16).Int16Values()
		quoted(func(dst []byte, row int) []byte {
			return sqltype.AppendDateTimeOffset(dst, ticks[row], offsets[row], digits)
		})
	case sqltype.Text:
		v := a.(*array.String)
		c.append = func(dst []byte, row int) ([]byte, error) {
			dst, ok := sqltype.AppendString(dst, v.Value(row))
			if !ok {
				return dst, errNotUTF8
			}
			return dst, nil
		}
	case sqltype.Variant:
		v := a.(*array.String)
		c.append = func(dst []byte, row int) ([]byte, error) { return append(dst, v.Value(row)...), nil }
	case sqltype.Binary:
		v := a.(*array.Binary)
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendBase64(dst, v.Value(row)) })
	case sqltype.RowVersion:
		v := a.(*array.FixedSizeBinary)
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendBase64(dst, v.Value(row)) })
	case sqltype.UUID:
		v := a.(*array.FixedSizeBinary)
		quoted(func(dst []byte, row int) []byte { return sqltype.AppendUUID(dst, v.Value(row)) })
	default:
		return cell{}, errors.New("no message form for this type")
	}
	return c, nil
}

func appendFloat(dst []byte, v float64, bits int) ([]byte, error) {
	dst, ok := sqltype.AppendFloat(dst, v, bits)
	if !ok {
		return dst, errNotFinite
	}
	return dst, nil
}
