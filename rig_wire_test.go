package mssqlcdc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"example.com/mssqlcdc/mssqltest"
)

// wire is the network between a component and the stand-in. It counts the packets of all connections, in both directions, and
// breaks the connection at one of them.
type wire struct {
	mu    sync.Mutex
	cut   wireCut
	at    string   // the first packet of this step is cut, instead of one by number
	steps []string // of each packet: the direction, and what it belongs to
	acted string   // the step of the packet that was cut
}

// wireCut says where a connection breaks.
type wireCut struct {
	packet int // over all connections, from 0
	part   int // see wireParts
	reset  bool
}

// wireParts are the places in a packet: before its first byte, so that the message before it has arrived whole; in the middle of
// its header; and of what follows.
const wireParts = 3

// dial connects to the stand-in through the wire.
func (w *wire) dial(ctx context.Context, srv *mssqltest.Server) (net.Conn, error) {
	c, err := srv.DialContext(ctx, "tcp", srv.Addr())
	if err != nil || w == nil {
		return c, err
	}
	return &wireConn{Conn: c, wire: w, step: "login"}, nil
}

// next numbers a packet, and tells where it is cut, if it is.
func (w *wire) next(step string) (part int, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, step)
	if cut = len(w.steps)-1 == w.cut.packet || step == w.at && w.acted == ""; cut {
		w.acted = step
	}
	return w.cut.part, cut
}

// cutAt makes the next packet of a step the one that is cut.
func (w *wire) cutAt(step string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = step
}

// counts tells how many packets there were by step, as a text.
func (w *wire) counts() (map[string]int, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{}
	for _, s := range w.steps {
		n[s]++
	}
	var b strings.Builder
	for _, s := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "%6d %s\n", n[s], s)
	}
	return n, b.String()
}

// wireSteps tell requests apart, by a part of their text. The first that is found counts.
var wireSteps = []struct{ text, step string }{
	{"ORDER BY ct.source_object_id", "poll"},
	{"INSERT BULK", "insert bulk"},
	{"mssql_bulk_", "stage"},
	{"COMMIT TRANSACTION;\nSELECT 1", "save"},
	{"OFFSET @n - 1", "chunk bound"},
	{"SELECT TOP (@n)", "chunk or page"},
	{"RAISERROR (N''", "keyless pass"},
	{"TABLOCK, HOLDLOCK", "keyless lock"},
	{"_CT]", "page"},
	{"@first", "after page"},
	{"expires_at", "lease"},
	{"BEGIN TRAN", "begin"},
	{"COMMIT", "commit"},
	{"ROLLBACK", "rollback"},
}

// step names the request whose first packet p is, by its type (MS-TDS 2.2.3.1.1, "Type").
func wireStep(p []byte) string {
	switch p[0] {
	case 0x12, 0x10:
		return "login"
	case 0x07:
		return "bulk data"
	case 0x06:
		return "attention"
	case 0x0E:
		return "transaction"
	}
	text := string(bytes.ReplaceAll(p, []byte{0}, nil))
	for _, s := range wireSteps {
		if strings.Contains(text, s.text) {
			return s.step
		}
	}
	return "other"
}

// wireConn is one connection of the component.
type wireConn struct {
	net.Conn
	wire *wire
	sent wireStream
	got  wireStream

	mu     sync.Mutex
	step   string // of the request under way
	broken bool
}

// wireStream is where one direction is.
type wireStream struct {
	header []byte // of the packet under way
	left   int    // bytes of it that are still to come
	stop   int    // it is cut behind so many bytes; -1 when it is not
	past   int    // bytes of it so far
	inside bool   // of a message: its last packet has not come
}

// pass takes bytes, and tells how many of them get through before the cut.
func (s *wireStream) pass(b []byte, begin func(rest []byte, first bool) (part int, cut bool)) (n int, cut bool) {
	for n < len(b) {
		if len(s.header) == 0 && s.left == 0 {
			s.past, s.stop = 0, -1
			if part, cut := begin(b[n:], !s.inside); cut {
				s.stop = []int{0, 4, 1 << 30}[part]
			}
		}
		if s.past == s.stop {
			return n, true
		}
		if len(s.header) < 8 {
			s.header = append(s.header, b[n])
			n++
			if s.past++; s.past < 8 {
				continue
			}
			s.inside = s.header[1]&1 == 0
			s.left = (int(s.header[2])<<8 | int(s.header[3])) - 8
			if s.stop > 8 {
				s.stop = 8 + s.left/2
			}
		} else {
			take := min(s.left, len(b)-n)
			if s.stop > s.past {
				take = min(take, s.stop-s.past)
			}
			n, s.past, s.left = n+take, s.past+take, s.left-take
		}
		if s.left == 0 && s.past != s.stop {
			s.header = s.header[:0]
		}
	}
	return n, len(s.header) == 8 && s.past == s.stop
}

func (c *wireConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	n, cut := c.sent.pass(b, func(rest []byte, first bool) (int, bool) {
		if first {
			c.step = wireStep(rest)
		}
		return c.wire.next("sent " + c.step)
	})
	c.mu.Unlock()
	m, err := c.Conn.Write(b[:n])
	if cut && err == nil {
		err = c.sever("write")
	}
	return m, err
}

func (c *wireConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	broken := c.broken
	c.mu.Unlock()
	if broken {
		return 0, c.fault("read")
	}
	m, err := c.Conn.Read(b)
	c.mu.Lock()
	if c.broken && err != nil {
		err = c.fault("read")
	}
	n, cut := c.got.pass(b[:m], func([]byte, bool) (int, bool) { return c.wire.next("received " + c.step) })
	c.mu.Unlock()
	if !cut {
		return n, err
	}
	if err = c.sever("read"); n > 0 {
		err = nil // the next read meets it
	}
	return n, err
}

// sever breaks the connection.
func (c *wireConn) sever(op string) error {
	c.mu.Lock()
	c.broken = true
	c.mu.Unlock()
	_ = c.Conn.Close() // it cannot fail
	return c.fault(op)
}

// fault is what a broken connection says.
func (c *wireConn) fault(op string) error {
	switch {
	case c.wire.cut.reset:
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, syscall.ECONNRESET)}
	case op == "read":
		return io.EOF
	}
	return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, syscall.EPIPE)}
}
