package tds

import (
	"encoding/binary"
	"fmt"
)

// Encryption is what one side of a PRELOGIN says about TLS (2.2.6.5 PRELOGIN, ENCRYPTION).
type Encryption uint8

// The levels.
const (
	EncryptOff          Encryption = 0 // the login only
	EncryptOn           Encryption = 1
	EncryptNotSupported Encryption = 2
	EncryptRequired     Encryption = 3
	EncryptClientCert   Encryption = 0x80 // a bit beside the others
)

// The PRELOGIN option tokens.
const (
	preloginVersion    = 0x00
	preloginEncryption = 0x01
	preloginInstance   = 0x02
	preloginThreadID   = 0x03
	preloginMARS       = 0x04
	preloginTraceID    = 0x05
	preloginFedAuth    = 0x06
	preloginNonce      = 0x07
	preloginEnd        = 0xFF
)

// PreloginVersion is the version of the sender.
type PreloginVersion struct {
	Major, Minor uint8
	Build        uint16
	SubBuild     uint16
}

// PreloginOption is an option that this package does not know, kept as it came.
type PreloginOption struct {
	Token uint8
	Data  []byte
}

// Prelogin opens a connection in both directions (2.2.6.5 PRELOGIN). VERSION and ENCRYPTION are always sent; the other
// options only if they are not nil.
type Prelogin struct {
	Version    PreloginVersion
	Encryption Encryption
	Instance   []byte // name with its final NUL; in an answer 0 = matches, 1 = does not
	ThreadID   []byte // of the client, four bytes; empty in an answer
	MARS       []byte // one byte
	TraceID    []byte // connection id, activity id and sequence, 36 bytes
	FedAuth    []byte // FEDAUTHREQUIRED, one byte
	Nonce      []byte // 32 bytes
	Other      []PreloginOption

	// HasEncryption is set by ParsePrelogin: a peer may leave the option out.
	HasEncryption bool
}

// known pairs the optional tokens with their fields.
func (p *Prelogin) known() [6]struct {
	token uint8
	data  *[]byte
} {
	return [6]struct {
		token uint8
		data  *[]byte
	}{
		{preloginInstance, &p.Instance}, {preloginThreadID, &p.ThreadID}, {preloginMARS, &p.MARS},
		{preloginTraceID, &p.TraceID}, {preloginFedAuth, &p.FedAuth}, {preloginNonce, &p.Nonce},
	}
}

// Append writes the message body.
func (p *Prelogin) Append(dst []byte) []byte {
	version := []byte{p.Version.Major, p.Version.Minor, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(version[2:], p.Version.Build)
	binary.LittleEndian.PutUint16(version[4:], p.Version.SubBuild)
	list := []PreloginOption{{preloginVersion, version}, {preloginEncryption, []byte{byte(p.Encryption)}}}
	for _, k := range p.known() {
		if *k.data != nil {
			list = append(list, PreloginOption{k.token, *k.data})
		}
	}
	list = append(list, p.Other...)
	offset := 5*len(list) + 1
	for _, o := range list {
		dst = binary.BigEndian.AppendUint16(append(dst, o.Token), uint16(offset))
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(o.Data)))
		offset += len(o.Data)
	}
	dst = append(dst, preloginEnd)
	for _, o := range list {
		dst = append(dst, o.Data...)
	}
	return dst
}

// ParsePrelogin reads a message body. The options alias it.
func ParsePrelogin(body []byte) (Prelogin, error) {
	var p Prelogin
	at := 0
	for first := true; ; first = false {
		if at >= len(body) {
			return p, fmt.Errorf("decoding PRELOGIN: %w: no terminator", ErrMalformed)
		}
		token := body[at]
		if token == preloginEnd {
			if first {
				return p, fmt.Errorf("decoding PRELOGIN: %w: no options", ErrMalformed)
			}
			return p, nil
		}
		if len(body)-at < 5 {
			return p, fmt.Errorf("decoding PRELOGIN: %w: option cut short", ErrMalformed)
		}
		from := int(binary.BigEndian.Uint16(body[at+1:]))
		n := int(binary.BigEndian.Uint16(body[at+3:]))
		at += 5
		if from+n > len(body) {
			return p, fmt.Errorf("decoding PRELOGIN: %w: option %d lies outside the message", ErrMalformed, token)
		}
		data := body[min(from, len(body)) : from+n : from+n]
		if first != (token == preloginVersion) {
			return p, fmt.Errorf("decoding PRELOGIN: %w: VERSION must be the first option, and once", ErrMalformed)
		}
		if err := p.set(token, data); err != nil {
			return p, fmt.Errorf("decoding PRELOGIN: %w", err)
		}
	}
}

func (p *Prelogin) set(token uint8, data []byte) error {
	switch token {
	case preloginVersion:
		if len(data) != 6 {
			return fmt.Errorf("%w: VERSION of %d bytes", ErrMalformed, len(data))
		}
		p.Version = PreloginVersion{
			Major: data[0], Minor: data[1],
			Build:    binary.BigEndian.Uint16(data[2:]),
			SubBuild: binary.LittleEndian.Uint16(data[4:]),
		}
		return nil
	case preloginEncryption:
		if len(data) != 1 {
			return fmt.Errorf("%w: ENCRYPTION of %d bytes", ErrMalformed, len(data))
		}
		p.Encryption, p.HasEncryption = Encryption(data[0]), true
		return nil
	}
	for _, k := range p.known() {
		if k.token == token {
			*k.data = data
			return nil
		}
	}
	p.Other = append(p.Other, PreloginOption{token, data})
	return nil
}
