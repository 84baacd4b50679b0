package session_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
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

// stuck is a socket whose peer does not read any more once it is armed.
type stuck struct {
	net.Conn
	armed *atomic.Bool
	done  chan struct{}
	once  sync.Once
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.armed.Load() {
		<-s.done
		return 0, net.ErrClosed
	}
	return s.Conn.Write(p)
}

func (s *stuck) Close() error {
	s.once.Do(func() { close(s.done) })
	return s.Conn.Close()
}

func TestALoadWhoseServerDoesNotReadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := mssqltest.New(mssqltest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		if err := srv.ListenMemory(); err != nil {
			t.Fatal(err)
		}
		if err := srv.Exec(tableT); err != nil {
			t.Fatal(err)
		}
		var armed atomic.Bool
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := srv.DialContext(ctx, network, address)
			return &stuck{Conn: c, armed: &armed, done: make(chan struct{})}, err
		}
		dsn := "sqlserver://sa:Passw0rd!@127.0.0.1:1433?database=testdb&encrypt=disable"
		conn, err := session.Open(t.Context(), session.Config{ConnectionString: dsn, Dial: dial, RawTDS: session.RawRequire})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		w, err := conn.Bulk(ctx, bulkT())
		if err != nil {
			t.Fatal(err)
		}
		armed.Store(true)
		for i := 0; err == nil; i++ {
			err = w.Write(rowsT(i*1000, i*1000+1000))
		}
		if !errors.Is(err, context.DeadlineExceeded) || !conn.Broken() {
			t.Errorf("Write: %v, broken %v", err, conn.Broken())
		}
		if took := time.Since(start); took != time.Minute+2*time.Second {
			t.Errorf("the load took %s, want its bound and two seconds", took)
		}
	})
}
