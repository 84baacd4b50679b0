package tds

import (
	"errors"
	"fmt"
	"io"
)

// ErrIgnored ends a message that its sender withdrew by the IGNORE bit of its last packet (2.2.3.1.2 Status).
var ErrIgnored = errors.New("message withdrawn by its sender")

// UnexpectedPacketError reports a packet of another type inside a message. The packet's body is still unread.
type UnexpectedPacketError struct {
	In  PacketType // of the message
	Got Header
}

// Error tells both types.
func (e *UnexpectedPacketError) Error() string {
	return fmt.Sprintf("reading a %v message: unexpected packet: %v", e.In, e.Got.Type)
}

// readBuffer is how much MessageReader asks of its source at once.
const readBuffer = 64 << 10

// MessageReader gives one message after another from a connection. Next begins a message; Read gives its bytes without
// packet headers and io.EOF after its last one.
//
// It reads ahead as far as the source has bytes. Where the transport changes (TLS begins or ends) the peer waits for an
// answer first, so nothing is lost; Buffered checks that.
type MessageReader struct {
	src     io.Reader
	buf     []byte
	pos     int
	end     int
	header  Header
	left    int   // unread bytes of the current packet
	read    int64 // payload bytes of the message so far
	limit   int64
	inside  bool // a message is begun and its end was not reached yet
	ignored bool
	err     error // what Read gives for the rest of the message
}

// NewMessageReader reads from src. A message may have limit payload bytes; 0 stands for no limit.
func NewMessageReader(src io.Reader, limit int64) *MessageReader {
	return &MessageReader{src: src, limit: limit, err: io.EOF}
}

// SetLimit changes the limit of payload bytes per message, from the current one on; 0 stands for none.
func (m *MessageReader) SetLimit(n int64) { m.limit = n }

// Reset makes it read from another transport. Nothing may be buffered.
func (m *MessageReader) Reset(src io.Reader) error {
	if n := m.Buffered(); n > 0 {
		return fmt.Errorf("changing transport: %w: %d bytes sent ahead", ErrMalformed, n)
	}
	m.src, m.inside, m.left, m.err = src, false, 0, io.EOF
	return nil
}

// Buffered counts the bytes read from the source and not given out.
func (m *MessageReader) Buffered() int { return m.end - m.pos }

// Header is the header of the current packet.
func (m *MessageReader) Header() Header { return m.header }

// Next skips what is unread of the current message and begins the next. It returns the header of its first packet, and
// io.EOF if the source ends between two messages.
func (m *MessageReader) Next() (Header, error) {
	if m.inside {
		if err := m.Discard(); err != nil {
			return Header{}, err
		}
	}
	m.read, m.ignored, m.err = 0, false, nil
	if err := m.nextPacket(); err != nil {
		m.err = unexpected(err)
		return Header{}, err
	}
	return m.header, nil
}

// nextPacket reads a header. io.EOF means that the source ended before its first byte.
func (m *MessageReader) nextPacket() error {
	for m.end-m.pos < HeaderSize {
		if err := m.pull(); err != nil {
			if err == io.EOF && m.end > m.pos {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	h, err := ParseHeader(m.buf[m.pos:m.end])
	if err != nil {
		return err
	}
	m.pos += HeaderSize
	m.header, m.left, m.inside = h, int(h.Length)-HeaderSize, true
	m.read += int64(m.left)
	if m.limit > 0 && m.read > m.limit {
		return fmt.Errorf("reading a %v message of more than %d bytes: %w", h.Type, m.limit, ErrTooLarge)
	}
	m.ignored = h.Status&StatusIgnore != 0 && h.Status&StatusEOM != 0
	return nil
}

// pull reads once from the source.
func (m *MessageReader) pull() error {
	if m.buf == nil {
		m.buf = make([]byte, readBuffer)
	}
	if m.pos > 0 {
		m.end = copy(m.buf, m.buf[m.pos:m.end])
		m.pos = 0
	}
	for range 100 {
		n, err := m.src.Read(m.buf[m.end:])
		m.end += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// Read gives bytes of the current message, from as many packets as are at hand.
func (m *MessageReader) Read(p []byte) (int, error) {
	total := 0
	for total < len(p) && m.err == nil {
		if m.left == 0 || m.ignored {
			if total > 0 && m.end-m.pos < HeaderSize {
				break // the next packet would have to be waited for
			}
			m.err = m.advance()
			continue
		}
		if m.pos == m.end {
			if total > 0 {
				break
			}
			if err := m.pull(); err != nil {
				m.err = unexpected(err)
				break
			}
		}
		n := copy(p[total:], m.buf[m.pos:min(m.end, m.pos+m.left)])
		m.pos += n
		m.left -= n
		total += n
	}
	if total > 0 || len(p) == 0 {
		return total, nil
	}
	return 0, m.err
}

// advance goes to the next packet of the message; at its end it tells how it ended.
func (m *MessageReader) advance() error {
	if !m.inside {
		return io.EOF
	}
	if m.ignored {
		if err := m.skip(); err != nil {
			return err
		}
		m.inside = false
		return ErrIgnored
	}
	if m.header.Status&StatusEOM != 0 {
		m.inside = false
		return io.EOF
	}
	kind := m.header.Type
	if err := m.nextPacket(); err != nil {
		return unexpected(err)
	}
	if m.header.Type != kind {
		m.read = int64(m.left)
		return &UnexpectedPacketError{In: kind, Got: m.header}
	}
	return nil
}

// skip drops what is left of the packet.
func (m *MessageReader) skip() error {
	for m.left > 0 {
		if m.pos == m.end {
			if err := m.pull(); err != nil {
				return unexpected(err)
			}
		}
		n := min(m.left, m.end-m.pos)
		m.pos += n
		m.left -= n
	}
	return nil
}

// Discard reads the current message to its end, with no regard to the limit. A withdrawn message is no error.
func (m *MessageReader) Discard() error {
	limit := m.limit
	m.limit = 0
	defer func() { m.limit = limit }()
	for m.inside {
		if err := m.skip(); err != nil {
			return err
		}
		if err := m.advance(); err != nil && err != io.EOF && err != ErrIgnored {
			return err
		}
	}
	if m.err == nil {
		m.err = io.EOF
	}
	return nil
}

// ReadAll reads the current message to its end, appending to dst.
func (m *MessageReader) ReadAll(dst []byte) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := m.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// unexpected turns an end of input in the middle of something into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
