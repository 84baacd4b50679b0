package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrNoMessage reports a write outside a message.
var ErrNoMessage = errors.New("no message is begun")

// writeBuffer is how many bytes MessageWriter collects before one Write, if it may.
const writeBuffer = 64 << 10

// MessageWriter splits messages into packets. Begin, any number of Writes, then End (or Abort).
//
// A full packet leaves only when more bytes follow, since the last one carries the EOM bit. By default several packets
// share one Write of up to 64 KiB; over TLS each packet must be a Write of its own, because servers close a connection
// whose packet is split over records: see OnePacketPerWrite.
type MessageWriter struct {
	dst     io.Writer
	size    int // of a packet
	single  bool
	spid    uint16
	kind    PacketType
	status  Status // for the first packet
	id      uint8
	buf     []byte // whole packets, then the open one from start on
	start   int
	open    bool
	started bool // a packet of this message was sealed
	err     error
}

// NewMessageWriter writes packets of size bytes to dst; a size out of range becomes the nearest legal one.
func NewMessageWriter(dst io.Writer, size int) *MessageWriter {
	return &MessageWriter{dst: dst, size: clampPacketSize(size)}
}

func clampPacketSize(n int) int { return min(max(n, MinPacketSize), MaxPacketSize) }

// SetPacketSize changes the size from the next message on.
func (m *MessageWriter) SetPacketSize(n int) error {
	if m.open {
		return errors.New("setting packet size: a message is open")
	}
	if n < MinPacketSize || n > MaxPacketSize {
		return fmt.Errorf("setting packet size: %d is not between %d and %d", n, MinPacketSize, MaxPacketSize)
	}
	m.size = n
	return nil
}

// PacketSize is the size of a full packet.
func (m *MessageWriter) PacketSize() int { return m.size }

// OnePacketPerWrite tells whether each packet becomes a Write of its own.
func (m *MessageWriter) OnePacketPerWrite(on bool) { m.single = on }

// SetSPID sets the server process id that a server's packets carry.
func (m *MessageWriter) SetSPID(spid uint16) { m.spid = spid }

// Reset makes it write to another transport, forgetting an open message and an earlier error.
func (m *MessageWriter) Reset(dst io.Writer) {
	m.dst, m.buf, m.start, m.open, m.err = dst, m.buf[:0], 0, false, nil
}

// Begin opens a message. The reset bits of status go on its first packet.
func (m *MessageWriter) Begin(kind PacketType, status Status) error {
	if m.err != nil {
		return m.err
	}
	if m.open {
		return fmt.Errorf("beginning a %v message: a %v message is open", kind, m.kind)
	}
	m.kind, m.status, m.id, m.open, m.started = kind, status&^(StatusEOM|StatusIgnore), 0, true, false
	m.openPacket()
	return nil
}

func (m *MessageWriter) openPacket() {
	m.start = len(m.buf)
	m.buf = append(m.buf, 0, 0, 0, 0, 0, 0, 0, 0)
}

// seal fills in the open packet's header.
func (m *MessageWriter) seal(status Status) {
	if !m.started {
		status |= m.status
		m.started = true
	}
	m.id++
	h := m.buf[m.start:]
	h[0], h[1] = byte(m.kind), byte(status)
	binary.BigEndian.PutUint16(h[2:], uint16(len(h)))
	binary.BigEndian.PutUint16(h[4:], m.spid)
	h[6], h[7] = m.id, 0
}

// send writes the sealed packets out.
func (m *MessageWriter) send() error {
	if len(m.buf) == 0 {
		return m.err
	}
	_, err := m.dst.Write(m.buf)
	m.buf, m.start = m.buf[:0], 0
	if err != nil {
		m.err = fmt.Errorf("writing a %v message: %w", m.kind, err)
	}
	return m.err
}

// Write adds bytes to the open message.
func (m *MessageWriter) Write(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	if !m.open {
		return 0, ErrNoMessage
	}
	written := 0
	for len(p) > 0 {
		room := m.size - (len(m.buf) - m.start)
		if room == 0 {
			m.seal(0)
			if m.single || len(m.buf)+m.size > writeBuffer {
				if err := m.send(); err != nil {
					return written, err
				}
			}
			m.openPacket()
			room = m.size - HeaderSize
		}
		n := min(room, len(p))
		m.buf = append(m.buf, p[:n]...)
		p = p[n:]
		written += n
	}
	return written, nil
}

// Flush writes out what the open message has so far; a packet that is not full leaves short.
func (m *MessageWriter) Flush() error {
	if m.err != nil {
		return m.err
	}
	if !m.open {
		return nil
	}
	if len(m.buf)-m.start > HeaderSize {
		m.seal(0)
	} else {
		m.buf = m.buf[:m.start]
	}
	if err := m.send(); err != nil {
		return err
	}
	m.openPacket()
	return nil
}

// End closes the message and writes it out.
func (m *MessageWriter) End() error { return m.close(StatusEOM) }

// Abort closes the message with the IGNORE bit, so that its receiver forgets it (2.2.1.7 Attention, on cancelling a
// message that was not sent completely).
func (m *MessageWriter) Abort() error { return m.close(StatusEOM | StatusIgnore) }

func (m *MessageWriter) close(status Status) error {
	if m.err != nil {
		return m.err
	}
	if !m.open {
		return ErrNoMessage
	}
	m.seal(status)
	m.open = false
	return m.send()
}

// WriteMessage writes one complete message.
func (m *MessageWriter) WriteMessage(kind PacketType, status Status, body []byte) error {
	if err := m.Begin(kind, status); err != nil {
		return err
	}
	if _, err := m.Write(body); err != nil {
		return err
	}
	return m.End()
}
