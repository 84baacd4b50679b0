package verify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/internal/sqltype"
)

// class is a form in which values of several types can be compared.
type class uint8

const (
	number  class = iota // bit, integers, decimals, money: a decimal without zeros at its end
	float                // real and float, beside each other or a number: of so many bits
	moment               // date, datetime2, smalldatetime: 100 ns
	third                // where one side is datetime: 1/300 s
	clock                // time
	instant              // datetimeoffset: the instant and its offset
	text                 // code units as they are
	uuid                 // uniqueidentifier, beside itself or text
	octets               // binary
	variant              // the value and its own type
)

// rule is how the values of a pair of columns are compared.
type rule struct {
	class class
	scale int   // number: digits after the point that are kept, -1 for all
	unit  int64 // moment, clock, instant, third: what is rounded to, in 100 ns
	day   bool  // moment, third: cut to the day
	cut   bool  // text: without blanks at the end; octets: without zeros
	bits  int   // float
}

const (
	ticksPerSecond = 10_000_000
	ticksPerMinute = 60 * ticksPerSecond
	ticksPerDay    = 86_400 * ticksPerSecond
	days1To1900    = 693_595
	days1To1970    = 719_162
)

// classOf gives the class of a type by itself.
func classOf(t sqltype.Type) (class, bool) {
	switch t.Kind() {
	case sqltype.Bit, sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt, sqltype.Decimal:
		return number, true
	case sqltype.Real, sqltype.Float:
		return float, true
	case sqltype.Date, sqltype.DateTime2:
		return moment, true
	case sqltype.DateTime:
		return third, true
	case sqltype.Time:
		return clock, true
	case sqltype.DateTimeOffset:
		return instant, true
	case sqltype.Text:
		return text, true
	case sqltype.UUID:
		return uuid, true
	case sqltype.Binary, sqltype.RowVersion:
		return octets, true
	case sqltype.Variant:
		return variant, true
	}
	return 0, false
}

// ruleFor gives the rule of a source column and a target column. lossy allows what the target's type cannot hold to be rounded.
func ruleFor(src, dst sqltype.Type, lossy bool) (rule, error) {
	a, okA := classOf(src)
	b, okB := classOf(dst)
	pair := func(x, y class) bool { return a == x && b == y || a == y && b == x }
	r := rule{class: a, scale: -1, unit: 1}
	switch {
	case !okA || !okB:
		return rule{}, fmt.Errorf("%s and %s cannot be compared", src, dst)
	case pair(number, float):
		r.class = float
	case pair(moment, third):
		r.class = third
	case pair(uuid, text):
		r.class = uuid
	case a != b:
		return rule{}, fmt.Errorf("%s and %s have no values in common; leave the column out", src, dst)
	}
	switch r.class {
	case number:
		if lossy {
			r.scale = scaleOf(dst)
		}
	case float:
		r.bits = 64
		if src.Kind() == sqltype.Real || dst.Kind() == sqltype.Real {
			r.bits = 32
		}
	case moment, third, clock, instant:
		switch {
		case !lossy:
		case dst.Kind() == sqltype.Date:
			r.day = true
		case dst.Name == "smalldatetime":
			r.unit = ticksPerMinute
		case dst.Kind() != sqltype.DateTime:
			for range 7 - dst.Digits() {
				r.unit *= 10
			}
		}
	case text:
		r.cut = padded(src.Name) || padded(dst.Name)
	case octets:
		r.cut = src.Name == "binary" || dst.Name == "binary"
	}
	return r, nil
}

func scaleOf(t sqltype.Type) int {
	if t.Kind() == sqltype.Decimal {
		return t.Digits()
	}
	return 0
}

func padded(name string) bool { return name == "char" || name == "nchar" }

// cell appends the canonical form of one value that is not NULL.
type cell func(dst []byte, row int) []byte

// bind ties a rule to the values of one side.
func (r rule) bind(t sqltype.Type, a arrow.Array) (cell, error) {
	if !arrow.TypeEqual(a.DataType(), t.Inside()) {
		return nil, fmt.Errorf("held as %s, not as %s", a.DataType(), t.Inside())
	}
	switch r.class {
	case number:
		return r.number(t, a)
	case float:
		return r.float(t, a)
	case moment, third:
		return r.moment(t, a)
	case clock:
		v := a.(*array.Time64).Time64Values()
		return func(dst []byte, row int) []byte { return appendInt(dst, round(int64(v[row])/100, r.unit)) }, nil
	case instant:
		s := a.(*array.Struct)
		ticks, offsets := s.Field(0).(*array.Int64).Int64Values(), s.Field(1).(*array.Int16).Int16Values()
		return func(dst []byte, row int) []byte {
			return appendInt(appendInt(dst, round(ticks[row], r.unit)), int64(offsets[row]))
		}, nil
	}
	return r.bytes(a)
}

func (r rule) number(t sqltype.Type, a arrow.Array) (cell, error) {
	switch v := a.(type) {
	case *array.Boolean:
		return func(dst []byte, row int) []byte {
			if v.Value(row) {
				return append(dst, '1')
			}
			return append(dst, '0')
		}, nil
	case *array.Decimal128:
		digits := t.Digits()
		return func(dst []byte, row int) []byte {
			n, scale := v.Value(row), digits
			if r.scale >= 0 && r.scale < digits {
				n, scale = n.ReduceScaleBy(int32(digits-r.scale), true), r.scale
			}
			return trimZeros(sqltype.AppendDecimal(dst, n, scale), len(dst), scale)
		}, nil
	}
	get, ok := integers(a)
	if !ok {
		return nil, fmt.Errorf("%s is no number", a.DataType())
	}
	return func(dst []byte, row int) []byte { return strconv.AppendInt(dst, get(row), 10) }, nil
}

func integers(a arrow.Array) (func(row int) int64, bool) {
	switch v := a.(type) {
	case *array.Uint8:
		return func(row int) int64 { return int64(v.Value(row)) }, true
	case *array.Int16:
		return func(row int) int64 { return int64(v.Value(row)) }, true
	case *array.Int32:
		return func(row int) int64 { return int64(v.Value(row)) }, true
	case *array.Int64:
		return func(row int) int64 { return v.Value(row) }, true
	}
	return nil, false
}

// trimZeros cuts the zeros at the end of a decimal that begins at start, with its point, and the sign of a zero.
func trimZeros(b []byte, start, scale int) []byte {
	if scale > 0 {
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
		if b[len(b)-1] == '.' {
			b = b[:len(b)-1]
		}
	}
	if string(b[start:]) == "-0" {
		return append(b[:start], '0')
	}
	return b
}

func (r rule) float(t sqltype.Type, a arrow.Array) (cell, error) {
	var get func(row int) float64
	switch v := a.(type) {
	case *array.Float32:
		get = func(row int) float64 { return float64(v.Value(row)) }
	case *array.Float64:
		get = v.Value
	default:
		exact, err := rule{class: number, scale: -1}.number(t, a)
		if err != nil {
			return nil, err
		}
		var scratch []byte
		get = func(row int) float64 {
			scratch = exact(scratch[:0], row)
			f, err := strconv.ParseFloat(string(scratch), 64)
			if err != nil { // a decimal always parses
				return math.NaN()
			}
			return f
		}
	}
	return func(dst []byte, row int) []byte {
		f := get(row)
		if r.bits == 32 {
			f = float64(float32(f))
		}
		if f == 0 { // -0 is equal to 0
			f = 0
		}
		return strconv.AppendFloat(dst, f, 'g', -1, r.bits)
	}, nil
}

func (r rule) moment(t sqltype.Type, a arrow.Array) (cell, error) {
	var get func(row int) int64 // 100 ns since 0001-01-01
	switch v := a.(type) {
	case *array.Date32:
		get = func(row int) int64 { return (int64(v.Value(row)) + days1To1970) * ticksPerDay }
	case *array.Int64:
		get = v.Value
		if t.Kind() == sqltype.DateTime {
			get = func(row int) int64 { return sqltype.DateTimeToTicks(v.Value(row)) }
		}
	default:
		return nil, fmt.Errorf("%s is no date", a.DataType())
	}
	return func(dst []byte, row int) []byte {
		n := get(row)
		switch {
		case r.day:
			n = floorDiv(n, ticksPerDay)
		case r.class == third && r.unit == 1:
			n = thirds(n)
		default:
			n = round(n, r.unit)
		}
		return appendInt(dst, n)
	}, nil
}

// thirds gives the 1/300 s of a datetime that would hold the moment.
func thirds(ticks int64) int64 {
	s := floorDiv(ticks, ticksPerSecond)
	return (s-days1To1900*86_400)*300 + ((ticks-s*ticksPerSecond)*300+ticksPerSecond/2)/ticksPerSecond
}

// round gives the multiple of unit that is nearest, the higher of two.
func round(n, unit int64) int64 {
	if unit == 1 {
		return n
	}
	return floorDiv(n+unit/2, unit) * unit
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func appendInt(dst []byte, n int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(n)) }

func (r rule) bytes(a arrow.Array) (cell, error) {
	var get func(row int) []byte
	switch v := a.(type) {
	case *array.String:
		return func(dst []byte, row int) []byte { return r.text(dst, v.Value(row)) }, nil
	case *array.Binary:
		get = v.Value
	case *array.FixedSizeBinary:
		get = v.Value
	default:
		return nil, fmt.Errorf("%s has no bytes", a.DataType())
	}
	return func(dst []byte, row int) []byte {
		b := get(row)
		if r.class == uuid {
			return sqltype.AppendUUID(dst, b)
		}
		if r.cut {
			b = bytes.TrimRight(b, "\x00")
		}
		return append(dst, b...)
	}, nil
}

func (r rule) text(dst []byte, s string) []byte {
	switch {
	case r.class == uuid:
		return append(dst, strings.ToUpper(s)...)
	case r.cut:
		s = strings.TrimRight(s, " ")
	}
	return append(dst, s...)
}
