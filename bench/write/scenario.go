package main

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// scenario is a shape of rows. Every value is a function of the row's number.
type scenario struct {
	name    string
	rows    int
	columns []column
}

// column is a field, the type of the table's column, and its values. nil is NULL.
type column struct {
	name     string
	arrow    arrow.DataType
	sql      string
	nullable bool
	value    func(r int64) any
}

func (s *scenario) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(s.columns))
	for i, c := range s.columns {
		fields[i] = arrow.Field{Name: c.name, Type: c.arrow, Nullable: c.nullable}
	}
	return arrow.NewSchema(fields, nil)
}

// fill appends rows from..to-1.
func (s *scenario) fill(b *array.RecordBuilder, from, to int) {
	for i, c := range s.columns {
		f := b.Field(i)
		for r := int64(from); r < int64(to); r++ {
			add(f, c.value(r))
		}
	}
}

func add(b array.Builder, v any) {
	if v == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int32Builder:
		b.Append(v.(int32))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v.(int64)))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(int64)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(int64)))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append(v.([]byte))
	default:
		panic(fmt.Sprintf("no rule for %T", b))
	}
}

// table is the statement that makes the scenario's table. Its types are those that
// arrow-sql-server plans for the fields, because it takes no others.
func (s *scenario) table() string {
	text := "CREATE TABLE dbo." + s.name + " ("
	for i, c := range s.columns {
		if i > 0 {
			text += ", "
		}
		null := " NOT NULL"
		if c.nullable {
			null = " NULL"
		}
		text += c.name + " " + c.sql + null
	}
	return text + ")"
}

func int32s(name string, value func(r int64) int32) column {
	return column{name, arrow.PrimitiveTypes.Int32, "int", false, func(r int64) any { return value(r) }}
}

func int64s(name string, value func(r int64) int64) column {
	return column{name, arrow.PrimitiveTypes.Int64, "bigint", false, func(r int64) any { return value(r) }}
}

func floats(name string, value func(r int64) float64) column {
	return column{name, arrow.PrimitiveTypes.Float64, "float", false, func(r int64) any { return value(r) }}
}

func bools(name string, value func(r int64) bool) column {
	return column{name, arrow.FixedWidthTypes.Boolean, "bit", false, func(r int64) any { return value(r) }}
}

func decimals(name string, precision, scale int32, value func(r int64) int64) column {
	return column{name, &arrow.Decimal128Type{Precision: precision, Scale: scale}, fmt.Sprintf("decimal(%d,%d)", precision, scale), false, func(r int64) any { return value(r) }}
}

func texts(name string, value func(r int64) string) column {
	return column{name, arrow.BinaryTypes.String, "nvarchar(max)", false, func(r int64) any { return value(r) }}
}

func binaries(name string, value func(r int64) []byte) column {
	return column{name, arrow.BinaryTypes.Binary, "varbinary(max)", false, func(r int64) any { return value(r) }}
}

// nullEach makes each n-th value NULL.
func nullEach(n int64, c column) column {
	value := c.value
	c.nullable = true
	c.value = func(r int64) any {
		if r%n == 0 {
			return nil
		}
		return value(r)
	}
	return c
}
