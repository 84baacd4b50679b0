package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

// keyTypes are types of keys with values in no order. Values that a collation
// takes for equal are not in one list.
var keyTypes = []struct{ decl, values string }{
	{"bit", "1, 0"},
	{"tinyint", "255, 0, 7"},
	{"smallint", "-32768, 32767, 0, 5"},
	{"int", "-2147483648, 2147483647, 0, 5"},
	{"bigint", "-9223372036854775808, 9223372036854775807, 9007199254740993, 9007199254740992, 0"},
	{"decimal(38,0)", "99999999999999999999999999999999999999, -99999999999999999999999999999999999999, 0, 1"},
	{"decimal(38,38)", "0.00000000000000000000000000000000000001, -0.5, 0, 0.99999999999999999999999999999999999999"},
	{"numeric(10,2)", "1.50, 1.5 + 0.01, -0.05, 0"},
	{"money", "922337203685477.5807, -922337203685477.5808, 0, 0.0001, 1.5"},
	{"smallmoney", "-214748.3648, 214748.3647, 0.0001, 0"},
	{"real", "0.1, -3.4E38, 3.4E38, 1E-37, 0"},
	{"float", "0.1, 1.7976931348623157E308, -1.7976931348623157E308, 2.5E-300, 0.30000000000000004"},
	{"date", "'0001-01-01', '9999-12-31', '2024-02-29', '1582-10-10'"},
	{"time(7)", "'23:59:59.9999999', '00:00:00', '12:00:00.0000001'"},
	{"time(0)", "'23:59:59', '00:00:00'"},
	{"datetime", "'1753-01-01', '9999-12-31T23:59:59.997', '2024-02-29T23:59:59.993', '2024-02-29T23:59:59.990', '2024-02-29T23:59:59.997'"},
	{"smalldatetime", "'1900-01-01', '2079-06-06T23:59', '2024-02-29T12:34'"},
	{"datetime2(7)", "'0001-01-01', '9999-12-31T23:59:59.9999999', '2024-02-29T23:59:59.1234567', '2024-02-29T23:59:59.1234568'"},
	{"datetime2(3)", "'0001-01-01T00:00:00.001', '2024-02-29T23:59:59.123'"},
	{"datetimeoffset(7)", "'2024-02-29T23:59:59.1234567+14:00', '2024-02-29T23:59:59.1234567-14:00', '0001-01-02T00:00:00+00:00', '9999-12-31T00:00:00-05:30'"},
	{"uniqueidentifier", "'01234567-89AB-CDEF-0123-456789ABCDEF', '00000000-0000-0000-0000-000000000001', 'FF000000-0000-0000-0000-000000000000', '00000000-0000-0000-FF00-000000000000', NEWID()"},
	{"binary(4)", "0x00, 0xFF, 0x00FF, 0x80000000, 0x7FFFFFFF"},
	{"varbinary(20)", "0x, 0x01, 0x0102, 0xFF, 0x7F"},
	{"hierarchyid", "'/', '/1/', '/1/2/', '/2/', '/10/'"},

	{"varchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS", "'co-op', 'coop', 'co op', 'CO-OP2', 'é', 'e', 'f', '', '-', 'a-', 'a', 'ab', '€', '''', N'zz'"},
	{"varchar(20) COLLATE SQL_Latin1_General_CP1_CS_AS", "'a', 'A', 'b', 'B', 'a-b', 'ab', 'aB'"},
	{"varchar(20) COLLATE Latin1_General_CI_AS", "'co-op', 'coop', 'co op', 'é', 'e', 'f', '', '-', 'a-', 'a', 'ab', 'ß', 'ssa'"},
	{"varchar(20) COLLATE Latin1_General_CS_AI", "'a', 'A', 'b', 'B', 'a-b', 'ab'"},
	{"varchar(20) COLLATE Latin1_General_BIN2", "'a', 'A', 'b', 'B', 'a-b', 'é', '€'"},
	{"varchar(20) COLLATE Japanese_CI_AS", "N'表', N'ソ', N'十', N'a', N'ア', N'漢字'"},
	{"varchar(20) COLLATE Chinese_PRC_CI_AS", "N'中', N'文', N'a', N'一'"},
	{"varchar(20) COLLATE Cyrillic_General_CI_AS", "N'я', N'а', N'z', N'ё'"},
	{"varchar(20) COLLATE Polish_CI_AS", "N'ł', N'l', N'm', N'ż', N'z'"},
	{"varchar(20) COLLATE Turkish_CI_AS", "N'ı', N'i', N'j', N'h', N'ç'"},
	{"varchar(40) COLLATE Latin1_General_100_CI_AS_SC_UTF8", "N'😀', N'é', N'表', N'a', N'\uFFFD'"},
	{"char(5)", "'ab', 'a', '', 'abc', 'a-b'"},
	{"nchar(5)", "N'ab', N'a', N'', N'表'"},
	{"nvarchar(20)", "N'co-op', N'coop', N'é', N'e', N'表', N'', N'a', N'\uFFFD'"},
	{"nvarchar(20) COLLATE Latin1_General_BIN2", "N'😀', N'a', N'A', N'表', NCHAR(55357), NCHAR(56832), N'\uFFFD'"},
	{"nvarchar(20) COLLATE Latin1_General_100_CI_AS_SC", "N'😀', N'a', N'B', N'表'"},
	{"sysname", "N'x', N'y', N'a b'"},
}

// TestChunksGoByEveryTypeOfKey reads tables chunk by chunk and page by page, and
// compares rows and order with the server's own.
func TestChunksGoByEveryTypeOfKey(t *testing.T) {
	var script []string
	for i, tt := range keyTypes {
		table := fmt.Sprintf("k%d", i)
		script = append(script, fmt.Sprintf("CREATE TABLE dbo.%s (k %s NOT NULL PRIMARY KEY, n int IDENTITY)", table, tt.decl), fmt.Sprintf(enable, table))
		for _, v := range strings.Split(tt.values, ", ") {
			script = append(script, fmt.Sprintf("INSERT dbo.%s (k) VALUES (%s)", table, v))
		}
	}
	l := newLab(t, mssqltest.Config{}, snapshotOn, strings.Join(script, "\n"))
	for i, tt := range keyTypes {
		t.Run(tt.decl, func(t *testing.T) {
			table := fmt.Sprintf("k%d", i)
			r := l.reader("dbo_"+table, snapshot.Options{ReplaceInvalidText: true})
			var want []string
			for _, row := range l.query("SELECT n FROM dbo." + table + " ORDER BY k") {
				want = append(want, row[0])
			}
			for _, n := range []int{1, 3} {
				l.Control().RecordStatements(true)
				got := ids(t, l.all(r, n, snapshot.Limits{Rows: 2}))
				diff(t, got, want)
				for _, s := range l.Control().Statements() {
					if s.RowsExamined > max(s.RowsReturned, int64(min(n, len(want))))+1 {
						t.Errorf("%d rows examined for %d in chunks of %d: %s", s.RowsExamined, s.RowsReturned, n, s.Text)
					}
				}
			}
		})
	}
	l.quiet()
}

// ids takes the column n out of bodies.
func ids(t *testing.T, bodies []string) (out []string) {
	t.Helper()
	for _, b := range bodies {
		_, rest, ok := strings.Cut(b, `"n":`)
		if !ok {
			t.Fatalf("no n in %s", b)
		}
		out = append(out, strings.TrimRight(strings.SplitN(rest, ",", 2)[0], "}"))
	}
	return out
}
