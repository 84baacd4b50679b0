package bulkload_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/mssqltest"
)

// typeCase is values of an Arrow type in the text that array.FromJSON and builders
// read, and what a column holds of them; "!" begins a part of the error instead.
type typeCase struct {
	name   string
	column string
	field  arrow.DataType
	values []string
	want   []string
	lossy  bulkload.Lossy
}

var typeCases = []typeCase{
	{"bool to bit", "bit", arrow.FixedWidthTypes.Boolean, []string{"true", "false"}, []string{"1", "0"}, bulkload.Lossy{}},
	{"int to bit", "bit", arrow.PrimitiveTypes.Int32, []string{"1", "0", "2"}, []string{"1", "0", "!neither 0 nor 1"}, bulkload.Lossy{}},
	{"uint8 to tinyint", "tinyint", arrow.PrimitiveTypes.Uint8, []string{"0", "255"}, []string{"0", "255"}, bulkload.Lossy{}},
	{"int32 to tinyint", "tinyint", arrow.PrimitiveTypes.Int32, []string{"255", "256", "-1", "300"}, []string{"255", "!256 is out of the range of tinyint", "!-1 is", "!300 is"}, bulkload.Lossy{}},
	{"int16 to smallint", "smallint", arrow.PrimitiveTypes.Int16, []string{"-32768", "32767"}, []string{"-32768", "32767"}, bulkload.Lossy{}},
	{"int32 to smallint", "smallint", arrow.PrimitiveTypes.Int32, []string{"40000"}, []string{"!out of the range"}, bulkload.Lossy{}},
	{"int32 to int", "int", arrow.PrimitiveTypes.Int32, []string{"-2147483648", "2147483647"}, []string{"-2147483648", "2147483647"}, bulkload.Lossy{}},
	{"int64 to int", "int", arrow.PrimitiveTypes.Int64, []string{"2147483648", "-2147483648"}, []string{"!out of the range", "-2147483648"}, bulkload.Lossy{}},
	{"float to int", "int", arrow.PrimitiveTypes.Float64, []string{"1.9", "3", "1e10"}, []string{"!not exact", "3", "!out of the range"}, bulkload.Lossy{}},
	{"float to int, rounded", "int", arrow.PrimitiveTypes.Float64, []string{"1.9", "-1.5"}, []string{"2", "-2"}, bulkload.Lossy{Number: true}},
	{"int64 to bigint", "bigint", arrow.PrimitiveTypes.Int64, []string{"-9223372036854775808", "9223372036854775807"}, []string{"-9223372036854775808", "9223372036854775807"}, bulkload.Lossy{}},
	{"uint64 to bigint", "bigint", arrow.PrimitiveTypes.Uint64, []string{"9223372036854775807", "9223372036854775808"}, []string{"9223372036854775807", "!9223372036854775808 is out of the range"}, bulkload.Lossy{}},
	{"uint64 to decimal", "decimal(20,0)", arrow.PrimitiveTypes.Uint64, []string{"18446744073709551615"}, []string{"18446744073709551615"}, bulkload.Lossy{}},
	{"decimal to int", "int", &arrow.Decimal128Type{Precision: 10, Scale: 2}, []string{"5.00", "5.50", "-7.00"}, []string{"5", "!5.50 is not exact in int", "-7"}, bulkload.Lossy{}},
	{"float64", "float", arrow.PrimitiveTypes.Float64, []string{"0.1", "1.7976931348623157e308", "-5e-324"}, []string{"0.1", "1.7976931348623157e+308", "-5e-324"}, bulkload.Lossy{}},
	{"float64 to real", "real", arrow.PrimitiveTypes.Float64, []string{"0.1", "0.123456789", "1e300"}, []string{"0.10000000149011612", "!not exact", "!out of the range"}, bulkload.Lossy{}},
	{"float32 to float", "float", arrow.PrimitiveTypes.Float32, []string{"0.5"}, []string{"0.5"}, bulkload.Lossy{}},
	{"int64 to float", "float", arrow.PrimitiveTypes.Int64, []string{"9007199254740992", "9007199254740993", "9223372036854775807"}, []string{"9.007199254740992e+15", "!not exact", "!not exact"}, bulkload.Lossy{}},
	{"decimal to float", "float", &arrow.Decimal128Type{Precision: 38, Scale: 2}, []string{"12.25", "12345678901234567890.12"}, []string{"12.25", "!not exact"}, bulkload.Lossy{}},
	{"decimal128", "decimal(38,4)", &arrow.Decimal128Type{Precision: 38, Scale: 4}, []string{"-123.4500", "9999999999999999999999999999999999.9999", "-9999999999999999999999999999999999.9999", "0.0000"},
		[]string{"-123.4500", "9999999999999999999999999999999999.9999", "-9999999999999999999999999999999999.9999", "0.0000"}, bulkload.Lossy{}},
	{"decimal128 of another scale", "decimal(9,2)", &arrow.Decimal128Type{Precision: 12, Scale: 4}, []string{"1.2300", "1.2345", "9999999.9900", "99999999.9900"}, []string{"1.23", "!1.2345 is not exact", "9999999.99", "!out of the range"}, bulkload.Lossy{}},
	{"decimal128 rounded", "decimal(9,2)", &arrow.Decimal128Type{Precision: 12, Scale: 4}, []string{"1.2350", "-1.2350", "9999999.9951"}, []string{"1.24", "-1.24", "!out of the range"}, bulkload.Lossy{Number: true}},
	{"decimal128 of a negative scale", "decimal(9,2)", &arrow.Decimal128Type{Precision: 5, Scale: -2}, []string{"12300"}, []string{"12300.00"}, bulkload.Lossy{}},
	{"decimal32", "numeric(19,4)", &arrow.Decimal32Type{Precision: 9, Scale: 2}, []string{"1234567.89", "-0.01"}, []string{"1234567.8900", "-0.0100"}, bulkload.Lossy{}},
	{"decimal64", "numeric(28,3)", &arrow.Decimal64Type{Precision: 18, Scale: 3}, []string{"123456789012345.678"}, []string{"123456789012345.678"}, bulkload.Lossy{}},
	{"decimal256", "decimal(38,2)", &arrow.Decimal256Type{Precision: 76, Scale: 10}, []string{"123.4500000000", "-123.4500000001", "-1.5000000000", "12345678901234567890123456789012345678901234567890.0000000000"},
		[]string{"123.45", "!not exact", "-1.50", "!out of the range"}, bulkload.Lossy{}},
	{"int to decimal", "decimal(18,4)", arrow.PrimitiveTypes.Int64, []string{"5", "-5", "99999999999999", "100000000000000"}, []string{"5.0000", "-5.0000", "99999999999999.0000", "!out of the range"}, bulkload.Lossy{}},
	{"float to decimal", "decimal(9,2)", arrow.PrimitiveTypes.Float64, []string{"0.1", "0.125", "1e20", "1e6"}, []string{"0.10", "!not exact", "!out of the range", "1000000.00"}, bulkload.Lossy{}},
	{"decimal to money", "money", &arrow.Decimal128Type{Precision: 19, Scale: 4}, []string{"922337203685477.5807", "-922337203685477.5808", "922337203685477.5808"}, []string{"922337203685477.5807", "-922337203685477.5808", "!out of the range"}, bulkload.Lossy{}},
	{"decimal to smallmoney", "smallmoney", &arrow.Decimal128Type{Precision: 19, Scale: 4}, []string{"214748.3647", "-214748.3648", "214748.3648"}, []string{"214748.3647", "-214748.3648", "!out of the range"}, bulkload.Lossy{}},
	{"date32", "date", arrow.FixedWidthTypes.Date32, []string{`"1970-01-01"`, `"0001-01-01"`, `"9999-12-31"`}, []string{"1970-01-01", "0001-01-01", "9999-12-31"}, bulkload.Lossy{}},
	{"date64", "date", arrow.FixedWidthTypes.Date64, []string{`"2024-02-29"`}, []string{"2024-02-29"}, bulkload.Lossy{}},
	{"date to datetime2", "datetime2(0)", arrow.FixedWidthTypes.Date32, []string{`"2024-02-29"`, `"1969-12-31"`}, []string{"2024-02-29T00:00:00", "1969-12-31T00:00:00"}, bulkload.Lossy{}},
	{"date to datetime", "datetime", arrow.FixedWidthTypes.Date32, []string{`"1753-01-01"`, `"1752-12-31"`}, []string{"1753-01-01T00:00:00", "!1752-12-31T00:00:00 is out of the range of datetime"}, bulkload.Lossy{}},
	{"time32 s", "time(0)", arrow.FixedWidthTypes.Time32s, []string{"86399", "0", "86400", "-1"}, []string{"23:59:59", "00:00:00", "!time of day", "!time of day"}, bulkload.Lossy{}},
	{"time32 ms", "time(3)", arrow.FixedWidthTypes.Time32ms, []string{"86399999"}, []string{"23:59:59.999"}, bulkload.Lossy{}},
	{"time64 us", "time(7)", arrow.FixedWidthTypes.Time64us, []string{"86399999999"}, []string{"23:59:59.9999990"}, bulkload.Lossy{}},
	{"time64 ns", "time(7)", arrow.FixedWidthTypes.Time64ns, []string{"86399999999900", "150"}, []string{"23:59:59.9999999", "!more digits"}, bulkload.Lossy{}},
	{"time64 ns rounded", "time(3)", arrow.FixedWidthTypes.Time64ns, []string{"1500000", "86399999999900"}, []string{"00:00:00.002", "23:59:59.999"}, bulkload.Lossy{Time: true}},
	{"timestamp s", "datetime2(7)", &arrow.TimestampType{Unit: arrow.Second}, []string{"1705314645", "-62135596800", "253402300799", "-62135596801", "253402300800"},
		[]string{"2024-01-15T10:30:45", "0001-01-01T00:00:00", "9999-12-31T23:59:59", "!a day of the year 0 is", "!a day of the year 10000 is"}, bulkload.Lossy{}},
	{"timestamp ms", "datetime2(3)", &arrow.TimestampType{Unit: arrow.Millisecond}, []string{"1705314645123", "-1"}, []string{"2024-01-15T10:30:45.123", "1969-12-31T23:59:59.999"}, bulkload.Lossy{}},
	{"timestamp us", "datetime2(6)", &arrow.TimestampType{Unit: arrow.Microsecond}, []string{"1705314645123456"}, []string{"2024-01-15T10:30:45.123456"}, bulkload.Lossy{}},
	{"timestamp ns", "datetime2(7)", &arrow.TimestampType{Unit: arrow.Nanosecond}, []string{"1705314645123456700", "1705314645123456789"}, []string{"2024-01-15T10:30:45.1234567", "!more digits"}, bulkload.Lossy{}},
	{"timestamp rounded into the next year", "datetime2(0)", &arrow.TimestampType{Unit: arrow.Millisecond}, []string{"1735689599500", "253402300799999"}, []string{"2025-01-01T00:00:00", "!out of the range"}, bulkload.Lossy{Time: true}},
	{"timestamp with zone to datetime2", "datetime2(3)", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}, []string{"1705314645123"}, []string{"2024-01-15T10:30:45.123"}, bulkload.Lossy{}},
	{"timestamp with zone", "datetimeoffset(3)", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}, []string{"1705314645123", "1720000000000"}, []string{"2024-01-15T11:30:45.123+01:00", "2024-07-03T11:46:40+02:00"}, bulkload.Lossy{}},
	{"timestamp with offset", "datetimeoffset(0)", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "-14:00"}, []string{"1705314645", "-62135596800"}, []string{"2024-01-14T20:30:45-14:00", "!out of the range"}, bulkload.Lossy{}},
	{"timestamp to datetime", "datetime", &arrow.TimestampType{Unit: arrow.Millisecond}, []string{"1705314645123", "1705314645124", "1705314645997"}, []string{"2024-01-15T10:30:45.123", "!more digits than datetime", "2024-01-15T10:30:45.997"}, bulkload.Lossy{}},
	{"timestamp to datetime rounded", "datetime", &arrow.TimestampType{Unit: arrow.Microsecond}, []string{"1705314645999000", "1705363199999000"}, []string{"2024-01-15T10:30:46", "2024-01-16T00:00:00"}, bulkload.Lossy{Time: true}},
	{"timestamp to smalldatetime", "smalldatetime", &arrow.TimestampType{Unit: arrow.Second}, []string{"1705314600", "1705314645", "-2208988800", "3453321540", "-2208988860"},
		[]string{"2024-01-15T10:30:00", "!more digits", "1900-01-01T00:00:00", "2079-06-06T23:59:00", "!out of the range"}, bulkload.Lossy{}},
	{"timestamp to date", "date", &arrow.TimestampType{Unit: arrow.Second}, []string{"1705276800", "1705276801"}, []string{"2024-01-15", "!more digits than date"}, bulkload.Lossy{}},
	{"string to nvarchar", "nvarchar(10)", arrow.BinaryTypes.String, []string{`""`, `"abcdefghij"`, `"abcdefghijk"`, `"Aé'😀"`}, []string{"", "abcdefghij", "!11 UTF-16 units is longer than nvarchar(10)", "Aé'😀"}, bulkload.Lossy{}},
	{"string cut", "nvarchar(3)", arrow.BinaryTypes.String, []string{`"abcd"`, `"ab😀"`}, []string{"abc", "ab"}, bulkload.Lossy{Text: true}},
	{"large string to nvarchar(max)", "nvarchar(max)", arrow.BinaryTypes.LargeString, []string{`""`, `"` + strings.Repeat("é", 9000) + `"`}, []string{"", strings.Repeat("é", 9000)}, bulkload.Lossy{}},
	{"string view to varchar", "varchar(20)", arrow.BinaryTypes.StringView, []string{`"español €"`, `"a string that is not held inline"`, `"你好"`}, []string{"español €", "!32 bytes is longer", "!code page 1252 has no character"}, bulkload.Lossy{}},
	{"string to nchar", "nchar(4)", arrow.BinaryTypes.String, []string{`"ab"`}, []string{"ab  "}, bulkload.Lossy{}},
	{"string to char", "char(4)", arrow.BinaryTypes.String, []string{`"é"`, `"abcde"`}, []string{"é   ", "!longer than char(4)"}, bulkload.Lossy{}},
	{"string to varchar of 932", "varchar(6) COLLATE Japanese_CI_AS", arrow.BinaryTypes.String, []string{`"表あ"`, `"表あ表あ"`, `"é"`}, []string{"表あ", "!8 bytes is longer", "!code page 932 has no character"}, bulkload.Lossy{}},
	{"string to varchar of 932 cut", "varchar(3) COLLATE Japanese_CI_AS", arrow.BinaryTypes.String, []string{`"表あ"`}, []string{"表"}, bulkload.Lossy{Text: true}},
	{"string to varchar of 1251", "varchar(10) COLLATE Cyrillic_General_CI_AS", arrow.BinaryTypes.String, []string{`"Привет"`}, []string{"Привет"}, bulkload.Lossy{}},
	{"string to varchar of UTF-8", "varchar(3) COLLATE Latin1_General_100_CI_AS_SC_UTF8", arrow.BinaryTypes.String, []string{`"€"`, `"é€"`}, []string{"€", "!5 bytes is longer than varchar(3)"}, bulkload.Lossy{}},
	{"string to varchar(max)", "varchar(max)", arrow.BinaryTypes.String, []string{`""`, `"` + strings.Repeat("é", 8001) + `"`}, []string{"", strings.Repeat("é", 8001)}, bulkload.Lossy{}},
	{"characters lost", "varchar(10)", arrow.BinaryTypes.String, []string{`"a你b"`}, []string{"a?b"}, bulkload.Lossy{Text: true}},
	{"string to uniqueidentifier", "uniqueidentifier", arrow.BinaryTypes.String, []string{`"00112233-4455-6677-8899-aabbccddeeff"`, `"{00112233-4455-6677-8899-AABBCCDDEEFF}"`, `"no"`}, []string{"00112233-4455-6677-8899-AABBCCDDEEFF", "00112233-4455-6677-8899-AABBCCDDEEFF", "!not the text of a uniqueidentifier"}, bulkload.Lossy{}},
	{"16 bytes to uniqueidentifier", "uniqueidentifier", &arrow.FixedSizeBinaryType{ByteWidth: 16}, []string{`"ABEiM0RVZneImaq7zN3u/w=="`}, []string{"00112233-4455-6677-8899-AABBCCDDEEFF"}, bulkload.Lossy{}},
	{"binary to varbinary", "varbinary(4)", arrow.BinaryTypes.Binary, []string{`""`, `"3q2+7w=="`, `"3q2+7wA="`}, []string{"0x", "0xDEADBEEF", "!5 bytes are longer"}, bulkload.Lossy{}},
	{"binary to binary", "binary(4)", arrow.BinaryTypes.LargeBinary, []string{`"3q0="`}, []string{"0xDEAD0000"}, bulkload.Lossy{}},
	{"binary view to varbinary(max)", "varbinary(max)", arrow.BinaryTypes.BinaryView, []string{`""`, `"3q2+7w=="`}, []string{"0x", "0xDEADBEEF"}, bulkload.Lossy{}},
	{"dictionary", "nvarchar(5)", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, []string{`"a"`, `"b"`, `"a"`, `"too long"`}, []string{"a", "b", "a", "!longer"}, bulkload.Lossy{}},
	{"list as JSON", "nvarchar(max)", arrow.ListOf(arrow.PrimitiveTypes.Int32), []string{`[1,2]`, `[]`}, []string{"[1,2]", "[]"}, bulkload.Lossy{}},
	{"struct as JSON", "nvarchar(max)", arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}), []string{`{"a":1}`}, []string{`{"a":1}`}, bulkload.Lossy{}},
	{"null", "int", arrow.Null, []string{"null"}, []string{"NULL"}, bulkload.Lossy{}},
	{"xml", "xml", arrow.BinaryTypes.String, []string{`"<a>é</a>"`}, []string{"<a>é</a>"}, bulkload.Lossy{}},
	{"text", "text", arrow.BinaryTypes.String, []string{`"é"`, `""`}, []string{"é", ""}, bulkload.Lossy{}},
	{"ntext", "ntext", arrow.BinaryTypes.String, []string{`"名前"`}, []string{"名前"}, bulkload.Lossy{}},
	{"image", "image", arrow.BinaryTypes.Binary, []string{`"3q0="`}, []string{"0xDEAD"}, bulkload.Lossy{}},
}

// shown is the expression that gives a column as text without loss.
func shown(column string) string {
	switch name, _, _ := strings.Cut(column, "("); {
	case name == "datetime" || name == "smalldatetime" || name == "datetime2" || name == "datetimeoffset":
		return "CONVERT(nvarchar(60), v, 126)"
	case name == "float" || name == "real":
		return "v"
	case name == "binary" || strings.HasPrefix(column, "varbinary") || name == "image":
		return "CONVERT(varchar(max), CAST(v AS varbinary(max)), 1)"
	case strings.HasPrefix(name, "money") || name == "smallmoney":
		return "CONVERT(nvarchar(60), v, 2)"
	}
	return "CONVERT(nvarchar(max), v)"
}

func TestEveryTypeAndEdge(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			srv := mssqltest.Start(t, mssqltest.Config{Encryption: way.encryption})
			conn := open(t, srv, way.encryption, way.mode)
			for _, tt := range slices.Concat(typeCases, parsedCases) {
				t.Run(tt.name, func(t *testing.T) {
					mem := checked(t)
					exec(t, srv, "IF OBJECT_ID('dbo.v') IS NOT NULL DROP TABLE dbo.v; CREATE TABLE dbo.v (id int NOT NULL, v "+tt.column+" NULL)")
					rec := batch(t, mem, tt.field, append(slices.Clone(tt.values), "null"))
					defer rec.Release()
					res, err := load(t, conn, "v", rec, bulkload.Options{Lossy: tt.lossy})
					if err != nil {
						t.Fatalf("Load: %v", err)
					}
					compare(t, conn, tt.column, tt.want, res)
				})
			}
		})
	}
}

// batch makes a record batch of id and v.
func batch(t testing.TB, mem *memoryChecked, dt arrow.DataType, values []string) arrow.RecordBatch {
	t.Helper()
	ids := array.NewInt32Builder(mem)
	defer ids.Release()
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	for i, v := range values {
		ids.Append(int32(i))
		text := "[" + v + "]"
		// Decimals are read from text, so that nothing is rounded on the way.
		if _, ok := dt.(arrow.DecimalType); ok && v != "null" {
			text = `["` + v + `"]`
		}
		if appendExact(b, v) {
			continue
		}
		if err := b.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatalf("value %s of %s: %v", v, dt, err)
		}
	}
	idArr, arr := ids.NewArray(), b.NewArray()
	defer idArr.Release()
	defer arr.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "v", Type: dt, Nullable: true}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{idArr, arr}, int64(len(values)))
}
