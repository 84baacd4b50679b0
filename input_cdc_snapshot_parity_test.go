package mssqlcdc

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// parityTypes are values at further edges, beside those of cdcTypes.
var parityTypes = []struct{ typ, value string }{
	{"real", "1.401298E-45"}, {"real", "-0.0E0"}, {"float", "-4.94065645841247E-324"}, {"float", "1E21"}, {"float", "123456789012345680"},
	{"decimal(38,38)", "-0.99999999999999999999999999999999999999"}, {"decimal(38,19)", "-9999999999999999999.9999999999999999999"}, {"numeric(38,0)", "0"},
	{"money", "-0.0001"}, {"smallmoney", "214748.3647"},
	{"time(7)", "'00:00:00.0000001'"}, {"time(3)", "'23:59:59.999'"}, {"time(5)", "'12:00:00.00001'"},
	{"datetime2(7)", "'0001-01-01T00:00:00.0000001'"}, {"datetime2(6)", "'9999-12-31T23:59:59.999999'"}, {"datetime2(1)", "'2024-02-29T23:59:59.9'"},
	{"datetime", "'2024-02-29T23:59:59.003'"}, {"datetime", "'1999-12-31T23:59:59.997'"}, {"smalldatetime", "'1900-01-01'"}, {"date", "'1582-10-10'"},
	{"datetimeoffset(7)", "'0001-01-02T00:00:00.0000001-14:00'"}, {"datetimeoffset(7)", "'9999-12-30T23:59:59.9999999+14:00'"}, {"datetimeoffset(5)", "'2026-03-01T12:00:00.12345-00:30'"},
	{"uniqueidentifier", "'00000000-0000-0000-0000-000000000000'"}, {"uniqueidentifier", "'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'"},
	{"varchar(20) COLLATE Polish_CI_AS", "N'zażółć'"}, {"varchar(20) COLLATE Korean_Wansung_CI_AS", "N'한국어'"}, {"varchar(20) COLLATE Turkish_CI_AS", "N'ıİş'"},
	{"char(8) COLLATE Latin1_General_100_CI_AS_SC_UTF8", "N'é'"}, {"varchar(max) COLLATE Latin1_General_100_CI_AS_SC_UTF8", "REPLICATE(CAST(N'😀é' AS nvarchar(max)), 3000)"},
	{"varchar(max) COLLATE Japanese_CI_AS", "N'表ソ十'"}, {"varchar(20)", "CHAR(128) + CHAR(129) + CHAR(159)"},
	{"nvarchar(20)", "N'\uFFFD' + NCHAR(0) + NCHAR(31) + NCHAR(127) + NCHAR(8232)"}, {"nvarchar(20)", "N'e' + NCHAR(769)"}, {"nvarchar(max)", "REPLICATE(CAST(N'😀' AS nvarchar(max)), 5000)"},
	{"varchar(max)", "REPLICATE(CAST('é' AS varchar(max)), 9000)"}, {"varbinary(max)", "CONVERT(varbinary(max), REPLICATE(CAST('x' AS varchar(max)), 9000))"}, {"binary(1)", "0x00"},
	{"xml", `N'<?xml version="1.0"?><b> x </b>'`}, {"xml", "N''"},
	{"hierarchyid", "0x"}, {"text", "''"}, {"image", "0x"},
	{"sql_variant", "CONVERT(bit, 1)"}, {"sql_variant", "CONVERT(bigint, 9223372036854775807)"}, {"sql_variant", "CONVERT(money, -0.0001)"}, {"sql_variant", "CONVERT(float, 0.1)"},
	{"sql_variant", "CONVERT(real, 0.1)"}, {"sql_variant", "CONVERT(date, '0001-01-01')"}, {"sql_variant", "CONVERT(time(3), '23:59:59.999')"}, {"sql_variant", "CONVERT(datetime, '2024-02-29T23:59:59.997')"},
	{"sql_variant", "CONVERT(datetimeoffset(3), '2024-02-29T23:59:59.123+09:00')"}, {"sql_variant", "0x00FF"}, {"sql_variant", "'é'"}, {"sql_variant", "N'😀'"}, {"sql_variant", "CONVERT(decimal(38,38), 0.1)"},
	{"bigint SPARSE", "-1"},
}

// A row that a snapshot reads has the same text, byte for byte, as the row in the stream: whole, as NULLs, and after an update that left
// its large columns alone. So have its key and its schema.
func TestSnapshotAndStreamAreTheSame(t *testing.T) {
	for _, key := range []string{"int NOT NULL PRIMARY KEY", "int NOT NULL"} {
		t.Run(key, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.sql("ALTER DATABASE testdb SET ALLOW_SNAPSHOT_ISOLATION ON")
				r.sql("CREATE TYPE dbo.price FROM decimal(9,3) NULL")
				types := parityTypes
				for _, c := range cdcTypes {
					types = append(types, struct{ typ, value string }{strings.TrimSuffix(c.typ, " NULL"), c.value})
				}
				columns, values := "id "+key+", n int NULL, rv rowversion", ""
				names := "id, n"
				for i, c := range types {
					columns += fmt.Sprintf(", c%d %s NULL", i, c.typ)
					names += fmt.Sprintf(", c%d", i)
					values += ", " + c.value
				}
				r.table("ty", columns)
				r.sql("INSERT dbo.ty (" + names + ") VALUES (1, 0" + values + ")")
				r.sql("INSERT dbo.ty (id) VALUES (2)")
				r.sql("INSERT dbo.ty (" + names + ") VALUES (3, 0" + values + ")")
				r.sql("UPDATE dbo.ty SET n = 7 WHERE id = 3")
				pass(time.Second)
				snap := r.start("stream_snapshot: true\nmetadata: [capture_instance, database]").take(3)
				stream := r.start("checkpoint_file: " + r.file + ".other\nmetadata: [capture_instance, database]").take(4)
				wantTexts(t, "operations", append(operations(snap), operations(stream)...), "read", "read", "read", "insert", "insert", "insert", "update")
				for i, m := range []*cdcMessage{stream[0], stream[1], stream[3]} {
					want := snap[i].body
					if unchanged, ok := m.meta["unchanged_columns"].([]any); ok {
						want = without(t, want, unchanged)
					} else if i == 2 {
						t.Errorf("the update has no unchanged_columns: %v", m.meta)
					}
					if m.body != want {
						t.Errorf("row %d: %s", i+1, firstDifference(t, want, m.body))
					}
					for _, k := range []string{"key", "schema", "table", "database_schema", "database", "capture_instance"} {
						if !reflect.DeepEqual(m.meta[k], snap[i].meta[k]) {
							t.Errorf("row %d has %s %v in the snapshot and %v in the stream", i+1, k, snap[i].meta[k], m.meta[k])
						}
					}
				}
			})
		})
	}
}

// without takes columns out of a body, as they are written.
func without(t *testing.T, body string, columns []any) string {
	t.Helper()
	names, values := fields(t, body)
	var parts []string
	for _, n := range names {
		out := false
		for _, c := range columns {
			out = out || c == n
		}
		if !out {
			parts = append(parts, fmt.Sprintf("%q:%s", n, values[n]))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// firstDifference names the first column in which two bodies differ.
func firstDifference(t *testing.T, snapshot, stream string) string {
	t.Helper()
	names, a := fields(t, snapshot)
	_, b := fields(t, stream)
	for _, n := range names {
		if a[n] != b[n] {
			return fmt.Sprintf("column %s is %.200s in the snapshot and %.200s in the stream", n, a[n], b[n])
		}
	}
	return "the columns are in another order, or there are others"
}
