package tds

import (
	"fmt"
	"io"
	"net"
)

// HandshakeConn is a net.Conn for a TLS handshake inside PRELOGIN packets (3.2.5.3 Sent TLS/SSL Negotiation Packet):
// each Write becomes one message, reads lose the packet headers. After Finish the records go bare, as they do once the
// handshake is done.
//
// Read and Write may be called at the same time; Finish only while neither runs.
type HandshakeConn struct {
	net.Conn
	bare bool
	left int // unread bytes of the current packet
	out  []byte
}

// NewHandshakeConn wraps conn, of which the next byte in either direction begins a PRELOGIN packet.
func NewHandshakeConn(conn net.Conn) *HandshakeConn { return &HandshakeConn{Conn: conn} }

// Finish ends the framing.
func (c *HandshakeConn) Finish() { c.bare = true }

// Read gives the bytes of the records. It never reads past the current packet.
func (c *HandshakeConn) Read(p []byte) (int, error) {
	if c.bare {
		return c.Conn.Read(p)
	}
	for c.left == 0 {
		var raw [HeaderSize]byte
		if _, err := io.ReadFull(c.Conn, raw[:]); err != nil {
			return 0, err
		}
		h, err := ParseHeader(raw[:])
		if err != nil {
			return 0, fmt.Errorf("reading TLS handshake: %w", err)
		}
		if h.Type != PacketPrelogin {
			return 0, &UnexpectedPacketError{In: PacketPrelogin, Got: h}
		}
		c.left = int(h.Length) - HeaderSize
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// Write sends p as one PRELOGIN message.
func (c *HandshakeConn) Write(p []byte) (int, error) {
	if c.bare {
		return c.Conn.Write(p)
	}
	c.out = c.out[:0]
	for id, rest := uint8(1), p; ; id++ {
		n := min(len(rest), DefaultPacketSize-HeaderSize)
		h := Header{Type: PacketPrelogin, Length: uint16(n + HeaderSize), ID: id}
		if n == len(rest) {
			h.Status = StatusEOM
		}
		c.out = append(h.Append(c.out), rest[:n]...)
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
	}
	if _, err := c.Conn.Write(c.out); err != nil {
		return 0, err
	}
	return len(p), nil
}
