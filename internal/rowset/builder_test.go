package rowset

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"example.com/mssqlcdc/internal/sqltype"
)

func columns(t testing.TB, decls ...string) []Column {
	t.Helper()
	var cols []Column
	for i, d := range decls {
		typ, err := sqltype.Parse(d)
		if err != nil {
			t.Fatal(err)
		}
		typ.Nullable = true
		cols = append(cols, Column{Name: string(rune('a' + i)), Type: typ})
	}
	return cols
}

// checkedBuilder makes a builder over an allocator that must be empty when the test ends.
func checkedBuilder(t *testing.T, replace bool, decls ...string) *Builder {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	pool := NewPool(mem, 0)
	b, err := NewBuilder("dbo.t", columns(t, decls...), Options{Pool: pool, ReplaceInvalidText: replace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Discard()
		pool.Close()
		mem.AssertSize(t, 0)
	})
	return b
}

func appendRows(t *testing.T, b *Builder, rows ...[]driver.Value) {
	t.Helper()
	for _, r := range rows {
		if err := b.AppendDriverRow(r); err != nil {
			t.Fatal(err)
		}
	}
}

func finish(t *testing.T, b *Builder) arrow.RecordBatch {
	t.Helper()
	rec, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestEmptyBatch(t *testing.T) {
	b := checkedBuilder(t, false, "int", "nvarchar(10)", "bit", "datetimeoffset(7)", "decimal(5,2)", "sql_variant", "uniqueidentifier")
	rec := finish(t, b)
	defer rec.Release()
	if rec.NumRows() != 0 || rec.NumCols() != 7 {
		t.Errorf("%d rows and %d columns, want 0 and 7", rec.NumRows(), rec.NumCols())
	}
}

// text is the value of a row as Arrow shows it, but decimals with all digits of their scale.
func text(a arrow.Array, row int) string {
	if d, ok := a.(*array.Decimal128); ok && !a.IsNull(row) {
		return string(sqltype.AppendDecimal(nil, d.Value(row), int(d.DataType().(*arrow.Decimal128Type).Scale)))
	}
	return a.ValueStr(row)
}

// cell is a value of a driver row and what the batch must hold for it.
type cell struct {
	decl  string
	value driver.Value
	want  string // text of the Arrow array
}

func TestInsideForms(t *testing.T) {
	at := func(y int, m time.Month, d, h, min, s, ns int) time.Time {
		return time.Date(y, m, d, h, min, s, ns, time.UTC)
	}
	tests := []cell{
		{"bit", true, "true"},
		{"bit", false, "false"},
		{"tinyint", int64(255), "255"},
		{"smallint", int64(-32768), "-32768"},
		{"int", int64(-2147483648), "-2147483648"},
		{"bigint", int64(9223372036854775807), "9223372036854775807"},
		{"real", float64(float32(0.1)), "0.1"},
		{"real", float32(0.1), "0.1"},
		{"float", 0.1, "0.1"},
		{"decimal(5,2)", []byte("1.50"), "1.50"},
		{"decimal(5,2)", []byte("-0.05"), "-0.05"},
		{"money", []byte("-922337203685477.5808"), "-922337203685477.5808"},
		{"date", at(1, 1, 1, 0, 0, 0, 0), "0001-01-01"},
		{"time(7)", at(1, 1, 1, 23, 59, 59, 999_999_900), "23:59:59.999999900"},
		{"datetime2(7)", at(1, 1, 1, 0, 0, 0, 0), "0"},
		{"datetime2(7)", at(9999, 12, 31, 23, 59, 59, 999_999_900), "3155378975999999999"},
		{"smalldatetime", at(1900, 1, 1, 0, 1, 0, 0), "599266080600000000"},
		{"datetime", at(1900, 1, 1, 0, 0, 0, 3_000_000), "1"},
		{"datetime", at(1753, 1, 1, 0, 0, 0, 0), "-1391644800000"},
		{"datetimeoffset(7)", time.Date(2024, 2, 29, 9, 0, 0, 100, time.FixedZone("", 9*3600)), `{"offset_minutes":540,"ticks":638447616000000001}`},
		{"nvarchar(10)", "😀é", "😀é"},
		{"nvarchar(10)", "", ""},
		{"xml", "<a/>", "<a/>"},
		{"varbinary(max)", []byte{0xde, 0xad}, "3q0="},
		{"varbinary(max)", []byte{}, ""},
		{"rowversion", []byte{0, 0, 0, 0, 0, 0, 7, 0xd1}, "AAAAAAAAB9E="},
		{"uniqueidentifier", []byte{0x67, 0x45, 0x23, 0x01, 0xAB, 0x89, 0xEF, 0xCD, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF}, "ASNFZ4mrze8BI0VniavN7w=="},
	}
	for _, tt := range tests {
		t.Run(tt.decl, func(t *testing.T) {
			b := checkedBuilder(t, false, tt.decl)
			appendRows(t, b, []driver.Value{tt.value}, []driver.Value{nil}, []driver.Value{tt.value})
			rec := finish(t, b)
			defer rec.Release()
			a := rec.Column(0)
			if got := text(a, 0); got != tt.want || text(a, 2) != tt.want {
				t.Errorf("%v as %s is held as %s and %s, want %s", tt.value, tt.decl, got, text(a, 2), tt.want)
			}
			if !a.IsNull(1) || a.NullN() != 1 || a.IsNull(0) || a.IsNull(2) {
				t.Errorf("NULL is not where it was put: %v", a)
			}
		})
	}
}

func TestVariants(t *testing.T) {
	tests := []struct {
		name     string
		value    driver.Value
		declared string
		want     string
	}{
		{"int", int64(1), "int(10,0)", `{"type":"int","value":1}`},
		{"nvarchar", "é", "nvarchar(0,0)", `{"type":"nvarchar","value":"é"}`},
		{"quotes", `a"b`, "varchar(0,0)", `{"type":"varchar","value":"a\"b"}`},
		{"datetime2", time.Date(2024, 2, 29, 23, 59, 59, 123_456_700, time.UTC), "datetime2(27,7)", `{"type":"datetime2(7)","value":"2024-02-29T23:59:59.1234567"}`},
		{"datetime", time.Date(2024, 2, 29, 23, 59, 59, 997_000_000, time.UTC), "datetime(23,3)", `{"type":"datetime","value":"2024-02-29T23:59:59.997"}`},
		{"smalldatetime", time.Date(2024, 2, 29, 23, 59, 0, 0, time.UTC), "smalldatetime(16,0)", `{"type":"smalldatetime","value":"2024-02-29T23:59:00"}`},
		{"date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), "date(10,0)", `{"type":"date","value":"2024-02-29"}`},
		{"time", time.Date(1, 1, 1, 23, 59, 59, 0, time.UTC), "time(8,0)", `{"type":"time(0)","value":"23:59:59"}`},
		{"datetimeoffset", time.Date(2024, 2, 29, 23, 59, 59, 0, time.FixedZone("", -90*60)), "datetimeoffset(34,7)", `{"type":"datetimeoffset(7)","value":"2024-02-29T23:59:59.0000000-01:30"}`},
		{"decimal", []byte("1.50"), "decimal(5,2)", `{"type":"decimal(5,2)","value":"1.50"}`},
		{"money", []byte("1.5000"), "money(19,4)", `{"type":"money","value":"1.5000"}`},
		{"bit", true, "bit(1,0)", `{"type":"bit","value":true}`},
		{"real", float64(float32(0.1)), "real(24,0)", `{"type":"real","value":0.1}`},
		{"float", 0.1, "float(53,0)", `{"type":"float","value":0.1}`},
		{"binary", []byte{0xde, 0xad, 0xbe, 0xef}, "varbinary(0,0)", `{"type":"varbinary","value":"3q2+7w=="}`},
		{"uniqueidentifier", []byte{0x67, 0x45, 0x23, 0x01, 0xAB, 0x89, 0xEF, 0xCD, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF}, "uniqueidentifier(0,0)",
			`{"type":"uniqueidentifier","value":"01234567-89AB-CDEF-0123-456789ABCDEF"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := checkedBuilder(t, false, "sql_variant", "int")
			appendRows(t, b, []driver.Value{tt.value, tt.declared, nil, int64(7)}, []driver.Value{nil, nil, nil, int64(8)})
			rec := finish(t, b)
			defer rec.Release()
			if got := rec.Column(0).(*array.String).Value(0); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if !rec.Column(0).IsNull(1) || rec.Column(1).(*array.Int32).Value(1) != 8 {
				t.Errorf("NULL or the column behind is wrong: %v", rec)
			}
		})
	}
}

// Text in a code page is what the server converted, since a variant's collation is not the column's.
func TestVariantTextInCodePage(t *testing.T) {
	tests := []struct {
		name      string
		value     string
		converted driver.Value
		want      string // "" = an error
	}{
		{"UTF-8 decoded as another page", "Ã©", "é", `{"type":"varchar","value":"é"}`},
		{"ASCII longer than the conversion", strings.Repeat("x", 8000), strings.Repeat("x", 4000), `{"type":"varchar","value":"` + strings.Repeat("x", 8000) + `"}`},
		{"longest", strings.Repeat("Ã©", 3999), strings.Repeat("é", 3999), `{"type":"varchar","value":"` + strings.Repeat("é", 3999) + `"}`},
		{"too long", strings.Repeat("Ã©", 4001), strings.Repeat("é", 4000), ""},
		{"not text", "Ã©", int64(1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := checkedBuilder(t, false, "sql_variant")
			err := b.AppendDriverRow([]driver.Value{tt.value, "varchar(0,0)", tt.converted})
			if tt.want == "" {
				if err == nil {
					t.Error("it is accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rec := finish(t, b)
			defer rec.Release()
			if got := rec.Column(0).ValueStr(0); got != tt.want {
				t.Errorf("got %.100s, want %.100s", got, tt.want)
			}
		})
	}
}

// A cell of another kind than the column's is refused, names its place, and leaves the rows before as they were.
func TestRefusedCells(t *testing.T) {
	tests := []struct {
		name string
		decl string
		row  []driver.Value
		want string
	}{
		{"kind", "int", []driver.Value{"x"}, "row 2 of dbo.t: column b (int): the driver gave a string"},
		{"range of tinyint", "tinyint", []driver.Value{int64(256)}, "column b (tinyint)"},
		{"range of tinyint below", "tinyint", []driver.Value{int64(-1)}, "column b (tinyint)"},
		{"range of smallint", "smallint", []driver.Value{int64(32768)}, "column b (smallint)"},
		{"range of int", "int", []driver.Value{int64(1 << 31)}, "column b (int)"},
		{"real", "real", []driver.Value{0.1}, "32 bits"},
		{"decimal text", "decimal(5,2)", []driver.Value{[]byte("1.5x")}, "digits"},
		{"decimal empty", "decimal(5,2)", []driver.Value{[]byte("-.")}, "digits"},
		{"decimal scale", "decimal(5,2)", []driver.Value{[]byte("1.505")}, "3 digits after the point"},
		{"decimal too long", "decimal(38,2)", []driver.Value{[]byte("1" + strings.Repeat("0", 37))}, "38"},
		{"uniqueidentifier length", "uniqueidentifier", []driver.Value{make([]byte, 15)}, "15 bytes"},
		{"rowversion length", "rowversion", []driver.Value{make([]byte, 4)}, "4 bytes"},
		{"variant without type", "sql_variant", []driver.Value{int64(1), nil, nil}, "type of a variant"},
		{"variant of unknown type", "sql_variant", []driver.Value{int64(1), "quantum(0,0)", nil}, "quantum"},
		{"too few values", "int", nil, "1 values for 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := checkedBuilder(t, false, "nvarchar(10)", tt.decl)
			good := []driver.Value{"first"}
			for range columns(t, tt.decl)[0].Type.Cells() {
				good = append(good, nil)
			}
			appendRows(t, b, good)
			size := b.Bytes()
			err := b.AppendDriverRow(append([]driver.Value{"second \uFFFD"}, tt.row...))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if b.Len() != 1 || b.Bytes() != size || len(b.Suspects()) != 0 {
				t.Errorf("after the refusal: %d rows, %d bytes, suspects %v, want 1, %d, none", b.Len(), b.Bytes(), b.Suspects(), size)
			}
			rec := finish(t, b)
			defer rec.Release()
			if rec.NumRows() != 1 || rec.Column(0).(*array.String).Value(0) != "first" {
				t.Errorf("batch %v", rec)
			}
		})
	}
}

func TestNullInNotNullColumn(t *testing.T) {
	typ, _ := sqltype.Parse("int")
	b, err := NewBuilder("dbo.t", []Column{{"id", typ}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.AppendDriverRow([]driver.Value{nil}); err == nil || !strings.Contains(err.Error(), "column id") {
		t.Errorf("NULL in a NOT NULL column: %v, want an error that names it", err)
	}
}

func units(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func TestSuspects(t *testing.T) {
	b := checkedBuilder(t, false, "nvarchar(20)", "varchar(20)", "sql_variant")
	appendRows(t, b,
		[]driver.Value{"plain", "a\x80b", "x", "nvarchar(0,0)", nil},
		[]driver.Value{"genuine \uFFFD", "tail", "v\uFFFD", "nvarchar(0,0)", nil},
		[]driver.Value{"last", nil, int64(1), "int(10,0)", nil})
	want := []Cell{{0, 1}, {1, 0}, {1, 2}}
	if got := b.Suspects(); len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Fatalf("suspects %v, want %v", got, want)
	}
	if _, err := b.Finish(); err == nil {
		t.Fatal("Finish gave a batch with unsettled suspects")
	}
	if err := b.Settle(Cell{2, 0}, units("x")); err == nil {
		t.Error("Settle of a cell that is no suspect is accepted")
	}
	lone := append(units("ab"), 0x00, 0xd8)
	var invalid *InvalidTextError
	if err := b.Settle(Cell{1, 0}, lone); !errors.As(err, &invalid) || invalid.Unit != 0xd800 || invalid.Position != 2 ||
		!strings.Contains(err.Error(), "row 2 of dbo.t: column a (nvarchar(20))") {
		t.Errorf("Settle with a lone surrogate: %v", err)
	}
	for c, text := range map[Cell]string{{0, 1}: "a\u0080b and 😀 more", {1, 0}: "genuine \uFFFD", {1, 2}: "v\"é"} {
		if err := b.Settle(c, units(text)); err != nil {
			t.Fatal(err)
		}
	}
	rec := finish(t, b)
	defer rec.Release()
	got := [][]string{}
	for i := range 3 {
		got = append(got, []string{rec.Column(0).ValueStr(i), rec.Column(1).ValueStr(i), rec.Column(2).ValueStr(i)})
	}
	for i, w := range [][]string{{"plain", "a\u0080b and 😀 more", `{"type":"nvarchar","value":"x"}`}, {"genuine \uFFFD", "tail", `{"type":"nvarchar","value":"v\"é"}`},
		{"last", array.NullValueStr, `{"type":"int","value":1}`}} {
		for j := range w {
			if got[i][j] != w[j] {
				t.Errorf("row %d, column %d = %q, want %q", i, j, got[i][j], w[j])
			}
		}
	}
}

func TestReplaceInvalidText(t *testing.T) {
	b := checkedBuilder(t, true, "nvarchar(20)")
	appendRows(t, b, []driver.Value{"a\uFFFD"}, []driver.Value{"b\x80"})
	if s := b.Suspects(); len(s) != 0 {
		t.Errorf("suspects %v, want none", s)
	}
	rec := finish(t, b)
	defer rec.Release()
	if a := rec.Column(0); a.ValueStr(0) != "a\uFFFD" || a.ValueStr(1) != "b\uFFFD" {
		t.Errorf("got %v", a)
	}
}

// Buffers that outlive their record batch must not be recycled under their holder.
func TestRetainedColumnsAreNotRecycled(t *testing.T) {
	b := checkedBuilder(t, false, "bigint", "nvarchar(10)")
	appendRows(t, b, []driver.Value{int64(1), "one"}, []driver.Value{int64(2), "two"})
	rec := finish(t, b)
	slice := rec.NewSlice(1, 2)
	rec.Release()
	appendRows(t, b, []driver.Value{int64(3), "xxx"}, []driver.Value{int64(4), "yyy"})
	next := finish(t, b)
	if got := slice.Column(0).ValueStr(0) + slice.Column(1).ValueStr(0); got != "2two" {
		t.Errorf("the slice changed to %s", got)
	}
	slice.Release()
	next.Release()
}

func TestMemoryIsRecycled(t *testing.T) {
	pool := NewPool(nil, 0)
	b, err := NewBuilder("dbo.t", columns(t, "bigint", "nvarchar(100)", "bit"), Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	fill := func() {
		for i := range 1000 {
			appendRows(t, b, []driver.Value{int64(i), strings.Repeat("x", i%50), nil})
		}
		finish(t, b).Release()
	}
	fill()
	fill()
	kept := pool.Kept()
	for range 5 {
		fill()
	}
	if pool.Kept() != kept {
		t.Errorf("the pool keeps %d bytes, and %d after five more batches", kept, pool.Kept())
	}
}

// value draws a driver value for a declaration, with the text that its Arrow form must show.
func value(t *rapid.T, decl string) (driver.Value, string) {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return nil, array.NullValueStr
	}
	switch decl {
	case "bit":
		v := rapid.Bool().Draw(t, "bit")
		if v {
			return v, "true"
		}
		return v, "false"
	case "nvarchar(max)":
		v := rapid.StringMatching(`[a-zé😀]{0,40}`).Draw(t, "text")
		return v, v
	case "decimal(38,10)":
		v := rapid.StringMatching(`-?[1-9][0-9]{0,27}\.[0-9]{10}`).Draw(t, "decimal")
		return []byte(v), v
	}
	v := rapid.IntRange(0, 255).Draw(t, "int")
	return int64(v), strconv.Itoa(v)
}

func TestRandomRows(t *testing.T) {
	decls := []string{"bit", "nvarchar(max)", "decimal(38,10)", "tinyint", "bigint"}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	pool := NewPool(mem, 4096)
	defer pool.Close()
	cols := columns(t, decls...)
	rapid.Check(t, func(t *rapid.T) {
		b, err := NewBuilder("dbo.t", cols, Options{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			var want [][]string
			for range rapid.IntRange(0, 200).Draw(t, "steps") {
				if rapid.IntRange(0, 20).Draw(t, "truncate") == 0 {
					n := rapid.IntRange(0, len(want)).Draw(t, "to")
					b.Truncate(n)
					want = want[:n]
					continue
				}
				row, texts := make([]driver.Value, len(decls)), make([]string, len(decls))
				for i, d := range decls {
					row[i], texts[i] = value(t, d)
				}
				if err := b.AppendDriverRow(row); err != nil {
					t.Fatal(err)
				}
				want = append(want, texts)
			}
			rec, err := b.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if int(rec.NumRows()) != len(want) {
				t.Fatalf("%d rows, want %d", rec.NumRows(), len(want))
			}
			for r, texts := range want {
				for c, w := range texts {
					if got := text(rec.Column(c), r); got != w {
						t.Fatalf("row %d, %s = %q, want %q", r, decls[c], got, w)
					}
				}
			}
			rec.Release()
		}
	})
}

func BenchmarkAppendDriverRow(b *testing.B) {
	at := time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC)
	bld, err := NewBuilder("dbo.t", columns(b, "bigint", "nvarchar(600)", "decimal(10,2)", "datetime2(7)", "bit", "int", "uniqueidentifier", "nvarchar(50)"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	row := []driver.Value{int64(1), strings.Repeat("abcdefghij", 55), []byte("12345.67"), at, true, int64(5), make([]byte, 16), nil}
	b.ReportAllocs()
	b.SetBytes(600)
	for b.Loop() {
		if err := bld.AppendDriverRow(row); err != nil {
			b.Fatal(err)
		}
		if bld.Len() == 1000 {
			rec, err := bld.Finish()
			if err != nil {
				b.Fatal(err)
			}
			rec.Release()
		}
	}
}
