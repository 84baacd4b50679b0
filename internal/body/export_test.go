package body

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/sqltype"
)

// exportTypes are one type of each inside form, with two values as the builders of Arrow read them from JSON.
var exportTypes = []struct {
	decl, one, two string
	want           string // of the first
}{
	{"bit", `true`, `false`, "true"},
	{"tinyint", `255`, `0`, "255"},
	{"smallint", `-32768`, `1`, "-32768"},
	{"int", `-7`, `8`, "-7"},
	{"bigint", `"9223372036854775807"`, `2`, "9223372036854775807"},
	{"real", `0.5`, `1`, "0.5"},
	{"float", `0.25`, `1`, "0.25"},
	{"decimal(10,2)", `"1.50"`, `"2.00"`, "1.5"},
	{"money", `"-0.0001"`, `"2.00"`, "-0.0001"},
	{"date", `"2024-02-29"`, `"2024-03-01"`, "2024-02-29"},
	{"time(7)", `"23:59:59.9999999"`, `"00:00:00"`, "23:59:59.999999900"},
	{"datetime2(0)", `"621355968010000000"`, `0`, "1970-01-01T00:00:01Z"},
	{"datetime2(3)", `"621355968000010000"`, `0`, "1970-01-01T00:00:00.001Z"},
	{"datetime2(6)", `"621355967999999990"`, `0`, "1969-12-31T23:59:59.999999Z"},
	{"datetime2(7)", `"621355968000000001"`, `"621355968000000000"`, "1970-01-01T00:00:00.0000001Z"},
	{"smalldatetime", `"621355968600000000"`, `"621355968000000000"`, "1970-01-01T00:01:00Z"},
	{"datetime", `-1`, `0`, "1899-12-31T23:59:59.997Z"},
	{"datetimeoffset(3)", `{"ticks":"621355968000010000","offset_minutes":-210}`, `{"ticks":0,"offset_minutes":0}`, `{"offset_minutes":-210,"timestamp":"1970-01-01T00:00:00.001Z"}`},
	{"nvarchar(10)", `"é"`, `""`, "é"},
	{"varbinary(10)", `"AQI="`, `""`, "AQI="},
	{"rowversion", `"AAAAAAAAAAE="`, `"AAAAAAAAAAI="`, "AAAAAAAAAAE="},
	{"uniqueidentifier", `"ASNFZ4mrze8BI0VniavN7w=="`, `"AAAAAAAAAAAAAAAAAAAAAA=="`, "01234567-89ab-cdef-0123-456789abcdef"},
	{"sql_variant", `"{\"type\":\"int\",\"value\":1}"`, `""`, `{"type":"int","value":1}`},
}

// exportRecord has the rows one, NULL, two, two, one, with a column for each type.
func exportRecord(t testing.TB, mem memory.Allocator) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	var rows [5][]string
	for i, tt := range exportTypes {
		typ, err := sqltype.Parse(tt.decl)
		if err != nil {
			t.Fatal(err)
		}
		typ.Nullable = true
		name := fmt.Sprintf("c%d", i)
		fields = append(fields, typ.Field(name))
		for n, v := range []string{tt.one, "null", tt.two, tt.two, tt.one} {
			rows[n] = append(rows[n], fmt.Sprintf("%q:%s", name, v))
		}
	}
	b := array.NewRecordBuilder(mem, arrow.NewSchema(fields, nil))
	defer b.Release()
	for _, row := range rows {
		if err := b.UnmarshalJSON([]byte("{" + strings.Join(row, ",") + "}")); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewRecordBatch()
}

// Any rows of any type come out as the exported type, through an IPC stream, and all memory is given back.
func TestExport(t *testing.T) {
	for _, rows := range [][]int{{0, 1, 2, 3, 4}, {0, 1}, {1, 4}, {4}, {1}, {0, 2, 4}, {4, 0}} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		whole := exportRecord(t, mem)
		for _, rec := range []arrow.RecordBatch{whole.NewSlice(0, 5), whole.NewSlice(1, 5)} {
			checkExport(t, rec, int(whole.NumRows()-rec.NumRows()), rows, mem)
			rec.Release()
		}
		whole.Release()
		mem.AssertSize(t, 0)
	}
}

// checkExport exports rows of a slice whose first row is row skip of the record.
func checkExport(t *testing.T, rec arrow.RecordBatch, skip int, rows []int, mem memory.Allocator) {
	t.Helper()
	var columns, chosen []int
	for i := range exportTypes {
		columns = append(columns, i)
	}
	for _, row := range rows {
		if row >= skip {
			chosen = append(chosen, row-skip)
		}
	}
	if len(chosen) == 0 {
		return
	}
	e, err := NewExport("dbo.t", rec.Schema(), columns)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Columns(rec, chosen, mem)
	if err != nil {
		t.Fatal(err)
	}
	exported := array.NewRecordBatch(arrow.NewSchema(e.Fields(), nil), out, int64(len(chosen)))
	defer exported.Release()
	for _, a := range out {
		a.Release()
	}
	text, err := AppendArrow(nil, exported, mem)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(bytes.NewReader(text), ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	for i, tt := range exportTypes {
		a := r.RecordBatch().Column(i)
		for n, row := range chosen {
			got := a.ValueStr(n)
			switch row + skip {
			case 0, 4:
				if got != tt.want {
					t.Errorf("rows %v: %s is %s, want %s", rows, tt.decl, got, tt.want)
				}
			case 1:
				if !a.IsNull(n) {
					t.Errorf("rows %v: %s is %s, want NULL", rows, tt.decl, got)
				}
			default:
				if got == tt.want || a.IsNull(n) {
					t.Errorf("rows %v: %s is %s, which is the other value", rows, tt.decl, got)
				}
			}
		}
	}
}

// A value that does not fit is an error that says where it is, and leaves no memory behind.
func TestExportOfWhatDoesNotFit(t *testing.T) {
	for decl, tt := range map[string]struct{ value, want string }{
		"datetime2(7)":      {"0", "row 3 of dbo.t: column at (datetime2(7)): 0001-01-01T00:00:00.0000000 does not fit timestamp[ns]"},
		"datetimeoffset(7)": {`{"ticks":0,"offset_minutes":60}`, "row 3 of dbo.t: column at (datetimeoffset(7)): 0001-01-01T01:00:00.0000000+01:00 does not fit timestamp[ns, tz=UTC]"},
	} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		typ, err := sqltype.Parse(decl)
		if err != nil {
			t.Fatal(err)
		}
		typ.Nullable = true
		b := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{sqltype.Type{Name: "int", Nullable: true}.Field("id"), typ.Field("at")}, nil))
		for _, row := range []string{`{}`, `{}`, `{"at":` + tt.value + `}`} {
			if err := b.UnmarshalJSON([]byte(row)); err != nil {
				t.Fatal(err)
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		e, err := NewExport("dbo.t", rec.Schema(), []int{0, 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Columns(rec, []int{0, 2}, mem); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", decl, err, tt.want)
		}
		other := arrow.NewSchema([]arrow.Field{typ.Field("at")}, nil)
		if e, err := NewExport("dbo.t", other, []int{0}); err != nil {
			t.Error(err)
		} else if _, err := e.Columns(rec, []int{0}, mem); err == nil {
			t.Error("a record batch of another schema was exported")
		}
		rec.Release()
		mem.AssertSize(t, 0)
	}
	if _, err := NewExport("dbo.t", arrow.NewSchema(nil, nil), []int{0}); err == nil {
		t.Error("a column that is not there was planned")
	}
}

func BenchmarkExport(b *testing.B) {
	rec := exportRecord(b, memory.NewGoAllocator())
	defer rec.Release()
	var columns []int
	for i, tt := range exportTypes {
		if !strings.HasPrefix(tt.decl, "datetime") {
			columns = append(columns, i)
		}
	}
	e, err := NewExport("dbo.t", rec.Schema(), columns)
	if err != nil {
		b.Fatal(err)
	}
	var rows []int
	for range 200 {
		rows = append(rows, 0, 1, 2, 3, 4)
	}
	mem := memory.NewGoAllocator()
	b.ReportAllocs()
	for b.Loop() {
		out, err := e.Columns(rec, rows, mem)
		if err != nil {
			b.Fatal(err)
		}
		for _, a := range out {
			a.Release()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
