package session_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/tds"
)

// injector is a socket into whose incoming bytes a test puts some of its own.
type injector struct {
	net.Conn
	in   chan []byte
	rest []byte
	done chan struct{}
	once sync.Once
}

func newInjector(c net.Conn) *injector {
	i := &injector{Conn: c, in: make(chan []byte), done: make(chan struct{})}
	go func() {
		for {
			b := make([]byte, 4096)
			n, err := c.Read(b)
			select {
			case i.in <- b[:n]:
			case <-i.done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return i
}

func (i *injector) Read(p []byte) (int, error) {
	for len(i.rest) == 0 {
		select {
		case i.rest = <-i.in:
		case <-i.done:
			return 0, io.EOF
		}
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

func (i *injector) Close() error {
	i.once.Do(func() { close(i.done) })
	return i.Conn.Close()
}

func TestAnErrorBeforeTheLastRowEndsTheLoad(t *testing.T) {
	srv := startT(t, "off")
	var socket *injector
	conn := openRaw(t, srv, "off", session.RawRequire, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := srv.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		socket = newInjector(c)
		return socket, nil
	})
	w, err := conn.Bulk(t.Context(), bulkT())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rowsT(0, 10_000)); err != nil {
		t.Fatal(err)
	}
	full := tds.ServerMessage{Number: 1105, State: 2, Class: 17, Message: "Could not allocate space", Line: 3}
	done := tds.Done{Status: tds.DoneError}
	body := done.Append(full.Append(nil))
	h := tds.Header{Type: tds.PacketReply, Status: tds.StatusEOM, Length: uint16(tds.HeaderSize + len(body)), ID: 1}
	socket.in <- append(h.Append(nil), body...)
	for i := 1; err == nil; i++ {
		err = w.Write(rowsT(i*10_000, i*10_000+2000))
	}
	if !session.HasNumber(err, 1105) || !conn.Broken() {
		t.Errorf("Write: %v, broken %v", err, conn.Broken())
	}
	if got := countT(t, srv); got != "0" {
		t.Errorf("%s rows are stored", got)
	}
}
