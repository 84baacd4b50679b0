package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"example.com/mssqlcdc/internal/tds"
)

// loginLimit bounds PRELOGIN and LOGIN7 messages: the longest legal LOGIN7 has twelve names of 128 characters, an SSPI
// blob of 64 KB and its features.
const loginLimit = 256 << 10

// errTurnedAway ends a connection that got its answer.
var errTurnedAway = errors.New("client turned away")

// open takes the connection from its first byte to a session.
func (c *conn) open() error {
	var b [1]byte
	if _, err := io.ReadFull(c.nc, b[:]); err != nil {
		return err
	}
	whole := &peeked{Conn: c.nc, first: b[0], pending: true}
	c.rw = whole
	strict := b[0] == 0x16 // a TLS record: TDS 8.0 ([MS-TDS] 3.2.5.1 Initial State)
	if strict {
		if c.srv.cfg.Encryption == EncryptOff {
			return errTurnedAway
		}
		t := tls.Server(whole, c.srv.cfg.Certificates.strict())
		if err := t.HandshakeContext(c.ctx); err != nil {
			return fmt.Errorf("negotiating TLS of TDS 8.0: %w", err)
		}
		c.rw = t
	}
	rd := tds.NewMessageReader(c.rw, loginLimit)
	mode, hdr, body, err := c.prelogin(rd, strict)
	if err != nil {
		return err
	}
	if mode == tds.EncryptOn || mode == tds.EncryptOff {
		if err := c.handshake(rd); err != nil {
			return err
		}
	}
	if body == nil {
		if hdr, err = rd.Next(); err != nil {
			return err
		}
		if body, err = rd.ReadAll(nil); err != nil {
			return err
		}
	}
	if hdr.Type != tds.PacketLogin7 {
		return &tds.UnexpectedPacketError{In: tds.PacketLogin7, Got: hdr}
	}
	if mode == tds.EncryptOff { // only the login was encrypted
		c.rw = c.nc
	}
	if rd.Buffered() > 0 {
		return errors.New("reading login: bytes after the message")
	}
	return c.logIn(body)
}

// prelogin answers PRELOGIN and returns what was agreed: EncryptOn, EncryptOff (the login only) or EncryptNotSupported
// (nothing). A client may leave PRELOGIN out; then its LOGIN7 comes back.
func (c *conn) prelogin(rd *tds.MessageReader, strict bool) (tds.Encryption, tds.Header, []byte, error) {
	hdr, err := rd.Next()
	if err != nil {
		return 0, hdr, nil, err
	}
	body, err := rd.ReadAll(nil)
	if err != nil {
		return 0, hdr, nil, err
	}
	if hdr.Type != tds.PacketPrelogin {
		if c.srv.cfg.Encryption == EncryptRequired && !strict {
			return 0, hdr, nil, errTurnedAway
		}
		return tds.EncryptNotSupported, hdr, body, nil
	}
	in, err := tds.ParsePrelogin(body)
	if err != nil {
		return 0, hdr, nil, err
	}
	answer, mode := c.srv.encryption(in.Encryption)
	if strict {
		answer, mode = tds.EncryptNotSupported, tds.EncryptNotSupported // there already
	}
	out := tds.Prelogin{Version: tds.PreloginVersion{Major: serverVersion[0], Build: 1000}, Encryption: answer}
	if in.Instance != nil {
		out.Instance = []byte{0}
	}
	if in.ThreadID != nil {
		out.ThreadID = []byte{}
	}
	if in.MARS != nil {
		out.MARS = []byte{0} // never negotiated
	}
	if in.FedAuth != nil {
		out.FedAuth = []byte{0}
	}
	if err := c.w.WriteMessage(tds.PacketReply, 0, out.Append(nil)); err != nil {
		return 0, hdr, nil, err
	}
	return mode, hdr, nil, nil
}

// encryption is the server's answer to a client's ENCRYPTION option, and what then happens ([MS-TDS] 2.2.6.5 PRELOGIN,
// the table of both sides' values).
func (s *Server) encryption(client tds.Encryption) (answer, mode tds.Encryption) {
	switch s.cfg.Encryption {
	case EncryptRequired:
		return tds.EncryptRequired, tds.EncryptOn
	case EncryptAuto:
		switch client &^ tds.EncryptClientCert {
		case tds.EncryptOff:
			return tds.EncryptOff, tds.EncryptOff
		case tds.EncryptOn, tds.EncryptRequired:
			return tds.EncryptOn, tds.EncryptOn
		}
	}
	return tds.EncryptNotSupported, tds.EncryptNotSupported
}

// handshake runs TLS inside PRELOGIN packets.
func (c *conn) handshake(rd *tds.MessageReader) error {
	framed := tds.NewHandshakeConn(c.nc)
	t := tls.Server(framed, c.srv.cfg.Certificates.inBand())
	if err := t.HandshakeContext(c.ctx); err != nil {
		return fmt.Errorf("negotiating TLS: %w", err)
	}
	framed.Finish()
	c.rw = t
	return rd.Reset(t)
}

// peeked gives its first byte back.
type peeked struct {
	net.Conn
	first   byte
	pending bool
}

func (p *peeked) Read(b []byte) (int, error) {
	if p.pending && len(b) > 0 {
		p.pending = false
		b[0] = p.first
		return 1, nil
	}
	return p.Conn.Read(b)
}
