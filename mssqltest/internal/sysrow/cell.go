package sysrow

import (
	"fmt"
	"reflect"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Row is a row by column name. Cells are Go values: nil, bool, whole numbers, float64, string, []byte, [16]byte, time.Time
// and value.Value.
type Row map[string]any

// Cells makes the values of a row. A cell that the row lacks, or that is nil, is NULL where the column may be NULL and
// else the type's zero. Times are shown in loc, the server's time zone.
func Cells(cols []exec.Column, r Row, loc *time.Location) ([]value.Value, error) {
	out := make([]value.Value, len(cols))
	for i, c := range cols {
		cell := r[c.Name]
		if cell == nil && !c.Nullable {
			out[i] = zero(c.Type)
			continue
		}
		v, err := Value(cell, c.Type, loc)
		if err != nil {
			return nil, fmt.Errorf("making column %s: %w", c.Name, err)
		}
		out[i] = v
	}
	return out, nil
}

// Value makes a value of a type from a Go value.
func Value(cell any, t value.Type, loc *time.Location) (value.Value, error) {
	switch x := cell.(type) {
	case nil:
		return value.NullValue, nil
	case value.Value:
		return x, nil
	case time.Time:
		return timeValue(x.In(loc), t)
	case bool:
		return intValue(boolInt(x), t)
	case string:
		if t.ID == value.Variant {
			return value.NewVariant(value.NewNVarChar(x), value.Type{ID: value.NVarChar, Len: max(len(x), 1)}), nil
		}
		return textValue(x, t)
	case []byte:
		return value.NewBinary(t.ID, x), nil
	case [16]byte:
		return value.NewGUID(x), nil
	case float64:
		if t.ID == value.Real {
			return value.NewReal(float32(x)), nil
		}
		return value.NewFloat(x), nil
	}
	switch rv := reflect.ValueOf(cell); {
	case rv.CanInt():
		return intValue(rv.Int(), t)
	case rv.CanUint():
		return intValue(int64(rv.Uint()), t)
	}
	return value.NullValue, fmt.Errorf("no value of type %s can be made of %T", t, cell)
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func intValue(n int64, t value.Type) (value.Value, error) {
	switch t.ID {
	case value.Bit:
		return value.NewBit(n != 0), nil
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		return value.NewInt(t.ID, n), nil
	case value.Variant:
		if n == int64(int32(n)) {
			return value.NewVariant(value.NewInt(value.Int, n), value.Type{ID: value.Int}), nil
		}
		return value.NewVariant(value.NewInt(value.BigInt, n), value.Type{ID: value.BigInt}), nil
	case value.Real:
		return value.NewReal(float32(n)), nil
	}
	return value.NullValue, fmt.Errorf("a whole number is no %s", t)
}

// textValue pads char and nchar as a column of that type does.
func textValue(s string, t value.Type) (value.Value, error) {
	switch t.ID {
	case value.Char, value.NChar:
		for n := len([]rune(s)); n < t.Len; n++ {
			s += " "
		}
		return value.NewString(t.ID, s), nil
	case value.VarChar, value.NVarChar, value.XML:
		return value.NewString(t.ID, s), nil
	}
	return value.NullValue, fmt.Errorf("a text is no %s", t)
}

// timeValue makes a date and time type of a local time.
func timeValue(at time.Time, t value.Type) (value.Value, error) {
	if at.IsZero() {
		return value.NullValue, nil
	}
	switch t.ID {
	case value.DateTime:
		return value.LocalDateTime(at), nil
	case value.DateTime2:
		return value.LocalDateTime2(at), nil
	case value.DateTimeOffset:
		return value.FromTime(at), nil
	}
	return value.NullValue, fmt.Errorf("a time is no %s", t)
}

// zero is the value that columns get that a view has nothing to say of.
func zero(t value.Type) value.Value {
	switch t.ID {
	case value.Bit, value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		return value.NewInt(t.ID, 0)
	case value.Real:
		return value.NewReal(0)
	case value.Float:
		return value.NewFloat(0)
	case value.DateTime:
		return value.NewDateTime(0, 0)
	case value.Binary:
		return value.NewBinary(t.ID, make([]byte, t.Len))
	case value.VarBinary:
		return value.NewBinary(t.ID, nil)
	case value.UniqueIdentifier:
		return value.NewGUID([16]byte{})
	}
	return value.NewString(t.ID, "")
}

// Bit is a bit value.
func Bit(b bool) value.Value { return value.NewBit(b) }
