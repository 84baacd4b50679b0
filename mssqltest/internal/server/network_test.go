package server

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestNetwork(t *testing.T) {
	var n Network
	if _, err := n.DialContext(context.Background(), "tcp", "127.0.0.1:1433"); !errors.Is(err, errRefused) {
		t.Errorf("dialling nobody: %v, want refused", err)
	}
	l, err := n.Listen("127.0.0.1:1433")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Listen("127.0.0.1:1433"); err == nil {
		t.Error("two listeners at one address")
	}
	got := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		got <- c
	}()
	client, err := n.DialContext(context.Background(), "tcp", "127.0.0.1:1433")
	if err != nil {
		t.Fatal(err)
	}
	server := <-got
	go func() { _, _ = client.Write([]byte("x")) }()
	b := make([]byte, 1)
	if _, err := server.Read(b); err != nil || b[0] != 'x' {
		t.Errorf("read %q, %v", b, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := n.DialContext(ctx, "tcp", "127.0.0.1:1433"); !errors.Is(err, context.Canceled) {
		t.Errorf("dialling with an ended context: %v", err)
	}
	if err := errors.Join(l.Close(), l.Close(), client.Close(), server.Close()); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepting after close: %v", err)
	}
	if l, err := n.Listen("127.0.0.1:1433"); err != nil {
		t.Error(err)
	} else {
		_ = l.Close()
	}
}
