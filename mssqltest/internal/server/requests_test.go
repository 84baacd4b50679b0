package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"example.com/mssqlcdc/internal/tds"
)

func packet(typ tds.PacketType, status tds.Status, body string) []byte {
	h := tds.Header{Type: typ, Status: status, Length: uint16(tds.HeaderSize + len(body)), ID: 1}
	return append(h.Append(nil), body...)
}

// feed runs the reader over the packets; the result is what a worker gets.
func feed(t *testing.T, packets ...[]byte) *requests {
	t.Helper()
	q := newRequests()
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		q.read(ctx, bufio.NewReader(bytes.NewReader(bytes.Join(packets, nil))))
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return q
}

func TestRequestsInOrder(t *testing.T) {
	q := feed(t,
		packet(tds.PacketSQLBatch, 0, "sel"), packet(tds.PacketSQLBatch, tds.StatusEOM, "ect"),
		packet(tds.PacketRPC, tds.StatusEOM|tds.StatusReset, "call"))
	for _, want := range []struct {
		typ  tds.PacketType
		body string
	}{{tds.PacketSQLBatch, "select"}, {tds.PacketRPC, "call"}} {
		req := <-q.queue
		body, err := req.read()
		if req.typ != want.typ || string(body) != want.body || err != nil {
			t.Errorf("request %v %q, %v; want %v %q", req.typ, body, err, want.typ, want.body)
		}
		if q.end() {
			t.Error("an attention out of nowhere")
		}
		q.next()
	}
	if _, open := <-q.queue; open {
		t.Error("a third request")
	}
}

func TestAttentionWhileWorking(t *testing.T) {
	q := feed(t, packet(tds.PacketSQLBatch, tds.StatusEOM, "x"), packet(tds.PacketAttention, tds.StatusEOM, ""))
	req := <-q.queue
	<-req.ctx.Done()
	if !q.end() {
		t.Error("the attention is not known at the end of the request")
	}
}

func TestAttentionBetweenRequests(t *testing.T) {
	pr, pw := io.Pipe()
	q := newRequests()
	ended := make(chan struct{})
	go func() { defer close(ended); q.read(context.Background(), bufio.NewReader(pr)) }()
	defer func() { _ = pw.Close(); <-ended }()
	if _, err := pw.Write(packet(tds.PacketSQLBatch, tds.StatusEOM, "x")); err != nil {
		t.Fatal(err)
	}
	<-q.queue
	if q.end() {
		t.Error("an attention out of nowhere")
	}
	q.next()
	if _, err := pw.Write(packet(tds.PacketAttention, tds.StatusEOM, "")); err != nil {
		t.Fatal(err)
	}
	if req := <-q.queue; req.typ != tds.PacketAttention {
		t.Errorf("request %v, want the attention", req.typ)
	}
}

func TestIgnoredMessage(t *testing.T) {
	q := feed(t, packet(tds.PacketBulkLoad, 0, "rows"), packet(tds.PacketBulkLoad, tds.StatusEOM|tds.StatusIgnore, ""))
	req := <-q.queue
	if _, err := req.read(); !errors.Is(err, tds.ErrIgnored) {
		t.Errorf("reading a withdrawn message: %v, want ErrIgnored", err)
	}
}

// A worker that gives up in the middle of a message does not stop the reader.
func TestAbandonedMessage(t *testing.T) {
	var packets [][]byte
	for range 10 * bodyDepth {
		packets = append(packets, packet(tds.PacketBulkLoad, 0, "rows"))
	}
	packets = append(packets, packet(tds.PacketBulkLoad, tds.StatusEOM, ""), packet(tds.PacketSQLBatch, tds.StatusEOM, "next"))
	q := feed(t, packets...)
	<-q.queue
	q.end()
	q.next()
	req := <-q.queue
	if body, err := req.read(); string(body) != "next" || err != nil {
		t.Errorf("after an abandoned message: %q, %v", body, err)
	}
}

func TestBrokenPacketEndsReader(t *testing.T) {
	for name, raw := range map[string][]byte{
		"short header":   {1, 1, 0},
		"length 7":       {1, 1, 0, 7, 0, 0, 1, 0},
		"length 40000":   {1, 1, 0x9C, 0x40, 0, 0, 1, 0},
		"body cut short": packet(tds.PacketSQLBatch, tds.StatusEOM, "abcdef")[:12],
	} {
		t.Run(name, func(t *testing.T) {
			q := feed(t, raw)
			if req, open := <-q.queue; open {
				t.Errorf("request %+v out of broken bytes", req)
			}
		})
	}
}
