package mssqltest_test

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

// talk sends bytes to the server and reads until it hangs up or falls silent.
func talk(t *testing.T, s *mssqltest.Server, messages ...[]byte) {
	t.Helper()
	c, err := s.DialContext(context.Background(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, c)
	}()
	for _, m := range messages {
		_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Write(m); err != nil {
			break
		}
	}
	_ = c.Close()
	<-ended
}

func message(typ tds.PacketType, body []byte) []byte {
	h := tds.Header{Type: typ, Status: tds.StatusEOM, Length: uint16(tds.HeaderSize + len(body)), ID: 1}
	return append(h.Append(nil), body...)
}

func login() []byte {
	l := tds.Login7{TDSVersion: tds.Version74, UserName: "sa", Password: "Passw0rd!", Database: "testdb", AppName: "hostile"}
	return message(tds.PacketLogin7, l.Append(nil))
}

func prelogin() []byte {
	p := tds.Prelogin{Encryption: tds.EncryptNotSupported}
	return message(tds.PacketPrelogin, p.Append(nil))
}

// Whatever bytes come, the server neither panics nor keeps the connection's goroutines, and serves the next client.
func TestHostileBytes(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{Encryption: "auto"})
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	for range 200 {
		talk(t, s, noise(rnd.IntN(200)))
		talk(t, s, prelogin(), noise(rnd.IntN(200)))
		talk(t, s, message(tds.PacketPrelogin, noise(rnd.IntN(60))))
		talk(t, s, prelogin(), message(tds.PacketLogin7, noise(rnd.IntN(300))))
	}
	batch := tds.SQLBatch{Text: "SELECT 1"}
	call := tds.RPCRequest{Calls: []tds.RPCCall{{ProcID: tds.ProcExecuteSQL, Params: []tds.RPCParam{
		{Info: tds.CharType(tds.TypeNVarChar, 8000, tds.DefaultCollation), Value: tds.AppendUTF16(nil, "SELECT @p")},
		{Info: tds.CharType(tds.TypeNVarChar, 8000, tds.DefaultCollation), Value: tds.AppendUTF16(nil, "@p int")},
		{Info: tds.Nullable(tds.TypeIntN, 4), Value: []byte{1, 0, 0, 0}},
	}}}}
	begin := tds.TransMgrRequest{Type: tds.TMBegin}
	for _, m := range []struct {
		typ  tds.PacketType
		body []byte
	}{{tds.PacketSQLBatch, batch.Append(nil)}, {tds.PacketRPC, call.Append(nil)}, {tds.PacketTransMgr, begin.Append(nil)}, {tds.PacketBulkLoad, noise(50)}} {
		for range 100 {
			b := append([]byte(nil), m.body...)
			for range 1 + rnd.IntN(4) {
				b[rnd.IntN(len(b))] = byte(rnd.Uint32())
			}
			talk(t, s, prelogin(), login(), message(m.typ, b[:1+rnd.IntN(len(b))]), message(tds.PacketAttention, nil))
		}
	}
	db := open(t, s, s.ConnString("encrypt=disable"))
	if got := scalar[int](t, db, "SELECT 1"); got != 1 {
		t.Errorf("the next client got %d", got)
	}
}
