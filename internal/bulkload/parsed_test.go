package bulkload_test

import (
	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/bulkload"
)

// parsedCases are texts for columns of other kinds, which are read as the texts of JSON messages are.
var parsedCases = []typeCase{
	{"text to bit", "bit", arrow.BinaryTypes.String, []string{`"true"`, `"0"`, `"yes"`}, []string{"1", "0", `!"yes" is neither true nor false`}, bulkload.Lossy{}},
	{"text to tinyint", "tinyint", arrow.BinaryTypes.String, []string{`"255"`, `"256"`, `""`, `" 1"`}, []string{"255", "!256 is outside", "!is not a number", "!is not a number"}, bulkload.Lossy{}},
	{"text to smallint", "smallint", arrow.BinaryTypes.LargeString, []string{`"-32768"`, `"32768"`}, []string{"-32768", "!outside"}, bulkload.Lossy{}},
	{"text to int", "int", arrow.BinaryTypes.StringView, []string{`"-2147483648"`, `"1e3"`, `"1.5"`, `"a"`}, []string{"-2147483648", "1000", "!digits", `!"a" is not a number`}, bulkload.Lossy{}},
	{"text to int rounded", "int", arrow.BinaryTypes.String, []string{`"1.5"`, `"NaN"`}, []string{"2", "!is not finite"}, bulkload.Lossy{Number: true}},
	{"text to bigint", "bigint", arrow.BinaryTypes.String, []string{`"-9223372036854775808"`, `"9223372036854775808"`}, []string{"-9223372036854775808", "!outside"}, bulkload.Lossy{}},
	{"text to real", "real", arrow.BinaryTypes.String, []string{`"0.5"`, `"1e39"`}, []string{"0.5", "!outside"}, bulkload.Lossy{}},
	{"text to float", "float", arrow.BinaryTypes.String, []string{`"-1.25e-3"`, `"Infinity"`, `"1e999"`}, []string{"-0.00125", "!is not finite", "!outside"}, bulkload.Lossy{}},
	{"text to float, NaN is NULL", "float", arrow.BinaryTypes.String, []string{`"NaN"`}, []string{"NULL"}, bulkload.Lossy{NaN: true}},
	{"text to decimal", "decimal(38,4)", arrow.BinaryTypes.String, []string{`"-1234567890123456789012345678901234.5678"`, `"+.5"`, `"0.00001"`}, []string{"-1234567890123456789012345678901234.5678", "0.5000", "!more than 4 digits"}, bulkload.Lossy{}},
	{"text to numeric rounded", "numeric(5,2)", arrow.BinaryTypes.String, []string{`"-0.005"`, `"999.994"`, `"999.995"`}, []string{"-0.01", "999.99", "!outside"}, bulkload.Lossy{Number: true}},
	{"text to money", "money", arrow.BinaryTypes.String, []string{`"-922337203685477.5808"`, `"0.00001"`}, []string{"-922337203685477.5808", "!digits"}, bulkload.Lossy{}},
	{"text to smallmoney", "smallmoney", arrow.BinaryTypes.String, []string{`"214748.3647"`, `"214748.3648"`}, []string{"214748.3647", "!outside"}, bulkload.Lossy{}},
	{"text to date", "date", arrow.BinaryTypes.String, []string{`"2024-02-29"`, `"0001-01-01"`, `"9999-12-31"`, `"2023-02-29"`, `"2024-02-29T00:00:00Z"`, `"2024-02-29T00:00:01"`}, []string{"2024-02-29", "0001-01-01", "9999-12-31", "!is not a date", "2024-02-29", "!time would be lost"}, bulkload.Lossy{}},
	{"text to time", "time(3)", arrow.BinaryTypes.String, []string{`"23:59:59.999"`, `"23:59:59.9999"`, `"24:00:00"`, `"2024-02-29"`}, []string{"23:59:59.999", "!lost", "!is not a date or time", "!a date does not fit"}, bulkload.Lossy{}},
	{"text to datetime2", "datetime2(7)", arrow.BinaryTypes.String, []string{`"2024-02-29T12:00:00.1234567"`, `"2024-02-29 23:00:00-02:00"`, `"0001-01-01T00:00:00+01:00"`}, []string{"2024-02-29T12:00:00.1234567", "2024-03-01T01:00:00", "!outside of the range"}, bulkload.Lossy{}},
	{"text to datetime2 rounded", "datetime2(0)", arrow.BinaryTypes.String, []string{`"2023-12-31T23:59:59.5"`, `"9999-12-31T23:59:59.5"`}, []string{"2024-01-01T00:00:00", "!outside"}, bulkload.Lossy{Time: true}},
	{"text to datetime", "datetime", arrow.BinaryTypes.String, []string{`"2024-02-29T12:00:00.003"`, `"2024-02-29T12:00:00.001"`, `"1752-12-31"`}, []string{"2024-02-29T12:00:00.003", "!lost", "!outside"}, bulkload.Lossy{}},
	{"text to smalldatetime", "smalldatetime", arrow.BinaryTypes.String, []string{`"2024-02-29T12:34:00"`, `"2024-02-29T12:34:30"`, `"1899-12-31"`}, []string{"2024-02-29T12:34:00", "!lost", "!outside"}, bulkload.Lossy{}},
	{"text to datetimeoffset", "datetimeoffset(7)", arrow.BinaryTypes.String, []string{`"2024-02-29T12:00:00.1234567+05:30"`, `"2024-02-29T12:00:00"`, `"2024-02-29T12:00:00+14:01"`}, []string{"2024-02-29T12:00:00.1234567+05:30", "2024-02-29T12:00:00+00:00", "!is not a date or time"}, bulkload.Lossy{}},
	{"text to varbinary", "varbinary(2)", arrow.BinaryTypes.String, []string{`"3q0="`, `""`, `"3q2+"`, `"0xDEAD"`}, []string{"0xDEAD", "0x", "!3 bytes are longer", "!is not base64"}, bulkload.Lossy{}},
	{"text to image", "image", arrow.BinaryTypes.String, []string{`"3q0="`}, []string{"0xDEAD"}, bulkload.Lossy{}},
	{"dictionary of text to int", "int", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, []string{`"1"`, `"x"`, `"1"`}, []string{"1", "!is not a number", "1"}, bulkload.Lossy{}},
}
