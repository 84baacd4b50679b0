package bulkload_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/mssqltest"
)

// build makes an array from JSON.
func build(t testing.TB, mem memory.Allocator, dt arrow.DataType, json string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	if err := b.UnmarshalJSON([]byte(json)); err != nil {
		t.Fatal(err)
	}
	return b.NewArray()
}

// TestArraysThatAreNotPlain loads slices, shared values and extension types; the
// rows before and after a slice must not show.
func TestArraysThatAreNotPlain(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	conn := open(t, srv, "off", session.RawRequire)
	dict := func(index arrow.DataType, values arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: values}
	}
	slice := func(a arrow.Array) arrow.Array {
		defer a.Release()
		return array.NewSlice(a, 1, int64(a.Len()-1))
	}
	for _, tt := range []struct {
		name, column string
		make         func(t testing.TB, mem memory.Allocator) arrow.Array
		want         string
	}{
		{"sliced int", "int", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, i32, `[9,1,null,3,9]`))
		}, "1,NULL,3"},
		{"sliced bool", "bit", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, arrow.FixedWidthTypes.Boolean, `[false,true,null,false,true]`))
		}, "1,NULL,0"},
		{"sliced string", "nvarchar(9)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, text, `["x","a",null,"é","x"]`))
		}, "a,NULL,é"},
		{"sliced large binary", "varbinary(9)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, arrow.BinaryTypes.LargeBinary, `["eA==","3q0=",null,"","eA=="]`))
		}, "0xDEAD,NULL,0x"},
		{"sliced fixed binary", "varbinary(9)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, &arrow.FixedSizeBinaryType{ByteWidth: 2}, `["AAA=","3q0=",null,"vu8=","AAA="]`))
		}, "0xDEAD,NULL,0xBEEF"},
		{"sliced decimal", "decimal(9,1)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, &arrow.Decimal128Type{Precision: 9, Scale: 1}, `["9","1.5",null,"-2.5","9"]`))
		}, "1.5,NULL,-2.5"},
		{"sliced timestamp", "datetime2(0)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, arrow.FixedWidthTypes.Timestamp_s, `["2020-01-01","2024-02-29",null,"1969-12-31","2020-01-01"]`))
		}, "2024-02-29T00:00:00,NULL,1969-12-31T00:00:00"},
		{"string views", "nvarchar(max)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, arrow.BinaryTypes.StringView, `["x","short",null,"longer than twelve bytes","x"]`))
		}, "short,NULL,longer than twelve bytes"},
		{"sliced dictionary", "nvarchar(9)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return slice(build(t, mem, dict(arrow.PrimitiveTypes.Uint16, text), `["x","a",null,"a","x"]`))
		}, "a,NULL,a"},
		{"dictionary of numbers", "bigint", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return build(t, mem, dict(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64), `[5,5,null,7]`)
		}, "5,5,NULL,7"},
		{"dictionary with a NULL in it", "nvarchar(9)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			values := build(t, mem, text, `["a",null]`)
			defer values.Release()
			index := build(t, mem, arrow.PrimitiveTypes.Int8, `[1,0,null]`)
			defer index.Release()
			return array.NewDictionaryArray(dict(arrow.PrimitiveTypes.Int8, text), index, values)
		}, "NULL,a,NULL"},
		{"run ends", "int", func(t testing.TB, mem memory.Allocator) arrow.Array {
			ends, values := build(t, mem, i32, `[2,3,6]`), build(t, mem, i32, `[1,null,4]`)
			defer ends.Release()
			defer values.Release()
			return array.NewRunEndEncodedArray(ends, values, 6, 0)
		}, "1,1,NULL,4,4,4"},
		{"uuid", "uniqueidentifier", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return build(t, mem, extensions.NewUUIDType(), `["00112233-4455-6677-8899-aabbccddeeff",null]`)
		}, "00112233-4455-6677-8899-AABBCCDDEEFF,NULL"},
		{"float16", "real", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return build(t, mem, arrow.FixedWidthTypes.Float16, `[1.5,null]`)
		}, "1.5,NULL"},
		{"nulls", "int", func(t testing.TB, mem memory.Allocator) arrow.Array { return array.NewNull(3) }, "NULL,NULL,NULL"},
		{"empty", "int", func(t testing.TB, mem memory.Allocator) arrow.Array { return build(t, mem, i32, `[]`) }, ""},
		{"empty text", "nvarchar(9)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			return array.NewStringData(array.NewData(text, 0, []*memory.Buffer{nil, nil, nil}, nil, 0, 0))
		}, ""},
		{"only NULL", "nvarchar(9)", func(t testing.TB, mem memory.Allocator) arrow.Array { return array.MakeArrayOfNull(mem, text, 2) }, "NULL,NULL"},
		{"run ends in a slice", "int", func(t testing.TB, mem memory.Allocator) arrow.Array {
			ends, values := build(t, mem, i32, `[2,3,6]`), build(t, mem, i32, `[1,null,4]`)
			defer ends.Release()
			defer values.Release()
			return array.NewRunEndEncodedArray(ends, values, 3, 1)
		}, "1,NULL,4"},
		{"exported datetimeoffset", "datetimeoffset(3)", func(t testing.TB, mem memory.Allocator) arrow.Array {
			dt := arrow.StructOf(arrow.Field{Name: "timestamp", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}}, arrow.Field{Name: "offset_minutes", Type: arrow.PrimitiveTypes.Int16})
			return slice(build(t, mem, dt, `[null,{"timestamp":"2024-01-15T10:30:45.123Z","offset_minutes":-90},null,null]`))
		}, "2024-01-15T09:00:45.123-01:30,NULL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := checked(t)
			exec(t, srv, "IF OBJECT_ID('dbo.k') IS NOT NULL DROP TABLE dbo.k; CREATE TABLE dbo.k (id int IDENTITY, v "+tt.column+" NULL)")
			a := tt.make(t, mem)
			defer a.Release()
			rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field("v", a.DataType())}, nil), []arrow.Array{a}, int64(a.Len()))
			defer rec.Release()
			res, err := load(t, conn, "k", rec, bulkload.Options{})
			if err != nil || len(res.Bad) != 0 {
				t.Fatalf("Load: %+v, %v", res, err)
			}
			if got := strings.Join(texts(t, conn, "SELECT "+shown(tt.column)+" FROM dbo.k ORDER BY id"), ","); got != tt.want {
				t.Errorf("stored %q, want %q", got, tt.want)
			}
		})
	}
}

// TestInsideForms loads what sqltype holds, also into a column of another type.
func TestInsideForms(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	conn := open(t, srv, "off", session.RawRequire)
	for _, tt := range []struct {
		source, column string
		values         []string
		want           string
		lossy          bulkload.Lossy
	}{
		{"datetime2(7)", "datetime2(7)", []string{`0`, `3155378975999999999`, `null`}, "0001-01-01T00:00:00,9999-12-31T23:59:59.9999999,NULL", bulkload.Lossy{}},
		{"datetime2(7)", "datetime2(3)", []string{`1230000`}, "0001-01-01T00:00:00.123", bulkload.Lossy{}},
		{"datetime2(7)", "datetime2(3)", []string{`1230001`}, "!more digits", bulkload.Lossy{}},
		{"datetime2(7)", "datetime2(3)", []string{`1235001`}, "0001-01-01T00:00:00.124", bulkload.Lossy{Time: true}},
		{"smalldatetime", "smalldatetime", []string{`599266080000000000`}, "1900-01-01T00:00:00", bulkload.Lossy{}},
		{"datetime", "datetime", []string{`1`, `-1`, `null`}, "1900-01-01T00:00:00.003,1899-12-31T23:59:59.997,NULL", bulkload.Lossy{}},
		{"datetime", "datetime2(3)", []string{`1`, `-1`}, "1900-01-01T00:00:00.003,1899-12-31T23:59:59.997", bulkload.Lossy{}},
		{"datetimeoffset(7)", "datetimeoffset(7)", []string{`{"ticks":630822816000000000,"offset_minutes":540}`, `null`}, "2000-01-01T09:00:00+09:00,NULL", bulkload.Lossy{}},
		{"datetimeoffset(7)", "datetime2(0)", []string{`{"ticks":630822816000000000,"offset_minutes":540}`}, "2000-01-01T00:00:00", bulkload.Lossy{Time: true}},
		{"uniqueidentifier", "uniqueidentifier", []string{`"ABEiM0RVZneImaq7zN3u/w=="`}, "00112233-4455-6677-8899-AABBCCDDEEFF", bulkload.Lossy{}},
		{"money", "money", []string{`"-1.2345"`}, "-1.2345", bulkload.Lossy{}},
		{"time(7)", "time(7)", []string{`"23:59:59.9999999"`}, "23:59:59.9999999", bulkload.Lossy{}},
		{"decimal(10,2)", "decimal(12,4)", []string{`"1.25"`}, "1.2500", bulkload.Lossy{}},
	} {
		t.Run(tt.source+" to "+tt.column+" "+strings.Join(tt.values, ","), func(t *testing.T) {
			mem := checked(t)
			exec(t, srv, "IF OBJECT_ID('dbo.k') IS NOT NULL DROP TABLE dbo.k; CREATE TABLE dbo.k (id int IDENTITY, v "+tt.column+" NULL)")
			typ, err := sqltype.Parse(tt.source)
			if err != nil {
				t.Fatal(err)
			}
			typ.Nullable = true
			b := array.NewBuilder(mem, typ.Inside())
			defer b.Release()
			for _, v := range tt.values {
				if v == "null" {
					b.AppendNull()
				} else if !appendExact(b, v) {
					if err := b.UnmarshalJSON([]byte("[" + v + "]")); err != nil {
						t.Fatal(err)
					}
				}
			}
			a := b.NewArray()
			defer a.Release()
			rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{typ.Field("v")}, nil), []arrow.Array{a}, int64(a.Len()))
			defer rec.Release()
			res, err := load(t, conn, "k", rec, bulkload.Options{Lossy: tt.lossy})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(texts(t, conn, "SELECT "+shown(tt.column)+" FROM dbo.k ORDER BY id"), ",")
			if text, bad := strings.CutPrefix(tt.want, "!"); bad {
				if len(res.Bad) != 1 || !strings.Contains(res.Bad[0].Error(), text) {
					t.Errorf("stored %q, bad %v, want an error with %q", got, res.Bad, text)
				}
				return
			}
			if got != tt.want || len(res.Bad) != 0 {
				t.Errorf("stored %q, want %q (%v)", got, tt.want, res.Bad)
			}
		})
	}
}

func TestPairsThatHaveNoMeaningAreRefusedByThePlan(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, "CREATE TABLE dbo.p (i int, s nvarchar(9), b varbinary(9), d date, t time, dt datetime2, o datetimeoffset, g uniqueidentifier)")
	conn := open(t, srv, "off", session.RawAuto)
	for _, tt := range []struct {
		column string
		dt     arrow.DataType
		want   string
	}{
		{"i", arrow.FixedWidthTypes.Date32, "it is not a number"},
		{"s", i32, "it is not text; cast it to a string"},
		{"s", arrow.BinaryTypes.Binary, "it is not text"},
		{"b", i32, "it is not binary"},
		{"d", arrow.FixedWidthTypes.Time32s, "a time without a date"},
		{"t", arrow.FixedWidthTypes.Timestamp_s, "no time of day"},
		{"dt", arrow.PrimitiveTypes.Int64, "it is no date"},
		{"o", &arrow.TimestampType{Unit: arrow.Second}, "no time zone"},
		{"g", &arrow.FixedSizeBinaryType{ByteWidth: 8}, "neither text nor 16 bytes"},
		{"i", arrow.FixedWidthTypes.Duration_s, "no counterpart in SQL Server"},
		{"i", arrow.FixedWidthTypes.MonthInterval, "no counterpart in SQL Server"},
		{"dt", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Mars/Base"}, `time zone "Mars/Base" is not known`},
	} {
		_, err := bulkload.NewPlan(target(t, conn, "p"), arrow.NewSchema([]arrow.Field{field(tt.column, tt.dt)}, nil), bulkload.Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "column "+tt.column+":") {
			t.Errorf("%s into %s: %v, want %q", tt.dt, tt.column, err, tt.want)
		}
	}
}
