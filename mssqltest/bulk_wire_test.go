package mssqltest_test

import (
	"testing"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

// bulkBody is COLMETADATA and rows of (int, datetime2 as varchar(26)), and a DONE of n bytes.
func bulkBody(done int, rows ...[][]byte) []byte {
	cols := []tds.ColumnMeta{
		{Flags: tds.ColumnUpdatable, Info: tds.Nullable(tds.TypeIntN, 4), Name: "id"},
		{Flags: tds.ColumnNullable, Info: tds.CharType(tds.TypeBigVarChar, 26, tds.DefaultCollation), Name: "at"},
	}
	meta := tds.ColMetaData{Columns: cols}
	b := meta.AppendBulk(nil)
	for _, r := range rows {
		b = tds.AppendRow(b, cols, r)
	}
	if done >= 0 {
		b = append(append(b, byte(tds.TokenDone)), make([]byte, done)...)
	}
	return b
}

func row(id int64, at string) [][]byte { return [][]byte{tds.AppendInt(nil, id, 4), []byte(at)} }

func TestBulkLoadOnTheWire(t *testing.T) {
	const accepted = "done 0x0 0"
	good := [][][]byte{row(1, "2024-02-29 12:34:56.123456"), row(2, "2024-03-01")}
	for _, tc := range []struct {
		name, rows string
		m          []byte
		want       string
	}{
		{"DONE of 12 bytes", "2", message(tds.PacketBulkLoad, bulkBody(12, good...)), "done 0x10 2"},
		{"DONE of 8 bytes", "2", message(tds.PacketBulkLoad, bulkBody(8, good...)), "done 0x10 2"},
		{"DONE left out", "2", message(tds.PacketBulkLoad, bulkBody(-1, good...)), "done 0x10 2"},
		{"no rows", "0", message(tds.PacketBulkLoad, bulkBody(12)), "done 0x10 0"},
		{"value that does not convert", "0", message(tds.PacketBulkLoad, bulkBody(12, row(1, "2024-02-30"))), "error 241, done 0x2 0"},
		{"duplicate key", "0", message(tds.PacketBulkLoad, bulkBody(12, row(1, "2024-01-01"), row(1, "2024-01-01"))), "error 2627, done 0x2 0"},
		{"cell of a wrong length", "0", message(tds.PacketBulkLoad, append(bulkBody(-1), byte(tds.TokenRow), 3, 1, 0, 0)), "error 4815, done 0x2 0"},
		{"withdrawn", "0", withdrawn(bulkBody(12, good...)), "done 0x2 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := mssqltest.Start(t, mssqltest.Config{})
			execScript(t, s, "CREATE TABLE dbo.b (id int NOT NULL PRIMARY KEY, at datetime2(7) NULL)")
			c := dialRaw(t, s)
			if got := tokens(t, c.ask(t, batchMessage("insert bulk dbo.b([id] int,[at] varchar(26) COLLATE Latin1_General_CI_AS)with(TABLOCK)"))); got != accepted {
				t.Fatalf("INSERT BULK gave %q, want %q", got, accepted)
			}
			if got := tokens(t, c.ask(t, tc.m)); got != tc.want {
				t.Errorf("answer %q, want %q", got, tc.want)
			}
			if got := tokens(t, c.ask(t, batchMessage("SELECT 1"))); got != "colmetadata, row, done 0x10 1" {
				t.Errorf("the next batch gave %q", got)
			}
			if got := query(t, s, "SELECT COUNT(*) FROM dbo.b"); got[0] != tc.rows {
				t.Errorf("%s rows, want %s", got[0], tc.rows)
			}
		})
	}
}

// withdrawn is a message whose last packet says that it is to be ignored.
func withdrawn(body []byte) []byte {
	h := tds.Header{Type: tds.PacketBulkLoad, Length: uint16(tds.HeaderSize + len(body)), ID: 1}
	b := append(h.Append(nil), body...)
	h = tds.Header{Type: tds.PacketBulkLoad, Status: tds.StatusEOM | tds.StatusIgnore, Length: tds.HeaderSize, ID: 2}
	return h.Append(b)
}

func TestBulkRowsWithoutInsertBulk(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	c := dialRaw(t, s)
	if got := tokens(t, c.ask(t, message(tds.PacketBulkLoad, bulkBody(12, row(1, ""))))); got != "error 4891, done 0x2 0" {
		t.Errorf("rows out of nowhere gave %q", got)
	}
	if got := tokens(t, c.ask(t, batchMessage("INSERT BULK dbo.nowhere ([id] int)"))); got != "error 208, done 0x2 0" {
		t.Errorf("an unknown table gave %q", got)
	}
}
