package mssqlcdc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/schema"

	"example.com/mssqlcdc/mssqltest"
)

// cdcTypeCase is a column with a value, what its body has, and what the schema says of the column.
type cdcTypeCase struct {
	typ, value, want, common string
}

// cdcTypes are all types with the values that have gone wrong in public (issue numbers of other projects are in the comments).
var cdcTypes = []cdcTypeCase{
	{"bit", "0", `false`, "BOOLEAN"}, {"bit", "1", `true`, "BOOLEAN"},
	{"tinyint", "255", `255`, "INT32"},
	{"smallint", "-32768", `-32768`, "INT32"},
	{"int", "-2147483648", `-2147483648`, "INT32"},
	{"bigint", "9007199254740993", `9007199254740993`, "INT64"},
	{"bigint", "9223372036854775807", `9223372036854775807`, "INT64"},
	{"bigint", "-9223372036854775808", `-9223372036854775808`, "INT64"},
	{"real", "0.1", `0.1`, "FLOAT32"}, {"real", "3.4028235E+38", `3.4028235e+38`, "FLOAT32"},
	{"float", "0.1", `0.1`, "FLOAT64"}, {"float", "-1.7976931348623157E+308", `-1.7976931348623157e+308`, "FLOAT64"}, {"float", "1E0", `1`, "FLOAT64"},
	{"decimal(10,2)", "1.5", `"1.50"`, "DECIMAL(10,2)"},
	{"decimal(38,0)", "99999999999999999999999999999999999999", `"99999999999999999999999999999999999999"`, "DECIMAL(38,0)"},
	{"decimal(38,38)", "0.00000000000000000000000000000000000001", `"0.00000000000000000000000000000000000001"`, "DECIMAL(38,38)"},
	{"numeric(5,5)", "-0.00001", `"-0.00001"`, "DECIMAL(5,5)"}, {"numeric(9,0)", "-0", `"0"`, "DECIMAL(9,0)"},
	{"money", "922337203685477.5807", `"922337203685477.5807"`, "DECIMAL(19,4)"}, // risingwave#21829
	{"money", "-922337203685477.5808", `"-922337203685477.5808"`, "DECIMAL(19,4)"},
	{"smallmoney", "-214748.3648", `"-214748.3648"`, "DECIMAL(10,4)"}, {"smallmoney", "0.1", `"0.1000"`, "DECIMAL(10,4)"},
	{"date", "'0001-01-01'", `"0001-01-01"`, "DATE"}, {"date", "'9999-12-31'", `"9999-12-31"`, "DATE"},
	{"datetime2(7)", "'0001-01-01'", `"0001-01-01T00:00:00.0000000"`, "TIMESTAMP(NANOS)"},
	{"datetime2(7)", "'1582-10-10'", `"1582-10-10T00:00:00.0000000"`, "TIMESTAMP(NANOS)"},
	{"datetime2(7)", "'2024-02-29T23:59:59.1234567'", `"2024-02-29T23:59:59.1234567"`, "TIMESTAMP(NANOS)"},
	{"datetime2(7)", "'9999-12-31T23:59:59.9999999'", `"9999-12-31T23:59:59.9999999"`, "TIMESTAMP(NANOS)"},
	{"datetime2(3)", "'2024-01-02T03:04:05.120'", `"2024-01-02T03:04:05.120"`, "TIMESTAMP(MILLIS)"},
	{"datetime2(5)", "'2024-01-02T03:04:05.12'", `"2024-01-02T03:04:05.12000"`, "TIMESTAMP(MICROS)"},
	{"datetime2(0)", "'2024-01-02T03:04:05'", `"2024-01-02T03:04:05"`, "TIMESTAMP(MILLIS)"},
	{"datetime", "'1753-01-01'", `"1753-01-01T00:00:00.000"`, "TIMESTAMP(MILLIS)"},
	{"datetime", "'9999-12-31T23:59:59.997'", `"9999-12-31T23:59:59.997"`, "TIMESTAMP(MILLIS)"},
	{"smalldatetime", "'2079-06-06T23:59:00'", `"2079-06-06T23:59:00"`, "TIMESTAMP(MILLIS)"},
	{"datetimeoffset(7)", "'2024-02-29T23:59:59.1234567+09:00'", `"2024-02-29T23:59:59.1234567+09:00"`, "TIMESTAMP(NANOS,UTC)"},
	{"datetimeoffset(0)", "'2024-01-02T03:04:05-03:30'", `"2024-01-02T03:04:05-03:30"`, "TIMESTAMP(MILLIS,UTC)"},
	{"datetimeoffset(3)", "'0001-01-01T14:00:00+14:00'", `"0001-01-01T14:00:00.000+14:00"`, "TIMESTAMP(MILLIS,UTC)"},
	{"time(7)", "'23:59:59.9999999'", `"23:59:59.9999999"`, "TIME_OF_DAY(NANOS)"}, {"time(0)", "'00:00:00'", `"00:00:00"`, "TIME_OF_DAY(MILLIS)"},
	{"uniqueidentifier", "'01234567-89AB-CDEF-0123-456789ABCDEF'", `"01234567-89AB-CDEF-0123-456789ABCDEF"`, "UUID"},
	{"sql_variant", "CONVERT(int, 1)", `{"type":"int","value":1}`, "ANY"},
	{"sql_variant", "N'é'", `{"type":"nvarchar","value":"é"}`, "ANY"},
	{"sql_variant", "CONVERT(datetime2(7), '2024-02-29T23:59:59.1234567')", `{"type":"datetime2(7)","value":"2024-02-29T23:59:59.1234567"}`, "ANY"},
	{"sql_variant", "CONVERT(decimal(5,2), 1.5)", `{"type":"decimal(5,2)","value":"1.50"}`, "ANY"},
	{"sql_variant", "CONVERT(uniqueidentifier, '01234567-89AB-CDEF-0123-456789ABCDEF')", `{"type":"uniqueidentifier","value":"01234567-89AB-CDEF-0123-456789ABCDEF"}`, "ANY"},
	{"xml", "N'<a>é&amp;</a>'", `"<a>é&amp;</a>"`, "STRING"},
	{"xml", `N'<a b="1">x</a>'`, `"<a b=\"1\">x</a>"`, "STRING"},
	{"varchar(20)", "'é€'", `"é€"`, "STRING"},
	{"varchar(20) COLLATE Japanese_CI_AS", "N'表ソ十'", `"表ソ十"`, "STRING"}, // 0x5C as a second byte
	{"varchar(20) COLLATE Chinese_PRC_CI_AS", "N'你好'", `"你好"`, "STRING"},
	{"varchar(20) COLLATE Cyrillic_General_CI_AS", "N'Ж'", `"Ж"`, "STRING"},
	{"varchar(20) COLLATE Latin1_General_100_CI_AS_SC_UTF8", "N'😀é'", `"😀é"`, "STRING"},
	{"varchar(max)", "'é'", `"é"`, "STRING"}, {"nvarchar(max)", "N'😀'", `"😀"`, "STRING"},
	{"varchar(10)", "''", `""`, "STRING"}, {"varchar(10)", "' '", `" "`, "STRING"}, {"nvarchar(10)", "N''", `""`, "STRING"}, // hugr-lab#39
	{"char(5)", "'ab'", `"ab   "`, "STRING"}, {"nchar(3)", "N'名'", `"名  "`, "STRING"},
	{"nvarchar(20)", `N'<b>&"\' + NCHAR(10)`, `"<b>&\"\\\n"`, "STRING"},
	{"sysname NULL", "N'dbo'", `"dbo"`, "STRING"},
	{"text", "'é'", `"é"`, "STRING"}, {"ntext", "N'名'", `"名"`, "STRING"}, {"image", "0xFF00", `"/wA="`, "BYTE_ARRAY"},
	{"binary(3)", "0x01", `"AQAA"`, "BYTE_ARRAY"}, {"varbinary(10)", "0xDEADBEEF", `"3q2+7w=="`, "BYTE_ARRAY"}, {"varbinary(max)", "0x", `""`, "BYTE_ARRAY"},
	{"hierarchyid", "0x5AC0", `"WsA="`, "BYTE_ARRAY"}, // seatunnel#5601
	{"geometry", "0x00000000010C0000000000000840000000000000F03F", `"AAAAAAEMAAAAAAAACEAAAAAAAADwPw=="`, "BYTE_ARRAY"},
	{"geography", "0xE6100000010C0000000000000840000000000000F03F", `"5hAAAAEMAAAAAAAACEAAAAAAAADwPw=="`, "BYTE_ARRAY"},
	{"int SPARSE", "5", `5`, "INT32"},
	{"dbo.price", "1.25", `"1.250"`, "DECIMAL(9,3)"}, // an alias type
}

// cdcTypeTable makes a table with a column for each case.
func cdcTypeTable(r *cdcRig) {
	r.t.Helper()
	r.sql("CREATE TYPE dbo.price FROM decimal(9,3) NULL")
	var b strings.Builder
	b.WriteString("id int NOT NULL PRIMARY KEY")
	for i, c := range cdcTypes {
		typ := c.typ
		if !strings.HasSuffix(typ, " NULL") {
			typ += " NULL"
		}
		fmt.Fprintf(&b, ", c%d %s", i, typ)
	}
	r.table("ty", b.String())
}

// fields splits an object into its values as they are written, in order.
func fields(t *testing.T, body string) (names []string, values map[string]string) {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &raw); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	values = map[string]string{}
	for name, v := range raw {
		values[name] = string(v)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	_, _ = d.Token()
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(name))
	}
	return names, values
}

// Every type, with the values at its edges, has the same exact text in an insert, both rows of an update, and a delete.
func TestCDCTypes(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		cdcTypeTable(r)
		run := r.start("before_image: message")
		var b strings.Builder
		for _, c := range cdcTypes {
			b.WriteString(", " + c.value)
		}
		r.sql("INSERT dbo.ty VALUES (1" + b.String() + ")")
		var clear, set []string
		for i, c := range cdcTypes {
			clear = append(clear, fmt.Sprintf("c%d = NULL", i))
			set = append(set, fmt.Sprintf("c%d = %s", i, c.value))
		}
		r.sql("UPDATE dbo.ty SET " + strings.Join(clear, ", "))
		r.sql("UPDATE dbo.ty SET " + strings.Join(set, ", "))
		r.sql("DELETE dbo.ty")
		all := run.take(6)
		wantTexts(t, "operations", operations(all), "insert", "update_before", "update_after", "update_before", "update_after", "delete")
		for n, m := range all {
			names, values := fields(t, m.body)
			null := n == 2 || n == 3 // the first update clears the row
			place := 0
			for i, c := range cdcTypes {
				column := fmt.Sprintf("c%d", i)
				got, there := values[column]
				switch op := m.text("operation"); {
				case null && got == "null":
				case !there && (op == "delete" || op == "update_before") && (c.typ == "text" || c.typ == "ntext" || c.typ == "image"):
					continue // not logged
				case null || got != c.want:
					t.Errorf("%s %s: message %d, %s, has %s, want %s", c.typ, c.value, n, op, got, c.want)
				}
				for place < len(names) && names[place] != column {
					place++
				}
				if place == len(names) {
					t.Errorf("column %s of the %s is not in its place", column, m.text("operation"))
				}
			}
		}
	})
}

// The schema describes what the body holds: an object named after the table with the columns in their order. Only sql_variant
// is ANY, which consumers such as parquet_encode refuse.
func TestCDCSchemaOfTypes(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		cdcTypeTable(r)
		run := r.start("")
		r.sql("INSERT dbo.ty (id) VALUES (1)")
		m := run.one()
		root, err := schema.ParseFromAny(m.meta["schema"])
		if err != nil {
			t.Fatal(err)
		}
		if root.Type != schema.Object || root.Name != "ty" || len(root.Children) != len(cdcTypes)+1 {
			t.Fatalf("the root is a %v %q with %d children", root.Type, root.Name, len(root.Children))
		}
		names, _ := fields(t, m.body)
		for i, c := range root.Children {
			want := "INT32"
			if i > 0 {
				want = cdcTypes[i-1].common
			}
			if c.Name != names[i] || !c.Optional {
				t.Errorf("child %d is %s, optional %v; the body has %s there", i, c.Name, c.Optional, names[i])
			}
			if got := commonText(c); got != want {
				t.Errorf("column %s is %s, want %s", c.Name, got, want)
			}
			if c.Type == schema.Any && cdcTypes[i-1].typ != "sql_variant" || c.Type == schema.Union || c.Type == schema.BigDecimal {
				t.Errorf("column %s (%s) is %v, which parquet_encode refuses", c.Name, cdcTypes[i-1].typ, c.Type)
			}
		}
	})
}

// commonText writes a schema's type with its parameters.
func commonText(c schema.Common) string {
	text := c.Type.String()
	l := c.Logical
	switch {
	case l == nil:
	case l.Decimal != nil:
		text += fmt.Sprintf("(%d,%d)", l.Decimal.Precision, l.Decimal.Scale)
	case l.Timestamp != nil && l.Timestamp.AdjustToUTC:
		text += fmt.Sprintf("(%v,UTC)", l.Timestamp.Unit)
	case l.Timestamp != nil:
		text += fmt.Sprintf("(%v)", l.Timestamp.Unit)
	case l.TimeOfDay != nil:
		text += fmt.Sprintf("(%v)", l.TimeOfDay.Unit)
	}
	return text
}
