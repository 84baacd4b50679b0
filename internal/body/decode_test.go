package body

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"example.com/mssqlcdc/internal/sqltype"
)

// one is a decoder of a table with the single column c, and notes what it allocates.
func one(t *testing.T, decl string, o DecodeOptions) *Decoder {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	o.Mem = mem
	d, err := NewDecoder([]DecodeColumn{{Name: "c", Type: col(t, "c", decl).Type}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Discard(); mem.AssertSize(t, 0) })
	return d
}

// message writes the only row of a decoder as a message.
func message(t *testing.T, d *Decoder) string {
	t.Helper()
	parts := d.Finish()
	if len(parts) != 1 || parts[0].Record.NumRows() != 1 {
		t.Fatalf("%d parts", len(parts))
	}
	defer parts[0].Record.Release()
	var all []int
	for i := range int(parts[0].Record.NumCols()) {
		all = append(all, i)
	}
	text, err := bind(t, parts[0].Record, all, nil).AppendRow(nil, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const nines = "99999999999999999999999999999999999999"

// What comes in, and what the column then holds, in the form of a message; an error where want begins with "!".
var decodeCases = []struct{ name, decl, value, want string }{
	{"bit true", "bit", `true`, `true`},
	{"bit text", "bit", `"false"`, `false`},
	{"bit 1", "bit", `1`, `true`},
	{"bit 2", "bit", `2`, `!neither 0 nor 1`},
	{"tinyint", "tinyint", `255`, `255`},
	{"tinyint 256", "tinyint", `256`, `!outside of the range`},
	{"tinyint -1", "tinyint", `-1`, `!outside of the range`},
	{"smallint", "smallint", `-32768`, `-32768`},
	{"smallint 40000", "smallint", `40000`, `!outside of the range`},
	{"int", "int", `-2147483648`, `-2147483648`},
	{"int 2^31", "int", `2147483648`, `!outside of the range`},
	{"int 1.0", "int", `1.0`, `1`},
	{"int 1e3", "int", `1e3`, `1000`},
	{"int 1.9", "int", `1.9`, `!on_lossy.number`},
	{"int text", "int", `"-7"`, `-7`},
	{"int words", "int", `"seven"`, `!is not a number`},
	{"int boolean", "int", `true`, `1`},
	{"bigint", "bigint", `9223372036854775807`, `9223372036854775807`},
	{"bigint low", "bigint", `-9223372036854775808`, `-9223372036854775808`},
	{"bigint above", "bigint", `9223372036854775808`, `!outside of the range`},
	{"bigint huge", "bigint", `1e999999999`, `!more than 38 digits`},
	{"decimal text", "decimal(10,2)", `"1.50"`, `"1.50"`},
	{"decimal number", "decimal(10,2)", `-0.05`, `"-0.05"`},
	{"decimal all digits", "decimal(38,0)", `"` + nines + `"`, `"` + nines + `"`},
	{"decimal all digits, negative", "decimal(38,0)", `-` + nines, `"-` + nines + `"`},
	{"decimal smallest", "decimal(38,38)", `"0.00000000000000000000000000000000000001"`, `"0.00000000000000000000000000000000000001"`},
	{"decimal exponent", "decimal(10,2)", `1.5e2`, `"150.00"`},
	{"decimal long zeros", "decimal(5,2)", `"1.5000000000000000000000000000000000000000000000000"`, `"1.50"`},
	{"decimal too fine", "decimal(10,2)", `"1.005"`, `!more than 2 digits after the point`},
	{"decimal too large", "decimal(5,2)", `1000`, `!outside of the range`},
	{"decimal just fits", "decimal(5,2)", `999.99`, `"999.99"`},
	{"money", "money", `"922337203685477.5807"`, `"922337203685477.5807"`},
	{"money low", "money", `"-922337203685477.5808"`, `"-922337203685477.5808"`},
	{"money above", "money", `"922337203685477.5808"`, `!outside of the range`},
	{"smallmoney", "smallmoney", `"-214748.3648"`, `"-214748.3648"`},
	{"smallmoney above", "smallmoney", `"214748.3648"`, `!outside of the range`},
	{"real", "real", `0.1`, `0.1`},
	{"real above", "real", `1e39`, `!outside of the range`},
	{"float", "float", `1.7976931348623157e+308`, `1.7976931348623157e+308`},
	{"float above", "float", `1e309`, `!outside of the range`},
	{"float whole", "float", `9007199254740992`, `9007199254740992`},
	{"float loses a digit", "float", `9007199254740993`, `!becomes 9007199254740992`},
	{"float of our own form", "float", `123456789012345680000`, `123456789012345680000`},
	{"float NaN", "float", `"NaN"`, `!on_lossy.nan`},
	{"float text", "float", `"-1.5"`, `-1.5`},
	{"date", "date", `"0001-01-01"`, `"0001-01-01"`},
	{"date last", "date", `"9999-12-31"`, `"9999-12-31"`},
	{"date with midnight", "date", `"2024-02-29T00:00:00Z"`, `"2024-02-29"`},
	{"date with time", "date", `"2024-02-29T00:00:01"`, `!on_lossy.time`},
	{"date of no year", "date", `"2023-02-29"`, `!is not a date`},
	{"date of a number", "date", `20240229`, `!is not a time`},
	{"time", "time(7)", `"23:59:59.9999999"`, `"23:59:59.9999999"`},
	{"time without fraction", "time(3)", `"10:11:12"`, `"10:11:12.000"`},
	{"time without seconds", "time(0)", `"10:11"`, `"10:11:00"`},
	{"time too fine", "time(3)", `"10:11:12.1234"`, `!on_lossy.time`},
	{"time 24", "time(0)", `"24:00:00"`, `!is not a date`},
	{"time with a date", "time(0)", `"2024-01-01T10:00:00"`, `!a date does not fit`},
	{"datetime2", "datetime2(7)", `"9999-12-31T23:59:59.9999999"`, `"9999-12-31T23:59:59.9999999"`},
	{"datetime2 first", "datetime2(7)", `"0001-01-01 00:00:00"`, `"0001-01-01T00:00:00.0000000"`},
	{"datetime2 date alone", "datetime2(0)", `"2024-01-01"`, `"2024-01-01T00:00:00"`},
	{"datetime2 nine digits that are zero", "datetime2(7)", `"2024-01-01T00:00:00.123456700"`, `"2024-01-01T00:00:00.1234567"`},
	{"datetime2 nine digits", "datetime2(7)", `"2024-01-01T00:00:00.123456789"`, `!on_lossy.time`},
	{"datetime2 with a zone is UTC", "datetime2(3)", `"2024-01-15T00:30:45.123+02:00"`, `"2024-01-14T22:30:45.123"`},
	{"datetime2 before the first", "datetime2(0)", `"0001-01-01T00:30:00+02:00"`, `!outside of the range`},
	{"datetime", "datetime", `"2024-02-29T23:59:59.997"`, `"2024-02-29T23:59:59.997"`},
	{"datetime first", "datetime", `"1753-01-01T00:00:00"`, `"1753-01-01T00:00:00.000"`},
	{"datetime before", "datetime", `"1752-12-31T23:59:59"`, `!outside of the range`},
	{"datetime last", "datetime", `"9999-12-31T23:59:59.997"`, `"9999-12-31T23:59:59.997"`},
	{"datetime between its ticks", "datetime", `"2024-02-29T23:59:59.998"`, `!on_lossy.time`},
	{"smalldatetime", "smalldatetime", `"2079-06-06T23:59:00"`, `"2079-06-06T23:59:00"`},
	{"smalldatetime after", "smalldatetime", `"2079-06-07T00:00:00"`, `!outside of the range`},
	{"smalldatetime with seconds", "smalldatetime", `"2024-01-01T00:00:01"`, `!on_lossy.time`},
	{"datetimeoffset", "datetimeoffset(7)", `"2024-02-29T23:59:59.1234567+09:00"`, `"2024-02-29T23:59:59.1234567+09:00"`},
	{"datetimeoffset Z", "datetimeoffset(0)", `"2024-02-29T23:59:59Z"`, `"2024-02-29T23:59:59+00:00"`},
	{"datetimeoffset west", "datetimeoffset(0)", `"2024-02-29T23:59:59-13:30"`, `"2024-02-29T23:59:59-13:30"`},
	{"datetimeoffset without", "datetimeoffset(0)", `"2024-02-29T23:59:59"`, `"2024-02-29T23:59:59+00:00"`},
	{"datetimeoffset +15", "datetimeoffset(0)", `"2024-02-29T23:59:59+15:00"`, `!is not a date`},
	{"char", "char(5)", `"ab   "`, `"ab   "`},
	{"nvarchar", "nvarchar(10)", `"é€\ud83d\ude00\u0000"`, `"é€😀\u0000"`},
	{"text of a number", "varchar(20)", `1.50`, `"1.50"`},
	{"text of a boolean", "varchar(20)", `true`, `"true"`},
	{"text of an object", "nvarchar(max)", `{"a" : [1,"é"]}`, `"{\"a\" : [1,\"é\"]}"`},
	{"number of an object", "int", `{}`, `!nested`},
	{"xml", "xml", `"<a>é&amp;</a>"`, `"<a>é&amp;</a>"`},
	{"json", "json", `"{\"a\":1}"`, `"{\"a\":1}"`},
	{"binary", "varbinary(20)", `"3q2+7w=="`, `"3q2+7w=="`},
	{"binary, empty", "varbinary(20)", `""`, `""`},
	{"binary that is text", "varbinary(20)", `"deadbeef!"`, `!base64`},
	{"binary number", "varbinary(20)", `1`, `!does not fit`},
	{"uuid", "uniqueidentifier", `"01234567-89ab-cdef-0123-456789ABCDEF"`, `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
	{"uuid in braces", "uniqueidentifier", `"{01234567-89AB-CDEF-0123-456789ABCDEF}"`, `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
	{"uuid short", "uniqueidentifier", `"01234567-89AB"`, `!uniqueidentifier`},
	{"rowversion", "rowversion", `"AAAAAAAAB9E="`, `"AAAAAAAAB9E="`},
	{"variant", "sql_variant", `{"type":"int","value":1}`, `!cannot be bulk loaded`},
	{"variant number", "sql_variant", `1`, `!cannot be bulk loaded`},
	{"null", "int", `null`, `null`},
}

func TestDecodeJSON(t *testing.T) {
	for _, tt := range decodeCases {
		t.Run(tt.name, func(t *testing.T) {
			d := one(t, tt.decl, DecodeOptions{})
			checkDecoded(t, d, d.AppendJSON([]byte(`{"c":`+tt.value+`}`)), tt.want)
		})
	}
}

// The same values as a structured message.
func TestDecodeMap(t *testing.T) {
	for _, tt := range decodeCases {
		if strings.Contains(tt.name, "object") {
			continue // blanks between the tokens are gone
		}
		t.Run(tt.name, func(t *testing.T) {
			var row map[string]any
			r := json.NewDecoder(strings.NewReader(`{"c":` + tt.value + `}`))
			r.UseNumber()
			if err := r.Decode(&row); err != nil {
				t.Fatal(err)
			}
			d := one(t, tt.decl, DecodeOptions{})
			checkDecoded(t, d, d.AppendMap(row), tt.want)
		})
	}
}

func checkDecoded(t *testing.T, d *Decoder, err error, want string) {
	t.Helper()
	if what, bad := strings.CutPrefix(want, "!"); bad {
		var cell *CellError
		if !errors.As(err, &cell) || cell.Column != "c" || !strings.Contains(err.Error(), what) {
			t.Fatalf("error %v, want one of column c with %q", err, what)
		}
		if d.Len() != 0 {
			t.Error("the refused row was counted")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := message(t, d); got != `{"c":`+want+`}` {
		t.Errorf("holds %s, want %s", got, want)
	}
}

func TestDecodeGoValues(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 30, 0, 123456700, time.FixedZone("", -3600))
	for _, tt := range []struct {
		name, decl string
		value      any
		want       string
	}{
		{"int64", "bigint", int64(math.MinInt64), `-9223372036854775808`},
		{"int", "int", 7, `7`},
		{"int8", "smallint", int8(-8), `-8`},
		{"int16", "smallint", int16(-16), `-16`},
		{"int32", "int", int32(-32), `-32`},
		{"uint8", "tinyint", uint8(200), `200`},
		{"uint16", "int", uint16(16), `16`},
		{"uint32", "bigint", uint32(1 << 31), `2147483648`},
		{"uint", "bigint", uint(5), `5`},
		{"uint64 above", "bigint", uint64(math.MaxUint64), `!outside of the range`},
		{"uint64 in decimal", "decimal(20,0)", uint64(math.MaxUint64), `"18446744073709551615"`},
		{"float64", "float", 0.1, `0.1`},
		{"float64 in real", "real", 0.1, `0.1`},
		{"float32 in float", "float", float32(0.1), `0.1`},
		{"float64 in decimal", "decimal(5,2)", 0.1, `"0.10"`},
		{"float64 in int", "int", 3.0, `3`},
		{"NaN", "float", math.NaN(), `!on_lossy.nan`},
		{"infinite", "decimal(5,2)", math.Inf(-1), `!on_lossy.nan`},
		{"time in datetimeoffset", "datetimeoffset(7)", at, `"2024-02-29T23:30:00.1234567-01:00"`},
		{"time in datetime2", "datetime2(7)", at, `"2024-03-01T00:30:00.1234567"`},
		{"time in time", "time(7)", at, `"00:30:00.1234567"`},
		{"time in date", "date", at.Truncate(24 * time.Hour), `"2024-03-01"`},
		{"time in text", "varchar(50)", at, `"2024-02-29T23:30:00.1234567-01:00"`},
		{"time in int", "int", at, `!does not fit`},
		{"bytes", "varbinary(8)", []byte{0xDE, 0xAD}, `"3q0="`},
		{"bytes of a uuid", "uniqueidentifier", []byte("\x01\x23\x45\x67\x89\xAB\xCD\xEF\x01\x23\x45\x67\x89\xAB\xCD\xEF"), `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
		{"bytes of text", "nvarchar(8)", []byte("é"), `"é"`},
		{"bytes that are no text", "nvarchar(8)", []byte{0xFF}, `!UTF-8`},
		{"text that is no text", "nvarchar(8)", "a\xFF", `!UTF-8`},
		{"list", "nvarchar(max)", []any{1, "a"}, `"[1,\"a\"]"`},
		{"map in int", "int", map[string]any{}, `!nested`},
		{"no rule", "int", struct{}{}, `!no rule`},
		{"nil", "int", nil, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := one(t, tt.decl, DecodeOptions{})
			checkDecoded(t, d, d.AppendMap(map[string]any{"c": tt.value}), tt.want)
		})
	}
}

func TestDecodeLossy(t *testing.T) {
	for _, tt := range []struct {
		name, decl, value, want string
		lossy                   Lossy
	}{
		{"up", "decimal(5,2)", `1.005`, `"1.01"`, Lossy{Number: true}},
		{"away from zero", "decimal(5,2)", `-1.005`, `"-1.01"`, Lossy{Number: true}},
		{"down", "decimal(5,2)", `1.00499`, `"1.00"`, Lossy{Number: true}},
		{"to nothing", "decimal(5,2)", `1e-40`, `"0.00"`, Lossy{Number: true}},
		{"int", "int", `1.5`, `2`, Lossy{Number: true}},
		{"out of the range by rounding", "decimal(5,2)", `999.995`, `!outside of the range`, Lossy{Number: true}},
		{"float", "float", `9007199254740993`, `9007199254740992`, Lossy{Number: true}},
		{"time up", "datetime2(3)", `"2024-12-31T23:59:59.9996"`, `"2025-01-01T00:00:00.000"`, Lossy{Time: true}},
		{"time of day stays in the day", "time(0)", `"23:59:59.5"`, `"23:59:59"`, Lossy{Time: true}},
		{"datetime", "datetime", `"2024-01-01T00:00:00.001"`, `"2024-01-01T00:00:00.000"`, Lossy{Time: true}},
		{"smalldatetime", "smalldatetime", `"2024-01-01T00:00:30"`, `"2024-01-01T00:01:00"`, Lossy{Time: true}},
		{"date", "date", `"2024-01-01T23:00:00"`, `"2024-01-01"`, Lossy{Time: true}},
		{"past the end", "datetime2(0)", `"9999-12-31T23:59:59.9"`, `!outside of the range`, Lossy{Time: true}},
		{"NaN", "float", `"NaN"`, `null`, Lossy{NaN: true}},
		{"one choice is not another", "int", `1.5`, `!on_lossy.number`, Lossy{Time: true, NaN: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := one(t, tt.decl, DecodeOptions{Lossy: tt.lossy})
			checkDecoded(t, d, d.AppendJSON([]byte(`{"c":`+tt.value+`}`)), tt.want)
		})
	}
}

// What JSON readers overlook.
func TestDecodeStrictly(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"empty", ``, "no body"},
		{"blank", " \n", "no body"},
		{"array", `[1]`, "not a JSON object"},
		{"null", `null`, "not a JSON object"},
		{"invalid UTF-8", "{\"c\":\"a\xff\"}", "UTF-8"},
		{"invalid UTF-8 in an unknown field", "{\"x\":\"a\xff\"}", "UTF-8"},
		{"high surrogate alone", `{"c":"\ud83d"}`, "surrogate"},
		{"low surrogate alone", `{"c":"\ude00"}`, "surrogate"},
		{"high surrogate before text", `{"c":"\ud83dx"}`, "surrogate"},
		{"two high surrogates", `{"c":"\ud83d\ud83d"}`, "surrogate"},
		{"trailing object", `{"c":"a"} {}`, "goes on"},
		{"trailing garbage", `{"c":"a"}x`, "goes on"},
		{"trailing brace", `{"c":"a"}}`, "goes on"},
		{"trailing number", `{"c":"a"} 1`, "goes on"},
		{"trailing part of a word", `{"c":"a"} tru`, "goes on"},
		{"trailing quote", `{"c":"a"} "`, "goes on"},
		{"twice", `{"c":"a","c":"b"}`, "twice"},
		{"twice, by escapes", `{"c":"a","\u0063":"b"}`, "twice"},
		{"twice, by case", `{"c":"a","C":"b"}`, "twice"},
		{"not closed", `{"c":"a"`, "JSON"},
		{"no value", `{"c":}`, "JSON"},
		{"bad escape", `{"c":"\x"}`, "JSON"},
		{"bad number", `{"c":01}`, "JSON"},
		{"bare control", "{\"c\":\"a\nb\"}", "JSON"},
		{"unknown", `{"d":1}`, "no such column"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := one(t, "nvarchar(20)", DecodeOptions{IgnoreUnknown: tt.name != "unknown"})
			if err := d.AppendJSON([]byte(tt.body)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if err := d.AppendJSON([]byte(` {"c" : "\\ud83d 😀"} ` + "\n")); err != nil {
				t.Errorf("the next row: %v", err)
			}
			if got := message(t, d); got != `{"c":"\\ud83d 😀"}` {
				t.Errorf("the next row is %s", got)
			}
		})
	}
}

func TestDecodeColumns(t *testing.T) {
	typ := func(decl string, nullable bool) sqltype.Type {
		c := col(t, "", decl).Type
		c.Nullable = nullable
		return c
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	d, err := NewDecoder([]DecodeColumn{
		{Name: "id", Type: typ("int", false), Optional: true},
		{Name: "Name", Type: typ("nvarchar(10)", false)},
		{Name: "note", Type: typ("nvarchar(10)", true)},
		{Name: "kind", Type: typ("int", true), Optional: true},
		{Name: "total", Type: typ("int", true), Ignored: true},
		{Name: "v", Type: typ("sql_variant", true)},
	}, DecodeOptions{Mem: mem})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ body, refused string }{
		{`{"id":1,"name":"a","note":null}`, ""},
		{`{"name":"b"}`, ""},
		{`{"id":3,"Name":"c","note":"n","total":"not looked at"}`, ""},
		{`{"id":4}`, "column Name (nvarchar(10)): the message has no value"},
		{`{"id":5,"name":null}`, "column Name (nvarchar(10)): the value is null"},
		{`{"id":null,"name":"x"}`, "column id (int): the value is null"},
		{`{"id":6,"name":"d","kind":null,"v":null}`, ""},
	} {
		err := d.AppendJSON([]byte(tt.body))
		if tt.refused == "" && err != nil || tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: %v, want %q", tt.body, err, tt.refused)
		}
	}
	if d.Len() != 4 || d.Bytes() <= 0 {
		t.Errorf("%d rows of %d bytes", d.Len(), d.Bytes())
	}
	parts := d.Finish()
	var got []string
	for _, p := range parts {
		var names []string
		for _, f := range p.Record.Schema().Fields() {
			names = append(names, f.Name)
		}
		rows, err := json.Marshal(p.Rows)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(names, " ")+" "+string(rows))
		p.Record.Release()
	}
	want := []string{"id Name note [0,2]", "Name [1]", "id Name kind [3]"}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("parts %q, want %q", got, want)
	}
	if d.Len() != 0 || len(d.Finish()) != 0 {
		t.Error("a second Finish gives the rows again")
	}
}

func TestDecoderRefusesTables(t *testing.T) {
	typ := col(t, "", "int").Type
	if _, err := NewDecoder([]DecodeColumn{{Name: "a", Type: typ}, {Name: "a", Type: typ}}, DecodeOptions{}); err == nil {
		t.Error("two columns of one name")
	}
	d, err := NewDecoder([]DecodeColumn{{Name: "a", Type: typ}, {Name: "A", Type: typ}}, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Discard()
	if err := d.AppendJSON([]byte(`{"A":1,"a":2}`)); err != nil {
		t.Errorf("names that differ in case: %v", err)
	}
}

// A number's text and what strconv and big make of it.
func TestParseNumberAgainstDecimalText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(0, 10).Draw(t, "scale")
		n := rapid.Int64Range(-1e17, 1e17).Draw(t, "n")
		typ := sqltype.Type{Name: "decimal", Precision: 38, Scale: scale}
		text := sqltype.AppendDecimal(nil, decimalOf(n), scale)
		hi, lo, lost, err := parseNumber(text, scale)
		if err != nil || lost || int64(lo) != n || hi != uint64(n>>63) || !fits(typ, hi, lo) {
			t.Fatalf("%s: %d %d %t %v, want %d", text, hi, lo, lost, err, n)
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, tt := range decodeCases {
		f.Add([]byte(`{"c":` + tt.value + `}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, decl := range []string{"nvarchar(max)", "int", "decimal(38,10)", "float", "datetime2(7)", "datetimeoffset(7)", "datetime", "smalldatetime", "time(3)", "date", "varbinary(max)", "uniqueidentifier"} {
			d := one(t, decl, DecodeOptions{Lossy: Lossy{Number: true, Time: true, NaN: true}})
			if d.AppendJSON(b) != nil {
				continue
			}
			if !json.Valid(b) {
				t.Fatalf("%q is not JSON", b)
			}
			first := message(t, d)
			if err := d.AppendJSON([]byte(first)); err != nil {
				t.Fatalf("%s of %q: %v", first, b, err)
			}
			if again := message(t, d); again != first {
				t.Fatalf("%s, then %s", first, again)
			}
		}
	})
}
