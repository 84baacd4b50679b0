package session

import (
	"bytes"
	"context"
	"database/sql/driver"
	"io"
	"net"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/tds"
)

// replyTransport gives the bytes of a hostile server and takes whatever is sent to it.
type replyTransport struct{ io.Reader }

func (replyTransport) Write(p []byte) (int, error) { return len(p), nil }
func (replyTransport) Close() error                { return nil }

// hostileConn is a connection whose server answers with these bytes and then hangs up.
func hostileConn(b []byte) *Conn {
	r := &rawConn{borrowed: borrowed{transport: replyTransport{bytes.NewReader(b)}, packet: tds.DefaultPacketSize, tranid: new(uint64)}}
	r.rd, r.wr = tds.NewMessageReader(r.transport, 0), tds.NewMessageWriter(r.transport, r.packet)
	r.tokens = tds.NewTokenReader(r.rd, tds.Limits{Row: 1 << 20})
	d := newDialer(func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }, time.Minute)
	return &Conn{driver: &mssql.Conn{}, dialer: d, raw: r}
}

// asReply puts bytes into packets of a reply.
func asReply(b []byte) []byte {
	var out bytes.Buffer
	w := tds.NewMessageWriter(&out, tds.MinPacketSize)
	if err := w.WriteMessage(tds.PacketReply, 0, b); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// FuzzReply reads replies that are anything: rows and values come, or an error, and then the connection is closed or its reply was
// read to the end. Nothing panics or hangs, and memory is bounded by what arrived.
func FuzzReply(f *testing.F) {
	cols := tds.ColMetaData{Columns: []tds.ColumnMeta{
		{Info: tds.Nullable(tds.TypeIntN, 4), Name: "n"},
		{Info: tds.CharType(tds.TypeNVarChar, tds.MaxSize, tds.DefaultCollation), Name: "s"},
		{Info: tds.CharType(tds.TypeBigVarChar, 20, tds.DefaultCollation), Name: "c"},
		{Info: tds.DecimalType(tds.TypeDecimalN, 9, 2), Name: "d"},
		{Info: tds.TemporalType(tds.TypeDateTimeOffsetN, 7), Name: "t"},
		{Info: tds.Nullable(tds.TypeSSVariant, tds.VariantSize), Name: "v"},
	}}
	cells := [][]byte{{1, 0, 0, 0}, tds.AppendUTF16(nil, "é"), []byte("\xE9"), {1, 5, 0, 0, 0}, make([]byte, 10), {0x38, 0, 1, 0, 0, 0}}
	done := tds.Done{Status: tds.DoneCount, RowCount: 1}
	failed := tds.ServerMessage{Number: 1205, Class: 13, Message: "deadlock"}
	rows := tds.AppendNBCRow(tds.AppendRow(cols.Append(nil), cols.Columns, cells), cols.Columns, make([][]byte, len(cells)))
	more := tds.Done{Token: tds.TokenDoneInProc, Status: tds.DoneMore}
	env := tds.EnvTransaction(tds.EnvBeginTran, 7)
	for _, seed := range [][]byte{
		done.Append(rows), done.Append(failed.Append(rows)), rows, rows[:len(rows)-3], done.Append(cols.Append(more.Append(rows))),
		done.Append(env.Append(nil)), {}, {0xD1}, {0xFF}, bytes.Repeat(failed.Append(nil), 300),
		{0x81, 0xFF, 0x00, 0, 0, 0, 0, 0, 0, 0xE7, 0xFF, 0xFF}, {0xFD, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		f.Add(asReply(seed))
		f.Add(append(asReply(seed), asReply(seed)...))
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := hostileConn(b)
		rows, err := c.rawQuery(context.Background(), nil)
		if err != nil {
			if rows != nil {
				t.Error("rows and an error")
			}
			return
		}
		for n := 0; ; n++ {
			row := make([]driver.Value, len(rows.Columns()))
			for err = nil; err == nil; n++ {
				if err = rows.Next(row); n > len(b) {
					t.Fatalf("%d rows of %d bytes", n, len(b))
				}
			}
			if err != io.EOF || !rows.HasNextResultSet() { //nolint:errorlint // the end of the rows is io.EOF itself
				break
			}
			if err := rows.NextResultSet(); err != nil {
				break
			}
		}
		if len(rows.reply.errs) > mostErrors {
			t.Errorf("%d errors are kept", len(rows.reply.errs))
		}
		if err == io.EOF && c.Broken() { //nolint:errorlint // as above
			t.Error("an end of the rows of a connection that is given up")
		}
		_ = rows.Close()
		if !rows.ended {
			t.Error("the reply goes on")
		}
	})
}
