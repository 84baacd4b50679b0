package body

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/sqltype"
)

// col declares a column of a test table.
func col(t testing.TB, name, decl string) rowset.Column {
	t.Helper()
	typ, err := sqltype.Parse(decl)
	if err != nil {
		t.Fatal(err)
	}
	typ.Nullable = true
	return rowset.Column{Name: name, Type: typ}
}

// batch makes a record batch over a checked allocator, and releases it at the end of the test.
func batch(t *testing.T, cols []rowset.Column, rows ...[]driver.Value) arrow.RecordBatch {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	pool := rowset.NewPool(mem, 0)
	b, err := rowset.NewBuilder("dbo.ty", cols, rowset.Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := b.AppendDriverRow(r); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		rec.Release()
		pool.Close()
		mem.AssertSize(t, 0)
	})
	return rec
}

func bind(t *testing.T, rec arrow.RecordBatch, body, key []int) *Rows {
	t.Helper()
	j, err := NewJSON("dbo.ty", rec.Schema(), body, key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.Bind(rec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func utc(y int, m time.Month, d, h, min, s, ns int) time.Time {
	return time.Date(y, m, d, h, min, s, ns, time.UTC)
}

var guid = []byte{0x67, 0x45, 0x23, 0x01, 0xAB, 0x89, 0xEF, 0xCD, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF}

// The message form of every type, with values that broke other readers in public.
func TestMessageForms(t *testing.T) {
	east := time.FixedZone("", 9*3600)
	west := time.FixedZone("", -(3*3600 + 30*60))
	tests := []struct {
		name string
		decl string
		row  []driver.Value
		want string
	}{
		{"datetime2 first", "datetime2(7)", []driver.Value{utc(1, 1, 1, 0, 0, 0, 0)}, `"0001-01-01T00:00:00.0000000"`},
		{"datetime2 calendar reform", "datetime2(7)", []driver.Value{utc(1582, 10, 10, 0, 0, 0, 0)}, `"1582-10-10T00:00:00.0000000"`},
		{"datetime2 leap day", "datetime2(7)", []driver.Value{utc(2024, 2, 29, 23, 59, 59, 123_456_700)}, `"2024-02-29T23:59:59.1234567"`},
		{"datetime2 last", "datetime2(7)", []driver.Value{utc(9999, 12, 31, 23, 59, 59, 999_999_900)}, `"9999-12-31T23:59:59.9999999"`},
		{"datetime2(0)", "datetime2(0)", []driver.Value{utc(2024, 2, 29, 23, 59, 59, 0)}, `"2024-02-29T23:59:59"`},
		{"datetime2(3)", "datetime2(3)", []driver.Value{utc(2024, 2, 29, 23, 59, 59, 120_000_000)}, `"2024-02-29T23:59:59.120"`},
		{"datetime", "datetime", []driver.Value{utc(2024, 2, 29, 23, 59, 59, 997_000_000)}, `"2024-02-29T23:59:59.997"`},
		{"datetime first", "datetime", []driver.Value{utc(1753, 1, 1, 0, 0, 0, 3_000_000)}, `"1753-01-01T00:00:00.003"`},
		{"smalldatetime", "smalldatetime", []driver.Value{utc(2079, 6, 6, 23, 59, 0, 0)}, `"2079-06-06T23:59:00"`},
		{"datetimeoffset east", "datetimeoffset(7)", []driver.Value{time.Date(2024, 2, 29, 23, 59, 59, 123_456_700, east)}, `"2024-02-29T23:59:59.1234567+09:00"`},
		{"datetimeoffset west", "datetimeoffset(0)", []driver.Value{time.Date(2024, 2, 29, 23, 59, 59, 0, west)}, `"2024-02-29T23:59:59-03:30"`},
		{"datetimeoffset UTC", "datetimeoffset(0)", []driver.Value{time.Date(2024, 2, 29, 23, 59, 59, 0, time.FixedZone("", 0))}, `"2024-02-29T23:59:59+00:00"`},
		{"date first", "date", []driver.Value{utc(1, 1, 1, 0, 0, 0, 0)}, `"0001-01-01"`},
		{"date last", "date", []driver.Value{utc(9999, 12, 31, 0, 0, 0, 0)}, `"9999-12-31"`},
		{"time(7)", "time(7)", []driver.Value{utc(1, 1, 1, 23, 59, 59, 999_999_900)}, `"23:59:59.9999999"`},
		{"time(0)", "time(0)", []driver.Value{utc(1, 1, 1, 23, 59, 59, 0)}, `"23:59:59"`},
		{"money most", "money", []driver.Value{[]byte("922337203685477.5807")}, `"922337203685477.5807"`},
		{"money least", "money", []driver.Value{[]byte("-922337203685477.5808")}, `"-922337203685477.5808"`},
		{"smallmoney least", "smallmoney", []driver.Value{[]byte("-214748.3648")}, `"-214748.3648"`},
		{"decimal 38 nines", "decimal(38,0)", []driver.Value{[]byte(strings.Repeat("9", 38))}, `"` + strings.Repeat("9", 38) + `"`},
		{"decimal minus 38 nines", "decimal(38,0)", []driver.Value{[]byte("-" + strings.Repeat("9", 38))}, `"-` + strings.Repeat("9", 38) + `"`},
		{"decimal smallest", "decimal(38,38)", []driver.Value{[]byte("0." + strings.Repeat("0", 37) + "1")}, `"0.` + strings.Repeat("0", 37) + `1"`},
		{"decimal keeps its scale", "decimal(5,2)", []driver.Value{[]byte("1.50")}, `"1.50"`},
		{"decimal below one", "decimal(5,2)", []driver.Value{[]byte("-0.05")}, `"-0.05"`},
		{"decimal zero", "numeric(5,2)", []driver.Value{[]byte("0.00")}, `"0.00"`},
		{"bigint beyond a double", "bigint", []driver.Value{int64(9007199254740993)}, `9007199254740993`},
		{"bigint most", "bigint", []driver.Value{int64(9223372036854775807)}, `9223372036854775807`},
		{"bigint least", "bigint", []driver.Value{int64(-9223372036854775808)}, `-9223372036854775808`},
		{"bit 0", "bit", []driver.Value{false}, `false`},
		{"bit 1", "bit", []driver.Value{true}, `true`},
		{"bit NULL", "bit", []driver.Value{nil}, `null`},
		{"tinyint", "tinyint", []driver.Value{int64(255)}, `255`},
		{"smallint", "smallint", []driver.Value{int64(-32768)}, `-32768`},
		{"int", "int", []driver.Value{int64(-2147483648)}, `-2147483648`},
		{"real", "real", []driver.Value{float64(float32(16777216.5))}, `16777216`},
		{"real tenth", "real", []driver.Value{float64(float32(0.1))}, `0.1`},
		{"float most", "float", []driver.Value{1.7976931348623157e308}, `1.7976931348623157e+308`},
		{"float third", "float", []driver.Value{1.0 / 3}, `0.3333333333333333`},
		{"float whole", "float", []driver.Value{3.0}, `3`},
		{"uniqueidentifier", "uniqueidentifier", []driver.Value{guid}, `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
		{"rowversion", "rowversion", []driver.Value{[]byte{0, 0, 0, 0, 0, 0, 7, 0xd1}}, `"AAAAAAAAB9E="`},
		{"rowversion in a change table", "binary(8)", []driver.Value{[]byte{0, 0, 0, 0, 0, 0, 7, 0xd1}}, `"AAAAAAAAB9E="`},
		{"variant int", "sql_variant", []driver.Value{int64(1), "int(10,0)", nil}, `{"type":"int","value":1}`},
		{"variant text", "sql_variant", []driver.Value{"é", "nvarchar(0,0)", nil}, `{"type":"nvarchar","value":"é"}`},
		{"variant time", "sql_variant", []driver.Value{utc(2024, 2, 29, 23, 59, 59, 100), "datetime2(27,7)", nil}, `{"type":"datetime2(7)","value":"2024-02-29T23:59:59.0000001"}`},
		{"variant decimal", "sql_variant", []driver.Value{[]byte("1.50"), "decimal(5,2)", nil}, `{"type":"decimal(5,2)","value":"1.50"}`},
		{"variant NULL", "sql_variant", []driver.Value{nil, nil, nil}, `null`},
		{"hierarchyid", "hierarchyid", []driver.Value{[]byte{0x5a, 0xc0}}, `"WsA="`},
		{"geography", "geography", []driver.Value{[]byte{0xe6, 0x10, 0, 0, 1, 0x0c}}, `"5hAAAAEM"`},
		{"geometry empty", "geometry", []driver.Value{[]byte{}}, `""`},
		{"xml", "xml", []driver.Value{"<a>é&amp;</a>"}, `"<a>é&amp;</a>"`},
		{"varchar CP1252", "varchar(20)", []driver.Value{"é€"}, `"é€"`},
		{"varchar CP932", "varchar(20)", []driver.Value{"表ソ十"}, `"表ソ十"`},
		{"varchar UTF-8", "varchar(20)", []driver.Value{"😀é"}, `"😀é"`},
		{"text NULL", "nvarchar(10)", []driver.Value{nil}, `null`},
		{"text empty", "nvarchar(10)", []driver.Value{""}, `""`},
		{"text blank", "nvarchar(10)", []driver.Value{" "}, `" "`},
		{"char padded", "char(5)", []driver.Value{"ab   "}, `"ab   "`},
		{"text with control characters", "nvarchar(10)", []driver.Value{"a\x00\n\"\\<&>"}, `"a\u0000\n\"\\<&>"`},
		{"computed column", "int", []driver.Value{nil}, `null`},
		{"json", "json", []driver.Value{`{"a":1}`}, `"{\"a\":1}"`},
		{"vector", "vector", []driver.Value{"[1.0000000e+000]"}, `"[1.0000000e+000]"`},
		{"image", "image", []driver.Value{[]byte("x")}, `"eA=="`},
		{"varbinary(max)", "varbinary(max)", []driver.Value{bytes.Repeat([]byte{0xff}, 6)}, `"////////"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := batch(t, []rowset.Column{col(t, "id", "int"), col(t, "c", tt.decl)}, append([]driver.Value{int64(1)}, tt.row...))
			r := bind(t, rec, []int{0, 1}, []int{1})
			got, err := r.AppendRow([]byte("before"), 0, nil)
			want := `before{"id":1,"c":` + tt.want + `}`
			if err != nil || string(got) != want {
				t.Fatalf("AppendRow = %s, %v, want %s", got, err, want)
			}
			if !json.Valid(got[len("before"):]) {
				t.Errorf("%s is not JSON", got[len("before"):])
			}
			key, err := r.AppendKey(nil, 0)
			if tt.want == "null" {
				if err == nil {
					t.Errorf("AppendKey = %s, want an error for NULL", key)
				}
			} else if want := `{"c":` + tt.want + `}`; err != nil || string(key) != want {
				t.Errorf("AppendKey = %s, %v, want %s", key, err, want)
			}
		})
	}
}

func TestOrderKeysAndUnchanged(t *testing.T) {
	rec := batch(t, []rowset.Column{col(t, "__$start_lsn", "binary(10)"), col(t, `my col$"a`, "int"), col(t, "名前", "nvarchar(max)"), col(t, "v", "xml")},
		[]driver.Value{make([]byte, 10), int64(1), "é", nil})
	r := bind(t, rec, []int{1, 2, 3}, []int{2, 1})
	check := func(what string, got []byte, err error, want string) {
		t.Helper()
		if err != nil || string(got) != want {
			t.Errorf("%s = %s, %v, want %s", what, got, err, want)
		}
	}
	got, err := r.AppendRow(nil, 0, nil)
	check("all", got, err, `{"my col$\"a":1,"名前":"é","v":null}`)
	var unchanged Set
	unchanged.Add(3)
	got, err = r.AppendRow(nil, 0, unchanged)
	check("last unchanged", got, err, `{"my col$\"a":1,"名前":"é"}`)
	unchanged.Add(1)
	got, err = r.AppendRow(nil, 0, unchanged)
	check("first and last unchanged", got, err, `{"名前":"é"}`)
	unchanged.Add(2)
	got, err = r.AppendRow(nil, 0, unchanged)
	check("all unchanged", got, err, `{}`)
	got, err = r.AppendKey(nil, 0)
	check("key", got, err, `{"名前":"é","my col$\"a":1}`)
	got, err = bind(t, rec, []int{1}, nil).AppendKey([]byte("x"), 0)
	check("no key", got, err, `x`)
}

func TestSet(t *testing.T) {
	var s Set
	if s.Has(0) || s.Has(1000) || !s.Empty() {
		t.Error("the nil set is not empty")
	}
	for _, i := range []int{0, 63, 64, 199} {
		s.Add(i)
	}
	for i := range 300 {
		if want := i == 0 || i == 63 || i == 64 || i == 199; s.Has(i) != want {
			t.Errorf("Has(%d) = %v", i, s.Has(i))
		}
	}
	if s.Reset(); !s.Empty() || s.Has(64) {
		t.Error("Reset leaves columns")
	}
}

func TestRefusals(t *testing.T) {
	rec := batch(t, []rowset.Column{col(t, "a", "float"), col(t, "b", "int")}, []driver.Value{nil, int64(1)})
	for name, cols := range map[string][]int{"negative": {-1}, "beyond": {2}} {
		if _, err := NewJSON("dbo.ty", rec.Schema(), cols, nil); err == nil {
			t.Errorf("%s column is planned", name)
		}
	}
	other := batch(t, []rowset.Column{col(t, "a", "real"), col(t, "b", "int")})
	j, err := NewJSON("dbo.ty", rec.Schema(), []int{0, 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Bind(other); err == nil {
		t.Error("a batch of another schema is bound")
	}

	// A batch that rowset did not make can hold what SQL Server cannot.
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	schema := arrow.NewSchema([]arrow.Field{col(t, "f", "float").Type.Field("f"), col(t, "s", "nvarchar(5)").Type.Field("s")}, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	zero := 0.0
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{zero / zero, 1}, nil)
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"x", "\x80"}, nil)
	bad := b.NewRecordBatch()
	defer bad.Release()
	r := bind(t, bad, []int{0, 1}, nil)
	if got, err := r.AppendRow([]byte("x"), 0, nil); err == nil || string(got) != "x" || !strings.Contains(err.Error(), "row 1 of dbo.ty: column f (float)") {
		t.Errorf("NaN: %q, %v", got, err)
	}
	if got, err := r.AppendRow([]byte("x"), 1, nil); err == nil || string(got) != "x" || !strings.Contains(err.Error(), "row 2 of dbo.ty: column s (nvarchar(5))") {
		t.Errorf("invalid UTF-8: %q, %v", got, err)
	}
}

// Whatever is written reads back through encoding/json as what went in, numbers digit by digit.
func TestReadsBack(t *testing.T) {
	cols := []rowset.Column{col(t, "n", "bigint"), col(t, "s", "nvarchar(max)"), col(t, "d", "decimal(38,19)"), col(t, "b", "varbinary(max)"), col(t, "f", "float")}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64().Draw(rt, "n")
		s := rapid.String().Draw(rt, "s")
		d := rapid.StringMatching(`-?[0-9]{1,19}\.[0-9]{19}`).Draw(rt, "d")
		bin := rapid.SliceOf(rapid.Byte()).Draw(rt, "b")
		f := rapid.Float64Range(-1e300, 1e300).Draw(rt, "f")
		b, err := rowset.NewBuilder("dbo.ty", cols, rowset.Options{ReplaceInvalidText: true})
		if err != nil {
			rt.Fatal(err)
		}
		if err := b.AppendDriverRow([]driver.Value{n, s, []byte(d), append([]byte{}, bin...), f}); err != nil {
			rt.Fatal(err)
		}
		rec, err := b.Finish()
		if err != nil {
			rt.Fatal(err)
		}
		defer rec.Release()
		j, err := NewJSON("dbo.ty", rec.Schema(), []int{0, 1, 2, 3, 4}, nil)
		if err != nil {
			rt.Fatal(err)
		}
		r, err := j.Bind(rec)
		if err != nil {
			rt.Fatal(err)
		}
		body, err := r.AppendRow(nil, 0, nil)
		if err != nil {
			rt.Fatal(err)
		}
		var back struct {
			N, F json.Number
			S, D string
			B    []byte
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		if err := dec.Decode(&back); err != nil {
			rt.Fatalf("%s: %v", body, err)
		}
		if back.N.String() != strconv.FormatInt(n, 10) || back.S != s || !bytes.Equal(back.B, bin) {
			rt.Errorf("%s reads back as %+v", body, back)
		}
		if g, err := back.F.Float64(); err != nil || g != f {
			rt.Errorf("float %v reads back as %v, %v", f, g, err)
		}
		want, _ := new(big.Rat).SetString(d)
		if got, ok := new(big.Rat).SetString(back.D); !ok || got.Cmp(want) != 0 || len(back.D)-strings.IndexByte(back.D, '.') != 20 {
			rt.Errorf("decimal %s reads back as %s", d, back.D)
		}
	})
}

func BenchmarkRowToJSON(b *testing.B) {
	cols := []rowset.Column{col(b, "id", "bigint"), col(b, "text", "nvarchar(600)"), col(b, "price", "decimal(10,2)"), col(b, "at", "datetime2(7)"), col(b, "flag", "bit"),
		col(b, "n", "int"), col(b, "uid", "uniqueidentifier"), col(b, "note", "nvarchar(50)")}
	bld, err := rowset.NewBuilder("dbo.t", cols, rowset.Options{})
	if err != nil {
		b.Fatal(err)
	}
	row := []driver.Value{int64(1), strings.Repeat("abcdefghij", 55), []byte("12345.67"), utc(2024, 2, 29, 23, 59, 59, 0), true, int64(5), guid, nil}
	j, err := NewJSON("dbo.t", bld.Schema(), []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0})
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	b.SetBytes(700)
	for b.Loop() {
		if err := bld.AppendDriverRow(row); err != nil {
			b.Fatal(err)
		}
		if bld.Len() < 1000 {
			continue
		}
		rec, err := bld.Finish()
		if err != nil {
			b.Fatal(err)
		}
		r, err := j.Bind(rec)
		if err != nil {
			b.Fatal(err)
		}
		buf = buf[:0]
		for i := range r.Len() {
			if buf, err = r.AppendRow(buf, i, nil); err == nil {
				buf, err = r.AppendKey(buf, i)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		rec.Release()
	}
}
