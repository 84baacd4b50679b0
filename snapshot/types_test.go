package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

// everyType has a column of each type with its edge values; one row is written for
// each place in the lists.
var everyType = []struct {
	decl     string
	literals []string
}{
	{"bit", []string{"0", "1"}},
	{"tinyint", []string{"0", "255"}},
	{"smallint", []string{"-32768", "32767"}},
	{"int", []string{"-2147483648", "2147483647"}},
	{"bigint", []string{"9007199254740993", "-9223372036854775808", "9223372036854775807"}},
	{"real", []string{"0.1", "-3.4028235E38", "1.401298E-45", "0"}},
	{"float", []string{"0.1", "1.7976931348623157E308", "-4.9E-324", "1E21"}},
	{"decimal(38,0)", []string{strings.Repeat("9", 38), "-" + strings.Repeat("9", 38)}},
	{"decimal(38,38)", []string{"0." + strings.Repeat("0", 37) + "1", "-0." + strings.Repeat("9", 38), "0"}},
	{"numeric(10,4)", []string{"1.5", "-0.0001"}},
	{"money", []string{"922337203685477.5807", "-922337203685477.5808", "1.5"}},
	{"smallmoney", []string{"-214748.3648", "214748.3647"}},
	{"date", []string{"'0001-01-01'", "'9999-12-31'", "'1582-10-10'"}},
	{"time(7)", []string{"'23:59:59.9999999'", "'00:00:00'"}},
	{"time(0)", []string{"'23:59:59'"}},
	{"datetime2(7)", []string{"'0001-01-01'", "'9999-12-31T23:59:59.9999999'", "'1582-10-10'", "'2024-02-29T23:59:59.1234567'"}},
	{"datetime2(0)", []string{"'0001-01-01'", "'9999-12-31T23:59:59'"}},
	{"datetime", []string{"'1753-01-01'", "'9999-12-31T23:59:59.997'", "'2024-02-29T12:00:00.003'"}},
	{"smalldatetime", []string{"'1900-01-01'", "'2079-06-06T23:59'"}},
	{"datetimeoffset(7)", []string{"'0001-01-02T00:00:00-14:00'", "'9999-12-30T23:59:59.9999999+14:00'", "'2026-03-01T12:00:00.1234567+05:30'"}},
	{"datetimeoffset(0)", []string{"'2026-03-01T12:00:00-00:30'"}},
	{"char(5)", []string{"'ab'", "''", "'é€'"}},
	{"varchar(20)", []string{"'é€'", "''", "' '", "CHAR(129) + 'x'"}},
	{"varchar(20) COLLATE Japanese_CI_AS", []string{"N'表ソ十'"}},
	{"varchar(20) COLLATE Chinese_PRC_CI_AS", []string{"N'中文'"}},
	{"varchar(20) COLLATE Cyrillic_General_CI_AS", []string{"N'яё'"}},
	{"varchar(20) COLLATE Turkish_CI_AS", []string{"N'ıİş'"}},
	{"varchar(20) COLLATE Latin1_General_100_CI_AS_SC_UTF8", []string{"N'😀é'"}},
	{"char(8) COLLATE Latin1_General_100_CI_AS_SC_UTF8", []string{"N'é'"}},
	{"varchar(max)", []string{"REPLICATE(CAST('é' AS varchar(max)), 9000)", "''"}},
	{"nchar(3)", []string{"N'名'", "N''"}},
	{"nvarchar(20)", []string{"N'😀é'", "N''", "N'\uFFFD'", "N'\"\\' + NCHAR(0) + NCHAR(31)"}},
	{"nvarchar(max)", []string{"REPLICATE(CAST(N'😀' AS nvarchar(max)), 5000)"}},
	{"sysname NULL", []string{"N'name'"}},
	{"text", []string{"'text é'"}},
	{"ntext", []string{"N'ntext 名'"}},
	{"image", []string{"0x00FF"}},
	{"binary(3)", []string{"0x0102", "0x"}},
	{"varbinary(20)", []string{"0x", "0xFF00"}},
	{"varbinary(max)", []string{"0xFFFE", "CONVERT(varbinary(max), REPLICATE(CAST('x' AS varchar(max)), 9000))"}},
	{"uniqueidentifier", []string{"'01234567-89AB-CDEF-0123-456789ABCDEF'"}},
	{"xml", []string{"N'<a>é&amp;</a>'", "N'<?xml version=\"1.0\"?><b/>'"}},
	{"sql_variant", []string{"CAST(1.50 AS decimal(5,2))", "N'é\uFFFD'", "CAST(7 AS int)", "CAST('2024-02-29T23:59:59.1234567' AS datetime2(7))", "0x01", "CAST('é' AS varchar(5))", "CAST('01234567-89AB-CDEF-0123-456789ABCDEF' AS uniqueidentifier)"}},
	{"hierarchyid", []string{"'/1/2/'", "'/'"}},
	{"decimal(9,2) SPARSE", []string{"1.25"}},
}

// TestSnapshotAndStreamGiveTheSameText compares the messages of a row that was
// there with those of the same row when it is inserted.
func TestSnapshotAndStreamGiveTheSameText(t *testing.T) {
	var columns, names []string
	rows := 0
	for i, tt := range everyType {
		columns = append(columns, fmt.Sprintf("c%d %s", i, tt.decl))
		names = append(names, fmt.Sprintf("c%d", i))
		rows = max(rows, len(tt.literals))
	}
	for _, keyless := range []bool{false, true} {
		t.Run(fmt.Sprintf("keyless %v", keyless), func(t *testing.T) {
			id := "id int NOT NULL PRIMARY KEY"
			if keyless {
				id = "id int NOT NULL"
			}
			l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.ty ("+id+", computed AS (id * 2), rv rowversion, [from] int IDENTITY, "+strings.Join(columns, ", ")+")", fmt.Sprintf(enable, "ty"))
			for row := range rows + 1 {
				values := []string{fmt.Sprint(row)}
				for _, tt := range everyType {
					v := "NULL"
					if row < len(tt.literals) {
						v = tt.literals[row]
					}
					values = append(values, v)
				}
				l.exec("INSERT dbo.ty (id, " + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")")
			}
			l.scan()
			r := l.reader("dbo_ty", snapshot.Options{})
			var got []string
			if keyless {
				got, _ = l.pass(r, nil, snapshot.Limits{}, nil)
			} else {
				got = l.all(r, 3, snapshot.Limits{})
			}
			c, err := changetable.Open(t.Context(), l.conn, "dbo_ty", changetable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			start, err := c.Earliest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, c := range l.changes("dbo_ty", start) {
				want = append(want, c.body)
			}
			diff(t, got, want)
			if len(want) != rows+1 {
				t.Errorf("%d rows", len(want))
			}
			stream := c.Schema()
			for i, f := range r.Schema().Fields() {
				if other := stream.Field(i); !f.Equal(other) {
					t.Errorf("column %d is %v in the snapshot and %v in the stream", i, f, other)
				}
			}
			if r.Schema().NumFields() != c.Captured() {
				t.Errorf("%d columns, %d are captured", r.Schema().NumFields(), c.Captured())
			}
			if fmt.Sprint(r.Key()) != fmt.Sprint(c.Key()) {
				t.Errorf("key %v in the snapshot and %v in the stream", r.Key(), c.Key())
			}
		})
	}
}

// TestSnapshotAndStreamHaveTheSameColumns of a list that was captured, one of
// which is gone.
func TestSnapshotAndStreamHaveTheSameColumns(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.c (a int NOT NULL, b int, gone sql_variant, c nvarchar(5), d int NOT NULL UNIQUE)",
		"EXEC sys.sp_cdc_enable_table N'dbo', N'c', @role_name = NULL, @captured_column_list = N'c, a, gone'",
		"ALTER TABLE dbo.c DROP COLUMN gone; ALTER TABLE dbo.c ADD e int")
	l.exec("INSERT dbo.c (a, b, c, d) VALUES (1, 2, N'x', 3), (4, 5, N'y', 2)")
	l.scan()
	r := l.reader("dbo_c", snapshot.Options{})
	c, err := changetable.Open(t.Context(), l.conn, "dbo_c", changetable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start, err := c.Earliest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range l.changes("dbo_c", start) {
		want = append(want, c.body)
	}
	want[0], want[1] = want[1], want[0] // chunks go by d
	diff(t, l.all(r, 1, snapshot.Limits{}), want)
	if len(r.Key()) > 0 || r.Keyless() {
		t.Errorf("key %v, keyless %v: the key is there, and is not captured", r.Key(), r.Keyless())
	}
}

// TestExactText reads what the driver cannot tell again, by the row's key.
func TestExactText(t *testing.T) {
	t.Setenv(session.RawEnv, "off")
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.x (k nvarchar(5) COLLATE Latin1_General_BIN2 NOT NULL, n int NOT NULL, v nvarchar(10), w sql_variant, PRIMARY KEY (k, n))", fmt.Sprintf(enable, "x"))
	l.exec("INSERT dbo.x VALUES (NCHAR(65533), 1, N'a\uFFFD', N'\uFFFD'), (N'b', 2, N'ok', 5), (N'c', 3, N'\uFFFD', NULL)")
	r := l.reader("dbo_x", snapshot.Options{})
	diff(t, l.all(r, 2, snapshot.Limits{}), []string{
		`{"k":"b","n":2,"v":"ok","w":{"type":"int","value":5}}`,
		"{\"k\":\"c\",\"n\":3,\"v\":\"\uFFFD\",\"w\":null}",
		"{\"k\":\"\uFFFD\",\"n\":1,\"v\":\"a\uFFFD\",\"w\":{\"type\":\"nvarchar\",\"value\":\"\uFFFD\"}}",
	})
	// The row is gone when its text is read: the page is read again.
	remove := l.Control().Between("SELECT TOP (@n)", "varbinary(max)", func(mssqltest.Event) { l.exec("DELETE dbo.x WHERE n = 3") })
	defer remove()
	got := l.chunk(r, snapshot.Key{}, snapshot.Key{}, l.handover(r).LSN, snapshot.Limits{})
	if len(got) != 2 {
		t.Errorf("rows %v", got)
	}
	l.exec("INSERT dbo.x VALUES (N'd', 4, N'😀' + NCHAR(56832), NULL)")
	_, err := r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, l.handover(r).LSN, snapshot.Limits{})
	if !as[*snapshot.ValueError](err) || !strings.Contains(err.Error(), "dbo.x: column v (nvarchar(10)): code unit 2 is the lone surrogate U+DE00") {
		t.Errorf("a lone surrogate: %v", err)
	}
	if _, ok := session.Number(err); ok {
		t.Error("it is not the server's error")
	}
	l.quiet()
}
