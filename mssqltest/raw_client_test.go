package mssqltest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

// rawClient speaks packets, for what no driver sends.
type rawClient struct {
	net.Conn
	rd *tds.MessageReader
}

func dialRaw(t *testing.T, s *mssqltest.Server) *rawClient {
	t.Helper()
	c, err := s.DialContext(context.Background(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &rawClient{Conn: c, rd: tds.NewMessageReader(c, 0)}
	r.ask(t, prelogin())
	r.ask(t, login())
	return r
}

// ask sends one message and returns the answer's bytes.
func (c *rawClient) ask(t *testing.T, m []byte) []byte {
	t.Helper()
	if _, err := c.Write(m); err != nil {
		t.Fatal(err)
	}
	if _, err := c.rd.Next(); err != nil {
		t.Fatal(err)
	}
	b, err := c.rd.ReadAll(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tokens puts an answer into words: "error 4815", "done 0x10 3", "row", "columns" …
func tokens(t *testing.T, body []byte) string {
	t.Helper()
	var out []string
	rd := tds.NewTokenReader(bytes.NewReader(body), tds.Limits{})
	for {
		tok, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, ", ")
		}
		if err != nil {
			t.Fatalf("reading answer: %v after %v", err, out)
		}
		switch tok {
		case tds.TokenError, tds.TokenInfo:
			out = append(out, fmt.Sprintf("%s %d", strings.ToLower(tok.String()), rd.Message.Number))
		case tds.TokenDone, tds.TokenDoneProc, tds.TokenDoneInProc:
			out = append(out, fmt.Sprintf("%s %#x %d", strings.ToLower(tok.String()), rd.Done.Status, rd.Done.RowCount))
		case tds.TokenEnvChange:
			out = append(out, fmt.Sprintf("envchange %d", rd.Env.Type))
		default:
			out = append(out, strings.ToLower(tok.String()))
		}
	}
}

func batchMessage(text string) []byte {
	b := tds.SQLBatch{Text: text}
	return message(tds.PacketSQLBatch, b.Append(nil))
}

func rpcMessage(calls ...tds.RPCCall) []byte {
	q := tds.RPCRequest{Calls: calls}
	return message(tds.PacketRPC, q.Append(nil))
}

func nvarchar(s string) tds.RPCParam {
	return tds.RPCParam{Info: tds.CharType(tds.TypeNVarChar, 8000, tds.DefaultCollation), Value: tds.AppendUTF16(nil, s)}
}

func number(n int32, status uint8) tds.RPCParam {
	return tds.RPCParam{Info: tds.Nullable(tds.TypeIntN, 4), Value: tds.AppendInt(nil, int64(n), 4), Status: status}
}

// TestAnswers holds whole answers: drivers depend on which tokens come, in which order, with which bits.
func TestAnswers(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY)")
	execScript(t, s, "CREATE PROCEDURE dbo.p @o int OUTPUT AS BEGIN SELECT 1; SET @o = 5; RETURN 3 END")
	c := dialRaw(t, s)
	for _, tc := range []struct {
		name string
		m    []byte
		want string
	}{
		{"select", batchMessage("SELECT 1"), "colmetadata, row, done 0x10 1"},
		{"two statements", batchMessage("SELECT 1; INSERT dbo.t VALUES (1), (2)"), "colmetadata, row, done 0x11 1, done 0x10 2"},
		{"nocount", batchMessage("SET NOCOUNT ON; INSERT dbo.t VALUES (3)"), "done 0x1 0, done 0x0 0"},
		{"message", batchMessage("SET NOCOUNT OFF; PRINT 'x'"), "done 0x1 0, info 0, done 0x0 0"},
		{"error", batchMessage("SELECT * FROM dbo.nowhere"), "error 208, done 0x2 0"},
		{"statement after an error", batchMessage("INSERT dbo.t VALUES (1); SELECT 1"), "error 2627, info 3621, done 0x3 0, colmetadata, row, done 0x10 1"},
		{"procedure in a batch", batchMessage("DECLARE @o int; EXEC dbo.p @o OUTPUT"), "colmetadata, row, doneinproc 0x11 1, returnstatus, doneproc 0x0 0"},
		{"sp_executesql", rpcMessage(tds.RPCCall{ProcID: tds.ProcExecuteSQL, Params: []tds.RPCParam{nvarchar("SELECT @a"), nvarchar("@a int"), number(1, 0)}}),
			"colmetadata, row, doneinproc 0x11 1, returnstatus, doneproc 0x0 0"},
		{"procedure", rpcMessage(tds.RPCCall{Name: "dbo.p", Params: []tds.RPCParam{number(0, tds.ParamByRef)}}),
			"colmetadata, row, doneinproc 0x11 1, returnstatus, returnvalue, doneproc 0x0 0"},
		{"sp_prepexec", rpcMessage(tds.RPCCall{ProcID: tds.ProcPrepExec, Params: []tds.RPCParam{number(0, tds.ParamByRef), nvarchar("@a int"), nvarchar("SELECT @a"), number(1, 0)}}),
			"colmetadata, row, doneinproc 0x11 1, returnstatus, returnvalue, doneproc 0x0 0"},
		{"several calls", rpcMessage(
			tds.RPCCall{ProcID: tds.ProcExecute, Params: []tds.RPCParam{number(1, 0), number(7, 0)}},
			tds.RPCCall{ProcID: tds.ProcUnprepare, Params: []tds.RPCParam{number(1, 0)}}),
			"colmetadata, row, doneinproc 0x11 1, returnstatus, doneproc 0x1 0, returnstatus, doneproc 0x0 0"},
		{"unknown handle", rpcMessage(tds.RPCCall{ProcID: tds.ProcExecute, Params: []tds.RPCParam{number(99, 0)}}), "error 8179, returnstatus, doneproc 0x2 0"},
		{"cursor", rpcMessage(tds.RPCCall{ProcID: tds.ProcCursorOpen, Params: []tds.RPCParam{number(0, tds.ParamByRef)}}), "error 16999, returnstatus, doneproc 0x2 0"},
		{"begin", message(tds.PacketTransMgr, (&tds.TransMgrRequest{Type: tds.TMBegin}).Append(nil)), "envchange 8, done 0x0 0"},
		{"commit and begin", message(tds.PacketTransMgr, (&tds.TransMgrRequest{Type: tds.TMCommit, BeginNext: true}).Append(nil)), "envchange 9, envchange 8, done 0x0 0"},
		{"rollback", message(tds.PacketTransMgr, (&tds.TransMgrRequest{Type: tds.TMRollback}).Append(nil)), "envchange 10, done 0x0 0"},
		{"commit nothing", message(tds.PacketTransMgr, (&tds.TransMgrRequest{Type: tds.TMCommit}).Append(nil)), "error 3902, done 0x2 0"},
		{"late attention", message(tds.PacketAttention, nil), "done 0x20 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tokens(t, c.ask(t, tc.m)); got != tc.want {
				t.Errorf("answer %q, want %q", got, tc.want)
			}
		})
	}
}
