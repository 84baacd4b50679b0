package mssqltest_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

// A client that asks for MARS is told that there is none; one that then speaks it all the same is hung up on.
func TestMARSIsRefused(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	c, err := s.DialContext(context.Background(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	raw := &rawClient{Conn: c, rd: tds.NewMessageReader(c, 0)}
	ask := tds.Prelogin{Encryption: tds.EncryptNotSupported, MARS: []byte{1}}
	got, err := tds.ParsePrelogin(raw.ask(t, message(tds.PacketPrelogin, ask.Append(nil))))
	if err != nil || len(got.MARS) != 1 || got.MARS[0] != 0 {
		t.Fatalf("MARS is answered by %x, %v; want 00", got.MARS, err)
	}
	raw.ask(t, login())
	if got := tokens(t, raw.ask(t, batchMessage("SELECT 1"))); got != "colmetadata, row, done 0x10 1" {
		t.Errorf("a client without MARS gets %q", got)
	}
	smp := []byte{0x53, 0x01, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0} // SMP's SYN
	if _, err := c.Write(smp); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Errorf("the connection ended with %v", err)
	}
}

// Each call of a message has its own answer, also after one that failed; only the last has no MORE.
func TestCallsOfOneMessage(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY)")
	c := dialRaw(t, s)
	prepare := tds.RPCCall{ProcID: tds.ProcPrepare, Params: []tds.RPCParam{number(0, tds.ParamByRef), nvarchar("@id int"), nvarchar("INSERT dbo.t VALUES (@id)"), number(1, 0)}}
	if got := tokens(t, c.ask(t, rpcMessage(prepare))); got != "returnstatus, returnvalue, doneproc 0x0 0" {
		t.Fatalf("preparing gave %q", got)
	}
	var calls []tds.RPCCall
	for _, id := range []int32{1, 1, 2} {
		calls = append(calls, tds.RPCCall{ProcID: tds.ProcExecute, Params: []tds.RPCParam{number(1, 0), number(id, 0)}})
	}
	inserted := "doneinproc 0x11 1, returnstatus, doneproc "
	want := inserted + "0x1 0, error 2627, info 3621, doneinproc 0x3 0, returnstatus, doneproc 0x1 0, " + inserted + "0x0 0"
	if got := tokens(t, c.ask(t, rpcMessage(calls...))); got != want {
		t.Errorf("answers\n%q, want\n%q", got, want)
	}
	if got := query(t, s, "SELECT COUNT(*) FROM dbo.t"); got[0] != "2" {
		t.Errorf("%s rows, want 2", got[0])
	}
}

// A commit or rollback that asks for it begins the next transaction in the same answer.
func TestNextTransaction(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	c := dialRaw(t, s)
	ask := func(typ tds.TransMgrType, next bool) string {
		return tokens(t, c.ask(t, message(tds.PacketTransMgr, (&tds.TransMgrRequest{Type: typ, BeginNext: next}).Append(nil))))
	}
	for _, step := range []struct{ got, want string }{
		{ask(tds.TMBegin, false), "envchange 8, done 0x0 0"},
		{ask(tds.TMRollback, true), "envchange 10, envchange 8, done 0x0 0"},
		{ask(tds.TMCommit, true), "envchange 9, envchange 8, done 0x0 0"},
		{ask(tds.TMCommit, false), "envchange 9, done 0x0 0"},
	} {
		if step.got != step.want {
			t.Errorf("got %q, want %q", step.got, step.want)
		}
	}
	if n := s.Control().OpenTransactions(); n != 0 {
		t.Errorf("%d transactions are open", n)
	}
}

// An attention amid the packets of a message takes the message back, and the connection goes on.
func TestAttentionInsideMessage(t *testing.T) {
	for _, tc := range []struct {
		name string
		typ  tds.PacketType
		body []byte
	}{
		{"bulk load", tds.PacketBulkLoad, bulkBody(-1, row(1, "2024-03-01"))},
		{"batch", tds.PacketSQLBatch, (&tds.SQLBatch{Text: "INSERT dbo.b (id) VALUES (1)"}).Append(nil)},
		{"call", tds.PacketRPC, (&tds.RPCRequest{Calls: []tds.RPCCall{{ProcID: tds.ProcExecuteSQL, Params: []tds.RPCParam{nvarchar("INSERT dbo.b (id) VALUES (1)")}}}}).Append(nil)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := mssqltest.Start(t, mssqltest.Config{})
			execScript(t, s, "CREATE TABLE dbo.b (id int NOT NULL PRIMARY KEY, at datetime2(7) NULL)")
			c := dialRaw(t, s)
			if tc.typ == tds.PacketBulkLoad {
				c.ask(t, batchMessage("insert bulk dbo.b([id] int,[at] varchar(26))"))
			}
			begun := tds.Header{Type: tc.typ, Length: uint16(tds.HeaderSize + len(tc.body)), ID: 1}
			if _, err := c.Write(append(begun.Append(nil), tc.body...)); err != nil {
				t.Fatal(err)
			}
			answer := tokens(t, c.ask(t, message(tds.PacketAttention, nil)))
			for !strings.HasSuffix(answer, "done 0x20 0") { // the message's own answer comes first
				if _, err := c.rd.Next(); err != nil {
					t.Fatal(err)
				}
				b, err := c.rd.ReadAll(nil)
				if err != nil {
					t.Fatal(err)
				}
				answer += ", " + tokens(t, b)
			}
			if got := tokens(t, c.ask(t, batchMessage("SELECT 1"))); got != "colmetadata, row, done 0x10 1" {
				t.Errorf("the next batch gave %q", got)
			}
			if got := query(t, s, "SELECT COUNT(*) FROM dbo.b"); got[0] != "0" {
				t.Errorf("%s rows, want none", got[0])
			}
		})
	}
}

// RESETCONNECTION ends a transaction, RESETCONNECTIONSKIPTRAN leaves it; both put the session's settings back and say so.
func TestResetBits(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	for _, tc := range []struct {
		name   string
		status tds.Status
		want   string
	}{{"reset", tds.StatusReset, "0 -1"}, {"reset but for the transaction", tds.StatusResetSkipTran, "1 -1"}} {
		t.Run(tc.name, func(t *testing.T) {
			c := dialRaw(t, s)
			c.ask(t, batchMessage("SET LOCK_TIMEOUT 7; BEGIN TRAN"))
			m := batchMessage("IF CONCAT(@@TRANCOUNT, ' ', @@LOCK_TIMEOUT) <> '" + tc.want + "' RAISERROR('not so', 16, 1)")
			m[1] |= byte(tc.status)
			if got := tokens(t, c.ask(t, m)); !strings.Contains(got, "envchange 18") || strings.Contains(got, "error") {
				t.Errorf("answer %q, want envchange 18 and no error", got)
			}
		})
	}
}

// Decimals come in any of the lengths that clients give them, under whatever maximum they declare.
func TestBulkDecimals(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.d (id int NOT NULL PRIMARY KEY, n decimal(18,4) NULL)")
	c := dialRaw(t, s)
	id := 0
	for _, declared := range []int{5, 9, 17, 19, 106} {
		for _, size := range []int{5, 9, 13, 17} {
			if size > declared {
				continue
			}
			id++
			cols := []tds.ColumnMeta{
				{Flags: tds.ColumnUpdatable, Info: tds.Nullable(tds.TypeIntN, 4), Name: "id"},
				{Flags: tds.ColumnNullable, Info: tds.TypeInfo{Type: tds.TypeDecimalN, Size: declared, Prec: 18, Scale: 4}, Name: "n"},
			}
			b := (&tds.ColMetaData{Columns: cols}).AppendBulk(nil)
			b = tds.AppendRow(b, cols, [][]byte{tds.AppendInt(nil, int64(id), 4), tds.AppendDecimal(nil, tds.Decimal{Neg: true, Lo: 12345}, size)})
			c.ask(t, batchMessage("insert bulk dbo.d([id] int,[n] decimal(18,4))"))
			if got := tokens(t, c.ask(t, message(tds.PacketBulkLoad, b))); got != "done 0x10 1" {
				t.Errorf("a value of %d bytes under a maximum of %d gave %q", size, declared, got)
			}
		}
	}
	if got := query(t, s, "SELECT CONCAT(COUNT(*), ' ', MIN(n), ' ', MAX(n)) FROM dbo.d"); got[0] != fmt.Sprintf("%d -1.2345 -1.2345", id) {
		t.Errorf("loaded %s, want %d values -1.2345", got[0], id)
	}
}

// Rows may have other types than INSERT BULK declares, which may have others than the table.
func TestBulkDeclaredTypes(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	text := tds.CharType(tds.TypeBigVarChar, 40, tds.DefaultCollation)
	for i, tc := range []struct {
		column, declared string
		info             tds.TypeInfo
		cell             []byte
		want             string
	}{
		{"datetime2(3)", "varchar(26)", text, []byte("2024-02-29 12:34:56.123456"), "2024-02-29 12:34:56.123"},
		{"int", "varchar(20)", text, []byte("-42"), "-42"},
		{"bigint", "int", tds.Nullable(tds.TypeIntN, 4), tds.AppendInt(nil, 7, 4), "7"},
		{"int", "bigint", tds.Nullable(tds.TypeIntN, 8), tds.AppendInt(nil, 7, 8), "7"},
		{"decimal(9,2)", "varchar(20)", text, []byte("1.50"), "1.50"},
		{"nvarchar(20)", "varchar(20)", text, []byte("plain"), "plain"},
		{"varchar(20)", "nvarchar(20)", tds.CharType(tds.TypeNVarChar, 40, tds.DefaultCollation), tds.AppendUTF16(nil, "plain"), "plain"},
		{"uniqueidentifier", "varchar(36)", text, []byte("01234567-89ab-cdef-0123-456789abcdef"), "01234567-89AB-CDEF-0123-456789ABCDEF"},
	} {
		t.Run(tc.column+" as "+tc.declared, func(t *testing.T) {
			table := fmt.Sprintf("dbo.c%d", i)
			execScript(t, s, "CREATE TABLE "+table+" (c "+tc.column+" NULL)")
			c := dialRaw(t, s)
			cols := []tds.ColumnMeta{{Flags: tds.ColumnNullable, Info: tc.info, Name: "c"}}
			c.ask(t, batchMessage("insert bulk "+table+"([c] "+tc.declared+")"))
			b := tds.AppendRow((&tds.ColMetaData{Columns: cols}).AppendBulk(nil), cols, [][]byte{tc.cell})
			if got := tokens(t, c.ask(t, message(tds.PacketBulkLoad, b))); got != "done 0x10 1" {
				t.Fatalf("answer %q", got)
			}
			if got := query(t, s, "SELECT CONVERT(varchar(40), c) FROM "+table); got[0] != tc.want {
				t.Errorf("the column has %q, want %q", got[0], tc.want)
			}
		})
	}
}
