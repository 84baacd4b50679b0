package bulkload

import (
	"bytes"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/catalog"
)

// denseColumns are those whose cells have a fixed length, with a value that the column cannot hold where there is one.
var denseColumns = []struct {
	decl string
	dt   arrow.DataType
	good func(b array.Builder, r int)
	bad  func(b array.Builder)
}{
	{"bit", arrow.FixedWidthTypes.Boolean, func(b array.Builder, r int) { b.(*array.BooleanBuilder).Append(r%3 == 0) }, nil},
	{"tinyint", arrow.PrimitiveTypes.Uint8, func(b array.Builder, r int) { b.(*array.Uint8Builder).Append(uint8(r)) }, nil},
	{"smallint", arrow.PrimitiveTypes.Int16, func(b array.Builder, r int) { b.(*array.Int16Builder).Append(int16(-r)) }, nil},
	{"int", arrow.PrimitiveTypes.Int32, func(b array.Builder, r int) { b.(*array.Int32Builder).Append(int32(-r * 7919)) }, nil},
	{"bigint", arrow.PrimitiveTypes.Int64, func(b array.Builder, r int) { b.(*array.Int64Builder).Append(int64(r) << 33) }, nil},
	{"real", arrow.PrimitiveTypes.Float32, func(b array.Builder, r int) { b.(*array.Float32Builder).Append(float32(r) / 8) }, func(b array.Builder) { b.(*array.Float32Builder).Append(float32(math.Inf(1))) }},
	{"float", arrow.PrimitiveTypes.Float64, func(b array.Builder, r int) { b.(*array.Float64Builder).Append(float64(r) / 3) }, func(b array.Builder) { b.(*array.Float64Builder).Append(math.NaN()) }},
	{"decimal(9,2)", &arrow.Decimal128Type{Precision: 12, Scale: 2}, func(b array.Builder, r int) { b.(*array.Decimal128Builder).Append(decimal128.FromI64(int64(50 - r))) }, func(b array.Builder) {
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(-1e9))
	}},
	{"decimal(38,0)", &arrow.Decimal128Type{Precision: 38}, func(b array.Builder, r int) { b.(*array.Decimal128Builder).Append(decimal128.New(int64(r), 1)) }, nil},
	{"date", arrow.FixedWidthTypes.Date32, func(b array.Builder, r int) { b.(*array.Date32Builder).Append(arrow.Date32(r - 100)) }, func(b array.Builder) {
		b.(*array.Date32Builder).Append(-unixEpoch - 1)
	}},
	{"datetime2(3)", &arrow.TimestampType{Unit: arrow.Millisecond}, func(b array.Builder, r int) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(r*86_399_999 - 1)) }, func(b array.Builder) {
		b.(*array.TimestampBuilder).Append(math.MaxInt64)
	}},
}

// Rows of a fixed length are encoded by column; they have to be the bytes that they are row by row, and one that cannot be stored
// has to be cut out all the same, wherever it is.
func TestRowsByColumnAreRowsByRow(t *testing.T) {
	const rows = 5000 // several chunks
	for bad := range denseColumns {
		for _, at := range []int{-1, 0, 1000, rows - 1} {
			if at >= 0 && denseColumns[bad].bad == nil {
				continue
			}
			p, rec := densePlan(t, rows, bad, at)
			e := newEncoder(p.cols, nil, rows)
			if e.size == 0 {
				t.Fatalf("bad %d: the rows are not of one length", bad)
			}
			byRow := &encoder{cols: p.cols, rows: rows}
			got, want := drainEncoder(e), drainEncoder(byRow)
			if !bytes.Equal(got, want) || e.sent != byRow.sent || len(e.bad) != len(byRow.bad) {
				t.Errorf("%s bad at %d: %d bytes, %d sent, %d bad; row by row %d, %d, %d", denseColumns[bad].decl, at, len(got), e.sent, len(e.bad), len(want), byRow.sent, len(byRow.bad))
			}
			if at >= 0 && (len(e.bad) != 1 || e.bad[0].Row != at) {
				t.Errorf("%s: bad rows %v, want row %d", denseColumns[bad].decl, e.bad, at)
			}
			rec.Release()
		}
	}
}

func drainEncoder(e *encoder) (out []byte) {
	for e.next < e.rows {
		e.fill()
		out = append(out, e.buf...)
	}
	return out
}

func densePlan(t *testing.T, rows, bad, at int) (*Plan, arrow.RecordBatch) {
	t.Helper()
	tg := &Target{Name: catalog.Name{Schema: "dbo", Object: "d"}}
	var fields []arrow.Field
	for i, c := range denseColumns {
		name := string(rune('a' + i))
		tg.Columns = append(tg.Columns, column1252(t, name, c.decl))
		fields = append(fields, arrow.Field{Name: name, Type: c.dt, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for r := range rows {
		for i := range fields {
			if i == bad && r == at {
				denseColumns[i].bad(b.Field(i))
			} else {
				denseColumns[i].good(b.Field(i), r)
			}
		}
	}
	rec := b.NewRecordBatch()
	p, err := NewPlan(tg, schema, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.bind(rec); err != nil {
		t.Fatal(err)
	}
	return p, rec
}

// A column with a NULL, values that are shared, and a column whose cells differ in length make rows that are not of one length.
func TestWhichRowsHaveOneLength(t *testing.T) {
	for i, tt := range []struct {
		decl string
		dt   arrow.DataType
		json string
		want int
	}{
		{"int", arrow.PrimitiveTypes.Int32, `[1, 2]`, 1 + 5},
		{"int", arrow.PrimitiveTypes.Int32, `[1, null]`, 0},
		{"int", arrow.PrimitiveTypes.Int64, `[1, 2]`, 0},
		{"nvarchar(9)", arrow.BinaryTypes.String, `["a", "b"]`, 0},
		{"int", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int32}, `[1, 2]`, 0},
		{"datetime2(7)", arrow.FixedWidthTypes.Timestamp_us, `["2024-01-01 00:00:00", "2024-01-01 00:00:00"]`, 1 + 9},
		{"datetime2(3)", arrow.FixedWidthTypes.Timestamp_us, `["2024-01-01 00:00:00", "2024-01-01 00:00:00"]`, 0},
	} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, tt.dt, bytes.NewReader([]byte(tt.json)))
		if err != nil {
			t.Fatal(err)
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: tt.dt, Nullable: true}}, nil)
		rec := array.NewRecordBatch(schema, []arrow.Array{a}, 2)
		p, err := NewPlan(&Target{Columns: []TargetColumn{column1252(t, "a", tt.decl)}}, schema, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.bind(rec); err != nil {
			t.Fatal(err)
		}
		if e := newEncoder(p.cols, nil, 2); e.size != tt.want {
			t.Errorf("%d: %s into %s has rows of %d bytes, want %d", i, tt.dt, tt.decl, e.size, tt.want)
		}
		a.Release()
		rec.Release()
	}
}
