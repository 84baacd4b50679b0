package tds

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
)

// writes keeps each Write apart.
type writes struct{ list [][]byte }

func (w *writes) Write(p []byte) (int, error) {
	w.list = append(w.list, append([]byte(nil), p...))
	return len(p), nil
}

func (w *writes) all() []byte { return bytes.Join(w.list, nil) }

func TestHeaderGolden(t *testing.T) {
	h := Header{Type: PacketReply, Status: StatusEOM, Length: 0x1000, SPID: 51, ID: 2}
	checkHex(t, "header", h.Append(nil), "04 01 1000 0033 02 00")
	got, err := ParseHeader(unhex(t, "04 01 1000 0033 02 00"))
	if err != nil || got != h {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, wire := range map[string]string{
		"length 7": "04010007 00000100", "length 32768": "04018000 00000100", "short": "040100",
	} {
		if _, err := ParseHeader(unhex(t, wire)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMessageWriterGolden(t *testing.T) {
	var w writes
	m := NewMessageWriter(&w, 512)
	m.SetSPID(7)
	if err := m.WriteMessage(PacketSQLBatch, StatusReset, bytes.Repeat([]byte{'x'}, 505)); err != nil {
		t.Fatal(err)
	}
	b := w.all()
	checkHex(t, "first header", b[:8], "01 08 0200 0007 01 00")
	checkHex(t, "second packet", b[512:], "01 01 0009 0007 02 00 78")
	w.list = nil
	if err := m.WriteMessage(PacketAttention, 0, nil); err != nil {
		t.Fatal(err)
	}
	checkHex(t, "attention", w.all(), "06 01 0008 0007 01 00")
	w.list = nil
	// A message that fills its packet exactly has no empty packet after it.
	if err := m.WriteMessage(PacketRPC, 0, make([]byte, 504)); err != nil || len(w.all()) != 512 || w.all()[1] != 1 {
		t.Errorf("full packet: %d bytes, %v", len(w.all()), err)
	}
}

func TestMessageRoundTrip(t *testing.T) {
	body := make([]byte, 200_000)
	for i := range body {
		body[i] = byte(i * 7)
	}
	for _, size := range []int{512, 4096, 16383, 32767} {
		for _, n := range []int{0, 1, 503, 504, 505, 4088, 4089, 65536, 200_000} {
			for _, single := range []bool{false, true} {
				var w writes
				m := NewMessageWriter(&w, size)
				m.OnePacketPerWrite(single)
				if err := m.Begin(PacketBulkLoad, 0); err != nil {
					t.Fatal(err)
				}
				for rest := body[:n]; len(rest) > 0; {
					k := min(len(rest), 777)
					if _, err := m.Write(rest[:k]); err != nil {
						t.Fatal(err)
					}
					rest = rest[k:]
				}
				if err := m.End(); err != nil {
					t.Fatal(err)
				}
				for _, p := range w.list {
					if single && (len(p) > size || int(p[2])<<8|int(p[3]) != len(p)) {
						t.Fatalf("size %d: a Write of %d bytes is not one packet", size, len(p))
					}
					if len(p) > writeBuffer {
						t.Fatalf("size %d: a Write of %d bytes", size, len(p))
					}
				}
				r := NewMessageReader(bytes.NewReader(w.all()), 0)
				h, err := r.Next()
				if err != nil || h.Type != PacketBulkLoad {
					t.Fatalf("size %d, %d bytes: %+v, %v", size, n, h, err)
				}
				got, err := r.ReadAll(nil)
				if err != nil || !bytes.Equal(got, body[:n]) {
					t.Fatalf("size %d, %d bytes: got %d bytes, %v", size, n, len(got), err)
				}
				if _, err := r.Next(); err != io.EOF {
					t.Fatalf("end: %v", err)
				}
			}
		}
	}
}

func TestMessageWriterFlush(t *testing.T) {
	var w writes
	m := NewMessageWriter(&w, 512)
	_ = m.Begin(PacketReply, 0)
	if err := m.Flush(); err != nil || len(w.list) != 0 {
		t.Errorf("nothing to flush, yet %d writes, %v", len(w.list), err)
	}
	_, _ = m.Write([]byte("a"))
	_ = m.Flush()
	checkHex(t, "flushed", w.all(), "04 00 0009 0000 01 00 61")
	_, _ = m.Write([]byte("b"))
	_ = m.End()
	checkHex(t, "end", w.list[1], "04 01 0009 0000 02 00 62")
}

// TestMessageWriterAbort takes back a message of which packets are already out; its reader must see that.
func TestMessageWriterAbort(t *testing.T) {
	var w writes
	m := NewMessageWriter(&w, 512)
	_ = m.Begin(PacketBulkLoad, 0)
	_, _ = m.Write(make([]byte, 600))
	if err := m.Abort(); err != nil {
		t.Fatal(err)
	}
	checkHex(t, "last header", w.all()[512:520], "07 03 0068 0000 02 00")
	r := NewMessageReader(bytes.NewReader(w.all()), 0)
	_, _ = r.Next()
	if _, err := r.ReadAll(nil); err != ErrIgnored {
		t.Errorf("reading it: %v", err)
	}
	w.list = nil
	m.Reset(&w)
	if err := m.WriteMessage(PacketSQLBatch, 0, []byte("a")); err != nil {
		t.Fatal(err)
	}
	checkHex(t, "next message", w.all(), "01 01 0009 0000 01 00 61")
}

func TestMessageWriterMisuse(t *testing.T) {
	m := NewMessageWriter(io.Discard, 1)
	if m.PacketSize() != MinPacketSize {
		t.Errorf("size %d", m.PacketSize())
	}
	if _, err := m.Write([]byte("a")); err != ErrNoMessage {
		t.Errorf("Write: %v", err)
	}
	if err := m.End(); err != ErrNoMessage {
		t.Errorf("End: %v", err)
	}
	_ = m.Begin(PacketRPC, 0)
	if m.Begin(PacketRPC, 0) == nil || m.SetPacketSize(4096) == nil {
		t.Error("an open message is no obstacle")
	}
	_ = m.End()
	if m.SetPacketSize(511) == nil || m.SetPacketSize(32768) == nil || m.SetPacketSize(4096) != nil {
		t.Error("packet sizes are not checked")
	}
	broken := NewMessageWriter(brokenWriter{}, 512)
	if err := broken.WriteMessage(PacketRPC, 0, nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("broken: %v", err)
	}
	if err := broken.Begin(PacketRPC, 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the error is not kept: %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func packet(kind PacketType, s Status, body string) []byte {
	h := Header{Type: kind, Status: s, Length: uint16(HeaderSize + len(body)), ID: 1}
	return append(h.Append(nil), body...)
}

func TestMessageReaderIgnore(t *testing.T) {
	stream := append(packet(PacketBulkLoad, 0, "abc"), packet(PacketBulkLoad, StatusEOM|StatusIgnore, "def")...)
	stream = append(stream, packet(PacketSQLBatch, StatusEOM, "next")...)
	r := NewMessageReader(bytes.NewReader(stream), 0)
	_, _ = r.Next()
	got, err := r.ReadAll(nil)
	if err != ErrIgnored || string(got) != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := r.Read(make([]byte, 1)); err != ErrIgnored {
		t.Errorf("the end is forgotten: %v", err)
	}
	h, err := r.Next()
	if got, _ := r.ReadAll(nil); err != nil || h.Type != PacketSQLBatch || string(got) != "next" {
		t.Errorf("next message: %+v %q %v", h, got, err)
	}
}

func TestMessageReaderSkipsRest(t *testing.T) {
	stream := append(packet(PacketReply, 0, "abc"), packet(PacketReply, StatusEOM, "def")...)
	stream = append(stream, packet(PacketReply, StatusEOM, "ghi")...)
	r := NewMessageReader(bytesReader(stream), 3)
	_, _ = r.Next()
	_, _ = r.Read(make([]byte, 2))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if got, err := r.ReadAll(nil); err != nil || string(got) != "ghi" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestMessageReaderErrors(t *testing.T) {
	attention := append(packet(PacketRPC, 0, "abc"), packet(PacketAttention, StatusEOM, "")...)
	attention = append(attention, packet(PacketRPC, StatusEOM, "z")...)
	r := NewMessageReader(bytes.NewReader(attention), 0)
	_, _ = r.Next()
	_, err := r.ReadAll(nil)
	var up *UnexpectedPacketError
	if !errors.As(err, &up) || up.Got.Type != PacketAttention || up.In != PacketRPC {
		t.Errorf("attention inside a message: %v", err)
	}
	if h, err := r.Next(); err != nil || h.Type != PacketRPC {
		t.Errorf("after it: %+v %v", h, err)
	}

	r = NewMessageReader(bytes.NewReader(append(packet(PacketRPC, StatusEOM, "abcde"), packet(PacketRPC, StatusEOM, "f")...)), 4)
	if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("limit: %v", err)
	}
	if _, err := r.Next(); err != nil {
		t.Errorf("after a message over the limit: %v", err)
	}

	whole := append(packet(PacketRPC, 0, "abc"), packet(PacketRPC, StatusEOM, "d")...)
	everyPrefix(t, whole, func(b []byte) error {
		r := NewMessageReader(bytes.NewReader(b), 0)
		if _, err := r.Next(); err != nil {
			if len(b) > 0 && err != io.ErrUnexpectedEOF {
				t.Errorf("%d bytes: %v", len(b), err)
			}
			return err
		}
		_, err := r.ReadAll(nil)
		if err != nil && err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes: %v", len(b), err)
		}
		return err
	})
}

func TestMessageReaderReset(t *testing.T) {
	r := NewMessageReader(bytes.NewReader(append(packet(PacketPrelogin, StatusEOM, "a"), 'x')), 0)
	_, _ = r.Next()
	_, _ = r.ReadAll(nil)
	if err := r.Reset(nil); err == nil {
		t.Error("bytes sent ahead are lost without an error")
	}
	r = NewMessageReader(bytes.NewReader(packet(PacketPrelogin, StatusEOM, "a")), 0)
	_, _ = r.Next()
	_, _ = r.ReadAll(nil)
	if err := r.Reset(bytes.NewReader(packet(PacketLogin7, StatusEOM, "b"))); err != nil {
		t.Fatal(err)
	}
	if h, err := r.Next(); err != nil || h.Type != PacketLogin7 {
		t.Errorf("%+v %v", h, err)
	}
}

// TestHandshakeConn runs a real TLS handshake inside PRELOGIN packets, then records without them.
func TestHandshakeConn(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"db"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	defer here.Close()
	done := make(chan error, 1)
	go func() {
		defer there.Close()
		hc := NewHandshakeConn(there)
		s := tls.Server(hc, &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MaxVersion: tls.VersionTLS12,
		})
		if err := s.Handshake(); err != nil {
			done <- err
			return
		}
		hc.Finish()
		_, err := io.Copy(s, io.LimitReader(s, 5))
		done <- err
	}()
	hc := NewHandshakeConn(here)
	c := tls.Client(hc, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	hc.Finish()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHandshakeConnRefusesOtherPackets(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write(packet(PacketLogin7, StatusEOM, "a"))
		_ = there.Close()
	}()
	var up *UnexpectedPacketError
	if _, err := NewHandshakeConn(here).Read(make([]byte, 1)); !errors.As(err, &up) {
		t.Errorf("got %v", err)
	}
}
